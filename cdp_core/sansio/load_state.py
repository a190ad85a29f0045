"""The load state of a frame's document, from the events of its page's session.

A document is named by its loaderId, since an event about loading may be about the document before it (fact 79): of the
events of `Page.setLifecycleEventsEnabled` only those with the loaderId of the present document count. Events without
a loaderId are of the present document, because a session gets them in order.

A navigation that is in flight is a state of its own. One of the main frame silences its page: the renderer answers
nothing until the new document commits (fact 90). It ends with its document, or without one: a download, an empty
answer (204) or `Page.stopLoading` end in `Page.frameStoppedLoading` (docs/cdp/a-navigation-silences-its-page.md).
"""

from __future__ import annotations

from typing import Final, Literal

from cdp_core.sansio.messages import Json, is_object
from cdp_core.sansio.structs import Struct, replace

Phase = Literal["unknown", "loading", "interactive", "complete"]
"""How far a document has loaded, as `document.readyState`; unknown if it was there before the first event."""

SAME_DOCUMENT: Final = frozenset(("sameDocument", "historySameDocument"))
"""Types of navigations that end without a new document."""
ORDER: Final[tuple[Phase, ...]] = ("unknown", "loading", "interactive", "complete")
LIFECYCLE: Final[dict[str, Phase]] = {"init": "loading", "DOMContentLoaded": "interactive", "load": "complete"}
REACHED: Final[dict[str, Phase]] = {"Page.domContentEventFired": "interactive", "Page.loadEventFired": "complete"}
"""Events of the document of a session's own frame: they name no frame."""
EVENTS: Final = (
    "Page.frameStartedNavigating",
    "Page.frameStartedLoading",
    "Page.frameStoppedLoading",
    "Page.lifecycleEvent",
    *REACHED,
)
"""The events of `applied`, besides `Page.frameNavigated`, which also changes the frame."""


class LoadState(Struct, frozen=True, kw_only=True, gc=False):
    """How far the document of a frame has loaded, and whether a navigation to another one is in flight.

    * `loader`: the loaderId of the document; empty if it is not known.
    * `network_idle`: its network was idle for half a second; known only where lifecycle events are on.
    * `navigating_to`, `since`: the loaderId of the navigation in flight (empty: none), and when it began, on the clock
      of the caller. `announced`: its `Page.frameStartedLoading` has come.
    """

    loader: str = ""
    phase: Phase = "unknown"
    network_idle: bool = False
    navigating_to: str = ""
    announced: bool = False
    since: float = 0.0


def applied(load: LoadState, method: str, params: Json, at: float) -> LoadState:
    """Apply one of EVENTS or a `Page.frameNavigated` of the frame."""
    loader = _text(params, "loaderId")
    if method == "Page.frameStartedNavigating":
        return started(load, loader, _text(params, "navigationType"), at)
    if method == "Page.frameNavigated":
        frame = params.get("frame")
        restored = params.get("type") == "BackForwardCacheRestore"
        return committed(load, _text(frame, "loaderId") if is_object(frame) else "", restored=restored)
    if method == "Page.frameStartedLoading":
        if not load.navigating_to:
            return load
        # The second one of a navigation: the old document loads on (fact 92).
        return replace(load, navigating_to="") if load.announced else replace(load, announced=True)
    if method == "Page.lifecycleEvent":
        return lifecycle(load, loader, _text(params, "name"))
    return reached(load, REACHED[method]) if method in REACHED else stopped(load)


def _text(params: Json, name: str) -> str:
    value = params.get(name)
    return value if isinstance(value, str) else ""


def started(load: LoadState, loader: str, kind: str, at: float) -> LoadState:
    """Apply `Page.frameStartedNavigating`."""
    return load if kind in SAME_DOCUMENT else replace(load, navigating_to=loader, announced=False, since=at)


def committed(load: LoadState, loader: str, *, restored: bool = False) -> LoadState:
    """Apply `Page.frameNavigated`; a document from the back/forward cache keeps its old loaderId."""
    if load.navigating_to in ("", loader) or restored:
        return LoadState(loader=loader, phase="loading")
    return replace(load, loader=loader, phase="loading", network_idle=False)  # another navigation began meanwhile


def listed(load: LoadState, loader: str) -> LoadState:
    """Apply an entry of `Page.getFrameTree`: the document may have been there before the first event."""
    if loader == load.loader:
        return load
    to = "" if load.navigating_to == loader else load.navigating_to
    return replace(load, loader=loader, phase="unknown", network_idle=False, navigating_to=to)


def unwatched(load: LoadState) -> LoadState:
    """Forget what only events say: a new session gets none of those that were missed."""
    phase: Phase = load.phase if load.phase == "complete" else "unknown"
    return load if (load.phase, load.navigating_to) == (phase, "") else replace(load, phase=phase, navigating_to="")


def stopped(load: LoadState) -> LoadState:
    """Apply `Page.frameStoppedLoading`: the document is complete, and no navigation is in flight."""
    return reached(replace(load, navigating_to="") if load.navigating_to else load, "complete")


def reached(load: LoadState, phase: Phase) -> LoadState:
    """Apply `Page.domContentEventFired` or `Page.loadEventFired`; a document never goes back."""
    return replace(load, phase=phase) if ORDER.index(load.phase) < ORDER.index(phase) else load


def lifecycle(load: LoadState, loader: str, name: str) -> LoadState:
    """Apply `Page.lifecycleEvent`."""
    if loader != load.loader:
        return load
    if name == "networkIdle":
        return load if load.network_idle else replace(load, network_idle=True)
    phase = LIFECYCLE.get(name)
    return load if phase is None else reached(load, phase)
