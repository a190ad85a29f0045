"""The machine on trio: it holds the link, feeds what comes over it, carries out what the machine wants, keeps its time.

Two tasks live as long as the supervisor: one keeps the link (and dials anew when the machine says so), one sleeps to the
next deadline. Each link lives in a block of its own. What the engine says comes in through a tap, so that the machine has
seen a message before any subscriber has; nothing is awaited there, and the code of no user runs there.

What several parts of a program may do on one connection is in shared_link.py, who hears of changes in listeners.py.
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
    CommandDone,
    CommandId,
    ConnectionLost,
    DiscoveryError,
    Event,
    Gone,
    InvalidArgument,
    Output,
    PendingReply,
    Result,
    SessionClosed,
    SessionGone,
    SessionId,
    SessionOpened,
    Subscription,
    Transport,
    open_browser_session,
)
from cdp_supervisor.change_feed import Listeners
from cdp_supervisor.errors import UnsupportedBackend
from cdp_supervisor.runner import Runner
from cdp_supervisor.sansio import effects
from cdp_supervisor.sansio.changes import Change
from cdp_supervisor.sansio.deadlines import first_at
from cdp_supervisor.sansio.effects import Answer, Disconnect, Effect, Forget, LetGo, Note, Send, Tell
from cdp_supervisor.sansio.inputs import (
    Ask,
    AskDropped,
    BrowserEvent,
    CommandEnded,
    Input,
    Instant,
    LinkDown,
    LinkUp,
    NotSent,
    TimePassed,
)
from cdp_supervisor.sansio.replies import value_of
from cdp_supervisor.sansio.requests import Question, Stop
from cdp_supervisor.sansio.state import State
from cdp_supervisor.sansio.step import StopReport, events_wanted, quiet_events
from cdp_supervisor.shared_link import SharedLink
from cdp_supervisor.translation import closed_input, opened_input

__all__ = ["Connect", "Driver", "LinkOptions"]

Connect = Address | Callable[[], Awaitable[Address | Transport]]
"""An address, or what gives one (or a transport) before each dial: signed addresses expire, and some are given out anew."""

FINAL: Final = frozenset((401, 403, 404, 410))
"""HTTP answers after which there is no use in asking again."""
OVER: Final = frozenset(("stopped", "gave_up"))
STOP_WITHIN: Final = 2.0
CLOSE_WITHIN: Final = 4.0
"""More than a link takes that ends by itself."""

log = logging.getLogger("cdp_supervisor.driver")


@attrs.define(eq=False)
class _Asker:
    """Somebody who waits for an answer."""

    came: trio.Event = attrs.field(factory=trio.Event)
    answer: Answer | None = None


@attrs.frozen(kw_only=True)
class LinkOptions:
    """How a link is made."""

    headers: Mapping[str, str]
    ssl_context: ssl.SSLContext | None


class Driver:
    """See the module."""

    def __init__(
        self,
        state: State,
        where: Connect | BrowserSession,
        options: LinkOptions,
        *,
        record: Callable[[Input], None] | None = None,
    ) -> None:
        self.runner = Runner(state, self._perform, record=record)
        self.browser: BrowserSession | None = None
        self.started = trio.Event()
        """The first link is up and its pages are known, or there will be none."""
        self.start_failure: Exception | None = None
        """Why there will be none."""
        self.failure: Exception | None = None
        """What a task of ours raised: a mistake in this library, or in the function that gives the address."""
        self.on_failure: Callable[[], None] = lambda: None
        self._clock = trio.lowlevel.current_clock().current_time
        self._batches = Batches()
        """Of the link that there is."""
        self._batch, self._batch_came = -1, Instant(mono=-math.inf)
        self._link_scope, self._time_scope = trio.CancelScope(shield=True), trio.CancelScope(shield=True)
        self._over = False
        self._where = where
        self._options = options
        quiet = quiet_events(state)
        self._wanted = {method: method in quiet for method in events_wanted(state)}
        """What is fed, and whether it may wait to be folded."""
        self._epoch = state.epoch
        self._dial = trio.Event()
        self._dial.set()
        self._hang_up, self._hang_up_for = trio.CancelScope(), ""
        self._tickets: dict[CommandId, int] = {}
        self._replies: dict[int, PendingReply[Any]] = {}
        self._opening: set[int] = set()
        """The tickets under which a session of our own is opened."""
        self._shared: SharedLink | None = None
        self._askers: dict[int, _Asker] = {}
        self._last_ask = 0
        self._listeners = Listeners()
        self._alarm = trio.Event()
        self._alarm_at = math.inf
        self._unwatch = self.runner.watch(self._on_state)

    # ── the tasks ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def run(self, task: Callable[[], Awaitable[None]]) -> None:
        """One of the tasks below, until `end`. Whoever cancels the block cancels neither, as its end needs both."""
        try:
            with self._link_scope if task == self.keep_link else self._time_scope:
                if not self._over:
                    await task()
        except Exception as error:  # noqa: BLE001 - it leaves the block, once that has ended
            self.failure = self.failure or error
            self.on_failure()

    def end(self) -> None:
        """End the tasks, and with them the link, if it is ours."""
        self._over = True
        self._time_scope.cancel()
        if self.browser is None:
            self._link_scope.cancel()
        else:  # its reader is needed for a polite end
            self._hang_up.cancel()
            self._link_scope.deadline = trio.current_time() + CLOSE_WITHIN

    async def keep_link(self) -> None:
        """Hold a link, and dial anew when the machine wants one."""
        while not self._over:
            await self._dial.wait()
            self._dial = trio.Event()
            await self._hold_one_link()

    async def keep_time(self) -> None:
        """Tell the machine of the time when it wants to be told."""
        while True:
            deadline = self.runner.deadline()
            self._alarm_at = math.inf if deadline is None else deadline.at
            self._alarm = trio.Event()
            with trio.move_on_at(self._alarm_at):
                await self._alarm.wait()
            if trio.current_time() >= self._alarm_at:
                self._feed(TimePassed(at=self.now(), epoch=self._epoch))

    async def _hold_one_link(self) -> None:
        """Make a link and hold it to its end."""
        self._hang_up = trio.CancelScope()
        try:
            async with AsyncExitStack() as stack:
                browser, owned = await self._open(stack)
                with self._hang_up:
                    self._link_is_up(browser, owned=owned)
                    self._link_is_down((await browser.wait_closed()).reason)
        except DiscoveryError as error:
            self._no_link(error, error.stage, final=error.status in FINAL)
        except Gone as error:
            self._no_link(error, error.reason)
        else:
            if self.browser is not None:  # only the machine said so
                self._link_is_down(self._hang_up_for)

    async def _open(self, stack: AsyncExitStack) -> tuple[BrowserSession, bool]:
        where = self._where
        if isinstance(where, BrowserSession):
            return where, False
        target = await _asked(where) if callable(where) else where
        options = self._options
        link = open_browser_session(target, headers=options.headers, ssl_context=options.ssl_context, taps=[self._tap])
        return await stack.enter_async_context(link), True

    def _link_is_up(self, browser: BrowserSession, *, owned: bool) -> None:
        self.browser = browser
        self._batches, self._batch = browser.batches, -1
        self._shared = SharedLink(browser, owned=owned)
        already = () if owned else self._shared.tap(self._tap)
        self._feed(LinkUp(at=self.now(), epoch=self._epoch, owned=owned, browser_id=browser.browser_id))
        for output in already:
            self._tap(output)

    def _no_link(self, error: Exception, reason: str, *, final: bool = False) -> None:
        log.debug("no link: %s", type(error).__name__)
        if not self.started.is_set():
            self.start_failure = error
            self.started.set()
        self._link_is_down(reason, final=final)

    def _link_is_down(self, reason: str, *, final: bool = False) -> None:
        self._tickets.clear()
        self._replies.clear()
        self._opening.clear()
        self.let_go()
        self.browser = None
        self._batches, self._batch = Batches(), -1
        jitter = random.random()  # noqa: S311 - it spreads clients out, and keeps no secret
        self._feed(LinkDown(at=self.now(), epoch=self._epoch, reason=reason, jitter=jitter, final=final))
        if not self.started.is_set() and self.runner.state.link.phase == "gave_up":
            self.start_failure = ConnectionLost(f"The link ended before it was of use ({reason}).", reason=reason)
            self.started.set()

    def let_go(self) -> None:
        """Give back what is shared on the link. Idempotent."""
        if self._shared is not None:
            self._shared.let_go()

    # ── in ───────────────────────────────────────────────────────────────────────────────────────────────────────────

    def now(self) -> Instant:
        """This moment."""
        return Instant(mono=self._clock(), wall=time.time())

    def _feed(self, input: Input) -> None:  # noqa: A002 - the word of the whole machine
        state = self.runner.feed(input)
        if state is None:
            return
        if first_at(state.agenda) < self._alarm_at:
            self._alarm.set()
        if state.link.phase in OVER:
            self._end_listening()  # what the last input changed has been told

    def _tap(self, output: Output) -> None:
        """What the engine says, before anybody else hears of it."""
        if type(output) is Event or isinstance(output, Event):
            quiet = self._wanted.get(output.method)
            if quiet is not None:
                at = self._batch_came if self._batches.count == self._batch else self._moment_of_batch()
                if not quiet or not self.runner.keep(at, self._epoch, output):
                    self._feed(BrowserEvent(at=at, epoch=self._epoch, event=output))
        elif self.runner.state.link.phase == "stopped":
            pass  # what the report does not know of is not ours any more
        elif isinstance(output, CommandDone):
            ticket = self._tickets.pop(output.id, None)
            if ticket is not None:
                self._command_ended(ticket, output)
        elif isinstance(output, SessionOpened):
            self._feed(opened_input(output, self.now(), self._epoch))
        elif isinstance(output, SessionClosed):
            if self._shared is not None:
                self._shared.session_closed(output.session_id)
            self._feed(closed_input(output, self.now(), self._epoch))

    def _command_ended(self, ticket: int, done: CommandDone) -> None:
        self._replies.pop(ticket, None)
        if ticket in self._opening and isinstance(done.outcome, Result) and self._shared is not None:
            self._shared.opened(SessionId(str(value_of(done.outcome).get("sessionId"))))
        self._opening.discard(ticket)
        self._feed(CommandEnded(at=self.now(), epoch=self._epoch, ticket=ticket, outcome=done.outcome))

    def _moment_of_batch(self) -> Instant:
        """When the reader was given what it hands out from now on: the clock is asked once for each batch."""
        self._batch = -1 if self.browser is None else self._batches.count
        self._batch_came = self.now()
        return self._batch_came

    def _on_state(self, state: State) -> None:
        if not self.started.is_set() and state.link.unsupported:
            self.start_failure = UnsupportedBackend(state.link.unsupported)
            self.started.set()
        if not self.started.is_set() and state.link.listed and not any(_is_new(page) for page in state.pages.values()):
            self.started.set()
        if self.started.is_set():
            self._unwatch()

    # ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────────

    async def ask(self, question: Question) -> Any:
        """Ask the machine, and wait for the answer. Raises the error that it is."""
        await trio.lowlevel.checkpoint_if_cancelled()
        ask_id, asker = self.ask_nowait(question)
        try:
            await asker.came.wait()
        except trio.Cancelled:
            if self._askers.pop(ask_id, None) is not None:
                self._feed(AskDropped(at=self.now(), epoch=self._epoch, ask_id=ask_id))
            raise
        assert asker.answer is not None
        if asker.answer.error is not None:
            raise asker.answer.error
        return asker.answer.value

    def ask_nowait(self, question: Question) -> tuple[int, _Asker]:
        """Ask the machine; the answer may be there at once."""
        self._last_ask += 1
        ask_id = self._last_ask
        asker = self._askers[ask_id] = _Asker()
        self._feed(Ask(at=self.now(), epoch=self._epoch, ask_id=ask_id, question=question))
        return ask_id, asker

    async def stop(self) -> StopReport:
        """Settle what can be settled, in bounded time, and give back what is shared."""
        _, asker = self.ask_nowait(Stop(timeout=STOP_WITHIN * 0.75))
        with trio.move_on_after(STOP_WITHIN, shield=True):
            await asker.came.wait()
        if asker.answer is None:  # whoever keeps the time has failed
            at = Instant(mono=trio.current_time() + STOP_WITHIN, wall=time.time())
            self._feed(TimePassed(at=at, epoch=self._epoch))
        self.let_go()
        report = None if asker.answer is None else asker.answer.value
        return report if isinstance(report, StopReport) else StopReport(left=("whatever there was",))

    # ── out ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _perform(self, effect: Effect) -> None:
        if isinstance(effect, Tell):
            self._listeners.tell(effect.change)
        elif isinstance(effect, Send):
            self._send(effect)
        elif isinstance(effect, Answer):
            asker = self._askers.pop(effect.ask_id, None)
            if asker is not None:
                asker.answer = effect
                asker.came.set()
        elif isinstance(effect, Note):
            _log(effect)
        elif isinstance(effect, effects.Dial):
            self._epoch = effect.epoch
            self._dial.set()
        elif isinstance(effect, Disconnect):
            self._hang_up_for = effect.reason
            self._hang_up.cancel()
        elif isinstance(effect, Forget):
            self._abandon(effect.ticket)
        elif self._shared is not None and not isinstance(effect, LetGo):  # that is done when the answer has come
            with suppress(CdpError):  # the session or the link has ended meanwhile, which the machine is about to hear
                self._shared.share(effect)

    def _abandon(self, ticket: int) -> None:
        reply = self._replies.pop(ticket, None)
        if reply is not None:
            self._tickets.pop(reply.id, None)
            reply.abandon()

    def _send(self, effect: Send) -> None:
        browser = self.browser
        try:
            if browser is None:
                raise SessionGone("The link is down.", reason="link_down", session_id=effect.session_id or "")
            session = browser if effect.session_id is None else browser.sessions.get(effect.session_id)
            if session is None:
                raise SessionGone("The session has ended.", reason="ended", session_id=effect.session_id or "")
            reply = session.send_nowait(effect.method, effect.params, bounded=self._is_somebodys(effect))
        except CdpError as error:
            if not effect.ticket:  # of a stranger's machine, which is told of no end, and would send again
                self.runner.unsent += 1
                return
            outcome = NotSent(error=error)
            self._feed(CommandEnded(at=self.now(), epoch=self._epoch, ticket=effect.ticket, outcome=outcome))
            return
        reply.on_end()
        if effect.ticket:
            self._tickets[reply.id] = effect.ticket
            self._replies[effect.ticket] = reply
            if effect.method == "Target.attachToTarget":
                self._opening.add(effect.ticket)

    def _is_somebodys(self, effect: Send) -> bool:
        """Whether an embedder wants it, or a stranger's machine; what our own sends is bounded, and has to go out."""
        ticket = self.runner.state.tickets.get(effect.ticket)
        return ticket is None or ticket.purpose == "call"

    # ── who listens ──────────────────────────────────────────────────────────────────────────────────────────────────

    def subscribe(self, kinds: tuple[type[Change], ...], capacity: int) -> Subscription[Any]:
        """Changes from now on."""
        subscription = self._listeners.subscribe(kinds, capacity)
        if self.runner.state.link.phase in OVER:
            self._end_listening()
        return subscription

    def _end_listening(self) -> None:
        link = self.runner.state.link
        self._listeners.end("stopped" if link.phase == "stopped" else "gave_up" if link.owned else "link_not_owned")


async def _asked(where: Callable[[], Awaitable[Address | Transport]]) -> Address | Transport:
    """What the embedder's function gives. That its own network fails is a link that cannot be made."""
    try:
        asked = where()
        if not isinstance(asked, Awaitable):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a checker
            raise InvalidArgument("The function that gives the address is not async; write it as `async def`.")
        given = await asked
    except CdpError:
        raise
    except OSError as error:
        raise DiscoveryError("The address could not be asked for.", address="(asked for)", stage="address") from error
    if not isinstance(given, (str, os.PathLike)) and not all(
        callable(getattr(given, name, None)) for name in ("receive", "send", "aclose")
    ):
        raise InvalidArgument(f"The function gave neither an address nor a transport, but {type(given).__name__}.")
    return given


def _is_new(page: Any) -> bool:
    """Whether a page is still being read for the first time, and nothing says yet that it cannot be."""
    return (
        page.stale
        and page.session_id is not None
        and page.blocked is None
        and page.crashed is None
        and not page.dialogs
    )


def _log(note: Note) -> None:
    level = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING}[note.level]
    fields = " ".join(f"{name}={value}" for name, value in note.fields.items())
    log.log(level, "%s (%s)", note.text, fields)
