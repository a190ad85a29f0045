"""Schedules: recorded runs repeat byte for byte; turns that cannot be taken are passed over or raise."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdp_core.errors import InvalidArgument, LocalProtocolError
from cdp_core.testing import schedules as turns
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.fake.world import PROFILES
from cdp_core.testing.schedules import Advance, Ask, Consume, Deliver, Schedule, SeededRandom
from cdp_core.testing.simulation import DeliveryOrder, Pump, Run
from cdp_core.testing.steps import AddFrame, Answer, Close, Console, Dialog, Popup, Script, Wait
from cdp_core.testing.strategies import schedules, scripts
from support import naive_client

SEED = st.integers(0, 2**64 - 1)
EDGES = st.sampled_from(["observed", "causal"])
BUSY = Script(
    pages={"https://shop.example/": (AddFrame("a", "https://ads.example/"), AddFrame("b", "https://pay.example/"))},
    timeline=(Wait(1), AddFrame("c", "https://ads.example/"), AddFrame("d", "https://pay.example/"), Close()),
)


class Silent:
    """A client that writes nothing."""

    def receive(self, _payload: bytes) -> list[bytes]:
        return []


class Echoing(Silent):
    """A client that sends `Browser.getVersion`: at first, for each answer until `most`, and for each ask."""

    def __init__(self, most: int = 3) -> None:
        self.most = most
        self.written = 0

    def start(self) -> list[bytes]:
        return self._write(2)

    def receive(self, _payload: bytes) -> list[bytes]:
        return self._write(1) if self.written < self.most else []

    def ask(self, count: int) -> list[bytes]:
        return self._write(count)

    def _write(self, count: int) -> list[bytes]:
        self.written += count
        first = self.written - count + 1
        return [f'{{"id":{each},"method":"Browser.getVersion"}}'.encode() for each in range(first, self.written + 1)]


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────

TURNS = st.one_of(
    st.builds(Deliver, st.integers(1, 3), st.integers(0, 9), st.integers(0, 9)),
    st.builds(Consume, st.integers(1, 3), st.integers(0, 9), st.integers(0, 99)),
    st.builds(Advance, st.floats(0, 9)),
    st.builds(Ask, st.integers(1, 3), st.none() | st.text() | st.lists(st.integers())),
)


@given(made=st.builds(Schedule, st.lists(TURNS), EDGES))
def test_a_schedule_prints_as_python_and_survives_json(made: Schedule) -> None:
    assert eval(repr(made), dict(vars(turns))) == made
    assert Schedule.from_json(made.to_json()) == made
    assert Schedule.from_json(json.dumps(made.to_json())) == made


def test_a_schedule_prints_without_its_defaults() -> None:
    made = Schedule([Deliver(), Deliver(2, 7), Deliver(rank=3), Consume(), Advance(1)], "causal")
    assert repr(made) == (
        "Schedule(turns=(Deliver(), Deliver(client=2, number=7), Deliver(rank=3), Consume(), Advance(1)), edges='causal')"
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("nope", "A schedule must be a JSON object with turns, edges."),
        ({"turn": []}, "A schedule has no member 'turn'; its members are turns, edges."),
        ({"turns": {}}, "turns of a schedule must be a list."),
        ({"turns": [{"turn": "Leap"}]}, "turns[0] is not a turn; the turns are Deliver, Consume, Advance, Ask."),
        (
            {"turns": [{"turn": "Deliver", "to": 1}]},
            "turns[0] has missing or unknown members; Deliver takes client, number, rank.",
        ),
        ({"turns": [{"turn": "Deliver", "client": 0}]}, "turns[0]: client must be an integer of at least 1, not 0."),
        ({"turns": [{"turn": "Consume", "commands": True}]}, "commands must be an integer of at least 0, not True."),
        ({"edges": "any"}, "edges must be one of observed, causal, not 'any'."),
    ],
)
def test_an_invalid_schedule_is_refused(content: Any, expected: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        Schedule.from_json(content)
    assert expected in str(refused.value)


def test_a_step_is_not_a_turn() -> None:
    with pytest.raises(InvalidArgument, match=r"Wait\(1\) is not a turn of a schedule"):
        Schedule([Wait(1)])  # type: ignore[list-item]


def test_seeded_random_is_the_same_on_every_python() -> None:
    random = SeededRandom(7)
    assert [random.below(100) for _ in range(12)] == [38, 1, 90, 58, 45, 24, 46, 32, 13, 41, 10, 95]
    assert SeededRandom(-1).below(2**32) == SeededRandom(2**64 - 1).below(2**32)


@given(seed=SEED, bound=st.integers(1, 1000))
def test_seeded_random_stays_below_its_bound(seed: int, bound: int) -> None:
    random = SeededRandom(seed)
    assert all(0 <= random.below(bound) < bound for _ in range(20))


# ── recorded and run again ───────────────────────────────────────────────────────────────────────────────────────────


def run_script(script: Script, clients: int = 1, profile: Any = "headless-new", **how: Any) -> Run:
    fake = FakeBrowser(script, profile=profile)
    return Pump(fake, [naive_client.NaiveClient(script.answers) for _ in range(clients)], **how).run()


@given(
    script=scripts(), seed=SEED, edges=EDGES, profile=st.sampled_from(PROFILES), clients=st.integers(1, 2), hurry=...
)
def test_a_recorded_schedule_repeats_the_run_byte_for_byte(
    script: Script, seed: int, edges: Any, profile: Any, clients: int, hurry: bool
) -> None:
    asks = [Ask(1, ["page", "Page.navigate", {"url": "https://ads.example/1"}])]
    first = run_script(script, clients, profile, seed=seed, edges=edges, hurry=hurry, asks=asks)
    schedule = Schedule.from_json(json.dumps(first.schedule.to_json()))
    again = run_script(script, clients, profile, schedule=schedule, exact=True)
    assert again == first
    assert again.passed_over == 0


@given(script=scripts(), data=st.data(), clients=st.integers(1, 2), edges=EDGES)
def test_any_list_of_turns_can_be_run_and_the_turns_taken_repeat_exactly(
    script: Script, data: st.DataObject, clients: int, edges: Any
) -> None:
    drawn = data.draw(schedules(script, clients=clients, edges=edges))
    first = run_script(script, clients, schedule=drawn)
    assert first.quiet
    assert first.schedule.edges == edges
    again = run_script(script, clients, schedule=first.schedule, exact=True)
    assert attrs.evolve(again, passed_over=first.passed_over) == first


@given(script=scripts(), seed=SEED)
def test_observed_orders_are_not_hostile(script: Script, seed: int) -> None:
    assert run_script(script, seed=seed).hostile == 0


def test_causal_orders_are_sometimes_hostile() -> None:
    runs = [run_script(BUSY, seed=seed, edges="causal") for seed in range(20)]
    assert sum(run.hostile > 0 for run in runs) > 5


def test_seeds_give_many_orders() -> None:
    for edges, least in (("observed", 15), ("causal", 15)):
        runs = [run_script(BUSY, seed=seed, edges=edges) for seed in range(20)]
        assert len({run.delivered for run in runs}) >= least


def test_messages_are_delivered_by_default_in_the_order_in_which_they_arose() -> None:
    run = run_script(BUSY)
    numbers = [turn.number for turn in run.schedule.turns if isinstance(turn, Deliver)]
    assert numbers == sorted(numbers)
    assert run_script(BUSY, schedule=Schedule()) == run


# ── the turns of a run ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_run_records_the_turns_that_it_took() -> None:
    seen: list[Any] = []
    schedule = Schedule([Consume(1, 2), Deliver(1, rank=5), Ask(1, 1), Advance(2), Consume(1, 1)])
    run = Pump(FakeBrowser(), [Echoing()], schedule=schedule, watch=seen.append).run()
    assert run.schedule.turns[:5] == (Consume(1, 2), Deliver(1, 1), Ask(1, 1), Advance(2), Consume(1, 1))
    assert seen[:2] == [Consume(1, 2), Deliver(1, rank=5)]
    assert [json.loads(payload)["id"] for _, payload in run.received] == [1, 2, 3, 4]
    assert {json.loads(payload)["id"] for _, payload in run.delivered} == {1, 2, 3, 4}
    assert run.quiet
    assert run.passed_over == 0


def test_turns_that_cannot_be_taken_are_passed_over_and_counted() -> None:
    schedule = Schedule([Deliver(), Deliver(7), Consume(7), Ask(7), Ask(1), Deliver(1, 99), Consume(1, 5), Consume(1)])
    run = Pump(FakeBrowser(), [Silent()], schedule=schedule).run()
    assert run.passed_over == 8
    assert run.schedule.turns == ()


@pytest.mark.parametrize("turn", [Deliver(), Deliver(1, 9), Consume(1, 3), Consume(2), Ask(2)])
def test_an_exact_run_raises_at_a_turn_that_cannot_be_taken(turn: Any) -> None:
    pump = Pump(FakeBrowser(), [Echoing()], schedule=Schedule([Advance(1), turn]), exact=True)
    with pytest.raises(LocalProtocolError, match=r"Turn 2 of the schedule cannot be taken: \w+\(") as raised:
        pump.run()
    assert raised.value.reason == "schedule"


def test_a_command_is_consumed_with_its_last_octet() -> None:
    command = len(b'{"id":1,"method":"Browser.getVersion"}')
    for octets, consumed in ((command - 1, 0), (command, 1), (2 * command - 1, 1), (2 * command, 2)):
        parts = Schedule([Consume(1, 0, 10), Consume(1, 0, octets - 10)])
        pump = Pump(FakeBrowser(), [Echoing(2)], schedule=parts)
        run = pump.run()
        assert [turn.commands for turn in run.schedule.turns if isinstance(turn, Consume)][:2] == [0, consumed]


def test_time_advances_when_the_run_is_quiet_and_only_to_the_next_due_step() -> None:
    script = Script(timeline=[step for _ in range(30) for step in (Wait(0.1), Console("x"))])
    fake = FakeBrowser(script)
    run = Pump(fake, [Silent()]).run()
    advances = [turn for turn in run.schedule.turns if isinstance(turn, Advance)]
    assert len(advances) == 30
    assert fake.next_time() is None
    assert Pump(FakeBrowser(script), [Silent()], schedule=run.schedule, exact=True).run() == run


def test_with_hurry_a_seed_advances_time_before_the_run_is_quiet() -> None:
    script = Script(timeline=[Wait(1), Console("x")])

    def first_kinds(hurry: bool) -> set[str]:
        runs = [Pump(FakeBrowser(script), [Echoing()], seed=seed, hurry=hurry).run() for seed in range(20)]
        return {type(run.schedule.turns[0]).__name__ for run in runs}

    assert first_kinds(False) == {"Consume"}
    assert first_kinds(True) == {"Consume", "Advance"}


def test_asks_come_in_order_when_the_run_is_quiet() -> None:
    asks = [Ask(1, 1), Ask(1, 2)]
    for how in ({}, {"seed": 5}):
        run = Pump(FakeBrowser(), [Echoing(0)], asks=asks, **how).run()  # type: ignore[arg-type]
        indexes = [index for index, turn in enumerate(run.schedule.turns) if isinstance(turn, Ask)]
        assert [run.schedule.turns[index] for index in indexes] == asks
        before = run.schedule.turns[: indexes[0]]
        assert sum(isinstance(turn, Deliver) for turn in before) == 2


def test_a_run_that_never_becomes_quiet_ends_after_max_turns() -> None:
    run = Pump(FakeBrowser(), [Echoing(10**9)], max_turns=50).run()
    assert not run.quiet
    assert len(run.schedule.turns) == 50


def test_what_a_lost_client_writes_is_ignored() -> None:
    fake = FakeBrowser()
    pump = Pump(fake, [Echoing()])
    pump.ends[0].lost()
    run = pump.run()
    assert run.received == ()
    assert run.quiet


def test_a_pump_takes_a_schedule_or_a_seed() -> None:
    for wrong in ({"seed": 1}, {"edges": "causal"}):
        with pytest.raises(InvalidArgument, match="a schedule, or a seed"):
            Pump(FakeBrowser(), [], schedule=Schedule(), **wrong)  # type: ignore[arg-type]


def test_a_pump_uses_the_schedule_of_its_browser() -> None:
    schedule = Schedule([Consume(1, 2)], "causal")
    run = Pump(FakeBrowser(schedule=schedule), [Echoing()]).run()
    assert run.schedule.turns[0] == Consume(1, 2)
    assert run.schedule.edges == "causal"
    assert Pump(FakeBrowser(schedule=schedule), [Echoing()], seed=1).run().schedule.edges == "observed"


def test_a_client_can_join_on_the_path_of_a_page() -> None:
    fake = FakeBrowser()
    pump = Pump(fake, [Silent()])
    end = pump.join(Echoing(), f"/devtools/page/{fake.truth().pages[0]}")
    assert pump.ends == (pump.ends[0], end)
    assert {client for client, _ in pump.run().delivered} == {2}


# ── the order of delivery for clients without a pump ─────────────────────────────────────────────────────────────────

ASKED = [f'{{"id":{each},"method":"Browser.getVersion"}}'.encode() for each in range(1, 5)]


def ids(payloads: list[bytes]) -> list[int]:
    return [json.loads(payload)["id"] for payload in payloads]


def test_an_order_waits_for_the_commands_that_the_schedule_consumes() -> None:
    end = FakeBrowser().connect()
    order = DeliveryOrder(end, schedule=Schedule([Consume(2), Consume(1, 2), Deliver(1), Consume(1, 1), Deliver(1)]))
    for each in ASKED[:1]:
        end.receive(each)
        order.sent(len(each))
    assert order.waits_for_client
    assert order.take() == []
    end.receive(ASKED[1])
    order.sent(len(ASKED[1]))
    assert not order.waits_for_client
    assert ids(order.take()) == [1]
    assert order.waits_for_client
    order.give_up()
    assert not order.waits_for_client
    assert ids(order.take()) == [2]


def test_an_order_counts_octets_as_well() -> None:
    end = FakeBrowser().connect()
    order = DeliveryOrder(end, schedule=Schedule([Consume(1, 0, len(ASKED[0]) + 1), Deliver(1)]))
    for each in ASKED[:2]:
        assert order.take() == []
        end.receive(each)
        order.sent(len(each))
    assert ids(order.take()) == [1, 2]


def test_an_order_without_messages_does_not_wait_for_the_client() -> None:
    end = FakeBrowser().connect()
    order = DeliveryOrder(end, schedule=Schedule([Consume(1, 1)]))
    assert not order.waits_for_client
    assert order.take() == []


@given(seed=SEED)
def test_the_order_of_a_seed_delivers_every_message_once(seed: int) -> None:
    script = Script(answers={"ask()": Answer(1, [Dialog()])})
    end = FakeBrowser(script).connect()
    end.receive(b'{"id":1,"method":"Target.setDiscoverTargets","params":{"discover":true}}')
    for each in ASKED[1:]:
        end.receive(each)
    order = DeliveryOrder(end, seed=seed)
    batches = []
    while batch := order.take():
        batches.append(batch)
    messages = [json.loads(payload) for batch in batches for payload in batch]
    assert sorted(each["id"] for each in messages if "id" in each) == [1, 2, 3, 4]
    assert "Target.targetCreated" in [each.get("method") for each in messages]


def test_an_order_takes_a_schedule_or_a_seed() -> None:
    with pytest.raises(InvalidArgument, match="from a schedule or from a seed"):
        DeliveryOrder(FakeBrowser().connect(), schedule=Schedule(), seed=1)


def test_an_order_takes_the_browsers_schedule() -> None:
    end = FakeBrowser(schedule=Schedule([Consume(1, 2), Deliver()])).connect()
    end.receive(ASKED[0])
    order = DeliveryOrder(end)
    order.sent(len(ASKED[0]))
    assert order.waits_for_client


# ── runs in parts ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", [None, 7])
def test_a_run_can_be_stopped_and_continued(seed: int | None) -> None:
    script = Script(timeline=(Wait(1), Popup("p"), Wait(1), Dialog()))

    def pump() -> Pump:
        return Pump(FakeBrowser(script), [naive_client.NaiveClient()], seed=seed)

    whole, parts = pump(), pump()
    run = whole.run()
    assert parts.run(until=lambda: len(parts.fake.truth().pages) > 1).schedule != run.schedule
    assert parts.fake.truth().dialogs == ()
    assert parts.run().schedule == run.schedule


def test_the_turns_of_a_schedule_continue_after_a_stop() -> None:
    script = Script(timeline=(Wait(1), Popup("p")))
    run = Pump(FakeBrowser(script), [naive_client.NaiveClient()], seed=7).run()
    again = Pump(FakeBrowser(script), [naive_client.NaiveClient()], schedule=run.schedule, exact=True)
    assert len(again.run(until=lambda: True).schedule.turns) == 1
    assert again.run().schedule == run.schedule
