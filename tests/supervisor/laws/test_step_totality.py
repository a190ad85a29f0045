"""Law 4: `step` accepts any value of any input in any order, and its state stays valid.

The inputs have two sources. Generated ones use only a few ids, so that they refer to the same things. Those of real
runs are lost, duplicated and reordered, and get odd values. Times run backwards or are not numbers, and generations
are wrong.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final
from unittest.mock import patch

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.messages import Event, Malformed, Refusal, Result, decode
from cdp_core.sansio.outcomes import Loss
from cdp_core.sansio.structs import replace
from cdp_supervisor.deferred import MAX_BYTES, MAX_EVENTS
from cdp_supervisor.runner import Runner
from cdp_supervisor.sansio import step as machine
from cdp_supervisor.sansio.console import ConsoleRing
from cdp_supervisor.sansio.deadlines import entries
from cdp_supervisor.sansio.effects import Answer, Effect, Note, Send
from cdp_supervisor.sansio.inputs import (
    BrowserEvent,
    CommandEnded,
    Input,
    Instant,
    LinkDown,
    LinkUp,
    NotSent,
    RequestCancelled,
    RequestReceived,
    SessionClosed,
    SessionOpened,
    TimePassed,
)
from cdp_supervisor.sansio.options import Limits, Policy, Scope
from cdp_supervisor.sansio.requests import AwaitCall, Call, Focus, Recover, RespondToDialog, SetPolicy, Stop
from cdp_supervisor.sansio.state import State, initial_state
from cdp_supervisor.sansio.step import EVENTS, deferrable_events, next_deadline, step
from cdp_supervisor.sansio.view import snapshot
from support import scenarios, supervised_run

SMALL: Final = Limits(
    frames_kept=6,
    pages_kept=3,
    sessions_kept=5,
    dialogs_kept=3,
    recent_dialogs=2,
    ended_calls=2,
    calls_kept=4,
    text_kept=20,
)
ID = st.sampled_from(["a", "b", "c", "d", ""])
ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, -1, 1e308, "", "a", [], {}, [1], {"id": "a"}, "\x00", "x" * 40]
)
WHEN = st.one_of(
    st.floats(0, 400), st.sampled_from([math.nan, math.inf, -math.inf, -1.0, 0.0, 1e18]), st.integers(0, 400).map(float)
)
AT = st.builds(Instant, mono=WHEN, wall=WHEN)
GENERATION = st.sampled_from([1, 1, 1, 2, 3, 0])
INFO = st.fixed_dictionaries(
    {"targetId": ID | ODD, "type": st.sampled_from(["page", "iframe", "worker", "odd"])},
    optional={"url": ID | ODD, "title": ODD, "openerId": ID | ODD, "parentFrameId": ID | ODD, "browserContextId": ID},
)
FRAME = st.fixed_dictionaries({"id": ID | ODD}, optional={"parentId": ID | ODD, "url": ODD, "name": ODD})
PARAMS = st.one_of(
    st.fixed_dictionaries(
        {},
        optional={
            "frameId": ID | ODD,
            "parentFrameId": ID | ODD,
            "frame": FRAME | ODD,
            "reason": st.sampled_from(["swap", "remove"]) | ODD,
            "type": st.sampled_from(["alert", "prompt", "Navigation", "BackForwardCacheRestore"]) | ODD,
            "message": ODD,
            "hasBrowserHandler": st.booleans() | ODD,
            "result": ODD,
            "sessionId": ID | ODD,
            "targetInfo": INFO | ODD,
            "targetId": ID | ODD,
            "url": ODD,
            "context": st.fixed_dictionaries(
                {"uniqueId": ODD, "auxData": st.fixed_dictionaries({"frameId": ID, "isDefault": st.booleans()})}
            )
            | ODD,
        },
    ),
    ODD,
)


def event_of(method: str, params: Any, session: str | None) -> Event:
    """Return an event as the transport delivers it."""
    message = {"method": method, "params": params, **({} if session is None else {"sessionId": session})}
    made = decode(json.dumps(message).encode())
    return made if isinstance(made, Event) else event_of(method, {}, session)


def result_of(value: Any) -> Result:
    made = decode(json.dumps({"id": 1, "result": value if isinstance(value, dict) else {}}).encode())
    assert isinstance(made, Result)
    return made


TREE = st.recursive(
    st.fixed_dictionaries({"frame": FRAME}),
    lambda below: st.fixed_dictionaries({"frame": FRAME, "childFrames": st.lists(below | ODD, max_size=3)}),
    max_leaves=6,
)
RESULT = st.one_of(
    st.fixed_dictionaries({"frameTree": TREE}),
    st.fixed_dictionaries({"targetInfos": st.lists(INFO | ODD, max_size=4)}),
    st.fixed_dictionaries({"targetInfo": INFO}),
    ODD,
).map(result_of)
OUTCOME: st.SearchStrategy[Any] = st.one_of(
    RESULT,
    st.builds(Refusal, id=st.just(1), code=st.sampled_from([-32602, -32000, -32001, 7]), message=st.just("no")),
    st.builds(Loss, kind=st.sampled_from(["session", "connection", "crash"]), reason=ID, detail=ID),
    st.builds(NotSent, error=st.builds(ValueError, ID)),
    st.just(Malformed(id=1, reason="torn", size=9)),
)
TIME: st.SearchStrategy[Any] = st.sampled_from([None, 1.0, 30.0, 0, -1.0, math.nan, math.inf, 10**400, True])
REQUEST = st.one_of(
    st.builds(
        RespondToDialog,
        action=st.sampled_from(["accept", "dismiss", "odd"]),
        prompt_text=st.none() | ID,
        dialog_id=st.none() | st.sampled_from(["d-1", "d-2", "d-x"]),
    ),
    st.builds(
        Call,
        method=st.sampled_from(
            [
                "Runtime.evaluate",
                "Page.navigate",
                "Browser.getVersion",
                "DOM.enable",
                "Page.handleJavaScriptDialog",
                "x" * 200,
                "",
            ]
        ),
        frame_id=st.none() | ID,
        target_id=st.none() | ID,
        session_id=st.none() | ID,
        timeout=TIME,
        when_blocked=st.sampled_from(["raise", "wait", "odd"]),
    ),
    st.builds(AwaitCall, call_id=st.sampled_from(["c-1", "c-2", "c-x"]), timeout=TIME),
    st.builds(SetPolicy, policy=st.sampled_from([Policy(), Policy("auto_accept"), Policy.unattended()])),
    st.builds(Focus, target_id=st.none() | ID),
    st.builds(Recover, target_id=ID, remedy=st.sampled_from(["close", "reload", "navigate", "same_document", "odd"])),
)


ANY: st.SearchStrategy[Any] = st.sampled_from(
    [None, "a", "x", b"x", 5, 1.0, True, 10**400, math.nan, [], {}, {"a": object()}, ("a", "b"), Policy(), Stop]
)


def with_changes(request: Any, changes: dict[int, Any]) -> Any:
    """Return the request with odd values in some fields, or only an odd value if its class refuses that."""
    fields = attrs.fields(type(request))
    try:
        return attrs.evolve(request, **{fields[place % len(fields)].name: value for place, value in changes.items()})
    except InvalidArgument:
        return next(iter(changes.values()))


ANY_REQUEST: st.SearchStrategy[Any] = st.one_of(
    REQUEST, ANY, st.builds(with_changes, REQUEST, st.dictionaries(st.integers(0, 6), ANY, min_size=1, max_size=2))
)
PLAIN: st.SearchStrategy[Any] = st.one_of(
    st.builds(
        LinkUp, at=AT, generation=GENERATION, browser_id=st.none() | ID, owned=st.sampled_from([True, True, False])
    ),
    st.builds(
        LinkDown, at=AT, generation=GENERATION, reason=ID, jitter=WHEN, final=st.sampled_from([False, False, True])
    ),
    st.builds(
        BrowserEvent,
        at=AT,
        generation=GENERATION,
        event=st.builds(
            event_of, st.sampled_from([*EVENTS, "Runtime.consoleAPICalled", "Whim.taken"]), PARAMS, st.none() | ID
        ),
    ),
    st.builds(
        SessionOpened,
        at=AT,
        generation=GENERATION,
        session_id=ID,
        target_id=ID,
        target_type=st.sampled_from(["page", "iframe", "worker", ""]),
        parent=st.none() | ID,
        waiting_for_debugger=st.booleans(),
    ),
    st.builds(
        SessionClosed,
        at=AT,
        generation=GENERATION,
        session_id=ID,
        reason=st.sampled_from(["detached", "parent_ended", "link_lost", ""]),
    ),
    st.builds(CommandEnded, at=AT, generation=GENERATION, ticket=st.integers(0, 12), outcome=OUTCOME),
    st.builds(TimePassed, at=AT, generation=GENERATION),
    st.builds(RequestCancelled, at=AT, generation=GENERATION, request_id=st.integers(1, 6)),
    st.builds(RequestReceived, at=AT, generation=GENERATION, request_id=st.just(0), request=ANY_REQUEST),
)


def page_story(session: str, target: str) -> list[Input]:
    """Return the inputs that attach to a page, so that later inputs have something to act on."""
    at = Instant(mono=0.0)
    info = {"targetId": target, "type": "page", "url": "u"}
    event = event_of("Target.attachedToTarget", {"sessionId": session, "targetInfo": info}, None)
    opened = SessionOpened(at=at, generation=1, session_id=session, target_id=target, target_type="page")  # type: ignore[arg-type]
    return [opened, BrowserEvent(at=at, generation=1, event=event)]


NONSENSE: Final[tuple[Any, ...]] = (
    None,
    5,
    "reload",
    [None],
    [Answer(request_id=1)],
    [Send(ticket=0, session_id=None, method="")],
    [Send(ticket=0, session_id=5, method="Log.clear")],  # type: ignore[arg-type]
    [Send(ticket=0, session_id=None, method=5)],  # type: ignore[arg-type]
    [Send(ticket=0, session_id=None, method="Log.clear", params={"a": object()})],
    [Send(ticket=0, session_id=None, method="Log.clear", params={"a": math.nan})],
    [Send(ticket=0, session_id=None, method="Log.clear", params=5)],  # type: ignore[arg-type]
    [Send(ticket=0, session_id=None, method="Log.clear")] * 9,
    [Note(level="fatal", text="x")],  # type: ignore[arg-type]
    [Note(level="info", text=None)],  # type: ignore[arg-type]
    [Note(level="info", text="x", fields=[1])],  # type: ignore[arg-type]
)
NO_TIMES: Final[tuple[Any, ...]] = (math.nan, math.inf, -math.inf, True, "soon", 10**400, [])
NO_VIEWS: Final[tuple[Any, ...]] = (None, 5, "x", [], {"a": object()}, {"a": math.nan}, {("a",): 1})


class Mad:
    """An extension that returns invalid effects, deadlines and views; the event selects which."""

    name = "mad"
    events = frozenset({"Mad.taken"})

    def initial(self) -> int:
        return 0

    def step(self, state: int, input: Input, /) -> tuple[int, Any]:
        if not isinstance(input, BrowserEvent):
            return state, []
        mood = len(input.event.params.get("x", ""))
        if mood < len(NONSENSE):
            return mood, NONSENSE[mood]
        return mood, [Note(level="info", text="x")]

    def next_deadline(self, state: int, /) -> Any:
        wanted = state - len(NONSENSE)
        return NO_TIMES[wanted] if 0 <= wanted < len(NO_TIMES) else None

    def view(self, state: int, /) -> Any:
        return NO_VIEWS[state % len(NO_VIEWS)]


MAD_EVENT = st.builds(
    lambda mood, session, at: BrowserEvent(
        at=at, generation=1, event=event_of("Mad.taken", {"x": "x" * mood}, session)
    ),
    mood=st.integers(0, len(NONSENSE) + len(NO_TIMES) + 2),
    session=st.none() | ID,
    at=AT,
)
STORY = st.builds(
    lambda rest: [LinkUp(at=Instant(mono=0.0), generation=1), *page_story("a", "a"), *page_story("b", "b"), *rest],
    st.lists(PLAIN | PLAIN | PLAIN | PLAIN | MAD_EVENT, max_size=30),
)


class Whim:
    """A valid extension: depending on the event it collects, sends, schedules, or raises."""

    name = "whim"
    events = frozenset({"Whim.taken", "Whim.fatal"})

    def initial(self) -> int:
        return 0

    def step(self, state: int, input: Input, /) -> tuple[int, list[Effect]]:
        if not isinstance(input, BrowserEvent):
            return state, []
        mood = input.event.size % 7
        if input.event.method == "Whim.fatal":
            raise RuntimeError(mood)
        if mood == 1:
            return state, []
        return state + 1, [Send(ticket=3, session_id=None, method="Whim.answer")] if mood == 2 else []

    def next_deadline(self, state: int, /) -> float | None:
        return 5.0 + state if state % 2 else None

    def view(self, state: int, /) -> dict[str, Any]:
        return {"whims": state}


@attrs.define
class Fold:
    """A state that is checked after each of its steps."""

    state: State
    seen: float = 0.0
    requested: int = 0
    answered: dict[int, int] = attrs.Factory(dict["int", "int"])

    def feed(self, next_input: Input) -> None:
        if isinstance(next_input, RequestReceived):
            self.requested += 1
            next_input = replace(next_input, request_id=self.requested)
        if math.isfinite(next_input.at.mono):
            self.seen = max(self.seen, next_input.at.mono)
        done = step(self.state, next_input)
        if isinstance(next_input, BrowserEvent) and next_input.event.method not in EVENTS:
            with patch.object(machine, "_fold_into_extensions", lambda *_: None):
                other = step(self.state, next_input)
            # Two errors are never equal, but have the same repr.
            assert done == other or repr(done) == repr(other), "the short path and the normal path differ"
        for effect in done.effects:
            if isinstance(effect, Answer):
                self.answered[effect.request_id] = self.answered.get(effect.request_id, 0) + 1
            if isinstance(effect, Send):
                assert isinstance(effect.method, str)
                assert effect.method
                assert isinstance(effect.session_id, (str, type(None)))
                if effect.ticket not in done.state.tickets or done.state.tickets[effect.ticket].purpose != "call":
                    json.dumps(dict(effect.params or {}), allow_nan=False)  # the params of a call are the caller's
            if isinstance(effect, Note):
                assert effect.level in ("debug", "info", "warning")
                assert isinstance(effect.text, str)
                assert isinstance(effect.fields, Mapping)
        self.state = done.state
        self.check()

    def check(self) -> None:
        state = self.state
        due = next_deadline(state)
        assert due is None or due.at > self.seen or state.link.phase == "stopped", "a deadline has passed already"
        assert due is None or math.isfinite(due.at)
        assert sorted(entries(state.deadlines)) == list(entries(state.deadlines))
        assert {key: at for at, key, _ in tuple(entries(state.deadlines))} == dict(state.deadline_of)
        assert all(number == 1 for number in self.answered.values()), "a request was answered twice"
        limits = state.limits
        assert len(state.pages) <= limits.pages_kept
        assert len(state.sessions) <= limits.sessions_kept
        assert len(state.adrift) <= limits.sessions_kept
        assert len(state.calls) <= limits.calls_kept + limits.ended_calls
        assert len(state.departed) <= limits.recent_dialogs
        for page in state.pages.values():
            assert len(page.frames) <= limits.frames_kept
            assert len(page.dialogs) <= limits.dialogs_kept
            assert len(page.recent) <= limits.recent_dialogs
            assert sum(map(len, page.children.values())) <= limits.frames_kept
        assert set(state.dialog_on) == {each.id for page in state.pages.values() for each in page.dialogs}
        assert (
            len(tuple(entries(state.deadlines)))
            <= 3 * limits.pages_kept * (1 + limits.dialogs_kept) + 2 * len(state.calls) + 40
        )
        assert not state.totals.get("impossible_dialog_moves", 0)
        json.dumps(snapshot(state).to_dict(full=True, now=state.now))

    def end(self) -> None:
        """Stop; every request must have been answered by then."""
        self.feed(
            RequestReceived(
                at=Instant(mono=self.seen), generation=self.state.generation, request_id=0, request=Stop(timeout=1.5)
            )
        )
        self.feed(TimePassed(at=Instant(mono=self.seen * 1.001 + 2), generation=self.state.generation))
        assert self.state.link.phase == "stopped"
        assert set(self.answered) == set(range(1, self.requested + 1)), "a request was never answered"


def fold(story: list[Input], **options: Any) -> Fold:
    made = Fold(initial_state(limits=SMALL, extensions=(ConsoleRing(), Whim(), Mad()), **options))
    for each in story:
        made.feed(each)
    made.end()
    return made


@given(
    story=STORY,
    policy=st.sampled_from([Policy(), Policy("auto_accept"), Policy.unattended()]),
    scope=st.sampled_from([Scope(), Scope(observing=True), Scope.targets("a"), Scope.context("c")]),
    keepalive=st.sampled_from([None, 60.0]),
    adopting=st.booleans(),
)
def test_any_inputs_in_any_order(story: Any, policy: Any, scope: Any, keepalive: Any, adopting: bool) -> None:
    fold(story, policy=policy, scope=scope, keepalive=keepalive, adopting=adopting)


EXTENSION_EVENT = st.builds(
    lambda method, mood, session, at, generation: BrowserEvent(
        at=at, generation=generation, event=event_of(method, {"x": "x" * mood}, session)
    ),
    method=st.sampled_from(["Whim.taken", "Runtime.consoleAPICalled", "Nobody.cares", "Whim.fatal"]),
    mood=st.integers(0, 6),
    session=st.none() | ID,
    at=st.sampled_from([0.0, 0.0, 0.0, 5.0, 9.0, math.nan]).map(lambda mono: Instant(mono=mono)),
    generation=st.sampled_from([1, 1, 1, 2]),
)


@given(events=st.lists(EXTENSION_EVENT, max_size=20), stopped=st.booleans())
def test_the_short_path_of_extension_events_gives_the_same_state(events: list[Input], stopped: bool) -> None:
    made = fold([LinkUp(at=Instant(mono=0.0), generation=1), *page_story("a", "a"), *events])
    if stopped:
        for each in events:
            made.feed(each)


class Faint:
    """An extension that only folds events, and raises on some of them."""

    name = "faint"
    events = frozenset({"Faint.taken", "Runtime.consoleAPICalled"})

    def initial(self) -> tuple[Any, ...]:
        return ()

    def step(self, state: tuple[Any, ...], input: Input, /) -> tuple[tuple[Any, ...], list[Effect]]:
        return (self.fold(state, [input]) if isinstance(input, BrowserEvent) else state), []

    def fold(self, state: tuple[Any, ...], inputs: Sequence[BrowserEvent], /) -> tuple[Any, ...]:
        for each in inputs:
            if each.event.size % 7 == 3:
                raise RuntimeError(each)
            state = (*state, (each.event.method, each.page))[-9:]
        return state

    def next_deadline(self, _state: object, /) -> None:
        return None

    def view(self, state: tuple[Any, ...], /) -> dict[str, Any]:
        return {"kept": len(state)}


DEFERRABLE = st.builds(
    BrowserEvent,
    at=st.sampled_from([0.0, 0.0, 0.0, 1.0, 4.0, 7.0, math.nan]).map(lambda mono: Instant(mono=mono)),
    generation=st.sampled_from([1, 1, 1, 2]),
    event=st.builds(
        event_of,
        st.sampled_from(["Runtime.consoleAPICalled", "Faint.taken", "Faint.taken", "Page.frameAttached"]),
        st.fixed_dictionaries({"frameId": ID, "parentFrameId": ID, "more": st.sampled_from(["", "x", "x" * 9_000])}),
        st.none() | ID,
    ),
)


@given(
    rest=st.lists(DEFERRABLE | DEFERRABLE | DEFERRABLE | PLAIN, max_size=40),
    looks=st.sets(st.integers(0, 40)),
    extensions=st.sampled_from([(ConsoleRing(),), (ConsoleRing(), Faint()), (ConsoleRing(), Whim(), Faint())]),
)
def test_deferring_events_changes_no_state(rest: Any, looks: set[int], extensions: Any) -> None:
    """A watched runner makes every state at once, an unwatched one only when it is read; they are equal."""
    before = initial_state(limits=SMALL, extensions=extensions)
    done: list[str] = []
    done_at_once: list[str] = []
    lazy = Runner(before, lambda effect: done.append(repr(effect)))
    at_once = Runner(before, lambda effect: done_at_once.append(repr(effect)))
    at_once.watch(lambda _state: None)
    deferrable = deferrable_events(before)
    for number, each in enumerate([LinkUp(at=Instant(mono=0.0), generation=1), *page_story("a", "a"), *rest]):
        if not (
            isinstance(each, BrowserEvent)
            and each.event.method in deferrable
            and lazy.defer(each.at, each.generation, each.event)
        ):
            lazy.feed(each)
        at_once.feed(each)
        if number in looks:
            assert replace(lazy.state, sequence=0) == replace(at_once.state, sequence=0)
            assert lazy.snapshot() is lazy.snapshot()
    lazy.watch(lambda _state: None)
    assert replace(lazy.state, sequence=0) == replace(at_once.state, sequence=0)
    assert Counter(done) == Counter(done_at_once)


def test_deferred_events_are_bounded_by_number_and_size() -> None:
    runner = Runner(initial_state(extensions=(ConsoleRing(),)), lambda _effect: None)
    at = Instant(mono=0.0)
    line = event_of("Runtime.consoleAPICalled", {"type": "log"}, "a")
    kept = 0
    while runner.defer(at, 1, line):
        kept += 1
    assert kept == MAX_EVENTS
    runner.feed(BrowserEvent(at=at, generation=1, event=line))
    large = event_of("Runtime.consoleAPICalled", {"type": "x" * MAX_BYTES}, "a")
    assert runner.defer(at, 1, line)
    assert not runner.defer(at, 1, large)


TRICK = st.tuples(
    st.integers(0, 400), st.sampled_from(["lose", "double", "later", "odd time", "foreign"]), st.integers(1, 9)
)


@settings(max_examples=max(settings().max_examples // 2, 1))
@given(
    number=st.integers(0, 16),
    profile=st.sampled_from(["headless-new", "headless-shell"]),
    tricks=st.lists(TRICK, max_size=8),
    requests=st.lists(st.tuples(st.integers(0, 400), ANY_REQUEST), max_size=4),
    when=WHEN,
)
def test_a_real_run_with_inputs_lost_duplicated_and_reordered_stays_valid(
    number: int, profile: str, tricks: Any, requests: Any, when: float
) -> None:
    scene = list(scenarios.SCENES.values())[number % len(scenarios.SCENES)]
    story: list[Any] = list(supervised_run.play(profile=profile, **scene.how()).engine.inputs)
    for place, request in requests:
        story.insert(
            place % len(story), RequestReceived(at=Instant(mono=0.0), generation=1, request_id=0, request=request)
        )
    for wanted, trick, far in tricks:
        place = wanted % len(story)
        each = story[place]
        if trick == "lose" and len(story) > 1:
            del story[place]
        elif trick == "double":
            story.insert(place, each)
        elif trick == "later":
            del story[place]
            story.insert(place + far, each)
        elif trick == "odd time":
            story[place] = replace(each, at=Instant(mono=when))
        elif trick == "foreign":
            story[place] = replace(each, generation=far)
    fold(
        [each for each in story if not (isinstance(each, RequestReceived) and isinstance(each.request, Stop))],
        policy=Policy(scene.policy),
    )
