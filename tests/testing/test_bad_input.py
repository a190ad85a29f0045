"""Invalid arguments are refused at the call, with their name and the valid choices."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from cdp_core.errors import InvalidArgument
from cdp_core.testing import Example, FakeBrowser, Schedule, Script, hunt
from cdp_core.testing.faults import Refuse
from cdp_core.testing.fuzz.search import try_example
from cdp_core.testing.schedules import Ask
from cdp_core.testing.steps import AddFrame, Answer, Console, Dialog, Override, Popup, RemoveFrame, Served, Wait
from cdp_core.testing.strategies import faults

untyped: Any = FakeBrowser
"""The same class without types, for arguments that a type checker would refuse."""


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: untyped(schedule="hostile"), r"^'hostile' is not a schedule; give Schedule"),
        (lambda: untyped(faults=["x"]), r"^'x' is not a fault; the faults are Drop, Delay"),
        (lambda: untyped(faults="x"), r"^'x' is not a fault"),
        (lambda: untyped({"timeline": []}), r"is not a script; make one from JSON with Script.from_json"),
        (lambda: untyped().play("x"), r"^'x' is not a step; the steps are AddFrame"),
        (lambda: untyped().play(None), r"^None is not a step"),
        (lambda: untyped().advance(math.nan), r"^Cannot advance to nan: pass a finite time"),
        (lambda: untyped().advance("1"), r"^Cannot advance to '1': pass a finite time"),
        (lambda: untyped().advance(math.inf), r"^Cannot advance to inf: pass a finite time"),
        (lambda: untyped().advance(-1), r"time does not run backwards"),
        (lambda: untyped().connect(edges="x"), r"^edges must be one of observed, causal, not 'x'"),
        (lambda: untyped().deliver("x"), r"^'x' cannot be delivered; pass one of the messages that ready"),
        (lambda: Script(pages={"a": None}), r"^pages\['a'\]: The steps must be a list of steps, not None"),
        (lambda: Script(pages={"a": [3]}), r"^pages\['a'\]: 3 is not a step"),
        (lambda: Script(pages=[]), r"^pages of a script must be a mapping with text keys, not \[\]"),
        (lambda: Script(pages={1: []}), r"^pages of a script must be a mapping with text keys"),
        (lambda: Script(timeline="abc"), r"^The steps must be a list of steps, not 'abc'"),
        (lambda: Script(answers={"a": 1}), r"^answers\['a'\] must be a Answer, not 1"),
        (lambda: Script(served={"a": "csp"}), r"^served\['a'\] must be a Served, not 'csp'"),
        (lambda: Script(overrides={"a": None}), r"^overrides\['a'\] must be a Override, not None"),
        (lambda: Script(timeline=[AddFrame("a"), AddFrame("a")]), r"^The timeline makes 'a' twice"),
        (lambda: Script(pages={"u": [AddFrame("a"), Popup("a")]}), r"^pages\['u'\] makes 'a' twice"),
        (lambda: faults("x"), r"^'x' is not a legality; use legal, hostile, illegal"),
        (
            lambda: hunt(Silent, faults="x"),
            r"^faults must be one of legal, hostile, illegal, or None for no faults, not 'x'",
        ),
        (lambda: hunt(Silent, edges="x"), r"^edges must be one of observed, causal, or None for any, not 'x'"),
        (lambda: Example(edges="x"), r"^edges must be one of observed, causal, not 'x'"),
        (lambda: Example(profile="lynx"), r"^profile must be one of headless-new, headless-shell, not 'lynx'"),
        (lambda: Example(faults=["x"]), r"^'x' is not a fault"),
    ],
)
def test_an_invalid_argument_is_named_with_the_valid_choices(act: Callable[[], object], words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        act()


class Silent:
    """A client that writes nothing."""

    def receive(self, _payload: bytes) -> tuple[bytes, ...]:
        return ()


# ── which side is at fault ───────────────────────────────────────────────────────────────────────────────────────────


class SendsOnce(Silent):
    """A client that sends one command."""

    def start(self) -> list[bytes]:
        return [b'{"id":1,"method":"Browser.getVersion"}']


def test_an_exception_in_the_fake_is_not_blamed_on_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_given: object) -> None:
        raise ZeroDivisionError("in the fake")

    monkeypatch.setattr(FakeBrowser, "_dispatch", broken)
    with pytest.raises(ZeroDivisionError, match="in the fake"):
        try_example(SendsOnce, Example())


@pytest.mark.parametrize("method", ["__init__", "start", "receive", "ask", "observed"])
def test_an_exception_in_the_client_is_a_complaint(method: str) -> None:
    def raises(*_given: object) -> Any:
        raise ZeroDivisionError("in the client")

    client_class = type("Raises", (SendsOnce,), {method: raises})
    [complaint] = try_example(client_class, Example(asks=[{"on": 0}]))
    assert complaint.message == "the client raised ZeroDivisionError"


def test_a_client_that_writes_something_other_than_bytes_gets_a_complaint() -> None:
    class Writes(Silent):
        def start(self) -> list[Any]:
            return [{"id": 1}]

    [complaint] = try_example(Writes, Example())
    assert complaint.message == "the client raised TypeError"


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────

FULL = Script(
    pages={"u": [AddFrame("a"), Dialog()]},
    timeline=[Wait(1), Popup("p"), RemoveFrame("a")],
    answers={"f()": Answer([1, {"x": 2}], [Console("x")])},
    served={"u": Served("x")},
    overrides={"x": Override("u")},
)


@pytest.mark.parametrize(
    "value",
    [FULL, Script(), Schedule((Ask(1, {"on": 1}),)), Example(script=FULL, asks=[{"on": 1}], faults=[Refuse("a")])],
    ids=lambda value: type(value).__name__,
)
def test_values_can_be_pickled_copied_and_hashed(value: Any) -> None:
    for again in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
        assert again == value
        assert hash(again) == hash(value)
        assert repr(again) == repr(value)
    assert len({value, copy.deepcopy(value)}) == 1


def test_members_of_a_script_are_immutable_and_compare_as_mappings() -> None:
    pages: Any = FULL.pages
    assert pages == dict(pages)
    assert pages != {"u": ()}
    assert (len(pages), list(pages)) == (1, ["u"])
    with pytest.raises(TypeError):
        pages["u"] = ()


# ── one message at a time ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_ready_message_or_its_delivery_can_be_delivered() -> None:
    fake = FakeBrowser()
    ends = [fake.connect(), fake.connect()]
    for number, end in enumerate(ends, 1):
        end.receive(b'{"id":%d,"method":"Browser.getVersion"}' % number)
    first, second = fake.ready()
    assert (first.what, first.session_id) == ("reply to Browser.getVersion", None)
    assert first == (ends[0], first.delivery)
    end, payload = fake.deliver(second)
    assert end is ends[1]
    assert payload.startswith(b'{"id":2,')
    end, payload = fake.deliver(first.delivery)
    assert end is ends[0]
    assert payload.startswith(b'{"id":1,')
    for delivered in (first, first.delivery):
        with pytest.raises(ValueError, match="is no longer waiting"):
            fake.deliver(delivered)


async def test_a_browser_session_opens_over_the_transport_of_a_fake() -> None:
    from cdp_core import open_browser_session

    async with open_browser_session(FakeBrowser().transport()) as browser:
        assert "product" in await browser.send("Browser.getVersion")


def test_a_played_script_uses_its_own_documents_and_leaves_the_script_of_the_fake() -> None:
    shop = "https://shop.example/"
    fake = FakeBrowser(Script(pages={shop: [Console("old")]}, timeline=[Wait(1), Popup("mine")]))
    more = Script(
        pages={shop: [Dialog("confirm", "Sure?")]},
        timeline=[Popup("p", shop, noopener=True)],
        answers={"f()": Answer(7)},
    )
    fake.play(more)
    assert [dialog.message for dialog in fake.truth().dialogs] == ["Sure?"]
    fake.play(more)
    assert len(fake.truth().dialogs) == 2
    fake.advance(1)
    fake.play(Console("x", frame="p"))
    assert fake.script.pages[shop] == (Console("old"),)
