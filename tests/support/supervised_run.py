"""A supervisor on a fake browser without an event loop: a pump around `SupervisorEngine`.

The engine is the pump's client on one link after the other. When the browser loses a link, the pump reports it to the
engine, and when the engine wants a link, the pump joins a new client. The pump also owns the time: it advances to the
next moment at which the browser or the engine has something to do, up to a `horizon`. Requests are turns, too, so a
recorded schedule gives the same run again.
"""

from __future__ import annotations

import json
import math
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any

import attrs

from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.fake.truth import TrueDialog, Truth
from cdp_core.testing.schedules import Advance, Ask, Turn
from cdp_core.testing.simulation import Pump, Run
from cdp_core.testing.steps import Script
from cdp_supervisor.engine import SupervisorEngine
from cdp_supervisor.sansio.changes import DialogClosed
from cdp_supervisor.sansio.effects import Answer, Effect
from cdp_supervisor.sansio.frames import context_of
from cdp_supervisor.sansio.inputs import Input, Instant
from cdp_supervisor.sansio.options import Policy, Reconnect
from cdp_supervisor.sansio.requests import AwaitCall, Call, Focus, Recover, Request, RespondToDialog, SetPolicy, Stop
from cdp_supervisor.sansio.state import Dialog

Json = dict[str, Any]
SOON = 60.0
"""Seconds of a run; longer than every deadline of the state machine except those of dialogs."""
EPOCH = 1_700_000_000.0


# ── the supervisor ───────────────────────────────────────────────────────────────────────────────────────────────────


@attrs.define(kw_only=True)
class DeliveredOpening:
    """A dialog opening that was delivered to a primary session."""

    link: int
    session: str
    frame: str
    native: bool
    """True if the browser has a window for it."""
    place: int
    """Openings that were delivered on this session before it."""
    closed: bool = False


class WatchedEngine(SupervisorEngine):
    """An engine that keeps its inputs and counts its answers."""

    def __init__(self, **options: Any) -> None:
        self.inputs: list[Input] = []
        self.answered: Counter[int] = Counter()
        super().__init__(**options)
        self._runner._record = self.inputs.append

    def _perform(self, effect: Effect) -> None:
        if isinstance(effect, Answer):
            self.answered[effect.request_id] += 1
        super()._perform(effect)


class Supervised:
    """The engine as a client of the pump, with a separate record of the dialog events that it received."""

    def __init__(self, fake: FakeBrowser, **options: Any) -> None:
        self.fake = fake
        self.engine = WatchedEngine(**{"keepalive": None, **options})
        self.link = 0
        """The number of its current client in the pump; 0 without a link."""
        self.seen: list[DeliveredOpening] = []
        self.asked: list[int] = []
        self.answers: dict[int, Answer] = {}
        self.primary: dict[str, str] = {}
        """Primary session → its target."""

    @property
    def at(self) -> Instant:
        return Instant(mono=self.fake.now, wall=EPOCH + self.fake.now)

    def start(self) -> list[bytes]:
        self.primary.clear()
        self.engine.link_up(self.at)
        return self.take()

    def receive(self, payload: bytes) -> list[bytes]:
        self._record_event(json.loads(payload))
        self.engine.receive(payload, self.at)
        return self.take()

    def ask(self, request: Json) -> list[bytes]:
        self.asked.append(self.engine.request(self._request_of(request), self.at))
        return self.take()

    def take(self) -> list[bytes]:
        self.answers.update(self.engine.answers())
        return [text.encode() for text in self.engine.outgoing()]

    def _record_event(self, message: Json) -> None:
        session, params = message.get("sessionId", ""), message.get("params", {})
        method = message.get("method")
        if method == "Target.attachedToTarget":
            if params["targetInfo"]["targetId"] not in self.primary.values():
                self.primary[params["sessionId"]] = params["targetInfo"]["targetId"]
        elif method == "Target.detachedFromTarget":
            self.primary.pop(params["sessionId"], None)
        elif method == "Page.javascriptDialogOpening" and session in self.primary:
            place = sum(each.session == session for each in self.seen)
            native = params["hasBrowserHandler"]
            seen = DeliveredOpening(
                link=self.link, session=session, frame=params["frameId"], native=native, place=place
            )
            self.seen.append(seen)
        elif method == "Page.javascriptDialogClosed":
            mine = [each for each in self.seen if each.session == session and each.frame == params["frameId"]]
            mine = [each for each in mine if not each.closed]
            for each in mine[:1] if mine and mine[0].native else mine[-1:]:  # facts 3, 26
                each.closed = True

    def _request_of(self, json_request: Json) -> Request:
        """Return the request of a JSON form; dialogs, pages and frames are ranks in the snapshot."""
        json_request = {name: value for name, value in json_request.items() if name != "after"}
        snapshot = self.engine.snapshot()
        pages = [page.target_id for page in snapshot.pages] or ["none"]
        frames = [frame.frame_id for page in snapshot.pages for frame in page.frames()] or ["none"]
        match json_request:
            case {"respond": action, "rank": rank}:
                dialogs = [dialog.id for dialog in snapshot.pending_dialogs] or ["d-0"]
                return RespondToDialog(action=action, dialog_id=dialogs[rank % len(dialogs)])
            case {"respond": action}:
                return RespondToDialog(action=action)
            case {"call": method, "params": params, "page": rank}:
                return Call(method=method, params=params, target_id=pages[rank % len(pages)])
            case {"call": method, "params": params, "frame": rank}:
                return Call(method=method, params=params, frame_id=frames[rank % len(frames)])
            case {"await": number}:
                return AwaitCall(call_id=f"c-{number}", timeout=5.0)
            case {"policy": policy}:
                return SetPolicy(policy=Policy(policy))
            case {"recover": remedy, "page": rank}:
                return Recover(target_id=pages[rank % len(pages)], remedy=remedy)
            case {"focus": rank}:
                return Focus(target_id=pages[rank % len(pages)])
            case {"stop": timeout}:
                return Stop(timeout=timeout)
        raise AssertionError(json_request)


# ── the run ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class SupervisedPump(Pump):
    """A pump with one supervisor as its client, and its deadlines as turns."""

    def __init__(self, supervised: Supervised, *, horizon: float = SOON, **how: Any) -> None:
        super().__init__(supervised.fake, [], **how)
        self.supervised = supervised
        self.horizon = horizon
        self._asked_at = 0.0
        self.numbers: dict[str, list[int]] = {}
        """Session → numbers of the dialogs that it saw open."""
        self.labels: dict[str, str] = {}
        self._update_link()
        self._record_truth()

    def _next_time(self) -> Turn | None:
        theirs, own, now = super()._next_time(), self.supervised.engine.next_deadline(), self.fake.now
        at = math.inf if own is None or own.at > self.horizon else own.at
        at = self._asked_at if now < self._asked_at < at else at
        if isinstance(theirs, Advance) and now + theirs.seconds <= at:
            return theirs
        if at == math.inf:
            return None
        seconds = at - now
        while now + seconds < at:  # the difference is rounded, and the deadline must be reached
            seconds = math.nextafter(seconds, math.inf)
        return Advance(seconds)

    def _by_default(self) -> Turn | None:
        return self._chosen(super()._by_default)

    def _by_seed(self) -> Turn | None:
        return self._chosen(super()._by_seed)

    def _chosen(self, choose: Callable[[], Turn | None]) -> Turn | None:
        """Choose a turn, without requests until the next one's time: `after`, in seconds from the start."""
        self._asked_at = self._asks[0].question.get("after", 0.0) if self._asks else 0.0
        if self._asked_at <= self.fake.now:
            return choose()
        asks, self._asks = self._asks, deque()
        try:
            return choose()
        finally:
            self._asks = asks

    def _take(self, turn: Turn) -> Turn:
        supervised = self.supervised
        if isinstance(turn, Ask):
            taken: Turn = turn
            self._write(supervised.ask(turn.question))
        else:
            taken = super()._take(turn)
        if isinstance(turn, Advance):
            supervised.engine.time_passed(supervised.at)
        self._write(supervised.take())
        self._update_link()
        self._record_truth()
        check_moment(self)
        return taken

    def _write(self, payloads: Iterable[bytes]) -> None:
        if client := self._pumped.get(self.supervised.link):
            client.write(payloads)

    def _update_link(self) -> None:
        supervised, engine = self.supervised, self.supervised.engine
        client = self._pumped.get(supervised.link)
        if client is not None and engine.wants_end:
            client.end.lost()
        if client is not None and not client.end.connected:
            engine.link_down(engine.wants_end or "cut", supervised.at)
            supervised.take()
            supervised.link = 0
        if engine.wants_link:
            supervised.link = len(self._pumped) + 1
            self.join(supervised)

    def _record_truth(self) -> None:
        """Record what the truth does not keep: the sessions that saw a dialog open, the script's labels."""
        for dialog in self.fake._world.dialogs:
            for session in dialog.seen_by:
                known = self.numbers.setdefault(session.id or "", [])
                if dialog.number not in known:
                    known.append(dialog.number)
        for label, frame in self.fake._player.labels.items():
            self.labels[getattr(frame, "id", "")] = label

    def dialog(self, number: int) -> tuple[DeliveredOpening, TrueDialog]:
        """Return the n-th delivered opening and its true dialog."""
        seen = self.supervised.seen[number - 1]
        true = self.fake.truth().dialogs[self.numbers[seen.session][seen.place] - 1]
        assert true.frame == seen.frame
        return seen, true


@attrs.frozen(kw_only=True)
class Played:
    """A run that is over."""

    run: Run
    pump: SupervisedPump

    @property
    def engine(self) -> WatchedEngine:
        return self.pump.supervised.engine

    @property
    def truth(self) -> Truth:
        return self.pump.fake.truth()


def play(
    script: Script,
    *,
    profile: str = "headless-new",
    faults: Any = (),
    asks: Iterable[Json] = (),
    policy: Any = "must_respond",
    horizon: float = SOON,
    options: Json | None = None,
    **how: Any,
) -> Played:
    """Play a script until nothing is left to do."""
    fake = FakeBrowser(script, profile=profile, faults=faults)  # type: ignore[arg-type]
    chosen: Json = {"policy": Policy(policy), "reconnect": Reconnect(budget=1_000), **(options or {})}
    supervised = Supervised(fake, **chosen)
    pump = SupervisedPump(supervised, horizon=horizon, asks=[Ask(1, each) for each in asks], **how)
    run = pump.run()
    assert run.quiet, "the run did not become quiet"
    return Played(run=run, pump=pump)


# ── checks at every moment ───────────────────────────────────────────────────────────────────────────────────────────

OURS = ("agent", "auto_policy", "watchdog")


def kept_dialogs(engine: SupervisorEngine) -> list[Dialog]:
    """Return every dialog of the state, over or not."""
    state = engine.state
    kept = [dialog for page in state.pages.values() for dialog in (*page.dialogs, *page.recent)]
    return [*kept, *state.departed]


def check_moment(pump: SupervisedPump) -> None:
    """Check every moment of a run.

    Each delivered opening is in the state once, no pending dialog is known to be closed, and each credited answer
    really closed its dialog.
    """
    supervised = pump.supervised
    engine = supervised.engine
    state = engine.state
    numbers = sorted(dialog.number for dialog in kept_dialogs(engine))
    assert len(set(numbers)) == len(numbers), "a dialog is in the state twice"
    if state.link.phase == "stopped":
        return
    assert state.last_dialog == len(supervised.seen), "an opening was lost or invented"
    if not state.totals.get("dialogs_left_out", 0) and len(numbers) < state.limits.recent_dialogs:
        assert numbers == list(range(1, len(supervised.seen) + 1)), "a dialog was forgotten"
    assert not state.totals.get("impossible_dialog_moves", 0)
    if supervised.seen:
        for dialog in engine.snapshot().pending_dialogs:
            assert not supervised.seen[dialog.number - 1].closed, "a closed dialog is shown as pending"
    for change in engine.changes():
        if isinstance(change, DialogClosed) and change.closed_by in OURS:
            seen, true = pump.dialog(int(change.dialog_id[2:]))
            assert true.closed_by == seen.link, f"{change.closed_by} did not close {change.dialog_id}"


# ── checks of a quiet run ────────────────────────────────────────────────────────────────────────────────────────────


def check_quiet(played: Played) -> None:
    """Check that the snapshot agrees with the truth once no message is on its way."""
    check_sessions(played)
    check_frames(played)
    check_dialogs(played)
    check_asks(played)


def check_sessions(played: Played) -> None:
    link = played.pump.supervised.link
    true = {(session, target) for client, session, target in played.truth.sessions if client == link and session}
    shown = {(each.session_id, each.target_id) for each in played.engine.snapshot().sessions}
    assert shown == true


def silent_pages(truth: Truth) -> set[str]:
    """Return the pages that a client cannot know completely: one of their renderers is blocked or dead.

    It may be the renderer that a frame moves to: the frame has its own target before its document has loaded.
    """
    parents = {frame.id: frame.parent for frame in truth.frames}
    targets = {target for _, _, target in truth.sessions}
    silent: set[str] = set()
    for frame in truth.frames:
        if frame.silent or (frame.id in targets and frame.target != frame.id):
            top = frame.id
            while (above := parents[top]) is not None:
                top = above
            silent.add(top)
    return silent


def true_trees(truth: Truth) -> dict[str, dict[str, tuple[str | None, str, bool]]]:
    """Return the frames of each page, as (parent, URL, out of process) by id."""
    parents = {frame.id: frame.parent for frame in truth.frames}
    trees: dict[str, dict[str, tuple[str | None, str, bool]]] = {page: {} for page in truth.pages}
    for frame in truth.frames:
        top = frame.id
        while (above := parents[top]) is not None:
            top = above
        trees.setdefault(top, {})[frame.id] = (frame.parent, frame.url, frame.out_of_process)
    return trees


def check_frames(played: Played) -> None:
    snapshot, truth = played.engine.snapshot(), played.truth
    if snapshot.link.phase != "up":
        return
    trees, silent = true_trees(truth), silent_pages(truth)
    stopped = {frame.id for frame in truth.frames if frame.silent}
    unhealthy = stopped & (
        {dialog.page for dialog in truth.dialogs if dialog.open and not is_left_behind(truth, dialog)}
        | {*truth.crashed}
    )
    assert {page.target_id for page in snapshot.pages} == set(truth.pages)
    for page in snapshot.pages:
        if page.target_id in silent:
            assert page.health.state != "ok" or page.target_id not in unhealthy, "a blocked page is shown as healthy"
            continue
        shown = {frame.frame_id: (frame.parent_frame_id, frame.url, frame.is_oopif) for frame in page.frames()}
        assert shown == trees[page.target_id]
        assert len(shown) == page.frame_count, "a frame has no known parent"
        assert page.health.state == "ok", page.health
        assert not page.stale
        assert page.url == trees[page.target_id][page.target_id][1]
    check_contexts(played, silent)


def check_contexts(played: Played, silent: set[str]) -> None:
    """Check that the execution context of each frame is known, or known to be missing."""
    contexts = {frame.id: frame.context for frame in played.truth.frames}
    for page in played.engine.state.pages.values():
        if page.id not in silent:
            known = {frame.id: context_of(page, frame) for frame in page.frames.values()}
            assert known == {frame_id: contexts[frame_id] for frame_id in known}


def check_dialogs(played: Played) -> None:
    pump, engine = played.pump, played.engine
    state, silent = engine.state, silent_pages(played.truth)
    for dialog in kept_dialogs(engine):
        seen, true = pump.dialog(dialog.number)
        seen = (seen.link, seen.session) in true.seen_by
        if is_left_behind(played.truth, true):
            continue
        if dialog.closed_by:
            assert not true.open, f"{dialog.id} is open"
        else:
            assert dialog.phase in ("open", "unanswerable"), f"{dialog.id} is still {dialog.phase}"
            if state.link.phase == "up":  # on a blocked page a client cannot know which dialog blocks it
                assert true.open or true.page in silent, f"{dialog.id} is over"
        if dialog.phase == "open" and not dialog.closed_by:
            assert true.answerable, f"{dialog.id} is shown as answerable, and no client can answer it"
            assert seen, f"{dialog.id} is shown as answerable, and this client cannot answer it"
        if not dialog.closed_by and dialog.phase == "unanswerable":
            assert not (true.answerable and seen), f"{dialog.id} can be answered, and is shown as unanswerable"


def is_left_behind(truth: Truth, dialog: TrueDialog) -> bool:
    """Return True if it is open in a document that was left or is being left, which no event reports.

    Chromium pauses the navigation of a parent frame while the dialog blocks its process; the fake does not. In a
    browser without dialog windows a dialog outlives its document, and answering it has no effect.
    """
    return dialog.open and (dialog.left or dialog.frame not in {frame.id for frame in truth.frames})


def check_asks(played: Played) -> None:
    supervised = played.pump.supervised
    assert set(supervised.answers) == set(supervised.asked), "a request was not answered"
    assert all(number == 1 for number in played.engine.answered.values()), "a request was answered twice"


# ── comparable forms ─────────────────────────────────────────────────────────────────────────────────────────────────
# Without times, generations, counters and numbers. Names are the script's labels, and everything is sorted by them.


def plain_truth(played: Played) -> Any:
    """Return the truth in a comparable form, with the ends of dialogs that the client got confirmed."""
    truth, label = played.truth, _labels(played)
    shown = {dialog.number: dialog for dialog in kept_dialogs(played.engine)}
    seen = {played.pump.dialog(number)[1].number: dialog for number, dialog in shown.items()}
    dialogs = [
        (
            label(each.page),
            label(each.frame),
            each.type,
            each.message,
            each.open,
            each.answerable,
            each.accepted,
            each.closed_by is not None,
            each.number in seen,
            each.number in seen and seen[each.number].closed_by in OURS,
        )
        for each in truth.dialogs
    ]
    trees = {
        label(page): sorted((label(frame), label(parent), url, oopif) for frame, (parent, url, oopif) in tree.items())
        for page, tree in true_trees(truth).items()
    }
    silent = sorted(map(label, silent_pages(truth)))
    return sorted(dialogs, key=repr), trees, silent, sorted(label(target) for _, _, target in truth.sessions)


def plain_snapshot(played: Played) -> Any:
    """Return the snapshot in a comparable form."""
    snapshot, label = played.engine.snapshot(), _labels(played)
    silent = silent_pages(played.truth)

    def plain(dialog: Any) -> Any:
        identity = (label(dialog.target_id), label(dialog.frame_id), dialog.type, dialog.message)
        return (*identity, dialog.answerable, "" if dialog.closed_by else dialog.why, dialog.closed_by, dialog.reason)

    pages = {
        label(page.target_id): (
            page.url,
            page.health.state,
            sorted(
                (label(each.frame_id), label(each.parent_frame_id), each.url, each.is_oopif) for each in page.frames()
            )
            if page.target_id not in silent
            else None,
        )
        for page in snapshot.pages
    }
    return (
        pages,
        sorted(map(plain, snapshot.pending_dialogs), key=repr),
        sorted(map(plain, snapshot.recent_dialogs), key=repr),
        sorted((label(each.target_id), each.type) for each in snapshot.sessions),
        snapshot.link.phase,
    )


def _labels(played: Played) -> Any:
    labels = played.pump.labels
    targets = {target: f"{kind} at {url}" for target, kind, url in played.truth.targets}
    return lambda known: "" if known is None else labels.get(known) or targets.get(known) or "something unnamed"
