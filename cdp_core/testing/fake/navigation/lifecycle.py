"""`Page.lifecycleEvent`: how far each frame's document has come, for the sessions that asked to be told.

    init ──▶ DOMContentLoaded ──▶ load ──▶ networkAlmostIdle, networkIdle

Told as it happens where Page is enabled too; `Page.setLifecycleEventsEnabled` itself first tells what has been, beginning
with `commit`, and tells it anew each time. The network is idle when a document has been there for half a second; an empty
one has none. Nothing is painted here, so nothing is told of paint.
"""

from __future__ import annotations

from typing import Final

from cdp_core.testing.fake.model import dialogs
from cdp_core.testing.fake.model.parts import Frame, Session, Target
from cdp_core.testing.fake.world import World

ASKED: Final = "Page.lifecycle"
"""Among the domains of a session."""
PARSED: Final = "DOMContentLoaded"
IDLE: Final = ("networkAlmostIdle", "networkIdle")
QUIET: Final = 0.5
"""How long the network must have been quiet."""


def begin(world: World, frame: Frame, loader: str) -> None:
    """A new document is committed."""
    frame.moments = {"commit": world.timestamp}
    _tell_all(world, frame, loader, "init")


def begin_empty(world: World, frame: Frame) -> None:
    """A new frame has its first document, which is empty, and never told of again."""
    if any(map(_asked, frame.target.sessions)):
        _tell_all(world, frame, world.ids.new("loader of an empty document"), "init")


def reach(world: World, frame: Frame, name: str) -> None:
    """Its document has come that far."""
    frame.moments = {"commit": world.timestamp, **(frame.moments or {}), name: world.timestamp}
    _tell_all(world, frame, frame.loader, name)
    if name == PARSED:
        for session in filter(_asked, frame.target.sessions):
            _tell_idle(world, session, frame, QUIET)


def enable(world: World, session: Session, target: Target) -> None:
    """A session wants to be told; it is told what has been."""
    new = ASKED not in session.domains
    session.domains.add(ASKED)
    for frame in target.frame.subtree() if target.frame is not None else ():
        if frame.target is not target and frame is not target.frame:
            continue
        for name, at in _been(world, frame).items():
            _tell(world, session, frame, world.loader_of(frame), name, at)
        parsed = (frame.moments or {}).get(PARSED, 0.0)
        left = parsed + QUIET - world.timestamp
        if new and parsed and left > 0 and frame.url != "about:blank":
            _tell_idle(world, session, frame, left)


def disable(session: Session) -> None:
    """It does not any more."""
    session.domains.discard(ASKED)


def _been(world: World, frame: Frame) -> dict[str, float]:
    now = world.timestamp
    been = {"commit": now, PARSED: now} if frame.moments is None else dict(frame.moments)
    if PARSED in been and (frame.url in ("", "about:blank") or frame.moments is None or been[PARSED] + QUIET <= now):
        been |= dict.fromkeys(IDLE, been[PARSED])
    return been


def _tell_idle(world: World, session: Session, frame: Frame, seconds: float) -> None:
    loader = frame.loader

    def tell() -> None:
        if frame.loader == loader and world.frames.get(frame.id) is frame and session in frame.target.sessions:
            for name in IDLE:
                if _asked(session):
                    _tell(world, session, frame, loader, name, world.timestamp)

    world.after(seconds, lambda: void(dialogs.when_free(frame, tell)))


def void(_done: object) -> None:
    """Whether it was done at once does not matter."""


def _tell_all(world: World, frame: Frame, loader: str, name: str) -> None:
    for session in filter(_asked, tuple(frame.target.sessions)):
        _tell(world, session, frame, loader, name, world.timestamp)


def _asked(session: Session) -> bool:
    return ASKED in session.domains and "Page" in session.domains


def _tell(world: World, session: Session, frame: Frame, loader: str, name: str, at: float) -> None:
    params = {"frameId": frame.id, "loaderId": loader, "name": name, "timestamp": at}
    world.emit(session, "Page.lifecycleEvent", params, frame)
