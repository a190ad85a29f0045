"""What a machine of somebody else's shows is made when it is looked at, and its exception is its own."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

import attrs
import pytest

from cdp_core.sansio.messages import Event
from cdp_supervisor.sansio.effects import Effect, Send
from cdp_supervisor.sansio.inputs import BrowserEvent, Input, Instant
from cdp_supervisor.sansio.machines import MAX_SENDS, Machine, MachineViews
from cdp_supervisor.sansio.state import Extension, initial_state
from cdp_supervisor.sansio.step import step


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


def views(*machines: Counting, off: str = "") -> MachineViews:
    return MachineViews(tuple(Extension(machine=each, state=3, off=off) for each in machines))


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
        "counting": {"off": "its view is no JSON object"},
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
    machine: Machine[Any] = Counting(sends=sends)
    loaded = BrowserEvent(at=Instant(mono=1.0), epoch=1, event=Event(method="Page.loadEventFired"))
    made = step(initial_state(machines=(machine,)), loaded)
    assert made.state.extensions[0].off == off
    assert sum(isinstance(each, Send) for each in made.effects) == (0 if off else sends)
