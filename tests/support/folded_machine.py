"""A fold over `step` for short stories: each method feeds one thing that happens.

The session on target `P` is called `s-P`. All effects are kept. After each step two laws are checked: a request is
answered at most once, and the next deadline is later than now.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from cdp_core.sansio.messages import Event, Refusal, Result, SessionId, TargetId, decode
from cdp_core.sansio.outcomes import Loss
from cdp_supervisor.sansio.changes import Change
from cdp_supervisor.sansio.deadlines import entries
from cdp_supervisor.sansio.dialog_view import DialogView
from cdp_supervisor.sansio.effects import Answer, Effect, Note, Publish, Send
from cdp_supervisor.sansio.inputs import (
    BrowserEvent,
    CommandEnded,
    Input,
    Instant,
    LinkDown,
    LinkUp,
    RequestCancelled,
    RequestReceived,
    SessionClosed,
    SessionOpened,
    TimePassed,
)
from cdp_supervisor.sansio.requests import Call, Request, RespondToDialog
from cdp_supervisor.sansio.state import Dialog, Page, initial_state
from cdp_supervisor.sansio.step import next_deadline, step
from cdp_supervisor.sansio.view import Snapshot, snapshot

WALL = 1_700_000_000.0
NONE_SHOWING, NOT_ACTIVE = -32602, -32000


class Fold:
    """A state, the effects so far, and a method for each thing that can happen."""

    def __init__(self, **options: Any) -> None:
        self.state = initial_state(**{"keepalive": None, **options})
        self.now = 0.0
        self.last: tuple[Effect, ...] = ()
        """The effects of the last input."""
        self.orders: list[Effect] = []
        self.answers: dict[int, Answer] = {}
        self.asked = 0

    # ── inputs ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def at(self) -> Instant:
        return Instant(mono=self.now, wall=WALL + self.now)

    def feed(self, input: Input) -> Fold:
        made = step(self.state, input)
        self.state, self.last = made.state, made.effects
        self.orders += made.effects
        for each in made.effects:
            if isinstance(each, Answer):
                assert each.request_id not in self.answers, "a request was answered twice"
                self.answers[each.request_id] = each
        deadline = next_deadline(self.state)
        assert deadline is None or deadline.at > self.state.now
        return self

    def _fed(self, kind: Any, **fields: Any) -> Fold:
        return self.feed(kind(**{"at": self.at, "generation": self.state.generation, **fields}))

    def up(self, **fields: Any) -> Fold:
        return self._fed(LinkUp, **fields)

    def lists(self, *targets: str) -> Fold:
        """Answer the last `Target.getTargets` with these pages."""
        return self.reply(
            "Target.getTargets", {"targetInfos": [{"targetId": each, "type": "page"} for each in targets]}
        )

    def down(self, **fields: Any) -> Fold:
        return self._fed(LinkDown, **{"reason": "cut", **fields})

    def opens(self, target: str, type: str = "page", **fields: Any) -> str:
        """Open a session, without its `Target.attachedToTarget` yet; return its id."""
        session = fields.pop("session", f"s-{target}")
        self._fed(SessionOpened, session_id=SessionId(session), target_id=TargetId(target), target_type=type, **fields)
        return session

    def attach(self, target: str, type: str = "page", *, of: str | None = None, session: str = "", **info: Any) -> str:
        """Open a session below the session `of`, with its `Target.attachedToTarget`; return its id."""
        made = self.opens(target, type, session=session or f"s-{target}", parent=of)
        shown = {"targetId": target, "type": type, **info}
        self.event("Target.attachedToTarget", on=of, sessionId=made, targetInfo=shown, waitingForDebugger=False)
        return made

    def detach(self, session: str, reason: str = "detached") -> Fold:
        return self._fed(SessionClosed, session_id=SessionId(session), reason=reason)

    def event(self, method: str, on: str | None = None, **params: Any) -> Fold:
        """Feed an event of the browser on a session."""
        return self._fed(BrowserEvent, event=event_of(method, params, on))

    def ends(self, ticket: int, outcome: Any) -> Fold:
        return self._fed(CommandEnded, ticket=ticket, outcome=outcome)

    def reply(self, method: str, result: Any = None, *, on: str | None = None) -> Fold:
        """Answer the last command of this method, on this session if one is given."""
        return self.ends(self.sent(method, on=on).ticket, result_of(result or {}))

    def refuse(self, method: str, code: int = -32000, *, on: str | None = None) -> Fold:
        return self.ends(self.sent(method, on=on).ticket, Refusal(id=1, code=code, message="no"))

    def lose(self, method: str, reason: str = "detached") -> Fold:
        """End the last command of this method with the loss of its session."""
        return self.ends(self.sent(method).ticket, Loss(kind="session", reason=reason, detail="The session ended."))

    def passes(self, seconds: float) -> Fold:
        self.now += seconds
        return self._fed(TimePassed)

    # ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def ask(self, request: Request) -> int:
        self.asked += 1
        self._fed(RequestReceived, request_id=self.asked, request=request)
        return self.asked

    def drops(self, request_id: int) -> Fold:
        return self._fed(RequestCancelled, request_id=request_id)

    def respond(self, action: str = "accept", **named: Any) -> int:
        return self.ask(RespondToDialog(action=action, **named))

    def error(self, request_id: int) -> str:
        """Return the name of the error that answered a request; empty if it has no answer or got a value."""
        answer = self.answers.get(request_id)
        return "" if answer is None or answer.error is None else type(answer.error).__name__

    # ── dialogs ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def opening(self, frame: str = "P", *, type: str = "confirm", native: bool = True, **params: Any) -> str:
        """Open a dialog of a frame of page `P`; return the dialog's id."""
        named = {"frameId": frame, "type": type, "hasBrowserHandler": native, **params}
        self.event("Page.javascriptDialogOpening", on="s-P", **named)
        return f"d-{self.state.last_dialog}"

    def closing(self, frame: str = "P", **params: Any) -> Fold:
        return self.event("Page.javascriptDialogClosed", on="s-P", frameId=frame, **{"result": False, **params})

    def dialog(self, dialog_id: str) -> Dialog:
        """Return a dialog of the state, over or not."""
        kept = [each for page in self.state.pages.values() for each in (*page.dialogs, *page.recent)]
        return next(each for each in (*kept, *self.state.departed) if each.id == dialog_id)

    def end_of(self, dialog_id: str) -> tuple[str, str]:
        """Return `closed_by` and `reason` of a dialog."""
        dialog = self.dialog(dialog_id)
        return dialog.closed_by, dialog.reason

    # ── results ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def sent(self, method: str, *, on: str | None = None) -> Send:
        """Return the last command of this method, on this session if one is given."""
        return self.all_sent(method, on=on)[-1]

    def all_sent(self, method: str, *, on: str | None = None) -> list[Send]:
        sends = [each for each in self.orders if isinstance(each, Send) and each.method == method]
        return [each for each in sends if on is None or each.session_id == on]

    def reported(self, kind: type[Change]) -> list[Any]:
        """Return the published changes of one kind."""
        return [each.change for each in self.orders if isinstance(each, Publish) and isinstance(each.change, kind)]

    def notes(self) -> list[str]:
        return [each.text for each in self.orders if isinstance(each, Note)]

    def count(self, what: str) -> int:
        return self.state.totals.get(what, 0)

    def page(self, target: str = "P") -> Page:
        return self.state.pages[TargetId(target)]

    def shown(self) -> Snapshot:
        return snapshot(self.state)

    def health(self, target: str = "P") -> str:
        page = self.shown().page(target)
        assert page is not None
        return page.health.state

    def pending(self) -> tuple[DialogView, ...]:
        return self.shown().pending_dialogs

    def tree(self, target: str = "P") -> dict[str, Any]:
        """Return the frame tree of a page in the snapshot, as nested dictionaries by id."""
        page = self.shown().page(target)
        assert page is not None
        made: dict[str, Any] = {}
        for frame in page.frames():
            made[frame.frame_id] = {}
            if frame.parent_frame_id in made:
                made[frame.parent_frame_id][frame.frame_id] = made[frame.frame_id]
        return {} if page.tree is None else {page.tree.frame_id: made[page.tree.frame_id]}

    def deadline_reasons(self) -> list[str]:
        """Return the reasons of all deadlines, the next one first."""
        return [why for _, _, why in tuple(entries(self.state.deadlines))]


def on_a_page(**options: Any) -> Fold:
    """Return a fold with a link and a session on page `P`."""
    fold = Fold(**options).up()
    fold.attach("P", url="http://a/")
    return fold


def with_tree(*nodes: str, **options: Any) -> Fold:
    """Return the same with a frame tree: `"A"` is a child of the main frame, `"A/B"` a child of A."""
    fold = on_a_page(**options)
    return fold.reply("Page.getFrameTree", {"frameTree": tree_of("P", *nodes)}, on="s-P")


def leaving_page(*, navigating: bool) -> Fold:
    """Return a silent page that shows another address than it leaves for (fact 64)."""
    fold = Fold().up()
    fold.attach("P", url="http://a/there")
    if navigating:
        fold.event(
            *("Page.frameStartedNavigating", "s-P"),
            frameId="P",
            loaderId="l",
            navigationType="differentDocument",
            url="http://a/there",
        )
    fold.passes(3.0)
    return fold.reply("Page.getNavigationHistory", {"entries": [{"url": "http://a/here"}], "currentIndex": 0})


def call(fold: Fold, method: str = "Runtime.evaluate", **named: Any) -> int:
    """Make a call; return its request id."""
    return fold.ask(Call(method=method, **named))


def error_of(fold: Fold, request_id: int) -> Any:
    """Return the error that answered a request."""
    return fold.answers[request_id].error


def tree_of(top: str, *nodes: str) -> dict[str, Any]:
    """Return the frame tree of a `Page.getFrameTree` result; each node is a path below the top."""
    made: dict[str, Any] = {top: {"frame": {"id": top, "url": f"http://{top}/"}}}
    for path in nodes:
        parent, _, name = ("/" + path).rpartition("/")
        above = parent.rpartition("/")[2] or top
        made[name] = {"frame": {"id": name, "parentId": above, "url": f"http://{name}/"}}
        made[above].setdefault("childFrames", []).append(made[name])
    return made[top]


def event_of(method: str, params: Any, session: str | None) -> Event:
    """Return an event as the transport delivers it."""
    made = decode(
        json.dumps({"method": method, "params": params, **({"sessionId": session} if session else {})}).encode()
    )
    assert isinstance(made, Event)
    return made


def result_of(value: Any) -> Result:
    made = decode(json.dumps({"id": 1, "result": value}).encode())
    assert isinstance(made, Result)
    return made


# ── extensions ───────────────────────────────────────────────────────────────────────────────────────────────────────

LOG = "Log.entryAdded"
Rule = Callable[[Any, Input], tuple[Any, Iterable[Effect]]]


def keeping(state: Any, input: Input) -> tuple[Any, Iterable[Effect]]:
    """The rule of an extension that collects its inputs."""
    return (*state, input), ()


class SampleExtension:
    """An extension with the rule of a test; its deadline is `wants`, which the test may change."""

    def __init__(
        self, rule: Rule = keeping, *, events: Iterable[str] = (), name: str = "example", wants: float | None = None
    ) -> None:
        self.name, self.events, self.rule, self.wants = name, frozenset(events), rule, wants

    def initial(self) -> Any:
        return ()

    def step(self, state: Any, input: Input) -> tuple[Any, Iterable[Effect]]:
        return self.rule(state, input)

    def next_deadline(self, _state: Any) -> float | None:
        return self.wants

    def view(self, state: Any) -> Any:
        return {"fed": len(state)}


class Keeper(SampleExtension):
    """An extension that folds events; it raises on the text `fatal`."""

    def __init__(self, *, events: Iterable[str] = (LOG,), name: str = "keeper", ignores: str = "") -> None:
        super().__init__(self.taken, events=events, name=name)
        self.ignores = ignores

    def taken(self, state: Any, input: Input) -> tuple[Any, Iterable[Effect]]:
        return (self.fold(state, [input]) if isinstance(input, BrowserEvent) else state), ()

    def fold(self, state: Any, inputs: Iterable[BrowserEvent]) -> Any:
        for each in inputs:
            text = each.event.params.get("text", "")
            if text == "fatal":
                raise KeyError(text)
            state = state if text == self.ignores else (*state, text)
        return state


def lines(fold: Any, *texts: str, method: str = LOG) -> list[BrowserEvent]:
    events = [event_of(method, {"text": text}, "s-P") for text in texts]
    return [BrowserEvent(at=fold.at, generation=1, event=each) for each in events]
