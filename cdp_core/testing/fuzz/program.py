"""Puts a client program, in any language, to one example, and judges it from outside.

A fake browser is served, and the program started with its address. A conductor decides what happens next (decisions.py);
virtual time passes when it is quiet. When the script is over and nothing is said any more, the client is judged by what
the browser saw, the browser closes its links, and the program has some seconds to end. Every run has an outcome with a
name, however badly the program behaves:

    no complaints                it did nothing wrong
    what `judge` complains of    what it sent, what it left behind, where what it observed differs from the truth; a
                                 popup it left paused, say (docs/cdp/a-paused-popup-stalls-its-opener.md)
    a-client-connects            it never did, or never said a word, or ended at once
    a-client-reads               octets lie unread at its socket, and nothing moves
    nothing-else-than-text       binary frames, or what is no WebSocket; texts beyond 100 MiB
    a-client-comes-to-rest       it talks for ever
    commands-are-waited-for      it ended while commands of its own had no answer yet
    errors-say-what-to-do        another code than 0, or a signal
    nothing-waits-for-ever       no end at all

A program that prints `{"observed": …}` lines is compared with the truth by the last of them. One that can be `asked` gets
the example's questions over its standard input, a line `{"ask": …}` each, and carries them out as its user would want
(search.py has what they say); the input ends when the browser has gone.

What goes wrong on purpose, by the example's faults, excuses what it causes (allowances.py).
"""

from __future__ import annotations

import json
import math
import os
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import attrs
import trio

from cdp_core.nurseries import background_tasks
from cdp_core.sansio.messages import Json, is_object
from cdp_core.testing.endpoint import FakeServer, open_server
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.fuzz.decisions import Conductor, Decision
from cdp_core.testing.fuzz.search import Example
from cdp_core.testing.judge.allowances import Allowances
from cdp_core.testing.judge.laws import Complaint
from cdp_core.testing.judge.observation import judge
from cdp_core.testing.schedules import Schedule
from cdp_core.testing.websocket_peer import EndReason

NEVER_CONNECTS: Final = "a-client-connects"
IDLE_SECONDS: Final = 0.01
"""How long what is held waits for the client to say something."""
LONGEST_LINE: Final = 1 << 22
NON_TEXT: Final[dict[EndReason, tuple[str, int]]] = {
    "binary": ("a binary frame", 53),
    "illegal": ("what is no WebSocket frame", 53),
    "too long": ("a text of 100 MiB or more", 57),
}
BUSY: Final = ("R", "D")
"""How Linux calls threads that run or could, and those that wait for a disk."""
PROGRAMS: Final = Path("/proc")
SOCKETS: Final = (Path("/proc/self/net/tcp"), Path("/proc/self/net/tcp6"))
ESTABLISHED, CLOSE_WAIT = "01", "08"
"""What they call a connection, and one whose other side has gone: what that said last may still lie here."""


@attrs.frozen(kw_only=True)
class Limits:
    """How long a program may take, in seconds."""

    starting: float = 30.0
    """Until it says its first word."""
    ending: float = 10.0
    """To end when its browser has gone."""
    quiet: float = 0.08
    """Nothing said for so long is quiet: a client on this machine answers in a hundredth of that."""
    patience: float = 5.0
    """For what a client must still do: read what lies at its socket, or what a schedule wants of it first."""
    observing: float = 1.0
    """To print what it observed, when everything else is done."""
    whole: float = 60.0


@attrs.frozen(kw_only=True)
class Outcome:
    """What became of one run."""

    complaints: tuple[Complaint, ...]
    decisions: tuple[Decision, ...] = attrs.field(repr=False)
    """What was decided: the same again, where the program does its part."""
    ending: float = 0.0
    """How many seconds it took to end when its browser had gone; 0 where it did not end by itself."""
    followed: tuple[int, int] | None = None
    """How many of the decisions that were given could be taken, and how many there were."""


def try_program(
    client: str,
    example: Example,
    limits: Limits = Limits(),
    *,
    decisions: tuple[Decision, ...] = (),
    schedule: Schedule | None = None,
    asked: bool = False,
) -> Outcome:
    """Put a program to one example; to its questions only where it can be `asked`.

    Raises OSError where it cannot be started.
    """
    fake = FakeBrowser(example.script, profile=example.profile, faults=example.faults)
    questions = _Questions() if asked else None
    conductor = Conductor(
        fake,
        seed=example.seed,
        edges=example.edges,
        schedule=schedule,
        decisions=decisions,
        asks=example.asks,
        ask=None if questions is None else questions.put,
    )
    return trio.run(_try_program, client, conductor, limits, questions)


async def _try_program(client: str, conductor: Conductor, limits: Limits, questions: _Questions | None) -> Outcome:
    fake = conductor.fake
    serving = open_server(fake, port=0, control=False, join=conductor.join)
    async with serving as server, background_tasks() as nursery:
        words = [word.replace("{url}", server.endpoint.ws_url) for word in shlex.split(client)]
        program = await trio.lowlevel.open_process(
            words,
            stdin=subprocess.DEVNULL if questions is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # so that whatever it starts can be found, and ended with it
        )
        run = _Run(conductor, server, program, limits, questions)
        assert program.stdout is not None
        nursery.start_soon(run.output.listen, program.stdout)
        if questions is not None and program.stdin is not None:
            nursery.start_soon(questions.write, program.stdin)
        try:
            complaints = await run.play()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            with trio.CancelScope(shield=True):
                await program.wait()
    taken = tuple(conductor.taken)
    return Outcome(complaints=complaints, decisions=taken, ending=run.ending, followed=conductor.followed)


class _Run:
    """One program and its browser."""

    def __init__(
        self,
        conductor: Conductor,
        server: FakeServer,
        program: trio.Process,
        limits: Limits,
        questions: _Questions | None,
    ) -> None:
        self.output = _ProgramOutput()
        self.ending = 0.0
        self._questions = questions
        self._conductor = conductor
        self._fake = conductor.fake
        self._server = server
        self._program = program
        self._limits = limits

    async def play(self) -> tuple[Complaint, ...]:
        """Play the example, and judge."""
        complaints: list[Complaint] = []
        with trio.move_on_after(self._limits.starting):
            await self._wait_for_first_command()
        with trio.move_on_after(self._limits.whole) as whole:
            complaints += await self._conduct()
        if whole.cancelled_caught:
            complaints += [Complaint(law="a-client-comes-to-rest", fact=47, message="it does not come to rest")]
        complaints += await self._judge()
        complaints += self._non_text()
        ended_by_itself = self._program.poll() is not None
        complaints += self._unanswered() if ended_by_itself else ()
        self._server.stop_listening()
        self._fake.cut()
        self._conductor.settle()
        if self._questions is not None:
            self._questions.end()
        return (*complaints, *await self._end())

    # ── what happens ─────────────────────────────────────────────────────────────────────────────────────────────────

    async def _wait_for_first_command(self) -> None:
        """Wait for its first word; it may have said that, and ended, before it was heard."""
        quiet_since = trio.current_time()
        while not self._conductor.arrivals:
            if self._program.poll() is None or any(octets_at(self._server.port)):
                quiet_since = trio.current_time()
            elif trio.current_time() - quiet_since >= self._limits.quiet:
                return
            await trio.sleep(0.005)

    async def _conduct(self) -> list[Complaint]:
        """Let everything happen, and time pass whenever it is quiet, until the script is over."""
        conductor, limits = self._conductor, self._limits
        last_progress = trio.current_time()
        while conductor.arrivals and not (self._program.poll() is not None and conductor.disconnected):
            idle_for = trio.current_time() - last_progress
            busy = idle_for >= limits.quiet and is_busy(self._program.pid)  # before: what it writes last is seen below
            unread, underway = octets_at(self._server.port) if idle_for >= limits.quiet else (0, 0)
            in_transit = bool(unread or underway or not conductor.written)
            quiet = idle_for >= limits.quiet and not in_transit and not busy
            if conductor.step(idle=idle_for >= IDLE_SECONDS, quiet=quiet):
                await trio.lowlevel.checkpoint()
                last_progress = trio.current_time()
                continue
            if quiet and not conductor.waits_for_client:
                return []
            if idle_for >= limits.patience and in_transit:
                message = f"it does not read: {unread} octets lie at its socket"
                return [Complaint(law="a-client-reads", fact=57, message=message)]
            if idle_for >= limits.patience:
                conductor.give_up()
            arrivals = conductor.arrivals
            with trio.move_on_after(IDLE_SECONDS if idle_for < IDLE_SECONDS else limits.quiet / 2):
                await conductor.changed()
            last_progress = trio.current_time() if conductor.arrivals > arrivals else last_progress
        return []

    async def _judge(self) -> tuple[Complaint, ...]:
        """What the browser saw; what the program says of itself may come a moment later."""
        complaints = judge(self._fake, self.output.observed, underway=True)
        with trio.move_on_after(self._limits.observing):
            while complaints and self.output.observed is not None and self._program.poll() is None:
                await self.output.more()
                complaints = judge(self._fake, self.output.observed, underway=True)
        return complaints

    def _non_text(self) -> Iterator[Complaint]:
        for how, (what, fact) in NON_TEXT.items():
            if self._server.ended[how]:
                yield Complaint(law="nothing-else-than-text", fact=fact, message=f"it sent {what}, which ends the link")

    def _unanswered(self) -> Iterator[Complaint]:
        waiting = sum(
            client.unread
            for number, client in self._conductor.clients.items()
            if not Allowances(self._fake, number).may_give_up
        )
        if waiting:
            message = f"it ended while {waiting} of its commands had no answer yet"
            yield Complaint(law="commands-are-waited-for", fact=56, message=message)

    async def _end(self) -> Iterator[Complaint]:
        begun = trio.current_time()
        with trio.move_on_after(self._limits.ending):
            await self._program.wait()
            self.ending = trio.current_time() - begun
        return self._how_it_ended()

    def _how_it_ended(self) -> Iterator[Complaint]:
        code = self._program.returncode
        if code is None:
            message = "it does not end when its browser has gone"
            yield Complaint(law="nothing-waits-for-ever", fact=58, message=message)
        elif code:
            ended = f"with {code}" if code > 0 else f"by signal {-code}"
            yield Complaint(law="errors-say-what-to-do", fact=58, message=f"it ended {ended}")
        if not self._server.connections:
            yield Complaint(law=NEVER_CONNECTS, fact=61, message="it opened no WebSocket to the browser")
        elif not any(client.has_sent for client in self._conductor.clients.values()):
            yield Complaint(law=NEVER_CONNECTS, fact=61, message="it connected, and said nothing to the browser")


class _Questions:
    """What a program is asked, over its standard input."""

    def __init__(self) -> None:
        self._asks, self._asked = trio.open_memory_channel[bytes](math.inf)

    def put(self, question: Any) -> None:
        """Ask it that, if it still listens."""
        with suppress(trio.BrokenResourceError):
            self._asks.send_nowait(json.dumps({"ask": question}).encode() + b"\n")

    def end(self) -> None:
        """It will be asked nothing more."""
        self._asks.close()

    async def write(self, stream: trio.abc.SendStream) -> None:
        """Write what it is asked, to a program that may not listen."""
        with suppress(trio.BrokenResourceError):
            async with stream, self._asked:
                async for line in self._asked:
                    await stream.send_all(line)


class _ProgramOutput:
    """What a program prints: the last line that is an observation counts."""

    def __init__(self) -> None:
        self.observed: Json | None = None
        self._more = trio.Event()

    async def more(self) -> None:
        """Wait until it has said something more."""
        self._more = trio.Event()
        await self._more.wait()

    async def listen(self, stream: trio.abc.ReceiveStream) -> None:
        """Read what it prints."""
        rest = b""
        async with stream:
            async for octets in stream:
                *lines, rest = (rest + octets).split(b"\n")
                rest = rest[-LONGEST_LINE:]
                for line in lines:
                    self._take(line)

    def _take(self, line: bytes) -> None:
        with suppress(ValueError, RecursionError):
            content: object = json.loads(line)
            if is_object(content) and is_object(content.get("observed")):
                self.observed = content["observed"]
                self._more.set()


def is_busy(session: int) -> bool:
    """Whether a thread of the programs of a session of the operating system has something to do.

    On a busy machine a client may be silent for long because its turn has not come. False where nobody can tell.
    """
    with suppress(OSError):
        programs = [each for each in PROGRAMS.iterdir() if each.name.isdecimal()]
        return any(_is_of(session, each) and _has_work(each) for each in programs)
    return False


def _is_of(session: int, program: Path) -> bool:
    with suppress(OSError):
        return _stat(program)[3] == str(session)
    return False


def _has_work(program: Path) -> bool:
    with suppress(OSError):
        return any(_stat(thread)[0] in BUSY for thread in (program / "task").iterdir())
    return False


def _stat(of: Path) -> list[str]:
    """From its state on: a name before that may hold anything."""
    return (of / "stat").read_text().rpartition(")")[2].split()


def octets_at(port: int) -> tuple[int, int]:
    """How much lies unread at the sockets that are connected to a port of this machine, and how much is on its way there.

    Nothing where nobody can tell.
    """
    unread = underway = 0
    for table in SOCKETS:
        with suppress(OSError):
            for line in table.read_text().splitlines()[1:]:
                _number, local, remote, state, queues, *_rest = line.split()
                writing, reading = (int(size, 16) for size in queues.split(":"))
                if remote.endswith(f":{port:04X}") and state == ESTABLISHED:
                    unread += reading
                    underway += writing
                elif local.endswith(f":{port:04X}") and state in (ESTABLISHED, CLOSE_WAIT):
                    underway += reading
    return unread, underway
