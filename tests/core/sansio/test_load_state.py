"""The load state of a document: against a model that keeps every event."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cdp_core.sansio import load_state
from cdp_core.sansio.load_state import ORDER, LoadState

LOADERS = st.sampled_from(["a", "b", "c"])
EVENTS = st.one_of(
    st.tuples(st.just("started"), LOADERS, st.sampled_from(["differentDocument", "reload", "sameDocument"])),
    st.tuples(st.just("committed"), LOADERS, st.booleans()),
    st.tuples(st.just("listed"), LOADERS),
    st.tuples(st.just("stopped")),
    st.tuples(st.just("resumed")),
    st.tuples(st.just("reached"), st.sampled_from(["interactive", "complete"])),
    st.tuples(
        st.just("lifecycle"),
        LOADERS,
        st.sampled_from(["init", "commit", "DOMContentLoaded", "load", "networkAlmostIdle", "networkIdle"]),
    ),
)
"""What a session may report of one frame, in any order."""


def apply(load: LoadState, event: Any, at: float = 0.0) -> LoadState:
    kind, *values = event
    if kind == "started":
        return load_state.started(load, values[0], values[1], at)
    if kind == "committed":
        return load_state.committed(load, values[0], restored=values[1])
    if kind == "stopped":
        return load_state.stopped(load)
    if kind == "resumed":
        return load_state.applied(load, "Page.frameStartedLoading", {}, at)
    rule = {"listed": load_state.listed, "reached": load_state.reached, "lifecycle": load_state.lifecycle}[kind]
    return rule(load, *values)  # type: ignore[operator, no-any-return]


def expected(events: list[Any]) -> tuple[str, str, bool, str]:
    """The model: the present document is that of the last commit or list; its events are those after that."""
    loader, since = "", 0
    for number, event in enumerate(events):
        if event[0] == "committed" or (event[0] == "listed" and event[1] != loader):
            loader, since = event[1], number
    own = events[since:] if loader else events
    reached = {"unknown"} | ({"loading"} if own and own[0][0] == "committed" else set())
    for event in own:
        if event[0] == "stopped":
            reached.add("complete")
        elif event[0] == "reached":
            reached.add(event[1])
        elif event[0] == "lifecycle" and event[1] == loader:
            reached.add({"init": "loading", "DOMContentLoaded": "interactive", "load": "complete"}.get(event[2], ""))
    idle = any(each[0] == "lifecycle" and each[1:] == (loader, "networkIdle") for each in own)
    return loader, max(reached - {""}, key=ORDER.index), idle, in_flight(events)


def in_flight(events: list[Any]) -> str:
    """The navigation that began last, unless it has ended since."""
    loader, present, announced = "", "", False
    for event in events:
        if event[0] == "started" and event[2] != "sameDocument":
            loader, announced = event[1], False
        elif event[0] == "resumed":
            loader, announced = "" if announced else loader, True
        elif event[0] == "stopped":
            loader = ""
        elif event[0] == "committed":
            announced = False if event[2] or loader in ("", event[1]) else announced
            loader = "" if event[2] or event[1] == loader else loader
            present = event[1]
        elif event[0] == "listed" and event[1] != present:
            loader = "" if event[1] == loader else loader
            present = event[1]
    return loader


@given(events=st.lists(EVENTS, max_size=30))
@example(events=[("started", "a", "reload"), ("listed", "a")])
@example(events=[("committed", "a", False), ("lifecycle", "b", "networkIdle")])
def test_the_load_state_is_that_of_the_model(events: list[Any]) -> None:
    load = LoadState()
    for event in events:
        load = apply(load, event)
    assert (load.loader, load.phase, load.network_idle, load.navigating_to) == expected(events)


@given(events=st.lists(EVENTS, max_size=30), event=EVENTS)
def test_a_document_never_goes_back_and_a_change_that_changes_nothing_keeps_the_object(
    events: list[Any], event: Any
) -> None:
    before = LoadState()
    for each in events:
        before = apply(before, each)
    after = apply(before, event)
    assert (after is before) or after != before or event[0] in ("started", "committed", "resumed")
    if after.loader == before.loader and event[0] != "committed":
        assert ORDER.index(after.phase) >= ORDER.index(before.phase)
        assert after.network_idle >= before.network_idle


def test_a_navigation_in_flight_has_a_start() -> None:
    load = load_state.started(LoadState(), "a", "differentDocument", 7.0)
    assert (load.navigating_to, load.since) == ("a", 7.0)
    assert load_state.started(load, "b", "reload", 8.0).since == 8.0


@pytest.mark.parametrize("kind", ["sameDocument", "historySameDocument"])
def test_a_navigation_within_the_document_is_not_in_flight(kind: str) -> None:
    load = LoadState(loader="a", phase="complete")
    assert load_state.started(load, "b", kind, 1.0) is load


def test_the_commit_of_an_older_navigation_keeps_the_newer_one_in_flight() -> None:
    load = load_state.started(LoadState(), "b", "differentDocument", 1.0)
    after = load_state.committed(load, "a")
    assert (after.loader, after.phase, after.navigating_to, after.since) == ("a", "loading", "b", 1.0)
    assert load_state.committed(after, "b") == LoadState(loader="b", phase="loading")


def test_a_document_from_the_cache_ends_the_navigation_under_its_old_loader() -> None:
    load = load_state.started(LoadState(loader="a", phase="complete"), "new", "restore", 1.0)
    assert load_state.committed(load, "old", restored=True) == LoadState(loader="old", phase="loading")


def test_a_navigation_without_a_document_ends_where_loading_stops() -> None:
    load = load_state.started(LoadState(loader="a", phase="complete"), "b", "differentDocument", 1.0)
    assert load_state.stopped(load) == LoadState(loader="a", phase="complete", since=1.0)


# ── events ───────────────────────────────────────────────────────────────────────────────────────────────────────────

AT = 7.0
BEFORE = LoadState(loader="a", phase="loading")


@pytest.mark.parametrize(
    ("method", "params", "after"),
    [
        (
            "Page.frameStartedNavigating",
            {"loaderId": "b", "navigationType": "reload"},
            LoadState(loader="a", phase="loading", navigating_to="b", since=AT),
        ),
        ("Page.frameStartedNavigating", {"loaderId": "b", "navigationType": "sameDocument"}, BEFORE),
        ("Page.frameNavigated", {"frame": {"loaderId": "b"}}, LoadState(loader="b", phase="loading")),
        ("Page.frameNavigated", {"frame": 5}, LoadState(phase="loading")),
        ("Page.frameStoppedLoading", {}, LoadState(loader="a", phase="complete")),
        ("Page.domContentEventFired", {"timestamp": 1.0}, LoadState(loader="a", phase="interactive")),
        ("Page.loadEventFired", {"timestamp": 1.0}, LoadState(loader="a", phase="complete")),
        (
            "Page.lifecycleEvent",
            {"loaderId": "a", "name": "DOMContentLoaded"},
            LoadState(loader="a", phase="interactive"),
        ),
        ("Page.lifecycleEvent", {"loaderId": "b", "name": "load"}, BEFORE),
        ("Page.lifecycleEvent", {"loaderId": "a", "name": "commit"}, BEFORE),
    ],
)
def test_an_event_changes_the_load_state(method: str, params: Any, after: LoadState) -> None:
    assert load_state.applied(BEFORE, method, params, AT) == after


@pytest.mark.parametrize(("kind", "in_flight"), [("BackForwardCacheRestore", ""), ("Navigation", "c")])
def test_only_a_document_from_the_cache_ends_the_navigation_to_another_loader(kind: str, in_flight: str) -> None:
    load = load_state.started(BEFORE, "c", "restore", AT)
    params = {"frame": {"loaderId": "b"}, "type": kind}
    assert load_state.applied(load, "Page.frameNavigated", params, AT).navigating_to == in_flight


@pytest.mark.parametrize("method", [*load_state.EVENTS, "Page.frameNavigated"])
@pytest.mark.parametrize("odd", [None, 5, ["a"], {"a": "b"}])
def test_odd_params_are_empty_texts(method: str, odd: Any) -> None:
    params = {"loaderId": odd, "navigationType": odd, "name": odd, "frame": odd, "type": odd}
    load = load_state.applied(BEFORE, method, params, AT)
    assert all(isinstance(each, str) for each in (load.loader, load.phase, load.navigating_to))


def test_a_navigation_that_ends_while_the_old_document_loads_on_is_over() -> None:
    """A download or an empty answer, seen on Chromium beside an image that does not come (fact 92)."""
    load = load_state.started(BEFORE, "b", "differentDocument", AT)
    load = load_state.applied(load, "Page.frameStartedLoading", {}, AT)
    assert load.navigating_to == "b"
    assert load_state.applied(load, "Page.frameStartedLoading", {}, AT).navigating_to == ""


def test_without_its_events_a_document_is_complete_or_unknown() -> None:
    complete = LoadState(loader="a", phase="complete", network_idle=True)
    assert load_state.unwatched(complete) is complete
    for phase in ("loading", "interactive", "unknown"):
        assert load_state.unwatched(LoadState(loader="a", phase=phase)) == LoadState(loader="a")  # type: ignore[arg-type]
    assert load_state.unwatched(load_state.started(complete, "b", "reload", AT)).navigating_to == ""


def test_a_new_document_has_a_busy_network() -> None:
    idle = LoadState(loader="a", phase="complete", network_idle=True)
    assert not load_state.committed(idle, "b").network_idle
    assert not load_state.committed(load_state.started(idle, "c", "reload", AT), "b").network_idle
    assert not load_state.listed(idle, "b").network_idle
    assert load_state.lifecycle(idle, "a", "networkIdle") is idle
    assert LoadState().since == 0.0
