"""A typed command and an evaluation become a `Call`, and the result of that call is read."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from cdp_core.bindings import page, runtime
from cdp_core.errors import InvalidArgument
from cdp_supervisor.errors import BlockedByDialog, CallTimedOut, ScriptFailed
from cdp_supervisor.sansio.effects import Answer
from cdp_supervisor.sansio.replies import read_evaluation
from cdp_supervisor.sansio.requests import AwaitCall, Call, Evaluate, Focus, TypedCall, evaluation_of
from cdp_supervisor.sansio.typed_requests import Readers, call_of

WHERE: dict[str, Any] = {
    "frame_id": "F",
    "target_id": "T",
    "session_id": "S",
    "timeout": 3.0,
    "when_blocked": "wait",
}
NAVIGATE = page.navigate(url="about:blank")
VALUE = {"result": {"type": "number", "value": 3}}
THROWN = {"result": {"type": "object"}, "exceptionDetails": {"text": "Uncaught", "lineNumber": 0, "columnNumber": 0}}


@attrs.frozen
class Own:
    """A typed command of another package, with a parser of its own."""

    method: str = "Own.do"

    def to_params(self) -> dict[str, Any]:
        return {}

    def parse(self, result: Any) -> Any:
        assert result.id == 0, "no command of the wire"
        return 1 // len(result.value)


# ── the calls ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_named_command_is_a_call_whose_result_is_not_read() -> None:
    params = {"url": "about:blank"}
    assert call_of("Page.navigate", params, **WHERE) == (Call(method="Page.navigate", params=params, **WHERE), None)
    assert call_of("Page.enable", None) == (Call(method="Page.enable"), None)


def test_a_typed_command_is_a_call_with_its_params_and_its_parser() -> None:
    call, reader = call_of(NAVIGATE, None, **WHERE)
    assert call == Call(method="Page.navigate", params={"url": "about:blank"}, **WHERE)
    assert reader is not None
    assert reader({"frameId": "F", "loaderId": "L"}) == page.NavigateResult(frame_id="F", loader_id="L")


def test_a_typed_command_without_params_sends_none() -> None:
    call, reader = call_of(page.enable(), None)
    assert call == Call(method="Page.enable", params=None)
    assert reader is not None
    assert reader({}) is None


@pytest.mark.parametrize(
    ("command", "params", "why"),
    [(5, None, "A command must be a typed command or a name"), (NAVIGATE, {}, "carries its own params")],
)
def test_a_wrong_command_is_refused(command: Any, params: Any, why: str) -> None:
    with pytest.raises(InvalidArgument, match=why):
        call_of(command, params)


# ── the readers of an engine ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_typed_call_and_an_evaluation_become_calls() -> None:
    readers = Readers()
    assert readers.untyped(1, TypedCall(command=NAVIGATE, **WHERE)) == call_of(NAVIGATE, None, **WHERE)[0]
    asked = Evaluate(expression="1", frame_id="F", target_id="T", await_promise=False, user_gesture=True, timeout=None)
    evaluation = evaluation_of("1", frame_id="F", target_id="T", await_promise=False, user_gesture=True, timeout=None)
    assert readers.untyped(2, asked) == evaluation


@pytest.mark.parametrize("request_", [Call(method="Page.enable"), Focus(), AwaitCall(call_id="c-1"), 5], ids=repr)
def test_another_request_stays_as_it_is_and_its_answer_is_not_read(request_: Any) -> None:
    readers = Readers()
    assert readers.untyped(1, request_) is request_
    assert readers._by_request == {}
    answer = Answer(request_id=1, value=VALUE)
    assert readers.read(answer, ()) is answer


def test_a_typed_command_alone_is_refused_with_what_to_pass() -> None:
    with pytest.raises(InvalidArgument, match=r"not a request; pass TypedCall\(command=…\)"):
        Readers().untyped(1, NAVIGATE)  # type: ignore[arg-type]


def test_each_answer_is_read_once_by_its_own_reader() -> None:
    readers = Readers()
    readers.untyped(1, Evaluate(expression="1 + 2"))
    readers.untyped(2, TypedCall(command=runtime.evaluate(expression="1 + 2")))
    typed = readers.read(Answer(request_id=2, value=VALUE), ()).value
    assert isinstance(typed, runtime.EvaluateResult)
    assert typed.result.value == 3
    assert readers.read(Answer(request_id=1, value=VALUE), ()) == Answer(request_id=1, value=3)
    for number in (1, 2, 3):
        again = Answer(request_id=number, value=VALUE)
        assert readers.read(again, ()) is again


def test_what_a_reader_raises_is_the_error_of_the_answer() -> None:
    readers = Readers()
    readers.untyped(1, Evaluate(expression="throw 1"))
    readers.untyped(2, TypedCall(command=Own()))
    thrown = readers.read(Answer(request_id=1, value=THROWN), ())
    assert (thrown.value, type(thrown.error)) == (None, ScriptFailed)
    failed = readers.read(Answer(request_id=2, value={}), ())
    assert (failed.value, type(failed.error)) == (None, ZeroDivisionError)
    readers.untyped(3, TypedCall(command=Own()))
    assert readers.read(Answer(request_id=3, value={"n": 1}), ()) == Answer(request_id=3, value=1)


def test_an_error_is_not_read() -> None:
    readers = Readers()
    readers.untyped(1, Evaluate(expression="1"))
    refused = Answer(request_id=1, error=InvalidArgument("no"))
    assert readers.read(refused, ()) is refused


def test_a_forgotten_request_has_no_reader() -> None:
    readers = Readers()
    readers.untyped(1, Evaluate(expression="1"))
    readers.forget(1)
    readers.forget(1)
    answer = Answer(request_id=1, value=VALUE)
    assert readers.read(answer, ()) is answer


def blocked(number: int, call: str | None) -> Answer:
    return Answer(request_id=number, error=BlockedByDialog(("d-1",), method="Runtime.evaluate", call=call))


def test_the_end_of_a_blocked_call_is_read_as_its_answer_would_have_been() -> None:
    readers = Readers()
    readers.untyped(1, Evaluate(expression="confirm()"))
    answer = blocked(1, "c-1")
    assert readers.read(answer, {"c-1"}) is answer
    waits = AwaitCall(call_id="c-1", timeout=1.0)
    assert readers.untyped(2, waits) is waits
    late = Answer(request_id=2, error=CallTimedOut("Runtime.evaluate", waited=1.0, health=None))
    assert readers.read(late, {"c-1"}) is late
    readers.untyped(3, AwaitCall(call_id="c-1"))
    assert readers.read(Answer(request_id=3, value=VALUE), ()).value == 3


def test_a_call_that_was_not_sent_leaves_no_reader() -> None:
    readers = Readers()
    readers.untyped(1, Evaluate(expression="1"))
    readers.read(blocked(1, None), ())
    assert readers._by_call == {}


def test_readers_of_calls_that_are_over_are_dropped() -> None:
    readers = Readers()
    for number in (1, 2, 3):
        readers.untyped(number, Evaluate(expression="confirm()"))
    readers.read(blocked(1, "c-1"), {"c-1"})
    readers.read(blocked(2, "c-2"), {"c-1", "c-2"})
    assert readers._by_call == {"c-1": read_evaluation, "c-2": read_evaluation}
    readers.read(blocked(3, "c-3"), {"c-2", "c-3"})
    assert set(readers._by_call) == {"c-2", "c-3"}
