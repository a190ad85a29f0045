"""A request with a field of a wrong type raises at once; the state machine checks its meaning."""

from __future__ import annotations

import json
import math
import re
from types import MappingProxyType
from typing import Any, get_args

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdp_core.bindings import page
from cdp_core.errors import InvalidArgument
from cdp_supervisor.errors import InvalidPolicy
from cdp_supervisor.sansio.options import Policy
from cdp_supervisor.sansio.requests import (
    AskExtension,
    AwaitCall,
    Call,
    Evaluate,
    Focus,
    Recover,
    Request,
    RespondToDialog,
    SetPolicy,
    Stop,
    TypedCall,
    TypedRequest,
    evaluation_of,
    request_from_json,
    request_to_json,
)
from cdp_supervisor.sansio.step import REQUESTS

RIGHT: dict[type, dict[str, Any]] = {
    RespondToDialog: {"action": "accept"},
    Call: {"method": "Page.enable"},
    AwaitCall: {"call_id": "c-1"},
    SetPolicy: {"policy": Policy()},
    Focus: {},
    Recover: {"target_id": "T", "remedy": "close"},
    AskExtension: {"extension": "bridge", "question": {"mode": "on"}},
    Stop: {},
    TypedCall: {"command": page.enable()},
    Evaluate: {"expression": "1"},
}
TEXT, OPTIONAL_TEXT = [None, 5, b"x", ["x"]], [5, b"x", ["x"], True]
SECONDS = ["3", [3], b"3"]
FLAG = [None, 0, 1, "yes"]
WRONG: list[tuple[type, str, Any, list[Any]]] = [
    (RespondToDialog, "action", "a string", TEXT),
    (RespondToDialog, "prompt_text", "a string or None", OPTIONAL_TEXT),
    (RespondToDialog, "dialog_id", "a string or None", OPTIONAL_TEXT),
    (Call, "method", "a string", TEXT),
    (Call, "params", "a mapping or None", ["{}", 5, [("a", 1)]]),
    (Call, "frame_id", "a string or None", OPTIONAL_TEXT),
    (Call, "target_id", "a string or None", OPTIONAL_TEXT),
    (Call, "session_id", "a string or None", OPTIONAL_TEXT),
    (Call, "timeout", "a number of seconds or None", SECONDS),
    (Call, "when_blocked", "a string", TEXT),
    (Call, "force", "True or False", FLAG),
    (AwaitCall, "call_id", "a string", TEXT),
    (AwaitCall, "timeout", "a number of seconds or None", SECONDS),
    (SetPolicy, "policy", "a Policy", [None, "auto_accept", {"alert": "auto_accept"}]),
    (Focus, "target_id", "a string or None", OPTIONAL_TEXT),
    (Recover, "target_id", "a string", TEXT),
    (Recover, "remedy", "a string", TEXT),
    (Recover, "force", "True or False", FLAG),
    (AskExtension, "extension", "a string", TEXT),
    (AskExtension, "question", "a mapping", [None, "{}", [1]]),
    (Stop, "timeout", "a number of seconds", [None, *SECONDS]),
    (TypedCall, "command", "a typed command such as page.navigate(url=…)", [None, "Page.enable", {}, page.enable]),
    (TypedCall, "frame_id", "a string or None", OPTIONAL_TEXT),
    (TypedCall, "target_id", "a string or None", OPTIONAL_TEXT),
    (TypedCall, "session_id", "a string or None", OPTIONAL_TEXT),
    (TypedCall, "timeout", "a number of seconds or None", SECONDS),
    (TypedCall, "when_blocked", "a string", TEXT),
    (TypedCall, "force", "True or False", FLAG),
    (Evaluate, "expression", "a string", TEXT),
    (Evaluate, "frame_id", "a string or None", OPTIONAL_TEXT),
    (Evaluate, "target_id", "a string or None", OPTIONAL_TEXT),
    (Evaluate, "await_promise", "True or False", FLAG),
    (Evaluate, "user_gesture", "True or False", FLAG),
    (Evaluate, "timeout", "a number of seconds or None", SECONDS),
    (Evaluate, "when_blocked", "a string", TEXT),
]
EACH_WRONG = [(kind, name, what, value) for kind, name, what, values in WRONG for value in values]


@pytest.mark.parametrize(("kind", "name", "what", "value"), EACH_WRONG)
def test_a_field_of_a_wrong_type_is_refused_by_its_name(kind: type, name: str, what: str, value: Any) -> None:
    with pytest.raises(InvalidArgument) as raised:
        kind(**{**RIGHT[kind], name: value})
    assert str(raised.value) == f"{name} must be {what}, not {type(value).__name__}."


def test_the_type_of_every_field_is_checked() -> None:
    fields = {(kind, field.name) for kind in RIGHT for field in attrs.fields(kind)}
    assert fields == {(kind, name) for kind, name, _, _ in WRONG}


def test_a_class_is_no_typed_command() -> None:
    with pytest.raises(InvalidArgument, match=r"^command must be a typed command .*, not the class Command\.$"):
        TypedCall(command=type(page.enable()))  # type: ignore[arg-type]


def test_the_optional_fields_of_a_request_have_defaults() -> None:
    command = page.enable()
    assert TypedCall(command=command) == TypedCall(
        command=command, frame_id=None, target_id=None, session_id=None, timeout=30.0, when_blocked="raise"
    )
    assert Evaluate(expression="1") == Evaluate(
        expression="1", frame_id=None, target_id=None, await_promise=True, user_gesture=False, timeout=30.0
    )
    assert RespondToDialog(action="accept") == RespondToDialog(action="accept", prompt_text=None, dialog_id=None)
    assert Call(method="Page.enable") == Call(
        method="Page.enable",
        params=None,
        frame_id=None,
        target_id=None,
        session_id=None,
        timeout=30.0,
        when_blocked="raise",
    )
    assert AwaitCall(call_id="c-1").timeout is None
    assert Focus().target_id is None
    assert Stop().timeout == 1.5


def test_the_meaning_of_a_request_is_checked_by_the_state_machine() -> None:
    """These values have the right type; only the state machine knows that they are invalid."""
    RespondToDialog(action="neither")
    Call(method="", timeout=-1, when_blocked="perhaps")
    Recover(target_id="gone", remedy="prayer")


def test_params_may_be_any_mapping() -> None:
    params = MappingProxyType({"url": "about:blank"})
    assert Call(method="Page.navigate", params=params).params is params


def test_every_request_has_a_rule() -> None:
    """Except `Stop`, the last request, and the typed requests, which become a `Call` before."""
    assert {*get_args(Request), *get_args(TypedRequest)} == set(RIGHT)
    assert set(get_args(Request)) == {*REQUESTS, Stop}


def test_an_evaluation_is_a_call_of_runtime_evaluate_by_value() -> None:
    call = evaluation_of("1 + 2", await_promise=False, user_gesture=True, frame_id="F", target_id="T", timeout=3.0)
    params = {"expression": "1 + 2", "awaitPromise": False, "userGesture": True, "returnByValue": True}
    assert call == Call(method="Runtime.evaluate", params=params, frame_id="F", target_id="T", timeout=3.0)


def test_an_expression_is_a_string() -> None:
    with pytest.raises(InvalidArgument, match=r"^expression must be a string, not int\.$"):
        evaluation_of(5, await_promise=True, user_gesture=False)  # type: ignore[arg-type]


# ── as JSON ──────────────────────────────────────────────────────────────────────────────────────────────────────────

TEXTS = st.text(max_size=5)
VALUES = {
    "a string": TEXTS,
    "a string or None": st.none() | TEXTS,
    "a mapping": st.dictionaries(TEXTS, st.integers() | TEXTS, max_size=2),
    "a mapping or None": st.none() | st.dictionaries(TEXTS, st.integers(), max_size=2),
    "a number of seconds": st.integers() | st.floats(allow_nan=False),
    "a number of seconds or None": st.none() | st.integers() | st.floats(allow_nan=False),
    "True or False": st.booleans(),
    "a Policy": st.sampled_from(
        [Policy(), Policy({"alert": "auto_accept"}, prompt_text="secret"), Policy.unattended()]
    ),
}


@st.composite
def any_request(draw: st.DrawFn) -> Request:
    kind = draw(st.sampled_from(get_args(Request)))
    fields = attrs.fields(kind)
    made: Request = kind(**{each.name: draw(VALUES[each.metadata["kind"].what]) for each in fields})
    return made


@given(request=any_request())
def test_the_json_of_a_request_is_plain_and_gives_the_same_request(request: Request) -> None:
    written = json.loads(json.dumps(request_to_json(request), allow_nan=False))
    assert request_from_json(written) == request


@given(request=any_request())
def test_json_without_private_contents_is_a_request_without_them(request: Request) -> None:
    written = request_to_json(request, private=False)
    shown = request_from_json(written)
    for field in attrs.fields(type(request)):
        value = getattr(shown, field.name)
        if not field.metadata["private"]:
            assert value == getattr(request, field.name)
        else:
            assert not value or isinstance(value, Policy)
    assert "secret" not in json.dumps(written)


@given(request=any_request(), where=st.integers(0, 9), odd=st.sampled_from([[1], True, 5, "x", None, {}]))
def test_changed_json_is_a_request_or_refused(request: Request, where: int, odd: Any) -> None:
    written = request_to_json(request)
    written[list(written)[where % len(written)]] = odd
    try:
        made = request_from_json(written)
    except (InvalidArgument, InvalidPolicy):
        return
    assert isinstance(made, get_args(Request))


@pytest.mark.parametrize(
    ("written", "why"),
    [
        (5, "A request is a JSON object, not int."),
        ({}, "The type of a request is one of RespondToDialog, Call, AwaitCall, SetPolicy, Focus, Recover,"),
        ({"type": "Focus", "target": "T"}, "Focus has no field 'target'; its fields are target_id."),
        (
            {"type": "Recover", "target_id": "T"},
            "Recover needs the field 'remedy'; its fields are target_id, remedy, force.",
        ),
        ({"type": "Recover", "target_id": 5, "remedy": "close"}, "target_id must be a string, not int."),
    ],
)
def test_json_that_is_no_request_is_refused_with_what_is_wrong(written: Any, why: str) -> None:
    with pytest.raises(InvalidArgument, match=re.escape(why)):
        request_from_json(written)


def test_a_field_with_a_default_may_be_missing() -> None:
    assert request_from_json({"type": "Call", "method": "Page.enable"}) == Call(method="Page.enable")


@pytest.mark.parametrize("seconds", [math.inf, -math.inf, math.nan, 0.0, 5, None])
def test_any_number_of_seconds_survives_its_json(seconds: Any) -> None:
    written = json.loads(json.dumps(request_to_json(AwaitCall(call_id="c-1", timeout=seconds)), allow_nan=False))
    read = request_from_json(written)
    assert isinstance(read, AwaitCall)
    assert read.timeout == seconds or (math.isnan(seconds) and math.isnan(read.timeout or 0.0))


@pytest.mark.parametrize("request_", [Evaluate(expression="secret"), TypedCall(command=page.enable()), 5], ids=repr)
def test_only_a_request_to_the_state_machine_has_a_json_form(request_: Any) -> None:
    with pytest.raises(InvalidArgument) as raised:
        request_to_json(request_)
    names = "RespondToDialog, Call, AwaitCall, SetPolicy, Focus, Recover, AskExtension, Stop"
    assert str(raised.value) == f"Only {names} have a JSON form, not {type(request_).__name__}."
    with pytest.raises(InvalidArgument, match="The type of a request is one of"):
        request_from_json({"type": type(request_).__name__})


def test_private_contents_are_left_out_on_request() -> None:
    call = request_to_json(Call(method="Page.enable", params={"secret": 1}), private=False)
    assert (call["params"], call["method"]) == (None, "Page.enable")
    for text, shown in ((None, None), ("secret", ""), ("", "")):
        respond = RespondToDialog(action="accept", prompt_text=text)
        assert request_to_json(respond, private=False)["prompt_text"] == shown
    assert request_to_json(Call(method="A.b", params=MappingProxyType({})))["params"] == {}
    asked = request_to_json(AskExtension(extension="x", question={"mode": "on"}), private=False)
    assert asked["question"] == {"mode": "on"}
