"""What the fake does otherwise than Chromium.

What came back is compared message by message, after the ids were given labels:

* **required** is a message, a field, a value, an order that was the same in every run of Chromium;
* **allowed** is what came in at least one run; what the fake sends and no run had is a deviation;
* **order** counts between messages to one client that share a session or a subject (a frame, a target, a session). It
  does not between like events of several targets on one session, nor between the two that tell of attaching: Chromium
  goes through its targets by their addresses in memory, so that one process has always the same order, and another one
  another. Nor between what is told of one frame's way to a process of its own and of another frame's: two navigations,
  each in its own time, which one machine takes in turn every time, and another one side by side. Nor between the end of
  a document's parsing and what is told of the frames in it, which come to their documents meanwhile or later. Nor between
  two replies on one session (fact 56), or messages of two sessions (fact 38), that the fake might deliver either way.

What differs from run to run is learned, not listed: a first run that shows no deviation is enough, since more runs only
require less and allow more; else Chromium runs again, up to `RUNS` times, and only what then remains is a deviation. The
further runs differ in what chance may differ in: every other one has a client that takes its time before each command;
from the third on each has a new process, whose addresses and caches are its own; in every other one of the later ones
the documents come from the server sooner or later, each in its turn. A run in which something that was awaited did not
come says nothing of the fake; one that says something is needed.
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
from support.comparison.performing import PROMPT_RUNS, MadeUpBrowser, Told, perform
from support.comparison.scenario import Scenario
from support.comparison.site import Site

RUNS = int(os.environ.get("CDP_CONFORMANCE_RUNS", "16"))
"""How often Chromium is asked, at most."""
KNOWN_DEVIATIONS: Mapping[str, str] = {}
"""Tests of scenarios in which the fake is known to differ, with what it would take."""
ATTACHING = ("Target.attachedToTarget", "Target.targetInfoChanged")
"""What is told of each target that is attached to by itself, also on a frame's way to a process of its own."""
PARSED = "Page.domContentEventFired"
"""What tells of the end of parsing."""
IDLE = ("networkAlmostIdle", "networkIdle")
"""How far a document has come, told by half a second without a request: these are compared, but for where they stand among the others."""
_MISSING = object()
Run = Callable[[Scenario, int], Awaitable[Told]]
"""One run of Chromium, by its number."""


def deviations(
    runs: Sequence[Sequence[Message]], fake: Sequence[Message], free: AbstractSet[frozenset[int]] = frozenset()
) -> list[str]:
    """What the fake does otherwise than all runs of Chromium."""
    real = [{message.key: message for message in run} for run in runs]
    made_up = {message.key: message for message in fake}
    required = [key for key in real[0] if all(key in run for run in real)]
    found = [f"missing: {real[0][key]}" for key in required if key not in made_up]
    found += [f"never sent by Chromium: {made_up[key]}" for key in made_up if not any(key in run for run in real)]
    for key, message in made_up.items():
        seen = [run[key].fields for run in real if key in run]
        if seen:
            found += [f"{_name(key)}: {each}" for each in _differing(seen, message.fields)]
    found += _disordered(real, made_up, [key for key in required if key in made_up], free)
    return found


def _differing(seen: Sequence[Mapping[str, Any]], made_up: Mapping[str, Any]) -> Iterator[str]:
    for path in dict.fromkeys([*seen[0], *made_up]):
        values = [fields.get(path, _MISSING) for fields in seen]
        mine = made_up.get(path, _MISSING)
        if mine is _MISSING:
            if all(value is not _MISSING for value in values):
                yield f"no {path}, which is {values[0]!r}"
            continue
        there = [value for value in values if value is not _MISSING]
        if not there:
            yield f"{path}={mine!r}, which Chromium never has"
        elif all(value == there[0] and type(value) is type(there[0]) for value in there):
            if mine != there[0] or type(mine) is not type(there[0]):
                yield f"{path}={mine!r}, not {there[0]!r}"
        elif type(mine) not in {type(value) for value in there}:
            yield f"{path}={mine!r}, not like {there[0]!r}"


def _disordered(
    real: Sequence[Mapping[Key, Message]],
    made_up: Mapping[Key, Message],
    keys: Sequence[Key],
    free: AbstractSet[frozenset[int]],
) -> Iterator[str]:
    places = [{key: place for place, key in enumerate(run)} for run in (*real, made_up)]
    *runs, mine = places
    for number, first in enumerate(keys):
        for second in keys[number + 1 :]:
            if first[0] != second[0]:
                continue
            if first[3].endswith(IDLE) or second[3].endswith(IDLE):
                continue
            shared = made_up[first].subjects & made_up[second].subjects
            together = first[1] == second[1] or shared
            if first[1:3] == second[1:3] and first[2].startswith("Target."):
                continue  # see the module
            if not shared - {first[1]} and _is_way_out(made_up[first]) and _is_way_out(made_up[second]):
                continue  # likewise
            if PARSED in (first[2], second[2]) and _are_of_frames_inside(shared, made_up[first], made_up[second]):
                continue  # likewise
            chance = first[1] != second[1] or (first[2].startswith("answer") and second[2].startswith("answer"))
            if chance and frozenset((made_up[first].place, made_up[second].place)) in free:
                continue  # see the module
            if together and all(run[first] < run[second] for run in runs) and mine[first] > mine[second]:
                yield f"order: {_name(first)} comes before {_name(second)}"
                break


def _is_way_out(message: Message) -> bool:
    """Whether it tells of a target that is attached to, or of a frame on its way there."""
    return message.key[2] in ATTACHING or message.fields.get("params.reason") == "swap"


def _are_of_frames_inside(shared: AbstractSet[str], *messages: Message) -> bool:
    """Whether one of them is about another frame than the one whose session tells of both."""
    about = set[str]().union(*(message.subjects for message in messages)) - shared
    return bool(about) and messages[0].key[1].removeprefix("session ").removeprefix("of ") not in about


def _name(key: Key) -> str:
    return f"{key[0]} {key[1]}: {key[2]} {key[3]} #{key[4]}"


async def judge(scenario: Scenario, site: Site, run: Run, profile: Profile = "headless-new") -> None:
    """Compare, with as many runs of Chromium as it takes until nothing is left, and at most `RUNS`."""
    made_up = await perform(
        scenario.acts, MadeUpBrowser(FakeBrowser(site.script(scenario), profile=profile)), site.filled
    )
    mine = comparable(made_up, site.origins)
    seen: list[list[Message]] = []
    left: list[str] = []
    learned: list[str] = []
    for number in range(RUNS):
        site.serve(scenario.pages, number // 2 if number >= PROMPT_RUNS and number % 2 == 0 else 0)
        told = await run(scenario, number)
        if told.problem:
            left = [f"in Chromium, {told.problem}"]
        else:
            seen.append(comparable(told, site.origins))
            left = deviations(seen, mine, made_up.free)
        if not left:
            break
        learned += [f"after {number + 1} runs:", *left]
    first = seen[0] if seen else comparable(told, site.origins)
    listing = "\n".join(["", "Chromium:", *map(str, first), "", "the fake:", *map(str, mine), "", *learned, ""])
    sys.stdout.write(listing)  # shown for a failure, and by `pytest -rP`
    if made_up.problem:
        left.insert(0, f"on the fake, {made_up.problem}")
    if left:
        pytest.fail("\n".join(left), pytrace=False)
