"""What came of a command is its result, or an error that says why there is none."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.errors import CommandRefused, ConnectionLost, InvalidArgument, RemoteProtocolError
from cdp_core.sansio.messages import Malformed, Refusal, SessionId, decode
from cdp_core.sansio.router import Loss
from cdp_supervisor.errors import ScriptFailed
from cdp_supervisor.sansio.inputs import NotSent
from cdp_supervisor.sansio.replies import error_of, read_evaluation, result_of, value_of
from support import folded_machine

NO_OBJECT: Any = decode(b'{"id":1,"result":7}')
S = SessionId("S")

# ── a result, or why there is none ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (Refusal(id=1, code=-32000, message="no"), CommandRefused),
        (Loss(kind="connection", reason="cut", detail="It broke."), ConnectionLost),
        (Malformed(id=1, reason="torn", size=9), RemoteProtocolError),
        (NotSent(error=InvalidArgument("It is too long.")), InvalidArgument),
        (NO_OBJECT, RemoteProtocolError),
    ],
    ids=["refused", "lost", "torn", "not sent", "no object"],
)
def test_a_result_is_read_or_what_took_its_place_is_raised(outcome: Any, kind: type[Exception]) -> None:
    assert result_of(folded_machine.result_of({"n": 1}), "Page.enable", S) == {"n": 1}
    with pytest.raises(kind):
        result_of(outcome, "Page.enable", S)


def test_a_refusal_names_what_was_refused_and_where() -> None:
    error: Any = error_of(Refusal(id=1, code=-32000, message="no"), "Page.enable", S)
    assert (error.method, error.code) == ("Page.enable", -32000)


def test_what_was_not_sent_has_the_error_that_kept_it() -> None:
    kept = InvalidArgument("It is too long.")
    assert error_of(NotSent(error=kept), "Page.enable", S) is kept


def test_a_result_that_cannot_be_read_is_an_empty_one_where_nobody_asks() -> None:
    """The list of targets, a tree: as if nothing was said."""
    assert value_of(folded_machine.result_of({"n": 1})) == {"n": 1}
    assert value_of(NO_OBJECT) == {}
    fold = folded_machine.Fold().up()
    fold.ends(fold.sent("Target.getTargets").ticket, NO_OBJECT)
    assert fold.state.link.listed


# ── the value of a script ────────────────────────────────────────────────────────────────────────────────────────────


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
    ("details", "read"),
    [
        (
            {
                "exception": {"className": "TypeError", "description": "TypeError: x"},
                "lineNumber": 2,
                "columnNumber": 3,
            },
            ("TypeError", "TypeError: x", 2, 3),
        ),
        ({"exception": {"type": "string"}, "text": "Uncaught"}, ("string", "Uncaught", 0, 0)),
        ({"lineNumber": "odd"}, ("an exception", "", 0, 0)),
    ],
    ids=["error", "thrown text", "nothing said"],
)
def test_a_script_that_threw_is_an_error_with_what_it_threw(details: Any, read: tuple[Any, ...]) -> None:
    with pytest.raises(ScriptFailed) as caught:
        read_evaluation({"exceptionDetails": details})
    failed = caught.value
    assert (failed.name, failed.text, failed.line, failed.column) == read
