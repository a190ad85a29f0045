"""Introspection of the bindings at run time: docstrings, annotations, signatures, marks."""

from __future__ import annotations

import copy
import inspect
import pickle
import types
import typing
from typing import Any

import attrs
import pytest

from cdp_core.bindings import Value, dom, network, page, runtime, target
from cdp_core.bindings._domain import OWN_NAMES, Domain
from cdp_core.bindings._names import field_name
from cdp_core.bindings._tables import parse_field
from support import protocol_values

PAGES = "https://chromedevtools.github.io/devtools-protocol/tot/"

# ── aliases of other types ───────────────────────────────────────────────────────────────────────────────────────────


def test_every_alias_has_its_own_docstring(domain: Domain) -> None:
    for name, (marks, _kind) in domain.table.names.items():
        words_of_marks = "Experimental. " * ("~" in marks) + "Deprecated. " * ("!" in marks)
        assert domain.get(name).__doc__ == f"{domain.name}.{name}. {words_of_marks}{PAGES}{domain.name}/#type-{name}"


def test_the_ids_of_the_engine_have_a_docstring_too() -> None:
    for name in OWN_NAMES:
        assert name.startswith(("Browser.", "Target."))
    assert target.TargetID.__doc__ == f"Target.TargetID. {PAGES}Target/#type-TargetID"


def test_an_alias_equals_its_type() -> None:
    quad, headers = dom.Quad, network.Headers
    assert quad == tuple[float, ...]
    assert hash(quad) == hash(tuple[float, ...])
    assert (repr(quad), repr(headers)) == ("tuple[float, ...]", "dict[str, typing.Any]")
    assert (typing.get_origin(quad), typing.get_args(quad)) == (tuple, (float, ...))
    assert isinstance(quad, types.GenericAlias)
    assert quad([1]) == (1,)
    assert headers(a=1) == {"a": 1}
    for again in (pickle.loads(pickle.dumps(quad)), copy.deepcopy(quad)):
        assert again == quad
    assert typing.get_args(quad | None) == (quad, type(None))


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_type_hints_of_a_class() -> None:
    hints = typing.get_type_hints(page.JavascriptDialogOpening)
    assert hints == {
        "url": str,
        "frame_id": page.FrameId,
        "message": str,
        "type": page.DialogType,
        "has_browser_handler": bool,
        "default_prompt": typing.Optional[str],  # noqa: UP045 - as the standard library spells it
    }
    node = typing.get_type_hints(dom.Node)
    assert node["children"] == typing.Optional[tuple[dom.Node, ...]]  # noqa: UP045
    assert node["frame_id"] == typing.Optional[page.FrameId]  # noqa: UP045
    assert typing.get_type_hints(dom.BoxModel)["content"] == dom.Quad
    assert typing.get_type_hints(runtime.CallArgument)["value"] in (Any, typing.Optional[Any])  # noqa: UP045
    assert typing.get_type_hints(network.Response)["headers"] == dict[str, Any]


def test_the_annotations_of_every_class_can_be_resolved(domain: Domain) -> None:
    for item in protocol_values.VALUES:
        if item.domain is not domain:
            continue
        hints = typing.get_type_hints(item.made)
        signature = inspect.signature(item.made)
        assert [*hints] == [*signature.parameters] == [field.name for field in attrs.fields(item.made)]
        attrs.resolve_types(item.made)
        for attribute, field in zip(attrs.fields(item.made), item.fields, strict=True):
            assert attribute.type == hints[attribute.name] == signature.parameters[attribute.name].annotation
            optional = type(None) in typing.get_args(attribute.type)
            assert optional is field.optional or field.type == "any"


def test_the_signature_of_a_class() -> None:
    assert str(inspect.signature(page.LoadEventFired)) == "(*, timestamp: cdp_core.bindings.network.MonotonicTime)"
    parameters = inspect.signature(page.Viewport).parameters
    assert [*parameters] == ["x", "y", "width", "height", "scale"]
    assert {each.kind for each in parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}
    assert inspect.signature(dom.Node).parameters["children"].default is None
    with pytest.raises(TypeError):
        inspect.signature(page.LoadEventFired).bind()
    assert inspect.signature(Value)


# ── marks ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_docstring_of_a_module_states_its_marks(domain: Domain) -> None:
    first = (__import__(domain.module, fromlist=["x"]).__doc__ or "").splitlines()[0]
    assert (", experimental" in first, ", deprecated" in first) == (
        "~" in domain.table.marks,
        "!" in domain.table.marks,
    )


def test_the_metadata_of_a_parameter_states_its_marks(domain: Domain) -> None:
    for command, (_marks, params, _returns) in domain.table.commands.items():
        metadata_of_params = domain.get(field_name(command)).__cdp_params__
        assert [*metadata_of_params] == [field_name(parse_field(text).wire) for text in params]
        for text, metadata in zip(params, metadata_of_params.values(), strict=True):
            field = parse_field(text)
            assert metadata == {
                "cdp_name": field.wire,
                "experimental": field.experimental,
                "deprecated": field.deprecated,
            }


def test_the_signature_of_a_command() -> None:
    signature = inspect.signature(page.navigate)
    assert signature.return_annotation == "Command[NavigateResult]"
    assert inspect.signature(page.enable).return_annotation == "Command[None]"
    assert {name: each.annotation for name, each in signature.parameters.items()} == {
        "url": "str",
        "referrer": "str | None",
        "transition_type": "TransitionType | None",
        "frame_id": "FrameId | None",
        "referrer_policy": "ReferrerPolicy | None",
    }
    assert inspect.signature(dom.set_file_input_files).parameters["files"].annotation == "Sequence[str]"
    assert inspect.signature(dom.resolve_node).parameters["execution_context_id"].annotation == (
        "runtime.ExecutionContextId | None"
    )
