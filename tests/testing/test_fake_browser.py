"""The laws of the fake, over scripts and schedules, checked with a naive client and the truth.

Each law rests on facts of Chromium, not on the code: what a fact leaves open is not checked.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cdp_core.bindings import parse_event, parse_result, strict
from cdp_core.errors import InvalidArgument
from cdp_core.sansio.messages import CommandId, Event, Result, SessionId
from cdp_core.sansio.router import Anomaly, CommandDone, Router
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.fake.world import PROFILES
from cdp_core.testing.schedules import Ask, Schedule
from cdp_core.testing.simulation import Pump, Run
from cdp_core.testing.steps import (
    AddFrame,
    Answer,
    Close,
    Console,
    Crash,
    Dialog,
    Go,
    MoveFrame,
    Navigate,
    NavigateFrame,
    Popup,
    RemoveFrame,
    Script,
    Wait,
    Worker,
)
from cdp_core.testing.strategies import is_race_free, schedules, scripts
from support import naive_client

Json = dict[str, Any]
PROFILE = st.sampled_from(PROFILES)
SEED = st.integers(0, 2**32)
ROOT = Path(__file__).parents[2]
SHOP = "https://shop.example/"
URLS = ("https://shop.example/", "https://shop.example/2", "https://ads.example/1", "about:blank")
REQUESTS = st.one_of(
    st.builds(lambda url: ["page", "Page.navigate", {"url": url}], st.sampled_from(URLS)),
    st.builds(lambda url: [None, "Target.createTarget", {"url": url}], st.sampled_from(URLS)),
    st.sampled_from([["page", "Page.reload", {}], ["page", "Page.close", {}], ["iframe", "Page.getFrameTree", {}]]),
)
LEAVING = st.sampled_from([["page", "Target.detachFromTarget", {}], ["iframe", "Target.detachFromTarget", {}]])
ASKS = st.lists(st.builds(Ask, question=REQUESTS | LEAVING), max_size=3)
STAYING = st.lists(st.builds(Ask, question=REQUESTS), max_size=3)
"""Without detaching: a client that detaches from a session does not know its frames any more."""
EDGES = st.sampled_from(["observed", "causal"])


# ── one example ──────────────────────────────────────────────────────────────────────────────────────────────────────


@attrs.frozen(kw_only=True)
class Example:
    fake: FakeBrowser
    client: Any
    run: Run
    connected: bool
    """True if the client was connected until the end."""

    @property
    def delivered(self) -> list[Json]:
        return [message for way, message in self.client.log if way == "in"]

    @property
    def blocked_or_crashed(self) -> set[str]:
        """Targets that a client cannot know completely: blocked by an unanswerable dialog, or crashed."""
        truth = self.fake.truth()
        return {target for target, _ in truth.blocked} | {*truth.crashed}


def play_script(script: Script, profile: str = "headless-new", wait: bool = True, **how: Any) -> Example:
    """Play a script to its end for one naive client."""
    fake = FakeBrowser(script, profile=profile)
    client = naive_client.NaiveClient(script.answers, wait=wait)
    pump = Pump(fake, [client], **how)
    run = pump.run()
    assert run.quiet
    return Example(fake=fake, client=client, run=run, connected=pump.ends[0].connected)


def page_of(frames: dict[str, Json]) -> dict[str, str]:
    """Return the page of each frame."""
    found = {}
    for frame in frames:
        top = frame
        while frames.get(top, {}).get("parent") is not None:
            top = frames[top]["parent"]
        found[frame] = top
    return found


# ── order ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def assert_session_lifetimes(messages: list[Json]) -> None:
    """Assert that each message of a session comes after its attach event and before its end.

    A session ends with its own detach event, or with that of an ancestor.
    """
    parents: dict[str | None, str | None] = {None: None}
    ended: set[str | None] = set()
    for message in messages:
        session = message.get("sessionId")
        assert session in parents, f"the session of {message} was never attached"
        ancestor = session
        while ancestor is not None:
            assert ancestor not in ended, f"the session of {message} has ended"
            ancestor = parents[ancestor]
        if "result" in message and "sessionId" in message["result"]:
            assert message["result"]["sessionId"] in parents, "the reply came before the event (fact 47)"
        if message.get("method") == "Target.attachedToTarget":
            assert message["params"]["sessionId"] not in parents
            parents[message["params"]["sessionId"]] = session
        elif message.get("method") == "Target.detachedFromTarget":
            ended.add(message["params"]["sessionId"])


@given(script=scripts(), profile=PROFILE, seed=SEED, edges=EDGES, asks=ASKS, wait=st.booleans())
def test_messages_of_a_session_lie_between_its_attach_and_its_detach(
    script: Script, profile: str, seed: int, edges: Any, asks: Any, wait: bool
) -> None:
    """Facts 47, 50; also for hostile orders."""
    example = play_script(script, profile, wait, seed=seed, edges=edges, asks=asks, hurry=True)
    assert_session_lifetimes(example.delivered)


@given(script=scripts(), seed=SEED, edges=EDGES, asks=ASKS)
def test_events_of_a_session_are_delivered_in_the_order_in_which_they_arose(
    script: Script, seed: int, edges: Any, asks: Any
) -> None:
    fake = FakeBrowser(script)
    client = naive_client.NaiveClient(script.answers)
    last: dict[str | None, int] = {}
    deliver = fake.deliver

    def watched(end: Any, delivery: Any) -> bytes:
        if not delivery.what.startswith("reply"):
            assert delivery.number > last.get(delivery.session_id, 0)
            last[delivery.session_id] = delivery.number
        return deliver(end, delivery)

    fake.deliver = watched  # type: ignore[method-assign]
    Pump(fake, [client], seed=seed, edges=edges, asks=asks).run()


def assert_dialog_order(example: Example) -> None:
    """Assert that the closed event of a dialog precedes the reply to its answer (facts 1, 12)."""
    closed: Counter[str] = Counter()
    answered: Counter[str] = Counter()
    for message in example.delivered:
        session = message.get("sessionId", "")
        if message.get("method") == "Page.javascriptDialogClosed":
            closed[session] += 1
        elif "result" in message and example.client.commands[message["id"]]["method"] == "Page.handleJavaScriptDialog":
            answered[session] += 1
            assert answered[session] <= closed[session], "the answer's reply came before the dialog's end"


@pytest.mark.parametrize("edges", ["observed", "causal"])
def test_the_reply_to_an_answer_follows_the_events_of_the_dialog(edges: Any) -> None:
    """The browser process sends both, so a refused client receives the closed event before the refusal."""
    fake = FakeBrowser()
    ends = [fake.connect(edges=edges) for _ in range(2)]
    for end in ends:
        send(end, 1, "Target.attachToTarget", {"targetId": fake.truth().pages[0], "flatten": True})
    sessions = {number: session for number, session, _ in fake.truth().sessions}
    for end in ends:
        send(end, 2, "Page.enable", {}, sessions[end.number])
        end.drain()
    fake.play(Dialog("alert", "x"))
    for end in reversed(ends):
        send(end, 3, "Page.handleJavaScriptDialog", {"accept": True}, sessions[end.number])
    order = []
    while ready := ends[0].ready():
        message = json.loads(fake.deliver(ends[0], ready[-1]))
        order.append(message.get("method", message.get("error", {}).get("message")))
    assert order == ["Page.javascriptDialogOpening", "Page.javascriptDialogClosed", "No dialog is showing"]


@given(script=scripts(), profile=PROFILE, seed=SEED, edges=EDGES, asks=ASKS)
def test_a_dialog_closes_before_the_reply_to_its_answer(
    script: Script, profile: str, seed: int, edges: Any, asks: Any
) -> None:
    assert_dialog_order(play_script(script, profile, seed=seed, edges=edges, asks=asks))


@given(kind=st.sampled_from(["alert", "confirm", "prompt"]), profile=PROFILE, seed=SEED, schedule=schedules())
def test_a_blocked_evaluate_is_answered_last(kind: str, profile: str, seed: int, schedule: Schedule) -> None:
    """Fact 12: Opening, Closed, the reply of the answer, the reply of the evaluate."""
    script = Script(answers={"ask()": Answer("done", (Dialog(kind, "?"),))})
    for how in ({"seed": seed}, {"schedule": schedule}):
        example = play_script(script, profile, **how)
        wanted = ("Page.javascriptDialogOpening", "Page.javascriptDialogClosed")
        order = []
        for message in example.delivered:
            if "method" in message:
                order += [message["method"]] if message["method"] in wanted else []
            else:
                method = example.client.commands[message["id"]]["method"]
                order += [method] if method in ("Runtime.evaluate", "Page.handleJavaScriptDialog") else []
        assert order == [*wanted, "Page.handleJavaScriptDialog", "Runtime.evaluate"]


def linked(script: Script, *commands: tuple[str, Json]) -> tuple[FakeBrowser, Any, str]:
    """Attach a client to the first page, and send these commands on its session."""
    fake = FakeBrowser(script)
    end = fake.connect()
    attach = {"targetId": fake.truth().pages[0], "flatten": True}
    send(end, 1, "Target.attachToTarget", attach)
    [session] = [session for _, session, _ in fake.truth().sessions]
    for number, (method, params) in enumerate(commands, 2):
        send(end, number, method, params, session)
    end.drain()
    return fake, end, session


def send(end: Any, number: int, method: str, params: Json, session: str | None = None) -> None:
    on = {} if session is None else {"sessionId": session}
    end.receive(json.dumps({"id": number, "method": method, "params": params, **on}).encode())


AUTO_ATTACH = ("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True})


@pytest.mark.parametrize("edges", ["observed", "causal"])
def test_no_message_of_a_nested_session_follows_the_end_of_its_parent(edges: Any) -> None:
    """Fact 50: it ends without an event, so its messages come before the detach event of its parent."""
    fake, _, _ = linked(Script(timeline=(AddFrame("x", "https://ads.example/"),)))
    end = fake.connect(edges=edges)
    send(end, 1, "Target.attachToTarget", {"targetId": fake.truth().pages[0], "flatten": True})
    page = next(session for number, session, _ in fake.truth().sessions if number == end.number)
    send(end, 2, *AUTO_ATTACH, page)
    frame = next(session for number, session, _ in fake.truth().sessions if number == end.number and session != page)
    send(end, 3, "Runtime.enable", {}, frame)
    end.drain()
    fake.play(Console("last words", frame="x"))
    send(end, 4, "Target.detachFromTarget", {"sessionId": page})
    assert {delivery.session_id for delivery in end.ready()} == {frame}
    [words, detached, *_] = [json.loads(payload) for payload in end.drain()]
    assert [words["method"], detached["method"]] == ["Runtime.consoleAPICalled", "Target.detachedFromTarget"]


@pytest.mark.parametrize("nested", [False, True])
def test_a_command_of_an_ended_session_is_refused_after_the_detach_event(nested: bool) -> None:
    fake, end, page = linked(Script(timeline=(AddFrame("x", "https://ads.example/"),)), AUTO_ATTACH)
    frame = next(session for _, session, _ in fake.truth().sessions if session != page)
    fake.play(Close())
    send(end, 8, "Runtime.evaluate", {"expression": "1"}, frame if nested else page)
    ended: set[str] = set()
    while (last := end.ready()[-1]).what != "reply to Runtime.evaluate":
        messages = json.loads(fake.deliver(end, last))
        if messages.get("method") == "Target.detachedFromTarget":
            ended.add(messages["params"]["sessionId"])
    assert (frame if nested else page) in ended


# ── every command ────────────────────────────────────────────────────────────────────────────────────────────────────


def assert_answers(example: Example) -> None:
    """Assert that each command is answered once, or never for a reason that the facts give.

    The reasons: its session ended, its target crashed (facts 49, 55), or its renderer waits for an unanswerable dialog
    (facts 4, 15).
    """
    client, truth = example.client, example.fake.truth()
    targets = {session: target for _, session, target in truth.sessions}
    assert set(client.replies) <= set(client.commands), "a reply without a command"
    for number, command in client.commands.items():
        replies = client.replies.get(number, [])
        assert len(replies) <= 1, f"{command} was answered {len(replies)} times"
        session = command.get("sessionId")
        target = targets.get(session or "")
        if not replies:
            assert session is not None, f"{command} was never answered"
            answered_by_browser = command["method"] in ("Page.handleJavaScriptDialog", "Page.navigate", "Page.close")
            allowed = target is None or target in truth.crashed or target in dict(truth.blocked)
            assert allowed, f"{command} was never answered"
            assert target is None or target in truth.crashed or not answered_by_browser, f"{command} was not answered"


@given(script=scripts(), profile=PROFILE, seed=SEED, edges=EDGES, asks=ASKS)
@example(  # a frame moves to its own process while an unanswerable dialog blocks the old process
    script=Script(
        pages={"https://pay.example/3": (Wait(1), Dialog("confirm", "b"))},
        timeline=(
            *(Wait(1), AddFrame("x1", SHOP), Wait(1), AddFrame("x2", "https://pay.example/3")),
            *(Wait(1), Dialog("confirm", "a")),
        ),
    ),
    profile="headless-shell",
    seed=3210,
    edges="observed",
    asks=[],
)
def test_a_command_is_answered_once_or_never_for_a_reason(
    script: Script, profile: str, seed: int, edges: Any, asks: Any
) -> None:
    example = play_script(script, profile, seed=seed, edges=edges, asks=asks, hurry=True)
    if example.connected:
        assert_answers(example)


def console_lines(*timeline: Any, pages: Json) -> list[tuple[float, str, str]]:
    """Return the console lines of a run: time, text, and URL of the document."""
    fake = FakeBrowser(Script(pages=pages, timeline=timeline))
    end, lines = fake.connect(), []
    send(end, 1, *AUTO_ATTACH)
    due: float | None = 0.0
    while due is not None:
        fake.advance(due)
        while messages := [json.loads(payload) for payload in end.drain()]:
            for message in messages:
                if message.get("method") == "Target.attachedToTarget":
                    for number, command in enumerate([AUTO_ATTACH, ("Runtime.enable", {})]):
                        send(end, 2 + number, *command, message["params"]["sessionId"])
                elif message.get("method") == "Runtime.consoleAPICalled":
                    url = message["params"]["stackTrace"]["callFrames"][0]["url"]
                    lines.append((fake.now, message["params"]["args"][0]["value"], url))
        due = fake.next_time()
    return lines


@pytest.mark.parametrize("next_one", ["https://shop.example/2", "https://ads.example/", "about:blank"])
@pytest.mark.parametrize("in_frame", [False, True])
def test_the_script_of_a_document_ends_with_it(in_frame: bool, next_one: str) -> None:
    pages = {SHOP: (Wait(1), Console("late"), Dialog("alert", "late"))}
    if in_frame:
        begin: tuple[Any, ...] = (Navigate("https://top.example/"), AddFrame("x", SHOP))
        leave: Any = NavigateFrame("x", next_one)
    else:
        begin, leave = (Navigate(SHOP),), Navigate(next_one)
    assert console_lines(*begin, pages=pages) == [(1, "late", SHOP)]
    assert console_lines(*begin, Wait(0.5), leave, Wait(5), pages=pages) == []


def test_the_script_of_a_cached_document_continues_when_it_is_restored() -> None:
    """Fact 43: steps that became due meanwhile are played then."""
    first, other = "https://first.example/", "https://ads.example/"
    script = Script(answers={"later()": Answer(1, (Wait(1), Console("late")))})
    fake, end, session = linked(script, ("Page.enable", {}), ("Runtime.enable", {}))
    fake.play(Navigate(first), Wait(1), Navigate(SHOP))
    fake.advance(2)
    send(end, 8, "Runtime.evaluate", {"expression": "later()"}, session)
    fake.play(Wait(0.5), Navigate(other), Wait(2))
    fake.advance(4.6)
    assert not any(b"consoleAPICalled" in payload for payload in end.drain())
    fake.play(Go())
    fake.advance(5)
    messages = [message for message in map(json.loads, end.drain()) if "method" in message]
    assert [each["params"]["type"] for each in messages if each["method"] == "Page.frameNavigated"] == [
        "BackForwardCacheRestore"
    ]
    [line] = [each["params"] for each in messages if each["method"] == "Runtime.consoleAPICalled"]
    assert line["args"][0]["value"] == "late"
    assert line["stackTrace"]["callFrames"][0]["url"] == SHOP


def test_an_interrupted_evaluate_is_refused_once() -> None:
    """Fact 55: the page navigates away, and the result of the running script is never sent."""
    script = Script(answers={"later()": Answer(1, (Wait(1),))})
    fake, end, session = linked(script, ("Page.enable", {}))
    send(end, 8, "Runtime.evaluate", {"expression": "later()"}, session)
    send(end, 9, "Page.navigate", {"url": "https://elsewhere.example/"}, session)
    fake.advance(2)
    replies = [message for message in map(json.loads, end.drain()) if message.get("id") == 8]
    assert replies == [
        {
            "id": 8,
            "error": {"code": -32000, "message": "Inspected target navigated or closed"},
            "sessionId": session,
        }
    ]


# ── what a client knows ──────────────────────────────────────────────────────────────────────────────────────────────


def assert_frames(example: Example) -> None:
    """Assert that the frames of events and getFrameTree are the true frames (facts 38 to 44)."""
    truth = {frame.id: {"parent": frame.parent, "url": frame.url} for frame in example.fake.truth().frames}
    known = {frame: {"parent": each["parent"], "url": each["url"]} for frame, each in example.client.frames.items()}
    pages = page_of(truth)
    excluded = {pages[frame] for frame in pages if frame in example.blocked_or_crashed}
    assert {frame: each for frame, each in known.items() if page_of(known)[frame] not in excluded} == {
        frame: each for frame, each in truth.items() if pages[frame] not in excluded
    }


def assert_known_sessions(example: Example) -> None:
    """Assert that the sessions of events are the true sessions (facts 47, 50)."""
    truth = {session: target for _, session, target in example.fake.truth().sessions}
    assert {session: each["target"] for session, each in example.client.sessions.items()} == truth


@given(script=scripts(), profile=PROFILE, seed=SEED, asks=STAYING)
@example(  # the page navigates while a frame waits to change its process
    script=Script(timeline=(AddFrame("x"), AddFrame("y"), Wait(1), AddFrame("z", SHOP), Navigate("about:blank"))),
    profile="headless-new",
    seed=0,
    asks=[],
)
@example(  # the same, with a child frame
    script=Script(
        timeline=(Wait(1), AddFrame("x", SHOP), AddFrame("y"), AddFrame("z", SHOP, "x"), Navigate("about:blank"))
    ),
    profile="headless-new",
    seed=0,
    asks=[],
)
@example(  # a child frame in the empty document of a frame that waits
    script=Script(timeline=(Wait(1), AddFrame("x", SHOP), AddFrame("z", parent="x"))),
    profile="headless-new",
    seed=0,
    asks=[],
)
@example(  # a step for a page that a client closed
    script=Script(timeline=(Wait(1), AddFrame("x"), Wait(1), AddFrame("y"), Wait(1), AddFrame("z", parent="x"))),
    profile="headless-new",
    seed=0,
    asks=[Ask(question=["page", "Page.close", {}])],
)
@example(  # a document without frames is restored, and the frames of the document before it are gone
    script=Script(
        timeline=(
            *(Wait(1), Navigate("https://pay.example/"), Wait(1), Navigate(SHOP), Wait(1)),
            *(AddFrame("x", SHOP), Wait(1), Go()),
        )
    ),
    profile="headless-new",
    seed=0,
    asks=[],
)
def test_a_client_learns_the_true_frames_and_sessions_from_events(
    script: Script, profile: str, seed: int, asks: Any
) -> None:
    example = play_script(script, profile, seed=seed, asks=asks)
    if example.connected:
        assert_frames(example)
        assert_known_sessions(example)


@given(script=scripts(race_free=True), profile=PROFILE, schedule=st.data())
def test_the_truth_of_a_race_free_script_is_the_same_under_every_schedule(
    script: Script, profile: str, schedule: st.DataObject
) -> None:
    assert is_race_free(script)

    def truth(**how: Any) -> Any:
        example = play_script(script, profile, **how)
        found = example.fake.truth()
        names = {frame.id: frame.label or "" for frame in found.frames}
        return (
            sorted((frame.label or "", names.get(frame.parent or "", ""), frame.url) for frame in found.frames),
            sorted((each.type, each.message, each.open, str(each.accepted)) for each in found.dialogs),
            len(found.pages),
            len(found.sessions),
        )

    by_default = truth()
    assert truth(schedule=schedule.draw(schedules(script))) == by_default
    assert truth(seed=schedule.draw(SEED)) == by_default


# ── the router and the bindings ──────────────────────────────────────────────────────────────────────────────────────


class AdoptingRouter(Router):
    """A router that also tracks commands that a client numbered and sent."""

    def adopt(self, command: Json) -> None:
        session = command.get("sessionId")
        self.waiting[CommandId(command["id"])] = (
            None if session is None else SessionId(session),
            command["method"],
            None,
        )
        self._last_id = CommandId(max(self._last_id, command["id"]))


def assert_router_and_bindings(example: Example) -> None:
    """Assert that the router reports no anomaly and that the strict bindings parse everything."""
    router = AdoptingRouter()
    texts = iter([payload for _, payload in example.run.delivered])
    for way, message in example.client.log:
        if way == "out":
            router.adopt(message)
            continue
        for output in router.receive(next(texts)):
            assert not isinstance(output, Anomaly), output
            if isinstance(output, Event):
                parse_event(output)
            elif isinstance(output, CommandDone) and isinstance(output.outcome, Result):
                parse_result(output.method, output.outcome.value)


@given(script=scripts(), profile=PROFILE, seed=SEED, edges=EDGES, asks=ASKS)
@example(  # a command of an ended session is refused after the detach event
    script=Script(timeline=(Wait(1), Worker("x"), Popup("y"), Close(page="y"))),
    profile="headless-new",
    seed=0,
    edges="observed",
    asks=[],
)
def test_router_and_bindings_accept_every_message(
    script: Script, profile: str, seed: int, edges: Any, asks: Any
) -> None:
    with strict():
        assert_router_and_bindings(play_script(script, profile, seed=seed, edges=edges, asks=asks))


# ── several clients ──────────────────────────────────────────────────────────────────────────────────────────────────


@given(script=scripts(), profile=PROFILE, seed=SEED, edges=EDGES)
@example(  # a frame tree that is sent after a frame in it moved to its own process
    script=Script(answers={"ask()": Answer(steps=(AddFrame("a1", url=SHOP),))}),
    profile="headless-new",
    seed=18,
    edges="observed",
)
def test_the_laws_hold_for_each_of_two_clients(script: Script, profile: Any, seed: int, edges: Any) -> None:
    fake = FakeBrowser(script, profile=profile)
    clients = [naive_client.NaiveClient(script.answers), naive_client.NaiveClient()]
    pump = Pump(fake, clients, seed=seed, edges=edges)
    run = pump.run()
    assert run.quiet
    for client, end in zip(clients, pump.ends, strict=True):
        example = Example(fake=fake, client=client, run=run, connected=end.connected)
        assert_session_lifetimes(example.delivered)
        assert_dialog_order(example)
        if end.connected:
            of_client = {session for number, session, _ in fake.truth().sessions if number == end.number}
            assert set(client.sessions) == of_client
            if edges == "observed":
                assert_frames(example)


@given(kind=st.sampled_from(["alert", "confirm", "prompt"]), seed=SEED)
def test_a_dialog_is_closed_by_one_of_two_clients(kind: str, seed: int) -> None:
    """Facts 13, 14: both receive the events; one answer is accepted, and the truth names its client."""
    script = Script(timeline=(Wait(1), Dialog(kind, "?")))
    fake = FakeBrowser(script)
    clients = [naive_client.NaiveClient(), naive_client.NaiveClient()]
    Pump(fake, clients, seed=seed).run()
    results = []
    for client in clients:
        methods = [message.get("method") for way, message in client.log if way == "in"]
        assert methods.count("Page.javascriptDialogOpening") == methods.count("Page.javascriptDialogClosed") == 1
        [answer] = [number for number, each in client.commands.items() if each["method"].startswith("Page.handle")]
        [reply] = client.replies[answer]
        results.append("result" in reply)
        assert "result" in reply or reply["error"] == {"code": -32602, "message": "No dialog is showing"}
    [dialog] = fake.truth().dialogs
    assert sorted(results) == [False, True]
    assert dialog.closed_by == 1 + results.index(True)


# ── reproducible runs ────────────────────────────────────────────────────────────────────────────────────────────────

EVERYTHING = Script(
    pages={
        SHOP: (
            AddFrame("news", SHOP + "news"),
            AddFrame("pay", "https://pay.example/"),
            Console("loaded"),
            Worker("w"),
        ),
        "https://pay.example/": (AddFrame("inner", "https://ads.example/"), Console("é\ud800")),
    },
    timeline=(
        *(
            Wait(0.1),
            Navigate(SHOP),
            Wait(0.1),
            Dialog("prompt", "name?", "you"),
            AddFrame("x", "https://ads.example/"),
        ),
        *(Wait(0.1), NavigateFrame("x", SHOP), MoveFrame("x"), Popup("p", SHOP), Popup("q", SHOP, noopener=True)),
        *(Wait(0.1), RemoveFrame("x"), Close("p"), Wait(0.1), Crash("q"), Wait(0.1), Close()),
    ),
    answers={"f()": Answer(1.5, (Dialog("confirm", "sure?"), Console("x")))},
)
DIGEST = """
import hashlib, importlib.util, json, sys
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.simulation import Pump
from cdp_core.testing.steps import Script
spec = importlib.util.spec_from_file_location("naive_client", sys.argv[1])
naive = importlib.util.module_from_spec(spec)
spec.loader.exec_module(naive)
script = Script.from_json(sys.stdin.read())
digest = hashlib.sha256()
for profile in ("headless-new", "headless-shell"):
    for seed in range(8):
        clients = [naive.NaiveClient(script.answers, wait=bool(seed % 2)), naive.NaiveClient()]
        run = Pump(FakeBrowser(script, profile=profile, seed=seed), clients, seed=seed, edges=("observed", "causal")[seed % 2])
        digest.update(repr(run.run()).encode())
        digest.update(repr(run.run().delivered).encode())
print(digest.hexdigest())
"""


def digest(python: str, hash_seed: str) -> str:
    path = str(naive_client.__file__)
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [python, "-c", DIGEST, path],
        input=json.dumps(EVERYTHING.to_json()),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_same_seed_gives_the_same_bytes_in_every_process() -> None:
    """Also with the Pythons that `OTHER_PYTHONS` lists, separated as in PATH."""
    others = [each for each in os.environ.get("OTHER_PYTHONS", "").split(os.pathsep) if each]
    found = {digest(python, hash_seed) for python in (sys.executable, *others) for hash_seed in ("0", "1", "77")}
    assert len(found) == 1


IDS = ("44eb6a3d-7228-6b15-8099-9a5684b8fe36", "050B2D631630E0E2D4DD7415CF068391")


def test_ids_are_the_same_on_every_python() -> None:
    fake = FakeBrowser(seed=7)
    assert fake.path == f"/devtools/browser/{IDS[0]}"
    assert fake.truth().pages == (IDS[1],)
    assert FakeBrowser(seed=8).truth().pages != fake.truth().pages


# ── illegal uses ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"profile": "headful"}, "profile must be one of headless-new, headless-shell, not 'headful'."),
        ({"seed": "7"}, "seed must be an integer, not '7'."),
        ({"seed": True}, "seed must be an integer, not True."),
    ],
)
def test_an_invalid_option_of_the_browser_is_refused(options: Any, expected: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        FakeBrowser(**options)
    assert str(refused.value) == expected


@pytest.mark.parametrize("path", ["/", "", "/devtools/browser/0", "/devtools/page/0", "/devtools/page/"])
def test_a_path_that_names_nothing_is_refused(path: str) -> None:
    with pytest.raises(InvalidArgument, match="is not a path of this browser"):
        FakeBrowser().connect(path)


def test_time_does_not_run_backwards() -> None:
    fake = FakeBrowser()
    fake.advance(5)
    with pytest.raises(ValueError, match="time does not run backwards"):
        fake.advance(4)


def test_a_message_is_delivered_only_once() -> None:
    fake = FakeBrowser()
    end = fake.connect()
    end.receive(b'{"id":1,"method":"Target.setDiscoverTargets","params":{"discover":true}}')
    [first] = end.ready()
    assert fake.ready() == ((end, first),)
    fake.deliver(end, first)
    with pytest.raises(ValueError, match="is no longer waiting"):
        fake.deliver(end, first)


def test_a_lost_client_sends_and_receives_nothing() -> None:
    fake = FakeBrowser()
    end = fake.connect()
    end.receive(b'{"id":1,"method":"Browser.getVersion"}')
    end.lost()
    end.lost()
    end.receive(b'{"id":2,"method":"Browser.getVersion"}')
    assert end.drain() == []
    assert not end.connected
    assert len(fake.commands) == 1
    assert repr(end) == "<client 1, gone>"


def test_assert_clean_names_what_a_client_left_behind() -> None:
    fake = FakeBrowser(Script(timeline=(Wait(1), Dialog())))
    fake.assert_clean()
    end = fake.connect()
    end.receive(b"nonsense")
    fake.advance(1)
    with pytest.raises(AssertionError, match=r"left behind: 1 messages were malformed; a alert is open on page \w{8}"):
        fake.assert_clean()
    Pump(clean := FakeBrowser(EVERYTHING), [naive_client.NaiveClient(EVERYTHING.answers)]).run()
    clean.assert_clean()


def test_a_command_that_is_not_modelled_is_refused_and_counted() -> None:
    fake = FakeBrowser()
    end = fake.connect()
    for number in (1, 2):
        end.receive(b'{"id":%d,"method":"SystemInfo.getInfo"}' % number)
    assert [json.loads(payload)["error"] for payload in end.drain()] == [
        {"code": -32601, "message": "'SystemInfo.getInfo' wasn't found"}
    ] * 2
    statistics = fake.statistics()
    assert (statistics.unmodelled, statistics.refused) == ({"SystemInfo.getInfo": 2}, 2)
    assert (statistics.received, statistics.delivered, statistics.waiting) == (2, 2, 0)
