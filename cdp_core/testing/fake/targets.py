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
from cdp_core.testing.fake import dialogs, fetching, tabs
from cdp_core.testing.fake.parts import AutoAttach, Context, Frame, Session, Target
from cdp_core.testing.fake.world import World, lines_of

__all__ = [
    "ALL_BUT_TABS",
    "attach",
    "attach_to_browser",
    "auto_attach_existing",
    "break_off",
    "changed",
    "close",
    "crash",
    "create_page",
    "create_related",
    "detach",
    "discover",
    "is_shelved",
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
    tab = tabs.new_tab(world, context)
    _announce(world, tab)
    watching: list[Session] = []
    for root in world.roots():
        wanted = root.auto_attach
        if wanted is not None and matches(wanted.filter, "tab"):
            session = attach(world, tab, root, automatic=True, waiting=wanted.wait)
            watching += [] if matches(wanted.filter, "page") else [session]
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
    target.tab, tab.tab_of = tab, target
    if can_access_opener:
        target.held.update(watching)
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
    discoverers = (session for session in world.discoverers if matches(session.discovers, target.type))
    for session in dict.fromkeys((*pages, *discoverers)):
        world.emit(session, "Target.targetInfoChanged", {"targetInfo": target.info()}, target)


def retitled(world: World, target: Target, title: str) -> None:
    """Its document has a title now."""
    if target.title != title and not target.closed:
        target.title = title
        changed(world, target)


def discover(world: World, session: Session, chosen: Iterable[Json] = ALL_BUT_TABS) -> None:
    """From now on the session hears of every target that its filter lets through; once."""
    if session in world.discoverers:
        return
    session.discovers = tuple(chosen)
    world.discoverers.append(session)
    if matches(session.discovers, "browser"):
        for root in world.roots():
            info = tabs.browser_info(world, root)
            world.emit(session, "Target.targetCreated", {"targetInfo": info})
    for target in (*world.tabs.values(), *world.targets.values()):
        if matches(session.discovers, target.type):
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
    existing: bool = False,
) -> Session:
    """A new session on a target, opened on another session."""
    session = Session(parent.client, world.ids.new("session"), target, parent, automatic=automatic)
    assert session.id is not None
    parent.client.sessions[session.id] = session
    first = not target.sessions
    target.sessions.append(session)
    if holds:
        session.held = True
        target.held.add(session)
    if first:
        _tell_discoverers(world, target, "targetInfoChanged", {"targetInfo": target.info()})
    params = {"sessionId": session.id, "targetInfo": target.info(), "waitingForDebugger": waiting}
    # What a command attaches to at once does not wait for the renderer that the command goes to.
    line = lines_of(session.id)[0]
    world.emit(parent, "Target.attachedToTarget", params, target, line, at_once=automatic and existing)
    return session


def attach_to_browser(world: World, parent: Session) -> Session:
    """A further session of the browser, which is a target of its own then."""
    session = Session(parent.client, world.ids.new("session"), None, parent, browser_id=world.ids.uuid("connection"))
    assert session.id is not None
    parent.client.sessions[session.id] = session
    info = tabs.browser_info(world, session)
    params = {"sessionId": session.id, "targetInfo": info, "waitingForDebugger": False}
    world.emit(parent, "Target.attachedToTarget", params, lines_of(session.id)[0])
    return session


def auto_attach_existing(world: World, session: Session) -> None:
    """Attach to what is there already, as `setAutoAttach` does before it answers.

    All sessions of a target do that together: another one gets back what it had detached from.
    """
    together = [session] if session.target is None else session.target.sessions
    for each in tuple(together):
        if each.auto_attach is not None:
            _attach_existing(world, each, each.auto_attach)


def _attach_existing(world: World, session: Session, wanted: AutoAttach) -> None:
    for target in (*world.tabs.values(), *world.targets.values()):
        if is_shelved(world, target):
            continue
        if session.target is None:
            related = target.type in ("tab", "page", "shared_worker", "service_worker")
        elif session.target.type == "tab":
            related = target is session.target.tab_of
        else:
            related = target.parent_frame is not None and target.parent_frame.target is session.target
        attached = any(each.parent is session and each.automatic for each in target.sessions)
        if related and not attached and matches(wanted.filter, target.type):
            tabs.hand_over(target, session, attach(world, target, session, automatic=True, existing=True))


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
    ending = list(_with_descendants(session))
    for each in ending:
        _end(world, each)
        each.client.ended[str(each.id)] = str(session.id)
    parent = session.parent
    assert parent is not None
    if told:
        params = {"sessionId": session.id, "targetId": session.browser_id if target is None else target.id}
        # Nothing is said any more on those below either, though nothing is said of their end.
        lines = [line for each in ending for line in lines_of(each.id)]
        world.emit(parent, "Target.detachedFromTarget", params, target, *lines)
    if target is not None and not target.sessions and not target.closed:
        changed(world, target)
    for each in ending:
        for held in () if each.target is None else (each.target, each.target.tab_of or each.target):
            run(held, each)


def _with_descendants(session: Session) -> Iterable[Session]:
    yield session
    for other in tuple(session.client.sessions.values()):
        if other.parent is session and other.open:
            yield from _with_descendants(other)


def _end(world: World, session: Session) -> None:
    session.open = False
    fetching.leave(world, session)
    session.in_flight.clear()
    session.client.sessions.pop(session.id, None)
    if session.target is not None:
        session.target.sessions.remove(session)
    if session in world.discoverers:
        world.discoverers.remove(session)
    dialogs.leave(world, session)  # what is raised next it does not see any more


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
    _close_related(world, target)
    target.closed = True
    fetching.forget(world, target)
    if target.type == "page" and world.profile != "headless-shell":
        dialogs.close_all(world, target)
    else:
        dialogs.vanish(target)
    if not demoted:
        _tell_end(world, target)
    _end_sessions(world, target, demoted=demoted)
    _tell_discoverers(world, target, "targetDestroyed", {"targetId": target.id})
    world.targets.pop(target.id, None)
    for frame in [] if target.frame is None else [*target.frame.subtree()]:
        world.frames.pop(frame.id, None)
    if target.tab is not None:
        _close_tab(world, target.tab)


def _end_sessions(world: World, target: Target, *, demoted: bool) -> None:
    left = {"targetInfo": {**target.info(), "attached": False}}
    ending = tuple(target.sessions)
    for session in ending:
        if session is ending[-1] and not demoted:
            _tell_discoverers(world, target, "targetInfoChanged", left)
        if session.open and session.parent is None:
            _end_socket(world, target, session)
        elif session.open:
            detach(world, session)
    if ending and demoted:
        _tell_discoverers(world, target, "targetInfoChanged", left)


def _close_tab(world: World, tab: Target) -> None:
    left = {"targetInfo": tabs.end_tab(world, tab)}
    if tab.sessions:
        _tell_discoverers(world, tab, "targetInfoChanged", left)
    for session in tuple(tab.sessions):
        detach(world, session)
    _tell_discoverers(world, tab, "targetDestroyed", {"targetId": tab.id})


def _close_related(world: World, target: Target) -> None:
    for related in _related(world, target):
        if target.type == "page" and related.type == "iframe":
            gone = {"frameId": related.id, "reason": "remove"}
            world.emit_to(target, "Page", "Page.frameDetached", gone, related.frame)
        close(world, related)


def _related(world: World, target: Target) -> list[Target]:
    """The iframes and workers that frames of the target made."""
    made = ((each, each.parent_frame) for each in world.targets.values())
    return [each for each, parent in made if parent is not None and parent.target is target]


def _tell_end(world: World, target: Target) -> None:
    """Sessions of a page are told of the end of its process, if it had not ended before; they need no domain for it."""
    if target.frame is not None:
        target.frame.ended(None)
    if target.type == "page" and not target.crashed and world.profile != "headless-shell":
        for session in tuple(target.sessions):
            world.emit(session, "Inspector.detached", {"reason": "Render process gone."}, target)


def shelve(world: World, target: Target) -> None:
    """The document it was in may be come back to: its sessions end, the target stays (fact 43)."""
    for related in _related(world, target):
        shelve(world, related)
    if world.profile == "headless-shell":
        dialogs.vanish(target)
    dialogs.close_all(world, target)
    for session in tuple(target.sessions):
        if session.open:
            detach(world, session)


def crash(world: World, target: Target) -> None:
    """The renderer died: sessions stay, and nothing that they asked or ask is answered (fact 49).

    What it had out of process goes first: frames are told of as removed, and they and workers as gone.
    """
    inside = _related(world, target)
    for each in (target, *inside):
        each.crashed = True
    dialogs.close_all(world, target)
    dialogs.lose_renderer(target)
    fetching.forget(world, target)
    target.history.lose(target.renderer)
    for each in inside:
        frame = each.frame
        if frame is not None and frame.parent is not None and frame in frame.parent.children:
            world.emit_to(target, "Page", "Page.frameDetached", {"frameId": frame.id, "reason": "remove"}, frame)
            frame.parent.children.remove(frame)
        close(world, each)
    for session in tuple(target.sessions):
        world.emit(session, "Inspector.targetCrashed", {}, target)
    code = 5 if target.type == "page" else 0
    _tell_discoverers(world, target, "targetCrashed", {"targetId": target.id, "status": "crashed", "errorCode": code})
    if target.type == "iframe":
        target.url = target.title = ""


def is_shelved(world: World, target: Target) -> bool:
    """Whether it is of a document that was left, and may be come back to (fact 43): it is there, and not to be found."""
    return target.frame is not None and target.frame.id not in world.frames


def revive(world: World, target: Target) -> None:
    """A crashed page is to show a document again: only now its sessions hear of what they asked (fact 49)."""
    if not target.crashed:
        return
    target.crashed = False
    break_off(world, target, "Target crashed", target_died=True)
    for session in tuple(target.sessions):
        world.emit(session, "Inspector.targetReloadedAfterCrash", {}, target)


ENDED_BY_NAVIGATION = frozenset(
    f"Runtime.{name}" for name in ("awaitPromise", "callFunctionOn", "evaluate", "runScript")
)
"""The others are asked of the process of the next document."""


def break_off(world: World, target: Target, why: str, *, target_died: bool = False) -> None:
    """What the renderer was to answer it never will (fact 55)."""
    for session in tuple(target.sessions):
        for command_id, method in tuple(session.in_flight.items()):
            if method in ENDED_BY_NAVIGATION or (method and target_died):
                world.reply(session, command_id, method, {"error": {"code": -32000, "message": why}})


def _tell_discoverers(world: World, target: Target, event: str, params: Json) -> None:
    for session in world.discoverers:
        if matches(session.discovers, target.type):
            world.emit(session, f"Target.{event}", params, target)
