"""What the project's prose rules ask of the code, as far as a program can tell."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST_FILE = 450
"""Lines that are not blank."""
LONGEST_FUNCTION = 60
"""Lines without the docstring."""
NEVER_IN_A_NAME = {"manager", "helper", "util", "handler"}
NOT_A_THING = {"data", "process"}
"""As the name of a class, a function, a parameter or a module these say nothing; a variable may hold data."""
NAMED_BY_OTHERS = {
    ("errors.py", "data"),
    ("dispatch_errors.py", "data"),
    ("plain.py", "data"),
    ("tapped.py", "data"),
    ("pipe.py", "process"),
}
"""Parameters with the protocol's own word for a member of an error, with trio's in `send_all`, and a trio.Process."""
ABOUT_PROCESSES = {"FrameSharesProcess", "process_of"}
"""Names that mean a process of the operating system."""
GENERATED = "bindings"
CODE = [
    path
    for package in ("cdp_core", "cdp_supervisor")
    for path in sorted((ROOT / package).rglob("*.py"))
    if GENERATED not in path.parts
]
PROSE = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").glob("*.md")]
TESTS = [path for folder in ("tests", "tools") for path in sorted((ROOT / folder).rglob("*.py"))]
CITATION = re.compile(r"docs/cdp/[\w.-]+?\.md")
TEST_CITATION = re.compile(r"\(((?:tests|docs|tools)/[\w./-]+?\.(?:py|md))\)")
NOTES = re.compile(r"#.*\b(TODO|FIXME|XXX|HACK)\b")
HOME = re.compile(r"/(?:home|root|Users|work)/\w+")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


code = pytest.mark.parametrize("path", CODE, ids=map(name_of, CODE))


@code
def test_a_module_opens_with_its_theory(path: Path) -> None:
    text = ast.get_docstring(tree(path))
    assert text is not None
    assert re.match(r"[A-Z`].*[.:?]$", text.partition("\n\n")[0], re.DOTALL), text


@code
def test_a_file_can_be_read_in_one_go(path: Path) -> None:
    lines = [line for line in path.read_text().splitlines() if line.strip()]
    assert len(lines) <= LONGEST_FILE


@code
def test_a_function_can_be_seen_as_a_whole(path: Path) -> None:
    too_long = {
        node.name: length
        for node in ast.walk(tree(path))
        if isinstance(node, Function)
        if (length := size(node)) > LONGEST_FUNCTION
    }
    assert too_long == {}


def size(function: Function) -> int:
    assert function.end_lineno is not None
    whole = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is None:
        return whole
    docstring = function.body[0]
    assert docstring.end_lineno is not None
    return whole - (docstring.end_lineno - docstring.lineno + 1)


@code
def test_names_say_what_a_thing_is(path: Path) -> None:
    empty = {name for name, kind in names(path) if words(name) & (NEVER_IN_A_NAME | (NOT_A_THING if kind else set()))}
    assert {name for name in empty - ABOUT_PROCESSES if (path.name, name) not in NAMED_BY_OTHERS} == set()


def names(path: Path) -> Iterator[tuple[str, bool]]:
    """Every name that a file gives, and whether it is a class's, a function's, a parameter's or the module's own."""
    yield path.stem, True
    for node in ast.walk(tree(path)):
        if isinstance(node, (ast.ClassDef, Function)):
            yield node.name, True
        elif isinstance(node, ast.arg):
            yield node.arg, True
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, False
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, False


def words(name: str) -> set[str]:
    """The words of a name, each also without a plural's s."""
    found = {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}
    return found | {word.removesuffix("s") for word in found}


def test_words_are_found_in_every_spelling() -> None:
    for name in ("EventHandler", "event_handlers", "HANDLER", "_handlerOf", "Handlers"):
        assert words(name) & NEVER_IN_A_NAME, name
    assert not words("handle_all") & NEVER_IN_A_NAME


@pytest.mark.parametrize("path", [*CODE, *PROSE, *TESTS], ids=map(name_of, [*CODE, *PROSE, *TESTS]))
def test_every_citation_resolves(path: Path) -> None:
    if path.name == "test_index.py":
        return  # cites what must not exist
    text = path.read_text()
    for citation in {*CITATION.findall(text), *TEST_CITATION.findall(text)}:
        assert (ROOT / citation).exists(), citation


FACTS = ROOT / "docs" / "cdp" / "facts.md"
NUMBERS = r"[0-9]+(?:(?:-|, (?:and )?| and | to )[0-9]+)*"
CITED_FACTS = re.compile(rf"\bfacts?\s+(?:#\s+)?({NUMBERS})", re.IGNORECASE)
ELSEWHERE = re.compile(r"\b(?:[PHF]-[0-9]+|m[0-9]{1,2}|rules? [0-9]+|design §)", re.IGNORECASE)
"""Numbers of documents that are not in the repository."""
CITES_ELSEWHERE = {"cdp_core/testing/schedules.py", "cdp_supervisor/sansio/dialogs.py"}


def numbered_facts() -> list[int]:
    return [int(number) for number in re.findall(r"^([0-9]+)\. ", FACTS.read_text(), re.MULTILINE)]


def test_the_facts_are_numbered_from_1() -> None:
    assert numbered_facts() == list(range(1, 62))
    for name in re.findall(r"\[(\w+(?:,\s+\w+)*)\](?!\()", FACTS.read_text()):
        for trace in re.split(r",\s+", name):
            assert (ROOT / "tests" / "traces" / f"{trace}.jsonl").exists(), trace


@pytest.mark.parametrize("path", [*CODE, *TESTS, *PROSE], ids=map(name_of, [*CODE, *TESTS, *PROSE]))
def test_every_cited_fact_is_there(path: Path) -> None:
    known = numbered_facts()
    for numbers in CITED_FACTS.findall(path.read_text()):
        assert {int(number) for number in re.findall(r"[0-9]+", numbers)} <= set(known), f"{path}: fact {numbers}"


@code
def test_nothing_is_cited_that_the_repository_does_not_hold(path: Path) -> None:
    found = ELSEWHERE.findall(path.read_text())
    assert not found or name_of(path) in CITES_ELSEWHERE, found


@code
def test_a_comment_tells_neither_plans_nor_machines(path: Path) -> None:
    text = path.read_text()
    assert NOTES.search(text) is None
    assert HOME.search(text) is None
