"""Frames: adding them, navigating them and removing them.

The events of one frame have a fixed order (fact 38); those of different frames have not, so every event here is sent
with its own frame as the only subject. The first `Page.frameNavigated` of a child frame out of process is lost unless
a session paused its target at the start (fact 40).

A navigation begins, gets its response, and is committed after that (`World.soon`). `commits.py` commits it,
`swaps.py` moves a frame to another renderer process, `leaving.py` handles what the previous document leaves behind,
and `loading.py` loads the new document.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from cdp_core.testing.fake.model import contexts, dialogs, fetching, sessions, targets, unloading
from cdp_core.testing.fake.model.addresses import failure_of, is_within, site_of, title_of
from cdp_core.testing.fake.model.fetching import ResourceRequest, ResourceResponse
from cdp_core.testing.fake.model.frame_shapes import described
from cdp_core.testing.fake.model.history import Entry
from cdp_core.testing.fake.model.parts import Frame, Load, Target
from cdp_core.testing.fake.navigation import cache, commits, leaving, lifecycle, loading, moves
from cdp_core.testing.fake.navigation.loading import Loaded
from cdp_core.testing.fake.navigation.navigations import (
    RELOADS,
    Navigation,
    emit_cleared,
    emit_requested,
    emit_scheduled,
    emit_started,
    emit_started_by_script,
    failure_by,
    has_no_script,
    is_same_renderer_request,
    referrer_of,
    type_of,
)
from cdp_core.testing.fake.world import ERROR_PAGE, World

NOT_LOADED: Final = ("javascript:", "blob:")
"""URL schemes that give a script no document: `javascript:` is a script itself, and the fake models no `blob:` content.

A script cannot navigate a page to a `data:` URL either.
"""

# ── navigating a frame ───────────────────────────────────────────────────────────────────────────────────────────────


def navigate_by_script(
    world: World,
    frame: Frame,
    url: str,
    loaded: Loaded,
    go_on: Callable[[], None],
    *,
    reason: str = "scriptInitiated",
    replace_entry: bool = False,
    by_itself: bool = False,
) -> None:
    """Navigate a frame by a script, of the frame itself (`by_itself`) or of its parent.

    `go_on` continues the script once the navigation has begun or was cancelled.
    """
    own = is_same_renderer_request(frame, by_itself=by_itself)
    if own and (url.startswith(NOT_LOADED) or (frame.parent is None and url.startswith("data:"))):
        emit_scheduled(world, frame, url, reason)
        emit_cleared(world, frame)
        go_on()
        return
    if reason == "scriptInitiated" and is_within(frame.url, url):
        if own:
            moves.go_within(world, frame, url, reason, replace_entry=replace_entry)
        else:
            moves.go_within_from_above(world, frame, url, reason)
        go_on()
        return
    begin_at = partial(
        navigate,
        world,
        frame,
        url,
        loaded,
        reason=reason,
        kind="reload" if reason == "reload" else "differentDocument",
        replace_entry=replace_entry,
    )
    if not own:
        begin_at()
        go_on()
        return
    emit_requested(world, frame, url, reason, own=True)

    def begin() -> None:
        if frame.navigating and frame.browser_initiated:
            _ignore_script_navigation(world, frame)
        else:
            begin_at(scheduled=True)
        go_on()

    def stay() -> None:
        emit_cleared(world, frame)
        go_on()

    unloading.ask(world, frame, begin, stay, at_once=True)


def _ignore_script_navigation(world: World, frame: Frame) -> None:
    """Ignore a script's navigation: a client's navigation of the frame has begun already.

    The only effect is that the current document stops loading.
    """
    emit_cleared(world, frame)
    if frame.load is not None:
        frame.load = None
        loading_on = {"frameId": frame.id}
        world.soon(partial(world.emit_to, frame.target, "Page", "Page.frameStartedLoading", loading_on, frame))


def navigate(
    world: World,
    frame: Frame,
    url: str,
    loaded: Loaded,
    *,
    reason: str = "",
    kind: str = "differentDocument",
    transition: str = "",
    entry: Entry | None = None,
    scheduled: bool = False,
    replace_entry: bool = False,
    started: Callable[[str, str | None], None] = lambda _loader, _failure: None,
) -> None:
    """Begin a navigation.

    It is committed after its response, when its target may run and nothing stops its renderer process. `started` gets
    the loaderId, and the failure if the navigation fails: the reply to a command precedes the effects of the
    navigation (fact 56) and follows the dialogs that it closes. `reason`: why a script asked for it; "" for a
    command. `entry`: the history entry that it goes to. `scheduled`: its request was reported already, and the
    beforeunload question is settled.
    """
    abort(world, frame)
    navigation = Navigation(
        frame,
        frame.target,
        url,
        world.ids.new("loader"),
        kind,
        transition or ("link" if reason else "typed"),
        replace_entry=replace_entry or (bool(reason) and frame.load is not None),
        entry=entry,
        by_script=bool(reason),
        new_entry=reason == "scriptInitiated" and not scheduled,
    )
    _begin(world, navigation, reason, scheduled=scheduled)
    on_started = started
    if kind in RELOADS or entry is not None:
        started(navigation.loader, None)
        on_started = _ignore_started
    asked = unloading.before_unload_dialog(frame.target.page)
    if frame.parent is None and any(each is not asked for each in frame.target.dialogs):
        _overtake(world, navigation)
    closed = frame.parent is None and dialogs.close_all(world, frame.target, but=asked)

    def stay() -> None:
        if frame.navigating == navigation.loader:
            abort(world, frame)
            _keep_document(world, frame, navigation.target)

    def leave() -> None:
        if frame.navigating == navigation.loader:
            _proceed(world, navigation, partial(_request, world, navigation, loaded, on_started))

    if closed or scheduled:
        leave()
    else:
        frame.ended = partial(on_started, "")  # a navigation that made no request reports no loaderId
        unloading.ask(world, frame, leave, stay)


def _overtake(world: World, navigation: Navigation) -> None:
    """Prepare for the dialogs that a navigation closes: the scripts that they stop will continue.

    The next document may be committed before the load of the current one ends; then that load is held back.
    """
    frame, url = navigation.frame, navigation.url
    if world.profile == "headless-shell":
        return
    if url == "about:blank":  # it is committed at once, before any script continues
        for each in frame.subtree():
            each.left = each.renderer is frame.renderer
    asked = ResourceRequest(url=url, kind="Document", frame=frame, target=navigation.target, referrer=frame.referrer)
    far = site_of(url) not in ("", site_of(frame.url)) and failure_of(url) is None
    if not (far or world.latency(url) or (url.startswith("http") and fetching.interceptors_for(world, asked))):
        loading.hold_back(frame)
        if frame.load is not None:
            near = url.startswith("http") and failure_of(url) is None
            frame.load.end_unreported = near and navigation.kind not in RELOADS


def _begin(world: World, navigation: Navigation, reason: str, *, scheduled: bool) -> None:
    frame = navigation.frame
    if frame.parent is None:
        targets.revive(world, frame.target)
    frame.navigating, frame.started_params, frame.browser_initiated = (
        navigation.loader,
        navigation.started_params,
        not reason,
    )
    world.logical_time += 1
    frame.started_at, frame.unload_confirmed = world.logical_time, False
    if navigation.kind not in RELOADS:
        frame.referrer = referrer_of(frame, reason)
    if reason and not scheduled:
        emit_requested(world, frame, navigation.url, reason, own=False)
    if reason:
        emit_started_by_script(world, navigation, own=scheduled)
    else:
        emit_started(world, navigation)
    leaving.wake(world, frame)


def _proceed(world: World, navigation: Navigation, request: Callable[[], None]) -> None:
    """Continue a navigation after the beforeunload question, as soon as its target may run."""
    navigation.frame.unload_confirmed = True
    if navigation.frame.target.held:
        navigation.frame.target.when_run.append(partial(world.soon, request))
    else:
        request()


def _request(
    world: World, navigation: Navigation, loaded: Loaded, on_started: Callable[[str, str | None], None]
) -> None:
    """Request the document: from Fetch interceptors, from a slow server, or at once."""
    frame, url, seconds = navigation.frame, navigation.url, world.latency(navigation.url)

    def answered(response: ResourceResponse) -> None:
        frame.ended = lambda _why: None
        on_started(navigation.loader, failure_by(response))
        world.soon(partial(_arrive, world, navigation, loaded, response))

    # The content of `about:srcdoc` is an attribute of the frame's element.
    failure = None if url == "about:srcdoc" and frame.parent is not None else failure_of(url)
    asked = ResourceRequest(url=url, kind="Document", frame=frame, target=navigation.target, referrer=frame.referrer)
    if url.startswith("http") and not _is_cached(navigation) and fetching.interceptors_for(world, asked):
        frame.ended = partial(on_started, navigation.loader)
        world.soon(partial(_ask, world, navigation, asked, answered))
    elif seconds and not _is_cached(navigation):
        frame.ended = partial(on_started, navigation.loader)
        world.after(seconds, partial(_finish_late, navigation, partial(answered, ResourceResponse(failure=failure))))
    else:
        answered(ResourceResponse(failure=failure))


def abort(world: World, frame: Frame) -> None:
    """Cancel the frame's navigation if it has no response yet, also if it is paused in Fetch."""
    fetching.drop(world, frame)
    ended, frame.ended = frame.ended, _ignore_end
    ended("net::ERR_ABORTED")


def give_up(world: World, frame: Frame) -> None:
    """Cancel the frame's navigation because a navigation within the document replaces it."""
    abort(world, frame)
    frame.navigating, frame.started_params = "", None
    _run_deferred(frame)


def _run_deferred(frame: Frame) -> None:
    if frame is frame.target.frame:
        dialogs.run_deferred(frame.target)


def stop(world: World, frame: Frame) -> None:
    """Cancel the navigations and unparsed loads of the frame and of all frames below it."""
    for each in [*frame.subtree()]:
        if each.started_params is not None:
            abort(world, each)
            _keep_document(world, each, each.target)
        elif each.load is not None and not each.load.parsed:
            each.load.stopped = True


def _ignore_end(_why: str | None) -> None:
    """Ignore the end of a navigation that no command waits for."""


def _ignore_started(_loader: str, _failure: str | None) -> None:
    """Ignore the start of a navigation: its command was answered before."""


def _finish_late(navigation: Navigation, answered: Callable[[], None]) -> None:
    if not navigation.target.closed and navigation.frame.navigating == navigation.loader:
        answered()


def _ask(
    world: World, navigation: Navigation, asked: ResourceRequest, answered: Callable[[ResourceResponse], None]
) -> None:
    if not navigation.target.closed and navigation.frame.navigating == navigation.loader:
        fetching.ask(world, asked, answered)


def _arrive(world: World, navigation: Navigation, loaded: Loaded, response: ResourceResponse) -> None:
    """Handle a navigation's response: commit the document unless the frame or the navigation is gone."""
    frame, url, failure = navigation.frame, navigation.url, failure_by(response)
    if navigation.target.closed or world.frames.get(frame.id) is not frame:
        return
    if frame.navigating != navigation.loader:
        if frame.next_document[0] == navigation.loader and not frame.renderer.stopped:
            frame.left, frame.next_document = False, ("", "")
            commits.commit(world, navigation, url, loaded)  # a later navigation replaces it at once
        return
    if failure == "net::ERR_ABORTED":
        _keep_document(world, frame, navigation.target)
        return
    if frame.parent is not None and frame.renderer.stopped:
        frame.left = frame is frame.target.frame and site_of(url) == site_of(frame.url)  # no more events of its script
        frame.renderer.parked.append(partial(_arrive, world, navigation, loaded, response))
        return
    if _is_cached(navigation):
        commits.restore(world, navigation)
        return
    if navigation.entry is not None and navigation.entry.cached_document is not None and frame.parent is None:
        cache.drop(world, frame.target, navigation.entry, "ConflictingBrowsingInstance")
    if frame.renderer.stopped_by is not None and site_of(url) == site_of(frame.url):
        dialogs.leave_document(frame.target)
        # The waiting script sends no more events, and still blocks the renderer process (fact 33).
        targets.break_off(world, frame.target, "Inspected target navigated or closed")
        frame.left, frame.next_document = True, (navigation.loader, url)
        frame.renderer.parked.insert(0, partial(_arrive, world, navigation, loaded, response))
        return
    frame.navigating, frame.started_params, frame.left, frame.next_document = "", None, False, ("", "")
    frame.unreachable = url if failure else ""
    frame.mime = "" if failure else type_of(response)
    if response.body is not None:
        loaded = has_no_script
    commits.commit(world, navigation, ERROR_PAGE if frame.unreachable else url, loaded)


def _is_cached(navigation: Navigation) -> bool:
    entry, here = navigation.entry, navigation.target.history.current
    if entry is None or entry.cached_document is None or navigation.frame.parent is not None:
        return False
    return here is not None and entry.browsing_instance != here.browsing_instance


def _keep_document(world: World, frame: Frame, target: Target) -> None:
    """End a navigation without a new document: the frame keeps the current one."""
    frame.navigating, frame.started_params = "", None
    world.emit_to(target, "Page", "Page.frameStoppedLoading", {"frameId": frame.id}, frame)
    _run_deferred(frame)
    loading.let_go(frame)
    if frame.parent is not None:
        world.soon(partial(loading.end, world, frame.parent))


def open_document(world: World, frame: Frame, url: str, loaded: Loaded) -> None:
    """Open a new page's first document, and load it as soon as the page may run.

    It is committed at once, unless its server is slow: then the page shows an empty document until the response.
    """
    target = frame.target
    if world.latency(url):
        navigate(world, frame, url, loaded, transition="auto_toplevel")
        return
    target.history.record_document(
        url, "typed" if world.profile == "headless-shell" else "auto_toplevel", replace_entry=False, swaps_instance=True
    )
    if url != "about:blank":
        frame.url, frame.loader = url, world.ids.new("loader")

    def load() -> None:
        if target.closed or frame.navigating or frame.url != url:
            return
        asked = ResourceRequest(url=url, kind="Document", frame=frame, target=target)
        if url.startswith("http") and fetching.interceptors_for(world, asked):
            fetching.ask(world, asked, answered)
        else:
            answered(ResourceResponse())

    def answered(response: ResourceResponse) -> None:
        if target.closed or frame.navigating or frame.url != url or failure_by(response) == "net::ERR_ABORTED":
            return
        world.new_document(frame)
        if failure_by(response) is None:
            sessions.set_title(world, target, title_of(url))
            contexts.run_scripts(world, frame)
            loading.begin(world, frame, loaded if response.body is None else has_no_script)
        else:
            frame.unreachable = url
            commits.show(world, frame, ERROR_PAGE, frame.loader, loaded, keep=False)

    if target.held:
        target.when_run.append(load)
    else:
        world.soon(load)


# ── adding and removing ──────────────────────────────────────────────────────────────────────────────────────────────


def add_frame(world: World, parent: Frame, url: str, name: str, loaded: Loaded) -> Frame:
    """Add an iframe element to a document by a script, and return its frame."""
    frame = Frame(world.ids.new("frame"), parent.target, parent, parent.renderer, name=name, src=url)
    parent.children.append(frame)
    world.frames[frame.id] = frame
    call = {"functionName": "", "scriptId": "3", "url": parent.url, "lineNumber": 0, "columnNumber": 8}
    attached = {"frameId": frame.id, "parentFrameId": parent.id, "stack": {"callFrames": [call]}}
    world.emit_to(parent.target, "Page", "Page.frameAttached", attached, frame)
    lifecycle.begin_empty(world, frame)
    if url == "about:blank":
        _show_empty(world, frame)
    elif url.startswith("javascript:"):
        frame.load = Load()
        world.soon(partial(_run_script, world, frame))
    elif not url.startswith(NOT_LOADED):
        navigate(world, frame, url, loaded, reason="initialFrameNavigation")
    return frame


def _run_script(world: World, frame: Frame) -> None:
    """Run a `javascript:` URL as the first document of a frame: the script runs in the empty document."""
    if world.frames.get(frame.id) is frame and frame.load is not None and frame.parent is not None:
        frame.load = None
        contexts.make(world, frame)
        loading.end(world, frame.parent)


def _show_empty(world: World, frame: Frame) -> None:
    """Commit and load the empty document of a new frame, all at once."""
    frame.loader = world.ids.new("loader")
    requested = {
        "frameId": frame.id,
        "reason": "initialFrameNavigation",
        "url": frame.url,
        "disposition": "currentTab",
    }
    world.emit_to(frame.target, "Page", "Page.frameRequestedNavigation", requested, frame)
    lifecycle.begin(world, frame, frame.loader)
    world.emit_to(
        frame.target, "Page", "Page.frameNavigated", {"frame": described(world, frame), "type": "Navigation"}, frame
    )
    world.emit_to(frame.target, "Page", "Page.frameStartedLoading", {"frameId": frame.id}, frame)
    contexts.make(world, frame)
    for name in (lifecycle.PARSED, "load"):
        lifecycle.reach(world, frame, name)
    world.emit_to(frame.target, "Page", "Page.frameStoppedLoading", {"frameId": frame.id}, frame)


def remove_frame(world: World, frame: Frame) -> None:
    """Remove an iframe element by a script.

    Child frames are reported first, and the session of an OOPIF ends after its `Page.frameDetached` (fact 38).
    """
    assert frame.parent is not None
    # This event is sent for the removed frame only, not for the frames below it.
    leaving_now = {"frameId": frame.id}
    world.emit_to(frame.parent.target, "Page", "Page.frameSubtreeWillBeDetached", leaving_now, frame)
    _detach(world, frame, frame.parent)


def _detach(world: World, frame: Frame, parent: Frame) -> None:
    for child in tuple(frame.children):
        if frame.target is parent.target:
            _detach(world, child, frame)
    left = leaving.drop_children(world, frame, for_good=True)  # no session is left to report frames below an OOPIF
    gone = [(each, each.document) for each in (frame, *left)]
    detached = {"frameId": frame.id, "reason": "remove"}
    world.emit_to(parent.target, "Page", "Page.frameDetached", detached, frame, *left)
    if frame.target is parent.target:
        leaving.end_contexts(world, frame.target, frame)
    parent.children.remove(frame)
    world.frames.pop(frame.id, None)
    own = leaving.own_target(world, frame)
    if own is not None:
        targets.close(world, own)
    world.on_documents_left(gone, False)
    world.soon(lambda: loading.end(world, parent))
