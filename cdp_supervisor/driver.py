"""The driver: holds the link on trio, feeds the state machine, performs effects and keeps the time.

Two tasks live as long as the supervisor: one keeps the link (and connects again when the state machine orders it),
the other sleeps until the next deadline. Each link lives in a block of its own. The engine's outputs arrive through a
tap, so the state machine has seen a message before any subscriber has. Nothing is awaited in the tap; the only user code in
it is the embedder's extensions, which are pure.

Sharing one connection with other code is in shared_link.py, the subscribers of changes are in change_feed.py.
"""

from __future__ import annotations

import logging
import math
import os
import random
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from typing import Any, Final

import attrs
import trio

from cdp_core import (
    Address,
    Batches,
    BrowserSession,
    CdpError,
    ConnectionLost,
    DiscoveryError,
    Event,
    Gone,
    InvalidArgument,
    Output,
    PageSession,
    SessionClosed,
    Subscription,
    Transport,
    open_browser_session,
)
from cdp_core.link import Link
from cdp_core.nurseries import leaf_exceptions
from cdp_core.sansio.fetch_claims import FetchClaims
from cdp_supervisor.change_feed import ChangeFeed
from cdp_supervisor.errors import UnsupportedBackend
from cdp_supervisor.performing import NoLink, Performer, Shared
from cdp_supervisor.sansio.changes import Change
from cdp_supervisor.sansio.effects import Answer, Note
from cdp_supervisor.sansio.inputs import (
    BrowserEvent,
    Input,
    Instant,
    LinkDown,
    LinkUp,
    RequestCancelled,
    RequestReceived,
    TimePassed,
)
from cdp_supervisor.sansio.requests import Request, Stop
from cdp_supervisor.sansio.state import State
from cdp_supervisor.sansio.stopping import StopReport
from cdp_supervisor.shared_link import SharedLink

Connect = Address | Callable[[], Awaitable[Address | Transport]]
"""An address, or an async function that returns one (or a transport) before each connect.

A function is for services with signed addresses that expire, or that give out a new address for each connection.
"""

FINAL: Final = frozenset((401, 403, 404, 410))
"""HTTP statuses that another attempt would not change."""
OVER: Final = frozenset(("stopped", "gave_up"))
"""Phases of the link in which nothing changes any more."""
DIAL_AGAIN: Final = 0.1
"""Seconds between two connects to a browser that is starting."""
STOP_WITHIN: Final = 2.0
CLOSE_WITHIN: Final = 4.0
"""Seconds; more than a link needs to close."""

log = logging.getLogger("cdp_supervisor.driver")


@attrs.define(eq=False)
class _PendingRequest:
    """A request that waits for its answer."""

    answered: trio.Event = attrs.field(factory=trio.Event)
    answer: Answer | None = None


@attrs.frozen(kw_only=True)
class LinkOptions:
    """HTTP headers and TLS settings for each connect."""

    headers: Mapping[str, str]
    ssl_context: ssl.SSLContext | None


class Driver:
    """Runs one state machine on trio, from the first connect to its stop."""

    def __init__(
        self,
        state: State,
        where: Connect | BrowserSession,
        options: LinkOptions,
        *,
        record: Callable[[Input], None] | None = None,
    ) -> None:
        self.mono, self.wall = trio.lowlevel.current_clock().current_time, time.time
        self.runner = Performer(state, self, record=record)
        self.browser: BrowserSession | None = None
        self.sender: Link[PageSession] | NoLink = NoLink()
        # Set when the first link is up and its pages are known, or when the start has failed.
        self.started = trio.Event()
        self.start_failure: Exception | None = None
        # Until this moment the first connect is tried again if the browser seems to be starting, and its last error.
        self.start_by = -math.inf
        self.not_yet: DiscoveryError | None = None
        # What a task of the driver raised: a bug in this library, or in the function that gives the address.
        self.failure: Exception | None = None
        self.on_failure: Callable[[], None] = lambda: None
        # The batch counter of the current link: between two outputs of one batch, no time has passed.
        self._batches = Batches()
        self._batch, self._batch_time = -1, Instant(mono=-math.inf)
        self._link_scope, self._time_scope = trio.CancelScope(shield=True), trio.CancelScope(shield=True)
        self._ending = False
        self._where = where
        self._options = options
        # The event methods that are fed to the state machine; true if the event may be deferred.
        self._used = self.runner.used_events
        self._dial = trio.Event()
        self._dial.set()
        self._disconnect_scope, self._disconnect_reason = trio.CancelScope(), ""
        self._shared: SharedLink | None = None
        self._pending_requests: dict[int, _PendingRequest] = {}
        self._last_request = 0
        self._changes = ChangeFeed()
        self._alarm = trio.Event()
        self._alarm_at = math.inf
        self._unwatch = self.runner.watch(self._on_state)

    # ── the tasks ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def run(self, task: Callable[[], Awaitable[None]]) -> None:
        """Run `keep_link` or `keep_time` until `end`, and keep its error in `failure`.

        A cancelled block does not cancel the tasks, because its end needs both.
        """
        try:
            with self._link_scope if task == self.keep_link else self._time_scope:
                if not self._ending:
                    await task()
        except Exception as error:  # noqa: BLE001 - raised by the block, when it ends
            self.failure = self.failure or error
            self.on_failure()

    def end(self) -> None:
        """End the tasks, and with them the link if the supervisor opened it."""
        self._ending = True
        self._time_scope.cancel()
        if self.browser is None:
            self._link_scope.cancel()
        else:  # the closing handshake needs the link's reader task
            self._disconnect_scope.cancel()
            self._link_scope.deadline = trio.current_time() + CLOSE_WITHIN

    async def keep_link(self) -> None:
        """Hold a link, and connect again when the state machine orders it."""
        while not self._ending:
            await self._dial.wait()
            self._dial = trio.Event()
            await self._hold_one_link()

    async def keep_time(self) -> None:
        """Feed `TimePassed` when a deadline is due."""
        while True:
            deadline = self.runner.deadline()
            self._alarm_at = math.inf if deadline is None else deadline.at
            self._alarm = trio.Event()
            with trio.move_on_at(self._alarm_at):
                await self._alarm.wait()
            if trio.current_time() >= self._alarm_at:
                if self.browser is not None:  # as `SupervisorEngine.time_passed`, in this order
                    self.browser.link.fetch.due()
                self.runner.feed(TimePassed(at=self.now(), generation=self.runner.generation))

    async def _hold_one_link(self) -> None:
        """Connect once, and hold the link until it ends."""
        self._disconnect_scope = trio.CancelScope()
        try:
            async with AsyncExitStack() as stack:
                browser, owned = await self._open(stack)
                with self._disconnect_scope:
                    self._link_is_up(browser, owned=owned)
                    self._link_is_down((await browser.wait_closed()).reason)
        except DiscoveryError as error:
            self._no_link(error, error.stage, final=error.status in FINAL)
        except Gone as error:
            self._no_link(error, error.reason)
        else:
            if self.browser is not None:  # the effect `Disconnect` ended it
                self._link_is_down(self._disconnect_reason)

    async def _open(self, stack: AsyncExitStack) -> tuple[BrowserSession, bool]:
        where = self._where
        if isinstance(where, BrowserSession):
            return where, False
        options = self._options
        while True:
            target = await _address_from(where) if callable(where) else where
            link = open_browser_session(
                target, headers=options.headers, ssl_context=options.ssl_context, taps=[self._tap]
            )
            try:
                return await stack.enter_async_context(link), True
            except DiscoveryError as error:
                if self.started.is_set() or trio.current_time() >= self.start_by or not is_starting(target, error):
                    raise
                self.not_yet = error
            await trio.sleep(DIAL_AGAIN)

    def _link_is_up(self, browser: BrowserSession, *, owned: bool) -> None:
        self.browser = browser
        self._batches, self._batch = browser.batches, -1
        self.sender = browser.link
        self._shared = SharedLink(browser, owned=owned)
        open_sessions = () if owned else self._shared.tap(self._tap)
        self.runner.feed(
            LinkUp(at=self.now(), generation=self.runner.generation, owned=owned, browser_id=browser.browser_id)
        )
        for output in open_sessions:
            self._tap(output)

    def _no_link(self, error: Exception, reason: str, *, final: bool = False) -> None:
        log.debug("could not connect: %s", type(error).__name__)
        if not self.started.is_set():
            self.start_failure = error
            self.started.set()
        self._link_is_down(reason, final=final)

    def _link_is_down(self, reason: str, *, final: bool = False) -> None:
        self.runner.link_ended()
        self.release()
        self.browser = None
        self.sender = NoLink()
        self._batches, self._batch = Batches(), -1
        jitter = random.random()  # noqa: S311 - it spreads clients out, and protects no secret
        self.runner.feed(
            LinkDown(at=self.now(), generation=self.runner.generation, reason=reason, jitter=jitter, final=final)
        )
        if not self.started.is_set() and self.runner.state.link.phase == "gave_up":
            self.start_failure = ConnectionLost(
                f"The link ended before its pages were known ({reason}).", reason=reason
            )
            self.started.set()

    def release(self) -> None:
        """Give back what the supervisor holds on the link. Idempotent."""
        if self._shared is not None:
            self._shared.release()

    # ── inputs ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def now(self) -> Instant:
        return Instant(mono=self.mono(), wall=self.wall())

    def fed(self, state: State) -> None:
        """Wake `keep_time` for an earlier deadline; end the subscribers of changes with the supervisor."""
        if state.deadlines and state.deadlines[0][0][0] < self._alarm_at:
            self._alarm.set()
        if state.link.phase in OVER:
            self._end_changes()  # the changes of the last input are published already

    def _tap(self, output: Output) -> None:
        """Feed an output of the engine, before any subscriber receives it."""
        if type(output) is Event or isinstance(output, Event):
            deferrable = self._used.get(output.method)
            if deferrable is not None:
                at = self._batch_time if self._batches.count == self._batch else self._time_of_batch()
                if not deferrable or not self.runner.defer(at, self.runner.generation, output):
                    self.runner.feed(BrowserEvent(at=at, generation=self.runner.generation, event=output))
        else:
            if isinstance(output, SessionClosed) and self._shared is not None:
                self._shared.session_closed(output.session_id)
            self.runner.take(output)

    _tap.ignores_replies = True  # type: ignore[attr-defined]  # the waiter of a command has its outcome

    def _time_of_batch(self) -> Instant:
        """Return when the reader task received the current batch; the clock is read once per batch."""
        self._batch = -1 if self.browser is None else self._batches.count
        self._batch_time = self.now()
        return self._batch_time

    def _on_state(self, state: State) -> None:
        if not self.started.is_set() and state.link.unsupported:
            self.start_failure = UnsupportedBackend(state.link.unsupported)
            self.started.set()
        if not self.started.is_set() and state.link.listed and not any(_is_new(page) for page in state.pages.values()):
            self.started.set()
        if self.started.is_set():
            self._unwatch()

    # ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def request(self, request: Request) -> Any:
        """Feed a request and wait for its answer. Raises the error with which it was answered."""
        await trio.lowlevel.checkpoint_if_cancelled()
        request_id, pending = self.request_nowait(request)
        try:
            await pending.answered.wait()
        except trio.Cancelled:
            if self._pending_requests.pop(request_id, None) is not None:
                self.runner.feed(
                    RequestCancelled(at=self.now(), generation=self.runner.generation, request_id=request_id)
                )
            raise
        assert pending.answer is not None
        if pending.answer.error is not None:
            raise pending.answer.error
        return pending.answer.value

    def request_nowait(self, request: Request) -> tuple[int, _PendingRequest]:
        """Feed a request; its answer may be set on return."""
        self._last_request += 1
        request_id = self._last_request
        pending = self._pending_requests[request_id] = _PendingRequest()
        self.runner.feed(
            RequestReceived(at=self.now(), generation=self.runner.generation, request_id=request_id, request=request)
        )
        return request_id, pending

    async def stop(self) -> StopReport:
        """Settle what can be settled, in bounded time, and give back what is shared."""
        _, pending = self.request_nowait(Stop(timeout=STOP_WITHIN * 0.75))
        with trio.move_on_after(STOP_WITHIN, shield=True):
            await pending.answered.wait()
        if pending.answer is None:  # the task that keeps the time has failed
            later = Instant(mono=self.mono() + STOP_WITHIN, wall=self.wall())
            self.runner.feed(TimePassed(at=later, generation=self.runner.generation))
        self.release()
        report = None if pending.answer is None else pending.answer.value
        return (
            report if isinstance(report, StopReport) else StopReport(left=("unknown, since the stop was not answered",))
        )

    # ── the port of the state machine ────────────────────────────────────────────────────────────────────────────────

    def fetch_claims(self) -> FetchClaims:
        return self.sender.fetch

    def share(self, effect: Shared) -> None:
        if self._shared is not None:
            with suppress(CdpError):  # the session or the link has just ended: an input follows
                self._shared.share(effect)

    def answer(self, answer: Answer) -> None:
        pending = self._pending_requests.pop(answer.request_id, None)
        if pending is not None:
            pending.answer = answer
            pending.answered.set()

    def publish(self, change: Change) -> None:
        if self._changes.subscriptions:
            self._changes.publish(change)

    def note(self, note: Note) -> None:
        fields = " ".join(f"{name}={value}" for name, value in note.fields.items())
        getattr(log, note.level)("%s (%s)", note.text, fields)

    def dial(self, _generation: int) -> None:
        self._dial.set()

    def disconnect(self, reason: str) -> None:
        self._disconnect_reason = reason
        self._disconnect_scope.cancel()

    # ── subscribers ──────────────────────────────────────────────────────────────────────────────────────────────────

    def subscribe(self, kinds: tuple[type[Change], ...], capacity: int) -> Subscription[Any]:
        """Subscribe to the changes from now on; the subscription ends at once if the supervisor has ended."""
        subscription = self._changes.subscribe(kinds, capacity)
        if self.runner.state.link.phase in OVER:
            self._end_changes()
        return subscription

    def _end_changes(self) -> None:
        link = self.runner.state.link
        self._changes.end("stopped" if link.phase == "stopped" else "gave_up" if link.owned else "link_not_owned")


def is_starting(target: Address | Transport, error: DiscoveryError) -> bool:
    """True if a browser may be about to open this address: no file yet, or a refused connection."""
    if error.stage == "address":
        return isinstance(target, os.PathLike) or (isinstance(target, str) and "://" not in target)
    leaves = leaf_exceptions(error.__cause__.__cause__ or error.__cause__) if error.__cause__ is not None else ()
    return error.stage == "tcp" and any(isinstance(each, ConnectionRefusedError) for each in leaves)


async def _address_from(where: Callable[[], Awaitable[Address | Transport]]) -> Address | Transport:
    """Call the embedder's function and check its result; an OSError of it is a failure to connect."""
    try:
        asked = where()
        if not isinstance(asked, Awaitable):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a checker
            raise InvalidArgument("The function that gives the address is not async; write it as `async def`.")
        given = await asked
    except CdpError:
        raise
    except OSError as error:
        raise DiscoveryError(
            "The function that gives the address raised an OSError.", address="(asked for)", stage="address"
        ) from error
    if not isinstance(given, (str, os.PathLike)) and not all(
        callable(getattr(given, name, None)) for name in ("receive", "send", "aclose")
    ):
        raise InvalidArgument(
            f"The function that gives the address returned {type(given).__name__}; return an address or a transport."
        )
    return given


def _is_new(page: Any) -> bool:
    """True while a page is being read for the first time, and no known state prevents that."""
    return (
        page.stale
        and page.session_id is not None
        and page.blocked is None
        and page.crashed is None
        and not page.dialogs
    )
