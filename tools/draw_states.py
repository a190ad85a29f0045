"""Draw the phases of a dialog into their card: a Mermaid diagram, and a table of all triggers.

    python tools/draw_states.py            write both between the markers of the card
    python tools/draw_states.py --check    write nothing; exit with 1 if they differ from the code

Both are made from `TABLE` in cdp_supervisor/sansio/dialog_table.py alone. The diagram contains every move to another
phase or to the end, and groups moves with the same ends and label. The table also contains the moves that stay in
their phase, and a dash for a trigger that cannot occur.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from cdp_supervisor.sansio.dialog_table import PHASES, TABLE, TRIGGERS, Move, Phase

CARD = Path("docs") / "cdp" / "a-dialog-has-five-phases-and-one-end.md"
BEGIN, END = "<!-- states: begin -->", "<!-- states: end -->"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--check", action="store_true", help="write nothing, and fail if the card differs from the code"
    )
    parser.add_argument(
        "--root", type=Path, default=Path(__file__).parents[1], help="the checkout that contains the card"
    )
    options = parser.parse_args(arguments)
    card = options.root / CARD
    written = card.read_text()
    renewed = with_states(written)
    if renewed == written:
        return 0
    if options.check:
        print(f"{CARD.name}: the drawn states differ from the code; run tools/draw_states.py", file=sys.stderr)
        return 1
    card.write_text(renewed)
    return 0


def with_states(card: str) -> str:
    """Return the card with a new text between its markers.

    Raises:
        ValueError: the card does not contain each marker once, in order.
    """
    if card.count(BEGIN) != 1 or card.count(END) != 1 or card.index(BEGIN) > card.index(END):
        raise ValueError(f"the card must hold {BEGIN} and, below it, {END}, once each")
    before, rest = card.split(BEGIN)
    return f"{before}{BEGIN}\n{diagram()}\n{table()}{END}{rest.split(END)[1]}"


def diagram() -> str:
    """Return the moves to another phase or to the end, as Mermaid."""
    arrows: dict[tuple[str, str, str], list[str]] = {}
    for (phase, trigger), move in TABLE.items():
        end, words = _destination(phase, move)
        if end != phase:
            arrows.setdefault((phase, end, words), []).append(trigger)
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> open: opening"]
    for (begin, end, words), triggers in arrows.items():
        label = ", ".join(triggers) + (f" → {words}" if words else "")
        lines.append(f"    {begin} --> {end}: {label}")
    return "\n".join([*lines, "```", ""])


def _destination(phase: Phase, move: Move) -> tuple[str, str]:
    """Return the end of a move, and its label."""
    if move.settle:
        return "[*]", f"{_ended_by(move)} ({move.reason})"
    if move.unanswerable:
        return "unanswerable", move.unanswerable
    return move.go or phase, ""


def _ended_by(move: Move) -> str:
    return "the answerer" if move.settle == "by" else move.settle


def table() -> str:
    """Return the table of every trigger in every phase."""
    lines = [f"| | {' | '.join(PHASES)} |", f"|---{'|---' * len(PHASES)}|"]
    for trigger in TRIGGERS:
        cells = [_cell(TABLE.get((phase, trigger))) for phase in PHASES]
        lines.append(f"| {trigger} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(move: Move | None) -> str:
    if move is None:
        return "-"
    if move.settle:
        return f"{_ended_by(move)}: {move.reason}"
    if move.unanswerable:
        return f"unanswerable: {move.unanswerable}{', probed' if move.probe else ''}"
    if move.refuse:
        return "refused"
    return move.go or ("overdue" if move.overdue else "stays")


if __name__ == "__main__":
    sys.exit(main())
