"""Sessions on targets: target events, auto-attach, and how a session ends.

Clients easily get these wrong, so they are exact here:

* `attachedToTarget` comes before the reply that names the session (fact 47);
* the end of a session is one event; sessions below it end without any (facts 9, 50).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.model import dialogs, fetching, tabs, windows
from cdp_core.testing.fake.model.addresses import origin_of
from cdp_core.testing.fake.model.contexts import document_url
from cdp_core.testing.fake.model.parts import AutoAttach, Session, Target
from cdp_core.testing.fake.world import World, order_keys

BROWSER_TARGET_TYPES = ("page", "shared_worker", "service_worker")
"""The types that the browser's own session attaches to, apart from tabs."""
ALL_BUT_TABS: tuple[Json, ...] = ({"type": "browser", "exclude": True}, {"type": "tab", "exclude": True}, {})
"""The filter of a client that passes none."""


def at_once(act: Callable[[], None]) -> None:
    act()


def filter_allows(chosen: Iterable[Json], kind: str) -> bool:
    """Return whether a filter lets a type of target through: its first entry that fits decides."""
    for entry in chosen:
        if entry.get("type") in (None, kind):
            return not entry.get("exclude")
    return False


# ── target events ─────────────────────────────────────────────────────────────────────────────────────────────────────


def emit_created(world: World, target: Target) -> None:
    emit_to_discoverers(world, target, "targetCreated", {"targetInfo": target.info()})


def emit_info_changed(world: World, target: Target) -> None:
    """Report a target's new info to sessions that discover it or auto-attached to it (fact 40)."""
    parents = [session.parent for session in target.sessions if session.parent is not None]
    pages = [each for each in parents if each.auto_attach and each.target is not None and each.target.type != "tab"]
    discoverers = (session for session in world.discoverers if filter_allows(session.discovers, target.type))
    for session in dict.fromkeys((*pages, *discoverers)):
        world.emit(session, "Target.targetInfoChanged", {"targetInfo": target.info()}, target)


def set_title(world: World, target: Target, title: str) -> None:
    if target.title != title and not target.closed:
        target.title = title
        emit_info_changed(world, target)


def discover(world: World, session: Session, chosen: Iterable[Json] = ALL_BUT_TABS) -> None:
    """Report every target that the filter lets through, now and later; a second call does nothing."""
    if session in world.discoverers:
        return
    session.discovers = tuple(chosen)
    world.discoverers.append(session)
    for target in (*world.tabs.values(), *world.targets.values()):
        if filter_allows(session.discovers, target.type):
            world.emit(session, "Target.targetCreated", {"targetInfo": target.info()}, target)
    if filter_allows(session.discovers, "browser"):
        for root in world.roots():
            info = tabs.browser_info(world, root)
            world.emit(session, "Target.targetCreated", {"targetInfo": info})


def emit_to_discoverers(world: World, target: Target, event: str, params: Json) -> None:
    for session in world.discoverers:
        if filter_allows(session.discovers, target.type):
            world.emit(session, f"Target.{event}", params, target)


# ── attaching ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def attach(
    world: World,
    target: Target,
    parent: Session,
    *,
    auto_attached: bool = False,
    waiting: bool = False,
    holds: bool = False,
    existing: bool = False,
    flat: bool | None = None,
) -> Session:
    """Open a session on a target through another session, `parent`.

    Without `flat` the session is flat if its parent is.
    """
    session = Session(parent.client, world.ids.new("session"), target, parent, auto_attached=auto_attached)
    session.flat = parent.flat if flat is None else flat
    session.blocker_at_attach = target.renderer.stopped_by
    assert session.id is not None
    parent.client.sessions[session.id] = session
    parent.children[session] = None
    first = not target.sessions
    target.sessions.append(session)
    if holds:
        session.held = True
        target.held.add(session)
    if first:
        emit_to_discoverers(world, target, "targetInfoChanged", {"targetInfo": target.info()})
    params = {"sessionId": session.id, "targetInfo": target.info(), "waitingForDebugger": waiting}
    # An attach that a command asks for does not wait for the renderer that the command goes to.
    line = order_keys(session.id)[0]
    world.emit(parent, "Target.attachedToTarget", params, target, line, at_once=auto_attached and existing)
    if target.loaded:
        world.emit(session, "Inspector.workerScriptLoaded", {}, target)
    return session


def attach_to_browser(world: World, parent: Session) -> Session:
    """Open a further session on the browser, which is then a target of its own."""
    session = Session(parent.client, world.ids.new("session"), None, parent, browser_id=world.ids.uuid("connection"))
    assert session.id is not None
    parent.client.sessions[session.id] = session
    parent.children[session] = None
    parent.client.browser_sessions.append(session)
    info = tabs.browser_info(world, session)
    params = {"sessionId": session.id, "targetInfo": info, "waitingForDebugger": False}
    world.emit(parent, "Target.attachedToTarget", params, order_keys(session.id)[0])
    return session


def auto_attach_new(world: World, target: Target, watching: Iterable[Session]) -> None:
    """Let these sessions auto-attach to a new target that their filters let through."""
    for session in tuple(watching):
        wanted = session.auto_attach
        if wanted is not None and filter_allows(wanted.filter, target.type):
            attach(world, target, session, auto_attached=True, waiting=wanted.wait, holds=wanted.wait)


def auto_attach_late(world: World, parent: Target, begun: int) -> None:
    """Attach the sessions that asked for auto-attach while a frame was on its way to its document.

    They attach when the document has come.
    """
    for session in tuple(parent.sessions):
        if session.auto_attach is not None and session.auto_attach.since > begun:
            auto_attach_existing(world, session, only="iframe")


def auto_attach_existing(world: World, session: Session, *, only: str = "") -> None:
    """Attach to existing targets, of one type or of all, as `setAutoAttach` does before its reply.

    All sessions of a target do this together: another session gets back the targets that it had detached from.
    """
    sessions_of_target = [session] if session.target is None else session.target.sessions
    for each in tuple(sessions_of_target):
        if each.auto_attach is not None:
            _attach_existing(world, each, each.auto_attach, only)


def _attach_existing(world: World, session: Session, wanted: AutoAttach, only: str) -> None:
    attached = {each.target for each in session.children if each.auto_attached}
    for target in sorted(_related(world, session), key=lambda each: each.number):
        fits = only in ("", target.type) and filter_allows(wanted.filter, target.type)
        if fits and target not in attached and not is_cached(world, target):
            tabs.wait_for_page_session(
                target, session, attach(world, target, session, auto_attached=True, existing=not only)
            )


def _related(world: World, session: Session) -> list[Target]:
    """Return the targets that a session auto-attaches to, before its filter is applied."""
    target = session.target
    if target is None:
        found = [each for each in world.targets.values() if not each.subtype]
        return [*world.tabs.values(), *(each for each in found if each.type in BROWSER_TARGET_TYPES)]
    if target.type == "tab":
        shown = target.tab_of
        return [each for each in (shown, shown and shown.prerender) if each is not None and each.id in world.targets]
    page_independent = world.page_independent.values()
    served = [each for each in page_independent if each.type == "service_worker" and is_of_origin(each, target)]
    return [*target.child_targets.values(), *served]


def is_of_origin(worker: Target, target: Target) -> bool:
    """Return whether a session on a page sees a service worker: the origin decides, not the scope."""
    frames = () if target.frame is None else target.frame.subtree()
    origins = (origin_of(document_url(frame)) for frame in frames if frame.target is target)
    attached = worker.context is target.context and not worker.crashed
    return attached and worker.scope is not None and worker.scope.origin in origins


def is_cached(world: World, target: Target) -> bool:
    """Return whether a target belongs to a document that was left and may be restored (fact 43).

    Such a target exists, but no session can find it.
    """
    if target.type == "worker" and target.parent_frame is not None:
        maker = target.parent_frame
        return maker.document != target.owner_document or maker.id not in world.frames
    return target.frame is not None and target.frame.id not in world.frames


# ── resuming and detaching ────────────────────────────────────────────────────────────────────────────────────────────


def run(target: Target, session: Session, do: Callable[[Callable[[], None]], None] = at_once) -> None:
    """Resume a target for one session; it runs when every session that holds it has resumed it."""
    target.held.discard(session)
    target.held = {each for each in target.held if each.open}
    if not target.held:
        waiting, target.when_run = target.when_run, []
        for act in waiting:
            do(act)


def detach(world: World, session: Session, *, emit_event: bool = True, already_reported: bool = False) -> None:
    """End a session, and without an event those below it.

    With `already_reported` it was reported before that no session is attached any more.
    """
    target = session.target
    ending = list(_with_descendants(session))
    for each in ending:
        each.auto_attach = None  # a script that goes on because of this creates targets: these sessions must not attach
    for each in ending:
        _end(world, each)
        each.client.ended[str(each.id)] = str(session.id)
    parent = session.parent
    assert parent is not None
    if emit_event:
        params = {"sessionId": session.id, "targetId": session.browser_id if target is None else target.id}
        # The sessions below send nothing after this event either, although no event reports their end.
        lines = [line for each in ending for line in (*order_keys(each.id), ("replies", each.id))]
        world.emit(parent, "Target.detachedFromTarget", params, target, *lines)
    for each in reversed(ending):
        left = each.target
        if left is not None and not left.sessions and not left.closed and not (already_reported and each is session):
            emit_info_changed(world, left)
    for each in ending:
        for held in () if each.target is None else (each.target, each.target.tab_of or each.target):
            if not held.can_access_opener:  # a popup that stops its opener goes on waiting, for any session
                run(held, each, world.soon)


def _with_descendants(session: Session) -> Iterable[Session]:
    yield session
    for other in tuple(session.children):
        if other.open:
            yield from _with_descendants(other)


def _end(world: World, session: Session) -> None:
    if not session.open:
        return  # it ended with its page, which closed when the parent's end dismissed a dialog (fact 24)
    session.open = False
    fetching.leave(world, session)
    session.in_flight.clear()
    session.client.sessions.pop(session.id, None)
    if session.parent is not None:
        session.parent.children.pop(session, None)
    if session.browser_id:
        session.client.browser_sessions.remove(session)
    if session.target is not None:
        session.target.sessions.remove(session)
    if session in world.discoverers:
        world.discoverers.remove(session)
    if session.target is not None:
        windows.give_up(world, session.target, session)
    dialogs.leave(world, session)  # the last step: it no longer sees a dialog that this raises


def end_socket(world: World, target: Target, session: Session) -> None:
    """End a page's own socket, which closes with the page (fact 51), after `Inspector.detached`."""
    world.emit(session, "Inspector.detached", {"reason": "target_closed"}, target)
    for each in list(_with_descendants(session)):
        _end(world, each)
    session.client.end()
