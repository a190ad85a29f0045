"""The browser's targets: which there are, attaching to them, and being there from their first instruction.

The bridge alone sends `Target.setDiscoverTargets` and `Target.setAutoAttach`: on one connection the last call wins, so
two callers would undo each other. Discovery begins with the first use of anything here that needs it.

Auto-attach is recursive (each new session arms itself, fact 46), pauses every target before its first instruction, and
leaves out the browser's own interface. For each new session the holders' commands, the recursion and the resume go out
in one write, in this order, none of them awaited: a setup command may stay unanswered as long as a dialog is open
(fact 15), and the resume must always come (fact 7). Targets of types that nobody asked for are resumed all the same.

One session of ours per target: where the browser opens a second one on a target that has one, the second is resumed and
ended again, or every event would come twice (fact 47).
"""

from __future__ import annotations

import builtins
import logging
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import attrs
import trio

from cdp_core.errors import (
    CdpError,
    CommandRefused,
    Gone,
    InvalidArgument,
    RemoteProtocolError,
    SessionGone,
    TargetGone,
)
from cdp_core.link import Link
from cdp_core.replies import PendingReply
from cdp_core.sansio.messages import BrowserContextId, Event, Json, Result, SessionId, TargetId, TypedCommand
from cdp_core.sansio.redaction import shown_id
from cdp_core.sansio.router import Failure, Outcome, failure_of
from cdp_core.sansio.structs import Struct
from cdp_core.sansio.target_table import (
    AUTO_ATTACH,
    DISCOVER,
    TARGET_METHODS,
    TargetChanged,
    TargetCreated,
    TargetDestroyed,
    TargetEvent,
    TargetInfo,
    TargetTable,
)
from cdp_core.session import MAX_BYTES, Session
from cdp_core.subscriptions import Expectation, ExpectationBox, Missed, Overflow, Subscription
from cdp_core.target_session import PageSession

ArmCommand = TypedCommand[Any] | str | tuple[str, Mapping[str, Any]]
Arm = Callable[[PageSession], Iterable[ArmCommand]]
"""The commands that a new session begins with: typed, named, or named with params. Pure and quick."""

INVALID_PARAMS: Final = -32602
NO_AUTO_ATTACH: Final[Json] = {"autoAttach": False, "waitForDebuggerOnStart": False, "flatten": True}
DISPOSE_TIMEOUT: Final = 2.0

log = logging.getLogger("cdp_core.targets")


class BridgeStatistics(Struct, frozen=True, kw_only=True):
    """What the bridge knows and holds."""

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
        self._discovery: _SharedCommand | None = None
        self._auto_attach: _SharedCommand | None = None
        self._known = False  # until the reply, every creation that is announced is an old one
        self._subscriptions: builtins.list[Subscription[Any]] = []
        self._expectations: builtins.list[ExpectationBox[TargetInfo]] = []
        self._locks: dict[TargetId, trio.Lock] = {}
        self._fresh_in_flight: dict[TargetId, int] = {}
        self._holders: builtins.list[_Holder] = []
        self._duplicates_ended = 0

    # ── which there are ──────────────────────────────────────────────────────────────────────────────────────────────

    async def list(self, *, type: str | None = "page") -> tuple[TargetInfo, ...]:  # noqa: A002 - the protocol's word
        """The live targets of one type, or of every type (None), oldest first."""
        await self._begin_discovery().wait()
        return tuple(target for target in self._table.targets.values() if type is None or target.type == type)

    def subscribe(self, capacity: int) -> Subscription[TargetCreated | TargetChanged | TargetDestroyed]:
        """Listen to every change from now on; targets that exist already are not announced again.

        Where the browser refuses to report its targets, the subscription ends with that CommandRefused.
        """
        return self._subscribe(capacity, Overflow.FAIL)

    def subscribe_latest(self, capacity: int) -> Subscription[TargetCreated | TargetChanged | TargetDestroyed | Missed]:
        """As `subscribe`, but a full queue drops its oldest changes, and `Missed(count)` comes in their place."""
        return self._subscribe(capacity, Overflow.DROP_OLDEST)

    def _subscribe(self, capacity: int, overflow: Overflow) -> Subscription[Any]:
        subscription: Subscription[Any] = Subscription(
            capacity=capacity,
            max_bytes=MAX_BYTES,
            overflow=overflow,
            read=None,
            where=None,
            close=lambda sink: _discard(self._subscriptions, sink),
        )
        self._begin_discovery()
        self._subscriptions.append(subscription)
        return subscription

    def expect_new(self, where: Callable[[TargetInfo], object] | None = None) -> Expectation[TargetInfo]:
        """The first target that appears from now on and matches: arm it, act, then `await` its `wait()`."""
        self._begin_discovery()
        expectation: Expectation[TargetInfo] = Expectation(
            where=where, close=lambda box: _discard(self._expectations, box)
        )
        self._expectations.append(expectation.sink)
        return expectation

    async def wait_new(self, where: Callable[[TargetInfo], object] | None = None) -> TargetInfo:
        """Wait for the first target that appears from now on. To act first, use `expect_new`."""
        return await self.expect_new(where).wait()

    # ── attaching ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def attach(self, target_id: TargetId | str, *, fresh: bool = False) -> PageSession:
        """A session on the target: the one this connection has (counted), or a new one.

        With `fresh` a session of its own, whose events come beside those of the other. Raises TargetGone where the
        browser has no such target.
        """
        target = TargetId(target_id)
        lock = self._locks.setdefault(target, trio.Lock())
        try:
            async with lock:
                session = None if fresh else self._session_on(target)
                if session is None:
                    session = await self._attach(target, fresh=fresh)
                session.holders += 1
                return session
        finally:
            if not lock.locked():
                self._locks.pop(target, None)

    async def create(
        self, url: str, *, background: bool = True, context: BrowserContextId | None = None
    ) -> PageSession:
        """A new page, and a session on it. In the background it takes no focus from the user's page."""
        params: Json = {"url": url, "background": background}
        if context is not None:
            params["browserContextId"] = context
        created = await self._root.send("Target.createTarget", params)
        return await self.attach(TargetId(_required_id(created, "targetId")))

    async def close(self, target_id: TargetId | str) -> None:
        """Close a target; no `beforeunload` dialog comes up (fact 21). Raises TargetGone where there is none."""
        with _translate_unknown_target(target_id):
            await self._root.send("Target.closeTarget", {"targetId": target_id})

    @asynccontextmanager
    async def open_context(self, *, proxy_server: str | None = None) -> AsyncGenerator[BrowserContextId, None]:
        """A browser context of its own (cookies, storage, proxy), disposed with its pages at the end of the block."""
        params: Json = {"disposeOnDetach": True}
        if proxy_server is not None:
            params["proxyServer"] = proxy_server
        created = await self._root.send("Target.createBrowserContext", params)
        context = BrowserContextId(_required_id(created, "browserContextId"))
        try:
            yield context
        finally:
            with trio.move_on_after(DISPOSE_TIMEOUT, shield=True):
                try:
                    await self._root.send("Target.disposeBrowserContext", {"browserContextId": context})
                except CdpError:  # the body's own exception leaves, and the browser disposes it with the link
                    log.debug("a browser context could not be disposed")

    # ── being there from the first instruction ───────────────────────────────────────────────────────────────────────

    @asynccontextmanager
    async def auto_attach(
        self, *, types: Collection[str] | None = None, arm: Arm = lambda _session: (), capacity: int
    ) -> AsyncGenerator[Subscription[PageSession], None]:
        """Attach to every target of the given types (None: all), those that exist and those to come, at any depth.

        Each session is armed with the commands that `arm` names, then resumed, before its target's first instruction;
        then it comes out of the subscription. At the end of the block the browser ends these sessions.
        """
        if isinstance(types, str):
            raise InvalidArgument(f"types is a collection of names, as in ({types!r},); None stands for all.")
        if not callable(arm):
            raise InvalidArgument("arm is a function of a session that names the commands to begin with.")
        holder = _Holder(
            types=None if types is None else frozenset(types),
            arm=arm,
            sessions=Subscription(
                capacity=capacity,
                max_bytes=MAX_BYTES,
                overflow=Overflow.FAIL,
                read=None,
                where=None,
                close=lambda _sink: None,
            ),
        )
        begun = self._begin_auto_attach(holder)
        try:
            await begun.wait()
            yield holder.sessions
        finally:
            self._release_holder(holder)

    def hold_auto_attach(self) -> Callable[[], None]:
        """As `auto_attach`, for a tap that arms the sessions itself when it hears of them; returns what ends it.

        What a tap sends on a session at its `Target.attachedToTarget` goes out before the recursion and the resume.
        """
        sessions: Subscription[PageSession] = Subscription(
            capacity=1, max_bytes=MAX_BYTES, overflow=Overflow.FAIL, read=None, where=None, close=lambda _sink: None
        )
        holder = _Holder(types=frozenset(), arm=lambda _session: (), sessions=sessions)
        self._begin_auto_attach(holder)
        return lambda: self._release_holder(holder)

    def _begin_auto_attach(self, holder: _Holder) -> _SharedCommand:
        self._listen()
        if self._auto_attach is None:
            self._auto_attach = _SharedCommand(
                self._root.send_nowait("Target.setAutoAttach", AUTO_ATTACH), self._auto_attach_refused
            )
            self._holders.append(holder)
            return self._auto_attach
        self._holders.append(holder)
        for session in tuple(self._link.sessions.values()):
            if session.armed:
                holder.take(session)
        return self._auto_attach

    def _auto_attach_refused(self, refused: _SharedCommand) -> None:
        """Nobody is given a session by it: every holder hears why, and the next one asks again."""
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
        """Counts so far."""
        return BridgeStatistics(
            discovering=self._discovery is not None,
            targets=len(self._table.targets),
            auto_attach_holders=len(self._holders),
            duplicates_ended=self._duplicates_ended,
        )

    # ── what the reader says ─────────────────────────────────────────────────────────────────────────────────────────

    def push(self, event: Event, _at: float, /) -> None:
        """See Sink: one `Target.*` event of any session."""
        change = self._table.apply(event)
        if change is not None and self._known:
            self._announce(change)
        if event.method != "Target.attachedToTarget" or not self._holders:
            return
        try:
            session = self._link.sessions.get(SessionId(str(event.params.get("sessionId"))))
        except RemoteProtocolError:  # it opened no session, which the router has told
            return
        if session is not None and not session.armed:
            self._on_session(session)

    def end(self, error: Callable[[], BaseException], /) -> None:
        """See Sink: the link ended."""
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

    def _on_session(self, session: PageSession) -> None:
        other = self._session_on(session.target_id, besides=session)
        if other is None:
            session.automatic = not self._locks.get(session.target_id)
            self._arm(session)
        elif self._fresh_in_flight.get(session.target_id):
            session.fresh = True
        else:
            self._duplicates_ended += 1
            session.resume(joined=True)
            parent: Session = self._link.sessions[session.parent] if session.parent is not None else self._root
            parent._start("Target.detachFromTarget", {"sessionId": session.session_id}, joined=True).on_end()
            if not other.armed:
                self._arm(other)

    def _arm(self, session: PageSession) -> None:
        """One write: what the holders want, the recursion, the resume."""
        session.armed = True
        for holder in self._holders:
            holder.prepare(session)
        session._start("Target.setAutoAttach", AUTO_ATTACH, joined=True).on_end()
        session.resume(joined=True)
        for holder in self._holders:
            holder.hand_out(session)

    def _end_auto_attach(self) -> None:
        try:
            self._root._start("Target.setAutoAttach", NO_AUTO_ATTACH, joined=True).on_end()
            for session in self._link.sessions.values():
                if session.armed and not session.automatic:
                    session._start("Target.setAutoAttach", NO_AUTO_ATTACH, joined=True).on_end()
                session.armed = False
        except Gone:
            log.debug("auto-attach ended with its link")

    async def _attach(self, target: TargetId, *, fresh: bool) -> PageSession:
        if fresh:
            self._fresh_in_flight[target] = self._fresh_in_flight.get(target, 0) + 1
        reply = self._root.send_nowait("Target.attachToTarget", {"targetId": target, "flatten": True})
        try:
            with _translate_unknown_target(target):
                attached = await reply.wait()
        except trio.Cancelled:
            reply.on_end(self._detach_orphan)  # nobody will hold the session that is about to come
            raise
        finally:
            if fresh:
                self._fresh_in_flight[target] -= 1
        session_id = SessionId(_required_id(attached, "sessionId"))
        session = self._link.sessions.get(session_id)
        if session is None and not fresh:
            session = self._session_on(target)
        if session is None:
            raise SessionGone(
                f"The session on target {shown_id(target)} ended as soon as it was opened; look at the targets again.",
                reason="detached",
                session_id=session_id,
                target_id=target,
            )
        session.fresh = fresh
        return session

    def _detach_orphan(self, outcome: Outcome) -> None:
        if isinstance(outcome, Result):
            session = self._link.sessions.get(SessionId(str(outcome.value.get("sessionId"))))
            if session is not None and not session.holders and not session.automatic:
                session.fresh = True  # nobody else is given a session that is about to end
                self._root._start("Target.detachFromTarget", {"sessionId": session.session_id}, joined=True).on_end()

    def _session_on(self, target: TargetId, *, besides: PageSession | None = None) -> PageSession | None:
        for session in self._link.sessions.values():
            if session.target_id == target and session is not besides and not session.fresh:
                return session
        return None

    def _listen(self) -> None:
        self._root._routes()  # raises where the link has ended
        if not self._listening:
            self._listening = True
            self._link.all_sessions.add(TARGET_METHODS, self)

    def _begin_discovery(self) -> _SharedCommand:
        self._listen()
        if self._discovery is None:
            reply = self._root.send_nowait("Target.setDiscoverTargets", DISCOVER)
            self._discovery = _SharedCommand(reply, self._discovery_refused, self._discovered)
        return self._discovery

    def _discovered(self) -> None:
        self._known = True

    def _discovery_refused(self, refused: _SharedCommand) -> None:
        """Nothing will be announced: whoever waits for it hears why, and the next use asks again."""
        self._discovery = None
        subscriptions, self._subscriptions = self._subscriptions, []
        for subscription in subscriptions:
            subscription.end(refused.error)
        for box in tuple(self._expectations):
            box.end(refused.error)

    def _announcements(self) -> tuple[Event, ...]:
        """The known targets, each as the event that announces it."""
        return self._table.announcements()


class _SharedCommand:
    """A command that settles something for several, who may wait for its end together."""

    def __init__(
        self,
        reply: PendingReply[Json],
        refused: Callable[[_SharedCommand], None],
        granted: Callable[[], None] = lambda: None,
    ) -> None:
        self._reply = reply
        self._refused, self._granted = refused, granted
        self._failure: Failure | None = None
        self._ended = trio.Event()
        reply.on_end(self._settle)

    async def wait(self) -> None:
        """Until it is settled. Raises what took the place of a result."""
        await self._ended.wait()
        self._reply.unwrap()

    def error(self) -> CdpError:
        """A fresh exception that says why there was no result."""
        assert self._failure is not None
        return failure_of(self._failure, self._reply.method, None)

    def _settle(self, outcome: Outcome) -> None:
        self._ended.set()
        if isinstance(outcome, Result):
            self._granted()
        else:
            self._failure = outcome
            self._refused(self)


@attrs.frozen(kw_only=True, eq=False)
class _Holder:
    """One user of auto-attach."""

    types: frozenset[str] | None
    arm: Arm
    sessions: Subscription[PageSession]

    def wants(self, session: PageSession) -> bool:
        return self.types is None or session.target_type in self.types

    def prepare(self, session: PageSession) -> None:
        """Send what this holder wants first; its mistakes end its own subscription and nothing else."""
        if not self.wants(session):
            return
        try:
            for command in self.arm(session):
                method, params = command if isinstance(command, tuple) else (command, None)
                session._start(method, params, joined=True)
        except Exception as error:  # noqa: BLE001 - the user's own code, in the reader
            failure = error
            self.sessions.end(lambda: failure)

    def hand_out(self, session: PageSession) -> None:
        if self.wants(session):
            self.sessions.push(session)

    def take(self, session: PageSession) -> None:
        self.prepare(session)
        self.hand_out(session)


class _translate_unknown_target:  # noqa: N801 - a context manager, used as a word
    """Chromium says -32602 for a target that does not exist; the other params are ours and right."""

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


def _required_id(result: Json, name: str) -> str:
    value = result.get(name)
    if not isinstance(value, str):
        raise RemoteProtocolError(f"The browser's answer names no {name}; what was asked for may have been made.")
    return value


def _discard(items: builtins.list[Any], item: Any) -> None:
    if item in items:
        items.remove(item)
