"""The machine on trio: it holds the link, feeds what comes over it, carries out what the machine wants, keeps its time.

Two tasks live as long as the supervisor: one keeps the link (and dials anew when the machine says so), one sleeps to the
next deadline. Each link lives in a block of its own. What the engine says comes in through a tap, so that the machine has
seen a message before any subscriber has; nothing is awaited there, and the code of no user runs there.

Over one connection several parts of a program may attach, enable and resume. Auto-attach, discovery and resuming are
therefore the bridge's of that connection, and domains are leased: nobody undoes what another one needs.
"""

from __future__ import annotations

import logging
import math
import random
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, ExitStack, suppress
from typing import Any, Final

import attrs
import trio

from cdp_core import (
    Address,
    BrowserSession,
    CdpError,
    CommandDone,
    CommandId,
    DiscoveryError,
    Event,
    Gone,
    Output,
    Overflow,
    PendingReply,
    SessionClosed,
    SessionGone,
    SessionId,
    SessionOpened,
    Subscription,
    Transport,
    open_browser_session,
)
from cdp_supervisor.errors import SupervisorStopped
from cdp_supervisor.feeding import closed_input, opened_input
from cdp_supervisor.runner import Runner
from cdp_supervisor.sansio.changes import Change
from cdp_supervisor.sansio.effects import (
    Answer,
    AutoAttach,
    Connect,
    Detach,
    Disconnect,
    Discover,
    Effect,
    Enable,
    Forget,
    Note,
    Resume,
    Send,
    Tell,
)
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
from cdp_supervisor.sansio.questions import Question
from cdp_supervisor.sansio.state import State
from cdp_supervisor.sansio.step import events_wanted

__all__ = ["Driver", "LinkOptions", "Where"]

Where = Address | Callable[[], Awaitable[Address | Transport]]
"""An address, or what gives one (or a transport) before each dial: signed addresses expire, and some are given out anew."""

FINAL: Final = frozenset((401, 403, 404, 410))
"""HTTP answers after which there is no use in asking again."""

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
        where: Where | BrowserSession,
        options: LinkOptions,
        *,
        record: Callable[[Input], None] | None = None,
    ) -> None:
        self.runner = Runner(state, self._perform, record=record)
        self.browser: BrowserSession | None = None
        self.first_error: Exception | None = None
        self.started = trio.Event()
        """The first link is up and its pages are known, or it could not be made."""
        self._where = where
        self._options = options
        self._wanted = events_wanted(state)
        self._epoch = state.epoch
        self._dial = trio.Event()
        self._dial.set()
        self._hang_up = trio.CancelScope()
        self._tickets: dict[CommandId, int] = {}
        self._replies: dict[int, PendingReply[Any]] = {}
        self._leases: dict[SessionId, list[Callable[[], None]]] = {}
        self._shared = ExitStack()
        """What gives auto-attach, discovery and the tap back."""
        self._askers: dict[int, _Asker] = {}
        self._last_ask = 0
        self._subscriptions: list[tuple[tuple[type[Change], ...], Subscription[Any]]] = []
        self._alarm = trio.Event()
        self._alarm_at = math.inf
        self.runner.watch(self._on_state)

    # ── the tasks ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def keep_link(self) -> None:
        """Hold a link, and dial anew when the machine wants one."""
        while True:
            await self._dial.wait()
            self._dial = trio.Event()
            reason, final = await self._hold_one_link()
            self.browser = None
            self._forget_link()
            jitter = random.random()  # noqa: S311 - it spreads clients out, and keeps no secret
            self._feed(LinkDown(at=self.now(), epoch=self._epoch, reason=reason, jitter=jitter, final=final))
            self.started.set()

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

    async def _hold_one_link(self) -> tuple[str, bool]:
        """Make a link and hold it to its end. The answer: why it ended, and whether that is final."""
        self._hang_up = trio.CancelScope()
        try:
            async with AsyncExitStack() as stack:
                browser, owned = await self._open(stack)
                reason = "half_open"
                with self._hang_up:
                    self._link_is_up(browser, owned=owned)
                    reason = (await browser.wait_closed()).reason
        except (DiscoveryError, Gone) as error:
            if self.first_error is None:
                self.first_error = error
            status = error.status if isinstance(error, DiscoveryError) else None
            log.debug("no link: %s", type(error).__name__)
            return getattr(error, "stage", "lost"), status in FINAL
        else:
            return reason, False

    async def _open(self, stack: AsyncExitStack) -> tuple[BrowserSession, bool]:
        where = self._where
        if isinstance(where, BrowserSession):
            return where, False
        target: Address | Transport = await where() if callable(where) else where
        options = self._options
        link = open_browser_session(target, headers=options.headers, ssl_context=options.ssl_context, taps=[self._tap])
        return await stack.enter_async_context(link), True

    def _link_is_up(self, browser: BrowserSession, *, owned: bool) -> None:
        self.browser = browser
        already: tuple[Output, ...] = ()
        if not owned:
            already = self._shared.enter_context(browser.tap(self._tap))
        self._feed(LinkUp(at=self.now(), epoch=self._epoch, owned=owned))
        for output in already:
            self._tap(output)

    def _forget_link(self) -> None:
        self._tickets.clear()
        self._replies.clear()
        self._leases.clear()
        self.let_go()

    def let_go(self) -> None:
        """Give back what is shared on the link: leases, auto-attach, discovery, the tap. Idempotent."""
        for releases in self._leases.values():
            for release in releases:
                release()
        self._leases.clear()
        self._shared.close()

    # ── in ───────────────────────────────────────────────────────────────────────────────────────────────────────────

    def now(self) -> Instant:
        """This moment."""
        return Instant(mono=trio.current_time(), wall=time.time())

    def _feed(self, input: Input) -> None:  # noqa: A002 - the word of the whole machine
        self.runner.feed(input)
        deadline = self.runner.deadline()
        if deadline is not None and deadline.at < self._alarm_at:
            self._alarm.set()

    def _tap(self, output: Output) -> None:
        """What the engine says, before anybody else hears of it."""
        if isinstance(output, Event):
            if output.method in self._wanted:
                self._feed(BrowserEvent(at=self.now(), epoch=self._epoch, event=output))
        elif isinstance(output, CommandDone):
            ticket = self._tickets.pop(output.id, None)
            if ticket is not None:
                self._replies.pop(ticket, None)
                self._feed(CommandEnded(at=self.now(), epoch=self._epoch, ticket=ticket, outcome=output.outcome))
        elif isinstance(output, SessionOpened):
            self._feed(opened_input(output, self.now(), self._epoch))
        elif isinstance(output, SessionClosed):
            self._leases.pop(output.session_id, None)
            self._feed(closed_input(output, self.now(), self._epoch))

    def _on_state(self, state: State) -> None:
        if not self.started.is_set() and state.link.listed and not any(_is_new(page) for page in state.pages.values()):
            self.started.set()
        if state.link.phase in ("stopped", "gave_up"):
            self._end_subscriptions(state)

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
        asker = self._askers[self._last_ask] = _Asker()
        ask_id = self._last_ask
        self._feed(Ask(at=self.now(), epoch=self._epoch, ask_id=ask_id, question=question))
        return ask_id, asker

    # ── out ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _perform(self, effect: Effect) -> None:
        if isinstance(effect, Send):
            self._send(effect)
        elif isinstance(effect, Answer):
            asker = self._askers.pop(effect.ask_id, None)
            if asker is not None:
                asker.answer = effect
                asker.came.set()
        elif isinstance(effect, Tell):
            self._tell(effect.change)
        elif isinstance(effect, Note):
            _log(effect)
        elif isinstance(effect, Connect):
            self._epoch = effect.epoch
            self._dial.set()
        elif isinstance(effect, Disconnect):
            self._hang_up.cancel()
        elif isinstance(effect, Forget):
            self._abandon(effect.ticket)
        else:
            with suppress(CdpError):  # the session or the link has ended meanwhile, which the machine is about to hear
                self._share(effect)

    def _tell(self, change: Change) -> None:
        for kinds, subscription in tuple(self._subscriptions):
            if not kinds or isinstance(change, kinds):
                subscription.push(change)

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
            reply = session.send_nowait(effect.method, effect.params)
        except CdpError as error:
            outcome = NotSent(error=error)
            self._feed(CommandEnded(at=self.now(), epoch=self._epoch, ticket=effect.ticket, outcome=outcome))
            return
        reply.on_end()
        if effect.ticket:
            self._tickets[reply.id] = effect.ticket
            self._replies[effect.ticket] = reply

    def _share(self, effect: Discover | AutoAttach | Enable | Resume | Detach) -> None:
        """What belongs to the connection, and to all who use it."""
        browser = self.browser
        if browser is None:
            return
        if isinstance(effect, Discover):
            discovery = browser.targets.subscribe(capacity=1, overflow=Overflow.DROP_OLDEST)
            self._shared.callback(discovery.close)
        elif isinstance(effect, AutoAttach) and effect.session_id is None:
            self._shared.callback(browser.targets.hold_auto_attach())
        elif isinstance(effect, Enable):
            session = browser.sessions.get(effect.session_id)
            if session is not None:
                self._leases.setdefault(effect.session_id, []).append(session.lease(effect.domain))
        elif isinstance(effect, Detach) and not isinstance(self._where, BrowserSession):
            parent = browser if effect.parent is None else browser.sessions.get(effect.parent)
            if parent is not None:
                parent.send_nowait("Target.detachFromTarget", {"sessionId": effect.session_id}).on_end()

    # ── who listens ──────────────────────────────────────────────────────────────────────────────────────────────────

    def subscribe(self, kinds: tuple[type[Change], ...], capacity: int) -> Subscription[Any]:
        """Changes from now on."""
        subscription: Subscription[Any] = Subscription(
            capacity=capacity,
            max_bytes=1 << 26,
            overflow=Overflow.DROP_OLDEST,
            read=None,
            where=None,
            close=self._unsubscribe,
        )
        self._subscriptions.append((kinds, subscription))
        self._on_state(self.runner.state)
        return subscription

    def _unsubscribe(self, sink: object) -> None:
        self._subscriptions = [entry for entry in self._subscriptions if entry[1] is not sink]

    def _end_subscriptions(self, state: State) -> None:
        reason = "stopped" if state.link.phase == "stopped" else "gave_up" if state.link.owned else "link_not_owned"
        for _, subscription in self._subscriptions:
            subscription.end(lambda: SupervisorStopped(reason))


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
