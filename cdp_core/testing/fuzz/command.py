"""`python -m cdp_core.testing fuzz`: puts a client program, in any language, to one example after the other.

    python -m cdp_core.testing fuzz --client "python my_client.py {url}" --runs 200
    python -m cdp_core.testing fuzz --client "python my_client.py {url}" --reproduce found.json

How one run goes, and what is wrong, is told in `program_runs`; how examples are searched, in `campaigns`. The least
example of each kind of wrong is printed, with how often it happened again of ten times, and written to the file of
`--save` with everything that was decided in its run. `--reproduce` takes these decisions again, ten times.

    --faults none | legal | hostile | illegal   what goes wrong on purpose, at worst: refusals, slow links, cuts and silence;
                                            also answers that never come, or twice; also events that are lost or doubled
    --ask                                   put questions to it, over its standard input
    --schedule observed | hostile | FILE    what may cross over: what Chromium was seen to do, all that causes allow; or
                                            one schedule for all (`Schedule.to_json`); without it, both by chance
    --database DIR | redis://…              keep what failed there, and try first what failed there before

A campaign that is sharded over eight jobs, which share what they find:

    python -m cdp_core.testing fuzz --client "…{url}" --runs 4000 --shard $JOB/8 --database redis://cache:6379/0

What cannot be done ends with 2, a find with 1, none with 0.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import attrs

from cdp_core.errors import CdpError, InvalidArgument
from cdp_core.sansio.messages import Json, is_object
from cdp_core.testing.fake.delivery_order import EDGES
from cdp_core.testing.fake.world import PROFILES
from cdp_core.testing.faults import LEGALITIES, faults_from_json, faults_to_json
from cdp_core.testing.fuzz.campaign import Campaign, CampaignFind, Shard, open_database
from cdp_core.testing.fuzz.decisions import decisions_from_json, decisions_to_json
from cdp_core.testing.fuzz.program import Limits, Outcome, try_program
from cdp_core.testing.fuzz.search import Example, examples_of
from cdp_core.testing.schedules import Schedule
from cdp_core.testing.serve_command import PROGRAM, SCHEDULES, OneLineParser, read_schedule
from cdp_core.testing.steps import Script

REPRODUCTIONS: Final = 10
SHORT_TIMEOUT: Final = 1.0
"""Seconds that are enough for what a program is known not to do."""
RESTLESS_TIMEOUT: Final = 10.0
"""Seconds that are enough for one that is known not to come to rest."""


def add_fuzz(commands: argparse._SubParsersAction[OneLineParser]) -> None:
    """The arguments of `fuzz`."""
    parser = commands.add_parser(
        "fuzz", help="put a client program to generated scripts, and shrink what it does wrong"
    )
    parser.add_argument("--client", required=True, metavar="COMMAND", help="how it is started; {url} is the address")
    parser.add_argument("--runs", type=_count, default=100, help="how many examples (%(default)s)")
    parser.add_argument("--shrinks", type=_count, default=60, help="how many more to make a find small (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="what the examples are made of, where there is no database")
    parser.add_argument("--shard", metavar="K/N", default="1/1", help="the K-th of N parts of the campaign")
    parser.add_argument("--schedule", metavar="HOW", help=f"{SCHEDULES}; default: any")
    parser.add_argument(
        "--faults",
        choices=("none", *LEGALITIES),
        default="none",
        help="what goes wrong on purpose, at worst (%(default)s)",
    )
    parser.add_argument("--ask", action="store_true", help="put questions to it over its standard input")
    parser.add_argument("--database", metavar="WHERE", help="keep failures in this folder, or at this redis:// address")
    parser.add_argument("--name", help="whose failures they are; default: the command")
    parser.add_argument("--save", metavar="FILE", default="found.json", help="write what was found (%(default)s)")
    parser.add_argument("--reproduce", metavar="FILE", help=f"run such a file {REPRODUCTIONS} times instead")
    parser.add_argument("--quiet", type=float, default=Limits().quiet, help="seconds of silence that are quiet")
    parser.set_defaults(run=run_fuzz)


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def run_fuzz(options: argparse.Namespace) -> int:
    """Search, or reproduce; the result is the exit code."""
    try:
        if "{url}" not in options.client:
            raise InvalidArgument("--client names no {url}; write it where the program takes the address.")
        limits = Limits(quiet=options.quiet)
        if options.reproduce is not None:
            example, how = _read_find(options.reproduce)
            pace = _Pace(partial(try_program, options.client, **how), limits)
            return _reproduce([pace.attempt(example) for _ in range(REPRODUCTIONS)])
        return _search(options, limits)
    except (CdpError, OSError) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)  # noqa: T201
        return 2


# ── searching ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _search(options: argparse.Namespace, limits: Limits) -> int:
    edges, schedule = read_schedule(options.schedule)
    pace = _Pace(partial(try_program, options.client, schedule=schedule, asked=options.ask), limits)
    worst = None if options.faults == "none" else options.faults
    campaign = Campaign(
        pace.attempt,
        examples_of(edges=edges, asked=options.ask, faults=worst, streams=True),
        runs=options.runs,
        shrinks=options.shrinks,
        seed=options.seed,
        shard=Shard.from_text(options.shard),
        database=open_database(options.database),
        name=options.name or options.client,
    )
    saved: list[Json] = []
    for found in campaign.finds():
        print(f"after {found.tried} examples, {found.find}", flush=True)  # noqa: T201
        again = [pace.attempt(found.find.example, decisions=found.outcome.decisions) for _ in range(REPRODUCTIONS)]
        saved.append({**_find_to_json(found, schedule, _count_reproduced(found, again)), "asked": options.ask})
        _write(Path(options.save), saved)
        _print_reproduced(found, saved, options)
    if not saved:
        print(f"{campaign.tried} examples, and nothing that it does wrong")  # noqa: T201
        return 0
    print(f"{campaign.tried} examples, {len(saved)} kinds of wrong, written to {options.save}")  # noqa: T201
    return 1


class _Pace:
    """How long a program is waited for: what it was seen never to do is waited for shortly from then on.

    A program that was slow to end, and ended, is given more than it took by then.
    """

    def __init__(self, attempt: Callable[..., Outcome], limits: Limits) -> None:
        self._attempt = attempt
        self._limits = limits
        self._slowest = 0.0

    def attempt(self, example: Example, **more: Any) -> Outcome:
        """Put the program to an example."""
        outcome = self._attempt(example, limits=self._limits, **more)
        self._slowest = max(self._slowest, outcome.ending)
        laws = {complaint.law for complaint in outcome.complaints}
        soon = max(SHORT_TIMEOUT, 4 * self._slowest)
        if "nothing-waits-for-ever" in laws:
            self._limits = attrs.evolve(self._limits, ending=min(self._limits.ending, soon))
        if "a-client-reads" in laws:
            self._limits = attrs.evolve(self._limits, patience=min(self._limits.patience, SHORT_TIMEOUT))
        if "a-client-comes-to-rest" in laws:
            self._limits = attrs.evolve(self._limits, whole=min(self._limits.whole, RESTLESS_TIMEOUT))
        return outcome


def _count_reproduced(found: CampaignFind, again: list[Outcome]) -> int:
    laws = {complaint.law for complaint in found.find.complaints}
    return sum(any(each.law in laws for each in outcome.complaints) for outcome in again)


def _print_reproduced(found: CampaignFind, saved: list[Json], options: argparse.Namespace) -> None:
    command = f"python -m {PROGRAM} fuzz --client '{options.client}' --reproduce {options.save}"
    at = "" if len(saved) == 1 else f":{len(saved)}"
    print(  # noqa: T201
        f"it happened again {saved[-1]['again']} times of {REPRODUCTIONS}; "
        f"{len(found.outcome.decisions)} decisions are written down:\n    {command}{at}",
        flush=True,
    )


# ── reproducing ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _reproduce(again: list[Outcome]) -> int:
    complaints = Counter(str(each) for outcome in again for each in set(outcome.complaints))
    happened = sum(bool(outcome.complaints) for outcome in again)
    lines = [f"- {count} times: {complaint}" for complaint, count in sorted(complaints.items())]
    diverged = [outcome.followed for outcome in again if outcome.followed and outcome.followed[0] < outcome.followed[1]]
    if diverged:
        lines.append(
            f"in {len(diverged)} runs it did not do what was written down, at the earliest after {min(diverged)[0]}"
        )
    print("\n".join([f"it happened {happened} times of {REPRODUCTIONS}", *lines]))  # noqa: T201
    return 1 if happened else 0


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _find_to_json(found: CampaignFind, schedule: Schedule | None, again: int) -> Json:
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


def _write(file: Path, saved: list[Json]) -> None:
    """One find to a line, so that a file of several can be read by eye."""
    lines = ",\n".join(json.dumps(each) for each in saved)
    file.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def _read_find(name: str) -> tuple[Example, dict[str, Any]]:
    """The find of a file; `file:2` is the second."""
    path, _, number = name.rpartition(":") if name.rpartition(":")[2].isdecimal() else (name, "", "1")
    try:
        content: Any = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidArgument(f"{path!r} cannot be read ({error.strerror}).") from None
    except ValueError:
        content = None
    finds: list[Any] = content if isinstance(content, list) else [content]  # pyright: ignore[reportUnknownVariableType]
    found = finds[int(number) - 1] if 1 <= int(number) <= len(finds) else None
    if not is_object(found) or "script" not in found:
        raise InvalidArgument(f"{name!r} is no find; it is written by fuzz --save.")
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
        raise InvalidArgument(f"The {what} of {name!r} are no list.")
    return given  # pyright: ignore[reportUnknownVariableType]


def _an_integer(given: object) -> int:
    if not isinstance(given, int) or isinstance(given, bool):
        raise InvalidArgument(f"seed must be an integer, not {given!r}.")
    return given


def _one_of(what: str, given: object, known: tuple[Any, ...]) -> Any:
    if given not in known:
        raise InvalidArgument(f"{given!r} is no {what}; there are {', '.join(known)}.")
    return given
