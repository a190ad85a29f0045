"""The target table, compared with a naive one over events of browsers and over malformed ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cdp_core.sansio import target_table
from cdp_core.sansio.messages import Event, TargetId, decode
from cdp_core.sansio.target_table import (
    TARGET_METHODS,
    TargetChanged,
    TargetCreated,
    TargetDestroyed,
    TargetInfo,
    TargetTable,
)

CREATED, CHANGED, DESTROYED, ATTACHED = (
    "Target.targetCreated",
    "Target.targetInfoChanged",
    "Target.targetDestroyed",
    "Target.attachedToTarget",
)

TEXTS = {  # field of the event: field of `TargetInfo`
    "type": "type",
    "title": "title",
    "url": "url",
    "subtype": "subtype",
    "openerId": "opener_id",
    "parentId": "parent_id",
    "parentFrameId": "parent_frame_id",
    "browserContextId": "browser_context_id",
}
NEVER_NONE = {"type", "title", "url"}


def event(method: str, params: Any) -> Event:
    decoded = decode(json.dumps({"method": method, "params": params}).encode())
    assert isinstance(decoded, Event)
    return decoded


def about(target: str, **info: Any) -> dict[str, Any]:
    return {"targetInfo": {"targetId": target, **info}}


# ── the naive table ──────────────────────────────────────────────────────────────────────────────────────────────────


Fields = dict[str, Any]


def fields_of(target: TargetInfo) -> Fields:
    named = {theirs: getattr(target, ours) for theirs, ours in TEXTS.items()}
    return {"targetId": target.target_id, "attached": target.attached, **named}


class NaiveTable:
    """The same fold over plain dictionaries, field by field."""

    def __init__(self) -> None:
        self.known: list[Fields] = []

    def apply(self, method: str, params: Any) -> tuple[str, Fields] | None:
        if not isinstance(params, dict):
            return None
        if method == DESTROYED:
            for index, fields in enumerate(self.known):
                if fields["targetId"] == params.get("targetId"):
                    return "destroyed", self.known.pop(index)
            return None
        info = params.get("targetInfo")
        if method not in (CREATED, CHANGED, ATTACHED) or not isinstance(info, dict):
            return None
        if not isinstance(info.get("targetId"), str) or not info["targetId"]:
            return None
        fields: Fields = {"targetId": info["targetId"], "attached": info.get("attached") is True}
        for name in TEXTS:
            value = info.get(name)
            fields[name] = value if isinstance(value, str) and value else "" if name in NEVER_NONE else None
        for index, known in enumerate(self.known):
            if known["targetId"] == fields["targetId"]:
                if method == ATTACHED and not fields["url"]:
                    fields["url"] = known["url"]
                    fields["title"] = fields["title"] or known["title"]
                self.known[index] = fields
                return None if known == fields else ("changed", fields)
        self.known.append(fields)
        return "created", fields


strange = st.sampled_from([None, "", 5, True, [], {}, 0.5])
values = st.sampled_from(["", "a", "https://example.org/", "page", "é"]) | strange
infos = st.fixed_dictionaries(
    {},
    optional={
        "targetId": st.sampled_from(["A", "A", "B", "C", "D"]) | strange,
        "attached": st.booleans() | strange,
        **dict.fromkeys(TEXTS, values),
        "canAccessOpener": st.booleans(),
        "someNewField": values,
    },
)
updates = st.tuples(
    st.sampled_from([CREATED, CHANGED, CHANGED, ATTACHED]),
    st.fixed_dictionaries({"targetInfo": infos}) | st.fixed_dictionaries({}, optional={"targetInfo": strange}),
)
destructions = st.tuples(
    st.just(DESTROYED), st.fixed_dictionaries({"targetId": st.sampled_from(["A", "B", "C"]) | strange})
)
other = st.tuples(
    st.sampled_from(["Page.loadEventFired", "Target.detachedFromTarget", *TARGET_METHODS]), infos | strange
)


@given(events=st.lists(updates | updates | destructions | other, max_size=30))
@example(events=[(CREATED, about("A", url="u", title="t")), (ATTACHED, about("A", attached=True))])
@example(events=[(CREATED, about("A")), (DESTROYED, {"targetId": "A"}), (CHANGED, about("A"))])
def test_the_table_agrees_with_the_naive_one(events: list[tuple[str, Any]]) -> None:
    table, naive = TargetTable(), NaiveTable()
    for method, params in events:
        change = table.apply(event(method, params))
        kinds = {TargetCreated: "created", TargetChanged: "changed", TargetDestroyed: "destroyed"}
        actual = None if change is None else (kinds[type(change)], fields_of(change.target))
        assert actual == naive.apply(method, params)
        assert [fields_of(target) for target in table.targets.values()] == naive.known
        assert all(key == target.target_id for key, target in table.targets.items())


# ── examples ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_target_is_created_changed_and_destroyed_once() -> None:
    table = TargetTable()
    created = table.apply(event(CREATED, about("A", type="page", url="about:blank", openerId="O", attached=False)))
    assert created == TargetCreated(
        target=TargetInfo(target_id=TargetId("A"), type="page", url="about:blank", opener_id=TargetId("O"))
    )
    assert table.apply(event(CREATED, about("A", type="page", url="about:blank", openerId="O"))) is None
    changed = table.apply(event(CHANGED, about("A", type="page", url="https://example.org/")))
    assert isinstance(changed, TargetChanged)
    assert changed.target.url == "https://example.org/"
    destroyed = table.apply(event(DESTROYED, {"targetId": "A"}))
    assert destroyed == TargetDestroyed(target=changed.target)
    assert table.apply(event(DESTROYED, {"targetId": "A"})) is None
    assert table.targets == {}


def test_an_attach_without_a_url_keeps_the_known_one() -> None:
    """At the attach of a frame the browser does not know its URL yet (fact 40)."""
    table = TargetTable()
    table.apply(event(CREATED, about("A", type="iframe", url="https://example.org/", title="old")))
    table.apply(event(ATTACHED, about("A", type="iframe", url="", attached=True)))
    assert (table.targets[TargetId("A")].url, table.targets[TargetId("A")].title) == ("https://example.org/", "old")
    assert table.targets[TargetId("A")].attached
    table.apply(event(ATTACHED, about("A", type="iframe", title="new")))
    assert (table.targets[TargetId("A")].url, table.targets[TargetId("A")].title) == ("https://example.org/", "new")
    table.apply(event(ATTACHED, about("A", type="iframe", url="https://other.example/", attached=1)))
    assert (table.targets[TargetId("A")].url, table.targets[TargetId("A")].title) == ("https://other.example/", "")
    assert not table.targets[TargetId("A")].attached  # only a boolean counts
    table.apply(event(CHANGED, about("A", type="iframe", url="")))
    assert table.targets[TargetId("A")].url == ""  # only an attach event may lack the URL


def test_without_discovery_the_table_lists_attached_targets() -> None:
    table = TargetTable()
    assert isinstance(table.apply(event(ATTACHED, about("A", type="page"))), TargetCreated)
    assert list(table.targets) == ["A"]


@pytest.mark.parametrize("method", [*TARGET_METHODS, "Page.loadEventFired"])
@pytest.mark.parametrize("params", [None, [], "text", 5, {}, {"targetInfo": 5}, {"targetInfo": {}}, {"targetId": []}])
def test_an_unreadable_event_changes_nothing(method: str, params: Any) -> None:
    table = TargetTable()
    table.apply(event(CREATED, about("A")))
    assert table.apply(event(method, params)) is None
    assert list(table.targets) == ["A"]


def test_targets_are_in_the_order_of_their_creation() -> None:
    table = TargetTable()
    for target in "CAB":
        table.apply(event(CREATED, about(target)))
    table.apply(event(CHANGED, about("C", title="new")))
    assert list(table.targets) == ["C", "A", "B"]


def test_announcements_reproduce_the_table() -> None:
    """A table that applies the announcements of another one equals it."""
    table, other = TargetTable(), TargetTable()
    table.apply(
        event(CREATED, about("A", type="iframe", url="https://example.org/", title="old", canAccessOpener=True))
    )
    table.apply(event(CREATED, about("B", title="\ud800")))
    table.apply(event(CREATED, about("C")))
    table.apply(event(ATTACHED, about("A", type="iframe", url="", attached=True)))
    table.apply(event(DESTROYED, {"targetId": "C"}))
    announced = table.announcements()
    assert [each.method for each in announced] == [CREATED] * 2
    assert announced[0].session_id is None
    for each in announced:
        other.apply(each)
    assert other.targets == table.targets
    assert other.announcements() == announced


def test_the_view_of_the_table_is_read_only_and_live() -> None:
    table = TargetTable()
    seen = table.targets
    with pytest.raises(TypeError):
        seen[TargetId("A")] = TargetInfo(target_id=TargetId("A"))  # type: ignore[index]
    table.apply(event(CREATED, about("A")))
    assert list(seen) == ["A"]


def test_ids_of_a_target_that_are_not_sent_are_none() -> None:
    info = {"targetId": "T", "type": "page", "title": "", "url": "", "attached": False}
    bare = TargetInfo.read(info)
    assert (bare.opener_id, bare.parent_id, bare.parent_frame_id, bare.browser_context_id) == (None,) * 4
    ids = {"openerId": "O", "parentId": "P", "parentFrameId": "F", "browserContextId": "C"}
    full = TargetInfo.read({**info, **ids})
    assert (full.opener_id, full.parent_id, full.parent_frame_id, full.browser_context_id) == ("O", "P", "F", "C")


def test_the_browsers_own_interface_is_left_out_and_auto_attach_can_be_ended() -> None:
    excluded = [each["type"] for each in target_table.FILTER if each.get("exclude")]
    assert excluded == ["browser", "tab", "browser_ui"]
    assert target_table.FILTER[-1] == {}
    assert target_table.NO_AUTO_ATTACH == {"autoAttach": False, "waitForDebuggerOnStart": False, "flatten": True}
    assert target_table.AUTO_ATTACH["filter"] is target_table.DISCOVER["filter"] is target_table.FILTER
