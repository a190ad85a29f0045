"""Faults: each strikes the message that it names, at every position, and knows its legality."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdp_core.errors import InvalidArgument
from cdp_core.testing import faults as kinds
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.fake.client_end import ClientEnd
from cdp_core.testing.faults import (
    KINDS,
    Cut,
    Delay,
    Drop,
    Duplicate,
    Fault,
    Merge,
    Novelty,
    Refuse,
    Silence,
    Split,
    faults_from_json,
    faults_to_json,
)
from cdp_core.testing.simulation import Pump
from cdp_core.testing.steps import AddFrame, Close, Console, Script, Wait
from cdp_core.testing.strategies import faults, scripts
from support import naive_client

Json = dict[str, Any]
VERSION = "Browser.getVersion"
CREATED = "Target.targetCreated"


def send(end: ClientEnd, *methods: str, first: int = 1) -> None:
    for number, method in enumerate(methods, first):
        params = {"discover": True} if method.endswith("setDiscoverTargets") else {}
        end.receive(json.dumps({"id": number, "method": method, "params": params}).encode())


def received(end: ClientEnd) -> list[Any]:
    """Return the ids of the new replies and the methods of the new events."""
    messages = [json.loads(payload) for payload in end.drain()]
    return [each.get("id", each.get("method")) for each in messages]


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(chosen=faults("legal", "hostile", "illegal", streams=True, max_faults=6))
def test_a_fault_prints_as_python_and_survives_json(chosen: tuple[Fault, ...]) -> None:
    assert eval(repr(chosen), dict(vars(kinds))) == chosen
    assert faults_from_json(json.loads(json.dumps(faults_to_json(chosen)))) == chosen


@given(data=st.data(), legality=st.sampled_from(get_args(kinds.Legality)), streams=st.booleans())
def test_a_strategy_keeps_to_its_legality(data: st.DataObject, legality: Any, streams: bool) -> None:
    chosen = data.draw(faults(legality, streams=streams))
    assert {fault.legality for fault in chosen} <= {legality}
    assert streams or not any(isinstance(fault, (Split, Merge)) for fault in chosen)


def test_dropping_and_duplicating_is_hostile_for_commands_and_illegal_for_events() -> None:
    assert [Drop("Page.enable").legality, Duplicate("Page.enable").legality] == ["hostile", "hostile"]
    assert [Drop(CREATED).legality, Duplicate(CREATED).legality] == ["illegal", "illegal"]
    others = (Delay(CREATED, 1), Refuse(VERSION), Cut(), Silence(), Split(), Merge())
    assert {fault.legality for fault in others} == {"legal"}
    assert Drop("Vendor.unheardOf").legality == "hostile"


def test_every_kind_of_fault_is_registered_by_name() -> None:
    assert set(KINDS.values()) == set(get_args(Fault))
    assert set(KINDS) <= set(kinds.__all__)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"fault": "Explode"}], "faults[0] is not a fault; the faults are Drop"),
        ([{"fault": "Drop"}], "faults[0] has missing or unknown members; Drop takes method, nth, client."),
        ([{"fault": "Drop", "method": ""}], "faults[0]: method must be a text that is not empty"),
        ([{"fault": "Cut"}, {"fault": "Cut", "nth": 0}], "faults[1]: nth must be an integer of at least 1, not 0."),
        ([{"fault": "Cut", "direction": "up"}], "faults[0]: direction must be one of in, out, not 'up'."),
        ([{"fault": "Cut", "when": "while"}], "faults[0]: when must be one of before, after, not 'while'."),
        (
            [{"fault": "Refuse", "method": CREATED}],
            "Only a command can be refused, and 'Target.targetCreated' is not one",
        ),
        ([{"fault": "Merge", "messages": 1}], "messages must be an integer of at least 2, not 1."),
    ],
)
def test_an_invalid_fault_is_refused(content: Any, text: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        faults_from_json(content)
    assert text in str(refused.value)


# ── commands ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(nth=st.integers(1, 4))
def test_the_nth_command_is_dropped(nth: int) -> None:
    fake = FakeBrowser(faults=[Drop(VERSION, nth)])
    end = fake.connect()
    send(end, VERSION, VERSION, VERSION, VERSION)
    assert received(end) == [each for each in (1, 2, 3, 4) if each != nth]
    assert fake.statistics().never_answered == 1
    assert len(fake.commands) == 4


def test_a_dropped_command_has_no_effect() -> None:
    end = FakeBrowser(faults=[Drop("Target.setDiscoverTargets")]).connect()
    send(end, "Target.setDiscoverTargets", "Target.setDiscoverTargets")
    assert received(end) == [CREATED, 2]


def test_the_nth_command_is_refused_and_has_no_effect() -> None:
    fake = FakeBrowser(faults=[Refuse("Target.setDiscoverTargets", 1, -32603, "Not today")])
    end = fake.connect()
    send(end, "Target.setDiscoverTargets")
    assert [json.loads(payload) for payload in end.drain()] == [
        {"id": 1, "error": {"code": -32603, "message": "Not today"}}
    ]
    assert fake.statistics().refused == 1
    send(end, "Target.setDiscoverTargets", first=2)
    assert received(end) == [CREATED, 2]


def test_a_command_is_answered_twice() -> None:
    end = FakeBrowser(faults=[Duplicate(VERSION, 2)]).connect()
    send(end, VERSION, VERSION, VERSION)
    assert received(end) == [1, 2, 2, 3]


def test_a_delayed_command_delays_the_commands_after_it() -> None:
    fake = FakeBrowser(faults=[Delay(VERSION, 2, nth=2), Delay(VERSION, 1, nth=3)])
    end, other = fake.connect(), fake.connect()
    send(end, VERSION, VERSION, "Target.getBrowserContexts", VERSION, VERSION)
    send(other, VERSION)
    assert received(end) == [1]
    assert received(other) == [1]
    fake.advance(1.9)
    assert received(end) == []
    fake.advance(2)
    assert received(end) == [2, 3]
    fake.advance(3)
    assert received(end) == [4, 5]
    assert [command.at for command in fake.commands] == [0, 0, 2, 2, 3, 3]


# ── events ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def discovering(*chosen: Fault) -> tuple[FakeBrowser, ClientEnd]:
    fake = FakeBrowser(faults=chosen)
    end = fake.connect()
    send(end, "Target.setDiscoverTargets")
    assert received(end)[-1] == 1
    return fake, end


def open_pages(end: ClientEnd, count: int) -> None:
    for number in range(count):
        command = {"id": 100 + number, "method": "Target.createTarget", "params": {"url": "about:blank"}}
        end.receive(json.dumps(command).encode())


def test_the_nth_event_is_dropped_or_duplicated() -> None:
    for fault, times in ((Drop(CREATED, 2), 0), (Duplicate(CREATED, 2), 2)):
        _, end = discovering(fault)
        open_pages(end, 2)
        assert received(end).count(CREATED) == times + 1


def test_a_delayed_event_delays_the_messages_after_it() -> None:
    fake, end = discovering(Delay(CREATED, 2, nth=2))
    send(end, VERSION, first=5)
    open_pages(end, 1)
    assert received(end) == [5]
    fake.advance(1)
    assert received(end) == []
    fake.advance(2)
    assert received(end)[:2] == [CREATED, 100]


# ── links ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(nth=st.integers(1, 4), when=st.sampled_from(["before", "after"]))
def test_a_link_breaks_at_the_nth_message_out(nth: int, when: Any) -> None:
    fake = FakeBrowser(faults=[Cut(nth, "out", when)])
    end = fake.connect()
    assert end.connected
    send(end, VERSION, VERSION, VERSION, VERSION)
    assert received(end) == list(range(1, nth + (when == "after")))
    assert not end.connected


@given(nth=st.integers(1, 4), when=st.sampled_from(["before", "after"]))
def test_a_link_breaks_at_the_nth_message_in(nth: int, when: Any) -> None:
    fake = FakeBrowser(faults=[Cut(nth, "in", when)])
    end = fake.connect()
    send(end, VERSION, VERSION, VERSION, VERSION)
    assert [command.id for command in fake.commands] == list(range(1, nth + (when == "after")))
    assert not end.connected
    assert received(end) == []


def test_a_cut_at_a_message_that_never_comes_breaks_no_link() -> None:
    for fault in (Cut(1, "out", "before"), Cut(2, "out", "before"), Cut(2, "in", "before"), Cut(2)):
        end = FakeBrowser(faults=[fault]).connect()
        send(end, VERSION) if fault.nth == 2 else None
        assert received(end) == ([1] if fault.nth == 2 else [])
        assert end.connected


def test_a_cut_also_strikes_messages_caused_by_time_or_by_pages() -> None:
    for act in (lambda fake: fake.advance(1), lambda fake: fake.play(Close())):
        fake = FakeBrowser(Script(timeline=[Wait(1), Close()]), faults=[Cut(3, "out", "before")])
        end = fake.connect()
        send(end, "Target.setDiscoverTargets")
        assert received(end) == [CREATED, 1]
        act(fake)
        assert not end.connected


@given(nth=st.integers(1, 4))
def test_a_silent_browser_sends_nothing_from_the_nth_message_on(nth: int) -> None:
    fake = FakeBrowser(faults=[Silence(nth)])
    end = fake.connect()
    send(end, VERSION, VERSION, VERSION, VERSION)
    assert received(end) == list(range(1, nth))
    assert end.connected
    assert end.ready() == ()
    assert fake.ready() == ()
    assert len(fake.commands) == 4


@given(nth=st.integers(1, 4))
def test_a_silent_browser_ignores_commands_from_the_nth_on(nth: int) -> None:
    fake = FakeBrowser(faults=[Silence(nth, "in")])
    end = fake.connect()
    send(end, VERSION, VERSION, VERSION, VERSION)
    assert received(end) == list(range(1, nth))
    assert end.connected
    fake.play(Console("still there"))


def test_a_fault_can_name_one_client() -> None:
    fake = FakeBrowser(faults=[Drop(VERSION, client=2), Cut(2, client=3)])
    ends = [fake.connect() for _ in range(3)]
    for end in ends:
        send(end, VERSION, VERSION, VERSION)
    assert [received(end) for end in ends] == [[1, 2, 3], [2, 3], [1, 2]]
    assert [fault for end in ends for fault in end.faults.matched_faults] == [*fake.faults]


def test_faults_of_byte_streams_do_not_affect_the_browser() -> None:
    end = FakeBrowser(faults=[Split(1), Merge(3)]).connect()
    assert not end.faults.any
    send(end, VERSION)
    assert received(end) == [1]


def test_two_faults_can_strike_one_command() -> None:
    fake = FakeBrowser(faults=[Delay(VERSION, 1), Refuse(VERSION)])
    end = fake.connect()
    send(end, VERSION)
    assert received(end) == []
    fake.advance(1)
    assert json.loads(end.drain()[0])["error"]["message"] == "Internal error"


# ── all faults together ──────────────────────────────────────────────────────────────────────────────────────────────


@given(script=scripts(), chosen=faults("legal", "hostile"), seed=st.integers(0, 2**32))
def test_under_legal_and_hostile_faults_a_session_starts_with_its_attach_event(
    script: Script, chosen: tuple[Fault, ...], seed: int
) -> None:
    fake = FakeBrowser(script, faults=chosen)
    run = Pump(fake, [naive_client.NaiveClient(script.answers)], seed=seed).run()
    assert run.quiet
    known = {None}
    for _, payload in run.delivered:
        message = json.loads(payload)
        assert message.get("sessionId") in known
        if message.get("method") == "Target.attachedToTarget":
            known.add(message["params"]["sessionId"])


@given(chosen=faults("legal", "hostile", "illegal"), seed=st.integers(0, 2**32))
def test_the_same_faults_strike_under_the_same_schedule(chosen: tuple[Fault, ...], seed: int) -> None:
    script = Script(timeline=[Wait(1), AddFrame("a", "https://ads.example/"), Console("x"), Wait(1), Close()])

    def run(**how: Any) -> Any:
        fake = FakeBrowser(script, faults=chosen)
        pump = Pump(fake, [naive_client.NaiveClient()], **how)
        return pump.run(), pump.ends[0].faults.matched_faults

    first, struck = run(seed=seed)
    assert run(schedule=first.schedule, exact=True) == (first, struck)


# ── novelties ────────────────────────────────────────────────────────────────────────────────────────────────────────


def messages_with(fault: Fault, *, times: int = 1) -> list[Json]:
    fake = FakeBrowser(Script(timeline=(Wait(1), *times * (Console("x"),))), faults=[fault])
    end = fake.connect()
    attach = {
        "id": 1,
        "method": "Target.attachToTarget",
        "params": {"targetId": fake.truth().pages[0], "flatten": True},
    }
    end.receive(json.dumps(attach).encode())
    session = fake.truth().sessions[0][1]
    end.receive(json.dumps({"id": 2, "method": "Runtime.enable", "sessionId": session}).encode())
    fake.advance(1)
    return [json.loads(payload) for payload in end.drain()]


def lines(messages: list[Json]) -> list[Json]:
    return [each["params"] for each in messages if each.get("method") == "Runtime.consoleAPICalled"]


def test_a_novelty_adds_a_field_to_the_nth_event() -> None:
    first, second = lines(messages_with(Novelty("Runtime.consoleAPICalled", nth=2), times=2))
    assert second.keys() - first.keys() == {"somethingNew"}
    assert first["type"] == second["type"] == "log"


def test_a_novelty_adds_a_field_to_a_reply() -> None:
    messages = messages_with(Novelty("Runtime.enable"))
    assert [each["result"] for each in messages if each.get("id") == 2] == [{"somethingNew": {"why": "somethingNew"}}]


def test_a_novelty_changes_the_value_of_an_enumeration() -> None:
    [line] = lines(messages_with(Novelty("Runtime.consoleAPICalled", "value")))
    assert line["type"] == "somethingNew"
    with pytest.raises(InvalidArgument, match=r"cannot change a value of 'Page\.frameAttached'; take one of Page"):
        Novelty("Page.frameAttached", "value")


def test_a_novelty_sends_an_unknown_event_before_the_nth_event_of_the_session() -> None:
    messages = messages_with(Novelty("Runtime.consoleAPICalled", "event"))
    index = [each.get("method") for each in messages].index("Future.happened")
    assert messages[index + 1]["method"] == "Runtime.consoleAPICalled"
    assert messages[index]["sessionId"] == messages[index + 1]["sessionId"]


def test_a_novelty_is_hostile_and_counted() -> None:
    fault = Novelty(CREATED, "event", client=1)
    fake = FakeBrowser(faults=[fault])
    end = fake.connect()
    send(end, "Target.setDiscoverTargets")
    end.drain()
    assert fault.legality == "hostile"
    assert fake.matched_faults(1).faults == (fault,)
    assert fake.delivered(1).counts["Future.happened"] == 1
