"""`python -m cdp_core.testing fuzz`: run a client program, in any language, on many examples.

    python -m cdp_core.testing fuzz --client "python my_client.py {url}" --runs 200
    python -m cdp_core.testing fuzz --client "python my_client.py {url}" --reproduce found.json

This module has the arguments and the loop. program.py runs the client once and judges it, campaign.py searches the
examples, reports.py prints the finds, saves them to the file of `--save` and reads them back. Each find is run ten times
more with the same decisions; `--reproduce` does that for a saved find.

    --faults none | legal | hostile | illegal   the worst faults to inject. legal: refusals, slow links, cuts and silence;
                                            hostile: also replies that never come or come twice; illegal: also events that
                                            are lost or doubled
    --ask                                   send the client questions over its standard input
    --schedule observed | hostile | FILE    the order of messages: orders that Chromium was seen to use, or every order that
                                            causes allow, or one schedule for all examples (`Schedule.to_json`); without
                                            this option, observed and hostile at random
    --database DIR | redis://…              keep the failing examples there, and try those kept there first

A campaign in eight jobs that share what they find:

    python -m cdp_core.testing fuzz --client "…{url}" --runs 4000 --shard $JOB/8 --database redis://cache:6379/0

The exit code is 2 if the command cannot be carried out, 1 if there are finds, 0 if there are none.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import attrs

from cdp_core.errors import CdpError, InvalidArgument
from cdp_core.sansio.messages import Json
from cdp_core.testing.faults import LEGALITIES
from cdp_core.testing.fuzz.campaign import Campaign, Shard, open_database
from cdp_core.testing.fuzz.program import Limits, Outcome, try_program
from cdp_core.testing.fuzz.reports import (
    REPRODUCTIONS,
    count_reproduced,
    find_to_json,
    print_reproduced,
    print_reproductions,
    read_find,
    write_finds,
)
from cdp_core.testing.fuzz.search import Example, examples_of
from cdp_core.testing.serve_command import PROGRAM, SCHEDULES, OneLineParser, read_schedule

SHORT_TIMEOUT: Final = 1.0
"""Seconds to wait for what the program is known never to do."""
RESTLESS_TIMEOUT: Final = 10.0
"""Seconds for one run of a program that is known never to come to rest."""


def add_fuzz(commands: argparse._SubParsersAction[OneLineParser]) -> None:
    """Add the parser of `fuzz`."""
    parser = commands.add_parser(
        "fuzz", help="run a client program on generated scripts, and shrink what it does wrong"
    )
    parser.add_argument(
        "--client", required=True, metavar="COMMAND", help="how to start the client; {url} becomes the address"
    )
    parser.add_argument("--runs", type=_count, default=100, help="how many examples to try (%(default)s)")
    parser.add_argument(
        "--shrinks", type=_count, default=60, help="how many more to try to make a find smaller (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="the seed of the examples, unless there is a database")
    parser.add_argument("--shard", metavar="K/N", default="1/1", help="run part K of N of the campaign")
    parser.add_argument("--schedule", metavar="HOW", help=f"{SCHEDULES}; default: observed and hostile at random")
    parser.add_argument(
        "--faults", choices=("none", *LEGALITIES), default="none", help="the worst faults to inject (%(default)s)"
    )
    parser.add_argument("--ask", action="store_true", help="send the client questions over its standard input")
    parser.add_argument("--database", metavar="WHERE", help="keep failures in this folder, or at this redis:// address")
    parser.add_argument("--name", help="the client's name in the database; default: the command")
    parser.add_argument("--save", metavar="FILE", default="found.json", help="write the finds there (%(default)s)")
    parser.add_argument("--reproduce", metavar="FILE", help=f"run a saved find {REPRODUCTIONS} times instead")
    parser.add_argument(
        "--quiet", type=float, default=Limits().quiet, help="seconds of silence that count as quiet (%(default)s)"
    )
    parser.set_defaults(run=run_fuzz)


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def run_fuzz(options: argparse.Namespace) -> int:
    """Search, or reproduce; return the exit code."""
    try:
        if "{url}" not in options.client:
            raise InvalidArgument("The command of --client has no {url}; write {url} where it takes the address.")
        limits = Limits(quiet=options.quiet)
        if options.reproduce is not None:
            example, how = read_find(options.reproduce)
            pace = _Pace(partial(try_program, options.client, **how), limits)
            return print_reproductions([pace.attempt(example) for _ in range(REPRODUCTIONS)])
        return _search(options, limits)
    except (CdpError, OSError) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)  # noqa: T201
        return 2


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
        saved.append({**find_to_json(found, schedule, count_reproduced(found, again)), "asked": options.ask})
        write_finds(Path(options.save), saved)
        print_reproduced(found, saved, client=options.client, file=options.save)
    if not saved:
        print(f"{campaign.tried} examples; the client broke no law")  # noqa: T201
        return 0
    print(f"{campaign.tried} examples, {len(saved)} finds, written to {options.save}")  # noqa: T201
    return 1


class _Pace:
    """Runs the program, and shortens a limit once the program has exceeded it: the long wait happens once.

    The limit for exiting stays above the longest exit seen so far, so that a slow program is not cut short.
    """

    def __init__(self, attempt: Callable[..., Outcome], limits: Limits) -> None:
        self._attempt = attempt
        self._limits = limits
        self._slowest = 0.0

    def attempt(self, example: Example, **more: Any) -> Outcome:
        """Run the program on an example."""
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
