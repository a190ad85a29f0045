"""Find what the fake browser does differently from Chromium.

The received messages are compared one by one, after the ids were replaced by labels:

* **required** is a message, a field, a value or an order that was the same in every run of Chromium;
* **allowed** is everything that occurred in at least one run; what the fake sends and no run contained is a deviation;
* **order** counts between messages to one client that share a session or a subject (a frame, a target, a session). It
  does not count

  - between like events of several targets on one session, nor between the two events of attaching: Chromium iterates
    over its targets by their addresses in memory, so one browser process always has the same order, and another one
    another;
  - between the events of one frame's move to a process of its own and those of another frame's: these are two
    navigations with timings of their own, which one machine always runs in turn, and another one side by side;
  - between the end of a document's parsing and the events of its child frames: their documents load meanwhile or later;
  - between two replies on one session (fact 56), or messages of two sessions (fact 38), that the fake could deliver in
    either order.

What differs from run to run is learned, not listed. A first run without a deviation is enough, since more runs only
require less and allow more; otherwise Chromium runs again, up to `RUNS` times, and only what then remains is a
deviation. The further runs vary the timing: in every other one the client pauses before each command; from the third
on each has a new browser process, with addresses and caches of its own; in every other one of the later runs the
server delays the documents by different amounts. A run in which an awaited message did not arrive proves nothing
about the fake; at least one run must be complete.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import pytest

from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.fake.world import Profile
from support.comparison.messages import Key, Message, comparable
from support.comparison.performing import PROMPT_RUNS, Received, WrappedFake, perform
from support.comparison.scenario import Scenario
from support.comparison.site import Site

RUNS = int(os.environ.get("CDP_CONFORMANCE_RUNS", "16"))
"""The maximum number of runs of Chromium."""
KNOWN_DEVIATIONS: Mapping[str, str] = {}
"""Names of test items in which the fake is known to differ, with what it would take to cover them."""
ATTACHING = ("Target.attachedToTarget", "Target.targetInfoChanged")
"""The events of each target that auto-attach attaches to, also while a frame moves to a process of its own."""
PARSED = "Page.domContentEventFired"
"""The event of the end of parsing."""
IDLE = ("networkAlmostIdle", "networkIdle")
"""Lifecycle events that half a second without a request causes: compared, but not their position among the others."""
_MISSING = object()
Run = Callable[[Scenario, int], Awaitable[Received]]
"""One run of Chromium, by its number."""


def deviations(
    runs: Sequence[Sequence[Message]], fake: Sequence[Message], unordered: AbstractSet[frozenset[int]] = frozenset()
) -> list[str]:
    """Return how the fake's messages differ from all runs of Chromium, one line each."""
    real = [{message.key: message for message in run} for run in runs]
    of_fake = {message.key: message for message in fake}
    required = [key for key in real[0] if all(key in run for run in real)]
    found = [f"missing: {real[0][key]}" for key in required if key not in of_fake]
    found += [f"never sent by Chromium: {of_fake[key]}" for key in of_fake if not any(key in run for run in real)]
    for key, message in of_fake.items():
        seen = [run[key].fields for run in real if key in run]
        if seen:
            found += [f"{_name(key)}: {each}" for each in _differing(seen, message.fields)]
    found += _disordered(real, of_fake, [key for key in required if key in of_fake], unordered)
    return found


def _differing(seen: Sequence[Mapping[str, Any]], of_fake: Mapping[str, Any]) -> Iterator[str]:
    for path in dict.fromkeys([*seen[0], *of_fake]):
        values = [fields.get(path, _MISSING) for fields in seen]
        actual = of_fake.get(path, _MISSING)
        if actual is _MISSING:
            if all(value is not _MISSING for value in values):
                yield f"no {path}, which is {values[0]!r}"
            continue
        present = [value for value in values if value is not _MISSING]
        if not present:
            yield f"{path}={actual!r}, which Chromium never has"
        elif all(value == present[0] and type(value) is type(present[0]) for value in present):
            if actual != present[0] or type(actual) is not type(present[0]):
                yield f"{path}={actual!r}, not {present[0]!r}"
        elif type(actual) not in {type(value) for value in present}:
            yield f"{path}={actual!r}, not like {present[0]!r}"


def _disordered(
    real: Sequence[Mapping[Key, Message]],
    of_fake: Mapping[Key, Message],
    keys: Sequence[Key],
    unordered: AbstractSet[frozenset[int]],
) -> Iterator[str]:
    positions = [{key: position for position, key in enumerate(run)} for run in (*real, of_fake)]
    *runs, actual = positions
    for number, first in enumerate(keys):
        for second in keys[number + 1 :]:
            if first[0] != second[0]:
                continue
            if first[3].endswith(IDLE) or second[3].endswith(IDLE):
                continue
            shared = of_fake[first].subjects & of_fake[second].subjects
            together = first[1] == second[1] or shared
            if first[1:3] == second[1:3] and first[2].startswith("Target."):
                continue  # like events of several targets: ordered by addresses in memory
            if not shared - {first[1]} and _is_process_change(of_fake[first]) and _is_process_change(of_fake[second]):
                continue  # two frames change their processes independently
            if PARSED in (first[2], second[2]) and _concern_child_frames(shared, of_fake[first], of_fake[second]):
                continue  # a child frame loads independently of the end of its parent's parsing
            chance = first[1] != second[1] or (first[2].startswith("answer") and second[2].startswith("answer"))
            if chance and frozenset((of_fake[first].position, of_fake[second].position)) in unordered:
                continue  # the fake could deliver these two in either order
            if together and all(run[first] < run[second] for run in runs) and actual[first] > actual[second]:
                yield f"order: {_name(first)} comes before {_name(second)}"
                break


def _is_process_change(message: Message) -> bool:
    """Return True if the message reports an attached target, or a frame that moves to another process."""
    return message.key[2] in ATTACHING or message.fields.get("params.reason") == "swap"


def _concern_child_frames(shared: AbstractSet[str], *messages: Message) -> bool:
    """Return True if one message is about a frame other than the frame of the session that sent both."""
    about = set[str]().union(*(message.subjects for message in messages)) - shared
    return bool(about) and messages[0].key[1].removeprefix("session ").removeprefix("of ") not in about


def _name(key: Key) -> str:
    return f"{key[0]} {key[1]}: {key[2]} {key[3]} #{key[4]}"


async def judge(scenario: Scenario, site: Site, run: Run, profile: Profile = "headless-new") -> None:
    """Compare with up to `RUNS` runs of Chromium, until no deviation remains; else fail with them."""
    of_fake = await perform(
        scenario.acts, WrappedFake(FakeBrowser(site.script(scenario), profile=profile)), site.filled
    )
    actual = comparable(of_fake, site.origins)
    seen: list[list[Message]] = []
    remaining: list[str] = []
    history: list[str] = []
    for number in range(RUNS):
        site.serve(scenario.pages, number // 2 if number >= PROMPT_RUNS and number % 2 == 0 else 0)
        received = await run(scenario, number)
        if received.problem:
            remaining = [f"in Chromium, {received.problem}"]
        else:
            seen.append(comparable(received, site.origins))
            remaining = deviations(seen, actual, of_fake.unordered)
        if not remaining:
            break
        history += [f"after {number + 1} runs:", *remaining]
    first = seen[0] if seen else comparable(received, site.origins)
    listing = "\n".join(["", "Chromium:", *map(str, first), "", "the fake:", *map(str, actual), "", *history, ""])
    sys.stdout.write(listing)  # shown for a failure, and by `pytest -rP`
    if of_fake.problem:
        remaining.insert(0, f"on the fake, {of_fake.problem}")
    if remaining:
        pytest.fail("\n".join(remaining), pytrace=False)
