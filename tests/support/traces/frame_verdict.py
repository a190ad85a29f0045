"""What the notes say of pages and frames, beside what the machine of a connection shows of them.

* The truth is one tree: each frame once, below its parent, the root of a target its own (fact 39).
* Frames of pages with a session, while the link stands: none that the truth has not (where the session says what frames
  do), none missing of those that were named, none missing at all of a session that is known wholly; with the parent that
  the truth says, and its URL where one was told. Pages whose tree the truth itself could not read are not judged.
* Pages: each with a session is there; none that the truth has not, where targets are told of.
* A frame or page that no message names is one that nobody could be told of.
* A tree that the truth has of an earlier moment (`frame_tree_…`) was shown at some moment.
* Before the loss of a link: the same, where the page shows the URL then that it shows in truth; else its parents only, which
  do not change while a frame lives (fact 39).
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
    """A frame of the notes. `target`: whose own tree has it."""

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


def judge_truth(truth: dict[str, Any], sights: list[Any]) -> Iterator[str]:
    earlier = {key: dialog_verdict.objects(each) for key, each in truth.items() if key.startswith("frame_tree_")}
    for part, listed in {"the end": true_targets(truth), **earlier}.items():
        for why in judge_one_tree([each for each in listed if "targetId" in each]):
            yield f"the tree of {part}: {why}"
    for listed in (true_targets(truth), *earlier.values()):
        yield from judge_types(listed, sights)
    yield from judge_told(true_targets(truth), sights)
    for part, listed in earlier.items():
        frames = true_frames([each for each in listed if "targetId" in each])
        knew = [each for each in sights if knows_all({one.target for one in frames.values()}, each)]
        if frames and knew and not any(was_shown(frames, sight) for sight in knew):
            yield f"{part} was shown by no machine at any moment"


def judge_one_tree(targets: list[dict[str, Any]]) -> Iterator[str]:
    seen = set[str]()
    for target in targets:
        tree = target.get("frames")
        if not isinstance(tree, dict) or not isinstance(tree.get("id"), str):
            continue
        told = target["targetId"]
        if tree["id"] != told or not same_url(tree.get("url", ""), target.get("url", "")):
            yield f"the root of {told} at {target.get('url')} is {tree['id']} at {tree.get('url')}"
        if (tree.get("parentId") or target.get("parentFrameId")) != (
            target.get("parentFrameId") or tree.get("parentId")
        ):
            yield f"the root of {told} has two parents"
        for node in reference.trees_below([tree]):
            if node.get("id") in seen:
                yield f"frame {node['id'][:4]} is there twice"
            seen.add(node.get("id"))
            for child in node.get("children", []):
                if child.get("parentId", node.get("id")) != node.get("id"):
                    yield f"frame {child['id'][:4]} is below another than it says"


def judge_told(targets: list[dict[str, Any]], sights: list[Any]) -> Iterator[str]:
    """What somebody was told otherwise, and what no message names though somebody would have been told."""
    named = set[bytes]().union(*(each.link.named for each in sights))
    urls = {plain(url_of(each)) for sight in sights for each in sight.link.urls}
    frames, known = true_frames(targets), {each["targetId"]: each for each in targets}
    for key, target in known.items():
        kind, above = target.get("type"), target.get("parentFrameId")
        if kind not in ("page", "iframe"):
            if isinstance(target.get("frames"), dict):
                yield f"target {key[:4]} is a {kind} in truth, and has frames"
            continue
        holder = frames[above].target if above in frames else above or key
        tellers = (each for each in sights if not each.heard.lost and stays(each, line_of(key, frames)[-1], known))
        told = any(each.heard.discovers or each.heard.tells_all(holder) for each in tellers)
        if key.encode() not in named and (told or (kind == "page" and "openerId" not in target)):
            yield f"target {key[:4]} is in the truth, and no message names it"
    for frame in frames.values():
        for sight in sights:
            heard, session = sight.heard, sight.heard.listened(frame.target)
            if heard.parents.get(frame.id, frame.parent) != frame.parent:
                yield f"frame {frame.id[:4]} is below {frame.parent} in truth, and was told of below {heard.parents[frame.id]}"
            if session is None or heard.lost or not stays(sight, line_of(frame.target, frames)[-1], known):
                continue
            wholly = session in heard.enabled and frame.target in heard.ever_whole
            if frame.id.encode() not in named and (wholly or session in heard.contexts):
                yield f"frame {frame.id[:4]} is in the truth, and no message names it"
            if plain(frame.url) not in urls and wholly:
                yield f"frame {frame.id[:4]} shows {frame.url} in truth, and no message says so"


def judge_types(targets: Iterable[dict[str, Any]], sights: list[Any]) -> Iterator[str]:
    types = {each.target_id: each.target_type for sight in sights for each in sight.heard.opened.values()}
    for target in targets:
        key, kind = target.get("targetId"), target.get("type")
        if types.get(key, kind) != kind:
            yield f"target {key[:4]} is a {kind} in truth, and was attached to as a {types[key]}"


def stays(sight: Any, page_id: str, known: dict[str, Any]) -> bool:
    """Whether what a connection was told of a page before its loss is so at the end: nothing came after, or it is there still."""
    if not sight.before_loss or sight.link.lost_at >= sight.link.records:
        return True
    page, true = sight.snapshot.page(page_id), known.get(page_id)
    return page is not None and true is not None and plain(page.url) == plain(true.get("url", ""))


def url_of(text: bytes) -> str:
    """As a message has it."""
    return str(json.loads(b'"' + text + b'"'))


def knows_all(targets: set[str], sight: Any) -> bool:
    """Whether it knew one of these wholly, and was attached to all of which it was told."""
    told = {each for each in targets if each.encode() in sight.link.named}
    return told <= {*sight.heard.target_of.values()} and (not told or bool(told & sight.heard.ever_whole))


def was_shown(frames: dict[str, TrueFrame], sight: Any) -> bool:
    """Whether exactly these frames were shown at one moment, of their pages."""
    views = Views()
    wanted = {(each.id, each.parent, plain(each.url)) for each in frames.values()}
    for state in sight.link.states:
        pages = [
            {(each.frame_id, each.parent_frame_id, plain(each.url)) for each in page.frames()}
            for page in views.snapshot(state).pages
        ]
        if wanted == set().union(*(page for page in pages if page & wanted)):
            return True
    return False


# ── what is shown ────────────────────────────────────────────────────────────────────────────────────────────────────


def judge_pages(sight: Any, truth: dict[str, Any]) -> Iterator[str]:
    heard, targets = sight.heard, true_targets(truth)
    if not ("frame_tree" in truth or "targets" in truth) or heard.lost:
        return
    frames, known = true_frames(targets), {each["targetId"]: each for each in targets}
    snapshot = sight.snapshot
    if not sight.before_loss or sight.link.lost_at >= sight.link.records:
        yield from judge_presence(sight, snapshot, known)
    for page in snapshot.pages:
        true = known.get(page.target_id)
        if true is None:
            continue
        if true["type"] != "page":
            yield f"page {page.target_id[:4]} is of type {true['type']} in truth"
        if page.opener_id is not None and true.get("openerId", page.opener_id) != page.opener_id:
            yield f"page {page.target_id[:4]} was opened by {page.opener_id}, not {true['openerId']}"
        yield from judge_parents(page, frames)
        if not stays(sight, page.target_id, known) or (page.session_id is None and not heard.discovers):
            continue
        if not same_url(page.url, true.get("url", "")) and page.target_id in heard.shown:
            yield f"page {page.target_id[:4]} shows {page.url!r}, not {true.get('url')!r}"
        if page.session_id is not None and (sight.state.generation == 1 or not page.stale):
            yield from judge_hanging(sight.state.pages[page.target_id], page, heard, frames)
            yield from judge_frames(page, heard, frames, known)  # a client that came back asks for no tree, and says so
        if isinstance(true.get("frames"), dict) and page.session_id in heard.enabled:
            for dialog in page.pending_dialogs:
                if dialog.frame_id not in frames and dialog.frame_id not in known:
                    yield f"dialog {dialog.message!r} is pending in a frame that is gone"


def judge_presence(sight: Any, snapshot: Any, known: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Pages and what is attached to: on both sides."""
    heard = sight.heard
    for target, each in known.items():
        if each["type"] == "page" and heard.listened(target) and snapshot.page(target) is None:
            yield f"page {target[:4]} is not shown"
        if each.get("attached") is False and heard.listened(target):
            yield f"{target[:4]} is attached to by this connection, and by nobody in truth"
    for opened in heard.open.values():
        if opened.target_type in ("page", "iframe") and opened.target_id not in known:
            yield f"{opened.target_id[:4]} is attached to, and not in the truth"
    for page in snapshot.pages:
        if page.target_id not in known and page.session_id is not None:
            yield f"page {page.target_id[:4]} is not in the truth"
        elif page.target_id not in known and heard.discovers:
            yield f"page {page.target_id[:4]} is a ghost"


def judge_parents(page: Any, frames: dict[str, TrueFrame]) -> Iterator[str]:
    for view in page.frames():
        true = frames.get(view.frame_id)
        if true is not None and view.parent_frame_id != true.parent:
            yield f"frame {view.frame_id[:4]} is below {view.parent_frame_id}, not {true.parent}"


def judge_hanging(kept: Any, page: Any, heard: Any, frames: dict[str, TrueFrame]) -> Iterator[str]:
    """Frames that the machine keeps, and does not show as long as those above are not known."""
    for frame_id in sorted({*kept.frames} & frames.keys() - {each.frame_id for each in page.frames()}):
        frame, true = kept.frames[frame_id], frames[frame_id]
        if frame_id in heard.shown and plain(frame.url) != plain(true.url):
            yield f"frame {frame_id[:4]} is kept with {frame.url!r}, not {true.url!r}"
        if frame.parent_id != true.parent:
            yield f"frame {frame_id[:4]} is kept below {frame.parent_id}, not {true.parent}"


def judge_frames(page: Any, heard: Any, frames: dict[str, TrueFrame], known: dict[str, Any]) -> Iterator[str]:
    """`known`: the targets of the truth; of some it could not read the frames."""
    shown = {each.frame_id: each for each in page.frames()}
    unreadable = {key for key, each in known.items() if not isinstance(each.get("frames"), dict)}
    for frame_id, view in shown.items():
        true = frames.get(frame_id)
        if true is None:
            above = shown.get(view.parent_frame_id or "")
            teller = view.session_id or (above.session_id if above is not None else None)
            of = heard.open.get(teller or "")
            told = of is not None and teller in heard.enabled and frame_id not in known
            if told and (view.is_oopif or of.target_id not in unreadable):
                yield f"frame {frame_id[:4]} ({view.url}) is a ghost"
            continue
        own_process = true.target == frame_id != page.target_id
        if view.is_oopif != own_process and (view.is_oopif or heard.listened(frame_id)):
            yield f"frame {frame_id[:4]} is out of process: {own_process}, and shown as {view.is_oopif}"
        if frame_id in heard.shown and plain(view.url) != plain(true.url[: follower.ALL_KEPT.text_kept]):
            yield f"frame {frame_id[:4]} shows {view.url!r}, not {true.url!r}"
    named = frozenset[str]().union(*heard.named.values())
    for target in {page.target_id, *(each.target for each in frames.values())}:
        session = heard.listened(target)
        if session is None or line_of(target, frames)[-1] != page.target_id:
            continue
        own = {each.id for each in frames.values() if each.target == target}
        expected = own if session in heard.whole else frames.keys() & heard.named[session]
        expected = {each for each in expected if each in shown or named >= {*line_of(each, frames)[1:]}}
        if missing := [each[:4] for each in sorted(expected - shown.keys())]:
            yield f"frames {missing} of {target[:4]} are missing"


def same_url(one: str, other: str) -> bool:
    """A page that could not be loaded is another to its frame than to its target (fact 56), and an empty one has no URL yet."""
    urls = {plain(each) for each in (one, other)}
    return len(urls) == 1 or urls <= {"", ":", "about:blank"} or any(each.startswith("chrome-error:") for each in urls)


def plain(url: str) -> str:
    """Without its fragment, which targets do not tell."""
    return url.partition("#")[0]


def line_of(frame_id: str, frames: dict[str, TrueFrame]) -> list[str]:
    """A frame and those above it, up to the page's."""
    line = [frame_id]
    while (frame := frames.get(line[-1])) is not None and frame.parent is not None and frame.parent not in line:
        line.append(frame.parent)
    return line
