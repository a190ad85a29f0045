"""Reports of finds: how they are printed, and the file of `fuzz --save`, written and read.

The file is a JSON array with one find per line: the example, its complaints, how often it happened again, and every
decision of the run that showed it, so that `fuzz --reproduce` can take the same decisions again.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.messages import Json, is_object
from cdp_core.testing.fake.delivery_order import EDGES
from cdp_core.testing.fake.world import PROFILES
from cdp_core.testing.faults import faults_from_json, faults_to_json
from cdp_core.testing.fuzz.campaign import CampaignFind
from cdp_core.testing.fuzz.decisions import decisions_from_json, decisions_to_json
from cdp_core.testing.fuzz.program import Outcome
from cdp_core.testing.fuzz.search import Example
from cdp_core.testing.schedules import Schedule
from cdp_core.testing.serve_command import PROGRAM
from cdp_core.testing.steps import Script

REPRODUCTIONS: Final = 10
"""How many times a find is run again with the same decisions."""


# ── printing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def count_reproduced(found: CampaignFind, again: list[Outcome]) -> int:
    """Return how many of these runs broke a law of the find."""
    laws = {complaint.law for complaint in found.find.complaints}
    return sum(any(each.law in laws for each in outcome.complaints) for outcome in again)


def print_reproduced(found: CampaignFind, saved: list[Json], *, client: str, file: str) -> None:
    """Print how often the find, the last one saved, happened again, and the command that reproduces it."""
    command = f"python -m {PROGRAM} fuzz --client '{client}' --reproduce {file}"
    at = "" if len(saved) == 1 else f":{len(saved)}"
    print(  # noqa: T201
        f"it happened again in {saved[-1]['again']} of {REPRODUCTIONS} runs; "
        f"its {len(found.outcome.decisions)} decisions are saved; to reproduce it:\n    {command}{at}",
        flush=True,
    )


def print_reproductions(again: list[Outcome]) -> int:
    """Print what became of the runs of a reproduction; return the exit code."""
    complaints = Counter(str(each) for outcome in again for each in set(outcome.complaints))
    happened = sum(bool(outcome.complaints) for outcome in again)
    lines = [f"- {count} times: {complaint}" for complaint, count in sorted(complaints.items())]
    diverged = [outcome.followed for outcome in again if outcome.followed and outcome.followed[0] < outcome.followed[1]]
    if diverged:
        lines.append(
            f"in {len(diverged)} runs the client left the saved decisions, at the earliest after {min(diverged)[0]}"
        )
    print("\n".join([f"it happened in {happened} of {REPRODUCTIONS} runs", *lines]))  # noqa: T201
    return 1 if happened else 0


# ── the file ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def find_to_json(found: CampaignFind, schedule: Schedule | None, again: int) -> Json:
    """Return a find as JSON; `again` is how often it happened again."""
    example = found.find.example
    return {
        "script": example.script.to_json(),
        "seed": example.seed,
        "edges": example.edges,
        "profile": example.profile,
        "asks": [*example.asks],
        "faults": faults_to_json(example.faults),
        "schedule": None if schedule is None else schedule.to_json(),
        "complaints": list(map(str, found.find.complaints)),
        "again": again,
        "decisions": decisions_to_json(found.outcome.decisions),
    }


def write_finds(file: Path, finds: list[Json]) -> None:
    """Write the finds to a file, one per line, so that a person can read a file of several finds."""
    lines = ",\n".join(json.dumps(each) for each in finds)
    file.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def read_find(name: str) -> tuple[Example, dict[str, Any]]:
    """Read a saved find: its example, and the keyword arguments that make `try_program` run it again.

    `found.json:2` names the second find of the file. Raises InvalidArgument.
    """
    path, _, number = name.rpartition(":") if name.rpartition(":")[2].isdecimal() else (name, "", "1")
    try:
        content: Any = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidArgument(f"{path!r} cannot be read ({error.strerror}); give the file of fuzz --save.") from None
    except ValueError:
        content = None
    finds: list[Any] = content if isinstance(content, list) else [content]  # pyright: ignore[reportUnknownVariableType]
    found = finds[int(number) - 1] if 1 <= int(number) <= len(finds) else None
    if not is_object(found) or "script" not in found:
        raise InvalidArgument(f"{name!r} is not a find; give a file that fuzz --save wrote.")
    schedule = found.get("schedule")
    lists = {each: _a_list(each, found.get(each, []), name) for each in ("asks", "faults", "decisions")}
    example = Example(
        script=Script.from_json(found["script"]),
        seed=_an_integer(found.get("seed", 0)),
        edges=_one_of("edges", found.get("edges", "observed"), EDGES),
        profile=_one_of("profile", found.get("profile", "headless-new"), PROFILES),
        asks=lists["asks"],
        faults=faults_from_json(lists["faults"]),
    )
    return example, {
        "decisions": decisions_from_json(lists["decisions"]),
        "schedule": None if schedule is None else Schedule.from_json(schedule),
        "asked": bool(found.get("asked", False)),
    }


def _a_list(what: str, given: object, name: str) -> list[Any]:
    if not isinstance(given, list):
        raise InvalidArgument(f"The {what} of {name!r} must be a list.")
    return given  # pyright: ignore[reportUnknownVariableType]


def _an_integer(given: object) -> int:
    if not isinstance(given, int) or isinstance(given, bool):
        raise InvalidArgument(f"seed must be an integer, not {given!r}.")
    return given


def _one_of(what: str, given: object, known: tuple[Any, ...]) -> Any:
    if given not in known:
        raise InvalidArgument(f"{what} must be one of {', '.join(known)}, not {given!r}.")
    return given
