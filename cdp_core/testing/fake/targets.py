"""Targets and the sessions on them: how they appear, are attached to, and end.

What is easily wrong in a client, and therefore exact here:

* `attachedToTarget` comes before the reply that names the session, `targetCreated` before that of `createTarget` (fact 47);
* the end of a session is one event; sessions below it end without any (facts 9, 50);
* the commands of a session that ends, or of a target that crashes, are never answered (facts 49, 55);
* a popup that can reach its opener waits for `runIfWaitingForDebugger` of every browser-level auto-attach, even of one that did not ask to wait, and
  so does its opener (fact 7).
"""

from __future__ import annotations

from collections.abc import Iterable

from cdp_core.sansio.wire import Json
from cdp_core.testing.fake import dialogs
from cdp_core.testing.fake.world import Context, Frame, Session, Target, World

__all__ = [
    "ALL_BUT_TABS",
    "attach",
    "auto_attach_existing",
    "break_off",
    "changed",
    "close",
    "crash",
    "create_page",
    "create_related",
    "detach",
    "discover",
    "matches",
    "retitled",
    "revive",
    "run",
    "shelve",
]

ALL_BUT_TABS: tuple[Json, ...] = ({"type": "browser", "exclude": True}, {"type": "tab", "exclude": True}, {})
"""The filter of who gives none."""


def matches(chosen: Iterable[Json], kind: str) -> bool:
    """Whether a filter lets a type of target through: its first entry that fits decides."""
    for entry in chosen:
        if entry.get("type") in (None, kind):
            return not entry.get("exclude")
    return False


# ── appearing ────────────────────────────────────────────────────────────────────────────────────────────────────────


def create_page(
    world: World, context: Context, url: str, *, opener: Frame | None = None, can_access_opener: bool = False
) -> Target:
    """A page with an empty document; a popup shares its opener's process where it may reach the opener."""
    renderer = opener.renderer if opener is not None and can_access_opener else world.new_renderer()
    target = Target(
        world.ids.new("target"),
        "page",
        context,
        renderer,
        url=url,
        opener=opener,
        can_access_opener=can_access_opener,
    )
    target.frame = Frame(target.id, target, None, renderer)
    world.targets[target.id] = target
    world.frames[target.id] = target.frame
    _announce(world, target)
    for root in world.roots():
        wanted = root.auto_attach
        if wanted is not None and matches(wanted.filter, "page"):
            waits = can_access_opener or (wanted.wait and (opener is not None or url == "about:blank"))
            attach(world, target, root, automatic=True, waiting=wanted.wait, holds=waits)
    return target


def create_related(world: World, target: Target, parent: Target) -> None:
    """An iframe or a worker of another target: told to those who watch that one."""
    world.targets[target.id] = target
    _announce(world, target)
    for session in tuple(parent.sessions):
        wanted = session.auto_attach
        if wanted is not None and matches(wanted.filter, target.type):
            attach(world, target, session, automatic=True, waiting=wanted.wait, holds=wanted.wait)


def _announce(world: World, target: Target) -> None:
    _tell_discoverers(world, target, "targetCreated", {"targetInfo": target.info()})


def changed(world: World, target: Target) -> None:
    """Tell what is new about a target, to those who discover and to pages that auto-attached to it (fact 40)."""
    parents = [session.parent for session in target.sessions if session.parent is not None]
    pages = [parent for parent in parents if parent.auto_attach and parent.target is not None]
    for session in dict.fromkeys((*pages, *world.discoverers)):
        world.emit(session, "Target.targetInfoChanged", {"targetInfo": target.info()}, target)


def retitled(world: World, target: Target, title: str) -> None:
    """Its document has a title now."""
    if target.title != title and not target.closed:
        target.title = title
        changed(world, target)


def discover(world: World, session: Session) -> None:
    """From now on the session hears of every target; once."""
    if session in world.discoverers:
        return
    world.discoverers.append(session)
    for target in world.targets.values():
        world.emit(session, "Target.targetCreated", {"targetInfo": target.info()}, target)


# ── sessions ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def attach(
    world: World,
    target: Target,
    parent: Session,
    *,
    automatic: bool = False,
    waiting: bool = False,
    holds: bool = False,
) -> Session:
    """A new session on a target, opened on another session."""
    session = Session(parent.client, world.ids.new("session"), target, parent, automatic=automatic)
    assert session.id is not None
    parent.client.sessions[session.id] = session
    first = not target.sessions
    target.sessions.append(session)
    if holds:
        target.held.add(session)
    if first:
        _tell_discoverers(world, target, "targetInfoChanged", {"targetInfo": target.info()})
    params = {"sessionId": session.id, "targetInfo": target.info(), "waitingForDebugger": waiting}
    world.emit(parent, "Target.attachedToTarget", params, target, ("session", session.id))
    return session


def auto_attach_existing(world: World, session: Session) -> None:
    """Attach to what is there already, as `setAutoAttach` does before it answers."""
    wanted = session.auto_attach
    assert wanted is not None
    for target in tuple(world.targets.values()):
        if target.frame is not None and target.frame.id not in world.frames:
            continue  # of a document that was left, and may be come back to (fact 43)
        if session.target is None:
            related = target.type in ("page", "shared_worker", "service_worker")
        else:
            related = target.parent_frame is not None and target.parent_frame.target is session.target
        attached = any(each.parent is session and each.automatic for each in target.sessions)
        if related and not attached and matches(wanted.filter, target.type):
            attach(world, target, session, automatic=True)


def run(target: Target, session: Session) -> None:
    """A session lets its target run; it does when all have that hold it."""
    target.held.discard(session)
    if not target.held:
        waiting, target.when_run = target.when_run, []
        for act in waiting:
            act()


def detach(world: World, session: Session, *, told: bool = True) -> None:
    """End a session and, without a word, those below it."""
    target = session.target
    assert target is not None
    ending = list(_with_descendants(session))
    for each in ending:
        _end(world, each)
    parent = session.parent
    assert parent is not None
    if told:
        params = {"sessionId": session.id, "targetId": target.id}
        # Nothing is said any more on those below either, though nothing is said of their end.
        world.emit(parent, "Target.detachedFromTarget", params, target, *(("session", each.id) for each in ending))
    if not target.sessions and not target.closed:
        changed(world, target)
    for each in ending:
        assert each.target is not None
        run(each.target, each)


def _with_descendants(session: Session) -> Iterable[Session]:
    yield session
    for other in tuple(session.client.sessions.values()):
        if other.parent is session and other.open:
            yield from _with_descendants(other)


def _end(world: World, session: Session) -> None:
    assert session.target is not None
    dialogs.leave(world, session)
    session.open = False
    session.in_flight.clear()
    session.client.sessions.pop(session.id, None)
    session.target.sessions.remove(session)
    if session in world.discoverers:
        world.discoverers.remove(session)


def _end_socket(world: World, target: Target, session: Session) -> None:
    """A page's own socket dies with the page (fact 51), and says so first."""
    world.emit(session, "Inspector.detached", {"reason": "target_closed"}, target)
    for each in list(_with_descendants(session)):
        _end(world, each)
    session.client.end()


# ── ending ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def close(world: World, target: Target, *, demoted: bool = False) -> None:
    """The target is gone, with its dialogs, its sessions and whatever they still waited for.

    Of a frame that came back into the process above (`demoted`) the end of the sessions is told first.
    """
    if target.closed:
        return
    for related in _related(world, target):
        close(world, related)
    target.closed = True
    if target.type == "page":
        dialogs.close_all(world, target)
    else:
        dialogs.vanish(target)
    left = {"targetInfo": {**target.info(), "attached": False}} if target.sessions else None
    if left is not None and not demoted:
        _tell_end(world, target)
        _tell_discoverers(world, target, "targetInfoChanged", left)
    for session in tuple(target.sessions):
        if session.open and session.parent is None:
            _end_socket(world, target, session)
        elif session.open:
            detach(world, session)
    if left is not None and demoted:
        _tell_discoverers(world, target, "targetInfoChanged", left)
    _tell_discoverers(world, target, "targetDestroyed", {"targetId": target.id})
    world.targets.pop(target.id, None)
    for frame in [] if target.frame is None else [*target.frame.subtree()]:
        world.frames.pop(frame.id, None)


def _related(world: World, target: Target) -> list[Target]:
    """The iframes and workers that frames of the target made."""
    made = ((each, each.parent_frame) for each in world.targets.values())
    return [each for each, parent in made if parent is not None and parent.target is target]


def _tell_end(world: World, target: Target) -> None:
    """Sessions of a page are told of the end of its process, if it had not ended before; they need no domain for it."""
    if target.type == "page" and not target.crashed:
        for session in tuple(target.sessions):
            world.emit(session, "Inspector.detached", {"reason": "Render process gone."}, target)


def shelve(world: World, target: Target) -> None:
    """The document it was in may be come back to: its sessions end, the target stays (fact 43)."""
    for related in _related(world, target):
        shelve(world, related)
    dialogs.close_all(world, target)
    for session in tuple(target.sessions):
        if session.open:
            detach(world, session)


def crash(world: World, target: Target) -> None:
    """The renderer died: sessions stay, and nothing that they asked or ask is answered (fact 49)."""
    target.crashed = True
    dialogs.close_all(world, target)
    for session in tuple(target.sessions):
        world.emit(session, "Inspector.targetCrashed", {}, target)
    _tell_discoverers(world, target, "targetCrashed", {"targetId": target.id, "status": "crashed", "errorCode": 5})


def revive(world: World, target: Target) -> None:
    """A crashed page is to show a document again: only now its sessions hear of what they asked (fact 49)."""
    if not target.crashed:
        return
    target.crashed = False
    break_off(world, target, "Target crashed", target_died=True)
    for session in tuple(target.sessions):
        world.emit(session, "Inspector.targetReloadedAfterCrash", {}, target)


OUTLIVE_A_DOCUMENT = frozenset(("Runtime.runIfWaitingForDebugger", "Target.setAutoAttach"))
"""The first is what lets the other document come."""


def break_off(world: World, target: Target, why: str, *, target_died: bool = False) -> None:
    """What the renderer was to answer it never will (fact 55)."""
    for session in tuple(target.sessions):
        for command_id, method in tuple(session.in_flight.items()):
            if method and (target_died or method not in OUTLIVE_A_DOCUMENT):
                world.reply(session, command_id, method, {"error": {"code": -32000, "message": why}})


def _tell_discoverers(world: World, target: Target, event: str, params: Json) -> None:
    for session in world.discoverers:
        world.emit(session, f"Target.{event}", params, target)
