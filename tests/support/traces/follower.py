"""Feeds each link of a recorded trace to a state machine of its own.

The state machine did not send the recorded commands. The observer (`observer.py`) yields the router's outputs. Here
they become inputs with the times of the records, and a `TimePassed` is fed at every deadline in between. The commands
of the state machine are collected and never sent:

* If the recorded client answers a dialog and the state machine has one open on that page, the answer becomes a
  request (`RespondToDialog`). The state machine's command then is the recorded one and ends with the recorded reply.
  An answer is foreign if it is malformed, if no dialog is open, or if its session cannot answer (the session of a
  frame, or one without `Page.enable`: facts 2, 14).
* A recorded command with the method and session of a collected command counts as that command.
* Every other recorded command is foreign, and a collected command without a recorded one stays unanswered.

`X2` after the end of `X` is the same client after a reconnect: with `joined` its link is the next generation of the
same state machine.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import attrs

from cdp_core.sansio.messages import Event, Refusal, Result
from cdp_core.sansio.router import CommandDone, Output, SessionClosed, SessionOpened
from cdp_core.sansio.trace import LinkRecord, MessageRecord, TraceRecord
from cdp_supervisor.performing import session_input
from cdp_supervisor.runner import Runner
from cdp_supervisor.sansio import inputs
from cdp_supervisor.sansio.console import ConsoleRing
from cdp_supervisor.sansio.effects import Answer, Dial, Effect, Forget, Send
from cdp_supervisor.sansio.inputs import Instant
from cdp_supervisor.sansio.options import Limits, Reconnect
from cdp_supervisor.sansio.requests import RespondToDialog
from cdp_supervisor.sansio.state import State, initial_state
from cdp_supervisor.sansio.step import next_deadline, used_events
from support.traces import observer

LONG_WORD = re.compile(rb'"([0-9A-Za-z-]{16,64})"')
A_URL = re.compile(rb'"url":\s*"((?:[^"\\\\]|\\\\.)*)"')
ANSWER = "Page.handleJavaScriptDialog"
NONE_SHOWING = -32602
AT_ONCE = Reconnect(first=1e-6, factor=1.0, most=1e-6, budget=1_000)
"""Practically no wait: the trace decides when the next link is up."""
BEGINNING = Instant(mono=0.0)
ALL_KEPT = Limits(recent_dialogs=1_000)
"""Every dialog of a trace is judged, not only the last ones."""


@attrs.frozen
class SentCommand:
    """A command of the recorded client."""

    id: int
    session: str | None
    method: str
    params: dict[str, Any]


@attrs.define(kw_only=True)
class Follower(observer.Observer):
    """One link of a trace, and the state machine that it is fed to."""

    name: str
    now: Instant = BEGINNING
    runner: Runner = attrs.field(init=False)
    wanted: frozenset[str] = frozenset()
    log: list[tuple[int, Output | SentCommand]] = attrs.field(factory=list)
    """The commands and outputs of both sides, each with the number of its record."""
    unmatched: list[Send] = attrs.field(factory=list)
    """Commands of the state machine that no recorded command matched so far."""
    ticket_of: dict[int, int] = attrs.field(factory=dict)
    answer_counts: Counter[int] = attrs.field(factory=Counter)
    """How often each request was answered, by request id."""
    impossible_answers: list[SentCommand] = attrs.field(factory=list)
    """Recorded answers on pages with `Page.enable`, but without an open dialog in the state."""
    accepted_impossible: list[str] = attrs.field(factory=list)
    dialog_of: dict[int, str] = attrs.field(factory=dict)
    """Id of a recorded answer → id of its dialog."""
    wrongly_answerable: list[str] = attrs.field(factory=list)
    enabled: set[str] = attrs.field(factory=set)
    shown_unanswerable: set[str] = attrs.field(factory=set)
    bound_trees: set[int] = attrs.field(factory=set)
    """Recorded commands with a frame tree that was fed to the state machine."""
    lost_at: int | None = None
    states: list[State] = attrs.field(factory=list)
    """Every published state."""
    before_loss: State | None = None
    named: set[bytes] = attrs.field(factory=set)
    """Ids in the browser's messages, and other long words."""
    urls: set[bytes] = attrs.field(factory=set)
    """URLs as they are encoded in the messages."""
    times: dict[int, float] = attrs.field(factory=dict)
    """Number of a record → its time."""
    records: int = 0
    """Number of records in the whole trace."""

    def __attrs_post_init__(self) -> None:
        state = initial_state(
            adopting=True, keepalive=None, reconnect=AT_ONCE, limits=ALL_KEPT, extensions=(ConsoleRing(),)
        )
        self.wanted = used_events(state)
        self.runner = Runner(state, self.perform)
        self.runner.watch(self.look)

    @property
    def state(self) -> State:
        return self.runner.state

    # ── records ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def opened(self, at: float) -> None:
        """Feed the start of the link."""
        self.pass_time(at)
        self.lost_at = None
        self.feed(inputs.LinkUp(at=self.now, generation=self.state.generation))

    def reconnected(self) -> None:
        """Prepare for the next link of the same client."""
        self.router = observer.AdoptingRouter()
        self.ticket_of.clear()
        self.unmatched.clear()
        self.enabled.clear()

    def sent(self, place: int, record: MessageRecord) -> None:
        self.pass_time(record.t)
        self.times[place] = record.t
        super().sent(place, record)
        if not self.adopted or self.adopted[-1].place != place:
            return
        params = json.loads(record.text).get("params")
        adopted = self.adopted[-1]
        command = SentCommand(adopted.id, adopted.session, adopted.method, params if isinstance(params, dict) else {})
        self.log.append((place, command))
        if command.method == ANSWER:
            self.respond(command)
        else:
            self.match_command(command)

    def received(self, place: int, record: MessageRecord) -> None:
        self.pass_time(record.t)
        self.times[place] = record.t
        self.named.update(LONG_WORD.findall(record.text))
        self.urls.update(A_URL.findall(record.text))
        super().received(place, record)

    def lost(self, place: int, record: LinkRecord) -> None:
        self.pass_time(record.t)
        self.before_loss = self.state
        super().lost(place, record)
        self.lost_at = place
        self.feed(inputs.LinkDown(at=self.now, generation=self.state.generation, reason=record.reason or "closed"))

    def take(self, place: int, outputs: Iterable[Output]) -> None:
        outputs = tuple(outputs)
        super().take(place, outputs)
        for output in outputs:
            self.log.append((place, output))
            self.feed_output(output)

    def feed_output(self, output: Output) -> None:
        """Feed an output of the router as engine.py does."""
        generation = self.state.generation
        if isinstance(output, Event):
            if output.method in self.wanted:
                self.feed(inputs.BrowserEvent(at=self.now, generation=generation, event=output))
        elif isinstance(output, (SessionOpened, SessionClosed)):
            self.feed(session_input(output, self.now, generation))
        elif isinstance(output, CommandDone):
            self.note_reply(output)
            ticket = self.ticket_of.pop(output.id, None)
            if ticket is not None:
                self.feed(
                    inputs.CommandEnded(at=self.now, generation=generation, ticket=ticket, outcome=output.outcome)
                )

    # ── the recorded commands ────────────────────────────────────────────────────────────────────────────────────────

    def match_command(self, command: SentCommand) -> None:
        for send in self.unmatched:
            if (send.method, send.session_id) == (command.method, command.session):
                self.unmatched.remove(send)
                self.ticket_of[command.id] = send.ticket
                if command.method == "Page.getFrameTree":
                    self.bound_trees.add(command.id)
                return

    def respond(self, command: SentCommand) -> None:
        accept, prompt_text = command.params.get("accept"), command.params.get("promptText")
        attachment = self.state.sessions.get(command.session)
        page = None if attachment is None else self.state.pages.get(attachment.target_id)
        if page is None or type(accept) is not bool or command.session not in self.enabled:
            return
        dialog = next((each for each in reversed(page.dialogs) if each.phase == "open"), None)
        if dialog is None:
            if page.session_id in self.enabled and not any(each.why == "orphaned" for each in page.dialogs):
                self.impossible_answers.append(command)
            return
        request = RespondToDialog(
            action="accept" if accept else "dismiss",
            prompt_text=prompt_text if dialog.type == "prompt" and isinstance(prompt_text, str) else None,
            dialog_id=dialog.id,
        )
        self.answer_counts[command.id] += 0
        self.feed(
            inputs.RequestReceived(
                at=self.now, generation=self.state.generation, request_id=command.id, request=request
            )
        )
        send = self.unmatched.pop()
        assert send.method == ANSWER, send
        self.ticket_of[command.id] = send.ticket
        self.dialog_of[command.id] = dialog.id

    def note_reply(self, done: CommandDone) -> None:
        dialog_id = self.dialog_of.pop(done.id, "")
        if isinstance(done.outcome, Refusal) and done.outcome.code == NONE_SHOWING:
            pages = self.state.pages.values()
            answering = {each.id for page in pages for each in page.dialogs if each.phase == "answering"}
            self.wrongly_answerable += answering & {dialog_id}  # no closed event came since the answer
        if not isinstance(done.outcome, Result) or done.session_id is None:
            return
        if done.method == "Page.enable":
            self.enabled.add(done.session_id)
        elif done.method == "Page.disable":
            self.enabled.discard(done.session_id)
        elif any(each.id == done.id for each in self.impossible_answers):
            self.accepted_impossible.append(f"command {done.id}")

    # ── the state machine ────────────────────────────────────────────────────────────────────────────────────────────

    def pass_time(self, to: float) -> None:
        """Feed a `TimePassed` at each deadline up to this time, then set the time."""
        for _ in range(1_000):
            deadline = self.runner.deadline()
            if deadline is None or deadline.at > to:
                break
            self.now = Instant(mono=deadline.at, wall=deadline.at)
            self.feed(inputs.TimePassed(at=self.now, generation=self.state.generation))
        else:
            raise AssertionError(f"deadlines without end: {self.runner.deadline()}")
        self.now = Instant(mono=to, wall=to)

    def feed(self, next_input: inputs.Input) -> None:
        self.runner.feed(next_input)

    def perform(self, effect: Effect) -> None:
        if isinstance(effect, Send):
            if effect.ticket:
                self.unmatched.append(effect)
        elif isinstance(effect, Forget):
            self.unmatched = [each for each in self.unmatched if each.ticket != effect.ticket]
            self.ticket_of = {key: each for key, each in self.ticket_of.items() if each != effect.ticket}
        elif isinstance(effect, Answer):
            self.answer_counts[effect.request_id] += 1
        elif isinstance(effect, Dial):
            assert effect.generation == self.state.generation

    def look(self, state: State) -> None:
        """Check and keep each published state."""
        deadline = next_deadline(state)
        assert deadline is None or deadline.at > state.now, deadline
        self.states.append(state)
        for target_id in set(state.dialog_on.values()):
            self.shown_unanswerable |= {
                each.id for each in state.pages[target_id].dialogs if each.phase == "unanswerable"
            }


Seen = Callable[[int, Follower], None]


def follow(records: Iterable[TraceRecord], *, joined: bool = False, after: Seen | None = None) -> dict[str, Follower]:
    """Return a follower of each link of a trace, by name; call `after` with the link after each record."""
    runs: Counter[str] = Counter()
    links: dict[str, Follower] = {}
    name_of: dict[str, str] = {}

    def begin(conn: str, at: float) -> Follower:
        runs[conn] += 1
        name = conn if runs[conn] == 1 else f"{conn} (run {runs[conn]})"
        before = links.get(conn[:-1]) if joined and conn.endswith("2") else None
        if before is not None and before.lost_at is not None:
            name = conn[:-1]
            before.reconnected()
        else:
            links[name] = Follower(name=name)
        name_of[conn] = name
        links[name].opened(at)
        return links[name]

    place = 0
    for place, record in enumerate(records, 1):
        if not isinstance(record, (LinkRecord, MessageRecord)):
            continue
        if isinstance(record, LinkRecord) and record.event == "open":
            link = begin(record.conn, record.t)
        else:
            link = links[name_of[record.conn]] if record.conn in name_of else begin(record.conn, record.t)
            if isinstance(record, LinkRecord):
                link.lost(place, record)
            else:
                (link.sent if record.direction == "out" else link.received)(place, record)
        if after is not None:
            after(place, link)
    for link in links.values():
        link.records = place
    return links
