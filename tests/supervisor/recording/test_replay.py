"""A recorded run replays identically: every state and every time, without network, clock or chance."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import example, given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from cdp_core import InvalidArgument, TraceWriter, open_browser_session, read_trace
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.steps import (
    AddFrame,
    Answer,
    Close,
    Console,
    Crash,
    Cut,
    Dialog,
    Navigate,
    Popup,
    Script,
    ScriptError,
    Wait,
)
from cdp_core.testing.strategies import scripts
from cdp_core.testing.transport import FakeTransport
from cdp_supervisor import (
    AwaitCall,
    BlockedByDialog,
    Call,
    Focus,
    Limits,
    Note,
    Policy,
    Recover,
    RespondToDialog,
    Scope,
    Send,
    SetPolicy,
    Snapshot,
    Stop,
    open_supervisor,
    recording,
    replay,
)
from cdp_supervisor.sansio.inputs import Input
from support import recorded_run

SHOP, PAY, ASKING = "https://shop.example/", "https://pay.example/form", "https://shop.example/asking"
SECRET = "hunter2"
SCRIPT = Script(
    pages={
        SHOP: (
            AddFrame("news", "https://shop.example/news"),
            AddFrame("pay", PAY),
            Console("ready"),
            ScriptError("oh"),
        ),
        ASKING: (Wait(1), Dialog("confirm", "Are you sure?"), Console("was sure")),
    },
    answers={
        "checkout()": Answer("paid", (Dialog("prompt", "Your name?", "guest"), Console("thank you"))),
        "1+1": Answer(2),
    },
)


# ── scenarios ────────────────────────────────────────────────────────────────────────────────────────────────────────


def page(run: Any) -> str:
    return str(run.engine.snapshot().pages[0].target_id)


def on_page(kind: Any, **fields: Any) -> Callable[[Any], Any]:
    return lambda run: kind(target_id=page(run), **fields)


def evaluating(expression: str, **fields: Any) -> Callable[[Any], Any]:
    return on_page(Call, method="Runtime.evaluate", params={"expression": expression}, **fields)


class Counting:
    """An extension of the embedder: it counts, sends commands, sets a deadline and shows a view."""

    name = "counting"
    events = frozenset({"Page.javascriptDialogOpening"})

    def initial(self) -> tuple[int, float | None]:
        return 0, None

    def step(self, state: tuple[int, float | None], input: Input, /) -> tuple[tuple[int, float | None], Iterable[Any]]:
        count, deadline = state
        if deadline is not None and input.at.mono >= deadline:
            return (count + 100, None), (Note(level="info", text="woken"),)
        if type(input).__name__ == "BrowserEvent":
            return (count + 1, input.at.mono + 2.5), (Send(ticket=7, session_id=None, method="Browser.getVersion"),)
        return state, ()

    def next_deadline(self, state: tuple[int, float | None], /) -> float | None:
        return state[1]

    def view(self, state: tuple[int, float | None], /) -> dict[str, Any]:
        return {"count": state[0]}


class Failing(Counting):
    """An extension that raises, and so is disabled, at the first dialog."""

    name = "failing"

    def step(self, state: tuple[int, float | None], input: Input, /) -> tuple[tuple[int, float | None], Iterable[Any]]:
        if type(input).__name__ == "BrowserEvent":
            raise RuntimeError(SECRET)
        return state, ()


def let_pass_until_up(run: Any) -> None:
    """Let time pass until the link is up again; used as an act of a scenario."""
    at = run.engine.next_deadline()
    assert at is not None
    assert "link is down" in at.why
    run.fake.advance(run.fake.now + at.at - run.at.mono + 2**-20)
    run.engine.time_passed(run.at)


OPENING = on_page(Call, method="Page.navigate", params={"url": SHOP})
SCENARIOS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "a dialog that is answered": (
        [
            OPENING,
            evaluating("checkout()"),
            RespondToDialog(action="accept", prompt_text="Ada"),
            AwaitCall(call_id="c-2"),
        ],
        {},
    ),
    "a dialog that gets no answer": (
        [OPENING, evaluating("checkout()", timeout=None)],
        {"policy": Policy(dialog_timeout=7.5)},
    ),
    "a policy that changes": (
        [
            OPENING,
            evaluating("checkout()"),
            SetPolicy(policy=Policy.unattended()),
            evaluating("checkout()", when_blocked="wait"),
            SetPolicy(policy=Policy({"prompt": "auto_accept"}, prompt_text=SECRET)),
            on_page(Call, method="Page.navigate", params={"url": ASKING}),
        ],
        {},
    ),
    "a link that is cut while a dialog is open": (
        [
            OPENING,
            evaluating("checkout()"),
            Cut(),
            RespondToDialog(action="accept"),
            lambda run: let_pass_until_up(run),  # noqa: PLW0108 - it is defined below
            on_page(Recover, remedy="same_document"),
            Cut(),
            lambda run: let_pass_until_up(run),  # noqa: PLW0108 - it is defined below
        ],
        {},
    ),
    "extensions": (
        [OPENING, evaluating("checkout()"), RespondToDialog(action="dismiss"), evaluating("checkout()")],
        {"extensions": (Counting(), Failing())},
    ),
    "pages that come and go": (
        [
            OPENING,
            Popup("w", PAY, noopener=True),
            Popup("v", ASKING),
            Focus(target_id=None),
            on_page(Focus),
            Close("w"),
            Crash("v"),
            Navigate(ASKING),
            on_page(Call, method="Page.close", params={}),
        ],
        {},
    ),
    "an end with a dialog open": ([OPENING, evaluating("checkout()"), Stop(timeout=1.5), Stop(timeout=0.5)], {}),
    "an end with the link down": ([OPENING, evaluating("checkout()"), Cut(), Stop(timeout=1.5)], {}),
    "observing": ([OPENING, evaluating("checkout()"), RespondToDialog(action="accept")], {"scope": Scope().observed()}),
    "small limits": (
        [OPENING, evaluating("checkout()"), RespondToDialog(action="dismiss", dialog_id="d-1")],
        {"limits": Limits(frames_kept=2, recent_dialogs=0, text_kept=4, setup_patience=math.inf), "keepalive": 5.0},
    ),
    "mistakes": (
        [
            RespondToDialog(action="ignore"),
            RespondToDialog(action="accept"),
            Call(method="", timeout=3),
            evaluating("1+1", timeout=math.inf),
            evaluating("1+1", timeout=True),
            evaluating("1+1", when_blocked="perhaps"),
            Call(method="Runtime.evaluate", target_id="nowhere"),
            Call(method="Runtime.evaluate", frame_id="\ud800"),
            Call(method="Runtime.evaluate", session_id="5"),
            AwaitCall(call_id="c-99", timeout=math.nan),
            Recover(target_id="nowhere", remedy="close"),
            Focus(target_id="nowhere"),
            Stop(timeout=math.inf),
        ],
        {},
    ),
    "large text and text that is not Unicode": (
        [OPENING, Console("x", times=1 << 20), Console("\ud800 and \x00"), evaluating("1+1")],
        {},
    ),
}


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("profile", ["headless-new", "headless-shell"])
def test_a_run_replays_identically(tmp_path: Path, name: str, profile: str) -> None:
    acts, options = SCENARIOS[name]
    run = recorded_run.RecordedRun(tmp_path / "t.jsonl", SCRIPT, acts, profile=profile, **options)
    assert len(run.snapshots) > 5
    replayed = list(replay(tmp_path / "t.jsonl", extensions=options.get("extensions", ())))
    assert replayed == run.snapshots
    again = list(replay(read_trace(tmp_path / "t.jsonl"), extensions=options.get("extensions", ())))
    assert again == replayed


def test_each_scenario_does_what_its_name_claims(tmp_path: Path) -> None:
    seen: dict[str, list[Snapshot]] = {}
    for name, (acts, options) in SCENARIOS.items():
        seen[name] = recorded_run.RecordedRun(tmp_path / "t.jsonl", SCRIPT, acts, **options).snapshots

    def closed(name: str) -> set[tuple[str, str]]:
        return {(each.closed_by, each.reason) for snapshot in seen[name] for each in snapshot.recent_dialogs}

    assert closed("a dialog that is answered") == {("agent", "answered")}
    assert closed("a dialog that gets no answer") == {("watchdog", "answered")}
    assert closed("a policy that changes") >= {("auto_policy", "answered")}
    assert closed("a link that is cut while a dialog is open") == {("remote", "navigation")}
    assert {each.link.generation for each in seen["a link that is cut while a dialog is open"]} >= {1, 2, 3}
    last = seen["extensions"][-1].extensions
    assert last["counting"]["count"] >= 100
    assert last["failing"] == {"off": "it raised RuntimeError"}
    assert {each.link.phase for each in seen["an end with a dialog open"][-1:]} == {"stopped"}
    assert {page.health.state for each in seen["pages that come and go"] for page in each.pages} >= {"ok", "crashed"}


def test_replay_stops_at_the_time_given_as_until(tmp_path: Path) -> None:
    acts, options = SCENARIOS["a dialog that gets no answer"]
    run = recorded_run.RecordedRun(tmp_path / "t.jsonl", SCRIPT, acts, **options)
    assert len(set(run.times)) > 1
    for moment in (-1.0, 0.0, *sorted(set(run.times)), 3.0, 1e9):
        expected = [each for each, time in zip(run.snapshots, run.times, strict=True) if time <= moment]
        assert list(replay(tmp_path / "t.jsonl", until=moment)) == expected


# ── traces that end early ────────────────────────────────────────────────────────────────────────────────────────────


def is_beginning(part: list[Snapshot], whole: list[Snapshot]) -> bool:
    return part == whole[: len(part)]


def test_a_torn_trace_replays_up_to_its_end(tmp_path: Path) -> None:
    acts, options = SCENARIOS["a dialog that is answered"]
    run = recorded_run.RecordedRun(tmp_path / "t.jsonl", SCRIPT, acts, **options)
    octets = (tmp_path / "t.jsonl").read_bytes()
    ends = [place for place, octet in enumerate(octets) if octet == ord("\n")]
    assert len(ends) > 60
    lengths: list[int] = []
    for end in ends[2::3]:
        for place in (end - 9, end, end + 1):
            (tmp_path / "torn.jsonl").write_bytes(octets[:place])
            part = list(replay(tmp_path / "torn.jsonl"))
            assert is_beginning(part, run.snapshots)
            lengths.append(len(part))
    assert lengths == sorted(lengths)
    assert max(lengths) > len(run.snapshots) - 5


@pytest.mark.parametrize("most", [600, 900, 1_500, 4_000, 7_777, 12_000, 16_001])
def test_a_trace_that_reached_its_limit_replays_up_to_there(tmp_path: Path, most: int) -> None:
    acts, options = SCENARIOS["a dialog that is answered"]
    path = tmp_path / "t.jsonl"
    run = recorded_run.RecordedRun(path, SCRIPT, acts, writer_options={"max_bytes": most}, **options)
    assert run.written.counts.left_out_records
    if most < 700:
        with pytest.raises(InvalidArgument, match="no records of a supervisor"):
            replay(path)
        return
    part = list(replay(path))
    assert is_beginning(part, run.snapshots)
    assert 0 < len(part) < len(run.snapshots)


# ── redaction ────────────────────────────────────────────────────────────────────────────────────────────────────────

PRIVATE = ("message", "defaultPrompt", "userInput", "value", "description", "text", "title", "name")


def redact(text: str) -> str:
    """Replace what pages wrote with as many x: shape, lengths and ids stay."""

    def hidden(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: hidden(each, name) for name, each in value.items()}
        if isinstance(value, list):
            return [hidden(each, key) for each in value]
        return "x" * len(value) if isinstance(value, str) and key in PRIVATE else value

    return json.dumps(hidden(json.loads(text)))


def structure(snapshot: Snapshot) -> Any:
    return (
        snapshot.sequence,
        snapshot.link,
        snapshot.sessions,
        snapshot.blocked_calls,
        [
            (each.id, each.answerable, each.answering, each.why, each.closed_by, each.reason, each.deadline)
            for each in (*snapshot.pending_dialogs, *snapshot.recent_dialogs)
        ],
        [
            (
                each.target_id,
                each.url,
                each.health,
                each.stale,
                [(frame.frame_id, frame.url) for frame in each.frames()],
            )
            for each in snapshot.pages
        ],
    )


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_redacted_trace_replays(tmp_path: Path, name: str) -> None:
    acts, options = SCENARIOS[name]
    path = tmp_path / "t.jsonl"
    run = recorded_run.RecordedRun(path, SCRIPT, acts, writer_options={"redact": redact}, **options)
    replayed = list(replay(path, extensions=options.get("extensions", ())))
    assert list(map(structure, replayed)) == list(map(structure, run.snapshots))
    written = path.read_text()
    for private in ("Your name?", "guest", "thank you", "Ada", SECRET, "Are you sure?"):
        assert private not in written
        shown = json.dumps([each.to_dict(full=True) for each in replayed], default=str)
        assert private not in shown


def test_a_hook_that_fails_leaves_a_trace_that_can_be_read(tmp_path: Path) -> None:
    """The text on which the hook fails is not recorded: such an event is replayed without its params."""

    def failing(text: str) -> str:
        if "javascriptDialog" in text:
            raise ValueError
        return text

    acts, options = SCENARIOS["a dialog that is answered"]
    path = tmp_path / "t.jsonl"
    run = recorded_run.RecordedRun(path, SCRIPT, acts, writer_options={"redact": failing}, **options)
    assert run.written.counts.failed_redactions == 2
    assert len(list(replay(path))) > 10
    assert "Your name?" not in path.read_text()


def test_secrets_in_requests_are_not_written(tmp_path: Path) -> None:
    """Replies of the browser are not covered: the redaction hook is responsible for them."""
    acts = [
        OPENING,
        on_page(Call, method="Page.setBypassCSP", params={"enabled": SECRET, "deep": [{SECRET: SECRET}]}),
        RespondToDialog(action="accept", prompt_text=SECRET),
        SetPolicy(policy=Policy("auto_accept", prompt_text=SECRET)),
        SetPolicy(policy=Policy()),
    ]
    run = recorded_run.RecordedRun(tmp_path / "t.jsonl", SCRIPT, acts, policy=Policy(prompt_text=SECRET))
    sent = [each for each in run.fake.commands if each.method == "Page.setBypassCSP"]
    assert len(sent) == 1, "the command was sent, and its secret must not be written"
    assert SECRET not in (tmp_path / "t.jsonl").read_text()
    assert list(replay(tmp_path / "t.jsonl")) == run.snapshots


# ── files that are not such a trace ───────────────────────────────────────────────────────────────────────────────────


def test_a_trace_without_a_supervisor_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_browser_session(FakeTransport(FakeBrowser()), trace=tmp_path / "t.jsonl") as browser:
            await browser.send("Browser.getVersion")

    trio.run(main)
    with pytest.raises(InvalidArgument, match=r"holds no records of a supervisor; record one with open_supervisor"):
        replay(tmp_path / "t.jsonl")


def lines_with(path: Path, change: Callable[[list[Any]], None]) -> None:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    change(lines)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def spoilt(kind: str, field: str, value: Any = ..., *, where: str = "") -> Callable[[list[Any]], None]:
    def change(lines: list[Any]) -> None:
        line = next(
            line for line in lines if line["kind"] == kind and where in (line.get("type"), line.get("outcome"), "")
        )
        inner = line.get("question", line) if field in line.get("question", {}) else line
        assert field in inner
        if value is ...:
            del inner[field]
        else:
            inner[field] = value

    return change


def doubled(lines: list[Any]) -> None:
    lines.append(next(line for line in lines if line["kind"] == "supervisor"))


def without_a_message(lines: list[Any]) -> None:
    lines.remove(next(line for line in lines if line["kind"] == "in"))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (
            spoilt("supervisor", "policy", {"dialog_policy": "never"}),
            "options in the trace cannot be read: InvalidPolicy",
        ),
        (spoilt("supervisor", "policy", 5), "options in the trace"),
        (spoilt("supervisor", "scope"), "options in the trace"),
        (spoilt("supervisor", "limits", {"frames": 3}), "options in the trace"),
        (spoilt("supervisor", "keepalive", "soon"), "options in the trace"),
        (spoilt("supervisor", "machines"), "options in the trace"),
        (spoilt("input", "type", "Hearsay"), "An input in the trace"),
        (spoilt("input", "type", []), "An input in the trace"),
        (spoilt("input", "mono", "late"), "An input in the trace"),
        (spoilt("input", "wall"), "An input in the trace"),
        (spoilt("input", "epoch", "1"), "An input in the trace"),
        (spoilt("input", "owned", 1, where="LinkUp"), "An input in the trace"),
        (spoilt("input", "session_id", 7, where="SessionOpened"), "An input in the trace"),
        (spoilt("input", "ticket", "7", where="CommandEnded"), "An input in the trace"),
        (spoilt("input", "outcome", "Rumour", where="CommandEnded"), "An input in the trace"),
        (spoilt("input", "question", "what?", where="Ask"), "An input in the trace"),
        (spoilt("input", "method", 5, where="Ask"), "An input in the trace"),
        (spoilt("input", "ask_id", None, where="Ask"), "An input in the trace"),
        (doubled, "holds two supervisors"),
        (without_a_message, "The trace lacks the message of an input"),
    ],
)
def test_an_unreadable_record_is_refused_with_its_reason(
    tmp_path: Path, change: Callable[[list[Any]], None], complaint: str
) -> None:
    recorded_run.RecordedRun(tmp_path / "t.jsonl", SCRIPT, [OPENING, SetPolicy(policy=Policy())])
    lines_with(tmp_path / "t.jsonl", change)
    with pytest.raises(InvalidArgument, match=complaint):
        list(replay(tmp_path / "t.jsonl"))


def test_a_line_that_is_not_a_record_is_named(tmp_path: Path) -> None:
    recorded_run.RecordedRun(tmp_path / "t.jsonl", SCRIPT)
    lines = (tmp_path / "t.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "t.jsonl").write_bytes(b"".join([*lines[:6], b"{]\n", *lines[6:]]))
    with pytest.raises(InvalidArgument, match="Line 7 of the trace is not a JSON object"):
        list(replay(tmp_path / "t.jsonl"))


def test_the_extensions_of_the_run_must_be_given(tmp_path: Path) -> None:
    recorded_run.RecordedRun(tmp_path / "t.jsonl", SCRIPT, extensions=(Counting(), Failing()))
    with pytest.raises(InvalidArgument, match=r"had the extensions counting, failing, .*not none"):
        replay(tmp_path / "t.jsonl")
    with pytest.raises(InvalidArgument, match="not failing, counting"):
        replay(tmp_path / "t.jsonl", extensions=(Failing(), Counting()))


# ── any run ───────────────────────────────────────────────────────────────────────────────────────────────────────────

REQUESTS: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(["act()", "ask()", "1+1"]).map(evaluating),
    st.sampled_from(["accept", "dismiss", "x"]).map(lambda each: RespondToDialog(action=each)),
    st.sampled_from(["same_document", "navigate", "close"]).map(
        lambda remedy: lambda run: on_page(Recover, remedy=remedy)(run) if run.engine.snapshot().pages else None
    ),
    st.sampled_from(["auto_accept", "auto_dismiss", "must_respond"]).map(lambda each: SetPolicy(policy=Policy(each))),
    st.sampled_from([Cut(), Focus(), AwaitCall(call_id="c-1", timeout=2.0), Stop(timeout=1.0)]),
).map(
    lambda act: (
        lambda run: act(run) if callable(act) and run.engine.snapshot().pages else None if callable(act) else act
    )
)


def assert_replays(path: Path, *how: Any, **options: Any) -> None:
    """Assert that the run replays identically.

    Only the first difference is shown: comparing whole runs as texts takes minutes.
    """
    run = recorded_run.RecordedRun(path, *how, **options)
    replayed = list(replay(path))
    for one, other in zip(replayed, run.snapshots, strict=False):
        assert one == other
    assert len(replayed) == len(run.snapshots)


@given(script=scripts(max_steps=6), acts=st.lists(REQUESTS, max_size=5), seed=st.none() | st.integers(0, 99))
@settings(max_examples=settings.default.max_examples // 5 if settings.default else 30)
def test_any_run_replays(script: Script, acts: list[Any], seed: int | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert_replays(Path(folder, "t.jsonl"), script, acts, seed=seed)


@pytest.mark.parametrize(
    ("lost", "spoil"),
    [
        ("mono", lambda fields: fields | {"mono": 0.0}),
        ("wall", lambda fields: fields | {"wall": 0.0}),
        ("epoch", lambda fields: fields | {"epoch": 1}),
        ("jitter", lambda fields: fields | {"jitter": 1.0} if "jitter" in fields else fields),
        ("asks", lambda fields: {**fields, "type": "TimePassed"} if fields["type"] == "Ask" else fields),
        ("time", lambda fields: {**fields, "epoch": 9, "mono": 0.0} if fields["type"] == "TimePassed" else fields),
    ],
)
def test_the_law_fails_if_a_field_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str, spoil: Any
) -> None:
    read = recording._read
    monkeypatch.setattr(recording, "_read", lambda fields, text: read(spoil(fields), text))
    acts, options = SCENARIOS["a link that is cut while a dialog is open"]
    with pytest.raises(AssertionError):
        assert_replays(tmp_path / "t.jsonl", SCRIPT, acts, **options)


@pytest.mark.parametrize("kind", ["LinkDown", "SessionClosed", "CommandEnded", "BrowserEvent"])
def test_the_law_fails_if_inputs_are_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    read = recording._read
    lost = {"type": "TimePassed"}
    monkeypatch.setattr(
        recording, "_read", lambda fields, text: read(fields | lost if fields["type"] == kind else fields, text)
    )
    acts, options = SCENARIOS["a link that is cut while a dialog is open"]
    with pytest.raises(AssertionError):
        assert_replays(tmp_path / "t.jsonl", SCRIPT, acts, **options)


WORDS, SECONDS = st.text() | st.just("accept"), st.floats() | st.integers() | st.booleans()


@given(
    request=st.one_of(
        st.builds(RespondToDialog, action=WORDS, prompt_text=st.none() | WORDS, dialog_id=st.none() | WORDS),
        st.builds(Call, method=WORDS, frame_id=st.none() | WORDS, timeout=st.none() | SECONDS, when_blocked=WORDS),
        st.builds(AwaitCall, call_id=WORDS, timeout=SECONDS),
        st.builds(Recover, target_id=WORDS, remedy=WORDS),
        st.builds(Focus, target_id=WORDS),
        st.builds(Stop, timeout=SECONDS),
    )
)
@example(request=Call(method="Runtime.evaluate", timeout=math.nan))
@settings(max_examples=40)
def test_any_request_can_be_recorded(request: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert_replays(Path(folder, "t.jsonl"), SCRIPT, [request], horizon=1.0)


# ── on trio ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_run_on_trio_replays_identically(tmp_path: Path) -> None:
    snapshots: list[Snapshot] = []

    async def main() -> None:
        fake = FakeBrowser(SCRIPT)

        async def dial() -> FakeTransport:
            return FakeTransport(fake)

        with TraceWriter(tmp_path / "t.jsonl") as writer:
            async with open_supervisor(dial, trace=writer, extensions=[Counting()]) as supervisor:
                runner = supervisor._driver.runner
                begun = [runner.snapshot()]
                runner.watch(lambda state: snapshots.append(runner.view(state)))
                await supervisor.call("Page.navigate", {"url": SHOP})
                with pytest.raises(BlockedByDialog) as blocked:
                    await supervisor.evaluate("checkout()")
                await supervisor.respond_to_dialog("accept", prompt_text=SECRET)
                await blocked.value.call.wait()
                with pytest.raises(BlockedByDialog):
                    await supervisor.evaluate("checkout()")
                fake.cut()
                await supervisor.wait_for(
                    lambda found: found.link.generation > 1 and found.pages[0].session_id is not None
                )
                with trio.move_on_after(0.5):
                    await supervisor.call("Runtime.evaluate", {"expression": "1"}, timeout=None, when_blocked="wait")
                await supervisor.set_policy(Policy.unattended())
        replayed = list(replay(tmp_path / "t.jsonl", extensions=[Counting()]))
        assert replayed[-len(snapshots) :] == snapshots
        assert replayed[-len(snapshots) - 1] == begun[0]

    trio.run(main, clock=MockClock(autojump_threshold=0))
    assert len(snapshots) > 40


# ── stored runs ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_run_recorded_under_former_names_still_replays() -> None:
    """Names in code have changed, the records keep `Ask`, `AskDropped`, `epoch`, `cure` and `waiting`."""
    stored = Path(__file__).with_name("run_with_former_names.jsonl")
    snapshots = list(replay(stored))
    expected = json.loads(stored.with_suffix(".json").read_text())
    assert len(snapshots) == 26
    shown = without_sentences(json.loads(json.dumps(snapshots[-1].to_dict(full=True))))
    for page in shown["pages"]:
        assert page.pop("pending_url") == ""  # this field and the next are newer than the recording
        assert page.pop("title_at") > 0
    assert shown == expected


def without_sentences(shown: Any) -> Any:
    """Drop the sentences about health, which are prose; every other value is data."""
    if isinstance(shown, dict):
        return {key: without_sentences(each) for key, each in shown.items() if key != "why" or "state" not in shown}
    return [without_sentences(each) for each in shown] if isinstance(shown, list) else shown
