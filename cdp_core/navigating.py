"""`PageSession.navigate`: navigate, and wait until the document has loaded as far as wanted.

The events are folded into the load state of `sansio/load_state.py`, so only the document with the loaderId of this
navigation counts. `Page` is enabled, with its reply, before the command: a navigation to another process overtakes an
`enable` that is not answered (see `cdp_core.leases`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Literal, get_args

import trio

from cdp_core.errors import InvalidArgument, NavigationFailed, NavigationTimedOut
from cdp_core.sansio.arguments import check_timeout
from cdp_core.sansio.load_state import EVENTS, ORDER, LoadState, applied
from cdp_core.sansio.messages import Event, Json, is_object
from cdp_core.sansio.redaction import shown_id

if TYPE_CHECKING:
    from cdp_core.target_session import PageSession

Until = Literal["loading", "interactive", "complete", "network_idle"]
GRACE: Final = 1.0
"""Seconds for a commit after loading has stopped: it may be the document before (about:blank) that stopped."""


async def navigate(session: PageSession, url: str, until: Until, timeout: float | None) -> LoadState:  # noqa: ASYNC109
    """Navigate the frame of a session, and wait. Raises NavigationFailed."""
    if until not in get_args(Until):
        raise InvalidArgument(f"until must be one of {', '.join(get_args(Until))}, not {until!r}.")
    if timeout is not None:
        check_timeout("timeout", timeout)
    navigation = _Navigation(session, until)
    with trio.move_on_after(math.inf if timeout is None else timeout):
        await navigation.run(url)
        return navigation.load
    raise NavigationTimedOut(
        f"Page {shown_id(session.target_id)} has not reached {until!r} within {timeout:g} s: {navigation.state()}.",
        reason="timeout",
    )


class _Navigation:
    """One navigation: its loaderId once the browser gave it one, and the load state so far."""

    def __init__(self, session: PageSession, until: Until) -> None:
        self.load = LoadState()
        self._session = session
        self._until = until
        self._loader: str | None = None
        self._begun = False
        self._awaits = "Page.enable"

    async def run(self, url: str) -> None:
        async with self._session.enabled("Page", wait=None):
            if self._until == "network_idle":
                await self._session.send("Page.setLifecycleEventsEnabled", {"enabled": True})
            with self._session.subscribe(
                "Page.frameNavigated", *EVENTS, capacity=100_000, where=self._concerns
            ) as events:
                self._awaits = "Page.navigate"
                reply = await self._session.send("Page.navigate", {"url": url})
                self._awaits = ""
                if self._is_within_document(reply):
                    return
                while not self._is_done():
                    with trio.move_on_after(GRACE if self._is_stopped() else math.inf) as grace:
                        event = await events.receive()
                        self.load = applied(self.load, event.method, event.params, trio.current_time())
                        self._begun = self._begun or self._loader in (self.load.loader, self.load.navigating_to)
                    if grace.cancelled_caught:
                        raise self._failure(
                            "loading stopped before the new document was there; navigate again", "stopped"
                        )

    def _failure(self, what: str, reason: str) -> NavigationFailed:
        return NavigationFailed(f"Page {shown_id(self._session.target_id)}: {what}.", reason=reason)

    def state(self) -> str:
        """Describe how far it came."""
        if self._awaits == "Page.enable":
            return "Page.enable is not answered; a dialog, a script or an earlier navigation may block the page"
        if self._awaits or self.load.loader != self._loader:
            return "the server has not answered; wait longer, or end the navigation with Page.stopLoading"
        return f"its document is {self.load.phase}, and its network is {'idle' if self.load.network_idle else 'busy'}"

    def _concerns(self, event: Event) -> bool:
        """True for an event of the session's own frame."""
        own, params = self._session.target_id, event.params
        frame = params.get("frame")
        return bool(params.get("frameId", frame.get("id") if is_object(frame) else own) == own)

    def _is_within_document(self, reply: Json) -> bool:
        if "errorText" in reply:
            reason = "download" if reply.get("isDownload") else str(reply["errorText"])[:64]
            raise self._failure(f"the navigation brought no document ({reason})", reason)
        self._loader = str(reply.get("loaderId", ""))
        return not self._loader

    def _is_stopped(self) -> bool:
        return self._begun and self._loader not in (self.load.loader, self.load.navigating_to)

    def _is_done(self) -> bool:
        """True once the document has loaded so far. Raises NavigationFailed if another one has replaced it."""
        if self._begun and self.load.loader not in ("", self._loader) and self.load.navigating_to != self._loader:
            raise self._failure("another navigation replaced this one; wait for that, or navigate again", "superseded")
        if self.load.loader != self._loader:
            return False
        return (
            self.load.network_idle
            if self._until == "network_idle"
            else ORDER.index(self.load.phase) >= ORDER.index(self._until)
        )
