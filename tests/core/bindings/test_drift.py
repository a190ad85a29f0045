"""Drift: counted by place, reported and cleared on request, and raised only in strict mode."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdp_core import SessionId
from cdp_core.bindings import (
    DriftReport,
    EnumValue,
    EventValue,
    Value,
    _drift,
    dom,
    drift,
    forget_drift,
    from_json,
    network,
    page,
    parse_command,
    parse_event,
    parse_result,
    runtime,
    strict,
    target,
)
from cdp_core.errors import BindingDrift, InvalidArgument
from cdp_core.sansio.messages import Event, WholeEvent
from cdp_core.sansio.structs import Raw

DIALOG = {"url": "u", "frameId": "F", "message": "?", "type": "alert", "hasBrowserHandler": True}


@pytest.fixture(autouse=True)
def drift_starts_at_zero() -> None:
    forget_drift()


def read(**changes: Any) -> Any:
    """Read a dialog's event with these fields changed; `...` removes a field."""
    fields = {name: value for name, value in {**DIALOG, **changes}.items() if value is not ...}
    return from_json(page.JavascriptDialogOpening, fields)


def report(**kinds: dict[str, int]) -> DriftReport:
    return attrs.evolve(DriftReport(**{kind: {} for kind in attrs.fields_dict(DriftReport)}), **kinds)


def event(method: str, raw: bytes = b"{}") -> Event:
    return Event(method=method, raw=Raw(raw))


# ── what is counted ──────────────────────────────────────────────────────────────────────────────────────────────────

ITEM = "Page.javascriptDialogOpening"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {}),
        ({"defaultPrompt": "x"}, {}),
        ({"colour": 1}, {"unknown_fields": {f"{ITEM}.colour": 1}}),
        ({"colour": None, "shape": {}}, {"unknown_fields": {f"{ITEM}.colour": 1, f"{ITEM}.shape": 1}}),
        ({"frameId": ...}, {"missing_fields": {f"{ITEM}.frameId": 1}}),
        ({"frameId": None}, {"other_types": {f"{ITEM}.frameId": 1}}),
        ({"defaultPrompt": None}, {"other_types": {f"{ITEM}.defaultPrompt": 1}}),
        ({"url": 5}, {"other_types": {f"{ITEM}.url": 1}}),
        ({"type": 5}, {"other_types": {f"{ITEM}.type": 1}}),
        ({"hasBrowserHandler": 1}, {"other_types": {f"{ITEM}.hasBrowserHandler": 1}}),
        ({"type": "toast"}, {"unknown_members": {"Page.DialogType=toast": 1}}),
        (
            {"type": "toast", "url": ..., "message": [], "colour": 1},
            {
                "unknown_members": {"Page.DialogType=toast": 1},
                "missing_fields": {f"{ITEM}.url": 1},
                "other_types": {f"{ITEM}.message": 1},
                "unknown_fields": {f"{ITEM}.colour": 1},
            },
        ),
    ],
)
def test_each_kind_of_drift_is_counted(changes: dict[str, Any], expected: dict[str, dict[str, int]]) -> None:
    read(**changes)
    assert drift() == report(**expected)
    assert drift().total == sum(map(len, expected.values()))
    assert bool(drift()) is bool(expected)
    read(**changes)
    assert drift() == report(**{kind: dict.fromkeys(places, 2) for kind, places in expected.items()})


def test_drift_of_a_nested_value_is_counted_for_its_own_type() -> None:
    frame = {"scriptId": "1", "url": "", "lineNumber": 1, "columnNumber": "1", "colour": 1}
    from_json(runtime.StackTrace, {"callFrames": [frame, frame, 7], "parent": {}, "parentId": {"id": None}})
    assert drift() == report(
        missing_fields={"Runtime.CallFrame.functionName": 2, "Runtime.StackTrace.callFrames": 1},
        unknown_fields={"Runtime.CallFrame.colour": 2},
        other_types={
            "Runtime.CallFrame.columnNumber": 2,
            "Runtime.StackTrace.callFrames": 1,
            "Runtime.StackTraceId.id": 1,
        },
    )


def test_unknown_items_are_counted() -> None:
    unknown = [
        event("Page.dreamed"),
        event("Vendor.happened"),
        event("odd"),
        event(""),
        event("Page."),
        event(".loadEventFired"),
    ]
    for each in unknown:
        assert parse_event(each) is each
        assert parse_event(each) is each
    assert parse_command("Page.dream", {"a": 1}) is None
    assert parse_command("Vendor.act") is None
    assert parse_result("Page.dream", {"a": 1}) == {"a": 1}
    # Only the protocol's spelling is known: not Python's names, and not a command as an event.
    assert parse_event(event("Page.LoadEventFired")) == event("Page.LoadEventFired")
    assert parse_event(event("page.loadEventFired")) == event("page.loadEventFired")
    assert parse_event(event("Page.navigate")) == event("Page.navigate")
    assert parse_command("Page.add_script_to_evaluate_on_new_document", {}) is None
    assert drift() == report(
        unknown_items={
            **{each.method: 2 for each in unknown if each.method},
            "": 2,
            "Page.dream": 2,
            "Vendor.act": 1,
            "Page.LoadEventFired": 1,
            "page.loadEventFired": 1,
            "Page.navigate": 1,
            "Page.add_script_to_evaluate_on_new_document": 1,
        }
    )


def test_fields_of_a_result_of_a_command_without_results_are_counted() -> None:
    assert parse_result("Page.enable", {"colour": 1, "shape": 2}) is None
    assert page.enable().parse({"colour": 1}) is None
    assert drift() == report(unknown_fields={"Page.enable.colour": 2, "Page.enable.shape": 1})


def test_params_that_are_not_an_object_and_params_of_large_events_are_counted() -> None:
    for raw in (b"[]", b"null", b"7", b"{", b'{"timestamp":1}}', b"\xff"):
        forget_drift()
        fired = parse_event(event("Page.loadEventFired", raw))
        assert type(fired) is page.LoadEventFired
        assert drift() == report(
            other_types={"Page.loadEventFired.params": 1}, missing_fields={"Page.loadEventFired.timestamp": 1}
        )
    forget_drift()
    large = parse_event(WholeEvent(method="Page.loadEventFired", whole={"timestamp": 1.5, "colour": 1}, octets=1 << 24))
    assert large == page.LoadEventFired(timestamp=1.5)
    assert drift() == report(unknown_fields={"Page.loadEventFired.colour": 1})


def test_using_a_value_counts_nothing_more() -> None:
    value = read(type="toast", frameId=..., colour=1)
    before = drift()
    assert (value.type, value.extra) == ("toast", {"colour": 1})
    repr(value)
    assert pickle.loads(pickle.dumps(value)) == value
    getattr(value, "frame_id", None)
    page.JavascriptDialogOpening(url="", frame_id="F", message="", type="toast", has_browser_handler=True)
    assert drift() == before


# ── the report ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_report_is_immutable() -> None:
    read(colour=1)
    one = drift()
    read(colour=1)
    assert one.unknown_fields == {f"{ITEM}.colour": 1}
    assert drift().unknown_fields == {f"{ITEM}.colour": 2}
    with pytest.raises(TypeError):
        one.unknown_fields["x"] = 1  # type: ignore[index]
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        one.unknown_fields = {}  # type: ignore[misc]
    forget_drift()
    assert drift() == report()
    assert not drift()
    assert one.total == 1


def test_the_number_of_places_is_bounded_for_each_kind() -> None:
    for number in range(_drift.MAX_PLACES + 7):
        read(**{f"colour{number}": 1})
    read(colour0=1)
    read(type="toast")
    counts = drift().unknown_fields
    assert len(counts) == _drift.MAX_PLACES + 1
    assert counts[_drift.OTHERS] == 7
    assert counts[f"{ITEM}.colour0"] == 2
    assert drift().total == _drift.MAX_PLACES + 9
    assert drift().unknown_members == {"Page.DialogType=toast": 1}


def test_the_length_of_place_names_is_bounded() -> None:
    read(**{"c" * 100_000: 1}, type="t" * 100_000)
    parse_event(event("E" * 100_000))
    for place in (*drift().unknown_fields, *drift().unknown_members, *drift().unknown_items):
        assert _drift.MAX_NAME <= len(place) <= 2 * _drift.MAX_NAME + 1


@given(st.lists(st.text(max_size=120), max_size=30))
def test_each_unknown_field_is_counted(names: list[str]) -> None:
    forget_drift()
    for name in names:
        from_json(page.FrameResized, {name: 1})
    assert drift().total == sum(drift().unknown_fields.values()) == len(names)


# ── strict mode ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("changes", "item", "field", "expected"),
    [
        ({"colour": 1}, ITEM, "colour", f"the browser sent the field {ITEM}.colour, which the bindings do not know."),
        ({"url": ...}, ITEM, "url", f"the browser did not send {ITEM}.url, which the bindings require."),
        ({"url": 5}, ITEM, "url", f"the browser sent {ITEM}.url as another type than the bindings have."),
        (
            {"type": "toast"},
            "Page.DialogType",
            "toast",
            "the browser sent the member 'toast' of Page.DialogType, which the bindings do not know.",
        ),
    ],
)
def test_the_error_of_strict_mode_names_the_drift_and_its_place(
    changes: dict[str, Any], item: str, field: str, expected: str
) -> None:
    with strict():
        read()
        with pytest.raises(BindingDrift) as caught:
            read(**changes)
    assert (caught.value.item, caught.value.field, str(caught.value)) == (item, field, expected)
    read(**changes)


@pytest.mark.parametrize(
    "act",
    [
        lambda: parse_event(event("Vendor.happened")),
        lambda: parse_event(event("Page.loadEventFired", b"7")),
        lambda: page.LoadEventFired.__cdp_read__(event("Page.loadEventFired", b'{"timestamp":"x"}')),
        lambda: parse_command("Vendor.act"),
        lambda: parse_command("Page.navigate", {}),
        lambda: parse_result("Vendor.act", {}),
        lambda: parse_result("Page.enable", {"a": 1}),
        lambda: page.navigate(url="").parse({}),
        lambda: from_json(page.DialogType, "toast"),
    ],
)
def test_strict_mode_covers_every_way_of_reading(act: Any) -> None:
    with strict(), pytest.raises(BindingDrift):
        act()
    act()


def test_strict_mode_does_not_affect_values_that_a_caller_makes() -> None:
    with strict():
        dialog = page.JavascriptDialogOpening(url="", frame_id="F", message="", type="toast", has_browser_handler=True)
        assert pickle.loads(pickle.dumps(dialog)) == dialog
        with pytest.raises(BindingDrift):
            from_json(page.JavascriptDialogOpening, {**DIALOG, "type": "toast"})


def test_strict_blocks_nest_and_end_after_an_exception() -> None:
    with strict():
        with pytest.raises(ZeroDivisionError), strict():
            raise ZeroDivisionError
        with pytest.raises(BindingDrift):
            read(colour=1)
    read(colour=1)


def test_strict_mode_covers_every_thread() -> None:
    caught: list[BaseException | None] = []

    def reader() -> None:
        try:
            read(colour=1)
        except BindingDrift as error:
            caught.append(error)
        else:
            caught.append(None)

    def in_a_thread() -> None:
        thread = threading.Thread(target=reader)
        thread.start()
        thread.join()

    with strict():
        in_a_thread()
    in_a_thread()
    assert [type(each) for each in caught] == [BindingDrift, type(None)]
    assert drift().total == 2


# ── aliases, and arguments that are not types ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("kind", "value", "place"),
    [
        (page.FrameId, 5, "Page.FrameId"),
        (page.FrameId, None, "Page.FrameId"),
        (network.MonotonicTime, "1", "Network.MonotonicTime"),
        (network.Headers, [], "Network.Headers"),
        (dom.Quad, "odd", "DOM.Quad"),
        (dom.Quad, [1, "2"], "DOM.Quad"),
        (target.TargetID, 5, "Target.TargetID"),
        (SessionId, 5, "Target.SessionID"),
    ],
)
def test_an_alias_with_a_value_of_another_type(kind: Any, value: Any, place: str) -> None:
    assert from_json(kind, value) in (value, tuple(value or ()) if isinstance(value, list) else value)
    assert drift() == report(other_types={place: 1})
    with strict(), pytest.raises(BindingDrift) as caught:
        from_json(kind, value)
    assert (caught.value.item, caught.value.field) == (place, "")
    assert str(caught.value) == f"the browser sent {place} as another type than the bindings have."


class UnrelatedClass:
    """A class that is not a type of the bindings."""


@pytest.mark.parametrize(
    "kind",
    [
        *("Page.Frame", 5, None, page, page.navigate, page.DOMAIN, UnrelatedClass, UnrelatedClass()),
        *(list, dict, str, object, Any),
        *(list[int], dict[str, int], tuple[int], tuple[int, str], Value, EventValue, EnumValue, Event, "x" * 1000),
    ],
)
@pytest.mark.parametrize("value", [{}, [1], "x"])
def test_from_json_refuses_a_type_that_is_not_of_the_bindings(kind: Any, value: Any) -> None:
    with pytest.raises(
        InvalidArgument, match=r"is not a type of the bindings, such as page\.Frame or page\.FrameId\.$"
    ) as caught:
        from_json(kind, value)
    assert len(str(caught.value)) < 200


def test_a_tuple_of_values_is_made_from_an_array() -> None:
    assert from_json(tuple[page.FrameId, ...], ["a", 5]) == ("a", 5)
    assert drift() == report(other_types={"Page.FrameId": 1})
    with pytest.raises(InvalidArgument, match="is made from a JSON array, not from dict"):
        from_json(tuple[page.Frame, ...], {})


@pytest.mark.parametrize("method", [None, 5, b"Page.enable", ["Page.enable"]])
def test_a_method_must_be_a_string(method: Any) -> None:
    for parse in (parse_command, parse_result):
        with pytest.raises(InvalidArgument, match=r"A method is a string such as 'Page\.navigate', not of type"):
            parse(method, {})


def test_json_that_is_nested_too_deeply_is_kept_and_counted() -> None:
    nested: Any = {"frame": {}}
    for _ in range(5000):
        nested = {"frame": {}, "childFrames": [nested]}
    forget_drift()
    value = from_json(page.FrameTree, nested)
    assert set(drift().other_types) <= {"Page.FrameTree.childFrames", "Page.FrameTree.frame"}  # of the deepest levels
    assert 1 <= sum(drift().other_types.values()) <= 4
    while isinstance(value, page.FrameTree):
        value = value.child_frames
        value = value[0] if value else None
    assert isinstance(value, dict)


# ── copies of a report ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_report_can_be_pickled_and_copied() -> None:
    read(colour=1, type="toast")
    one = drift()
    for again in (pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one)):
        assert again == one
        assert again.total == 2
        with pytest.raises(TypeError):
            again.unknown_fields["x"] = 1
