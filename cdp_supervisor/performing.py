"""The part of every event source that is alike: outputs become inputs, effects are performed.

`Performer` does it over a small port: the driver's port is a trio link that other code may share, the port of
`SupervisorEngine` is a router and some lists. A command is sent with its ticket as the waiter, so its outcome finds the
ticket without a table. `commands_of` gives the commands of the effects that concern every user of a connection, for a
port with a connection of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from cdp_core.errors import CdpError, SessionGone
from cdp_core.sansio.fetch_claims import FetchClaims
from cdp_core.sansio.messages import CommandId, Json, SessionId
from cdp_core.sansio.outcomes import Outcome, Waiter
from cdp_core.sansio.router import Anomaly, CommandDone, SessionClosed, SessionOpened
from cdp_core.sansio.structs import asdict
from cdp_core.sansio.target_table import ATTACH_RUNNING, AUTO_ATTACH, DISCOVER
from cdp_supervisor.extension_claims import ExtensionClaims
from cdp_supervisor.runner import Runner
from cdp_supervisor.sansio import inputs
from cdp_supervisor.sansio.changes import Change
from cdp_supervisor.sansio.effects import (
    Answer,
    AnswerFetch,
    AutoAttach,
    ClaimFetch,
    Claiming,
    Detach,
    Dial,
    Disconnect,
    Discover,
    Effect,
    Enable,
    Forget,
    Note,
    Publish,
    Release,
    ReleaseFetch,
    Resume,
    Send,
)
from cdp_supervisor.sansio.inputs import CommandEnded, Input, Instant, NotSent
from cdp_supervisor.sansio.state import State

NO_AUTO_ATTACH: Final[Json] = {"autoAttach": False, "waitForDebuggerOnStart": False, "flatten": True}

Shared = Discover | AutoAttach | Enable | Resume | Detach | Release
"""Effects that concern every user of a connection."""
Command = tuple[str, Mapping[str, Any] | None, SessionId | None]


class Sender(Protocol):
    """The link to which commands go."""

    def command(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        session_id: SessionId | None,
        waiter: Waiter,
        /,
        *,
        bounded: bool,
    ) -> CommandId:
        """Send a command; its outcome goes to `waiter.settle`. Raises CdpError if it cannot be sent."""
        ...

    def abandon(self, command_id: CommandId, /) -> None:
        """Ignore the reply of a command."""


class Port(Protocol):
    """The link, the callers and the clock of one event source."""

    @property
    def mono(self) -> Callable[[], float]:
        """A clock that never goes back, for deadlines."""
        ...

    @property
    def wall(self) -> Callable[[], float]:
        """Seconds since 1970, for snapshots and logs."""
        ...

    def fed(self, state: State, /) -> None:
        """Take note of the state after an input and its effects."""

    @property
    def sender(self) -> Sender:
        """Where commands go now."""
        ...

    def fetch_claims(self) -> FetchClaims:
        """Return the claims of the connection. Raises CdpError if none are possible now."""
        ...

    def share(self, effect: Shared, /) -> None:
        """Perform an effect that concerns every user of the connection; raises nothing."""

    def answer(self, answer: Answer, /) -> None: ...

    def publish(self, change: Change, /) -> None: ...

    def note(self, note: Note, /) -> None: ...

    def dial(self, generation: int, /) -> None: ...

    def disconnect(self, reason: str, /) -> None: ...


class SentCommand:
    """A command of the state machine on its way: the waiter of its outcome."""

    __slots__ = ("_performer", "_ticket")

    def __init__(self, performer: Performer, ticket: int) -> None:
        self._performer = performer
        self._ticket = ticket

    def settle(self, outcome: Outcome, /) -> None:
        self._performer.command_ended(self._ticket, outcome)


class NoLink:
    """In place of a link while there is none: every command is refused."""

    def command(
        self,
        _method: str,
        _params: object,
        session_id: SessionId | None,
        _waiter: Waiter,
        *,
        bounded: bool,  # noqa: ARG002
    ) -> CommandId:
        """Raise SessionGone."""
        raise SessionGone("The link is down.", reason="link_down", session_id=session_id or "")

    def abandon(self, command_id: CommandId, /) -> None:
        """Nothing is under way."""

    @property
    def fetch(self) -> FetchClaims:
        """Raise SessionGone."""
        raise SessionGone("The link is down.", reason="link_down", session_id="")


class _Ignored:
    """The waiter of a command whose outcome is of no interest."""

    def settle(self, _outcome: Outcome, /) -> None:
        pass


IGNORED: Final = _Ignored()


class Performer(Runner):
    """The runner of a state machine on one port."""

    def __init__(self, state: State, port: Port, *, record: Callable[[Input], None] | None = None) -> None:
        super().__init__(state, self._perform, record=record, fed=port.fed)
        self._port = port
        self._mono, self._wall = port.mono, port.wall
        # Ticket → command, so that `Forget` finds it.
        self._sent: dict[int, CommandId] = {}
        self._claims = ExtensionClaims(self._feed_now)

    def now(self) -> Instant:
        """Return the time of an input that this source causes."""
        return Instant(mono=self._mono(), wall=self._wall())

    # ── outputs of the link ──────────────────────────────────────────────────────────────────────────────────────────

    def command_ended(self, ticket: int, outcome: Outcome | NotSent) -> None:
        """Feed the end of the command with this ticket."""
        self._sent.pop(ticket, None)
        self.feed(CommandEnded(at=self.now(), generation=self.generation, ticket=ticket, outcome=outcome))

    def take(self, output: CommandDone | SessionOpened | SessionClosed | Anomaly) -> None:
        """Feed the opening or the end of a session; other outputs are no inputs."""
        if isinstance(output, (SessionOpened, SessionClosed)):
            self.feed(session_input(output, self.now(), self.generation))

    def link_ended(self) -> None:
        """Forget the commands of a link that is over: `LinkDown` ends their tickets."""
        self._sent.clear()
        self._claims.release_all()

    def _feed_now(self, kind: Any, **fields: Any) -> None:
        self.feed(kind(at=self.now(), generation=self.generation, **fields))

    # ── effects ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _perform(self, effect: Effect) -> None:
        port = self._port
        if isinstance(effect, Send):
            self._send(effect)
        elif isinstance(effect, Answer):
            port.answer(effect)
        elif isinstance(effect, Publish):
            port.publish(effect.change)
        elif isinstance(effect, Note):
            port.note(effect)
        elif isinstance(effect, Forget):
            command_id = self._sent.pop(effect.ticket, None)
            if command_id is not None:
                port.sender.abandon(command_id)
        else:
            self._on_connection(effect)

    def _on_connection(self, effect: Dial | Disconnect | Claiming | Shared) -> None:
        port = self._port
        if isinstance(effect, Dial):
            port.dial(effect.generation)
        elif isinstance(effect, Disconnect):
            port.disconnect(effect.reason)
        elif isinstance(effect, (ClaimFetch, AnswerFetch, ReleaseFetch)):
            self._claim(effect)
        else:
            port.share(effect)

    def _claim(self, effect: Claiming) -> None:
        if isinstance(effect, ClaimFetch):
            self._claims.claim(effect, self._port.fetch_claims)
        elif isinstance(effect, ReleaseFetch):
            self._claims.release(effect.extension, effect.key)
        else:
            try:
                self._claims.answer(effect, SentCommand(self, effect.ticket) if effect.ticket else IGNORED)
            except CdpError as error:
                self._not_sent(effect.ticket, error)

    def _send(self, effect: Send) -> None:
        ticket = effect.ticket
        try:
            command_id = self._port.sender.command(
                effect.method,
                effect.params,
                effect.session_id,
                SentCommand(self, ticket) if ticket else IGNORED,
                bounded=effect.bounded,
            )
        except CdpError as error:
            self._not_sent(ticket, error)
        else:
            if ticket:
                self._sent[ticket] = command_id

    def _not_sent(self, ticket: int, error: CdpError) -> None:
        if ticket:
            self.command_ended(ticket, NotSent(error=error))
        else:  # without `reply_to` an extension gets no input: it would send again at once
            self.unsent += 1


def commands_of(effect: Shared) -> tuple[Command, ...]:
    """Return the commands of an effect on a connection that no other code shares."""
    if isinstance(effect, Discover):
        return (("Target.setDiscoverTargets", DISCOVER, None),)
    if isinstance(effect, AutoAttach):
        return (("Target.setAutoAttach", AUTO_ATTACH if effect.wait else ATTACH_RUNNING, effect.session_id),)
    if isinstance(effect, Enable):
        return ((f"{effect.domain}.enable", None, effect.session_id),)
    if isinstance(effect, Resume):
        return (("Runtime.runIfWaitingForDebugger", None, effect.session_id),)
    if isinstance(effect, Detach):
        return (("Target.detachFromTarget", {"sessionId": effect.session_id}, effect.parent),)
    detached = [("Target.detachFromTarget", {"sessionId": each}, None) for each in effect.sessions]
    root: tuple[Command, ...] = (("Target.setAutoAttach", NO_AUTO_ATTACH, None),) if effect.root else ()
    return (*root, *detached)


def session_input(output: SessionOpened | SessionClosed, at: Instant, generation: int) -> Input:
    """Return the input for a session that opened or ended."""
    if isinstance(output, SessionOpened):
        return inputs.SessionOpened(at=at, generation=generation, **asdict(output))
    reason = "link_lost" if output.loss.kind == "connection" else output.loss.reason
    return inputs.SessionClosed(at=at, generation=generation, session_id=output.session_id, reason=reason)
