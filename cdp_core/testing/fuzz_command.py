"""`python -m cdp_core.testing fuzz`: puts a client program, in any language, to one example after the other.

    python -m cdp_core.testing fuzz --client "python my_client.py {url}" --runs 200
    python -m cdp_core.testing fuzz --client "python my_client.py {url}" --reproduce found.json

For each example a fake browser is served, and the program started with its address. Virtual time passes when it is quiet.
When the script is over and nothing is said any more, the client is judged by what the browser saw, the browser closes its
links, and the program has some seconds to end. Wrong are: what `judge` complains of, an end with another code than 0, no
end at all. A program that prints `{"observed": …}` lines is compared with the truth by the last of them.

The least example that was found is printed, and written to a file with `--save`; `--reproduce` runs such a file ten times
and says how often it happened again. What cannot be done ends with 2, a find with 1, none with 0.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs
import trio

from cdp_core.errors import CdpError, InvalidArgument
from cdp_core.sansio.wire import Json, is_object
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.hunts import Example, Find, examples_of, hunt_with
from cdp_core.testing.judge import Complaint, judge
from cdp_core.testing.serve_command import PROGRAM, OneLineParser
from cdp_core.testing.serving import open_server
from cdp_core.testing.steps import Script

if TYPE_CHECKING:
    from hypothesis.database import ExampleDatabase

__all__ = ["add_fuzz", "run_fuzz", "try_program"]

QUIET: Final = 0.08
"""Nothing said for so long is quiet: a client on this machine answers in a hundredth of that."""
STARTING: Final = 10.0
"""How long a program may take until it connects."""
ENDING: Final = 5.0
"""How long it may take to end when its browser has gone."""
LONGEST_RUN: Final = 60.0
TIMES: Final = 10


@attrs.frozen(kw_only=True)
class Limits:
    """How long a program may take."""

    starting: float = STARTING
    ending: float = ENDING
    quiet: float = QUIET


def add_fuzz(commands: argparse._SubParsersAction[OneLineParser]) -> None:
    """The arguments of `fuzz`."""
    parser = commands.add_parser(
        "fuzz", help="put a client program to generated scripts, and shrink what it does wrong"
    )
    parser.add_argument("--client", required=True, metavar="COMMAND", help="how it is started; {url} is the address")
    parser.add_argument("--runs", type=int, default=100, help="how many examples (%(default)s)")
    parser.add_argument("--shrinks", type=int, default=60, help="how many more to make a find small (%(default)s)")
    parser.add_argument("--database", metavar="FOLDER", help="keep failures there, and try those of before first")
    parser.add_argument("--save", metavar="FILE", help="write the least example that was found")
    parser.add_argument("--reproduce", metavar="FILE", help=f"run such a file {TIMES} times instead")
    parser.set_defaults(run=run_fuzz)


def run_fuzz(options: argparse.Namespace) -> int:
    """Search, or reproduce; the result is the exit code."""
    try:
        if "{url}" not in options.client:
            raise InvalidArgument("--client names no {url}; write it where the program takes the address.")
        if options.reproduce is not None:
            return _reproduce(options.client, _read_example(options.reproduce))
        return _search(options)
    except (CdpError, OSError) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)  # noqa: T201
        return 2


def _search(options: argparse.Namespace) -> int:
    tried = 0

    def attempt(example: Example) -> tuple[Complaint, ...]:
        nonlocal tried
        tried += 1
        return try_program(options.client, example)

    database = _database(options.database)
    found = hunt_with(attempt, examples_of(), runs=options.runs, shrinks=options.shrinks, database=database)
    if found is None:
        print(f"{tried} examples, and nothing that it does wrong")  # noqa: T201
        return 0
    print(f"after {tried} examples, {found}")  # noqa: T201
    if options.save is not None:
        Path(options.save).write_text(json.dumps(_written(found), indent=1) + "\n", encoding="utf-8")
    return 1


def _database(folder: str | None) -> ExampleDatabase | None:
    if folder is None:
        return None
    from hypothesis.database import DirectoryBasedExampleDatabase  # noqa: PLC0415 - imports stay cheap

    return DirectoryBasedExampleDatabase(folder)


def _reproduce(client: str, example: Example) -> int:
    again = [try_program(client, example) for _ in range(TIMES)]
    happened = sum(map(bool, again))
    complaints = sorted({str(complaint) for each in again for complaint in each})
    print("\n".join([f"it happened {happened} times of {TIMES}", *(f"- {each}" for each in complaints)]))  # noqa: T201
    return 1 if happened else 0


# ── one run ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def try_program(client: str, example: Example, limits: Limits = Limits()) -> tuple[Complaint, ...]:
    """Put a program to one example. Raises OSError where it cannot be started."""
    return trio.run(_try_program, client, example, limits)


async def _try_program(client: str, example: Example, limits: Limits) -> tuple[Complaint, ...]:
    fake = FakeBrowser(example.script, profile=example.profile)
    async with open_server(fake, port=0, control=False) as server, trio.open_nursery() as nursery:
        words = [word.replace("{url}", server.endpoint.ws_url) for word in shlex.split(client)]
        program = await trio.lowlevel.open_process(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        said = _Said()
        assert program.stdout is not None
        nursery.start_soon(said.listen, program.stdout)
        try:
            with trio.move_on_after(LONGEST_RUN):
                await _play(fake, program, limits)
            complaints = judge(fake, said.observed)
            fake.cut()
            complaints += await _end(program, fake, limits)
        finally:
            nursery.cancel_scope.cancel()
            with suppress(ProcessLookupError):
                program.kill()
            with trio.CancelScope(shield=True):
                await program.wait()
    return complaints


async def _play(fake: FakeBrowser, program: trio.Process, limits: Limits) -> None:
    """Let time pass whenever it is quiet, until the script is over or the program has ended."""
    with trio.move_on_after(limits.starting):
        while not fake.commands and program.poll() is None:  # noqa: ASYNC110 - it is another process
            await trio.sleep(0.005)
    while program.poll() is None and fake.commands:
        before = fake.statistics()
        await trio.sleep(limits.quiet)
        after = fake.statistics()
        if (before.received, before.delivered) != (after.received, after.delivered) or after.waiting:
            continue
        due = fake.next_time()
        if due is None:
            return
        fake.advance(max(due, fake.now))


async def _end(program: trio.Process, fake: FakeBrowser, limits: Limits) -> tuple[Complaint, ...]:
    with trio.move_on_after(limits.ending):
        await program.wait()
    if program.returncode is None:
        return (Complaint(law="nothing-waits-for-ever", fact=58, said="it does not end when its browser has gone"),)
    if program.returncode:
        return (Complaint(law="errors-say-what-to-do", fact=None, said=f"it ended with {program.returncode}"),)
    if not fake.commands:
        return (Complaint(law="a-client-connects", fact=None, said="it ended without a word to the browser"),)
    return ()


class _Said:
    """What a program prints: the last line that is an observation counts."""

    def __init__(self) -> None:
        self.observed: Json | None = None

    async def listen(self, stream: trio.abc.ReceiveStream) -> None:
        rest = b""
        async with stream:
            async for octets in stream:
                *lines, rest = (rest + octets).split(b"\n")
                for line in lines:
                    self._take(line)

    def _take(self, line: bytes) -> None:
        with suppress(ValueError):
            content: object = json.loads(line)
            if is_object(content) and is_object(content.get("observed")):
                self.observed = content["observed"]


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _written(found: Find) -> Json:
    example = found.example
    return {
        "script": example.script.to_json(),
        "seed": example.seed,
        "edges": example.edges,
        "profile": example.profile,
        "complaints": list(map(str, found.complaints)),
    }


def _read_example(name: str) -> Example:
    try:
        content: object = json.loads(Path(name).read_text(encoding="utf-8"))
    except ValueError:
        content = None
    if not is_object(content) or "script" not in content:
        raise InvalidArgument(f"{name!r} is no example; it is written by fuzz --save.")
    return Example(
        script=Script.from_json(content["script"]),
        seed=content.get("seed", 0),
        edges=content.get("edges", "observed"),
        profile=content.get("profile", "headless-new"),
    )
