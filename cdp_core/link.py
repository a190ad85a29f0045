"""The engine on trio: one transport, one router, one reader task, one writer task.

    transport.receive() → router.receive_all() → for each output: taps, then command waiters, then subscriptions

There is no `await` between a message and its consumers. The link updates its own state first: sessions open and close
before any consumer is called. User code that runs here (taps, `where`, `arm`, `on_end`, a trace's `redact`) must be
pure and quick. The reader task waits for the transport and for nothing else (docs/cdp/taps-see-each-message-first.md).

Outgoing messages pass one outbox, and only the writer task awaits the stream, so cancelling a caller never cuts a
WebSocket frame (docs/cdp/cancelling-a-caller-never-cuts-a-websocket-frame.md). A lone command is written at once if
the transport can do that; several waiting commands are joined into one write.

The end of the link is state, not an exception: it ends every command, subscription and session with its reason, and
the body that holds the link continues (docs/cdp/link-loss-is-not-an-exception-of-the-block.md). Only a tap that
raises cancels the body, since the embedder's own bookkeeping has failed.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, Final, Generic, Protocol, TypeVar

import trio
from trio.lowlevel import Abort, current_task, reschedule, wait_task_rescheduled

from cdp_core.errors import ConnectionLost, InvalidArgument, LocalProtocolError, RemoteProtocolError, TapFailed
from cdp_core.sansio.domains import ENDINGS, Domains
from cdp_core.sansio.fetch_arbiter import WATCHED
from cdp_core.sansio.fetch_claims import FetchClaims
from cdp_core.sansio.messages import CommandId, Event, SessionId
from cdp_core.sansio.outcomes import Loss, Waiter
from cdp_core.sansio.redaction import shown_id
from cdp_core.sansio.router import Anomaly, CommandDone, Output, Router, RouterStatistics, SessionClosed, SessionOpened
from cdp_core.sansio.structs import Struct
from cdp_core.subscriptions import Routes
from cdp_core.transports import DirectTransport, JoiningTransport, Transport

Tap = Callable[[Output], object]
"""A function that is called with every output first and misses none. It must be pure and quick; it may send and
subscribe, never wait. One with the attribute `ignores_replies` is not called with `CommandDone`."""

MAX_OUTBOX_BYTES: Final = 64 * 2**20
"""Bytes that may wait to be written; while there are more, commands are refused with the reason `outbox_full`."""
EARLY: Final = 16
"""Commands. After each 16 queued ones the outbox is written at once, so that the browser begins with them."""
EARLY_SHARE: Final = 8
"""It is written early only if it has at least 1/8 of the commands in flight: else one joined write is cheaper."""
JOINED_WRITE: Final = 1 << 18
"""Bytes of one joined write: a pong waits for no more than this, or for one message."""
CLOSED: Final = "The link was closed here, at the end of its block; use it within its `async with`."
ENDED: Final = "The browser ended the connection; if it still runs, connect to it again."
LONE: Final = 2
"""Commands in flight up to which each is written at once; with more, they are joined into one write per pass.

Commands that follow a batch of several replies are joined too: the callers that waited for these replies are about to
send again, all in one pass.
"""

MAX_KNOWN_METHODS: Final = 4096
"""More event methods than the protocol can have: a peer that invents methods fills no more memory than this."""

log = logging.getLogger("cdp_core.link")

known_methods: Final[set[str]] = set()
"""Event methods, of any link, that were seen before; `on_first_event` is called with every other one."""


def remember(method: str) -> None:
    """Add an event method to the known ones, up to MAX_KNOWN_METHODS."""
    if len(known_methods) < MAX_KNOWN_METHODS:
        known_methods.add(method)


on_first_event: Callable[[str], None] = remember
"""Hook: called with each event method seen for the first time. `cdp_core.bindings` installs its drift counter here.
It must be quick, and never raise."""


class SessionHandle(Protocol):
    """The object that the layer above keeps for one session."""

    def closed(self, loss: Loss, /) -> None:
        """Note that the session ended."""


S = TypeVar("S", bound=SessionHandle)


def check_tap(tap: object) -> None:
    """Raise InvalidArgument unless `tap` is a function that is not async.

    An async function would only return a coroutine that no task awaits.
    """
    if not callable(tap):
        raise InvalidArgument(
            f"A tap must be a function that takes an output, not a value of type {type(tap).__name__}."
        )
    if iscoroutinefunction(tap) or iscoroutinefunction(getattr(tap, "__call__", None)):  # noqa: B004 - its kind matters
        raise InvalidArgument("A tap must not be async: the reader task calls it and awaits nothing.")


class LinkStatistics(Struct, frozen=True, kw_only=True):
    """What passed over one link so far.

    `fetch_unclaimed` requests matched no claim, `fetch_expired` ones were not answered in time; both were continued.
    `transport` is the statistics of its transport, or None if the transport has none.
    """

    router: RouterStatistics
    batches: int
    outbox: int
    outbox_bytes: int
    unobserved_refusals: int
    fetch_unclaimed: int
    fetch_expired: int
    closed: str | None
    transport: object = None


class Batches:
    """A counter of received batches: no time passed between two outputs at the same count."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class Link(Generic[S]):
    """One link to a browser: its transport, router, sessions and listeners."""

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
        # The methods that have or had a listener, on any session.
        self.subscribed: set[str] = set()
        self.all_sessions = Routes(self.subscribed)
        self.unobserved_refusals = 0
        self.tap_failure: TapFailed | None = None
        self.on_tap_failure: Callable[[], None] = lambda: None
        self.fetch = FetchClaims(partial(self.command, bounded=False, of_claims=True), trio.current_time)
        self.domains = Domains()
        self.ended = trio.Event()
        self._transport = transport
        self._direct = transport if isinstance(transport, DirectTransport) else None
        self._joining = transport if isinstance(transport, JoiningTransport) else None
        self._open_session = open_session
        self._strict = strict
        self._close_timeout = close_timeout
        self._taps: tuple[Tap, ...] = ()
        self._reply_taps: tuple[Tap, ...] = ()
        self._set_taps(tuple(taps))
        self._logged_anomalies: set[str] = set()
        self._outbox: deque[bytes] = deque()
        self._outbox_bytes = 0
        self._writer: trio.lowlevel.Task | None = None
        self.batches = Batches()
        self._replies_in_batch = 0
        self._drained: trio.Event | None = None

    # ── sending ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def command(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        session_id: SessionId | None,
        waiter: Waiter,
        *,
        joined: bool = False,
        bounded: bool = True,
        of_claims: bool = False,
        leased: bool = False,
    ) -> CommandId:
        """Send a command without waiting; `waiter` receives its outcome, once.

        `joined` marks commands that this library itself sends, bounded by the number of targets: they are left to the
        next write and are never refused for the size of the outbox. A command that is not `bounded` here is bounded
        by its sender. Commands `of_claims` are those of `fetch`; on a session with a claim, `Fetch.enable` and
        `Fetch.disable` of other code raise InvalidArgument. `leased` marks the commands of leases. Raises what
        Router.command raises, and LocalProtocolError if too many bytes wait to be written.
        """
        if self._outbox_bytes > MAX_OUTBOX_BYTES and bounded and not joined:
            raise LocalProtocolError(
                f"{method} was not sent: {self._outbox_bytes} bytes already wait to be written; "
                "wait for replies first.",
                reason="outbox_full",
            )
        if method in WATCHED and not of_claims and self.router.is_open(session_id):
            waiter = self.fetch.check_command(session_id, method, params, waiter)
        command_id, text = self.router.command(method, params, session_id, waiter)
        if method.endswith(ENDINGS):
            self.domains.sent(session_id, method, params, leased=leased)
        direct = self._direct
        try:
            if (
                direct is not None
                and not joined
                and not self._outbox
                and len(self.router.waiting) <= LONE
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
        except BaseException:  # a foreign transport raised: the caller gets no reply object
            self._take_back(text)
            self.abandon(command_id)
            raise
        return command_id

    def _take_back(self, text: bytes) -> None:
        """Remove the message that was added last: its sender gets an error, so it must not go out."""
        if self._outbox and self._outbox[-1] is text:
            self._outbox.pop()
            self._outbox_bytes -= len(text)

    def _send_early(self) -> bool:
        """Try to give the whole outbox to the transport; return True if nothing is left unsent."""
        if (
            self._joining is None
            or len(self._outbox) * EARLY_SHARE < len(self.router.waiting)
            or self._outbox_bytes > JOINED_WRITE
            or not self._joining.send_joined_now(tuple(self._outbox))
        ):
            return False
        self._outbox.clear()
        self._outbox_bytes = 0
        return self._direct is None or not self._direct.unsent

    def abandon(self, command_id: CommandId) -> None:
        """Abandon a command: its waiter gets no outcome, and a reply that still comes is late."""
        self.router.abandon(command_id)

    async def write(self) -> None:
        """Run the writer task, the only one that awaits the stream."""
        try:
            while not self.ended.is_set():
                while self._has_unsent():
                    await self._transport.send(self._take_batch())
                    if self._outbox:
                        await trio.lowlevel.checkpoint()  # the transport's send may not have waited
                if self._drained is not None:
                    self._drained.set()
                await self._park_writer()
        except (ConnectionLost, RemoteProtocolError, trio.BrokenResourceError, trio.ClosedResourceError, OSError):
            # The reader task finds a better reason, after the messages before it; give it a moment.
            with trio.move_on_after(self._close_timeout):
                await self.ended.wait()
            self._lose(_broken())

    async def flush(self) -> None:
        """Wait until the transport has all that was sent, or the link has ended."""
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

    # ── receiving ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def read(self) -> None:
        """Run the reader task until the link has ended; the end is state and is not raised."""
        try:
            while not self.ended.is_set():
                batch = await self._transport.receive()
                if not isinstance(batch, (list, Sequence)):  # pyright: ignore[reportUnnecessaryIsInstance] - a foreign transport
                    raise RemoteProtocolError(  # noqa: TRY301 - it ends the link as any other fault
                        f"The transport's receive() returned a {type(batch).__name__}, not a sequence of messages; "
                        "fix the transport."
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
        """Pass each output to taps, waiters and subscriptions, one output after the other.

        This loop runs once for each event.
        """
        routes, all_sessions, subscribed = self.routes, self.all_sessions.by_method, self.subscribed
        self._replies_in_batch = 0
        at = 0.0  # one time for the whole batch, read when the first sink needs it
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
                except Exception as error:  # noqa: BLE001 - the other outputs must still reach their waiters
                    self._tap_failed(tap, error)
            if method not in subscribed:
                continue
            if (listening := routes.get(output.session_id)) is not None:
                for sink in listening.by_method.get(method, ()):
                    sink.push(output, at)  # a sink of one session ignores the time
            for sink in all_sessions.get(method, ()):
                at = at or trio.current_time()
                sink.push(output, at)

    def _dispatch(self, output: CommandDone | SessionOpened | SessionClosed | Anomaly) -> None:
        """Handle an output that changes state: first the link's own state, then taps, then waiters."""
        session: S | None = None
        taps = self._taps
        if type(output) is CommandDone:
            self._replies_in_batch += 1
            taps = self._reply_taps
        elif isinstance(output, SessionOpened):
            self.sessions[output.session_id] = self._open_session(output)
        elif isinstance(output, SessionClosed):
            session = self.sessions.pop(output.session_id, None)
        for tap in taps:
            try:
                tap(output)
            except Exception as error:  # noqa: BLE001 - the embedder's own code; the waiter is served all the same
                self._tap_failed(tap, error)
        if isinstance(output, CommandDone):
            output.waiter.settle(output.outcome)
        elif isinstance(output, SessionClosed):
            self._end_session(output, session)
        elif isinstance(output, Anomaly):
            self._on_anomaly(output)

    def _end_session(self, closed: SessionClosed, session: S | None) -> None:
        if session is not None:
            session.closed(closed.loss)
        self.fetch.session_closed(closed.session_id, closed.loss.error)
        self.domains.closed(closed.session_id)
        routes = self.routes.pop(closed.session_id, None)
        if routes is not None:
            routes.end(closed.loss.error)

    def _on_anomaly(self, anomaly: Anomaly) -> None:
        level = logging.DEBUG if anomaly.reason in self._logged_anomalies else logging.WARNING  # one warning per reason
        self._logged_anomalies.add(anomaly.reason)
        if log.isEnabledFor(level):
            where = shown_id(anomaly.session_id)
            log.log(
                level,
                "the browser sent a message that fits nowhere (%s, session %s): %s",
                anomaly.reason,
                where,
                anomaly.detail,
            )
        if self._strict:
            self._lose(
                Loss(kind="connection", reason="strict", detail=f"Strict mode ended the link: {anomaly.detail}.")
            )

    # ── listeners ────────────────────────────────────────────────────────────────────────────────────────────────────

    def routes_of(self, session_id: SessionId | None) -> Routes:
        """Return the routes of one session. Raises ConnectionLost if the link has ended."""
        if self.router.loss is not None:
            raise self.router.loss.error()
        found = self.routes.get(session_id)
        if found is None:
            found = self.routes[session_id] = Routes(self.subscribed)
        return found

    def add_tap(self, tap: Tap) -> tuple[Output, ...]:
        """Add a tap from the next output on; return outputs that describe what is open already."""
        self._set_taps((*self._taps, tap))
        return self.router.open_sessions()

    def remove_tap(self, tap: Tap) -> None:
        self._set_taps(tuple(each for each in self._taps if each is not tap))

    def _set_taps(self, taps: tuple[Tap, ...]) -> None:
        self._taps = taps
        self._reply_taps = tuple(tap for tap in taps if not getattr(tap, "ignores_replies", False))

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
        """End the link in bounded time; every waiter gets the reason. Idempotent."""
        self._lose(Loss(kind="connection", reason="closed", detail=CLOSED))
        # Our transports bound their own close; a foreign one may not.
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
        self.fetch.link_lost(loss.error)
        for routes in (*self.routes.values(), self.all_sessions):
            routes.end(loss.error)
        self.routes.clear()

    def statistics(self) -> LinkStatistics:
        loss = self.router.loss
        transport_statistics: Callable[[], object] | None = getattr(self._transport, "statistics", None)
        return LinkStatistics(
            router=self.router.statistics(),
            batches=self.batches.count,
            outbox=len(self._outbox),
            outbox_bytes=self._outbox_bytes,
            unobserved_refusals=self.unobserved_refusals,
            fetch_unclaimed=self.fetch.unclaimed,
            fetch_expired=self.fetch.expired,
            closed=None if loss is None else loss.reason,
            transport=None if transport_statistics is None else transport_statistics(),
        )


def _broken() -> Loss:
    detail = "The connection to the browser broke; if it still runs, connect to it again."
    return Loss(kind="connection", reason="broken", detail=detail, close_code=1006)
