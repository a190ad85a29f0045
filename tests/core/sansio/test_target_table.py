"""The target table against a list of facts, over events that browsers send and some that none would."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

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

TEXTS = {  # what stands in the event, and what it is called here
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


class Facts:
    """The same fold over plain dictionaries: every event looked at field by field."""

    def __init__(self) -> None:
        self.known: list[Fields] = []

    def apply(self, method: str, params: Any) -> tuple[str, Fields] | None:
        if not isinstance(params, dict):
            return None
        if method == DESTROYED:
            for place, fields in enumerate(self.known):
                if fields["targetId"] == params.get("targetId"):
                    return "destroyed", self.known.pop(place)
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
        for place, known in enumerate(self.known):
            if known["targetId"] == fields["targetId"]:
                if method == ATTACHED and not fields["url"]:
                    fields["url"] = known["url"]
                    fields["title"] = fields["title"] or known["title"]
                self.known[place] = fields
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
told = st.tuples(
    st.sampled_from([CREATED, CHANGED, CHANGED, ATTACHED]),
    st.fixed_dictionaries({"targetInfo": infos}) | st.fixed_dictionaries({}, optional={"targetInfo": strange}),
)
gone = st.tuples(st.just(DESTROYED), st.fixed_dictionaries({"targetId": st.sampled_from(["A", "B", "C"]) | strange}))
other = st.tuples(
    st.sampled_from(["Page.loadEventFired", "Target.detachedFromTarget", *TARGET_METHODS]), infos | strange
)


@given(events=st.lists(told | told | gone | other, max_size=30))
@example(events=[(CREATED, about("A", url="u", title="t")), (ATTACHED, about("A", attached=True))])
@example(events=[(CREATED, about("A")), (DESTROYED, {"targetId": "A"}), (CHANGED, about("A"))])
def test_the_table_says_what_the_facts_say(events: list[tuple[str, Any]]) -> None:
    table, facts = TargetTable(), Facts()
    for method, params in events:
        change = table.apply(event(method, params))
        kinds = {TargetCreated: "created", TargetChanged: "changed", TargetDestroyed: "destroyed"}
        said = None if change is None else (kinds[type(change)], fields_of(change.target))
        assert said == facts.apply(method, params)
        assert [fields_of(target) for target in table.targets.values()] == facts.known
        assert all(key == target.target_id for key, target in table.targets.items())


# ── examples ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_life_of_a_target() -> None:
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


def test_an_attach_without_a_url_forgets_none() -> None:
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
    assert not table.targets[TargetId("A")].attached  # what is no boolean says nothing
    table.apply(event(CHANGED, about("A", type="iframe", url="")))
    assert table.targets[TargetId("A")].url == ""  # only an attach does not know it


def test_without_discovery_the_table_knows_what_was_attached() -> None:
    table = TargetTable()
    assert isinstance(table.apply(event(ATTACHED, about("A", type="page"))), TargetCreated)
    assert list(table.targets) == ["A"]


@pytest.mark.parametrize("method", [*TARGET_METHODS, "Page.loadEventFired"])
@pytest.mark.parametrize("params", [None, [], "text", 5, {}, {"targetInfo": 5}, {"targetInfo": {}}, {"targetId": []}])
def test_what_cannot_be_read_changes_nothing(method: str, params: Any) -> None:
    table = TargetTable()
    table.apply(event(CREATED, about("A")))
    assert table.apply(event(method, params)) is None
    assert list(table.targets) == ["A"]


def test_targets_stand_in_the_order_of_their_making() -> None:
    table = TargetTable()
    for target in "CAB":
        table.apply(event(CREATED, about(target)))
    table.apply(event(CHANGED, about("C", title="new")))
    assert list(table.targets) == ["C", "A", "B"]


def test_announcements_say_what_the_table_knows() -> None:
    """A table that is fed the announcements of another one is the same."""
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


def test_the_table_cannot_be_changed_from_outside_and_is_live() -> None:
    table = TargetTable()
    seen = table.targets
    with pytest.raises(TypeError):
        seen[TargetId("A")] = TargetInfo(target_id=TargetId("A"))  # type: ignore[index]
    table.apply(event(CREATED, about("A")))
    assert list(seen) == ["A"]
