"""What is really so in a fake browser, whatever its clients were told: the other side of every law.

Things are named by the script's own labels where it has one, else by their ids.
"""

from __future__ import annotations

import attrs

from cdp_core.testing.fake.player import Player
from cdp_core.testing.fake.world import Dialog, Frame, World

__all__ = ["TrueDialog", "TrueFrame", "Truth", "truth_of"]


@attrs.frozen(kw_only=True)
class TrueFrame:
    """A frame that exists."""

    id: str
    label: str | None
    parent: str | None
    url: str
    out_of_process: bool
    silent: bool
    """Its renderer is stopped by a dialog, or crashed: nobody can ask it anything."""


@attrs.frozen(kw_only=True)
class TrueDialog:
    """A dialog, open or not."""

    number: int
    page: str
    frame: str
    type: str
    message: str
    open: bool
    answerable: bool
    accepted: bool | None
    closed_by: int | None
    """The client whose answer closed it; None where it was something else."""


@attrs.frozen(kw_only=True)
class Truth:
    """All of it."""

    pages: tuple[str, ...]
    frames: tuple[TrueFrame, ...]
    dialogs: tuple[TrueDialog, ...]
    sessions: tuple[tuple[int, str, str], ...]
    """Client, session, target."""
    blocked: tuple[tuple[str, int], ...]
    """Targets whose renderer a dialog stops, with how many commands wait there."""
    crashed: tuple[str, ...]
    """Targets whose renderer has died, and that were not reloaded."""


def truth_of(world: World, player: Player) -> Truth:
    """Take it down."""
    return Truth(
        pages=tuple(page.id for page in world.pages()),
        frames=tuple(_frame(frame, player) for frame in world.frames.values()),
        dialogs=tuple(map(_dialog, world.dialogs)),
        sessions=tuple(
            (client.number, session.id, session.target.id)
            for client in world.clients
            if client.connected
            for session in client.sessions.values()
            if session.id is not None and session.target is not None
        ),
        blocked=tuple(
            (target.id, len(target.renderer.parked))
            for target in world.targets.values()
            if target.renderer.dialog is not None
        ),
        crashed=tuple(target.id for target in world.targets.values() if target.crashed),
    )


def _frame(frame: Frame, player: Player) -> TrueFrame:
    return TrueFrame(
        id=frame.id,
        label=player.label_of(frame),
        parent=None if frame.parent is None else frame.parent.id,
        url=frame.url,
        out_of_process=frame.parent is not None and frame.target is not frame.parent.target,
        silent=frame.renderer.dialog is not None or frame.target.crashed,
    )


def _dialog(dialog: Dialog) -> TrueDialog:
    return TrueDialog(
        number=dialog.number,
        page=dialog.page.id,
        frame=dialog.frame.id,
        type=dialog.type,
        message=dialog.message,
        open=dialog.open,
        answerable=dialog.open and bool(dialog.seen_by) and not dialog.superseded and not dialog.unreachable,
        accepted=dialog.accepted,
        closed_by=None if dialog.closed_by is None else dialog.closed_by.number,
    )
