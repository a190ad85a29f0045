"""The outcome of a command is read as its result, or as the error that explains its absence."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.errors import CommandRefused, ConnectionLost, InvalidArgument, RemoteProtocolError
from cdp_core.sansio.messages import Malformed, Refusal, SessionId, decode
from cdp_core.sansio.outcomes import Loss
from cdp_supervisor.errors import ScriptFailed
from cdp_supervisor.sansio.inputs import NotSent
from cdp_supervisor.sansio.replies import error_of, read_evaluation, result_of, value_of
from support import folded_machine

NOT_AN_OBJECT: Any = decode(b'{"id":1,"result":7}')
S = SessionId("S")

# ── outcomes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (Refusal(id=1, code=-32000, message="no"), CommandRefused),
        (Loss(kind="connection", reason="cut", detail="It broke."), ConnectionLost),
        (Malformed(id=1, reason="torn", size=9), RemoteProtocolError),
        (NotSent(error=InvalidArgument("It is too long.")), InvalidArgument),
        (NOT_AN_OBJECT, RemoteProtocolError),
    ],
    ids=["refused", "lost", "torn", "not sent", "not an object"],
)
def test_a_result_is_returned_and_the_error_of_any_other_outcome_is_raised(outcome: Any, kind: type[Exception]) -> None:
    assert result_of(folded_machine.result_of({"n": 1}), "Page.enable", S) == {"n": 1}
    with pytest.raises(kind):
        result_of(outcome, "Page.enable", S)


def test_a_refusal_names_the_method_and_the_code() -> None:
    error: Any = error_of(Refusal(id=1, code=-32000, message="no"), "Page.enable", S)
    assert (error.method, error.code) == ("Page.enable", -32000)


def test_a_command_that_was_not_sent_keeps_its_error() -> None:
    cause = InvalidArgument("It is too long.")
    assert error_of(NotSent(error=cause), "Page.enable", S) is cause


def test_an_unreadable_result_without_a_caller_counts_as_empty() -> None:
    """Examples are the list of targets and a frame tree."""
    assert value_of(folded_machine.result_of({"n": 1})) == {"n": 1}
    assert value_of(NOT_AN_OBJECT) == {}
    fold = folded_machine.Fold().up()
    fold.ends(fold.sent("Target.getTargets").ticket, NOT_AN_OBJECT)
    assert fold.state.link.listed


# ── the value of a script ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("result", "value"),
    [
        ({"result": {"type": "number", "value": 7}}, 7),
        ({"result": {"type": "object", "value": None}}, None),
        ({"result": {"type": "bigint", "unserializableValue": "7n"}}, "7n"),
        ({}, None),
    ],
    ids=str,
)
def test_a_value_is_read_from_an_evaluation(result: Any, value: Any) -> None:
    assert read_evaluation(result) == value


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        (
            {
                "exception": {"className": "TypeError", "description": "TypeError: x"},
                "lineNumber": 2,
                "columnNumber": 3,
            },
            ("TypeError", "TypeError: x", 3, 3),
        ),
        ({"exception": {"type": "string"}, "text": "Uncaught"}, ("string", "Uncaught", 0, 0)),
        ({"lineNumber": "odd"}, ("an exception", "", 0, 0)),
    ],
    ids=["error", "thrown text", "no exception"],
)
def test_a_script_that_threw_raises_with_its_exception(details: Any, expected: tuple[Any, ...]) -> None:
    with pytest.raises(ScriptFailed) as caught:
        read_evaluation({"exceptionDetails": details})
    failed = caught.value
    assert (failed.name, failed.text, failed.line, failed.column) == expected
