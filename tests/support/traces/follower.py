"""A machine for each link of a recorded trace, fed as if it had been there: the client's commands are not its own.

The observer (`observer.py`) gives the router's outputs; here they become inputs, with the times of the records,
and a `TimePassed` at every deadline in between. What the machine orders is collected and never sent, but:

* An answer of the recorded client to a dialog is asked of the machine (`RespondToDialog`), where it holds one open on
  that page: its order is then the recorded command, and ends with the recorded reply. A malformed one, one on a session
  that cannot answer (a frame's, or without `Page.enable`: facts 2, 14), one where no dialog is open: these are foreign.
* A recorded command that is what the machine ordered (same method, same session) is taken for its order.
* Every other command is foreign, and an order that nobody sent stays unanswered.

`X2` after the end of `X` is the same client come back: with `joined` its link is the next epoch of the same machine.
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
from cdp_supervisor.runner import Runner
from cdp_supervisor.sansio import inputs
from cdp_supervisor.sansio.console import ConsoleRing
from cdp_supervisor.sansio.effects import Answer, Dial, Effect, Forget, Send
from cdp_supervisor.sansio.inputs import Instant
from cdp_supervisor.sansio.options import Limits, Reconnect
from cdp_supervisor.sansio.requests import RespondToDialog
from cdp_supervisor.sansio.state import State, initial_state
from cdp_supervisor.sansio.step import next_deadline, used_events
from cdp_supervisor.translation import closed_input, opened_input
from support.traces import observer

LONG_WORD = re.compile(rb'"([0-9A-Za-z-]{16,64})"')
A_URL = re.compile(rb'"url":\s*"((?:[^"\\\\]|\\\\.)*)"')
ANSWER = "Page.handleJavaScriptDialog"
NONE_SHOWING = -32602
AT_ONCE = Reconnect(first=1e-6, factor=1.0, most=1e-6, budget=1_000)
"""The next link of a trace is there whenever its client made it."""
BEGINNING = Instant(mono=0.0)
ALL_KEPT = Limits(recent_dialogs=1_000)
"""Whatever a trace tells of is judged, not only the last of it."""


@attrs.frozen
class Said:
    """A command of the recorded client."""

    id: int
    session: str | None
    method: str
    params: dict[str, Any]


@attrs.define(kw_only=True)
class Follower(observer.Observer):
    """One link of a trace, and its machine."""

    name: str
    now: Instant = BEGINNING
    runner: Runner = attrs.field(init=False)
    wanted: frozenset[str] = frozenset()
    log: list[tuple[int, Output | Said]] = attrs.field(factory=list)
    """With the number of its record, what was said on either side."""
    orders: list[Send] = attrs.field(factory=list)
    """Not taken for a recorded command."""
    ticket_of: dict[int, int] = attrs.field(factory=dict)
    asks: Counter[int] = attrs.field(factory=Counter)
    """How often each was answered."""
    held_impossible: list[Said] = attrs.field(factory=list)
    """Answers that the machine would not have given: it listens, and no dialog was open to it."""
    taken_all_the_same: list[str] = attrs.field(factory=list)
    dialog_of: dict[int, str] = attrs.field(factory=dict)
    """What each answer was to."""
    offered_in_vain: list[str] = attrs.field(factory=list)
    enabled: set[str] = attrs.field(factory=set)
    shown_unanswerable: set[str] = attrs.field(factory=set)
    bound_trees: set[int] = attrs.field(factory=set)
    """Recorded commands whose frame tree the machine got."""
    lost_at: int | None = None
    states: list[State] = attrs.field(factory=list)
    """Each that was published."""
    before_loss: State | None = None
    named: set[bytes] = attrs.field(factory=set)
    """Ids that the browser has named, and other long words."""
    urls: set[bytes] = attrs.field(factory=set)
    """As they stand in the messages."""
    times: dict[int, float] = attrs.field(factory=dict)
    """Of the records, by their numbers."""
    records: int = 0
    """Of the whole trace."""

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

    # ── what the trace tells ─────────────────────────────────────────────────────────────────────────────────────────

    def opened(self, at: float) -> None:
        """The link is there."""
        self.pass_time(at)
        self.lost_at = None
        self.feed(inputs.LinkUp(at=self.now, generation=self.state.generation))

    def again(self) -> None:
        """The client of this link has made another one."""
        self.router = observer.AdoptingRouter()
        self.ticket_of.clear()
        self.orders.clear()
        self.enabled.clear()

    def sent(self, place: int, record: MessageRecord) -> None:
        self.pass_time(record.t)
        self.times[place] = record.t
        super().sent(place, record)
        if not self.adopted or self.adopted[-1].place != place:
            return
        params = json.loads(record.text).get("params")
        adopted = self.adopted[-1]
        said = Said(adopted.id, adopted.session, adopted.method, params if isinstance(params, dict) else {})
        self.log.append((place, said))
        if said.method == ANSWER:
            self.respond(said)
        else:
            self.take_for_an_order(said)

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
        """As engine.py does it."""
        generation = self.state.generation
        if isinstance(output, Event):
            if output.method in self.wanted:
                self.feed(inputs.BrowserEvent(at=self.now, generation=generation, event=output))
        elif isinstance(output, SessionOpened):
            self.feed(opened_input(output, self.now, generation))
        elif isinstance(output, SessionClosed):
            self.feed(closed_input(output, self.now, generation))
        elif isinstance(output, CommandDone):
            self.note_reply(output)
            ticket = self.ticket_of.pop(output.id, None)
            if ticket is not None:
                self.feed(
                    inputs.CommandEnded(at=self.now, generation=generation, ticket=ticket, outcome=output.outcome)
                )

    # ── the recorded commands ────────────────────────────────────────────────────────────────────────────────────────

    def take_for_an_order(self, said: Said) -> None:
        for order in self.orders:
            if (order.method, order.session_id) == (said.method, said.session):
                self.orders.remove(order)
                self.ticket_of[said.id] = order.ticket
                if said.method == "Page.getFrameTree":
                    self.bound_trees.add(said.id)
                return

    def respond(self, said: Said) -> None:
        accept, prompt_text = said.params.get("accept"), said.params.get("promptText")
        attachment = self.state.sessions.get(said.session)
        page = None if attachment is None else self.state.pages.get(attachment.target_id)
        if page is None or type(accept) is not bool or said.session not in self.enabled:
            return
        dialog = next((each for each in reversed(page.dialogs) if each.phase == "open"), None)
        if dialog is None:
            if page.session_id in self.enabled and not any(each.why == "orphaned" for each in page.dialogs):
                self.held_impossible.append(said)
            return
        question = RespondToDialog(
            action="accept" if accept else "dismiss",
            prompt_text=prompt_text if dialog.type == "prompt" and isinstance(prompt_text, str) else None,
            dialog_id=dialog.id,
        )
        self.asks[said.id] += 0
        self.feed(
            inputs.RequestReceived(at=self.now, generation=self.state.generation, request_id=said.id, request=question)
        )
        order = self.orders.pop()
        assert order.method == ANSWER, order
        self.ticket_of[said.id] = order.ticket
        self.dialog_of[said.id] = dialog.id

    def note_reply(self, done: CommandDone) -> None:
        dialog_id = self.dialog_of.pop(done.id, "")
        if isinstance(done.outcome, Refusal) and done.outcome.code == NONE_SHOWING:
            pages = self.state.pages.values()
            answering = {each.id for page in pages for each in page.dialogs if each.phase == "answering"}
            self.offered_in_vain += answering & {dialog_id}  # no closed event has told of it meanwhile
        if not isinstance(done.outcome, Result) or done.session_id is None:
            return
        if done.method == "Page.enable":
            self.enabled.add(done.session_id)
        elif done.method == "Page.disable":
            self.enabled.discard(done.session_id)
        elif any(each.id == done.id for each in self.held_impossible):
            self.taken_all_the_same.append(f"command {done.id}")

    # ── the machine ──────────────────────────────────────────────────────────────────────────────────────────────────

    def pass_time(self, to: float) -> None:
        """Every deadline up to then, at its own moment."""
        for _ in range(1_000):
            deadline = self.runner.deadline()
            if deadline is None or deadline.at > to:
                break
            self.now = Instant(mono=deadline.at, wall=deadline.at)
            self.feed(inputs.TimePassed(at=self.now, generation=self.state.generation))
        else:
            raise AssertionError(f"deadlines without end: {self.runner.deadline()}")
        self.now = Instant(mono=to, wall=to)

    def feed(self, given: inputs.Input) -> None:
        self.runner.feed(given)

    def perform(self, effect: Effect) -> None:
        if isinstance(effect, Send):
            if effect.ticket:
                self.orders.append(effect)
        elif isinstance(effect, Forget):
            self.orders = [each for each in self.orders if each.ticket != effect.ticket]
            self.ticket_of = {key: each for key, each in self.ticket_of.items() if each != effect.ticket}
        elif isinstance(effect, Answer):
            self.asks[effect.request_id] += 1
        elif isinstance(effect, Dial):
            assert effect.generation == self.state.generation

    def look(self, state: State) -> None:
        """Every state that is published."""
        deadline = next_deadline(state)
        assert deadline is None or deadline.at > state.now, deadline
        self.states.append(state)
        for target_id in set(state.dialog_on.values()):
            self.shown_unanswerable |= {
                each.id for each in state.pages[target_id].dialogs if each.phase == "unanswerable"
            }


Seen = Callable[[int, Follower], None]


def follow(records: Iterable[TraceRecord], *, joined: bool = False, after: Seen | None = None) -> dict[str, Follower]:
    """Each link of a trace, by its name; `after` is called after each record, with the link that it is of."""
    runs: Counter[str] = Counter()
    links: dict[str, Follower] = {}
    name_of: dict[str, str] = {}

    def begin(conn: str, at: float) -> Follower:
        runs[conn] += 1
        name = conn if runs[conn] == 1 else f"{conn} (run {runs[conn]})"
        before = links.get(conn[:-1]) if joined and conn.endswith("2") else None
        if before is not None and before.lost_at is not None:
            name = conn[:-1]
            before.again()
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
