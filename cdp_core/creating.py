"""`TargetBridge.create`: create a page, attach to it, and let nothing of it be lost or left over.

A new page shows the document of the browser process first, and loads `about:blank` in its place. A `Page.navigate`
that is sent before that commits can be lost: it is answered, and its document never comes (fact 65). The browser
process knows when it has committed: the current entry of the navigation history then has an address
(docs/cdp/a-new-page-loads-about-blank-first.md).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

import trio

from cdp_core.errors import CommandRefused, Gone, LocalProtocolError, RemoteProtocolError
from cdp_core.sansio.messages import Json, Result, TargetId
from cdp_core.sansio.outcomes import Outcome
from cdp_core.sansio.redaction import shown_id
from cdp_core.session import Session
from cdp_core.target_session import PageSession
from cdp_core.warnings_shown import warn

BLANK: Final = "about:blank"
PATIENCE: Final = 5.0
"""Seconds for `about:blank` to load; it takes milliseconds, unless another client holds the page."""
PAUSE: Final = 0.005
"""Seconds between two looks at the history: about a quarter of the time that `about:blank` takes."""
INACTIVE: Final = "Not attached to an active page"
"""The refusal of a page between two documents."""


async def create_page(root: Session, attach: Callable[[TargetId], Awaitable[PageSession]], params: Json) -> PageSession:
    """Create a page and attach to it; if that fails or is cancelled, the page is closed."""

    def close(outcome: Outcome) -> None:
        if isinstance(outcome, Result) and isinstance(target := outcome.value.get("targetId"), str):
            with suppress(Gone, LocalProtocolError):
                root._start("Target.closeTarget", {"targetId": target}, joined=True).on_end()

    reply = root.send_nowait("Target.createTarget", params)
    try:
        session = await attach(TargetId(required_id(await reply.wait(), "targetId")))
        if params["url"] in ("", BLANK):
            await _wait_for_blank(session)
    except BaseException:
        reply.on_end(close)
        raise
    return session


async def _wait_for_blank(session: PageSession) -> None:
    """Wait until a new page has loaded `about:blank`, but not for ever."""
    with trio.move_on_after(PATIENCE):
        while True:
            try:
                history = await session.send("Page.getNavigationHistory")
            except CommandRefused as refused:
                if refused.message != INACTIVE:  # this browser cannot tell
                    return
            else:
                if _has_address(history):
                    return
            await trio.sleep(PAUSE)
    warn(
        f"The new page {shown_id(session.target_id)} has not loaded about:blank after {PATIENCE:g} s: another client "
        "may have paused it. A Page.navigate that is sent now may be lost; give create() the address itself."
    )


def _has_address(history: Json) -> bool:
    """True if the current entry of a navigation history has an address, or the history cannot be read."""
    entries: Any = history.get("entries")
    index: Any = history.get("currentIndex")
    try:
        return bool(entries[index]["url"])
    except (LookupError, TypeError):
        return True


def required_id(result: Json, name: str) -> str:
    """Return an id of a reply. Raises RemoteProtocolError if there is none."""
    value = result.get(name)
    if not isinstance(value, str):
        raise RemoteProtocolError(f"The browser's reply has no {name}; the command may have taken effect.")
    return value
