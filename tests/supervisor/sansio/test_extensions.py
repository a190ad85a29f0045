"""What extensions may do, and what they may not: hear, keep, send, note, be woken; and what they show."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable
from typing import Any

import attrs
import pytest

from cdp_core.sansio.messages import Event
from cdp_core.sansio.structs import replace
from cdp_supervisor.sansio import extensions
from cdp_supervisor.sansio.deadlines import added
from cdp_supervisor.sansio.effects import Answer, Dial, Effect, Note, Send
from cdp_supervisor.sansio.extensions import MAX_SENDS, Extension, ExtensionViews
from cdp_supervisor.sansio.inputs import BrowserEvent, Input, Instant, TimePassed
from cdp_supervisor.sansio.state import HostedExtension, initial_state
from cdp_supervisor.sansio.step import step
from support import folded_machine

SampleExtension, Rule, LOG, keeping = (
    folded_machine.SampleExtension,
    folded_machine.Rule,
    folded_machine.LOG,
    folded_machine.keeping,
)


def repr_of(value: object) -> str:
    return repr(value)[:12]


HANDLE = "Page.handleJavaScriptDialog"
TREE = "Page.getFrameTree"


def on_a_page(**options: Any) -> Any:
    return folded_machine.on_a_page(**options)


def ordering(*orders: Any, on: type[Input] = BrowserEvent) -> Rule:
    return lambda state, fed: (state, orders if type(fed) is on else ())


def send(**changed: Any) -> Any:
    return Send(**{"ticket": 0, "session_id": None, "method": "Log.clear", **changed})


def note(**changed: Any) -> Any:
    return Note(**{"level": "info", "text": "seen", **changed})


def raising(_state: Any, _input: Input) -> Any:
    raise KeyError("no")


def fed(fold: Any, place: int = 0) -> Any:
    return fold.state.extensions[place].state


def test_a_machine_is_fed_its_events_with_their_page_and_all_other_inputs() -> None:
    machine = SampleExtension(events={LOG, "Page.frameAttached"})
    fold = on_a_page(extensions=(machine,))
    before = len(fed(fold))
    fold.says(LOG, on="s-P")
    fold.says(LOG)
    fold.says("Page.frameAttached", on="s-P", frameId="A", parentFrameId="P")
    fold.says("Page.frameAttached", frameId="B")
    fold.says("Page.frameDetached", on="s-P", frameId="A")
    fold.passes(0.1)
    heard = fed(fold)[before:]
    assert [getattr(each, "page", "-") for each in heard] == ["P", None, "P", None, "-"]
    assert fold.shown().extensions["stranger"] == {"fed": len(fed(fold))}


def test_each_machine_hears_of_its_own_events_alone() -> None:
    fold = on_a_page(extensions=(SampleExtension(events={LOG}), SampleExtension(events={"X.y"}, name="other")))
    before = [len(fed(fold, 0)), len(fed(fold, 1))]
    fold.says(LOG, on="s-P")
    assert [len(fed(fold, 0)), len(fed(fold, 1))] == [before[0] + 1, before[1]]


def test_what_only_machines_keep_is_a_new_state_and_what_they_do_not_is_none() -> None:
    fold = on_a_page(extensions=(SampleExtension(lambda state, _input: (state, ()), events={LOG}),))
    before = fold.state
    fold.says(LOG, on="s-P")
    assert fold.state is before
    fold.now = 0.5
    fold.says(LOG, on="s-P")
    assert (fold.state.sequence, fold.state.now) == (before.sequence, 0.5)
    keeps = on_a_page(extensions=(SampleExtension(events={LOG}),))
    before = keeps.state
    keeps.says(LOG, on="s-P")
    assert keeps.state.sequence == before.sequence + 1
    assert keeps.state.pages is before.pages


def test_an_event_that_only_machines_want_still_brings_what_is_due() -> None:
    fold = on_a_page(extensions=(SampleExtension(events={LOG}),))
    fold.now = 3.0
    fold.says(LOG, on="s-P")
    assert fold.health() == "blocked"


def test_an_event_of_an_older_link_is_fed_to_no_machine() -> None:
    fold = on_a_page(extensions=(SampleExtension(events={LOG}),))
    before = fed(fold)
    fold.feed(BrowserEvent(at=fold.at, generation=0, event=folded_machine.event_of(LOG, {}, "s-P")))
    assert fed(fold) is before
    assert fold.count("inputs_of_older_links") == 1


def test_a_page_that_was_filled_in_already_is_taken_as_it_is() -> None:
    """A replayed event may say its page."""
    fold = on_a_page(extensions=(SampleExtension(events={LOG}),))
    fold.feed(BrowserEvent(at=fold.at, generation=1, event=folded_machine.event_of(LOG, {}, "s-P"), page="P"))
    assert fed(fold)[-1].page == "P"


def test_a_machine_may_send_and_note_and_is_told_of_no_end() -> None:
    send = Send(ticket=7, session_id=None, method="Log.clear")
    note = Note(level="info", text="seen")
    fold = on_a_page(extensions=(SampleExtension(ordering(send, note), events={LOG}),))
    tickets = fold.state.tickets
    fold.says(LOG, on="s-P")
    assert fold.last == (replace(send, ticket=0), note)
    assert fold.state.tickets is tickets


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (raising, "it raised KeyError"),
        (ordering(Dial(generation=9)), "it returned something other than Send or Note"),
        (ordering(Answer(request_id=1)), "it returned something other than Send or Note"),
        (ordering(*[Send(ticket=0, session_id=None, method="Log.clear")] * 9), "it sent 9 commands for one input"),
        (lambda _state, _input: None, "it raised TypeError"),
        (lambda state, _input: (state, 5), "it raised TypeError"),
        (ordering(None), "it returned something other than Send or Note"),
        (ordering(note(level="fatal")), "it returned an invalid Note"),
        (ordering(note(level=[])), "it raised TypeError"),
        (ordering(note(text=None)), "it returned an invalid Note"),
        (ordering(note(fields=[1])), "it returned an invalid Note"),
        (ordering(send(session_id=5)), "it returned an invalid Send"),
        (ordering(send(method="")), "it returned an invalid Send"),
        (ordering(send(method=None)), "it returned an invalid Send"),
        (ordering(send(method=5)), "it returned an invalid Send"),
        (ordering(send(params={"a": object()})), "it sent Log.clear with params that are not JSON"),
        (ordering(send(params={"a": math.nan})), "it sent Log.clear with params that are not JSON"),
        (ordering(send(params=5)), "it sent Log.clear with params that are not JSON"),
        (ordering(send(method="x" * 99, params=5)), f"it sent {'x' * 64} with params that are not JSON"),
        (ordering(send(), note(), send(method="")), "it returned an invalid Send"),
    ],
    ids=lambda each: each[:60] if isinstance(each, str) else "",
)
def test_a_machine_that_does_what_it_may_not_is_switched_off_and_nothing_else(rule: Rule, why: str) -> None:
    fold = on_a_page(
        extensions=(SampleExtension(_armed(rule), events={LOG}), SampleExtension(name="other", events={LOG}))
    )
    before = len(fed(fold, 1))
    fold.says(LOG, on="s-P")
    assert fold.state.extensions[0].off == why
    assert fold.count("machines_switched_off") == 1
    assert "an extension was disabled" in fold.notes()
    assert not [each for each in fold.last if not isinstance(each, Note)]
    assert len(fed(fold, 1)) == before + 1
    assert fold.shown().extensions["stranger"] == {"off": why}
    fold.says(LOG, on="s-P").passes(0.1)
    assert fold.count("machines_switched_off") == 1


def _armed(rule: Rule) -> Rule:
    """The rule, for its own event alone: until then it is a good machine."""

    def armed(state: Any, input: Input) -> Any:
        return rule(state, input) if isinstance(input, BrowserEvent) else (state, ())

    return armed


def test_a_machine_that_was_switched_off_is_fed_nothing() -> None:
    heard: list[Input] = []

    def once(state: Any, input: Input) -> Any:
        if isinstance(input, BrowserEvent):
            heard.append(input)
            raise KeyError
        return state, ()

    fold = on_a_page(extensions=(SampleExtension(once, events={LOG}),))
    fold.says(LOG, on="s-P")
    heard.clear()
    fold.says(LOG, on="s-P")
    fold.now = 3.0  # something is due: not the quick way
    fold.says(LOG, on="s-P")
    assert not heard


@pytest.mark.parametrize(
    "order", [send(session_id="s-P"), send(params={"a": [1, None]}), note(level="debug"), note(fields={"a": object()})]
)
def test_a_good_order_is_carried_out(order: Any) -> None:
    fold = on_a_page(extensions=(SampleExtension(ordering(order), events={LOG}),))
    fold.says(LOG, on="s-P")
    assert fold.last == (order,)
    assert not fold.state.extensions[0].off


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf, True, "soon", 10**400], ids=lambda odd: str(odd)[:9])
def test_a_machine_whose_deadline_is_no_time_is_switched_off(odd: Any) -> None:
    machine = SampleExtension(wants=2.0)
    fold = on_a_page(extensions=(machine,))
    machine.wants = odd
    fold.passes(0.1)
    assert fold.state.extensions[0].off == "its deadline is not a finite number"
    assert "extension stranger scheduled it" not in fold.because()


def test_eight_commands_for_one_input_are_not_too_many() -> None:
    orders = [Send(ticket=0, session_id=None, method="Log.clear")] * 8
    fold = on_a_page(extensions=(SampleExtension(ordering(*orders), events={LOG}),))
    fold.says(LOG, on="s-P")
    assert len(fold.last) == 8
    assert not fold.state.extensions[0].off


def test_a_machine_is_woken_when_it_asked_for_it_and_only_it() -> None:
    machine = SampleExtension(wants=2.0)
    fold = on_a_page(extensions=(machine, SampleExtension(name="other")))
    assert "extension stranger scheduled it" in fold.because()
    others = len(fed(fold, 1))
    machine.rule = functools.partial(_rung, machine)
    fold.now = 2.0
    fold.says("Page.frameAttached", on="s-P", frameId="A", parentFrameId="P")
    assert type(fed(fold)[-1]) is TimePassed
    assert fed(fold)[-1].at.mono == 2.0
    assert "extension stranger scheduled it" not in fold.because()
    assert len(fed(fold, 1)) == others


def _rung(machine: SampleExtension, state: Any, input: Input) -> tuple[Any, Iterable[Effect]]:
    """Once its time has come it wants no other."""
    machine.wants = None
    return (*state, input), ()


def test_a_machine_may_change_its_mind_about_the_time() -> None:
    machine = SampleExtension(wants=2.0)
    fold = on_a_page(extensions=(machine,))

    def wakes() -> list[float]:
        return [at for at, _, why in fold.state.deadline_entries if "extension" in why]

    fold.passes(0.1)
    assert wakes() == [2.0]
    machine.wants = 1.5
    fold.passes(0.1)
    assert wakes() == [1.5]
    machine.wants = None
    fold.passes(0.1)
    assert wakes() == []


def test_an_event_on_the_quick_way_may_set_a_time_as_well() -> None:
    machine = SampleExtension(events={LOG})
    fold = on_a_page(extensions=(machine,))
    machine.wants = 2.0
    fold.says(LOG, on="s-P")
    assert "extension stranger scheduled it" in fold.because()


def test_a_machine_that_asks_for_what_is_over_is_woken_and_never_for_ever() -> None:
    """Each deadline is later than all that was seen: a step ends."""
    fold = on_a_page(extensions=(SampleExtension(wants=0.0),))
    fold.passes(0.1)
    assert fold.state.deadline_entries[0][0] > 0.1


def test_a_machine_that_was_switched_off_is_not_woken() -> None:
    machine = SampleExtension(wants=2.0)
    fold = on_a_page(extensions=(machine,))
    machine.rule = raising
    fold.passes(0.1)
    assert "extension stranger scheduled it" not in fold.because()
    key = ("machine:stranger", 5.0)
    fold.state = replace(
        fold.state,
        deadlines=added(fold.state.deadlines, (key[1], key[0], "as if it had asked before")),
        deadline_of=fold.state.deadline_of.set(*key),
    )
    fold.passes(10.0)
    assert fold.count("machines_switched_off") == 1


def test_what_only_keeps_is_fed_several_at_once() -> None:
    keeper, other = folded_machine.Keeper(), folded_machine.Keeper(name="other", events={LOG, "X.y"})
    fold = on_a_page(extensions=(keeper, other))
    after = extensions.fold(
        fold.state, [*folded_machine.lines(fold, "a"), *folded_machine.lines(fold, "b", method="X.y")]
    )
    assert after is not None
    assert [each.state for each in after.extensions] == [("a",), ("a", "b")]
    assert after.sequence == fold.state.sequence + 2


@pytest.mark.parametrize("text", ["fatal", "x"])
def test_what_fails_or_is_more_than_keeping_is_not_fed_at_once(text: str) -> None:
    more = () if text == "fatal" else (SampleExtension(events={LOG}),)
    fold = on_a_page(extensions=(folded_machine.Keeper(), *more))
    assert extensions.fold(fold.state, folded_machine.lines(fold, text)) is None


def test_what_is_kept_by_nobody_makes_no_state() -> None:
    fold = on_a_page(
        extensions=(folded_machine.Keeper(ignores="x"), folded_machine.Keeper(name="deaf", events={"Z.z"}))
    )
    assert extensions.fold(fold.state, folded_machine.lines(fold, "x")) is fold.state


# ── what they show ────────────────────────────────────────────────────────────────────────────────────────────────────


@attrs.define
class Counting:
    """Counts, and how often it was looked at; `raises` where it is."""

    name: str = "counting"
    raises: type[BaseException] | None = None
    sends: int = 0
    looked_at: int = 0
    shows: Any = None
    events: frozenset[str] = frozenset({"Page.loadEventFired"})

    def initial(self) -> int:
        return 0

    def step(self, state: int, input: Input, /) -> tuple[int, Iterable[Effect]]:
        return state + 1, [Send(ticket=0, session_id=None, method="Browser.getVersion")] * self.sends

    def next_deadline(self, _state: int, /) -> float | None:
        return None

    def view(self, state: int, /) -> Any:
        self.looked_at += 1
        if self.raises is not None:
            raise self.raises("what a page wrote")
        return {"counted": state} if self.shows is None else self.shows


def views(*machines: Counting, off: str = "") -> ExtensionViews:
    return ExtensionViews(tuple(HostedExtension(extension=each, state=3, off=off) for each in machines))


def test_each_machine_is_shown_by_its_name_in_the_order_given() -> None:
    shown = views(Counting("b"), Counting("a"))
    assert list(shown) == ["b", "a"]
    assert len(shown) == 2
    assert shown == {"b": {"counted": 3}, "a": {"counted": 3}}


def test_a_view_is_made_when_it_is_looked_at_and_once() -> None:
    """Most snapshots are taken for something else."""
    machine = Counting()
    shown = views(machine)
    assert (list(shown), len(shown), machine.looked_at) == (["counting"], 1, 0)
    assert shown["counting"] is shown["counting"]
    assert machine.looked_at == 1


def test_of_several_machines_only_the_one_that_is_asked_for_makes_its_view() -> None:
    asked, other = Counting("asked"), Counting("other")
    assert views(asked, other)["asked"] == {"counted": 3}
    assert (asked.looked_at, other.looked_at) == (1, 0)


def test_a_machine_that_there_is_not_is_no_key() -> None:
    shown = views(Counting())
    assert shown.get("other") is None
    with pytest.raises(KeyError):
        shown["other"]


def test_a_view_that_raises_says_so_and_keeps_no_other_from_being_shown() -> None:
    """By the type alone: what it says may be what a page wrote."""
    shown = views(Counting("broken", raises=ZeroDivisionError), Counting("sound"))
    assert shown == {"broken": {"off": "its view raised ZeroDivisionError"}, "sound": {"counted": 3}}


@pytest.mark.parametrize("odd", [[1], "text", 5, True])
def test_a_view_that_is_no_object_says_so(odd: Any) -> None:
    assert views(Counting(shows=odd), Counting("sound")) == {
        "counting": {"off": "its view is not a JSON object"},
        "sound": {"counted": 3},
    }


@pytest.mark.parametrize(
    ("odd", "kind"),
    [
        ({"a": object()}, "TypeError"),
        ({"a": math.nan}, "ValueError"),
        ({("a",): 1}, "TypeError"),
        ({"a": {1}}, "TypeError"),
    ],
)
def test_a_view_that_no_json_can_say_says_so(odd: Any, kind: str) -> None:
    """A snapshot is JSON, for whoever writes or sends it."""
    shown = views(Counting(shows=odd))
    assert shown == {"counting": {"off": f"its view raised {kind}"}}
    json.dumps(dict(shown))


def test_a_view_that_holds_itself_says_so() -> None:
    circle: dict[str, Any] = {}
    circle["a"] = circle
    assert views(Counting(shows=circle)) == {"counting": {"off": "its view raised ValueError"}}


def test_what_is_no_exception_of_the_machine_s_goes_on() -> None:
    """An interrupt is the program's."""
    with pytest.raises(KeyboardInterrupt):
        views(Counting(raises=KeyboardInterrupt))["counting"]


def test_a_machine_that_was_switched_off_shows_why_and_is_not_asked() -> None:
    machine = Counting()
    assert dict(views(machine, off="it raised ValueError")) == {"counting": {"off": "it raised ValueError"}}
    assert machine.looked_at == 0


def test_views_are_written_as_what_they_show() -> None:
    assert repr(views(Counting())) == "{'counting': {'counted': 3}}"
    assert repr(views()) == "{}"


@pytest.mark.parametrize(("sends", "off"), [(MAX_SENDS, ""), (MAX_SENDS + 1, "it sent 9 commands for one input")])
def test_so_many_commands_may_a_machine_send_for_one_input(sends: int, off: str) -> None:
    machine: Extension[Any] = Counting(sends=sends)
    loaded = BrowserEvent(at=Instant(mono=1.0), generation=1, event=Event(method="Page.loadEventFired"))
    made = step(initial_state(extensions=(machine,)), loaded)
    assert made.state.extensions[0].off == off
    assert sum(isinstance(each, Send) for each in made.effects) == (0 if off else sends)
