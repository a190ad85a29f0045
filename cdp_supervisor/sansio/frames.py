"""The frames of a page, folded from the events of all its sessions.

A frame keeps its id for life (docs/cdp/a-frame-keeps-its-id-across-processes.md). What its tree shows is told by several
sessions whose messages overtake each other (fact 38), so the rules are made to hold in every order that there may be:

* A frame is told of by one session: its own where it is out of process, else that of the process above. What another
  session says of it is older, and passed over.
* Navigation says nothing of the frames that it ends: all below are dropped, but what has come of the new document
  (docs/cdp/navigation-removes-child-frames-without-framedetached.md).
* A frame whose own session is ended is gone with it: it comes back by an event of its own where it only changed its
  process (demotion), and by nothing where it was removed (facts 39, 42). Where the session ended because of another one, or
  of the link, the frame stays, adrift, until it is attached to again, or its target is known to be gone. One of a document
  that its page has left meanwhile may be kept with it (fact 43), and nothing tells of that: its page's tree does.
* `Page.getFrameTree` says what a session really has: at attach, when a document came back from the back/forward cache
  (docs/cdp/a-document-from-the-back-forward-cache-reports-no-frames.md), after a crash (facts 41, 49). What it does not name, and that session told of, is gone.
* A frame may be told of before the one above it; it is shown when that one is known.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from immutables import Map

from cdp_core.sansio.messages import Json, SessionId, TargetId
from cdp_core.sansio.structs import replace
from cdp_supervisor.sansio import changes, dialogs
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


# ── events of a session ──────────────────────────────────────────────────────────────────────────────────────────────


def attached(transition: Transition, page: Page, session_id: SessionId, params: FrameAttachedParams) -> None:
    """`Page.frameAttached`: a frame is there, or has come back into the process above."""
    frame_id = params.frame_id
    known = page.frames.get(frame_id)
    if not frame_id or frame_id == page.id or (known is not None and _reported_by_other(transition, known, session_id)):
        return
    if known is None:
        _add(transition, page, frame_id, params.parent_frame_id or None, session_id)
    else:
        _put(transition, page, replace(known, session_id=session_id, oopif=False, reported=False))


def detached(transition: Transition, page: Page, session_id: SessionId, params: FrameDetachedParams) -> None:
    """`Page.frameDetached`: removed, or on its way into a process of its own."""
    frame = page.frames.get(params.frame_id)
    if frame is None:
        return
    if params.reason != "swap":
        _drop(transition, page, [frame.id, *_below(page, frame.id)], "frame_gone")
        return
    gone = [each for each in _below(page, frame.id) if page.frames[each].session_id == session_id]
    page = _drop(transition, page, gone, "frame_gone")
    if frame.session_id == session_id:  # it has not been attached to yet, and no tree above will name it
        _put(transition, page, replace(frame, session_id=None, oopif=True, reported=False))
        transition.set_adrift(frame.id, page.id)


def navigated(transition: Transition, page: Page, session_id: SessionId, params: FrameNavigatedParams) -> bool:
    """`Page.frameNavigated`. Whether the tree of the session has to be read anew."""
    shown = params.frame
    frame_id = shown.id
    known = page.frames.get(frame_id)
    if not frame_id or (known is not None and _reported_by_other(transition, known, session_id)):
        return False
    restored = params.type == CLEARING
    below = _below(page, frame_id)
    if restored:  # what has a session of its own has just been attached (fact 43)
        below = [each for each in below if not _reported_by_other(transition, page.frames[each], session_id)]
    page = _drop(transition, page, below, "navigation")
    if known is None:
        page = _add(transition, page, frame_id, shown.parent_id or None, session_id)
        known = page.frames.get(frame_id)
        if known is None:
            return restored
    page = _put(transition, page, _with_document(known, session_id, shown))
    if page.dialogs:
        dialogs.frame_gone(transition, page, [frame_id], "navigation")
    transition.publish(changes.FrameNavigated(frame_id=frame_id, target_id=page.id))
    if frame_id == page.id:
        crashed = _current(transition, page)
        transition.put_page(replace(crashed, url=crashed.frames[frame_id].url, crashed=None))
    return restored


def navigated_within(
    transition: Transition, page: Page, session_id: SessionId, params: NavigatedWithinDocumentParams
) -> None:
    """`Page.navigatedWithinDocument`."""
    frame = page.frames.get(params.frame_id)
    if frame is None or _reported_by_other(transition, frame, session_id):
        return
    frame = replace(frame, url=params.url, reported=True)
    page = _put(transition, page, frame)
    if frame.id == page.id:
        transition.put_page(replace(page, url=frame.url))


def context_created(transition: Transition, page: Page, session_id: SessionId, params: ContextCreatedParams) -> None:
    """`Runtime.executionContextCreated`: where the scripts of a frame run, which may be told of later than this."""
    about, context = params.context.aux_data, params.context.unique_id
    if not about.is_default or not context:
        return
    made = ExecutionContext(session_id=session_id, clearings_before=page.context_clearings.get(session_id, 0))
    frame = page.frames.get(about.frame_id)
    if frame is None:
        if about.frame_id in page.early_contexts or len(page.early_contexts) < transition.state.limits.frames_kept:
            contexts = _without(page.contexts, page.early_contexts.get(about.frame_id, "")).set(context, made)
            transition.put_page(
                replace(page, early_contexts=page.early_contexts.set(about.frame_id, context), contexts=contexts)
            )
    elif not _reported_by_other(transition, frame, session_id):
        contexts = _without(page.contexts, frame.context).set(context, made)
        frames = page.frames.set(frame.id, replace(frame, context=context))
        transition.put_page(replace(page, frames=frames, contexts=contexts))


def context_destroyed(
    transition: Transition, page: Page, _session_id: SessionId, params: ContextDestroyedParams
) -> None:
    """`Runtime.executionContextDestroyed`: of one frame; which, only its own words tell."""
    if params.execution_context_unique_id in page.contexts:
        transition.put_page(replace(page, contexts=page.contexts.delete(params.execution_context_unique_id)))


def contexts_cleared(transition: Transition, page: Page, session_id: SessionId) -> None:
    """`Runtime.executionContextsCleared`: no frame is looked at, since there may be thousands."""
    clearings = page.context_clearings.set(session_id, page.context_clearings.get(session_id, 0) + 1)
    transition.put_page(replace(_without_early(page, session_id), context_clearings=clearings))


def session_forgotten(transition: Transition, page: Page, session_id: SessionId) -> Page:
    """A session has ended, and with it what its scripts ran in."""
    left = _without_early(page, session_id)
    if session_id in page.context_clearings:
        left = replace(left, context_clearings=page.context_clearings.delete(session_id))
    return page if left is page else transition.put_page(left)


def context_of(page: Page, frame: Frame) -> str:
    """The unique id of the context that a frame's scripts run in; empty where none is known, or it has ended.

    Only its own end ends one: docs/cdp/the-first-document-of-a-frame-keeps-its-execution-context.md.
    """
    made = page.contexts.get(frame.context)
    if (
        made is None
        or made.session_id != frame.session_id
        or made.clearings_before != page.context_clearings.get(made.session_id, 0)
    ):
        return ""
    return frame.context


def _without_early(page: Page, session_id: SessionId) -> Page:
    if not page.early_contexts:
        return page
    early, contexts = page.early_contexts, page.contexts
    for frame_id, context in page.early_contexts.items():
        made = contexts.get(context)
        if made is None or made.session_id == session_id:
            early, contexts = early.delete(frame_id), _without(contexts, context)
    return replace(page, early_contexts=early, contexts=contexts)


def _without(contexts: Map[str, ExecutionContext], context: str) -> Map[str, ExecutionContext]:
    return contexts.delete(context) if context in contexts else contexts


# ── targets and sessions ─────────────────────────────────────────────────────────────────────────────────────────────


def attached_as_oopif(transition: Transition, page: Page, attachment: Attachment, info: Json) -> None:
    """A frame has a session of its own from now on."""
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
    _put(transition, page, replace(frame, url=url) if url else frame)


def target_changed(transition: Transition, page: Page, frame_id: str, info: Json) -> None:
    """`Target.targetInfoChanged` of a frame: the only word of its URL where its first events were missed (fact 40)."""
    frame = page.frames.get(frame_id)
    url = text(info, "url", transition.state.limits.text_kept)
    if frame is not None and url and not frame.reported and frame.url != url:
        _put(transition, page, replace(frame, url=url))


def session_ended(transition: Transition, page: Page, attachment: Attachment, successor: SessionId | None) -> None:
    """The session of a frame out of process has ended; it stays where another session tells of it (`heir`)."""
    frame = page.frames.get(str(attachment.target_id))
    if frame is None or frame.session_id != attachment.session_id:
        return
    if successor is None:
        _drop(transition, page, [frame.id, *_below(page, frame.id)], "frame_gone")
    else:
        _put(transition, page, replace(frame, session_id=successor))


def gone(transition: Transition, page: Page, frame_id: str) -> None:
    """The target of a frame is no more. Where another session tells of the frame by now, it only changed its process."""
    frame = page.frames.get(frame_id)
    if frame is not None and frame.session_id not in transition.state.sessions:
        _drop(transition, page, [frame.id, *_below(page, frame.id)], "frame_gone")


def read_tree(transition: Transition, page: Page, attachment: Attachment, result: Json) -> None:
    """The result of `Page.getFrameTree` of one session: what that process really has."""
    session_id = attachment.session_id
    found: dict[str, tuple[str | None, FrameInfo]] = {}
    most = transition.state.limits.text_kept
    root = member(result, "frameTree")
    stack: list[tuple[Json, str | None]] = [(root, None)]
    while stack:
        node, parent_id = stack.pop()
        shown = read_frame(member(node, "frame"), most)
        frame_id = shown.id
        if frame_id and frame_id not in found:
            found[frame_id] = (shown.parent_id or parent_id, shown)
            stack.extend((child, frame_id) for child in reversed(members(node, "childFrames")))
    if text(member(root, "frame"), "id") != attachment.target_id:
        return
    page = _drop(transition, page, _missing_from_tree(transition, page, attachment, found), "frame_gone")
    if attachment.target_id == page.id:
        left = _kept_from_old_document(transition, page, found[page.id][1].loader_id)
        page = _drop(transition, page, [each for each in left if each not in found], "navigation")
    for frame_id, (parent_id, shown) in found.items():
        known = page.frames.get(frame_id)
        if known is None:
            page = _add(transition, page, frame_id, parent_id, session_id)
            known = page.frames.get(frame_id)
        if known is not None and not _reported_by_other(transition, known, session_id):
            page = _put(transition, page, _with_document(known, session_id, shown))
    if page.id in found and attachment.target_id == page.id:
        transition.put_page(
            replace(page, url=page.frames[page.id].url if page.id in page.frames else page.url, stale=False)
        )


# ── the tree ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _add(transition: Transition, page: Page, frame_id: str, parent_id: str | None, session_id: SessionId) -> Page:
    limits = transition.state.limits
    if len(page.frames) >= limits.frames_kept:
        return transition.put_page(replace(page, left_out=page.left_out + 1))
    if frame_id == page.id:
        parent_id = None
    number = page.last_frame + 1
    context, early = "", page.early_contexts
    if frame_id in early:
        context, early = early[frame_id], early.delete(frame_id)
    frame = Frame(id=frame_id, number=number, parent_id=parent_id, session_id=session_id, context=context)
    children = page.children
    if parent_id is not None:
        children = children.set(parent_id, children.get(parent_id, NONE).set(frame_id, None))
    transition.publish(changes.FrameAdded(frame_id=frame_id, target_id=page.id, parent_id=parent_id))
    frames = page.frames.set(frame_id, frame)
    return transition.put_page(replace(page, frames=frames, children=children, last_frame=number, early_contexts=early))


def _missing_from_tree(transition: Transition, page: Page, attachment: Attachment, found: Container[str]) -> list[str]:
    """What the tree of a session would name if it were there: not what has a process of its own (fact 41)."""
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
        and not _reported_by_other(transition, frame, attachment.session_id)
        and (frame.id in own or frame.session_id == attachment.session_id or frame.id not in hanging)
    ]
    below = [each for frame_id in missing for each in _below(page, frame_id)]
    return missing + [
        each for each in below if not _reported_by_other(transition, page.frames[each], attachment.session_id)
    ]


def _kept_from_old_document(transition: Transition, page: Page, loader: str) -> list[str]:
    """What no session tells of, where the page has another document than the one that it was below."""
    main = page.frames.get(page.id)
    if main is None or main.loader in ("", loader):
        return []
    return [each for each in _below(page, page.id) if page.frames[each].session_id not in transition.state.sessions]


def _drop(transition: Transition, page: Page, frame_ids: list[str], reason: str) -> Page:
    if not frame_ids:
        return page
    frames, children, contexts = page.frames, page.children, page.contexts
    dropped: list[str] = []
    for frame_id in frame_ids:
        frame = frames.get(frame_id)
        if frame is None:
            continue
        frames = frames.delete(frame_id)
        contexts = _without(contexts, frame.context)
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
    return _current(transition, page)


def _put(transition: Transition, page: Page, frame: Frame) -> Page:
    return transition.put_page(replace(page, frames=page.frames.set(frame.id, frame)))


def _with_document(frame: Frame, session_id: SessionId, shown: FrameInfo) -> Frame:
    """The frame, with the document that is told of."""
    return replace(
        frame,
        session_id=session_id,
        url=shown.url + shown.url_fragment,
        name=shown.name or frame.name,
        origin=shown.security_origin,
        reported=True,
        loader=shown.loader_id,
    )


def _below(page: Page, frame_id: str) -> list[str]:
    """All frames below one, those below first."""
    found: list[str] = []
    stack = [frame_id] if frame_id in page.children else []
    while stack:
        below = [each for each in page.children.get(stack.pop(), ()) if each in page.frames]
        found += below
        stack += below
    found.reverse()
    return found


def _reported_by_other(transition: Transition, frame: Frame, session_id: SessionId) -> bool:
    """Whether another session, which is open, tells of the frame."""
    return frame.session_id != session_id and frame.session_id in transition.state.sessions


def _current(transition: Transition, page: Page) -> Page:
    found = transition.page(TargetId(page.id))
    assert found is not None
    return found
