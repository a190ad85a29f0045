"""The comparison without a browser: it finds deviations, and tolerates orders that vary by chance.

A run of the fake takes the role of Chromium, and the same run with one change takes the role of the fake.
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
def received() -> Any:
    """The messages about a page with two OOPIFs."""
    a, b = ORIGINS.values()
    pages = {f"{a}/holder": (AddFrame("f", f"{b}/f"), AddFrame("g", f"{b}/g")), f"{b}/f": (), f"{b}/g": ()}
    scenario = Scenario("two frames")
    scenario.open("p", enable=("Page", "Runtime"))
    scenario.auto_attach(on="p")
    scenario.send("Page.navigate", {"url": f"{a}/holder"}, on="p", wait=False)
    scenario.settle()
    browser = performing.WrappedFake(FakeBrowser(Script(pages=pages)))
    return trio.run(performing.perform, scenario.acts, browser, lambda value: value)


@pytest.fixture
def deviations_of(received: Any) -> Any:
    """A function that compares changed messages with the unchanged ones and returns the deviations."""
    real = comparable(received, ORIGINS)

    def compared(messages: Messages) -> list[str]:
        other = performing.Received(messages=messages, names=dict(received.names))
        return list(deviations.deviations([real, real], comparable(other, ORIGINS)))

    return compared


def position_of(messages: Messages, method: str, frame: int = 0, **params: Any) -> int:
    """Return the position of an event's first occurrence, or of a later one by its number `frame`."""
    positions = [
        position
        for position, (_, message) in enumerate(messages)
        if message.get("method") == method and message["params"].items() >= params.items()
    ]
    return positions[frame]


def moved_earlier(messages: Messages, position: int, before: int) -> Messages:
    """Return the messages with one of them moved before another."""
    assert before < position
    return [*messages[:before], messages[position], *messages[before:position], *messages[position + 1 :]]


def test_equal_messages_conform(deviations_of: Any, received: Any) -> None:
    assert deviations_of(received.messages) == []


def test_a_missing_message_is_a_deviation(deviations_of: Any, received: Any) -> None:
    for position, (_, message) in enumerate(received.messages):
        if message.get("method") == "Target.targetInfoChanged":
            continue  # the number of these is not compared
        what = message.get("method") or f"answer {message['id']}"
        missed = deviations_of(received.messages[:position] + received.messages[position + 1 :])
        assert any(each.startswith("missing:") and what in each for each in missed), what


def test_a_repeated_message_is_a_deviation(deviations_of: Any, received: Any) -> None:
    for position, (client, message) in enumerate(received.messages):
        if message.get("method") == "Target.targetInfoChanged":
            continue
        what = message.get("method") or f"answer {message['id']}"
        again = deviations_of(
            [*received.messages[: position + 1], (client, copy.deepcopy(message)), *received.messages[position + 1 :]]
        )
        assert any(each.startswith("never sent by Chromium:") and what in each for each in again), what


def test_a_different_value_is_a_deviation(deviations_of: Any, received: Any) -> None:
    position = position_of(received.messages, "Target.attachedToTarget", frame=1)
    changed = copy.deepcopy(received.messages)
    changed[position][1]["params"]["waitingForDebugger"] = True
    assert [each.partition(": ")[2] for each in deviations_of(changed)] == [
        "Target.attachedToTarget frame {b}/f session of frame {b}/f #1: params.waitingForDebugger=True, not False"
    ]


def test_an_additional_member_is_a_deviation(deviations_of: Any, received: Any) -> None:
    changed = copy.deepcopy(received.messages)
    changed[position_of(changed, "Page.frameStoppedLoading")][1]["params"]["more"] = 1
    assert any("params.more=1, which" in each for each in deviations_of(changed))


def test_a_missing_member_is_a_deviation(deviations_of: Any, received: Any) -> None:
    changed = copy.deepcopy(received.messages)
    del changed[position_of(changed, "Page.frameDetached", reason="swap")][1]["params"]["reason"]
    assert any("no params.reason, which" in each for each in deviations_of(changed))


def test_events_of_one_frame_have_an_order(deviations_of: Any, received: Any) -> None:
    attached = position_of(received.messages, "Target.attachedToTarget", frame=1)
    swapped = position_of(received.messages, "Page.frameDetached", reason="swap")
    assert attached < swapped
    early = deviations_of(moved_earlier(received.messages, swapped, attached))
    assert any(each.startswith("order:") and "frame {b}/f" in each for each in early)


def test_events_of_two_frames_that_change_their_processes_have_no_order(deviations_of: Any, received: Any) -> None:
    swapped = position_of(received.messages, "Page.frameDetached", reason="swap")
    other = position_of(received.messages, "Target.attachedToTarget", frame=2)
    assert swapped < other
    assert deviations_of(moved_earlier(received.messages, other, swapped)) == []


def test_the_end_of_parsing_and_child_frames_have_no_order(deviations_of: Any, received: Any) -> None:
    parsed = position_of(received.messages, "Page.domContentEventFired")
    inside = position_of(received.messages, "Page.frameStartedLoading", frame=1)
    assert inside < parsed
    assert deviations_of(moved_earlier(received.messages, parsed, inside)) == []


def test_the_end_of_parsing_comes_after_the_start_of_its_document(deviations_of: Any, received: Any) -> None:
    parsed = position_of(received.messages, "Page.domContentEventFired")
    navigated = position_of(received.messages, "Page.frameNavigated")
    early = deviations_of(moved_earlier(received.messages, parsed, navigated))
    assert any(each.startswith("order:") and "Page.frameNavigated p" in each for each in early)


def test_events_of_one_session_have_an_order(deviations_of: Any, received: Any) -> None:
    navigated = position_of(received.messages, "Page.frameNavigated")
    loaded = position_of(received.messages, "Page.loadEventFired")
    early = deviations_of(moved_earlier(received.messages, loaded, navigated))
    assert any(each.startswith("order:") for each in early)
