"""The browser's targets: listing them, attaching, and auto-attach before their first instruction.

Only the bridge sends `Target.setDiscoverTargets` and `Target.setAutoAttach`: on one link the last call wins, so two
callers would undo each other. Discovery begins with the first use that needs it.

Auto-attach is recursive (each new session arms itself, fact 46), pauses every target before its first instruction,
and leaves out the browser's own interface. For each new session the holders' commands, the recursion and the resume
go out in one write, in this order, none awaited: a setup command may stay unanswered as long as a dialog is open
(fact 15), and the resume must always be sent (fact 7). Targets of types that no holder asked for are resumed too.

`sansio/attaching.py` decides which session is armed and which one ends; the bridge carries out its orders.
"""

from __future__ import annotations

import builtins
import logging
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import attrs
import trio

from cdp_core.creating import create_page, required_id
from cdp_core.errors import (
    CdpError,
    CommandRefused,
    Gone,
    InvalidArgument,
    RemoteProtocolError,
    SessionGone,
    TargetCrashed,
    TargetGone,
)
from cdp_core.expectations import Expectation, ExpectationBox
from cdp_core.link import Link
from cdp_core.replies import SharedReply
from cdp_core.sansio.arguments import describe_kind
from cdp_core.sansio.attaching import ArmSession, Attaching, EndSession, Order, ResumeSession
from cdp_core.sansio.messages import BrowserContextId, Event, Json, Result, SessionId, TargetId, TypedCommand
from cdp_core.sansio.outcomes import Outcome
from cdp_core.sansio.redaction import shown_id
from cdp_core.sansio.structs import Struct
from cdp_core.sansio.target_table import (
    AUTO_ATTACH,
    DISCOVER,
    NO_AUTO_ATTACH,
    TARGET_METHODS,
    TargetChanged,
    TargetCreated,
    TargetDestroyed,
    TargetEvent,
    TargetInfo,
    TargetTable,
)
from cdp_core.session import Session
from cdp_core.subscriptions import Missed, Subscription
from cdp_core.target_session import PageSession

ArmCommand = TypedCommand[Any] | str | tuple[str, Mapping[str, Any]]
Arm = Callable[[PageSession], Iterable[ArmCommand]]
"""A function that returns the first commands of a new session: typed, named, or named with params. Pure and quick."""

INVALID_PARAMS: Final = -32602
DISPOSE_TIMEOUT: Final = 2.0

log = logging.getLogger("cdp_core.targets")


class BridgeStatistics(Struct, frozen=True, kw_only=True):
    """The counts of a bridge: known targets, auto-attach holders, second sessions that were ended."""

    discovering: bool
    targets: int
    auto_attach_holders: int
    duplicates_ended: int


class TargetBridge:
    """The targets of one browser, over its root session."""

    def __init__(self, link: Link[PageSession], root: Session) -> None:
        self._link = link
        self._root = root
        self._table = TargetTable()
        self._listening = False
        self._discovery: SharedReply | None = None
        self._auto_attach: SharedReply | None = None
        self._known = False  # before the reply, every announced creation is an old target
        self._subscriptions: builtins.list[Subscription[Any]] = []
        self._expectations: builtins.list[ExpectationBox[TargetInfo]] = []
        self._attaching = Attaching(link.sessions)
        self._locks: dict[TargetId, trio.Lock] = {}
        self._holders: builtins.list[_Holder] = []

    # ── listing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def list(self, *, type: str | None = "page") -> tuple[TargetInfo, ...]:  # noqa: A002 - the protocol's word
        """Return the live targets of one type, or of every type (None), oldest first."""
        await self._begin_discovery().wait()
        return tuple(target for target in self._table.targets.values() if type is None or target.type == type)

    def subscribe(self, capacity: int) -> Subscription[TargetCreated | TargetChanged | TargetDestroyed]:
        """Subscribe to every change from now on; existing targets are not announced again.

        If the browser refuses to report its targets, the subscription ends with that CommandRefused.
        """
        return self._subscribe(capacity, drop_oldest=False)

    def subscribe_latest(self, capacity: int) -> Subscription[TargetCreated | TargetChanged | TargetDestroyed | Missed]:
        """As `subscribe`, but a full queue drops its oldest changes and delivers `Missed(count)`."""
        return self._subscribe(capacity, drop_oldest=True)

    def _subscribe(self, capacity: int, *, drop_oldest: bool) -> Subscription[Any]:
        subscription: Subscription[Any] = Subscription(
            capacity=capacity, drop_oldest=drop_oldest, close=lambda sink: _discard(self._subscriptions, sink)
        )
        self._begin_discovery()
        self._subscriptions.append(subscription)
        return subscription

    def expect_new(self, where: Callable[[TargetInfo], object] | None = None) -> Expectation[TargetInfo]:
        """Expect the first matching target that appears from now on: arm, act, `await` its `wait()`."""
        self._begin_discovery()
        expectation: Expectation[TargetInfo] = Expectation(
            where=where, close=lambda box: _discard(self._expectations, box)
        )
        self._expectations.append(expectation.sink)
        return expectation

    async def wait_new(self, where: Callable[[TargetInfo], object] | None = None) -> TargetInfo:
        """Wait for the first matching target that appears from now on. To act first, use `expect_new`."""
        return await self.expect_new(where).wait()

    # ── attaching ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def attach(self, target_id: TargetId | str, *, fresh: bool = False) -> PageSession:
        """Return a session on the target: the one of this link (counted), or with `fresh` always a new one.

        The events of a fresh session come in addition to the other's. Raises TargetGone if the target does not exist.
        """
        target = TargetId(target_id)
        lock = self._locks.setdefault(target, trio.Lock())
        try:
            async with lock:
                session = None if fresh else self._shared(target)
                if session is None:
                    session = await self._attach(target, fresh=fresh)
                session.holders += 1
                return session
        finally:
            if not lock.locked():
                self._locks.pop(target, None)

    async def create(
        self,
        url: str,
        *,
        background: bool = True,
        new_window: bool = False,
        context: BrowserContextId | None = None,
    ) -> PageSession:
        """Create a page and attach to it. In the background it takes no focus from the user's page.

        A background page is hidden (fact 70): it gets no animation frames, and input and screenshots wait for seconds. A
        page in a `new_window` is visible, in the background too. With `about:blank` the page has loaded it on return, or
        a CdpWarning says after 5 s that it has not; with any other address `create` waits for the attach only. If it
        fails or is cancelled, the page is closed.
        """
        if not isinstance(url, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
            raise InvalidArgument(f"url must be a string such as 'about:blank', not {describe_kind(url)}.")
        params: Json = {"url": url, "background": background}
        if new_window:
            params["newWindow"] = True
        if context is not None:
            params["browserContextId"] = context
        return await create_page(self._root, self.attach, params)

    async def close(self, target_id: TargetId | str) -> None:
        """Close a target without a `beforeunload` dialog (fact 21). Raises TargetGone if none exists."""
        with _translate_unknown_target(target_id):
            await self._root.send("Target.closeTarget", {"targetId": target_id})

    @asynccontextmanager
    async def open_context(self, *, proxy_server: str | None = None) -> AsyncGenerator[BrowserContextId, None]:
        """Create a browser context (cookies, storage, proxy); dispose it and its pages after the block."""
        params: Json = {"disposeOnDetach": True}
        if proxy_server is not None:
            params["proxyServer"] = proxy_server
        created = await self._root.send("Target.createBrowserContext", params)
        context = BrowserContextId(required_id(created, "browserContextId"))
        try:
            yield context
        finally:
            with trio.move_on_after(DISPOSE_TIMEOUT, shield=True):
                try:
                    await self._root.send("Target.disposeBrowserContext", {"browserContextId": context})
                except CdpError:  # the body's exception is kept; the browser disposes the context with the link
                    log.debug("a browser context could not be disposed")

    # ── auto-attach ──────────────────────────────────────────────────────────────────────────────────────────────────

    @asynccontextmanager
    async def auto_attach(
        self, *, types: Collection[str] | None = None, arm: Arm = lambda _session: (), capacity: int
    ) -> AsyncGenerator[Subscription[PageSession], None]:
        """Attach to every target of these types (None: all), present and future, at any depth.

        Each session is armed with the commands that `arm` returns, then resumed, before its target's first
        instruction; then the subscription delivers it. At the end of the block the browser ends these sessions.
        """
        if isinstance(types, str):
            raise InvalidArgument(f"types must be a collection of names, as in ({types!r},), or None for all types.")
        if not callable(arm):
            raise InvalidArgument("arm must be a function that takes a session and returns its first commands.")
        holder = _Holder(
            types=None if types is None else frozenset(types),
            arm=arm,
            sessions=Subscription(capacity=capacity),
        )
        begun = self._begin_auto_attach(holder)
        try:
            await begun.wait()
            yield holder.sessions
        finally:
            self._release_holder(holder)

    def hold_auto_attach(self) -> Callable[[], None]:
        """As `auto_attach`, for a tap that arms the sessions itself; the returned function ends it.

        What a tap sends on a session at its `Target.attachedToTarget` precedes the recursion and the resume.
        """
        holder = _Holder(types=frozenset(), arm=lambda _session: (), sessions=Subscription(capacity=1))
        self._begin_auto_attach(holder)
        return lambda: self._release_holder(holder)

    def _begin_auto_attach(self, holder: _Holder) -> SharedReply:
        self._listen()
        if self._auto_attach is None:
            self._auto_attach = SharedReply(
                self._root.send_nowait("Target.setAutoAttach", AUTO_ATTACH), self._auto_attach_refused
            )
            self._holders.append(holder)
            return self._auto_attach
        self._holders.append(holder)
        for session in tuple(self._link.sessions.values()):
            if session.armed:
                holder.take(session)
        return self._auto_attach

    def _auto_attach_refused(self, refused: SharedReply) -> None:
        """End every holder with the refusal; the next holder sends the command again."""
        if self._auto_attach is refused:
            self._auto_attach = None
            holders, self._holders = self._holders, []
            for holder in holders:
                holder.sessions.end(refused.error)

    def _release_holder(self, holder: _Holder) -> None:
        holder.sessions.close()
        if holder in self._holders:
            self._holders.remove(holder)
            if not self._holders:
                self._auto_attach = None
                self._end_auto_attach()

    def statistics(self) -> BridgeStatistics:
        """Return the counts so far."""
        return BridgeStatistics(
            discovering=self._discovery is not None,
            targets=len(self._table.targets),
            auto_attach_holders=len(self._holders),
            duplicates_ended=self._attaching.duplicates_ended,
        )

    # ── called by the reader task ────────────────────────────────────────────────────────────────────────────────────

    def push(self, event: Event, _at: float, /) -> None:
        change = self._table.apply(event)
        if change is not None and self._known:
            self._announce(change)
        if event.method != "Target.attachedToTarget" or not self._holders:
            return
        with suppress(RemoteProtocolError):  # it opened no session; the router reported that
            self._obey(self._attaching.opened(SessionId(str(event.params.get("sessionId")))))

    def end(self, error: Callable[[], BaseException], /) -> None:
        for subscription in self._subscriptions:
            subscription.end(error)
        for box in tuple(self._expectations):
            box.end(error)
        for holder in self._holders:
            holder.sessions.end(error)

    # ── one target ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _announce(self, change: TargetEvent) -> None:
        for subscription in tuple(self._subscriptions):
            subscription.push(change)
        if isinstance(change, TargetCreated):
            for box in tuple(self._expectations):
                box.offer(change.target)

    def _obey(self, orders: Iterable[Order]) -> None:
        for order in orders:
            if isinstance(order, ArmSession):
                session = self._link.sessions[order.session_id]
                self._send_first(session)
                self.let_run(session)
            elif isinstance(order, ResumeSession):
                self._link.sessions[order.session_id].resume(joined=True)
            elif isinstance(order, EndSession):
                _order(self._session(order.parent), "Target.detachFromTarget", {"sessionId": order.session_id})
            else:
                _order(self._session(order.session_id), "Target.setAutoAttach", NO_AUTO_ATTACH)

    def _session(self, session_id: SessionId | None) -> Session:
        return self._root if session_id is None else self._link.sessions[session_id]

    def arm(self, session: PageSession) -> None:
        """Arm a session before the bridge does: for a tap that goes on sending, then calls `let_run`."""
        self.claim(session)
        self._send_first(session)

    def claim(self, session: PageSession) -> None:
        """Decide about a session before the bridge does: for a tap that sends all that the session needs."""
        self._attaching.claim(session)

    def _send_first(self, session: PageSession) -> None:
        for holder in self._holders:
            holder.prepare(session)
        _order(session, "Target.setAutoAttach", AUTO_ATTACH)

    def let_run(self, session: PageSession) -> None:
        """Resume the target of an armed session, and hand the session to the holders."""
        session.resume(joined=True)
        for holder in self._holders:
            holder.hand_out(session)

    def attach_under_way(self, target_id: TargetId) -> bool:
        """True while a caller of `attach` waits for a session on this target."""
        return self._attaching.under_way(target_id)

    def _end_auto_attach(self) -> None:
        try:
            self._obey(self._attaching.over())
        except Gone:
            log.debug("auto-attach ended with its link")

    async def _attach(self, target: TargetId, *, fresh: bool) -> PageSession:
        reply = self._root.send_nowait("Target.attachToTarget", {"targetId": target, "flatten": True})
        self._attaching.begin(target, fresh=fresh)
        try:
            with _translate_unknown_target(target):
                attached = await reply.wait()
        except trio.Cancelled:
            reply.on_end(self._detach_orphan)  # the session that is about to open has no holder
            raise
        finally:
            self._attaching.end(target, fresh=fresh)
        session_id = SessionId(required_id(attached, "sessionId"))
        session = self._link.sessions.get(session_id)
        if session is None and not fresh:
            session = self._shared(target)
        if session is None:
            raise SessionGone(
                f"The session on target {shown_id(target)} ended as soon as it was opened; list the targets again.",
                reason="detached",
                session_id=session_id,
                target_id=target,
            )
        session.fresh = fresh
        return session

    def _detach_orphan(self, outcome: Outcome) -> None:
        if isinstance(outcome, Result):
            self._obey(self._attaching.orphaned(SessionId(str(outcome.value.get("sessionId")))))

    def _shared(self, target: TargetId) -> PageSession | None:
        session_id = self._attaching.session_on(target)
        return None if session_id is None else self._link.sessions[session_id]

    def _listen(self) -> None:
        self._root._routes()  # raises if the link has ended
        if not self._listening:
            self._listening = True
            self._link.all_sessions.add(TARGET_METHODS, self)

    def _begin_discovery(self) -> SharedReply:
        self._listen()
        if self._discovery is None:
            reply = self._root.send_nowait("Target.setDiscoverTargets", DISCOVER)
            self._discovery = SharedReply(reply, self._discovery_refused, self._discovered)
        return self._discovery

    def _discovered(self) -> None:
        self._known = True

    def _discovery_refused(self, refused: SharedReply) -> None:
        """End every subscription and expectation with the refusal; the next use sends the command again."""
        self._discovery = None
        subscriptions, self._subscriptions = self._subscriptions, []
        for subscription in subscriptions:
            subscription.end(refused.error)
        for box in tuple(self._expectations):
            box.end(refused.error)

    def _announcements(self) -> tuple[Event, ...]:
        return self._table.announcements()


@attrs.frozen(kw_only=True, eq=False)
class _Holder:
    """One user of auto-attach."""

    types: frozenset[str] | None
    arm: Arm
    sessions: Subscription[PageSession]

    def wants(self, session: PageSession) -> bool:
        return self.types is None or session.target_type in self.types

    def prepare(self, session: PageSession) -> None:
        """Send this holder's first commands; an error ends its own subscription and nothing else."""
        if not self.wants(session):
            return
        try:
            for command in self.arm(session):
                method, params = command if isinstance(command, tuple) else (command, None)
                session._start(method, params, joined=True)
        except TargetCrashed:
            log.debug("a session was not armed, because its target has crashed")
        except Exception as error:  # noqa: BLE001 - the user's own code, in the reader
            failure = error
            self.sessions.end(lambda: failure)

    def hand_out(self, session: PageSession) -> None:
        if self.wants(session):
            self.sessions.push(session)

    def take(self, session: PageSession) -> None:
        self.prepare(session)
        self.hand_out(session)


class _translate_unknown_target:  # noqa: N801 - a context manager, used like a function
    """Raise TargetGone for -32602, Chromium's error for an unknown target; our other params are right."""

    def __init__(self, target_id: str) -> None:
        self._target_id = target_id

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, CommandRefused) and error.code == INVALID_PARAMS:
            raise TargetGone(
                f"The browser has no target {shown_id(self._target_id)}; list the targets again.",
                reason="unknown_target",
                target_id=self._target_id,
            ) from error


def _order(session: Session, method: str, params: Json) -> None:
    """Send a command of the bridge; a frame that has crashed takes none, and needs none."""
    with suppress(TargetCrashed):
        session._start(method, params, joined=True).on_end()


def _discard(items: builtins.list[Any], item: Any) -> None:
    if item in items:
        items.remove(item)
