"""The engine under trio: one transport, one router, one reader task, one writer task.

    transport.receive() → router.receive_all() → for each output: taps, then command waiters, then subscriptions

There is no `await` between a message and those who hear of it. State comes first (sessions open and close before anyone
is told), user code other than taps and `where` never runs here, and the reader never waits for anybody but the transport
(docs/cdp/taps-see-each-message-first.md).

Outward there is one outbox and one task that awaits the stream, so cancelling a caller never cuts a frame
(docs/cdp/cancelling-a-caller-never-cuts-a-websocket-frame.md). A lone command goes out at once where the transport can do that; where
several wait, one joined write takes them all.

The end of the link is state, not an exception: it ends every command, subscription and session with its reason, and the
body that holds the link goes on (docs/cdp/link-loss-is-not-an-exception-of-the-block.md). Only a tap that raises cancels
the body, since the embedder's own bookkeeping has failed.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import iscoroutinefunction
from typing import Any, Final, Generic, Protocol, TypeVar

import trio
from trio.lowlevel import Abort, current_task, reschedule, wait_task_rescheduled

from cdp_core.errors import ConnectionLost, InvalidArgument, LocalProtocolError, RemoteProtocolError, TapFailed
from cdp_core.sansio.messages import CommandId, Event, SessionId
from cdp_core.sansio.redaction import shown_id
from cdp_core.sansio.router import (
    Anomaly,
    CommandDone,
    Loss,
    Outcome,
    Output,
    Router,
    RouterStatistics,
    SessionClosed,
    SessionOpened,
)
from cdp_core.sansio.structs import Struct
from cdp_core.subscriptions import Routes
from cdp_core.transports import DirectTransport, JoiningTransport, Transport

Tap = Callable[[Output], object]
"""Sees every output first and loses nothing; must be pure and quick. It may send and subscribe, never wait."""

MAX_OUTBOX_BYTES: Final = 64 * 2**20
EARLY: Final = 16
EARLY_SHARE: Final = 8
"""When so many wait in one pass, and that part of all that is in flight, they go out before the rest is written: the
browser begins with them meanwhile."""
JOINED_WRITE: Final = 1 << 18
"""A pong waits for no more than this, or one message."""
ENDED: Final = "The browser ended the connection; if it still runs, connect to it again."
LONE: Final = 2
"""Up to so many commands in flight, each is written at once; above, they are joined into one write per pass.

So are those that follow a batch of several replies: whoever waited for these is about to send again, all in one pass.
"""

MAX_KNOWN_METHODS: Final = 4096

log = logging.getLogger("cdp_core.link")

known_methods: Final[set[str]] = set()
"""Methods of events, of any link, that nobody needs to hear of again; every other one is told to `on_first_event`."""


def remember(method: str) -> None:
    """The method is familiar from now on; a peer that makes up more than the protocol can have is not remembered."""
    if len(known_methods) < MAX_KNOWN_METHODS:
        known_methods.add(method)


on_first_event: Callable[[str], None] = remember
"""Whom `cdp_core.bindings` replaces, so that it can count what it does not know. Must be quick, and never raise."""


class SessionHandle(Protocol):
    """What the layer above keeps for a session."""

    def closed(self, loss: Loss, /) -> None:
        """The session ended."""
        ...


S = TypeVar("S", bound=SessionHandle)


class Waiter(Protocol):
    """Who hears of the end of a command."""

    def settle(self, outcome: Outcome, /) -> None:
        """The command ended."""
        ...


def check_tap(tap: object) -> None:
    """Refuse what cannot be called, or would only give a coroutine that nobody awaits."""
    if not callable(tap):
        raise InvalidArgument(f"A tap must be a function of an output, not {type(tap).__name__}.")
    if iscoroutinefunction(tap) or iscoroutinefunction(getattr(tap, "__call__", None)):  # noqa: B004 - its own, not whether
        raise InvalidArgument("A tap must not be async: nothing waits between a message and its taps.")


class LinkStatistics(Struct, frozen=True, kw_only=True):
    """What passed over one link so far; `transport` is what its transport tells of itself, None where that is nothing."""

    router: RouterStatistics
    batches: int
    outbox: int
    outbox_bytes: int
    unobserved_refusals: int
    closed: str | None
    transport: object = None


class Batches:
    """What the transport gave at once, counted: where it is the same, no time has passed between two outputs."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class Link(Generic[S]):
    """One connection to a browser, alive."""

    def __init__(
        self,
        transport: Transport,
        *,
        taps: Sequence[Tap],
        strict: bool,
        close_timeout: float,
        open_session: Callable[[SessionOpened], S],
    ) -> None:
        self.router = Router()
        self.sessions: dict[SessionId, S] = {}
        self.routes: dict[SessionId | None, Routes] = {}
        self.subscribed: set[str] = set()
        """The methods that somebody listens to or did, on whichever session."""
        self.all_sessions = Routes(self.subscribed)
        self.unobserved_refusals = 0
        self.tap_failure: TapFailed | None = None
        self.on_tap_failure: Callable[[], None] = lambda: None
        self.ended = trio.Event()
        self._transport = transport
        self._direct = transport if isinstance(transport, DirectTransport) else None
        self._joining = transport if isinstance(transport, JoiningTransport) else None
        self._open_session = open_session
        self._strict = strict
        self._close_timeout = close_timeout
        self._taps = tuple(taps)
        self._logged_anomalies: set[str] = set()
        self._waiters: dict[CommandId, Waiter] = {}
        self._outbox: deque[bytes] = deque()
        self._outbox_bytes = 0
        self._writer: trio.lowlevel.Task | None = None
        self.batches = Batches()
        self._replies_in_batch = 0
        self._drained: trio.Event | None = None

    # ── outward ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def command(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        session_id: SessionId | None,
        waiter: Waiter,
        *,
        joined: bool = False,
        bounded: bool = True,
    ) -> CommandId:
        """Send a command without waiting; `waiter` hears of its end, once.

        `joined` is for what this library sends by itself, bounded by the targets: it is left to the next write, and is
        never too much. What is not `bounded` here is bounded by its sender. Raises what Router.command raises, and LocalProtocolError where too much waits to be written.
        """
        if self._outbox_bytes > MAX_OUTBOX_BYTES and bounded and not joined:
            raise LocalProtocolError(
                f"{method} was not sent: {self._outbox_bytes} bytes already wait to be written; wait for replies first.",
                reason="outbox_full",
            )
        command_id, text = self.router.command(method, params, session_id)
        self._waiters[command_id] = waiter
        direct = self._direct
        try:
            if (
                direct is not None
                and not joined
                and not self._outbox
                and len(self._waiters) <= LONE
                and self._replies_in_batch <= 1
                and direct.send_now(text)
            ):
                if direct.unsent:
                    self._wake_writer()
            else:
                self._outbox.append(text)
                self._outbox_bytes += len(text)
                if len(self._outbox) % EARLY or joined or not self._send_early():
                    self._wake_writer()
        except BaseException:  # a foreign transport's: nobody will ever hear of this command
            self._take_back(text)
            self.abandon(command_id)
            raise
        return command_id

    def _take_back(self, text: bytes) -> None:
        """What was added last must not go out any more: its sender is told that it failed."""
        if self._outbox and self._outbox[-1] is text:
            self._outbox.pop()
            self._outbox_bytes -= len(text)

    def _send_early(self) -> bool:
        """Whether all that waits is with the transport now."""
        if (
            self._joining is None
            or len(self._outbox) * EARLY_SHARE < len(self._waiters)
            or self._outbox_bytes > JOINED_WRITE
            or not self._joining.send_joined_now(tuple(self._outbox))
        ):
            return False
        self._outbox.clear()
        self._outbox_bytes = 0
        return self._direct is None or not self._direct.unsent

    def abandon(self, command_id: CommandId) -> None:
        """Nobody waits for this command any more."""
        self._waiters.pop(command_id, None)
        self.router.abandon(command_id)

    async def write(self) -> None:
        """The writer task: the only one that awaits the stream."""
        try:
            while not self.ended.is_set():
                while self._has_unsent():
                    await self._transport.send(self._take_batch())
                    if self._outbox:
                        await trio.lowlevel.checkpoint()  # a transport may send without waiting
                if self._drained is not None:
                    self._drained.set()
                await self._park_writer()
        except (ConnectionLost, RemoteProtocolError, trio.BrokenResourceError, trio.ClosedResourceError, OSError):
            # The reader has the better reason, and messages to read before it; it is given a moment to find it.
            with trio.move_on_after(self._close_timeout):
                await self.ended.wait()
            self._lose(_broken())

    async def flush(self) -> None:
        """Until all that was sent is with the transport, or the link has ended."""
        if (self._writer is None or self._has_unsent()) and not self.ended.is_set():
            self._drained = trio.Event()
            await self._drained.wait()

    def _has_unsent(self) -> bool:
        return bool(self._outbox) or (self._direct is not None and self._direct.unsent)

    def _take_batch(self) -> list[bytes]:
        batch: list[bytes] = []
        size = 0
        outbox = self._outbox
        while outbox and (not batch or size + len(outbox[0]) <= JOINED_WRITE):
            text = outbox.popleft()
            size += len(text)
            batch.append(text)
        self._outbox_bytes -= size
        return batch

    async def _park_writer(self) -> None:
        self._writer = current_task()

        def abort(_raise_cancel: object) -> Abort:
            self._writer = None
            return Abort.SUCCEEDED

        await wait_task_rescheduled(abort)

    def _wake_writer(self) -> None:
        if self._writer is not None:
            task, self._writer = self._writer, None
            reschedule(task)

    # ── inward ───────────────────────────────────────────────────────────────────────────────────────────────────────

    async def read(self) -> None:
        """The reader task: ends when the link has ended; that is state, and not raised."""
        try:
            while not self.ended.is_set():
                batch = await self._transport.receive()
                if not isinstance(batch, (list, Sequence)):  # pyright: ignore[reportUnnecessaryIsInstance] - a foreign transport's
                    raise RemoteProtocolError(  # noqa: TRY301 - it ends the link as any other fault
                        f"The transport's receive() gave no sequence of messages but a {type(batch).__name__}; mend it."
                    )
                self.batches.count += 1
                self._deliver(self.router.receive_all(batch))
        except ConnectionLost as lost:
            self._lose(Loss(kind="connection", reason=lost.reason, detail=str(lost), close_code=lost.close_code))
        except RemoteProtocolError as fault:
            method = None if fault.command_id is None else self.router.method_of(fault.command_id)
            detail = str(fault) if method is None else f"{fault} It was the reply to {method}."
            self._lose(Loss(kind="connection", reason="protocol_error", detail=detail, close_code=fault.close_code))
        except trio.ClosedResourceError:
            self._lose(Loss(kind="connection", reason="closed", detail="The link was closed here."))
        except (trio.BrokenResourceError, OSError):
            self._lose(_broken())
        except trio.EndOfChannel:
            self._lose(Loss(kind="connection", reason="peer_closed", detail=ENDED))

    def _deliver(self, outputs: Iterable[Output]) -> None:
        """Taps, waiters, subscriptions, for one output after the other. This loop runs once for each event."""
        routes, all_sessions, subscribed = self.routes, self.all_sessions.by_method, self.subscribed
        self._replies_in_batch = 0
        at = 0.0  # one instant for the whole batch, asked for where somebody listens
        for output in outputs:
            if type(output) is not Event and not isinstance(output, Event):
                self._dispatch(output)
                continue
            method = output.method
            if method not in known_methods:
                on_first_event(method)
            for tap in self._taps:
                try:
                    tap(output)
                except Exception as error:  # noqa: BLE001 - what else came of this message still ends who waits for it
                    self._tap_failed(tap, error)
            if method not in subscribed:
                continue
            if (listening := routes.get(output.session_id)) is not None:
                for sink in listening.by_method.get(method, ()):
                    sink.push(output, at)  # to a sink of one session the time says nothing
            for sink in all_sessions.get(method, ()):
                at = at or trio.current_time()
                sink.push(output, at)

    def _dispatch(self, output: CommandDone | SessionOpened | SessionClosed | Anomaly) -> None:
        """An output that changes something: our own state first, then the taps, then those concerned."""
        session: S | None = None
        if type(output) is CommandDone:
            self._replies_in_batch += 1
        elif isinstance(output, SessionOpened):
            self.sessions[output.session_id] = self._open_session(output)
        elif isinstance(output, SessionClosed):
            session = self.sessions.pop(output.session_id, None)
        for tap in self._taps:
            try:
                tap(output)
            except Exception as error:  # noqa: BLE001 - the embedder's own code; those concerned hear of it all the same
                self._tap_failed(tap, error)
        if isinstance(output, CommandDone):
            waiter = self._waiters.pop(output.id, None)
            if waiter is not None:
                waiter.settle(output.outcome)
        elif isinstance(output, SessionClosed):
            self._end_session(output, session)
        elif isinstance(output, Anomaly):
            self._on_anomaly(output)

    def _end_session(self, closed: SessionClosed, session: S | None) -> None:
        if session is not None:
            session.closed(closed.loss)
        routes = self.routes.pop(closed.session_id, None)
        if routes is not None:
            routes.end(closed.loss.error)

    def _on_anomaly(self, anomaly: Anomaly) -> None:
        level = logging.DEBUG if anomaly.reason in self._logged_anomalies else logging.WARNING  # once, then counted
        self._logged_anomalies.add(anomaly.reason)
        if log.isEnabledFor(level):
            where = shown_id(anomaly.session_id)
            log.log(
                level, "the browser sent what fits nowhere (%s, session %s): %s", anomaly.reason, where, anomaly.detail
            )
        if self._strict:
            self._lose(
                Loss(kind="connection", reason="strict", detail=f"Strict mode ended the link: {anomaly.detail}.")
            )

    # ── listeners ────────────────────────────────────────────────────────────────────────────────────────────────────

    def routes_of(self, session_id: SessionId | None) -> Routes:
        """The routes of one session. Raises its Gone where it has ended."""
        if self.router.loss is not None:
            raise self.router.loss.error()
        found = self.routes.get(session_id)
        if found is None:
            found = self.routes[session_id] = Routes(self.subscribed)
        return found

    def add_tap(self, tap: Tap) -> tuple[Output, ...]:
        """From the next output on the tap sees all; what is open already is returned."""
        self._taps = (*self._taps, tap)
        return self.router.open_sessions()

    def remove_tap(self, tap: Tap) -> None:
        """The tap sees nothing more. Idempotent."""
        self._taps = tuple(each for each in self._taps if each is not tap)

    def _tap_failed(self, tap: Tap, error: Exception) -> None:
        self.remove_tap(tap)
        if self.tap_failure is None:
            self.tap_failure = TapFailed(getattr(tap, "__qualname__", type(tap).__qualname__))
            self.tap_failure.__cause__ = error
        detail = "The link was ended, because a tap raised an exception."
        self._lose(Loss(kind="connection", reason="tap_failed", detail=detail))
        self.on_tap_failure()

    # ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def aclose(self) -> None:
        """End the link in bounded time; everything that waits hears of it. Idempotent."""
        self._lose(Loss(kind="connection", reason="closed", detail="The link was closed here."))
        # A transport bounds itself; a foreign one may not.
        with trio.move_on_after(self._close_timeout + 1, shield=True):
            await self._transport.aclose()

    def _lose(self, loss: Loss) -> None:
        if self.ended.is_set():
            return
        self.ended.set()
        ended = len(self.sessions), self.router.in_flight
        log.info("link down (%s); %d sessions and %d commands ended with it", loss.reason, *ended)
        self._outbox.clear()
        self._outbox_bytes = 0
        self._wake_writer()
        if self._drained is not None:
            self._drained.set()
        for output in self.router.lost(loss):
            assert not isinstance(output, Event)
            self._dispatch(output)
        for routes in (*self.routes.values(), self.all_sessions):
            routes.end(loss.error)
        self.routes.clear()

    def statistics(self) -> LinkStatistics:
        """Counts so far."""
        loss = self.router.loss
        transport_statistics: Callable[[], object] | None = getattr(self._transport, "statistics", None)
        return LinkStatistics(
            router=self.router.statistics(),
            batches=self.batches.count,
            outbox=len(self._outbox),
            outbox_bytes=self._outbox_bytes,
            unobserved_refusals=self.unobserved_refusals,
            closed=None if loss is None else loss.reason,
            transport=None if transport_statistics is None else transport_statistics(),
        )


def _broken() -> Loss:
    detail = "The connection to the browser broke; if it still runs, connect to it again."
    return Loss(kind="connection", reason="broken", detail=detail, close_code=1006)
