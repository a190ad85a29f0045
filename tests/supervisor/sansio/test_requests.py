"""A request with a field of a wrong type raises at once; the state machine checks its meaning."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, get_args

import attrs
import pytest

from cdp_core.errors import InvalidArgument
from cdp_supervisor.sansio.options import Policy
from cdp_supervisor.sansio.requests import (
    AwaitCall,
    Call,
    Focus,
    Recover,
    Request,
    RespondToDialog,
    SetPolicy,
    Stop,
)
from cdp_supervisor.sansio.step import REQUESTS

RIGHT: dict[type, dict[str, Any]] = {
    RespondToDialog: {"action": "accept"},
    Call: {"method": "Page.enable"},
    AwaitCall: {"call_id": "c-1"},
    SetPolicy: {"policy": Policy()},
    Focus: {},
    Recover: {"target_id": "T", "remedy": "close"},
    Stop: {},
}
TEXT, OPTIONAL_TEXT = [None, 5, b"x", ["x"]], [5, b"x", ["x"], True]
SECONDS = ["3", [3], b"3"]
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
    (AwaitCall, "call_id", "a string", TEXT),
    (AwaitCall, "timeout", "a number of seconds or None", SECONDS),
    (SetPolicy, "policy", "a Policy", [None, "auto_accept", {"alert": "auto_accept"}]),
    (Focus, "target_id", "a string or None", OPTIONAL_TEXT),
    (Recover, "target_id", "a string", TEXT),
    (Recover, "remedy", "a string", TEXT),
    (Stop, "timeout", "a number of seconds", [None, *SECONDS]),
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


def test_the_optional_fields_of_a_request_have_defaults() -> None:
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
    """Only `Stop` is answered without the table: it is the last request."""
    assert set(get_args(Request)) == set(RIGHT)
    assert set(get_args(Request)) == {*REQUESTS, Stop}
