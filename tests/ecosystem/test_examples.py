"""The worked examples run unchanged, and they can fail."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cdp_core.testing import FakeBrowser, start_fake_browser
from cdp_core.testing.__main__ import main
from cdp_core.testing.faults import Cut, Refuse
from cdp_core.testing.fuzz.program import try_program
from cdp_core.testing.fuzz.search import Example
from cdp_core.testing.steps import Close, Popup, Script, Wait

EXAMPLES = Path(__file__).parents[2] / "examples"
INI = """[pytest]
filterwarnings = error
addopts = --strict-markers -p no:cacheprovider
asyncio_default_fixture_loop_scope = function
"""
Run = Callable[[list[str]], subprocess.CompletedProcess[str]]


def test_the_puppeteer_example_passes(node_folder: Path, run: Run) -> None:
    copied = shutil.copy(EXAMPLES / "puppeteer_dialogs.test.mjs", node_folder)
    printed = run(["node", "--test", "--test-reporter=tap", copied]).stdout
    assert "\n# pass 2\n" in printed
    assert "\n# fail 0\n" in printed


def test_a_wrong_answer_fails_the_puppeteer_example(node_folder: Path, run: Run) -> None:
    text = (EXAMPLES / "puppeteer_dialogs.test.mjs").read_text()
    wrong = node_folder / "wrong.test.mjs"
    wrong.write_text(text.replace(": dialog.dismiss()", ": dialog.accept()"))
    with pytest.raises(AssertionError, match=r"# fail 1\n"):
        run(["node", "--test", "--test-reporter=tap", "--test-name-pattern=its answer", str(wrong)])


def asyncio_pytest(python: str, example: Path, folder: Path) -> list[str]:
    ini = folder / "pytest.ini"
    ini.write_text(INI)
    plugins = ["-p", "no:trio", "-p", "no:cdp_core", "-p", "cdp_core_pytest"]
    return [python, "-m", "pytest", "-q", "-c", str(ini), *plugins, str(example)]


def test_the_cdp_use_example_passes(clients_python: Callable[..., str], run: Run, tmp_path: Path) -> None:
    python = clients_python("cdp_use", "pytest_asyncio", "trio")
    printed = run(asyncio_pytest(python, EXAMPLES / "test_cdp_use_dialogs.py", tmp_path)).stdout
    assert "3 passed" in printed


def test_a_wrong_answer_fails_the_cdp_use_example(clients_python: Callable[..., str], run: Run, tmp_path: Path) -> None:
    python = clients_python("cdp_use", "pytest_asyncio", "trio")
    wrong = tmp_path / "test_wrong.py"
    text = (EXAMPLES / "test_cdp_use_dialogs.py").read_text()
    wrong.write_text(text.replace('"accept": "cookies" in', '"accept": True or "cookies" in'))
    with pytest.raises(AssertionError, match="2 failed, 1 passed"):
        run(asyncio_pytest(python, wrong, tmp_path))


# ── a supervisor on asyncio ──────────────────────────────────────────────────────────────────────────────────────────

ANSWERED = ["d-1: confirm 'Proceed?'", "d-1: closed by agent"]
SUPERVISORS = {
    "websockets_supervisor": ("websockets", "Link", ["connected to <product>", *ANSWERED, "the script got True"]),
    "cdp_use_supervisor": (
        "cdp_use",
        "SharedSocket",
        [*ANSWERED, "the client got True", "the supervisor got 3"],
    ),
}


@pytest.fixture(params=SUPERVISORS)
def supervisor(request: pytest.FixtureRequest, clients_python: Callable[..., str]) -> tuple[str, Path, list[str]]:
    """The interpreter of an example with a supervisor, its file, and the lines that it prints."""
    package, _, lines = SUPERVISORS[request.param]
    return clients_python(package, "msgspec", "immutables"), EXAMPLES / f"{request.param}.py", lines


def printed_by(run: Run, python: str, example: Path | str, url: str) -> list[str]:
    """Return the lines that an example prints, without the browser's version."""
    printed = run([python, str(example), url]).stdout
    return re.sub(r"(?m)^(connected to )(?:Headless)?Chrome/[0-9.]+$", r"\1<product>", printed).splitlines()


def changed(example: Path, folder: Path, *changes: tuple[str, str]) -> str:
    """Return the path of a copy with these changes."""
    text = example.read_text()
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (folder / example.name).write_text(text)
    return str(folder / example.name)


@pytest.mark.parametrize("name", SUPERVISORS)
def test_an_adapter_has_at_most_40_lines(name: str) -> None:
    """Blank lines, comments and docstrings do not count."""
    _, adapter, _ = SUPERVISORS[name]
    tree = ast.parse((EXAMPLES / f"{name}.py").read_text())
    [found] = [each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == adapter]
    for each in ast.walk(found):
        if isinstance(each, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(each):
            del each.body[0]
    code = [line for line in ast.unparse(found).splitlines() if line.strip()]
    assert len(code) <= 40, len(code)


def test_a_supervisor_example_shows_a_dialog_and_answers_it(
    supervisor: tuple[str, Path, list[str]], run: Run, fake: FakeBrowser
) -> None:
    python, example, lines = supervisor
    assert printed_by(run, python, example, fake.ws_url) == lines  # type: ignore[attr-defined]
    [dialog] = fake.truth().dialogs
    assert (dialog.accepted, dialog.closed_by) == (True, 1)
    fake.assert_clean()
    statistics = fake.statistics()
    assert (dict(statistics.unmodelled), statistics.malformed) == ({}, 0)


@pytest.mark.chromium
def test_a_supervisor_example_runs_on_a_real_browser(
    supervisor: tuple[str, Path, list[str]], run: Run, chromium_url: str
) -> None:
    python, example, lines = supervisor
    assert printed_by(run, python, example, chromium_url) == lines


def test_another_answer_shows_in_a_supervisor_example(
    supervisor: tuple[str, Path, list[str]], run: Run, fake: FakeBrowser, tmp_path: Path
) -> None:
    python, example, lines = supervisor
    wrong = changed(example, tmp_path, ('action="accept"', 'action="dismiss"'))
    printed = printed_by(run, python, wrong, fake.ws_url)  # type: ignore[attr-defined]
    assert printed == [line.replace("True", "False") for line in lines]


def test_an_adapter_that_sends_bytes_loses_its_link(
    supervisor: tuple[str, Path, list[str]], run: Run, fake: FakeBrowser, tmp_path: Path
) -> None:
    """A binary frame ends the connection (fact 53)."""
    python, example, _ = supervisor
    wrong = changed(example, tmp_path, (".send(text)", ".send(text.encode())"))
    with pytest.raises(AssertionError, match="ConnectionError: "):
        run([python, wrong, fake.ws_url])  # type: ignore[attr-defined]


@pytest.mark.parametrize("nth", [2, 5])
def test_the_websockets_example_connects_again(nth: int, clients_python: Callable[..., str], run: Run) -> None:
    python, example = clients_python("websockets"), EXAMPLES / "websockets_supervisor.py"
    with start_fake_browser(FakeBrowser(faults=[Cut(nth=nth, direction="in", client=1)])) as endpoint:
        printed = run([python, str(example), endpoint.ws_url]).stdout
        assert endpoint.fake.matched_faults(1).faults
    assert printed.endswith("the script got True\n")


def test_the_websockets_example_reports_a_dead_address(clients_python: Callable[..., str], run: Run) -> None:
    with pytest.raises(AssertionError, match=r"ConnectionError: .* is the address right\?"):
        run([clients_python("websockets"), str(EXAMPLES / "websockets_supervisor.py"), "ws://127.0.0.1:1/devtools"])


def test_the_cdp_use_example_reports_the_end_of_its_connection(clients_python: Callable[..., str], run: Run) -> None:
    python, example = clients_python("cdp_use"), EXAMPLES / "cdp_use_supervisor.py"
    with (
        start_fake_browser(FakeBrowser(faults=[Cut(nth=5, direction="in")])) as endpoint,
        pytest.raises(AssertionError, match="ConnectionError: "),
    ):
        run([python, str(example), endpoint.ws_url])


# ── a client under the fuzz kit ──────────────────────────────────────────────────────────────────────────────────────


def fuzzed(python: str, example: Path) -> str:
    return f"{shlex.quote(python)} {shlex.quote(str(example))} {{url}}"


def test_the_fuzzed_example_client_breaks_no_law(
    clients_python: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client = fuzzed(clients_python("websockets"), EXAMPLES / "fuzzed_client.py")
    how = ["--runs", "6", "--ask", "--faults", "hostile", "--save", str(tmp_path / "found.json")]
    assert main(["fuzz", "--client", client, *how]) == 0, capsys.readouterr().out


def test_a_fuzzed_client_that_fails_on_a_refusal_is_found(clients_python: Callable[..., str], tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    text = (EXAMPLES / "fuzzed_client.py").read_text()
    wrong.write_text(
        text.replace("        return message", '        assert "error" not in message\n        return message')
    )
    client = fuzzed(clients_python("websockets"), wrong)
    assert try_program(client, Example()).complaints == ()
    refused = try_program(client, Example(faults=[Refuse("Target.setAutoAttach")])).complaints
    assert "errors-say-what-to-do" in {complaint.law for complaint in refused}


def test_an_unchanged_library_can_be_fuzzed(
    clients_python: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The findings are the library's own; asserted is that everything else is in order."""
    watcher = Path(__file__).with_name("fuzzed_watcher.py")
    client = f"{fuzzed(clients_python('cdp_use'), watcher)} cdp_use"
    found = tmp_path / "found.json"
    assert main(["fuzz", "--client", client, "--runs", "4", "--shrinks", "2", "--save", str(found)]) in (0, 1)
    printed = capsys.readouterr().out
    assert re.search(r"^[0-9]+ examples[,;] ", printed, re.MULTILINE)
    assert "a-client-connects" not in printed
    assert "nothing-waits-for-ever" not in printed
    gone = Script(timeline=(Wait(1), Popup("p", "https://pay.example/", noopener=True), Close("p")))
    for _ in range(2):
        outcome = try_program(client, Example(script=gone, seed=3))
        assert {each.law for each in outcome.complaints} <= {"detached-commands-never-answer"}, outcome
