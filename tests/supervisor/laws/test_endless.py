"""Law 4 with chosen inputs: floods of one kind, odd values in every field, requests open at the stop.

Random stories seldom reach these. `Fold` of `test_step_totality.py` checks each step: nothing raises, limits are
kept, the next deadline is later than every time seen, and no request is answered twice.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cdp_core.sansio.messages import Refusal
from cdp_core.sansio.outcomes import Loss
from cdp_supervisor.sansio.inputs import (
    BrowserEvent,
    CommandEnded,
    Instant,
    LinkDown,
    LinkUp,
    RequestCancelled,
    RequestReceived,
    SessionClosed,
    SessionOpened,
    TimePassed,
)
from cdp_supervisor.sansio.requests import AwaitCall, Call, Focus, Recover, RespondToDialog, Stop
from support.module_copies import copy_of

MANY = 40
"""More than any limit of `SMALL`."""
ODD: tuple[Any, ...] = (None, True, 0, -1, 1e308, "", "a", "\x00", "x" * 40, [], [1], ["a"], {}, {"id": "a"}, [{}])


def totality() -> ModuleType:
    """Return a copy of the module that checks each step."""
    return copy_of(Path(__file__).with_name("test_step_totality.py"))


class Story:
    """A fold with one short method for each thing that can happen."""

    def __init__(self, laws: ModuleType) -> None:
        self.laws = laws
        self.made = laws.Fold(laws.initial_state(limits=laws.SMALL, extensions=(laws.ConsoleRing(),)))
        self.now = 0.0
        self.made.feed(LinkUp(at=Instant(mono=0.0), generation=1))

    @property
    def at(self) -> dict[str, Any]:
        return {"at": Instant(mono=self.now), "generation": self.made.state.generation}

    def event(self, method: str, params: Any, session: str | None = None) -> None:
        self.made.feed(BrowserEvent(**self.at, event=self.laws.event_of(method, params, session)))

    def attach(self, session: str, target: str, kind: str = "page", parent: str | None = None, **info: Any) -> None:
        opened = {"session_id": session, "target_id": target, "target_type": kind, "parent": parent}
        self.made.feed(SessionOpened(**self.at, **opened, waiting_for_debugger=True))
        target_info = {"targetId": target, "type": kind, "url": "https://shop.example/", "title": "t", **info}
        self.event("Target.attachedToTarget", {"sessionId": session, "targetInfo": target_info}, parent)

    def request(self, request: Any) -> int:
        self.made.feed(RequestReceived(**self.at, request_id=0, request=request))
        return int(self.made.requested)

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.made.feed(TimePassed(**self.at))

    def opening(self, frame: str, session: str = "s", kind: str = "confirm") -> None:
        params = {"frameId": frame, "url": "u", "type": kind, "message": "?", "hasBrowserHandler": True}
        self.event("Page.javascriptDialogOpening", {**params, "defaultPrompt": ""}, session)

    def closing(self, frame: str, session: str = "s") -> None:
        self.event("Page.javascriptDialogClosed", {"frameId": frame, "result": False, "userInput": ""}, session)

    def frame(self, frame: str, parent: str = "p", session: str = "s") -> None:
        self.event("Page.frameAttached", {"frameId": frame, "parentFrameId": parent}, session)

    def document(self, frame: str, session: str = "s", **more: Any) -> None:
        shown = {"id": frame, "url": "https://shop.example/", "name": "n", "loaderId": "l", **more}
        self.event("Page.frameNavigated", {"frame": shown, "type": "Navigation"}, session)

    def end_tickets(self, outcome: Any) -> None:
        for number in sorted(self.made.state.tickets):
            self.made.feed(CommandEnded(**self.at, ticket=number, outcome=outcome))


def page(laws: ModuleType) -> Story:
    """Return the story of a page with a frame, an out-of-process frame in that, and an open dialog."""
    story = Story(laws)
    story.attach("s", "p")
    story.document("p")
    story.frame("f")
    story.document("f", parentId="p")
    story.attach("o", "q", "iframe", "s", parentFrameId="f")
    story.opening("p")
    return story


# ── floods ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def dialogs_that_stay_open(story: Story, number: int) -> None:
    story.opening(f"d{number}")


def dialogs_that_close(story: Story, number: int) -> None:
    story.opening(f"d{number}")
    story.closing(f"d{number}")


def sibling_frames(story: Story, number: int) -> None:
    story.frame(f"r{number}")


def nested_frames(story: Story, number: int) -> None:
    story.frame(f"r{number}", f"r{number - 1}" if number else "p")


def frames_without_a_known_parent(story: Story, number: int) -> None:
    story.frame(f"r{number}", f"nobody{number}")


def pages_that_stay_open(story: Story, number: int) -> None:
    story.attach(f"s{number}", f"p{number}")


def pages_that_close(story: Story, number: int) -> None:
    story.attach(f"s{number}", f"p{number}")
    story.opening(f"p{number}", f"s{number}")
    story.event("Target.targetDestroyed", {"targetId": f"p{number}"})
    story.made.feed(SessionClosed(**story.at, session_id=f"s{number}", reason="detached"))  # type: ignore[arg-type]


def sessions_on_one_target(story: Story, number: int) -> None:
    story.attach(f"s{number}", "p")


def frames_that_lose_their_session(story: Story, number: int) -> None:
    story.attach(f"s{number}", f"q{number}", "iframe", "s", parentFrameId="p")
    story.made.feed(SessionClosed(**story.at, session_id=f"s{number}", reason="parent_ended"))  # type: ignore[arg-type]


def frames_that_change_their_process(story: Story, number: int) -> None:
    story.frame(f"r{number}")
    story.event("Page.frameDetached", {"frameId": f"r{number}", "reason": "swap"}, "s")


def calls_that_stay_open(story: Story, _number: int) -> None:
    story.request(Call(method="Runtime.evaluate", params={"expression": "1"}, target_id="q"))


def calls_that_a_dialog_blocks(story: Story, number: int) -> None:
    story.request(Call(method="Runtime.evaluate", params={"expression": "1"}, target_id="p", when_blocked="raise"))
    story.opening(f"d{number}")
    story.closing(f"d{number}")
    story.end_tickets(story.laws.result_of({}))


def links_that_break(story: Story, number: int) -> None:
    story.made.feed(LinkDown(**story.at, reason="cut"))
    story.pass_time(60.0)
    story.made.feed(LinkUp(**story.at))
    story.attach(f"s{number}", f"p{number}")


def time_that_stands_still(story: Story, _number: int) -> None:
    story.made.feed(TimePassed(**story.at))
    story.pass_time(0.0 if story.now else 1e18)


FLOODS: tuple[Callable[[Story, int], None], ...] = (
    dialogs_that_stay_open,
    dialogs_that_close,
    sibling_frames,
    nested_frames,
    frames_without_a_known_parent,
    pages_that_stay_open,
    pages_that_close,
    sessions_on_one_target,
    frames_that_lose_their_session,
    frames_that_change_their_process,
    calls_that_stay_open,
    calls_that_a_dialog_blocks,
    links_that_break,
    time_that_stands_still,
)


def flood(kind: Callable[[Story, int], None], laws: ModuleType, many: int = MANY) -> None:
    """Repeat one thing many times, once while the page's dialog is open and once after it has closed."""
    for closed in (False, True):
        story = page(laws)
        if closed:
            story.closing("p")
        for number in range(many):
            kind(story, number)
            assert len(story.made.state.ended_calls) <= story.made.state.limits.ended_calls
        story.made.end()


@pytest.mark.parametrize("kind", FLOODS, ids=lambda each: each.__name__)
def test_a_flood_leaves_a_bounded_state(kind: Callable[[Story, int], None]) -> None:
    flood(kind, totality())


# ── odd values ───────────────────────────────────────────────────────────────────────────────────────────────────────

INFO = {
    "targetId": "q",
    "type": "iframe",
    "url": "u",
    "title": "t",
    "openerId": "p",
    "parentFrameId": "f",
    "subtype": "",
}
SHOWN = {"id": "f", "parentId": "p", "url": "u", "urlFragment": "#a", "name": "n", "securityOrigin": "o"}
EVENTS: dict[str, tuple[str | None, Any]] = {
    "Page.javascriptDialogOpening": (
        "s",
        {"frameId": "f", "type": "prompt", "message": "m", "defaultPrompt": "d", "hasBrowserHandler": True},
    ),
    "Page.javascriptDialogClosed": ("s", {"frameId": "p", "result": True, "userInput": "u"}),
    "Page.frameAttached": ("s", {"frameId": "g", "parentFrameId": "f"}),
    "Page.frameDetached": ("s", {"frameId": "f", "reason": "swap"}),
    "Page.frameNavigated": ("s", {"frame": SHOWN, "type": "BackForwardCacheRestore"}),
    "Page.navigatedWithinDocument": ("s", {"frameId": "f", "url": "u"}),
    "Page.frameRequestedNavigation": ("s", {"frameId": "p", "reason": "formSubmissionPost", "url": "u"}),
    "Page.frameStartedNavigating": ("s", {"frameId": "f", "loaderId": "l", "navigationType": "reload", "url": "u"}),
    "Page.frameStartedLoading": ("s", {"frameId": "f"}),
    "Page.frameStoppedLoading": ("s", {"frameId": "f"}),
    "Page.domContentEventFired": ("s", {}),
    "Page.loadEventFired": ("s", {}),
    "Page.lifecycleEvent": ("s", {"frameId": "f", "loaderId": "l", "name": "load"}),
    "Runtime.executionContextCreated": (
        "s",
        {"context": {"uniqueId": "c", "auxData": {"frameId": "f", "isDefault": True}}},
    ),
    "Runtime.executionContextDestroyed": ("s", {"executionContextUniqueId": "c"}),
    "Runtime.executionContextsCleared": ("s", {}),
    "Runtime.consoleAPICalled": ("s", {"type": "log", "args": [{"type": "string", "value": "v"}], "timestamp": 1.0}),
    "Inspector.targetCrashed": ("s", {}),
    "Inspector.targetReloadedAfterCrash": ("s", {}),
    "Target.attachedToTarget": (None, {"sessionId": "n", "targetInfo": {**INFO, "targetId": "n"}}),
    "Target.targetCreated": (None, {"targetInfo": INFO}),
    "Target.targetInfoChanged": (None, {"targetInfo": INFO}),
    "Target.targetDestroyed": (None, {"targetId": "q"}),
    "Target.targetCrashed": (None, {"targetId": "p", "status": "killed", "errorCode": 1}),
}
TREE = {"frameTree": {"frame": {**SHOWN, "id": "p"}, "childFrames": [{"frame": SHOWN, "childFrames": []}]}}
RESULTS: tuple[Any, ...] = (TREE, {"targetInfos": [INFO]}, {"targetInfo": INFO}, {"sessionId": "s"})


def with_odd_values(value: Any) -> Iterator[Any]:
    """Yield copies of the value; in each, the value or one of its parts is replaced by an odd one."""
    for place in places_of(value):
        for odd in ODD:
            made = copy.deepcopy(value)
            if not place:
                yield odd
                continue
            below = made
            for each in place[:-1]:
                below = below[each]
            below[place[-1]] = odd
            yield made


def places_of(value: Any) -> Iterator[tuple[Any, ...]]:
    yield ()
    named = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in named:
        yield from ((name, *rest) for rest in places_of(each))


def odd_events(laws: ModuleType) -> None:
    """Feed each event with an odd value in each field, one after the other, to a page that has everything."""
    for method, (session, params) in EVENTS.items():
        story = page(laws)
        story.attach("n", "n", "iframe", "s", parentFrameId="p")
        for odd in with_odd_values(params):
            story.event(method, odd, session)
        story.made.end()


def odd_results(laws: ModuleType) -> None:
    """End every open command with each result, with an odd value in each field."""
    for result in RESULTS:
        for odd in with_odd_values(result):
            story = page(laws)
            story.end_tickets(laws.result_of(odd))
            story.made.end()


def test_events_with_odd_values_do_not_break_the_state() -> None:
    laws = totality()
    assert EVENTS.keys() >= laws.EVENTS.keys()
    odd_events(laws)


def test_results_with_odd_values_do_not_break_the_state() -> None:
    odd_results(totality())


def test_every_field_of_a_value_is_replaced_by_each_odd_value() -> None:
    assert len(list(with_odd_values({"a": {"b": 1}}))) == 3 * len(ODD)
    assert json.dumps(list(with_odd_values(TREE)))


# ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────────

REQUESTS: tuple[Any, ...] = (
    RespondToDialog(action="accept"),
    RespondToDialog(action="dismiss", dialog_id="d-1"),
    RespondToDialog(action="dismiss", dialog_id="d-9"),
    Call(method="Runtime.evaluate", params={"expression": "1"}, target_id="p"),
    Call(method="Runtime.evaluate", params={"expression": "1"}, target_id="p", when_blocked="wait"),
    Call(method="Runtime.evaluate", params={"expression": "1"}, frame_id="q", timeout=5.0),
    Call(method="Browser.getVersion", session_id="nobody"),
    Recover(target_id="p", remedy="navigate"),
    AwaitCall(call_id="c-1", timeout=5.0),
    Focus(target_id="p"),
)


def nothing(_story: Story, _request_received: int) -> None:
    pass


def late(story: Story, _request_received: int) -> None:
    for _ in range(3):
        story.pass_time(400.0)


def closed(story: Story, _request_received: int) -> None:
    story.closing("p")


def replied(story: Story, _request_received: int) -> None:
    story.end_tickets(story.laws.result_of({}))
    story.end_tickets(story.laws.result_of({}))


def refused(story: Story, _request_received: int) -> None:
    story.end_tickets(Refusal(id=1, code=-32602, message="No dialog is showing"))  # type: ignore[arg-type]


def lost(story: Story, _request_received: int) -> None:
    story.end_tickets(Loss(kind="session", reason="detached", detail="gone"))
    story.made.feed(SessionClosed(**story.at, session_id="s", reason="detached"))  # type: ignore[arg-type]


def cut(story: Story, _request_received: int) -> None:
    story.made.feed(LinkDown(**story.at, reason="cut"))


def gone(story: Story, _request_received: int) -> None:
    story.event("Target.targetDestroyed", {"targetId": "p"})


def blocked_by_dialog(story: Story, _request_received: int) -> None:
    story.opening("f")


MEANWHILE = (nothing, late, closed, replied, refused, lost, cut, gone, blocked_by_dialog)


def requests_at_the_end(laws: ModuleType) -> None:
    """Make each request, let two things happen, and stop: each request is answered once."""
    for request in REQUESTS:
        for first in MEANWHILE:
            for second in MEANWHILE:
                story = page(laws)
                story.request(Call(method="Runtime.evaluate", params={"expression": "0"}, target_id="q"))
                request_id = story.request(request)
                first(story, request_id)
                second(story, request_id)
                story.made.end()


def test_every_request_is_answered_once() -> None:
    requests_at_the_end(totality())


def test_a_cancelled_request_is_answered_at_most_once() -> None:
    laws = totality()
    for request in REQUESTS:
        for happen in MEANWHILE:
            story = page(laws)
            request_id = story.request(request)
            story.made.feed(RequestCancelled(**story.at, request_id=request_id))
            happen(story, request_id)
            stop = story.request(Stop(timeout=1.5))
            story.pass_time(2.0)
            assert story.made.answered.get(request_id, 0) <= 1
            assert story.made.answered[stop] == 1
            assert not story.made.state.tickets
