"""Targets: how they appear, and how they end, with the sessions on them (`sessions.py`).

Clients easily get these wrong, so they are exact here:

* `targetCreated` comes before the reply to `createTarget` (fact 47);
* the commands of a session that ends, or of a target that crashes, are never answered (facts 49, 55);
* a popup that can reach its opener waits for `runIfWaitingForDebugger` of every browser-level auto-attach, even of one
  that did not ask to wait, and so does its opener (fact 7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from cdp_core.testing.fake.model import dialogs, fetching, sessions, tabs, unloading, windows
from cdp_core.testing.fake.model.parts import Context, Frame, Session, Target, set_renderer
from cdp_core.testing.fake.world import World

# ── appearing ────────────────────────────────────────────────────────────────────────────────────────────────────────


def create_page(
    world: World,
    context: Context,
    url: str,
    *,
    opener: Frame | None = None,
    can_access_opener: bool = False,
    behind: bool = False,
) -> Target:
    """Create a page with an empty document, in front of the others unless it is to be `behind`.

    A popup that may reach its opener shares the opener's process.
    """
    renderer = opener.renderer if opener is not None and can_access_opener else world.new_renderer()
    tab = tabs.new_tab(world, context)
    sessions.emit_created(world, tab)
    watching: list[Session] = []
    for root in world.roots():
        wanted = root.auto_attach
        if wanted is not None and sessions.filter_allows(wanted.filter, "tab"):
            session = sessions.attach(world, tab, root, auto_attached=True, waiting=wanted.wait)
            watching += [] if sessions.filter_allows(wanted.filter, "page") else [session]
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
    if can_access_opener and opener is not None:
        target.renderers = opener.target.page.renderers
    if can_access_opener:
        target.held.update(watching)
    world.add_target(target)
    world.frames[target.id] = target.frame
    sessions.emit_created(world, target)
    for root in world.roots():
        wanted = root.auto_attach
        if wanted is not None and sessions.filter_allows(wanted.filter, "page"):
            waits = can_access_opener or (wanted.wait and (opener is not None or url == "about:blank"))
            sessions.attach(world, target, root, auto_attached=True, waiting=wanted.wait, holds=waits)
    if not behind:
        windows.bring(world, target)
    return target


def create_prerender(world: World, target: Target, watching: Iterable[Session]) -> None:
    """Create a prerendered page, and attach the sessions that watch its tab."""
    world.add_target(target)
    sessions.emit_created(world, target)
    sessions.auto_attach_new(world, target, watching)


def replace_page(world: World, old: Target, new: Target) -> None:
    """Put a page, in a tab of its own, in place of another page, which goes."""
    assert new.frame is not None
    tab = tabs.new_tab(world, new.context, instead=old.tab)
    sessions.emit_created(world, tab)
    for root in tuple(world.roots()):
        wanted = root.auto_attach
        if wanted is not None and sessions.filter_allows(wanted.filter, "tab"):
            sessions.attach(world, tab, root, auto_attached=True, waiting=wanted.wait)
    new.tab, tab.tab_of = tab, new
    world.add_target(new)
    world.frames[new.id] = new.frame
    sessions.emit_created(world, new)
    sessions.auto_attach_new(world, new, world.roots())


def create_related(world: World, target: Target, parent: Target) -> None:
    """Create an iframe's target; attach the parent's sessions that watched before it navigated."""
    world.add_target(target)
    sessions.emit_created(world, target)
    begun = 0 if target.frame is None else target.frame.started_at
    watching = [(each, each.auto_attach) for each in parent.sessions]
    sessions.auto_attach_new(
        world, target, [each for each, wanted in watching if wanted is not None and wanted.since < begun]
    )


def create_worker(world: World, target: Target, watching: Iterable[Session]) -> None:
    """Create a worker's target, and attach the sessions that watch where it comes from."""
    world.add_target(target)
    sessions.emit_created(world, target)
    if target.scope is not None:
        target.url = target.scope.url
        target.title = target.title or (target.url if target.type == "worker" else "")
    sessions.auto_attach_new(world, target, watching)


def script_loaded(world: World, target: Target) -> None:
    """Report that the script of a worker has run for the first time."""
    target.loaded = True
    for session in tuple(target.sessions):
        world.emit(session, "Inspector.workerScriptLoaded", {}, target)


# ── ending ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def close(
    world: World, target: Target, *, demoted: bool = False, before_end: Callable[[], None] = lambda: None
) -> None:
    """Close a target, with its dialogs, its sessions and their unanswered commands.

    For a frame that came back into the process of its parent (`demoted`) the end of the sessions is reported first.
    `before_end` is called before the end of the sessions, and after the end of the process.
    """
    if target.closed:
        return
    _end_document(world, target, demoted=demoted)
    _take_down(world, target, demoted=demoted, before_end=before_end)


def close_together(world: World, pages: Sequence[Target]) -> None:
    """Close the pages of a context: report the end of every process, then end the last page first."""
    ending = [each for each in pages if not each.closed]
    for each in ending:
        _end_document(world, each)
    for each in reversed(ending):
        _take_down(world, each)


def _end_document(world: World, target: Target, *, demoted: bool = False) -> None:
    shared = len(target.renderer.targets) > 1 or any(
        _shares_renderer(each, target) for each in world.page_independent.values()
    )
    _close_related(world, target)
    target.closed = True
    fetching.cancel_requests(world, target)
    world.remove_worker(target)
    if target.type == "page" and world.profile != "headless-shell":
        dialogs.close_all(world, target)
    else:
        dialogs.drop_dialogs(target)
    if not demoted:
        _emit_end(world, target, shared=shared)


def _take_down(
    world: World, target: Target, *, demoted: bool = False, before_end: Callable[[], None] = lambda: None
) -> None:
    before_end()
    ending = [each for each in target.child_targets.values() if each.type == "worker"]
    for worker in ending:
        _end_with_renderer(world, worker)
    _leave_service_workers(world, target)
    _end_sessions(world, target, demoted=demoted)
    _destroy(world, target)
    for frame in [] if target.frame is None else [*target.frame.subtree()]:
        world.frames.pop(frame.id, None)
    if target.prerender is not None and target.prerender.id in world.targets:
        close(world, target.prerender)
    if target.tab is not None:
        _close_tab(world, target.tab)
    for worker in ending:
        _destroy(world, worker)
    world.on_documents_left((), False)


def _destroy(world: World, target: Target) -> None:
    sessions.emit_to_discoverers(world, target, "targetDestroyed", {"targetId": target.id})
    world.remove_target(target)


def _end_with_renderer(world: World, worker: Target) -> None:
    """End the sessions of a worker that ends with its process; the caller destroys its target later."""
    worker.closed = True
    world.remove_worker(worker)
    left = {**worker.info(), "attached": False}
    ending = tuple(worker.sessions)
    for session in ending:
        sessions.detach(world, session)
    if worker.type == "shared_worker":
        del left["browserContextId"]  # the process that would supply it is gone
    if ending:
        sessions.emit_to_discoverers(world, worker, "targetInfoChanged", {"targetInfo": left})


def close_worker(world: World, worker: Target, *, ended: bool = True) -> None:
    """Close a shared worker or a service worker.

    With `ended`, the end of its process is reported before the end of its sessions.
    """
    for session in tuple(worker.sessions) if ended else ():
        world.emit(session, "Inspector.targetCrashed", {}, worker)
    _end_with_renderer(world, worker)
    _destroy(world, worker)


def _leave_service_workers(world: World, target: Target) -> None:
    """Detach the sessions on service workers that were opened through this target."""
    for session in tuple(target.sessions):
        watching = [each for each in session.children if each.target is not None and each.target.id in world.workers]
        for each in watching:
            sessions.detach(world, each)


def _end_sessions(world: World, target: Target, *, demoted: bool) -> None:
    left = {"targetInfo": {**target.info(), "attached": False}}
    if target.renderer.absent or target.renderer.empty:
        left["targetInfo"]["type"] = "page" if target.subtype else "other"
    ending = tuple(target.sessions)
    for session in ending:
        if session is ending[-1] and not demoted:
            sessions.emit_to_discoverers(world, target, "targetInfoChanged", left)
        if session.open and session.parent is None:
            sessions.end_socket(world, target, session)
        elif session.open:
            sessions.detach(world, session)
    if ending and demoted:
        sessions.emit_to_discoverers(world, target, "targetInfoChanged", left)


def _close_tab(world: World, tab: Target) -> None:
    left = {"targetInfo": tabs.end_tab(world, tab)}
    if tab.sessions:
        sessions.emit_to_discoverers(world, tab, "targetInfoChanged", left)
    for session in tuple(tab.sessions):
        sessions.detach(world, session)
    sessions.emit_to_discoverers(world, tab, "targetDestroyed", {"targetId": tab.id})


def _close_related(world: World, target: Target) -> None:
    for related in [*target.child_targets.values()]:
        if related.type == "worker":
            continue
        gone = {"frameId": related.id, "reason": "remove"}
        world.emit_to(target, "Page", "Page.frameDetached", gone, related.frame)
        close(world, related)


def _emit_end(world: World, target: Target, *, shared: bool) -> None:
    """Report to a page's sessions that its process ended, if it had not ended before.

    A session needs no domain for this event. A process that other targets share goes on, or ends too late to be
    reported.
    """
    if target.frame is not None:
        target.frame.ended(None)
    silent = target.crashed or target.renderer.absent or target.subtype
    has_listeners = target.type == "page" and not silent and unloading.has_listeners(target)
    if has_listeners:
        unloading.run_unload_listeners(target)
    if has_listeners and not target.history.cached:
        return  # its process exits on its own
    if target.type == "page" and not silent and world.profile != "headless-shell":
        if shared:
            return
        for session in tuple(target.sessions):
            world.emit(session, "Inspector.detached", {"reason": "Render process gone."}, target)


def disconnect(world: World, target: Target) -> None:
    """End a target that another one replaces; no event reports it as destroyed."""
    target.closed = True
    for related in [*target.child_targets.values()]:
        close(world, related)
    if target.sessions:
        left = {**target.info(), "title": "", "url": "", "attached": False, "subtype": "disconnected"}
        del left["browserContextId"]
        for session in tuple(target.sessions):
            sessions.detach(world, session)
        sessions.emit_to_discoverers(world, target, "targetInfoChanged", {"targetInfo": left})
    fetching.cancel_requests(world, target)
    world.remove_target(target)
    for frame in [] if target.frame is None else [*target.frame.subtree()]:
        world.frames.pop(frame.id, None)


def _shares_renderer(worker: Target, page: Target) -> bool:
    """Return whether a shared or service worker lives in the page's process, which then goes on."""
    uses = any(frame.target is page and frame.document == document for frame, document in worker.users)
    return uses or (worker.type == "service_worker" and sessions.is_of_origin(worker, page))


def cache_worker(world: World, worker: Target) -> None:
    """End the sessions of a dedicated worker; it is kept together with its document."""
    for session in tuple(worker.sessions):
        if session is worker.sessions[-1]:
            sessions.emit_to_discoverers(
                world, worker, "targetInfoChanged", {"targetInfo": {**worker.info(), "attached": False}}
            )
        sessions.detach(world, session, already_reported=True)


def cache_target(world: World, target: Target) -> None:
    """End the sessions of a target, since its document may be restored; the target stays (fact 43)."""
    if world.profile == "headless-shell":
        dialogs.drop_dialogs(target)
    dialogs.close_all(world, target)
    for session in tuple(target.sessions):
        if session.open:
            sessions.detach(world, session)
    for related in [*target.child_targets.values()]:
        cache_target(world, related)


def crash(world: World, target: Target) -> None:
    """Crash the renderer: sessions stay, and no command on them is answered (fact 49).

    The targets out of process below it go first: their frames are reported as removed, and they and workers as
    destroyed.
    """
    inside = [*target.child_targets.values()]
    for each in (target, *inside):
        each.crashed = True
    # This comes before its dialogs close: a closed dialog would let its scripts go on.
    paused_steps = [act for each in (target, *inside) for act in dialogs.lose_renderer(each)]
    if target.type == "page":
        dialogs.close_all(world, target)  # a frame's dialog stays; an answer has no effect
        target.renderer.dialog = None
    fetching.cancel_requests(world, target)
    target.history.lose(target.renderer)
    for each in inside:
        frame = each.frame
        if frame is not None and frame.parent is not None and frame in frame.parent.children:
            world.emit_to(target, "Page", "Page.frameDetached", {"frameId": frame.id, "reason": "remove"}, frame)
            frame.parent.children.remove(frame)
        close(world, each)
    _emit_crash(world, target)
    for other in [each for each in target.renderer.targets if not (each.crashed or each.closed)]:
        crash(world, other)  # it died with the same process
    for act in paused_steps:
        world.soon(act)


def _emit_crash(world: World, target: Target) -> None:
    for session in tuple(target.sessions):
        session.saw_crash = True
        world.emit(session, "Inspector.targetCrashed", {}, target)
    left = () if target.frame is None else target.frame.subtree()
    world.on_documents_left([(frame, frame.document) for frame in left], False)
    if target.prerender is not None and target.prerender.id in world.targets:
        close(world, target.prerender)
    code = 5 if target.type == "page" else 0
    sessions.emit_to_discoverers(
        world, target, "targetCrashed", {"targetId": target.id, "status": "crashed", "errorCode": code}
    )
    if target.type == "iframe":
        target.url = target.title = ""


def revive(world: World, target: Target) -> None:
    """Give a crashed page that navigates a new process; its commands are refused only now (fact 49)."""
    if not target.crashed:
        return
    target.crashed = False
    set_renderer(target, world.new_renderer())
    if target.frame is not None:
        target.frame.renderer = target.renderer
    target.renderer.revived = True
    break_off(world, target, "Target crashed", target_died=True)
    for session in tuple(target.sessions):
        if session.saw_crash:  # a session that was attached later gets no event
            session.saw_crash = False
            world.emit(session, "Inspector.targetReloadedAfterCrash", {}, target)


ENDED_BY_NAVIGATION = frozenset(
    f"Runtime.{name}" for name in ("awaitPromise", "callFunctionOn", "evaluate", "runScript")
)
"""A navigation ends these; other commands are sent to the process of the next document."""


def break_off(world: World, target: Target, why: str, *, target_died: bool = False) -> None:
    """Refuse the commands that the renderer will never answer (fact 55)."""
    for session in tuple(target.sessions):
        for command_id, method in tuple(session.in_flight.items()):
            if method in ENDED_BY_NAVIGATION or (method and target_died):
                world.reply(session, command_id, method, {"error": {"code": -32000, "message": why}})
