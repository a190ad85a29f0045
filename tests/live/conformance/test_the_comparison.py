"""The comparison itself, without a browser: it sees whatever the fake could do wrong, and forgives what chance may do.

What stands for Chromium here is a run of the fake; what stands for the fake is the same run, with one thing changed.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
import trio

from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.steps import AddFrame, Script
from support.comparison import deviations, performing
from support.comparison.messages import comparable
from support.comparison.scenario import Scenario

Messages = list[tuple[str, dict[str, Any]]]

ORIGINS = {"{a}": "http://127.0.0.1:8000", "{b}": "http://localhost:8000"}


@pytest.fixture
def told() -> Any:
    """What is told of a page with two frames in other processes."""
    a, b = ORIGINS.values()
    pages = {f"{a}/holder": (AddFrame("f", f"{b}/f"), AddFrame("g", f"{b}/g")), f"{b}/f": (), f"{b}/g": ()}
    scenario = Scenario("two frames")
    scenario.open("p", enable=("Page", "Runtime"))
    scenario.auto_attach(on="p")
    scenario.send("Page.navigate", {"url": f"{a}/holder"}, on="p", wait=False)
    scenario.settle()
    browser = performing.MadeUpBrowser(FakeBrowser(Script(pages=pages)))
    return trio.run(performing.perform, scenario.acts, browser, lambda value: value)


@pytest.fixture
def found(told: Any) -> Any:
    """What the comparison says when the fake tells something else than it did, and Chromium what it did."""
    real = comparable(told, ORIGINS)

    def compared(messages: Messages) -> list[str]:
        other = performing.Told(messages=messages, names=dict(told.names))
        return list(deviations.deviations([real, real], comparable(other, ORIGINS)))

    return compared


def place_of(messages: Messages, method: str, frame: int = 0, **params: Any) -> int:
    """Where that is told of the first frame, or of the second."""
    places = [
        place
        for place, (_, message) in enumerate(messages)
        if message.get("method") == method and message["params"].items() >= params.items()
    ]
    return places[frame]


def moved(messages: Messages, place: int, before: int) -> Messages:
    """The same, but for one that comes earlier."""
    assert before < place
    return [*messages[:before], messages[place], *messages[before:place], *messages[place + 1 :]]


def test_what_is_the_same_conforms(found: Any, told: Any) -> None:
    assert found(told.messages) == []


def test_a_message_that_is_not_sent(found: Any, told: Any) -> None:
    for place, (_, message) in enumerate(told.messages):
        if message.get("method") == "Target.targetInfoChanged":
            continue  # how often is not asked
        what = message.get("method") or f"answer {message['id']}"
        missed = found(told.messages[:place] + told.messages[place + 1 :])
        assert any(each.startswith("missing:") and what in each for each in missed), what


def test_a_message_that_is_sent_once_more(found: Any, told: Any) -> None:
    for place, (client, message) in enumerate(told.messages):
        if message.get("method") == "Target.targetInfoChanged":
            continue
        what = message.get("method") or f"answer {message['id']}"
        again = found([*told.messages[: place + 1], (client, copy.deepcopy(message)), *told.messages[place + 1 :]])
        assert any(each.startswith("never sent by Chromium:") and what in each for each in again), what


def test_a_value_that_is_another(found: Any, told: Any) -> None:
    place = place_of(told.messages, "Target.attachedToTarget", frame=1)
    changed = copy.deepcopy(told.messages)
    changed[place][1]["params"]["waitingForDebugger"] = True
    assert [each.partition(": ")[2] for each in found(changed)] == [
        "Target.attachedToTarget frame {b}/f session of frame {b}/f #1: params.waitingForDebugger=True, not False"
    ]


def test_a_member_that_should_not_be_there(found: Any, told: Any) -> None:
    changed = copy.deepcopy(told.messages)
    changed[place_of(changed, "Page.frameStoppedLoading")][1]["params"]["more"] = 1
    assert any("params.more=1, which" in each for each in found(changed))


def test_a_member_that_is_not_there(found: Any, told: Any) -> None:
    changed = copy.deepcopy(told.messages)
    del changed[place_of(changed, "Page.frameDetached", reason="swap")][1]["params"]["reason"]
    assert any("no params.reason, which" in each for each in found(changed))


def test_what_is_told_of_one_frame_has_an_order(found: Any, told: Any) -> None:
    attached = place_of(told.messages, "Target.attachedToTarget", frame=1)
    swapped = place_of(told.messages, "Page.frameDetached", reason="swap")
    assert attached < swapped
    early = found(moved(told.messages, swapped, attached))
    assert any(each.startswith("order:") and "frame {b}/f" in each for each in early)


def test_what_is_told_of_two_frames_on_their_ways_has_none(found: Any, told: Any) -> None:
    swapped = place_of(told.messages, "Page.frameDetached", reason="swap")
    other = place_of(told.messages, "Target.attachedToTarget", frame=2)
    assert swapped < other
    assert found(moved(told.messages, other, swapped)) == []


def test_the_end_of_parsing_and_the_frames_inside_have_none(found: Any, told: Any) -> None:
    parsed = place_of(told.messages, "Page.domContentEventFired")
    inside = place_of(told.messages, "Page.frameStartedLoading", frame=1)
    assert inside < parsed
    assert found(moved(told.messages, parsed, inside)) == []


def test_the_end_of_parsing_comes_after_what_is_parsed(found: Any, told: Any) -> None:
    parsed = place_of(told.messages, "Page.domContentEventFired")
    navigated = place_of(told.messages, "Page.frameNavigated")
    early = found(moved(told.messages, parsed, navigated))
    assert any(each.startswith("order:") and "Page.frameNavigated p" in each for each in early)


def test_what_one_session_tells_has_an_order(found: Any, told: Any) -> None:
    navigated = place_of(told.messages, "Page.frameNavigated")
    loaded = place_of(told.messages, "Page.loadEventFired")
    early = found(moved(told.messages, loaded, navigated))
    assert any(each.startswith("order:") for each in early)
