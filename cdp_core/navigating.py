"""`PageSession.navigate` and `wait_for_load_state`: wait until a document has loaded far enough.

`sansio/navigation.py` decides; this module leases what the events need and waits. The leases are taken before the
command, and their replies are awaited, because a navigation to another process overtakes an `enable`
(docs/cdp/an-enable-is-awaited-before-its-block.md). If they do not come, as long as an earlier navigation silences the
page, the command goes out all the same: the lifecycle events of its document are sent again when they are enabled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

import trio

from cdp_core.errors import InvalidArgument, NavigationBlocked, NavigationFailed, NavigationTimedOut
from cdp_core.expectations import CRASHED
from cdp_core.replies import PendingReply
from cdp_core.sansio.arguments import check_timeout
from cdp_core.sansio.domains import LIFECYCLE_EVENTS, LIFECYCLE_SWITCH
from cdp_core.sansio.messages import Event, Json, Result
from cdp_core.sansio.navigation import (
    STATES,
    WATCHED,
    DocumentProgress,
    Navigation,
    NavigationProgress,
)
from cdp_core.sansio.outcomes import Outcome, failure_of
from cdp_core.sansio.redaction import shown_id

if TYPE_CHECKING:
    from cdp_core.target_session import PageSession

DOMAINS: Final = ("Page", LIFECYCLE_EVENTS, "Network")
"""Network is leased for the status of the answer."""
GRACE: Final = 1.0
"""Seconds for a sign of the document, or of the reason, after the navigation seems to have ended."""
SETUP: Final = 5.0
"""Seconds for the replies of the leases."""


async def navigate(session: PageSession, url: str, wait_until: str, timeout: float | None) -> Navigation:  # noqa: ASYNC109
    """Navigate the frame of a session, and wait."""
    if not isinstance(url, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
        raise InvalidArgument(f"url must be a string such as 'https://example.com/', not a {type(url).__name__}.")
    progress = NavigationProgress(session.target_id, _checked(wait_until), url)
    await _Watch(session, progress, wait_until).run(timeout, partial(_send, progress, url))
    return progress.result()


def _send(progress: NavigationProgress, url: str, watch: _Watch) -> PendingReply[Json]:
    return watch.send("Page.navigate", {"url": url}, progress.replied)


async def wait_for_load_state(session: PageSession, state: str, timeout: float | None) -> None:  # noqa: ASYNC109
    """Wait until the document that the session's frame shows has loaded so far."""
    progress = DocumentProgress(session.target_id, _checked(state))

    def ask(watch: _Watch) -> PendingReply[Json]:
        watch.send(LIFECYCLE_SWITCH, {"enabled": True}, lambda _result: None)  # tells the past events again
        return watch.send("Page.getFrameTree", None, lambda result: progress.listed(_loader_of(result)))

    await _Watch(session, progress, state).run(timeout, ask)


def _checked(state: str) -> str:
    if state not in STATES:
        raise InvalidArgument(f"wait_until must be one of {', '.join(STATES)}, not {state!r}.")
    return state


def _loader_of(result: Json) -> str:
    try:
        return str(result["frameTree"]["frame"]["loaderId"])
    except (LookupError, TypeError):
        return ""


class _Watch:
    """A sink that folds the events of a session into a progress, and the wait for its end."""

    def __init__(self, session: PageSession, progress: DocumentProgress, wait_until: str) -> None:
        self._session = session
        self._progress = progress
        self._wait_until = wait_until
        self._failure: Callable[[], BaseException] | None = None
        self._changed = trio.Event()
        self._reply: PendingReply[Json] | None = None
        self._release: Callable[[], None] = lambda: None

    async def run(self, timeout: float | None, begin: Callable[[_Watch], PendingReply[Json]]) -> None:  # noqa: ASYNC109
        """Take the leases, begin, and wait for the end."""
        if timeout is not None:
            check_timeout("timeout", timeout)
        await trio.lowlevel.checkpoint()
        self._take()
        try:
            with trio.move_on_after(math.inf if timeout is None else timeout):
                await self._await_leases()
                self._reply = begin(self)
                return await self.wait()
        except NavigationBlocked:  # its `wait` goes on
            raise
        except BaseException:
            self.close()
            raise
        late = self.late(timeout)
        self.close()
        raise late

    async def _await_leases(self) -> None:
        failures = await self._session._leases.answered(DOMAINS, SETUP)
        if "Page" in failures:
            raise failure_of(failures["Page"], "Page.enable", self._session.session_id)

    def send(self, method: str, params: Json | None, take: Callable[[Json], None]) -> PendingReply[Json]:
        """Send a command; its result goes to `take`, and its failure ends the watch."""
        reply = self._session.send_nowait(method, params)

        def end(outcome: Outcome) -> None:
            if isinstance(outcome, Result):
                take(outcome.value)
            elif self._failure is None:
                self._failure = partial(failure_of, outcome, reply.method, reply.session_id)
            self._wake()

        reply.on_end(end)
        return reply

    def close(self) -> None:
        """Give everything back; in the browser nothing is stopped."""
        self._session.unlisten((*WATCHED, CRASHED), self)
        release, self._release = self._release, lambda: None
        release()
        if self._reply is not None:
            self._reply.abandon()

    async def wait(self, after: _AfterDialog | None = None) -> None:
        """Wait until the progress is done, and close. Raises what ends it."""
        progress = self._progress
        while not progress.done:
            if self._failure is not None:
                raise self._failure()
            if progress.reason:
                raise self._failed()
            if progress.dialog:
                raise self._blocked(after or _AfterDialog(self))
            self._changed = trio.Event()
            with trio.move_on_after(GRACE if progress.is_ending else math.inf) as grace:
                await self._changed.wait()
            if grace.cancelled_caught and isinstance(progress, NavigationProgress):
                progress.give_up()
        self.close()

    def result(self) -> Navigation | None:
        """Return the navigation that is done; None for a wait without one."""
        progress = self._progress
        return progress.result() if isinstance(progress, NavigationProgress) else None

    # ── errors ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _failed(self) -> NavigationFailed:
        progress = self._progress
        assert isinstance(progress, NavigationProgress)
        text = f"The navigation of page {shown_id(self._session.target_id)} failed: {progress.failure()}."
        return NavigationFailed(text, reason=progress.reason)

    def _blocked(self, after: _AfterDialog) -> NavigationBlocked:
        progress = self._progress
        where = "the page that is left" if progress.dialog_phase == "leaving" else "the page that is loading"
        return NavigationBlocked(
            f"Page {shown_id(self._session.target_id)}: a dialog ({progress.dialog}) of {where} is open; answer it with "
            "Page.handleJavaScriptDialog, then wait() on this error. The navigation goes on.",
            type=progress.dialog,
            phase=progress.dialog_phase,
            resume=after.wait,
        )

    def late(self, timeout: float | None) -> NavigationTimedOut:
        state = self._progress.state()
        if self._reply is None:
            state = "Page.enable is not answered; a dialog, a script or an earlier navigation may block the page"
        return NavigationTimedOut(
            f"Page {shown_id(self._session.target_id)} has not reached {self._wait_until!r} within {timeout:g} s: {state}.",
            reason="timeout",
        )

    # ── the sink ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def push(self, event: Event, _at: float, /) -> None:
        if event.method == CRASHED:
            self._failure = self._session._crash_of("Page", "its document had loaded")
        else:
            self._progress.event(event.method, event.params, trio.current_time())
        self._wake()

    def end(self, error: Callable[[], BaseException], /) -> None:
        self._failure = self._failure or error
        self._wake()

    def _take(self) -> None:
        self._session.listen((*WATCHED, CRASHED), self)
        try:
            self._release = self._session._leases.take(DOMAINS, after_crash=True)
        except BaseException:
            self.close()
            raise

    def _wake(self) -> None:
        self._changed.set()


class _AfterDialog:
    """The rest of a navigation that a dialog blocks; when it is dropped, the leases are given back."""

    def __init__(self, watch: _Watch) -> None:
        self._watch = watch
        self._token = trio.lowlevel.current_trio_token()

    async def wait(self, timeout: float | None) -> Navigation | None:  # noqa: ASYNC109
        """Wait on. Raises what ends the navigation; a NavigationTimedOut or another dialog does not."""
        if timeout is not None:
            check_timeout("timeout", timeout)
        await trio.lowlevel.checkpoint()
        watch = self._watch
        with trio.move_on_after(math.inf if timeout is None else timeout):
            await watch.wait(self)
            return watch.result()
        raise watch.late(timeout)

    def __del__(self) -> None:
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._watch.close)
