"""The true state of a fake browser, whatever its clients were sent: what each law compares with.

A thing has the script's label if the script names it, else its id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from cdp_core.testing.fake.model.parts import Dialog, Frame, Session, Target
from cdp_core.testing.fake.player import Player
from cdp_core.testing.fake.world import World


@attrs.frozen(kw_only=True)
class TrueFrame:
    """A frame that exists."""

    id: str
    label: str | None
    parent: str | None
    target: str
    """The target that reports it on its sessions."""
    url: str
    out_of_process: bool
    silent: bool
    """Its renderer is stopped by a dialog or a request, or crashed: no command to it is answered."""
    context: str
    """The unique id of the execution context that its scripts run in; empty while it has none."""


@attrs.frozen(kw_only=True)
class TrueDialog:
    """A dialog, open or closed."""

    number: int
    page: str
    frame: str
    type: str
    message: str
    open: bool
    answerable: bool
    accepted: bool | None
    closed_by: int | None
    """The client that closed it by its answer; None if something else did."""
    seen_by: tuple[tuple[int, str], ...]
    """The open sessions that received its opening event, each after its client; a page's own link is ''."""
    missed_by: tuple[tuple[int, str], ...]
    """The sessions that had resumed the page before, and did not have Page enabled yet."""
    left: bool
    """Its document is no longer shown, or will be left as soon as its renderer process goes on."""


@attrs.frozen(kw_only=True)
class TruePause:
    """A request that a client holds in Fetch."""

    client: int
    session: str | None
    request_id: str
    frame: str
    url: str
    answered: bool
    """Whether it is held at the response stage."""


@attrs.frozen(kw_only=True)
class TrueWorker:
    """A worker that exists."""

    id: str
    label: str | None
    type: str
    url: str
    frame: str | None
    """The frame that a dedicated worker belongs to."""
    started: bool
    """Whether its script has run; it has not while a session pauses it."""


@attrs.frozen(kw_only=True)
class Truth:
    """The true state of a fake browser at one moment."""

    pages: tuple[str, ...]
    targets: tuple[tuple[str, str, str], ...]
    """Id, type and URL."""
    frames: tuple[TrueFrame, ...]
    dialogs: tuple[TrueDialog, ...]
    sessions: tuple[tuple[int, str, str], ...]
    """Client, session and target."""
    paused_requests: tuple[TruePause, ...]
    """In the order of pausing, for each session."""
    blocked: tuple[tuple[str, int], ...]
    """The targets with a renderer that a dialog or a request stops, and the number of commands that wait there."""
    crashed: tuple[str, ...]
    """The targets that crashed and were not reloaded since."""
    workers: tuple[TrueWorker, ...] = ()
    discarded: tuple[str, ...] = ()
    """The pages without a renderer process: their tabs were discarded, and no navigation followed."""
    in_advance: tuple[tuple[str, str], ...] = ()
    """The prerendered pages, each after the page that it is for."""


def truth_of(world: World, player: Player) -> Truth:
    return Truth(
        pages=tuple(page.id for page in world.pages()),
        targets=tuple((each.id, each.type, each.url) for each in world.targets.values()),
        frames=tuple(_frame(frame, player) for frame in world.frames.values()),
        dialogs=tuple(map(_dialog, world.dialogs)),
        sessions=tuple(
            (client.number, session.id, session.target.id)
            for client in world.clients
            if client.connected
            for session in client.sessions.values()
            if session.id is not None and session.target is not None
        ),
        paused_requests=tuple(_pauses(world)),
        blocked=tuple(
            (target.id, len(target.renderer.parked)) for target in world.targets.values() if target.renderer.stopped
        ),
        crashed=tuple(target.id for target in world.targets.values() if target.crashed),
        workers=tuple(_worker(each, player) for each in world.workers.values() if each.id in world.targets),
        discarded=tuple(page.id for page in world.pages() if page.renderer.absent and page.tab is not None),
        in_advance=tuple((each.prerender_of.id, each.id) for each in world.pages() if each.prerender_of is not None),
    )


def _frame(frame: Frame, player: Player) -> TrueFrame:
    return TrueFrame(
        id=frame.id,
        label=player.label_of(frame),
        parent=None if frame.parent is None else frame.parent.id,
        target=frame.target.id,
        url=frame.url,
        out_of_process=frame.parent is not None and frame.target is not frame.parent.target,
        silent=frame.renderer.stopped or frame.target.crashed,
        context=frame.context_unique if frame.context else "",
    )


def _worker(target: Target, player: Player) -> TrueWorker:
    return TrueWorker(
        id=target.id,
        label=next((label for label, each in player.workers.items() if each is target), None),
        type=target.type,
        url=target.url,
        frame=None if target.parent_frame is None else target.parent_frame.id,
        started=target.loaded,
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
        seen_by=_named(dialog.seen_by),
        missed_by=_named(dialog.missed_by),
        left=dialog.unreachable or dialog.frame.left or dialog.frame.document != dialog.document,
    )


def _pauses(world: World) -> Iterator[TruePause]:
    for client in world.clients:
        for session in client.sessions.values() if client.connected else ():
            held = {} if session.interceptor is None else session.interceptor.paused
            for name, pause in held.items():
                resource = pause.request.resource
                yield TruePause(
                    client=client.number,
                    session=session.id,
                    request_id=name,
                    frame=resource.frame.id,
                    url=resource.url,
                    answered=pause.response is not None,
                )


def _named(sessions: Iterable[Session]) -> tuple[tuple[int, str], ...]:
    return tuple(sorted((each.client.number, each.id or "") for each in sessions))
