"""Values in use: reading, comparing, matching, making, and fields that were not sent."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import weakref
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import attrs
import pytest

from cdp_core.bindings import (
    NULL,
    EventValue,
    Value,
    dom,
    drift,
    forget_drift,
    from_json,
    page,
    replace,
    runtime,
    to_json,
)
from cdp_core.bindings._domain import Domain
from cdp_core.bindings._values import MISSING
from cdp_core.errors import BindingDrift, InvalidArgument, MissingField
from cdp_core.sansio.messages import Event
from cdp_core.sansio.structs import Raw
from support import protocol_values

DIALOG = {"url": "u", "frameId": "F", "message": "?", "type": "alert", "hasBrowserHandler": True}


def dialog(**changes: Any) -> Any:
    return page.JavascriptDialogOpening(
        **{"url": "u", "frame_id": "F", "message": "?", "type": "alert", "has_browser_handler": True, **changes}
    )


def read_dialog(raw: bytes) -> Any:
    return page.JavascriptDialogOpening.__cdp_read__(Event(method="Page.javascriptDialogOpening", raw=Raw(raw)))


SENT = b'{"url":"u","frameId":"F","message":"?","type":"alert","hasBrowserHandler":true}'


# ── fields that were not sent ────────────────────────────────────────────────────────────────────────────────────────


def test_a_required_field_that_was_not_sent_raises() -> None:
    value = from_json(page.JavascriptDialogOpening, {"url": "u", "type": "alert"})
    with pytest.raises(MissingField) as caught:
        _ = value.frame_id
    error = caught.value
    assert (error.item, error.field) == ("Page.javascriptDialogOpening", "frameId")
    assert "Page.javascriptDialogOpening.frameId" in str(error)
    assert isinstance(error, AttributeError)
    assert isinstance(error, BindingDrift)
    assert pickle.loads(pickle.dumps(error)).field == "frameId"
    assert getattr(value, "frame_id", None) is None
    assert not hasattr(value, "frame_id")
    assert (value.url, value.type, value.default_prompt) == ("u", page.DialogType.ALERT, None)
    assert repr(value) == (
        "JavascriptDialogOpening(url='u', frame_id=MISSING, message=MISSING, "
        "type=DialogType('alert'), has_browser_handler=MISSING)"
    )
    assert to_json(value) == {"url": "u", "type": "alert"}
    with pytest.raises(MissingField):
        attrs.evolve(value, url="v")


def test_every_required_field_of_every_item_can_be_missing() -> None:
    for item in protocol_values.VALUES:
        value = from_json(item.made, {})
        for field, attribute in zip(item.fields, attrs.fields(item.made), strict=True):
            if field.optional:
                assert getattr(value, attribute.name) is None
                assert attribute.default is None
            else:
                with pytest.raises(MissingField) as caught:
                    getattr(value, attribute.name)
                assert (caught.value.item, caught.value.field) == (item.place, field.wire)
                assert attribute.default is attrs.NOTHING
            assert attribute.metadata["experimental"] is field.experimental
            assert attribute.metadata["deprecated"] is field.deprecated
        assert to_json(value) == {}
        assert value == pickle.loads(pickle.dumps(value)) == copy.copy(value)


def test_missing_null_and_absent_fields_differ() -> None:
    values = [
        from_json(runtime.RemoteObject, {"type": "object"}),
        from_json(runtime.RemoteObject, {"type": "object", "value": None}),
        from_json(runtime.RemoteObject, {"type": None}),
        from_json(runtime.RemoteObject, {}),
        from_json(runtime.RemoteObject, {"type": None, "description": None}),
    ]
    for place, one in enumerate(values):
        for other in values[:place]:
            assert one != other
            assert repr(one) != repr(other)
        assert pickle.loads(pickle.dumps(one)) == one
        assert hash(pickle.loads(pickle.dumps(one))) == hash(one)
    assert (values[0].value, values[1].value, values[2].type) == (None, None, None)
    assert len(set(values)) == 5
    assert repr(values[1]) == "RemoteObject(type=RemoteObjectType('object'), value=NULL)"
    assert "type=MISSING" in repr(values[3])


def test_the_markers_are_one_object_each() -> None:
    for mark in (NULL, MISSING):
        assert pickle.loads(pickle.dumps(mark)) is mark is copy.deepcopy(mark)
    assert (repr(NULL), repr(MISSING)) == ("NULL", "MISSING")
    assert to_json(NULL) is None


def test_null_is_given_as_the_marker_null() -> None:
    argument = runtime.CallArgument(value=NULL)
    assert argument.value is None
    assert to_json(argument) == {"value": None}
    assert argument == from_json(runtime.CallArgument, {"value": None})
    assert argument != runtime.CallArgument() == runtime.CallArgument(value=None)
    assert to_json(runtime.CallArgument(value=None)) == {}
    assert to_json(runtime.CallArgument(value=False)) == {"value": False}


def test_both_readers_read_null_alike() -> None:
    kind = runtime.ConsoleAPICalled
    raw = b'{"type":"log","args":[{"type":"object","value":null},{"type":"undefined"}],"executionContextId":1,"timestamp":1}'
    forget_drift()
    value = kind.__cdp_read__(Event(method=kind.__cdp_method__, raw=Raw(raw)))
    null, undefined = value.args
    assert (null.value, undefined.value) == (None, None)
    assert null == runtime.RemoteObject(type="object", value=NULL) != runtime.RemoteObject(type="object")
    assert undefined == runtime.RemoteObject(type="undefined")
    assert (to_json(null), to_json(undefined)) == ({"type": "object", "value": None}, {"type": "undefined"})
    assert not drift()


# ── unknown fields and other types ───────────────────────────────────────────────────────────────────────────────────


def test_unknown_fields_are_kept_and_not_compared() -> None:
    value = from_json(page.JavascriptDialogOpening, {**DIALOG, "colour": {"a": [1]}, "extra": 2})
    assert value.extra == {"colour": {"a": [1]}, "extra": 2}
    assert to_json(value) == {**DIALOG, "colour": {"a": [1]}, "extra": 2}
    plain = from_json(page.JavascriptDialogOpening, DIALOG)
    assert value == plain == dialog()
    assert hash(value) == hash(plain)
    assert plain.extra == dialog().extra == read_dialog(SENT).extra == {}
    for again in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
        assert again.extra == value.extra
    with pytest.raises(TypeError):
        value.extra["new"] = 1


def test_a_field_of_another_type_is_kept_as_it_was_sent() -> None:
    sent = {"url": 5, "frameId": None, "message": {"a": 1}, "type": ["x"], "hasBrowserHandler": "no"}
    value = from_json(page.JavascriptDialogOpening, sent)
    assert (value.url, value.frame_id, value.message, value.type) == (5, None, {"a": 1}, ["x"])
    assert to_json(value) == sent
    frame = from_json(page.FrameNavigated, {"frame": [1, {}], "type": {"a": 1}})
    assert (frame.frame, frame.type) == ([1, {}], {"a": 1})


# ── immutable objects ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("value", [dialog(), read_dialog(SENT), from_json(page.JavascriptDialogOpening, {})])
@pytest.mark.parametrize("name", ["url", "type", "default_prompt", "extra", "_source", "colour"])
def test_values_are_immutable(value: Any, name: str) -> None:
    before = to_json(value)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        setattr(value, name, 1)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        delattr(value, name)
    assert to_json(value) == before


def test_an_unknown_attribute() -> None:
    with pytest.raises(AttributeError, match=r"JavascriptDialogOpening.* 'frameId'") as caught:
        _ = dialog().frameId
    assert not isinstance(caught.value, MissingField)


def test_values_of_other_types_differ() -> None:
    assert page.InterstitialShown() == page.InterstitialShown()
    assert page.InterstitialShown() != page.InterstitialHidden()
    assert page.InterstitialShown() != {}
    assert dialog() != DIALOG
    assert hash(page.InterstitialShown()) != hash(page.InterstitialHidden())
    assert dialog() != dialog(url="v")
    assert dialog() != dialog(default_prompt="")
    assert len({dialog(), dialog(), read_dialog(SENT)}) == 1


def test_a_value_that_holds_a_dict_is_unhashable() -> None:
    value = runtime.CallArgument(value={"a": 1})
    assert value == from_json(runtime.CallArgument, {"value": {"a": 1}})
    with pytest.raises(TypeError, match="unhashable"):
        hash(value)


def test_values_in_a_match_statement() -> None:
    def describe(value: object) -> str:
        match value:
            case page.JavascriptDialogOpening(type=page.DialogType.ALERT, message=message):
                return f"alert {message}"
            case page.JavascriptDialogOpening(frame_id=frame):
                return f"dialog in {frame}"
            case page.JavascriptDialogOpening():
                return "dialog somewhere"
            case EventValue():
                return "event"
            case _:
                return "else"

    assert describe(dialog()) == describe(read_dialog(SENT)) == "alert ?"
    assert describe(dialog(type="prompt")) == "dialog in F"
    assert describe(from_json(page.JavascriptDialogOpening, {"type": "prompt"})) == "dialog somewhere"
    assert describe(page.InterstitialShown()) == "event"
    assert describe(runtime.CallArgument()) == "else"
    with pytest.raises(TypeError, match="accepts 0 positional"):
        match dialog():
            case page.JavascriptDialogOpening(_url):
                pass


def test_weak_references() -> None:
    for value in (dialog(), read_dialog(SENT)):
        assert weakref.ref(value)() is value
    seen = weakref.ref(dialog())
    gc.collect()
    assert seen() is None


def test_dir_has_each_name_once() -> None:
    for value in (dialog(), read_dialog(SENT), from_json(page.JavascriptDialogOpening, {})):
        names = dir(value)
        assert {"url", "frame_id", "default_prompt", "extra"} <= {*names}
        assert len(names) == len({*names})


def test_names_docstrings_and_bases() -> None:
    kind = page.JavascriptDialogOpening
    assert (kind.__module__, kind.__qualname__) == ("cdp_core.bindings.page", "JavascriptDialogOpening")
    assert kind.__cdp_method__ == "Page.javascriptDialogOpening"
    assert issubclass(kind, EventValue)
    assert issubclass(page.Frame, Value)
    assert not issubclass(page.Frame, EventValue)
    assert kind.__doc__ == (
        "Page.javascriptDialogOpening. "
        "https://chromedevtools.github.io/devtools-protocol/tot/Page/#event-javascriptDialogOpening"
    )
    assert page.NavigateResult.__doc__ == (
        "What Page.navigate brings. https://chromedevtools.github.io/devtools-protocol/tot/Page/#method-navigate"
    )
    assert "Experimental. Deprecated." in (page.DownloadWillBegin.__doc__ or "")


def test_nested_values_are_typed_and_made_once() -> None:
    raw = b'{"parentId":1,"nodes":[{"nodeId":1,"backendNodeId":2,"nodeType":1,"nodeName":"A","localName":"a","nodeValue":""}]}'
    for value in (
        dom.SetChildNodes.__cdp_read__(Event(method="DOM.setChildNodes", raw=Raw(raw))),
        dom.SetChildNodes.__cdp_read__(Event(method="DOM.setChildNodes", raw=Raw(raw.replace(b"{", b'{"x":1,', 1)))),
    ):
        (node,) = value.nodes
        assert type(node) is dom.Node
        assert node.local_name == "a"
        assert node.children is None
        assert value.nodes is value.nodes
    quads = from_json(dom.GetContentQuadsResult, {"quads": [[1, 2.5]]}).quads
    assert quads == ((1, 2.5),)


# ── making a value ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_error_of_a_constructor_names_the_field() -> None:
    with pytest.raises(TypeError, match=r"^LoadEventFired needs timestamp\.$"):
        page.LoadEventFired()
    with pytest.raises(TypeError, match=r"^JavascriptDialogOpening needs url, message, has_browser_handler\.$"):
        page.JavascriptDialogOpening(frame_id="F", type="alert", message=None)
    with pytest.raises(TypeError, match=r"^LoadEventFired has no 'time'; it has timestamp\.$"):
        page.LoadEventFired(timestamp=1, time=1)
    with pytest.raises(TypeError, match=r"^InterstitialShown has no 'x'; it has no parameters\.$"):
        page.InterstitialShown(x=1)
    with pytest.raises(TypeError, match="positional"):
        page.LoadEventFired(1)


def test_a_field_cannot_be_given_by_its_name_in_the_protocol() -> None:
    with pytest.raises(TypeError, match="has no 'frameId'; it has url, frame_id, message"):
        dialog(frameId="F")


def test_a_caller_may_give_lists_and_plain_text() -> None:
    """The value equals the one that is read from JSON, and is hashable."""
    quad = [1, 2, 3, 4, 5, 6, 7, 8]
    box = dom.BoxModel(content=quad, padding=quad, border=tuple(quad), margin=quad, width=1, height=1)
    assert box.content == tuple(quad)
    sent = {"content": quad, "padding": quad, "border": quad, "margin": quad, "width": 1, "height": 1}
    assert to_json(box) == sent
    assert box == from_json(dom.BoxModel, sent) == pickle.loads(pickle.dumps(box))
    assert hash(box) == hash(from_json(dom.BoxModel, sent))
    quads = dom.GetContentQuadsResult(quads=[quad, quad])
    assert quads == from_json(dom.GetContentQuadsResult, {"quads": [quad, quad]})
    assert hash(quads) == hash(pickle.loads(pickle.dumps(quads)))
    assert dialog(type="alert").type is page.DialogType.ALERT
    assert dialog(type="toast").type == page.DialogType("toast")
    assert type(dialog(type="toast").type) is page.DialogType


@pytest.mark.parametrize("replaced", [replace, lambda value, /, **changes: value.__replace__(**changes)])
def test_replace_keeps_the_other_fields_as_they_were_sent(replaced: Any) -> None:
    sent = {"url": 5, "type": "alert", "hasBrowserHandler": True, "defaultPrompt": None, "colour": {"a": 1}}
    value = from_json(page.JavascriptDialogOpening, sent)
    changed = replaced(value, type="prompt", message="?")
    assert to_json(changed) == {**sent, "type": "prompt", "message": "?"}
    assert to_json(value) == sent
    assert changed.type is page.DialogType.PROMPT
    assert not hasattr(changed, "frame_id")
    assert to_json(replaced(changed, default_prompt="x")) == {**to_json(changed), "defaultPrompt": "x"}
    assert "defaultPrompt" not in to_json(replaced(changed, default_prompt=None))
    assert replaced(read_dialog(SENT), url="v") == dialog(url="v")
    assert replaced(read_dialog(SENT)) == read_dialog(SENT)
    argument = runtime.CallArgument(value=1)
    assert replaced(argument, value=NULL) == runtime.CallArgument(value=NULL)
    with pytest.raises(TypeError, match="has no 'frameId'; it has url, frame_id"):
        replaced(value, frameId="F")
    with pytest.raises(TypeError, match="needs url"):
        replaced(value, url=None)
    with pytest.raises(InvalidArgument, match="JavascriptDialogOpening: url must be a string, not int"):
        replaced(value, url=7)


@pytest.mark.skipif(sys.version_info < (3, 13), reason="copy.replace needs Python 3.13")
def test_the_standard_library_s_replace() -> None:
    value = from_json(page.JavascriptDialogOpening, {"url": "u", "colour": 1})
    assert to_json(copy.replace(value, url="v")) == {"url": "v", "colour": 1}


def test_a_value_in_a_value() -> None:
    stack = runtime.StackTrace(
        call_frames=[runtime.CallFrame(function_name="f", script_id="1", url="", line_number=0, column_number=0)],
        parent=runtime.StackTrace(call_frames=[]),
    )
    assert to_json(stack) == {
        "callFrames": [{"functionName": "f", "scriptId": "1", "url": "", "lineNumber": 0, "columnNumber": 0}],
        "parent": {"callFrames": []},
    }
    assert stack == from_json(runtime.StackTrace, to_json(stack)) == pickle.loads(pickle.dumps(stack))
    assert attrs.evolve(stack, parent=None) == runtime.StackTrace(call_frames=stack.call_frames)
    assert attrs.asdict(stack)["parent"]["call_frames"] == ()


# ── names that clash with those of the bindings ──────────────────────────────────────────────────────────────────────

CLASHING_NAMES = (
    *("extra", "nulls", "spec", "kind", "given", "keys", "items", "get", "mro", "name", "type"),
    *("class", "None", "self", "cls", "str", "tuple", "object", "count"),
)


@pytest.fixture(scope="module")
def clashing() -> Iterator[Any]:
    """A domain with field names that the bindings use for their own attributes."""
    module = ModuleType("bindings_test_hard")
    fields = (*(f"{name}?:str" for name in CLASHING_NAMES), "must:str", "source?:[Thing]", "list?:[Thing]")
    module.DOMAIN = Domain(  # type: ignore[attr-defined]
        module.__name__,
        "Hard",
        "",
        names={},
        enums={},
        objects={"Thing": ("", *fields), "Domain": ("", "x:int")},
        commands={"act": ("", fields, fields)},
        events={"happened": ("", *fields)},
    )
    module.__getattr__ = module.DOMAIN.make  # type: ignore[method-assign]
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]


@pytest.mark.parametrize("name", ["Thing", "Happened", "ActResult"])
def test_field_names_that_clash(clashing: Any, name: str) -> None:
    kind = getattr(clashing, name)
    sent = {**{name: name.upper() for name in CLASHING_NAMES}, "must": "M"}
    things = [{"must": "M", "nulls": "n", "extra": "e"}, {"must": "N", "source": []}]
    sent |= {"source": things, "list": things[:1]}
    assert {each.name for each in attrs.fields(kind)} >= {"extra_", "class_", "must"}
    for value in (from_json(kind, sent), protocol_values.from_octets(kind, protocol_values.octets(sent))):
        assert to_json(value) == sent
        assert value.extra == {}
        for field in attrs.fields(kind)[:-2]:
            assert getattr(value, field.name) == sent[field.metadata["cdp_name"]]
        assert value.source == (clashing.Thing(must="M", nulls_="n", extra_="e"), clashing.Thing(must="N", source=()))
        assert value.list == value.source[:1]
        assert value == pickle.loads(pickle.dumps(value)) == attrs.evolve(value)
        assert "MISSING" not in repr(value)
    with pytest.raises(MissingField):
        _ = from_json(kind, {}).must
    assert from_json(kind, {"nulls": None}) != from_json(kind, {})
    assert clashing.act(**{each.name: "x" for each in attrs.fields(kind)[:-2]}).to_params()["nulls"] == "x"
