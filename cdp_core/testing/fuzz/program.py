"""One run of a client program, in any language, on one example, and its judgement from outside.

`try_program` serves a fake browser and starts the program with its address. A conductor decides what happens next
(decisions.py); virtual time passes when it is quiet. When the script is over and no message moves any more, the client is
judged by what the browser saw, the browser closes its links, and the program has some seconds to exit. Every run has an
outcome, however badly the program behaves:

    no complaints                the program broke no law
    the complaints of `judge`    what it sent, what it left behind, where its observation differs from the truth; for
                                 example a popup left paused (docs/cdp/a-paused-popup-stalls-its-opener.md)
    a-client-connects            it did not connect, or sent nothing, or exited at once
    a-client-reads               octets stay unread at its socket, and nothing moves
    nothing-else-than-text       it sent binary frames, octets that are not a WebSocket, or a text of 100 MiB or more
    a-client-comes-to-rest       it sends without end
    commands-are-waited-for      it exited while commands of its own had no reply yet
    errors-say-what-to-do        it exited with another code than 0, or by a signal
    nothing-waits-for-ever       it does not exit

If a program prints `{"observed": …}` lines, the last of them is compared with the truth. With `asked`, the program gets the
example's questions over its standard input, one line `{"ask": …}` each, and carries them out as for its user (search.py
describes them); the input ends when the browser is gone.

The example's faults allow what they cause (allowances.py).
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
"""Seconds without an arrival after which held messages are delivered."""
LONGEST_LINE: Final = 1 << 22
"""Bytes of an unfinished line of output that are kept."""
NON_TEXT: Final[dict[EndReason, tuple[str, int]]] = {
    "binary": ("a binary frame", 53),
    "illegal": ("octets that are not a WebSocket frame", 53),
    "too long": ("a text of 100 MiB or more", 57),
}
BUSY: Final = ("R", "D")
"""Linux's state letters of threads that are running or runnable, and of threads that wait for a disk."""
PROGRAMS: Final = Path("/proc")
SOCKETS: Final = (Path("/proc/self/net/tcp"), Path("/proc/self/net/tcp6"))
ESTABLISHED, CLOSE_WAIT = "01", "08"
"""Linux's state codes of an open connection, and of one that the peer closed: its last octets may still be unread."""


@attrs.frozen(kw_only=True)
class Limits:
    """How long a program may take, in seconds."""

    starting: float = 30.0
    """Until its first command."""
    ending: float = 10.0
    """To exit after its browser is gone."""
    quiet: float = 0.08
    """Silence of this length counts as quiet: a client on this machine answers in a hundredth of it."""
    patience: float = 5.0
    """To read what is at its socket, or to send what a schedule or a saved decision needs first."""
    observing: float = 1.0
    """To print its observation after everything else is done."""
    whole: float = 60.0
    """For the script, from the first command until all is quiet."""


@attrs.frozen(kw_only=True)
class Outcome:
    """The result of one run."""

    complaints: tuple[Complaint, ...]
    decisions: tuple[Decision, ...] = attrs.field(repr=False)
    """All decisions of the run; given to another run, they repeat it as long as the program does its part."""
    ending: float = 0.0
    """Seconds from the end of the browser to the exit of the program; 0 if the program had to be killed."""
    followed: tuple[int, int] | None = None
    """How many of the given decisions were taken, and how many were given; None if none were given."""


def try_program(
    client: str,
    example: Example,
    limits: Limits = Limits(),
    *,
    decisions: tuple[Decision, ...] = (),
    schedule: Schedule | None = None,
    asked: bool = False,
) -> Outcome:
    """Run a program on one example and judge it; the example's questions are sent only with `asked`.

    Raises OSError if the program cannot be started.
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
            start_new_session=True,  # so that the processes that it starts can be found, and killed with it
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
    """One run: the program and its browser."""

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
            complaints += [Complaint(law="a-client-comes-to-rest", fact=47, message="the client does not come to rest")]
        complaints += await self._judge()
        complaints += self._non_text()
        exited_early = self._program.poll() is not None
        complaints += self._unanswered() if exited_early else ()
        self._server.stop_listening()
        self._fake.cut()
        self._conductor.settle()
        if self._questions is not None:
            self._questions.end()
        return (*complaints, *await self._end())

    # ── phases of a run ──────────────────────────────────────────────────────────────────────────────────────────────

    async def _wait_for_first_command(self) -> None:
        """Wait for its first command; the program may have sent it and exited before the browser read it."""
        quiet_since = trio.current_time()
        while not self._conductor.arrivals:
            if self._program.poll() is None or any(octets_at(self._server.port)):
                quiet_since = trio.current_time()
            elif trio.current_time() - quiet_since >= self._limits.quiet:
                return
            await trio.sleep(0.005)

    async def _conduct(self) -> list[Complaint]:
        """Take decisions, and let time pass whenever it is quiet, until the script is over."""
        conductor, limits = self._conductor, self._limits
        last_progress = trio.current_time()
        while conductor.arrivals and not (self._program.poll() is not None and conductor.disconnected):
            idle_for = trio.current_time() - last_progress
            busy = idle_for >= limits.quiet and is_busy(self._program.pid)  # first: octets_at sees what it writes last
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
                message = f"the client does not read: {unread} octets are unread at its socket"
                return [Complaint(law="a-client-reads", fact=57, message=message)]
            if idle_for >= limits.patience:
                conductor.give_up()
            arrivals = conductor.arrivals
            with trio.move_on_after(IDLE_SECONDS if idle_for < IDLE_SECONDS else limits.quiet / 2):
                await conductor.changed()
            last_progress = trio.current_time() if conductor.arrivals > arrivals else last_progress
        return []

    async def _judge(self) -> tuple[Complaint, ...]:
        """Judge the run; if there are complaints, wait a moment for a newer observation of the program."""
        complaints = judge(self._fake, self.output.observed, underway=True)
        with trio.move_on_after(self._limits.observing):
            while complaints and self.output.observed is not None and self._program.poll() is None:
                await self.output.more()
                complaints = judge(self._fake, self.output.observed, underway=True)
        return complaints

    def _non_text(self) -> Iterator[Complaint]:
        for how, (what, fact) in NON_TEXT.items():
            if self._server.ended[how]:
                message = f"the client sent {what}, which ends the link"
                yield Complaint(law="nothing-else-than-text", fact=fact, message=message)

    def _unanswered(self) -> Iterator[Complaint]:
        waiting = sum(
            client.unread
            for number, client in self._conductor.clients.items()
            if not Allowances(self._fake, number).may_give_up
        )
        if waiting:
            message = f"the client exited while {waiting} of its commands had no reply yet"
            yield Complaint(law="commands-are-waited-for", fact=56, message=message)

    async def _end(self) -> Iterator[Complaint]:
        begun = trio.current_time()
        with trio.move_on_after(self._limits.ending):
            await self._program.wait()
            self.ending = trio.current_time() - begun
        return self._exit_complaints()

    def _exit_complaints(self) -> Iterator[Complaint]:
        code = self._program.returncode
        if code is None:
            message = "the client does not exit when its browser is gone"
            yield Complaint(law="nothing-waits-for-ever", fact=58, message=message)
        elif code:
            how = f"with {code}" if code > 0 else f"by signal {-code}"
            yield Complaint(law="errors-say-what-to-do", fact=58, message=f"the client exited {how}")
        if not self._server.connections:
            yield Complaint(law=NEVER_CONNECTS, fact=61, message="the client opened no WebSocket to the browser")
        elif not any(client.has_sent for client in self._conductor.clients.values()):
            yield Complaint(law=NEVER_CONNECTS, fact=61, message="the client connected and sent nothing to the browser")


class _Questions:
    """Sends questions to a program over its standard input."""

    def __init__(self) -> None:
        self._asks, self._asked = trio.open_memory_channel[bytes](math.inf)

    def put(self, question: Any) -> None:
        """Queue a question, unless the program has closed its input."""
        with suppress(trio.BrokenResourceError):
            self._asks.send_nowait(json.dumps({"ask": question}).encode() + b"\n")

    def end(self) -> None:
        """Close the program's input after the questions that are queued."""
        self._asks.close()

    async def write(self, stream: trio.abc.SendStream) -> None:
        """Write the queued questions until the end, or until the program closes its input."""
        with suppress(trio.BrokenResourceError):
            async with stream, self._asked:
                async for line in self._asked:
                    await stream.send_all(line)


class _ProgramOutput:
    """Reads what a program prints, and keeps its last observation."""

    def __init__(self) -> None:
        self.observed: Json | None = None
        self._more = trio.Event()

    async def more(self) -> None:
        """Wait until it has printed another observation."""
        self._more = trio.Event()
        await self._more.wait()

    async def listen(self, stream: trio.abc.ReceiveStream) -> None:
        """Read the output until it ends."""
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
    """Return whether any thread of a session of the operating system has work to do.

    False if the operating system does not show it. On a busy machine a client may be silent for long because the scheduler has not run it.
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
    """Return the fields of a `stat` file from the state on; the name before it may contain any character."""
    return (of / "stat").read_text().rpartition(")")[2].split()


def octets_at(port: int) -> tuple[int, int]:
    """Count the octets that the clients of a port have not read, and those under way in both directions.

    The port is one of this machine. Both counts are 0 if the operating system does not show them.
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
