"""Conversion of JSON to values: by class, by alias, or by the protocol's own names."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from cdp_core import BrowserContextId, SessionId, TargetId
from cdp_core.bindings import (
    NULL,
    Value,
    _catalog,
    browser,
    dom,
    domain_names,
    drift,
    forget_drift,
    from_json,
    network,
    page,
    parse_command,
    parse_event,
    parse_result,
    register,
    runtime,
    schema,
    target,
    to_json,
)
from cdp_core.bindings._domain import Domain
from cdp_core.errors import InvalidArgument
from cdp_core.sansio.messages import Event
from cdp_core.sansio.structs import Raw

# ── from_json and to_json ────────────────────────────────────────────────────────────────────────────────────────────


def test_aliases_of_plain_types() -> None:
    assert from_json(page.FrameId, "F") == "F"
    assert from_json(network.MonotonicTime, 1.5) == 1.5
    assert from_json(network.Headers, {"a": "b"}) == {"a": "b"}
    assert from_json(runtime.UnserializableValue, "NaN") == "NaN"
    for kind, own in (
        (target.TargetID, TargetId),
        (target.SessionID, SessionId),
        (browser.BrowserContextID, BrowserContextId),
    ):
        assert kind is own
    assert page.FrameId.__name__ == "FrameId"
    assert page.FrameId.__module__ == "cdp_core.bindings.page"
    assert page.FrameId("F") == "F"


def test_aliases_of_arrays() -> None:
    assert dom.Quad == tuple[float, ...]
    assert from_json(dom.Quad, [1, 2.5]) == (1, 2.5)
    assert from_json(tuple[dom.Quad, ...], [[1], [2]]) == ((1,), (2,))
    assert from_json(tuple[page.DialogType, ...], ["alert", "confirm"]) == page.DialogType.members()[:2]
    (frame,) = from_json(tuple[page.Frame, ...], [{"id": "F"}])
    assert type(frame) is page.Frame
    assert from_json(dom.Quad, "odd") == "odd"
    assert to_json(from_json(dom.Quad, [1, 2])) == [1, 2]


@pytest.mark.parametrize("value", [None, [], "x", 5, True, [{"timestamp": 1}]])
def test_only_a_json_object_makes_a_value(value: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"^LoadEventFired is made from a JSON object, not from ") as caught:
        from_json(page.LoadEventFired, value)
    assert type(value).__name__ in str(caught.value)


def test_to_json_accepts_anything_of_the_bindings() -> None:
    fired = page.LoadEventFired(timestamp=1)
    assert to_json({"a": (fired, [page.DialogType.ALERT]), "b": NULL, "c": None}) == {
        "a": [{"timestamp": 1}, ["alert"]],
        "b": None,
        "c": None,
    }
    for plain in (None, True, 1, 1.5, "x", [], {}, {"a": [{}]}):
        assert to_json(plain) == plain
    assert type(to_json(page.DialogType.ALERT)) is str


def test_changing_the_json_does_not_change_the_value() -> None:
    for value in (
        page.FrameTree(frame=from_json(page.Frame, {"id": "F"}), child_frames=[]),
        from_json(page.FrameTree, {"frame": {"id": "F"}, "childFrames": [], "colour": 1}),
    ):
        written = to_json(value)
        written["childFrames"].append(1)
        written["frame"]["id"] = "G"
        assert to_json(value)["childFrames"] == []
        assert to_json(value)["frame"]["id"] == "F"


# ── by the protocol's names ──────────────────────────────────────────────────────────────────────────────────────────


def test_events_of_every_domain_are_found(domain: Domain) -> None:
    forget_drift()
    for name in domain.table.events:
        event = Event(method=f"{domain.name}.{name}", raw=Raw(b"{}"))
        value = parse_event(event)
        assert isinstance(value, Value)
        assert type(value) is domain.event(name)
        assert type(value).__cdp_method__ == event.method
        assert type(parse_event(event)) is type(value)
    required = sum("?" not in field.split(":")[0] for _, *fields in domain.table.events.values() for field in fields)
    assert drift().total == 2 * required
    assert sum(drift().missing_fields.values()) == 2 * required


def test_commands_of_every_domain_are_found(domain: Domain) -> None:
    forget_drift()
    for name in domain.table.commands:
        command = parse_command(f"{domain.name}.{name}")
        assert command is not None
        assert command.method == f"{domain.name}.{name}"
        result = parse_result(command.method, {})
        assert type(result) is (domain.command(name).result or type(None))
    assert not drift().unknown_items


def test_a_protocol_type_may_share_its_name_with_a_class_of_the_bindings() -> None:
    """The protocol's `Schema.Domain` is a value, not the bindings' class `Domain`."""
    value = from_json(schema.GetDomainsResult, {"domains": [{"name": "Page", "version": "1.3"}]})
    assert value.domains == (schema.Domain(name="Page", version="1.3"),)
    assert issubclass(schema.Domain, Value)


# ── domains of other packages ────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def vendor() -> Iterator[Any]:
    module = ModuleType("bindings_test_vendor")
    module.DOMAIN = Domain(  # type: ignore[attr-defined]
        module.__name__,
        "TestVendor",
        "",
        names={},
        enums={},
        objects={},
        commands={"act": ("", ("frame?:Page.Frame", "kind?:Page.DialogType"), ("ok:bool",))},
        events={"happened": ("", "at:Network.MonotonicTime", "frames:[Page.Frame]")},
    )
    module.__getattr__ = module.DOMAIN.make  # type: ignore[method-assign]
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]
    _catalog._registered.pop("TestVendor", None)


def test_a_registered_domain_works_like_the_standard_ones(vendor: Any) -> None:
    happened = Event(method="TestVendor.happened", raw=Raw(b'{"at":1.5,"frames":[]}'))
    forget_drift()
    assert parse_event(happened) is happened
    assert drift().unknown_items == {"TestVendor.happened": 1}
    register(vendor)
    register(vendor)
    assert domain_names().count("TestVendor") == 1
    assert parse_event(happened) == vendor.Happened(at=1.5, frames=[])
    command = parse_command("TestVendor.act", {"kind": "alert"})
    assert command == vendor.act(kind=page.DialogType.ALERT)
    assert command is not None
    assert command.parse({"ok": True}) == vendor.ActResult(ok=True)
    assert parse_result("TestVendor.act", {"ok": True}) == vendor.ActResult(ok=True)
    assert drift().total == 1


def test_invalid_registrations_are_refused(vendor: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"^json is not a module of bindings; "):
        register(sys.modules["json"])
    register(page)
    other = ModuleType("bindings_test_other_page")
    other.DOMAIN = Domain(  # type: ignore[attr-defined]
        other.__name__, "Page", "", names={}, enums={}, objects={}, commands={}, events={}
    )
    with pytest.raises(InvalidArgument, match=r"^The domain Page exists already, in cdp_core\.bindings\.page"):
        register(other)
    borrowed = ModuleType("bindings_test_borrowed")
    borrowed.DOMAIN = vendor.DOMAIN  # type: ignore[attr-defined]
    with pytest.raises(InvalidArgument, match="is not a module of bindings"):
        register(borrowed)
