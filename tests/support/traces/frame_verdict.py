"""Compares the pages and frames in the notes of a trace with the snapshots of each connection.

* The truth is one tree: each frame once, below its parent, and the root of a target has the target's id (fact 39).
* Frames of pages with a session, while the link is up: no frame that the truth does not have (if the session reports
  frames), none missing that was named, and none missing at all for a session with a complete tree. Each has the
  parent of the truth, and the URL of the truth if one was reported. Pages whose tree the truth could not read are not
  judged.
* Pages: each page with a session is shown, and none that the truth does not have, if targets are reported.
* A frame or page that no message names is one that no connection could receive.
* A tree that the truth has of an earlier moment (`frame_tree_…`) was shown at some moment.
* Before the loss of a link: the same if the page had the URL then that it has in the truth; else only the parents,
  which do not change during the life of a frame (fact 39).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from cdp_supervisor.sansio.view import Views
from support.traces import dialog_verdict, follower, reference


@attrs.frozen
class TrueFrame:
    """A frame of the notes; `target` is the target with this frame in its own tree."""

    id: str
    url: str
    parent: str | None
    target: str


def true_targets(truth: dict[str, Any]) -> list[dict[str, Any]]:
    listed = truth.get("frame_tree") or truth.get("targets") or ()
    return [each for each in dialog_verdict.objects(listed) if "targetId" in each]


def true_frames(targets: list[dict[str, Any]]) -> dict[str, TrueFrame]:
    found: dict[str, TrueFrame] = {}
    for target in targets:
        tree = target.get("frames")
        if not isinstance(tree, dict):
            continue
        for node in reference.trees_below([tree]):
            if not isinstance(node.get("id"), str):
                continue
            parent = node.get("parentId") or (target.get("parentFrameId") if node is tree else None)
            found[node["id"]] = TrueFrame(node["id"], node.get("url", ""), parent, target["targetId"])
    return found


# ── the truth itself ─────────────────────────────────────────────────────────────────────────────────────────────────


def judge_truth(truth: dict[str, Any], moments: list[Any]) -> Iterator[str]:
    earlier = {key: dialog_verdict.objects(each) for key, each in truth.items() if key.startswith("frame_tree_")}
    for part, listed in {"the end": true_targets(truth), **earlier}.items():
        for why in judge_one_tree([each for each in listed if "targetId" in each]):
            yield f"the tree of {part}: {why}"
    for listed in (true_targets(truth), *earlier.values()):
        yield from judge_types(listed, moments)
    yield from judge_entries(true_targets(truth), moments)
    for part, listed in earlier.items():
        frames = true_frames([each for each in listed if "targetId" in each])
        knew = [each for each in moments if knows_all({one.target for one in frames.values()}, each)]
        if frames and knew and not any(was_shown(frames, moment) for moment in knew):
            yield f"{part} was not shown by any connection at any moment"


def judge_one_tree(targets: list[dict[str, Any]]) -> Iterator[str]:
    seen = set[str]()
    for target in targets:
        tree = target.get("frames")
        if not isinstance(tree, dict) or not isinstance(tree.get("id"), str):
            continue
        target_id = target["targetId"]
        if tree["id"] != target_id or not same_url(tree.get("url", ""), target.get("url", "")):
            yield f"the root of {target_id} at {target.get('url')} is {tree['id']} at {tree.get('url')}"
        if (tree.get("parentId") or target.get("parentFrameId")) != (
            target.get("parentFrameId") or tree.get("parentId")
        ):
            yield f"the root of {target_id} has two parents"
        for node in reference.trees_below([tree]):
            if node.get("id") in seen:
                yield f"frame {node['id'][:4]} is in the truth twice"
            seen.add(node.get("id"))
            for child in node.get("children", []):
                if child.get("parentId", node.get("id")) != node.get("id"):
                    yield f"frame {child['id'][:4]} is below another frame than its parentId"


def judge_entries(targets: list[dict[str, Any]], moments: list[Any]) -> Iterator[str]:
    """Complain of values that messages contradict, and of ids that messages should name and do not."""
    named = set[bytes]().union(*(each.link.named for each in moments))
    urls = {plain(url_of(each)) for moment in moments for each in moment.link.urls}
    frames, known = true_frames(targets), {each["targetId"]: each for each in targets}
    for key, target in known.items():
        kind, above = target.get("type"), target.get("parentFrameId")
        if kind not in ("page", "iframe"):
            if isinstance(target.get("frames"), dict):
                yield f"target {key[:4]} is a {kind} in the truth, and has frames"
            continue
        holder = frames[above].target if above in frames else above or key
        reporters = (
            each for each in moments if not each.received.lost and stays(each, line_of(key, frames)[-1], known)
        )
        reported = any(each.received.discovers or each.received.reports_all(holder) for each in reporters)
        if key.encode() not in named and (reported or (kind == "page" and "openerId" not in target)):
            yield f"target {key[:4]} is in the truth, and no message names it"
    for frame in frames.values():
        for moment in moments:
            received, session = moment.received, moment.received.primary_session(frame.target)
            if received.parents.get(frame.id, frame.parent) != frame.parent:
                above = received.parents[frame.id]
                yield f"frame {frame.id[:4]} is below {frame.parent} in the truth, and was reported below {above}"
            if session is None or received.lost or not stays(moment, line_of(frame.target, frames)[-1], known):
                continue
            complete = session in received.enabled and frame.target in received.ever_complete
            if frame.id.encode() not in named and (complete or session in received.contexts):
                yield f"frame {frame.id[:4]} is in the truth, and no message names it"
            if plain(frame.url) not in urls and complete:
                yield f"frame {frame.id[:4]} shows {frame.url} in the truth, and no message has this URL"


def judge_types(targets: Iterable[dict[str, Any]], moments: list[Any]) -> Iterator[str]:
    types = {each.target_id: each.target_type for moment in moments for each in moment.received.opened.values()}
    for target in targets:
        key, kind = target.get("targetId"), target.get("type")
        if types.get(key, kind) != kind:
            yield f"target {key[:4]} is a {kind} in the truth, and was attached to as a {types[key]}"


def stays(moment: Any, page_id: str, known: dict[str, Any]) -> bool:
    """Return True if a page is the same at the end as before the loss of the link.

    That holds if the trace ends with the loss, or if the page still exists with the same URL.
    """
    if not moment.before_loss or moment.link.lost_at >= moment.link.records:
        return True
    page, true = moment.snapshot.page(page_id), known.get(page_id)
    return page is not None and true is not None and plain(page.url) == plain(true.get("url", ""))


def url_of(text: bytes) -> str:
    """Decode a URL as it is encoded in a message."""
    return str(json.loads(b'"' + text + b'"'))


def knows_all(targets: set[str], moment: Any) -> bool:
    """Return True if the connection attached to each of these that it knew, and had one complete tree."""
    known = {each for each in targets if each.encode() in moment.link.named}
    return known <= {*moment.received.target_of.values()} and (not known or bool(known & moment.received.ever_complete))


def was_shown(frames: dict[str, TrueFrame], moment: Any) -> bool:
    """Return True if at one moment their pages showed exactly these frames."""
    views = Views()
    wanted = {(each.id, each.parent, plain(each.url)) for each in frames.values()}
    for state in moment.link.states:
        pages = [
            {(each.frame_id, each.parent_frame_id, plain(each.url)) for each in page.frames()}
            for page in views.snapshot(state).pages
        ]
        if wanted == set().union(*(page for page in pages if page & wanted)):
            return True
    return False


# ── the snapshot ─────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_pages(moment: Any, truth: dict[str, Any]) -> Iterator[str]:
    received, targets = moment.received, true_targets(truth)
    if not ("frame_tree" in truth or "targets" in truth) or received.lost:
        return
    frames, known = true_frames(targets), {each["targetId"]: each for each in targets}
    snapshot = moment.snapshot
    if not moment.before_loss or moment.link.lost_at >= moment.link.records:
        yield from judge_presence(moment, snapshot, known)
    for page in snapshot.pages:
        true = known.get(page.target_id)
        if true is None:
            continue
        if true["type"] != "page":
            yield f"page {page.target_id[:4]} is of type {true['type']} in the truth"
        if page.opener_id is not None and true.get("openerId", page.opener_id) != page.opener_id:
            yield f"page {page.target_id[:4]} was opened by {page.opener_id}, not {true['openerId']}"
        yield from judge_parents(page, frames)
        if not stays(moment, page.target_id, known) or (page.session_id is None and not received.discovers):
            continue
        if not same_url(page.url, true.get("url", "")) and page.target_id in received.shown:
            yield f"page {page.target_id[:4]} shows {page.url!r}, not {true.get('url')!r}"
        if page.session_id is not None and (moment.state.generation == 1 or not page.stale):
            yield from judge_hidden_frames(moment.state.pages[page.target_id], page, received, frames)
            yield from judge_frames(
                page, received, frames, known
            )  # after a reconnect the tree is not read, and the page is shown as stale
        if isinstance(true.get("frames"), dict) and page.session_id in received.enabled:
            for dialog in page.pending_dialogs:
                if dialog.frame_id not in frames and dialog.frame_id not in known:
                    yield f"dialog {dialog.message!r} is pending in a frame that is gone"


def judge_presence(moment: Any, snapshot: Any, known: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Compare the shown pages and the attached targets with the truth, in both directions."""
    received = moment.received
    for target, each in known.items():
        if each["type"] == "page" and received.primary_session(target) and snapshot.page(target) is None:
            yield f"page {target[:4]} is not shown"
        if each.get("attached") is False and received.primary_session(target):
            yield f"{target[:4]} is attached to by this connection, and not attached in the truth"
    for opened in received.open.values():
        if opened.target_type in ("page", "iframe") and opened.target_id not in known:
            yield f"{opened.target_id[:4]} is attached to, and not in the truth"
    for page in snapshot.pages:
        if page.target_id not in known and page.session_id is not None:
            yield f"page {page.target_id[:4]} is not in the truth"
        elif page.target_id not in known and received.discovers:
            yield f"page {page.target_id[:4]} is shown without a session, and not in the truth"


def judge_parents(page: Any, frames: dict[str, TrueFrame]) -> Iterator[str]:
    for view in page.frames():
        true = frames.get(view.frame_id)
        if true is not None and view.parent_frame_id != true.parent:
            yield f"frame {view.frame_id[:4]} is below {view.parent_frame_id}, not {true.parent}"


def judge_hidden_frames(kept: Any, page: Any, received: Any, frames: dict[str, TrueFrame]) -> Iterator[str]:
    """Compare the frames that are kept but not shown, because a frame above them is unknown."""
    for frame_id in sorted({*kept.frames} & frames.keys() - {each.frame_id for each in page.frames()}):
        frame, true = kept.frames[frame_id], frames[frame_id]
        if frame_id in received.shown and plain(frame.url) != plain(true.url):
            yield f"frame {frame_id[:4]} is kept with {frame.url!r}, not {true.url!r}"
        if frame.parent_id != true.parent:
            yield f"frame {frame_id[:4]} is kept below {frame.parent_id}, not {true.parent}"


def judge_frames(page: Any, received: Any, frames: dict[str, TrueFrame], known: dict[str, Any]) -> Iterator[str]:
    """Compare the shown frames of a page; `known` holds the targets of the truth by id."""
    shown = {each.frame_id: each for each in page.frames()}
    unreadable = {key for key, each in known.items() if not isinstance(each.get("frames"), dict)}
    for frame_id, view in shown.items():
        true = frames.get(frame_id)
        if true is None:
            above = shown.get(view.parent_frame_id or "")
            reporter = view.session_id or (above.session_id if above is not None else None)
            opened = received.open.get(reporter or "")
            reported = opened is not None and reporter in received.enabled and frame_id not in known
            if reported and (view.is_oopif or opened.target_id not in unreadable):
                yield f"frame {frame_id[:4]} ({view.url}) is shown, and not in the truth"
            continue
        own_process = true.target == frame_id != page.target_id
        if view.is_oopif != own_process and (view.is_oopif or received.primary_session(frame_id)):
            yield f"frame {frame_id[:4]} is out of process: {own_process}, and shown as {view.is_oopif}"
        if frame_id in received.shown and plain(view.url) != plain(true.url[: follower.ALL_KEPT.text_kept]):
            yield f"frame {frame_id[:4]} shows {view.url!r}, not {true.url!r}"
    named = frozenset[str]().union(*received.named.values())
    for target in {page.target_id, *(each.target for each in frames.values())}:
        session = received.primary_session(target)
        if session is None or line_of(target, frames)[-1] != page.target_id:
            continue
        own = {each.id for each in frames.values() if each.target == target}
        expected = own if session in received.complete else frames.keys() & received.named[session]
        expected = {each for each in expected if each in shown or named >= {*line_of(each, frames)[1:]}}
        if missing := [each[:4] for each in sorted(expected - shown.keys())]:
            yield f"frames {missing} of {target[:4]} are missing"


def same_url(one: str, other: str) -> bool:
    """Return True if both can be the URL of one page.

    The frame and the target of a page that failed to load have different URLs (fact 56). An empty page has none yet.
    """
    urls = {plain(each) for each in (one, other)}
    return len(urls) == 1 or urls <= {"", ":", "about:blank"} or any(each.startswith("chrome-error:") for each in urls)


def plain(url: str) -> str:
    """Return the URL without its fragment, which target infos do not contain."""
    return url.partition("#")[0]


def line_of(frame_id: str, frames: dict[str, TrueFrame]) -> list[str]:
    """Return a frame and the frames above it, up to the page's main frame."""
    line = [frame_id]
    while (frame := frames.get(line[-1])) is not None and frame.parent is not None and frame.parent not in line:
        line.append(frame.parent)
    return line
