"""The frames of a page, folded from the events of all its sessions.

A frame keeps its id for life (docs/cdp/a-frame-keeps-its-id-across-processes.md). Several sessions report one tree,
and their messages overtake each other (fact 38), so these rules hold for every order of the events:

* One session reports a frame: the frame's own session if it is out of process, else the session of its parent's
  process. Reports from other sessions are stale and ignored.
* A navigation does not report the frames that it removes: all descendants are dropped, except those that the new
  document already has (docs/cdp/navigation-removes-child-frames-without-framedetached.md).
* A frame is removed when its own session ends: if it only moved back to its parent's process (demotion), an event
  adds it again, and if it was removed, no event comes (facts 39, 42). If its session ended because another session or
  the link ended, the frame stays adrift until a session attaches to it again or its target is known to be gone. A
  frame of a document that its page has left may be kept with that document (fact 43). No event reports that, only the
  page's tree.
* `Page.getFrameTree` returns the frames that a session really has. It is sent at attach, when a document came back
  from the back/forward cache (docs/cdp/a-document-from-the-back-forward-cache-reports-no-frames.md), and after a
  crash (facts 41, 49). A frame that the session reported and the tree does not contain is gone.
* A frame may be reported before its parent; it is shown once the parent is known.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from immutables import Map

from cdp_core.sansio import load_state
from cdp_core.sansio.load_state import LoadState
from cdp_core.sansio.messages import Json, SessionId
from cdp_core.sansio.structs import replace
from cdp_supervisor.sansio import changes, dialogs, freeing
from cdp_supervisor.sansio.event_params import (
    ContextCreatedParams,
    ContextDestroyedParams,
    FrameAttachedParams,
    FrameDetachedParams,
    FrameInfo,
    FrameNavigatedParams,
    NavigatedWithinDocumentParams,
    member,
    members,
    read_frame,
    text,
)
from cdp_supervisor.sansio.state import Attachment, ExecutionContext, Frame, Page
from cdp_supervisor.sansio.transition import Transition

CLEARING: Final = "BackForwardCacheRestore"
NONE: Final[Map[str, None]] = Map()
NO_WORLDS: Final[Map[str, str]] = Map()
MOST_WORLDS: Final = 64
"""Named worlds of one frame that are kept; each client makes its own, a page can make none."""


# ── events of a session ──────────────────────────────────────────────────────────────────────────────────────────────


def attached(transition: Transition, page: Page, session_id: SessionId, params: FrameAttachedParams) -> None:
    """Add the frame of a `Page.frameAttached`, or move a known one back to its parent's process."""
    frame_id = params.frame_id
    known = page.frames.get(frame_id)
    if not frame_id or frame_id == page.id or (known is not None and reported_by_other(transition, known, session_id)):
        return
    if known is None:
        _add(transition, page, frame_id, params.parent_frame_id or None, session_id)
    else:
        put(transition, page, replace(known, session_id=session_id, oopif=False, reported=False))


def detached(transition: Transition, page: Page, session_id: SessionId, params: FrameDetachedParams) -> None:
    """Remove the frame of a `Page.frameDetached`; keep it on a `swap`, which moves it to its own process."""
    frame = page.frames.get(params.frame_id)
    if frame is None:
        return
    if params.reason != "swap":
        _drop(transition, page, [frame.id, *_below(page, frame.id)], "frame_gone")
        return
    gone = [each for each in _below(page, frame.id) if page.frames[each].session_id == session_id]
    page = _drop(transition, page, gone, "frame_gone")
    if frame.session_id == session_id:  # its own session has not opened yet, and no tree of another session contains it
        put(transition, page, replace(frame, session_id=None, oopif=True, reported=False))
        transition.set_adrift(frame.id, page.id)


def navigated(transition: Transition, page: Page, session_id: SessionId, params: FrameNavigatedParams) -> bool:
    """Apply a `Page.frameNavigated`; return True if the frame tree of the session must be read again."""
    info = params.frame
    frame_id = info.id
    known = page.frames.get(frame_id)
    if not frame_id or (known is not None and reported_by_other(transition, known, session_id)):
        return False
    restored = params.type == CLEARING
    below = _below(page, frame_id)
    if restored:  # frames with sessions of their own were attached just before (fact 43)
        below = [each for each in below if not reported_by_other(transition, page.frames[each], session_id)]
    page = _drop(transition, page, below, "navigation")
    if known is None:
        page = _add(transition, page, frame_id, info.parent_id or None, session_id)
        known = page.frames.get(frame_id)
        if known is None:
            return restored
    load = load_state.committed(known.load, info.loader_id, restored=restored)
    page = put(transition, page, _with_document(known, session_id, info, load))
    if page.dialogs:
        dialogs.frame_gone(transition, page, [frame_id], "navigation")
    transition.publish(changes.FrameNavigated(frame_id=frame_id, target_id=page.id))
    if frame_id == page.id:
        current = transition.current(page)
        transition.put_page(
            replace(current, url=current.frames[frame_id].url, crashed=None, pending_url="", fragile=None)
        )
    return restored


def navigated_within(
    transition: Transition, page: Page, session_id: SessionId, params: NavigatedWithinDocumentParams
) -> None:
    frame = page.frames.get(params.frame_id)
    if frame is None or reported_by_other(transition, frame, session_id):
        return
    frame = replace(frame, url=params.url, reported=True)
    page = put(transition, page, frame)
    if frame.id == page.id:
        transition.put_page(replace(page, url=frame.url))


def context_created(transition: Transition, page: Page, session_id: SessionId, params: ContextCreatedParams) -> None:
    """Record a context of a frame, default or of a named world; the frame may be reported later."""
    about, context = params.context.aux_data, params.context.unique_id
    world = "" if about.is_default else params.context.name
    if not context or not (about.is_default or world):
        return
    frame = page.frames.get(about.frame_id)
    if frame is not None and reported_by_other(transition, frame, session_id):
        return
    worlds = page.early_contexts.get(about.frame_id, NO_WORLDS) if frame is None else frame.worlds
    if frame is None and not worlds and len(page.early_contexts) >= transition.state.limits.frames_kept:
        return
    if world not in worlds and len(worlds) >= MOST_WORLDS:
        worlds = Map({each: known for each, known in worlds.items() if known in page.contexts})
        if world and len(worlds) >= MOST_WORLDS:
            return
    made = ExecutionContext(session_id=session_id, clearings_before=page.context_clearings.get(session_id, 0))
    contexts = _without(page.contexts, worlds.get(world, "")).set(context, made)
    worlds = worlds.set(world, context)
    if frame is None:
        early = page.early_contexts.set(about.frame_id, worlds)
        transition.put_page(replace(page, early_contexts=early, contexts=contexts))
    else:
        frames = page.frames.set(frame.id, replace(frame, worlds=worlds))
        transition.put_page(replace(page, frames=frames, contexts=contexts))


def context_destroyed(
    transition: Transition, page: Page, _session_id: SessionId, params: ContextDestroyedParams
) -> None:
    """Remove the execution context of a `Runtime.executionContextDestroyed`, which names no frame."""
    if params.execution_context_unique_id in page.contexts:
        transition.put_page(replace(page, contexts=page.contexts.delete(params.execution_context_unique_id)))


def contexts_cleared(transition: Transition, page: Page, session_id: SessionId) -> None:
    """End all execution contexts of a session.

    A counter per session does it: a page may have thousands of frames to loop over.
    """
    clearings = page.context_clearings.set(session_id, page.context_clearings.get(session_id, 0) + 1)
    transition.put_page(replace(_without_early(page, session_id), context_clearings=clearings))


def session_forgotten(transition: Transition, page: Page, session_id: SessionId) -> Page:
    """Drop the execution contexts of a session that has ended."""
    left = _without_early(page, session_id)
    if session_id in page.context_clearings:
        left = replace(left, context_clearings=page.context_clearings.delete(session_id))
    return page if left is page else transition.put_page(left)


def context_of(page: Page, frame: Frame, world: str = "") -> str:
    """Return the unique id of a frame's execution context; empty if none is known or it has ended.

    A navigation does not end a context, only its own end does
    (docs/cdp/the-first-document-of-a-frame-keeps-its-execution-context.md).
    """
    context = frame.worlds.get(world, "")
    made = page.contexts.get(context)
    if (
        made is None
        or made.session_id != frame.session_id
        or made.clearings_before != page.context_clearings.get(made.session_id, 0)
    ):
        return ""
    return context


def _without_early(page: Page, session_id: SessionId) -> Page:
    if not page.early_contexts:
        return page
    early, contexts = page.early_contexts, page.contexts
    for frame_id, worlds in page.early_contexts.items():
        for world, context in worlds.items():
            made = contexts.get(context)
            if made is None or made.session_id == session_id:
                left = early[frame_id].delete(world)
                early = early.set(frame_id, left) if left else early.delete(frame_id)
                contexts = _without(contexts, context)
    return replace(page, early_contexts=early, contexts=contexts)


def _without(contexts: Map[str, ExecutionContext], context: str) -> Map[str, ExecutionContext]:
    return contexts.delete(context) if context in contexts else contexts


# ── targets and sessions ─────────────────────────────────────────────────────────────────────────────────────────────


def attached_as_oopif(transition: Transition, page: Page, attachment: Attachment, info: Json) -> None:
    """Assign a frame to its own new session: it is out of process."""
    frame_id = str(attachment.target_id)
    known = page.frames.get(frame_id)
    parent_id = text(info, "parentFrameId") or text(info, "parentId") or None
    if known is None:
        page = _add(transition, page, frame_id, parent_id, attachment.session_id)
        known = page.frames.get(frame_id)
        if known is None:
            return
    url = text(info, "url", transition.state.limits.text_kept)
    frame = replace(known, session_id=attachment.session_id, oopif=True, reported=False)
    put(transition, page, replace(frame, url=url) if url else frame)


def target_changed(transition: Transition, page: Page, frame_id: str, info: Json) -> None:
    """Take a frame's URL from its target info: the only report if its first events were missed (fact 40)."""
    frame = page.frames.get(frame_id)
    url = text(info, "url", transition.state.limits.text_kept)
    if frame is not None and url and not frame.reported and frame.url != url:
        put(transition, page, replace(frame, url=url))


def session_ended(transition: Transition, page: Page, attachment: Attachment, successor: SessionId | None) -> None:
    """Remove a frame at the end of its own session, or assign it to another session on its target."""
    frame = page.frames.get(str(attachment.target_id))
    if frame is None or frame.session_id != attachment.session_id:
        return
    if successor is None:
        _drop(transition, page, [frame.id, *_below(page, frame.id)], "frame_gone")
    else:
        put(transition, page, replace(frame, session_id=successor))


def gone(transition: Transition, page: Page, frame_id: str) -> None:
    """Remove a frame at the end of its target, unless another session reports it after a process change."""
    frame = page.frames.get(frame_id)
    if frame is not None and frame.session_id not in transition.state.sessions:
        _drop(transition, page, [frame.id, *_below(page, frame.id)], "frame_gone")


def read_tree(transition: Transition, page: Page, attachment: Attachment, result: Json) -> None:
    """Apply the result of `Page.getFrameTree` of one session: the frames that its process really has."""
    session_id = attachment.session_id
    found: dict[str, tuple[str | None, FrameInfo]] = {}
    most = transition.state.limits.text_kept
    root = member(result, "frameTree")
    stack: list[tuple[Json, str | None]] = [(root, None)]
    while stack:
        node, parent_id = stack.pop()
        info = read_frame(member(node, "frame"), most)
        frame_id = info.id
        if frame_id and frame_id not in found:
            found[frame_id] = (info.parent_id or parent_id, info)
            stack.extend((child, frame_id) for child in reversed(members(node, "childFrames")))
    if text(member(root, "frame"), "id") != attachment.target_id:
        return
    page = _drop(transition, page, _missing_from_tree(transition, page, attachment, found), "frame_gone")
    if attachment.target_id == page.id:
        left = _kept_from_old_document(transition, page, found[page.id][1].loader_id)
        page = _drop(transition, page, [each for each in left if each not in found], "navigation")
    for frame_id, (parent_id, info) in found.items():
        known = page.frames.get(frame_id)
        if known is None:
            page = _add(transition, page, frame_id, parent_id, session_id)
            known = page.frames.get(frame_id)
        if known is not None and not reported_by_other(transition, known, session_id):
            load = load_state.listed(known.load, info.loader_id)
            page = put(transition, page, _with_document(known, session_id, info, load))
    if page.id in found and attachment.target_id == page.id:
        transition.put_page(
            replace(page, url=page.frames[page.id].url if page.id in page.frames else page.url, stale=False)
        )


# ── the tree ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _add(transition: Transition, page: Page, frame_id: str, parent_id: str | None, session_id: SessionId) -> Page:
    """Add a frame to its page, unless the page has too many."""
    limits = transition.state.limits
    if len(page.frames) >= limits.frames_kept:
        return transition.put_page(replace(page, left_out=page.left_out + 1))
    if frame_id == page.id:
        parent_id = None
    number = page.last_frame + 1
    worlds, early = NO_WORLDS, page.early_contexts
    if frame_id in early:
        worlds, early = early[frame_id], early.delete(frame_id)
    load = page.early_load if frame_id == page.id else LoadState()
    frame = Frame(id=frame_id, number=number, parent_id=parent_id, session_id=session_id, worlds=worlds, load=load)
    children = page.children
    if parent_id is not None:
        children = children.set(parent_id, children.get(parent_id, NONE).set(frame_id, None))
    transition.publish(changes.FrameAdded(frame_id=frame_id, target_id=page.id, parent_id=parent_id))
    frames = page.frames.set(frame_id, frame)
    return transition.put_page(replace(page, frames=frames, children=children, last_frame=number, early_contexts=early))


def _missing_from_tree(transition: Transition, page: Page, attachment: Attachment, found: Container[str]) -> list[str]:
    """Return the known frames that a session's tree should contain and does not.

    A tree never contains frames with a process of their own (fact 41).
    """
    own = {str(attachment.target_id)}
    stack = [*own]
    while stack:
        below = [each for each in page.children.get(stack.pop(), ()) if each in page.frames and each not in own]
        inside = [each for each in below if not page.frames[each].oopif]
        own.update(inside)
        stack += inside
    hanging = frozenset(_below(page, page.id)) if attachment.target_id == page.id else page.frames
    missing = [
        frame.id
        for frame in page.frames.values()
        if frame.id not in found
        and frame.id != page.id
        and not frame.oopif
        and not reported_by_other(transition, frame, attachment.session_id)
        and (frame.id in own or frame.session_id == attachment.session_id or frame.id not in hanging)
    ]
    below = [each for frame_id in missing for each in _below(page, frame_id)]
    return missing + [
        each for each in below if not reported_by_other(transition, page.frames[each], attachment.session_id)
    ]


def _kept_from_old_document(transition: Transition, page: Page, loader: str) -> list[str]:
    """Return the frames without a session that belong to an earlier document of the page."""
    main = page.frames.get(page.id)
    if main is None or main.load.loader in ("", loader):
        return []
    return [each for each in _below(page, page.id) if page.frames[each].session_id not in transition.state.sessions]


def _drop(transition: Transition, page: Page, frame_ids: list[str], reason: str) -> Page:
    if not frame_ids:
        return page
    if page.dialogs and reason == "frame_gone" and _was_asking(transition, page, frame_ids):
        page = freeing.make_fragile(transition, page)
    frames, children, contexts = page.frames, page.children, page.contexts
    dropped: list[str] = []
    for frame_id in frame_ids:
        frame = frames.get(frame_id)
        if frame is None:
            continue
        frames = frames.delete(frame_id)
        for context in frame.worlds.values():
            contexts = _without(contexts, context)
        dropped.append(frame_id)
        siblings = None if frame.parent_id is None else children.get(frame.parent_id)
        if siblings is not None and frame.parent_id is not None and frame_id in siblings:
            left = siblings.delete(frame_id)
            children = children.set(frame.parent_id, left) if left else children.delete(frame.parent_id)
    page = transition.put_page(replace(page, frames=frames, children=children, contexts=contexts))
    for frame_id in dropped:
        transition.publish(changes.FrameRemoved(frame_id=frame_id, target_id=page.id))
    if not page.dialogs:
        return page
    dialogs.frame_gone(transition, page, dropped, reason if reason != "navigation" else "frame_gone")
    return transition.current(page)


def _was_asking(transition: Transition, page: Page, frame_ids: list[str]) -> bool:
    """True if a dialog with a window is open on one of these frames, which are out of process (fact 63)."""
    return any(
        dialog.native
        and dialog.via == "native"
        and dialog.phase != "closed"
        and dialog.frame_id in frame_ids
        and transition.process_of(page, dialog.frame_id) != page.session_id
        for dialog in page.dialogs
    )


def put(transition: Transition, page: Page, frame: Frame) -> Page:
    """Put a changed frame into its page."""
    return transition.put_page(replace(page, frames=page.frames.set(frame.id, frame)))


def _with_document(frame: Frame, session_id: SessionId, info: FrameInfo, load: LoadState) -> Frame:
    return replace(
        frame,
        session_id=session_id,
        url=info.url + info.url_fragment,
        name=info.name or frame.name,
        origin=info.security_origin,
        reported=True,
        load=load,
    )


def _below(page: Page, frame_id: str) -> list[str]:
    """Return all descendants of a frame, children before their parents."""
    found: list[str] = []
    stack = [frame_id] if frame_id in page.children else []
    while stack:
        below = [each for each in page.children.get(stack.pop(), ()) if each in page.frames]
        found += below
        stack += below
    found.reverse()
    return found


def reported_by_other(transition: Transition, frame: Frame, session_id: SessionId) -> bool:
    """True if another session reports this frame: what this one says of it is stale."""
    return frame.session_id != session_id and frame.session_id in transition.state.sessions
