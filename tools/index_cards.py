"""Write the list of cards in `docs/cdp/INDEX.md`, and check the cards.

    python tools/index_cards.py            write the list of cards between the markers of INDEX.md
    python tools/index_cards.py --check    write nothing; print every fault, and exit with 1 if there are any

A card is one claim: its title is a sentence, its file is named after the title, and its sections are SECTIONS, in this
order. It contains one block of Python that runs in memory, and at most one that runs on Chromium. The code cites every
card, and every citation has its card: a card without a citation must be deleted.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

SECTIONS = ["Claim", "Why it bites", "In our code", "Evidence", "See also", "Source"]
SHORTEST, LONGEST = 25, 60
BEGIN, END = "<!-- cards: begin -->", "<!-- cards: end -->"
INDEX = "INDEX.md"
NO_CARDS = (INDEX, "facts.md")
"""Files in the folder that are not cards."""
CODE = ("cdp_core", "cdp_supervisor")
CITATION = re.compile(r"docs/cdp/([\w.-]+?)\.md")
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DRAWN = re.compile(r"^<!-- (\w+): begin -->$.*?^<!-- \1: end -->$", re.MULTILINE | re.DOTALL)
"""Text that another tool writes into a card; it does not count for the card's length."""
BLOCKS = (["python"], ["python", "python chromium"])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, and fail if anything is wrong")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="the checkout to check")
    options = parser.parse_args(arguments)
    index = options.root / "docs" / "cdp" / INDEX
    written = index.read_text()
    renewed = with_list(written, titles(index.parent))
    if renewed != written and not options.check:
        index.write_text(renewed)
        written = renewed
    faults = list(find_faults(options.root))
    if renewed != written:
        faults.append(f"{INDEX}: the list is not up to date with the cards; run tools/index_cards.py")
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


# ── the list ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def titles(folder: Path) -> dict[str, str]:
    """Return the title of each card by its name, in the order of names."""
    return {path.stem: title_of(path.read_text()) for path in sorted(folder.glob("*.md")) if path.name not in NO_CARDS}


def title_of(text: str) -> str:
    first = text.partition("\n")[0]
    return first.removeprefix("# ") if first.startswith("# ") else ""


def with_list(index: str, cards: dict[str, str]) -> str:
    """Return the index with a new list between its markers.

    Raises:
        ValueError: the index does not contain each marker once, in order.
    """
    if index.count(BEGIN) != 1 or index.count(END) != 1 or index.index(BEGIN) > index.index(END):
        raise ValueError(f"{INDEX} must hold {BEGIN} and, below it, {END}, once each")
    before, rest = index.split(BEGIN)
    lines = "".join(f"* [{title}]({name}.md)\n" for name, title in cards.items())
    return f"{before}{BEGIN}\n{lines}{END}{rest.split(END)[1]}"


# ── the checks ───────────────────────────────────────────────────────────────────────────────────────────────────────


def find_faults(root: Path) -> Iterator[str]:
    """Yield every fault, one line each."""
    folder = root / "docs" / "cdp"
    cards = set(titles(folder))
    for path in sorted(folder.glob("*.md")):
        text = path.read_text()
        if path.name not in NO_CARDS:
            for fault in _faults_of_card(path.stem, text):
                yield f"{path.name}: {fault}"
        for target in LINK.findall(FENCE.sub("", text)):
            if "://" not in target and not (folder / target.partition("#")[0]).exists():
                yield f"{path.name}: a dead link to {target}"
    cited: set[str] = set()
    for path, name in _citations(root):
        cited.add(name)
        if name not in cards and f"{name}.md" not in NO_CARDS:
            yield f"{path.relative_to(root)}: cites {name}, and no such card exists"
    for name in sorted(cards - cited):
        yield f"{name}.md: no code cites it"


def _faults_of_card(name: str, text: str) -> Iterator[str]:
    if slug(title_of(text)) != name:
        yield f"the title {title_of(text)!r} does not make the file's name"
    count = len(DRAWN.sub("", text).splitlines())
    if not SHORTEST <= count <= LONGEST:
        yield f"{count} lines; a card has {SHORTEST} to {LONGEST}"
    prose = FENCE.sub("", text)
    if re.findall(r"^## (.*)$", prose, re.MULTILINE) != SECTIONS:
        yield f"its sections are not {', '.join(SECTIONS)}, in this order"
        return
    parts = re.split(r"^## .*$", prose, flags=re.MULTILINE)[1:]
    evidence = text.partition("\n## Evidence\n")[2].partition("\n## See also\n")[0]
    if sorted(language for language, _code in FENCE.findall(evidence)) not in BLOCKS:
        yield "its evidence is not one block of python, and at most one of python chromium"
    if any(not part.strip() for section, part in zip(SECTIONS, parts, strict=True) if section != "Evidence"):
        yield "a section is empty"
    if not any(
        f"/{package}/" in part for package in CODE for part in LINK.findall(parts[SECTIONS.index("In our code")])
    ):
        yield "'In our code' links to no file of the code"


def slug(title: str) -> str:
    """Return a title as a file's name."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _citations(root: Path) -> Iterator[tuple[Path, str]]:
    for package in CODE:
        for path in sorted((root / package).rglob("*.py")):
            for name in CITATION.findall(path.read_text()):
                yield path, name


if __name__ == "__main__":
    sys.exit(main())
