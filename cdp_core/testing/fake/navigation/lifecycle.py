"""`Page.lifecycleEvent`: the progress of each frame's document, for sessions that enabled it.

    init ──▶ DOMContentLoaded ──▶ load ──▶ networkAlmostIdle, networkIdle

A session with Page enabled gets each event when it happens. `Page.setLifecycleEventsEnabled` first sends the past
events, beginning with `commit`, and sends them again each time it is called. The network is idle half a second after
a document was parsed; an empty document uses no network. The fake paints nothing, so it sends no paint events.
"""

from __future__ import annotations

from typing import Final

from cdp_core.testing.fake.model import dialogs
from cdp_core.testing.fake.model.parts import Frame, Session, Target
from cdp_core.testing.fake.world import World

LIFECYCLE_EVENTS: Final = "Page.lifecycle"
"""Marks a session with lifecycle events enabled; stored among its enabled domains."""
PARSED: Final = "DOMContentLoaded"
IDLE: Final = ("networkAlmostIdle", "networkIdle")
NETWORK_IDLE_SECONDS: Final = 0.5
"""Seconds without network activity before the network counts as idle."""


def begin(world: World, frame: Frame, loader: str) -> None:
    """Record the commit of a new document, and emit `init`."""
    frame.lifecycle_times = {"commit": world.timestamp}
    _emit_to_all(world, frame, loader, "init")


def begin_empty(world: World, frame: Frame) -> None:
    """Emit `init` for the empty document of a new frame, which no later event names."""
    if any(map(_wants_events, frame.target.sessions)):
        _emit_to_all(world, frame, world.ids.new("loader of an empty document"), "init")


def reach(world: World, frame: Frame, name: str) -> None:
    """Record that the frame's document reached the named event, and emit it."""
    frame.lifecycle_times = {"commit": world.timestamp, **(frame.lifecycle_times or {}), name: world.timestamp}
    _emit_to_all(world, frame, frame.loader, name)
    if name == PARSED:
        for session in filter(_wants_events, frame.target.sessions):
            _emit_idle(world, session, frame, NETWORK_IDLE_SECONDS)


def enable(world: World, session: Session, target: Target) -> None:
    """Enable lifecycle events on a session, and send it the past events of each frame."""
    new = LIFECYCLE_EVENTS not in session.domains
    session.domains.add(LIFECYCLE_EVENTS)
    for frame in target.frame.subtree() if target.frame is not None else ():
        if frame.target is not target and frame is not target.frame:
            continue
        for name, at in _past_events(world, frame).items():
            _emit(world, session, frame, world.loader_of(frame), name, at)
        parsed = (frame.lifecycle_times or {}).get(PARSED, 0.0)
        left = parsed + NETWORK_IDLE_SECONDS - world.timestamp
        if new and parsed and left > 0 and frame.url != "about:blank":
            _emit_idle(world, session, frame, left)


def disable(session: Session) -> None:
    session.domains.discard(LIFECYCLE_EVENTS)


def _past_events(world: World, frame: Frame) -> dict[str, float]:
    now = world.timestamp
    past = {"commit": now, PARSED: now} if frame.lifecycle_times is None else dict(frame.lifecycle_times)
    if PARSED in past and (
        frame.url in ("", "about:blank") or frame.lifecycle_times is None or past[PARSED] + NETWORK_IDLE_SECONDS <= now
    ):
        past |= dict.fromkeys(IDLE, past[PARSED])
    return past


def _emit_idle(world: World, session: Session, frame: Frame, seconds: float) -> None:
    loader = frame.loader

    def emit_idle() -> None:
        if frame.loader == loader and world.frames.get(frame.id) is frame and session in frame.target.sessions:
            for name in IDLE:
                if _wants_events(session):
                    _emit(world, session, frame, loader, name, world.timestamp)

    world.after(seconds, lambda: void(dialogs.when_unblocked(frame, emit_idle)))


def void(_done: object) -> None:
    """Discard a result: a callback of `World` returns None."""


def _emit_to_all(world: World, frame: Frame, loader: str, name: str) -> None:
    for session in filter(_wants_events, tuple(frame.target.sessions)):
        _emit(world, session, frame, loader, name, world.timestamp)


def _wants_events(session: Session) -> bool:
    return LIFECYCLE_EVENTS in session.domains and "Page" in session.domains


def _emit(world: World, session: Session, frame: Frame, loader: str, name: str, at: float) -> None:
    params = {"frameId": frame.id, "loaderId": loader, "name": name, "timestamp": at}
    world.emit(session, "Page.lifecycleEvent", params, frame)
