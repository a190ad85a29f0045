"""`Supervisor`: the interface of a running supervisor.

    async with open_supervisor("http://127.0.0.1:9222", policy=Policy.unattended()) as supervisor:
        supervisor.snapshot().pending_dialogs

Each request is answered once: with a value, or with an error that names the reason and what to do next.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, TypeVar, cast, overload

import trio

from cdp_core import (
    BrowserSession,
    ConnectionLost,
    InvalidArgument,
    Json,
    Missed,
    PageSession,
    Subscription,
    TypedCommand,
)
from cdp_core.sansio.arguments import check_timeout
from cdp_supervisor.driver import Driver
from cdp_supervisor.errors import AmbiguousTarget, BlockedByDialog, CallTimedOut, SupervisorStopped, UnknownTarget
from cdp_supervisor.sansio.changes import Change
from cdp_supervisor.sansio.dialog_view import DialogView
from cdp_supervisor.sansio.health import Health
from cdp_supervisor.sansio.options import Policy
from cdp_supervisor.sansio.replies import read_evaluation
from cdp_supervisor.sansio.requests import (
    AskExtension,
    AwaitCall,
    Call,
    Focus,
    Recover,
    Remedy,
    RespondToDialog,
    SetPolicy,
    WhenBlocked,
)
from cdp_supervisor.sansio.routing import session_of
from cdp_supervisor.sansio.state import State
from cdp_supervisor.sansio.stopping import StopReport
from cdp_supervisor.sansio.typed_requests import Reader, call_of
from cdp_supervisor.sansio.view import PageView, Snapshot

R = TypeVar("R")
C = TypeVar("C", bound=Change)

STATES_KEPT: Final = 1024
"""Published states queued for a slow `wait_for`; beyond that the oldest are dropped."""

SupervisorStatistics = Mapping[str, int]


class BlockedCall:
    """A call that a dialog blocks: it was sent once, and ends after the dialog."""

    def __init__(self, driver: Driver, call_id: str, method: str, parse: Callable[[Json], Any] | None) -> None:
        self._driver = driver
        self._parse = parse
        self.call_id = call_id
        self.method = method

    async def wait(self, *, timeout: float | None = None) -> Any:  # noqa: ASYNC109 - the state machine can explain it
        """Return the result, once. Raises the error of the call.

        Raises BlockedByDialog at the next dialog of the same call. After that, or after CallTimedOut, it can be awaited
        again.
        """
        try:
            result: Json = await self._driver.request(AwaitCall(call_id=self.call_id, timeout=timeout))
        except BlockedByDialog as blocked:
            blocked.call = self
            raise
        return result if self._parse is None else self._parse(result)

    def __repr__(self) -> str:
        return f"<BlockedCall {self.call_id} {self.method}>"


class Supervisor:
    """A running supervisor of one browser; `open_supervisor` makes it."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self.stop_report: StopReport | None = None
        """What was left behind; set at the end of the block."""

    # ── snapshots and changes ────────────────────────────────────────────────────────────────────────────────────────

    def snapshot(self) -> Snapshot:
        """Return the state now, as a frozen value; from any thread, without waiting."""
        return self._driver.runner.snapshot()

    async def wait_for(self, condition: Callable[[Snapshot], bool], /) -> Snapshot:
        """Return the first snapshot, from now on, for which the condition is true.

        The condition is called in the caller's own task, with the current snapshot and then with every published one,
        in order: a state that lasts only a moment is not missed. Raises SupervisorStopped when no further one can
        come.
        """
        runner = self._driver.runner
        states: deque[State] = deque([runner.state], STATES_KEPT)
        news = trio.Event()

        def published(state: State) -> None:
            states.append(state)
            news.set()

        unwatch = runner.watch(published)
        try:
            await trio.lowlevel.checkpoint()
            while True:
                while states:
                    state = states.popleft()
                    found = runner.view(state)
                    if condition(found):
                        return found
                    _raise_if_ended(state)
                await news.wait()
                news = trio.Event()
        finally:
            unwatch()

    @overload
    def changes(self, kind: type[C], /, *more: type[C], capacity: int = 256) -> Subscription[C | Missed]: ...
    @overload
    def changes(self, *, capacity: int = 256) -> Subscription[Change | Missed]: ...
    def changes(self, *kinds: type[Any], capacity: int = 256) -> Subscription[Any]:
        """Subscribe to the changes from now on: to these kinds, or to all.

        At the stop an iteration ends, and `receive` raises trio.EndOfChannel. If the supervisor has failed, both raise
        SupervisorStopped.
        """
        return self._driver.subscribe(kinds, capacity)

    async def wait_ready(
        self,
        target_id: str,
        *,
        timeout: float | None = 30.0,  # noqa: ASYNC109 - its error says why the page is not ready
    ) -> PageView:
        """Wait until a page has a session on the present link and its frames are known; return it.

        Raises UnknownTarget if the page is gone, SupervisorStopped, and CallTimedOut with its health.
        """
        if timeout is not None:
            check_timeout("timeout", timeout)
        begun = trio.current_time()

        def is_over(found: Snapshot) -> bool:
            page = found.page(target_id)
            listed = found.active and not any(each.stale for each in found.pages)
            return listed if page is None else page.session_id is not None and not page.stale

        with trio.move_on_after(math.inf if timeout is None else timeout):
            found = await self.wait_for(is_over)
            page = found.page(target_id)
            if page is None:
                raise UnknownTarget(target_id, known=[each.target_id for each in found.pages])
            return page
        page = self.snapshot().page(target_id)
        waited = trio.current_time() - begun
        raise CallTimedOut("The setup of a page", waited=waited, health=None if page is None else page.health)

    def health(self, target_id: str | None = None) -> Health:
        """Return the health of a page, by default of the focused one. Raises UnknownTarget, AmbiguousTarget."""
        snapshot = self.snapshot()
        wanted = target_id if target_id is not None else snapshot.focus
        known = [each.target_id for each in snapshot.pages]
        if wanted is None:
            raise AmbiguousTarget(known)
        page = snapshot.page(wanted)
        if page is None:
            raise UnknownTarget(wanted, known=known)
        return page.health

    def statistics(self) -> SupervisorStatistics:
        """Return counts since the supervisor was opened."""
        runner = self._driver.runner
        return MappingProxyType({**runner.state.totals, "machine_commands_unsent": runner.unsent})

    # ── dialogs ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def respond_to_dialog(
        self, action: Literal["accept", "dismiss"], *, prompt_text: str | None = None, dialog_id: str | None = None
    ) -> DialogView:
        """Answer a dialog (the only one, or the one named); return it when the browser confirmed its end.

        Raises NoPendingDialog, UnknownDialog, AmbiguousDialog, DialogUnanswerable, DialogAnswerRefused,
        InvalidArgument.
        """
        request = RespondToDialog(action=action, prompt_text=prompt_text, dialog_id=dialog_id)
        return cast("DialogView", await self._driver.request(request))

    async def set_policy(self, policy: Policy) -> None:
        """Set the policy for dialogs, also for those that are open."""
        await self._driver.request(SetPolicy(policy=policy))

    async def recover(self, target_id: str, remedy: Remedy, *, force: bool = False) -> None:
        """Free a page that a dialog or an endless script blocks; an unanswerable dialog lists its remedies.

        Raises WouldEndBrowser for a page whose health is `fragile`, unless `force`.
        """
        await self._driver.request(Recover(target_id=target_id, remedy=remedy, force=force))

    # ── calls ────────────────────────────────────────────────────────────────────────────────────────────────────────

    @overload
    async def call(
        self,
        command: TypedCommand[R],
        /,
        *,
        frame_id: str | None = None,
        target_id: str | None = None,
        session_id: str | None = None,
        timeout: float | None = 30.0,  # noqa: ASYNC109
        when_blocked: WhenBlocked = "raise",
        force: bool = False,
    ) -> R: ...
    @overload
    async def call(
        self,
        command: str,
        params: Mapping[str, Any] | None = None,
        /,
        *,
        frame_id: str | None = None,
        target_id: str | None = None,
        session_id: str | None = None,
        timeout: float | None = 30.0,  # noqa: ASYNC109
        when_blocked: WhenBlocked = "raise",
        force: bool = False,
    ) -> Json: ...
    async def call(
        self,
        command: TypedCommand[Any] | str,
        params: Mapping[str, Any] | None = None,
        /,
        *,
        frame_id: str | None = None,
        target_id: str | None = None,
        session_id: str | None = None,
        timeout: float | None = 30.0,  # noqa: ASYNC109 - the state machine can explain it
        when_blocked: WhenBlocked = "raise",
        force: bool = False,
    ) -> Any:
        """Send a command to a frame, a target, a session, or the focused page, once; it is never sent again.

        A command that runs in a frame's execution context waits, within its timeout, until the frame has one.

        Raises CommandRefused; BlockedByDialog, with a `call` that waits for the end; CallTimedOut, with the reason;
        PageFrozen; WouldEndBrowser, unless `force`; UnknownFrame, UnknownTarget, AmbiguousTarget, FrameSharesProcess; ConnectionLost while the link is
        down.
        """
        request, parse = call_of(
            command,
            params,
            frame_id=frame_id,
            target_id=target_id,
            session_id=session_id,
            timeout=timeout,
            when_blocked=when_blocked,
            force=force,
        )
        result: Json = await self._request_call(request, parse)
        return result if parse is None else parse(result)

    async def evaluate(
        self,
        expression: str,
        /,
        *,
        frame_id: str | None = None,
        target_id: str | None = None,
        await_promise: bool = True,
        user_gesture: bool = False,
        timeout: float | None = 30.0,  # noqa: ASYNC109
        when_blocked: WhenBlocked = "raise",
    ) -> Any:
        """Return the value of an expression, as JSON. Raises ScriptFailed if it throws; otherwise as `call`."""
        if not isinstance(expression, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
            raise InvalidArgument(f"expression must be a string, not {type(expression).__name__}.")
        # As `evaluation_of`, written out: this is the most frequent request.
        request = Call(
            method="Runtime.evaluate",
            params={
                "expression": expression,
                "awaitPromise": await_promise,
                "userGesture": user_gesture,
                "returnByValue": True,
            },
            frame_id=frame_id,
            target_id=target_id,
            timeout=timeout,
            when_blocked=when_blocked,
        )
        return read_evaluation(await self._request_call(request, read_evaluation))

    async def _request_call(self, request: Call, parse: Reader | None) -> Json:
        try:
            return cast("Json", await self._driver.request(request))
        except BlockedByDialog as blocked:
            if isinstance(blocked.call, str):
                blocked.call = BlockedCall(self._driver, blocked.call, request.method, parse)
            raise

    # ── extensions ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def ask_extension(self, extension: str, question: Mapping[str, Any]) -> Json:
        """Return an extension's answer to a question, both as JSON. Raises InvalidArgument if there is none."""
        return cast("Json", await self._driver.request(AskExtension(extension=extension, question=question)))

    # ── pages ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def focus(self, target_id: str | None) -> None:
        """Focus the page that is used if none is named; None: the only page. Raises UnknownTarget."""
        _, pending = self._driver.request_nowait(Focus(target_id=target_id))
        if pending.answer is not None and pending.answer.error is not None:
            raise pending.answer.error

    @property
    def browser(self) -> BrowserSession:
        """The engine's session on the current link. Raises ConnectionLost while the link is down."""
        if self._driver.browser is None:
            raise ConnectionLost("The link to the browser is down; wait until it is back (wait_for).", reason="down")
        return self._driver.browser

    def session(self, *, target_id: str | None = None, frame_id: str | None = None) -> PageSession:
        """Return the session of a page, a worker, or an out-of-process frame; default: the focused page's."""
        session_id = session_of(self._driver.runner.state, target_id=target_id, frame_id=frame_id)
        found = self.browser.sessions.get(session_id)
        if found is None:
            raise ConnectionLost("The link to the browser has just ended; wait until it is back.", reason="down")
        return found

    def __repr__(self) -> str:
        state = self._driver.runner.state
        return f"<Supervisor {state.link.phase}, {len(state.pages)} pages, {len(state.dialog_on)} dialogs>"


def _raise_if_ended(state: State) -> None:
    if state.link.phase == "stopped":
        raise SupervisorStopped("stopped")
    if state.link.phase == "gave_up":
        raise SupervisorStopped("gave_up" if state.link.owned else "link_not_owned")
