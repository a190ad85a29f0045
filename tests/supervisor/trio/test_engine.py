"""`SupervisorEngine`: the form of its messages, its moments, and requests whose results are read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import trio

from cdp_core import CommandRefused, InvalidArgument
from cdp_core.bindings import page, runtime
from cdp_core.testing import FakeBrowser, Script
from cdp_core.testing.steps import Answer, Dialog, ScriptError
from cdp_supervisor import (
    AwaitCall,
    BlockedByDialog,
    Call,
    CallTimedOut,
    Evaluate,
    Instant,
    Reconnect,
    RespondToDialog,
    ScriptFailed,
    SupervisorEngine,
    TypedCall,
    open_supervisor,
)
from support.driven_engine import Driven
from support.shop import Site

SHOP = "https://shop.example/"
SCRIPT = Script(
    pages={SHOP: ()},
    answers={
        "cart.total()": Answer({"sum": 12, "word": "größer"}),
        "cart.break()": Answer(None, (ScriptError("broken"),)),
        "cart.pay()": Answer("paid", (Dialog("confirm", "Pay 12?"),)),
    },
)
FORMS: dict[str, Callable[[bytes], Any]] = {
    "text": bytes.decode,
    "bytes": bytes,
    "bytearray": bytearray,
    "memoryview": memoryview,
}


# ── messages ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_each_message_to_the_browser_is_one_text() -> None:
    driven = Driven(SCRIPT)
    driven.engine.request(Call(method="Page.navigate", params={"url": f"{SHOP}größe?\ud800"}), 0.0)
    driven.engine.request(Call(method="Page.navigate", params={"url": f"{SHOP}größe"}), 0.0)
    out = driven.engine.outgoing()
    assert [type(each) for each in out] == [str, str]
    assert [json.loads(each)["params"]["url"] for each in out] == [f"{SHOP}größe?\ud800", f"{SHOP}größe"]
    assert driven.engine.outgoing() == []


@pytest.mark.parametrize("form", FORMS)
def test_a_message_of_the_browser_may_be_text_or_bytes(form: str) -> None:
    """Each form gives the same state and the same answers."""
    seen = []
    for each in (form, "bytes"):
        driven = Driven(SCRIPT, FORMS[each])
        [opened] = driven.engine.snapshot().pages
        answered = [driven.ask(Evaluate(expression="cart.total()")).value]
        driven.ask(Evaluate(expression="cart.pay()"))
        answered.append(driven.ask(RespondToDialog(action="accept")).value.to_dict())
        seen.append((opened.url, answered, driven.engine.snapshot().to_dict(full=True)))
    assert seen[0] == seen[1]
    assert seen[0][1][0] == {"sum": 12, "word": "größer"}


def test_receive_reports_the_engines_own_replies_for_text_too() -> None:
    engine = SupervisorEngine(first_command_id=1_000, keepalive=None)
    engine.link_up(0.0)
    first = json.loads(engine.outgoing()[0])
    assert engine.receive(json.dumps({"id": first["id"], "result": {}}), 0.0)
    assert not engine.receive('{"id":1,"result":{}}', 0.0)
    assert not engine.receive('{"method":"Target.targetCreated","params":{}}', 0.0)


@pytest.mark.parametrize("message", ['{"method":"Page.loadEventFired\ud800"}', b'{"id":1,"result":\xff}', "{", b"", ""])
def test_a_message_that_cannot_be_read_changes_nothing(message: Any) -> None:
    driven = Driven(SCRIPT)
    before = driven.engine.snapshot()
    assert driven.engine.receive(message, 0.0) is False
    assert driven.engine.snapshot() == before
    assert driven.ask(Evaluate(expression="1 + 1")).value == 2


@pytest.mark.parametrize("message", [{"id": 1, "result": {}}, None, 5, ['{"id":1}'], type], ids=repr)
def test_another_kind_of_message_is_refused_with_what_to_pass(message: Any) -> None:
    driven = Driven(SCRIPT)
    with pytest.raises(InvalidArgument) as raised:
        driven.engine.receive(message, 9.0)
    assert str(raised.value) == (
        f"A message of the browser must be text or bytes, not a {type(message).__name__}; "
        "pass it as it came from the socket, not decoded as JSON."
    )
    assert driven.ask(Evaluate(expression="1 + 1"), 1.0).value == 2


@pytest.mark.parametrize(
    ("at", "shown"), [(None, "a NoneType"), ("1.0", "a str"), (float("nan"), "nan"), (float("inf"), "inf")]
)
def test_a_moment_that_is_none_is_refused(at: Any, shown: str) -> None:
    driven = Driven(SCRIPT)
    engine = driven.engine
    acts: list[Callable[[], Any]] = [
        lambda: engine.receive("{}", at),
        lambda: engine.request(Evaluate(expression="1"), at),
        lambda: engine.time_passed(at),
        lambda: engine.cancel(1, at),
        lambda: engine.link_up(at),
        lambda: engine.link_down("x", at),
    ]
    for act in acts:
        with pytest.raises(InvalidArgument) as raised:
            act()
        assert str(raised.value) == (
            f"A moment must be a finite number of seconds or an Instant, not {shown}; pass the time of your loop's clock."
        )
    assert driven.ask(Evaluate(expression="1 + 1")).value == 2


def test_a_moment_is_a_number_or_an_instant() -> None:
    driven = Driven(SCRIPT)
    for at in (1, 2.5, Instant(mono=3.0, wall=1_700_000_000.0)):
        driven.engine.time_passed(at)
    assert driven.engine._port.at == Instant(mono=3.0, wall=1_700_000_000.0)


def test_after_a_failure_to_connect_the_engine_wants_no_link_until_its_deadline() -> None:
    engine = SupervisorEngine(reconnect=Reconnect(first=2.0, budget=2))
    assert engine.wants_link
    now, waits = 0.0, []
    while engine.snapshot().link.phase != "gave_up":
        assert engine.wants_link
        engine.link_down("refused", now)
        assert not engine.wants_link
        if (deadline := engine.next_deadline()) is not None:
            waits.append(deadline.at - now)
            now = deadline.at
            engine.time_passed(now)
    assert len(waits) == 2
    assert not engine.wants_link


def test_after_the_end_of_a_link_the_engine_wants_none_until_its_deadline() -> None:
    driven = Driven(SCRIPT)
    assert not driven.engine.wants_link
    driven.engine.link_down("broken", 1.0)
    assert not driven.engine.wants_link
    deadline = driven.engine.next_deadline()
    assert deadline is not None
    driven.engine.time_passed(deadline.at)
    assert driven.engine.wants_link


# ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class Parsing:
    """A typed command of another package, whose parser fails."""

    method = "Browser.getVersion"

    def to_params(self) -> dict[str, Any]:
        return {}

    def parse(self, _result: Any) -> Any:
        raise LookupError("no version")


REQUESTS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "a typed result": (
        TypedCall(command=runtime.evaluate(expression="3 + 4", return_by_value=True)),
        lambda supervisor: supervisor.call(runtime.evaluate(expression="3 + 4", return_by_value=True)),
    ),
    "no result": (TypedCall(command=page.enable()), lambda supervisor: supervisor.call(page.enable())),
    "a refused command": (
        TypedCall(command=page.navigate(url="no address")),
        lambda supervisor: supervisor.call(page.navigate(url="no address")),
    ),
    "an unknown target": (
        TypedCall(command=page.enable(), target_id="T"),
        lambda supervisor: supervisor.call(page.enable(), target_id="T"),
    ),
    "a wrong timeout": (
        TypedCall(command=page.enable(), timeout=-1.0),
        lambda supervisor: supervisor.call(page.enable(), timeout=-1.0),
    ),
    "a parser that fails": (TypedCall(command=Parsing()), lambda supervisor: supervisor.call(Parsing())),
    "a value": (
        Evaluate(expression="cart.total()"),
        lambda supervisor: supervisor.evaluate("cart.total()"),
    ),
    "a script that throws": (
        Evaluate(expression="cart.break()"),
        lambda supervisor: supervisor.evaluate("cart.break()"),
    ),
    "an unknown frame": (
        Evaluate(expression="1", frame_id="F"),
        lambda supervisor: supervisor.evaluate("1", frame_id="F"),
    ),
}


def shown(value: Any, error: Exception | None) -> Any:
    return value if error is None else (type(error), str(error))


@pytest.mark.parametrize("name", REQUESTS)
async def test_a_typed_request_is_answered_as_the_supervisor_would(name: str, bounded: trio.abc.Clock) -> None:
    request, ask = REQUESTS[name]
    async with open_supervisor(Site(FakeBrowser(SCRIPT)).dial) as supervisor:
        try:
            expected = shown(await ask(supervisor), None)
        except Exception as error:
            expected = shown(None, error)
    answer = Driven(SCRIPT).ask(request)
    assert shown(answer.value, answer.error) == expected


def test_both_send_the_same_command() -> None:
    driven = Driven(SCRIPT)
    driven.engine.request(Evaluate(expression="1", await_promise=False, user_gesture=True), 0.0)
    driven.engine.request(TypedCall(command=runtime.evaluate(expression="2")), 0.0)
    sent = [json.loads(each) for each in driven.engine.outgoing()]
    assert [each["params"] for each in sent] == [
        {"expression": "1", "awaitPromise": False, "userGesture": True, "returnByValue": True},
        {"expression": "2"},
    ]


def test_the_end_of_a_blocked_evaluation_is_its_value() -> None:
    driven = Driven(SCRIPT)
    answer = driven.ask(Evaluate(expression="cart.pay()"))
    assert isinstance(answer.error, BlockedByDialog)
    again = AwaitCall(call_id=answer.error.call, timeout=1.0)
    number = driven.engine.request(again, 0.0)
    driven.engine.time_passed(1.0)
    assert isinstance(driven.engine.answers()[number].error, CallTimedOut)
    driven.ask(RespondToDialog(action="accept"), 1.0)
    assert driven.ask(again, 1.0).value == "paid"


def test_the_end_of_a_blocked_typed_call_is_typed() -> None:
    driven = Driven(SCRIPT)
    answer = driven.ask(TypedCall(command=runtime.evaluate(expression="cart.pay()")))
    driven.ask(RespondToDialog(action="accept"))
    ended = driven.ask(AwaitCall(call_id=answer.error.call)).value
    assert isinstance(ended, runtime.EvaluateResult)
    assert ended.result.value == "paid"


def test_a_cancelled_request_leaves_nothing_behind() -> None:
    driven = Driven(SCRIPT)
    number = driven.engine.request(Evaluate(expression="1 + 1"), 0.0)
    driven.engine.cancel(number, 0.0)
    driven.drive()
    assert driven.engine.answers() == {}
    assert driven.engine._readers._by_request == {}


def test_an_answer_that_was_not_taken_out_is_read_after_a_cancel_too() -> None:
    driven = Driven(SCRIPT)
    number = driven.engine.request(Evaluate(expression="1 + 1"), 0.0)
    driven.drive()
    driven.engine.cancel(number, 0.0)
    assert driven.engine.answers()[number].value == 2


def test_the_loss_of_the_link_answers_typed_requests() -> None:
    driven = Driven(SCRIPT)
    number = driven.engine.request(Evaluate(expression="1 + 1"), 0.0)
    driven.engine.link_down("broken", 0.0)
    assert type(driven.engine.answers()[number].error).__name__ == "ConnectionLost"
    assert driven.engine._readers._by_request == {}


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (page.enable, r"A typed command alone is not a request; pass TypedCall\(command=…\)"),
        (lambda: TypedCall(command="Page.enable"), r"command must be a typed command such as page.navigate"),  # type: ignore[arg-type]
        (lambda: TypedCall(command=page.enable), r"command must be a typed command such as page.navigate"),  # type: ignore[arg-type]
        (lambda: TypedCall(command=Parsing), r"command must be a typed command such as .*, not the class Parsing"),  # type: ignore[arg-type]
        (lambda: Evaluate(expression=5), r"expression must be a string, not int"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_typed_request_is_refused_and_takes_no_id(make: Callable[[], Any], why: str) -> None:
    driven = Driven(SCRIPT)
    with pytest.raises(InvalidArgument, match=why):
        driven.engine.request(make(), 0.0)
    assert driven.engine.request(Call(method="Page.enable"), 0.0) == 1


def test_another_value_is_answered_with_the_requests_there_are() -> None:
    answer = Driven(SCRIPT).ask(5)
    assert isinstance(answer.error, InvalidArgument)
    assert "int is not a request to a supervisor" in str(answer.error)


def test_the_errors_of_the_supervisor_are_those_of_the_table() -> None:
    """The comparison above is of errors that are meant."""
    answers = {name: Driven(SCRIPT).ask(request) for name, (request, _) in REQUESTS.items()}
    assert isinstance(answers["a refused command"].error, CommandRefused)
    assert isinstance(answers["a script that throws"].error, ScriptFailed)
    assert isinstance(answers["a parser that fails"].error, LookupError)
    assert answers["a value"].value == {"sum": 12, "word": "größer"}
    assert answers["a typed result"].value.result.value == 7
