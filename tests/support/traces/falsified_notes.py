"""Copies of the Truth block of a trace's notes, each with one false value.

The verdict must complain about each of them. The name of a falsification gives its kind, its place and the false
value, so that the unnoticeable ones can be listed. All are made by rule from every trace, in the same order.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import attrs

from support.traces import note_words, verdict

INSTEAD = (
    "agent",
    "remote (other client)",
    "navigation",
    "superseded",
    "Page.close",
    "detachFromTarget",
    "disconnect",
    "no word of these",
)
NEVER = "a dialog that never opened"
UNKNOWN_ID = "F" * 31 + "0"
"""An id that no trace contains."""
Json = dict[str, Any]


@attrs.frozen
class Falsification:
    """A copy of the truth with one false value."""

    kind: str
    where: str
    truth: Json

    @property
    def name(self) -> str:
        return f"{self.kind}: {self.where}"


def falsify(truth: Json, ledger: Json, connections: list[str]) -> Iterator[Falsification]:
    """Yield every falsification of a truth."""
    yield from falsify_dialogs(truth, ledger, connections)
    yield from falsify_sessions(truth)
    for part in truth:
        if part == "targets" or part.startswith("frame_tree"):
            yield from falsify_tree(truth, part)


def changed(truth: Json, kind: str, where: str, *path: Any, value: Any) -> Falsification:
    """Return a copy with another value at a path."""
    made = copy.deepcopy(truth)
    below = made
    for each in path[:-1]:
        below = below[each]
    below[path[-1]] = value
    return Falsification(kind, where, made)


# ── dialogs ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def falsify_dialogs(truth: Json, ledger: Json, connections: list[str]) -> Iterator[Falsification]:
    targets = {path[-1]: each["targetId"] for path, each in session_places(truth)}
    sessions = targets.keys()
    for part in ("pending", "recent", "unanswerable"):
        for number, entry in enumerate(truth.get(part) or []):
            if not isinstance(entry, dict):
                continue
            at, where = (part, number), f"{part} {entry.get('message')!r}"
            yield changed(truth, "message", where, *at, "message", value=NEVER)
            if "type" in entry:
                yield changed(
                    truth, "type", where, *at, "type", value="alert" if entry["type"] != "alert" else "prompt"
                )
            if "result" in entry:
                yield changed(truth, "result", where, *at, "result", value=not entry["result"])
            if "userInput" in entry:
                yield changed(truth, "userInput", where, *at, "userInput", value=f"{entry['userInput']}!")
            if "frameId" in entry:
                yield changed(truth, "frameId", where, *at, "frameId", value=UNKNOWN_ID)
            if "session" in entry:
                yield changed(truth, "session", where, *at, "session", value=UNKNOWN_ID)
                same = targets.get(entry["session"])  # other sessions of the page got the event as well (fact 14)
                for other in sorted(key for key in sessions if targets[key] != same)[:1]:
                    yield changed(truth, "session", f"{where} → {other[:4]}", *at, "session", value=other)
            yield from falsify_end(truth, ledger, part, number, connections)
            listed = [*truth[part], entry]
            yield changed(truth, "twice", where, part, value=listed)
        bare = {"type": "confirm", "message": NEVER}
        entries = [bare, *({**bare, "session": each} for each in sorted(sessions)[:1])]
        for entry in entries:
            where = f"{part}{', with a session' * ('session' in entry)}"
            yield changed(truth, "never opened", where, part, value=[*(truth.get(part) or []), entry])


def falsify_end(truth: Json, ledger: Json, part: str, number: int, connections: list[str]) -> Iterator[Falsification]:
    entry, where = truth[part][number], f"{part} {truth[part][number].get('message')!r}"
    if part == "recent":
        right = entry.get("closed_by") or right_word(entry, ledger)
        for word in (*INSTEAD, *connections):
            if not same_meaning(right, word, connections):
                yield changed(truth, "closed_by", f"{where} → {word}", part, number, "closed_by", value=word)
        moved = {**truth, "recent": [each for each in truth["recent"] if each is not entry]}
        for other in ("pending", "unanswerable")[: 1 if "supersed" in right else 2]:  # fact 3
            yield changed(moved, "moved", f"{where} → {other}", other, value=[*(truth.get(other) or []), entry])
    else:
        rest = {**truth, part: [each for each in truth[part] if each is not entry]}
        ended = [*(truth.get("recent") or []), {**entry, "closed_by": "agent"}]
        yield changed(rest, "moved", f"{where} → recent, agent", "recent", value=ended)


def right_word(entry: Json, ledger: Json) -> str:
    """Return the ledger's word for an entry without one: the connection that answered it, or `remote`."""
    for conn, link in ledger.items():
        for each in link.get("dialogs", ()):
            if (each["message"], each["closed_by"]) == (entry.get("message"), "agent"):
                return "agent" if conn == next(iter(ledger)) else conn
    return "remote"


def same_meaning(one: str, other: str, connections: list[str]) -> bool:
    """Return True if both words can be right at once, so that one instead of the other is not false."""
    meanings = [note_words.meaning_of(each, connections[0], connections) for each in (one, other)]
    if None in meanings:
        return one == other
    first, second = meanings
    names = [note_words.named(each, connections) for each in (one, other)]
    if "agent" in (one, other) and connections[0] in names:
        return True
    if note_words.named(one, connections) and note_words.named(other, connections):
        return note_words.named(one, connections) == note_words.named(other, connections)
    return first.ours == second.ours and bool(first.causes & second.causes or not (first.causes or second.causes))


# ── sessions ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def session_places(truth: Json) -> Iterator[tuple[tuple[str, ...], Json]]:
    """Yield the path and value of each session of the truth: in one table, or in a table per connection."""
    sessions = truth.get("sessions")
    for key, each in sessions.items() if isinstance(sessions, dict) else ():
        if isinstance(each, dict) and "targetId" in each:
            yield ("sessions", key), each
        elif isinstance(each, dict):
            yield from ((("sessions", key, one), session) for one, session in each.items())


def falsify_sessions(truth: Json) -> Iterator[Falsification]:
    for path, session in session_places(truth):
        where = path[-1][:4]
        table: Any = truth
        for each in path[:-1]:
            table = table[each]
        rest = {key: each for key, each in table.items() if key != path[-1]}
        yield changed(truth, "session id", where, *path[:-1], value={**rest, UNKNOWN_ID: session})
        if path[-1] in verdict.remaining(table):  # else the session is really gone (fact 50)
            yield changed(truth, "session gone", where, *path[:-1], value=rest)
        yield changed(truth, "session target", where, *path, "targetId", value=UNKNOWN_ID)
        yield changed(
            truth, "session type", where, *path, "type", value="worker" if session["type"] != "worker" else "page"
        )
        yield changed(truth, "session parent", where, *path, "parentSession", value=UNKNOWN_ID)
    sessions = truth.get("sessions")
    if isinstance(sessions, dict):
        unknown = {"type": "page", "targetId": UNKNOWN_ID, "parentSession": None}
        yield changed(truth, "session made up", "", "sessions", UNKNOWN_ID, value=unknown)
        for key, each in sessions.items():
            if isinstance(each, str):
                yield changed(truth, "session word", key, "sessions", key, value="here and well")
    elif isinstance(sessions, str):
        yield changed(truth, "session word", sessions, "sessions", value="here and well")


# ── trees ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def falsify_tree(truth: Json, part: str) -> Iterator[Falsification]:
    for number, target in enumerate(truth[part]):
        if not isinstance(target, dict) or target.get("type") not in ("page", "iframe"):
            continue
        where = f"{part} {target['targetId'][:4]}"
        at = (part, number)
        elsewhere = f"{target['url']}/elsewhere"
        renamed = with_another_id(target, target["targetId"])
        yield changed(truth, "target id", where, *at, value=renamed)
        yield changed(truth, "target url", where, *at, value=with_another_url(target, elsewhere))
        yield changed(truth, "target type", where, *at, "type", value="worker")
        yield changed(truth, "target gone", where, part, value=[each for each in truth[part] if each is not target])
        if target.get("attached") is True and not part.startswith("frame_tree_"):
            yield changed(truth, "target attached", where, *at, "attached", value=False)
        if "openerId" in target:
            yield changed(truth, "target opener", where, *at, "openerId", value=UNKNOWN_ID)
        if "parentFrameId" in target:
            yield changed(truth, "target parent", where, *at, value=with_another_parent(target))
        if isinstance(target.get("frames"), dict):
            yield from falsify_frames(truth, (*at, "frames"), target["frames"], where)
    made_up = {"targetId": UNKNOWN_ID, "type": "page", "url": "about:blank", "attached": True}
    made_up["frames"] = {"id": UNKNOWN_ID, "url": "about:blank", "parentId": None, "children": []}
    yield changed(truth, "target made up", part, part, value=[*truth[part], made_up])


def falsify_frames(truth: Json, path: tuple[Any, ...], node: Json, where: str) -> Iterator[Falsification]:
    children = node.get("children", [])
    made_up = {"id": UNKNOWN_ID, "url": "about:blank", "parentId": node["id"], "children": []}
    yield changed(
        truth, "frame made up", f"{where}, in {node['id'][:4]}", *path, "children", value=[*children, made_up]
    )
    for number, child in enumerate(children[:3]):
        here, at = (*path, "children", number), f"{where}, {child['id'][:4]}"
        rest = [each for each in children if each is not child]
        yield changed(truth, "frame id", at, *here, value=with_another_id(child, child["id"]))
        yield changed(truth, "frame url", at, *here, "url", value=f"{child['url']}/elsewhere")
        yield changed(truth, "frame gone", at, *path, "children", value=rest)
        for other in rest[:1]:
            below = {**child, "parentId": other["id"]}
            moved = [{**other, "children": [*other.get("children", []), below]}, *rest[1:]]
            yield changed(truth, "frame parent", at, *path, "children", value=moved)
        yield from falsify_frames(truth, here, child, where)


def with_another_id(node: Any, old: str) -> Any:
    """Return the same frame or target with an unknown id, in every reference to it."""
    if isinstance(node, dict):
        return {key: with_another_id(each, old) for key, each in node.items()}
    if isinstance(node, list):
        return [with_another_id(each, old) for each in node]
    return UNKNOWN_ID if node == old else node


def with_another_url(target: Json, url: str) -> Json:
    tree = target.get("frames")
    return {**target, "url": url, **({"frames": {**tree, "url": url}} if isinstance(tree, dict) else {})}


def with_another_parent(target: Json) -> Json:
    tree = target.get("frames")
    root = {"frames": {**tree, "parentId": UNKNOWN_ID}} if isinstance(tree, dict) else {}
    return {**target, "parentFrameId": UNKNOWN_ID, **root}
