"""Hypothesis strategies for scripts; `strategies` exports the public names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import attrs
from hypothesis import strategies as st

from cdp_core.testing.steps import (
    CONSOLE,
    MAIN,
    WORKERS,
    AddFrame,
    Answer,
    Close,
    Console,
    Crash,
    Cut,
    Dialog,
    Discard,
    EndWorker,
    Go,
    MoveFrame,
    Navigate,
    NavigateFrame,
    Popup,
    Prerender,
    PushState,
    RemoveFrame,
    Request,
    Script,
    ScriptError,
    Step,
    Wait,
    Worker,
)

PLAIN_URLS: Final = (
    "about:blank",
    "https://shop.example/",
    "https://shop.example/help",
    "https://pay.example/",
    "https://gone.invalid/",
)
"""Documents without a script of their own, on two sites and thus in two processes; the last one fails to load."""
DOCUMENTS: Final = ("https://ads.example/1", "https://shop.example/2", "https://pay.example/3")
"""Documents that may have a script. Each loads only later documents of this list, so none loads itself."""
WORKER_SCRIPTS: Final = ("worker.js", "https://shop.example/worker.js")
"""The script URLs of workers, for documents without a URL of their own and for those of a site."""
EXPRESSIONS: Final = ("act()", "ask()")
LARGE: Final = 1 << 20
"""Characters of a message that is larger than 1 MiB."""
DIALOG_TYPES: Final = ("alert", "confirm", "prompt")
TEXTS: Final = st.sampled_from(["", "a", "é", "\N{PILE OF POO}", "\ud800", "a\r\nb", '"\\'])
Draw = Callable[[st.SearchStrategy[Any]], Any]


# ── scripts ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def is_race_free(script: Script) -> bool:
    """Return whether every schedule in which time passes only when it is quiet leads to the same truth.

    This holds if each step of the timeline has a wait before it, and documents only add frames, log, and start workers.
    """
    allowed = (AddFrame, Console, ScriptError, Worker)
    waited = all(
        isinstance(step, Wait)
        or (number and isinstance(before := script.timeline[number - 1], Wait) and before.seconds > 0)
        for number, step in enumerate(script.timeline)
    )
    return waited and all(isinstance(step, allowed) for steps in script.pages.values() for step in steps)


def scripts(*, max_steps: int = 8, race_free: bool | None = None) -> st.SearchStrategy[Script]:
    """Return a strategy for scripts: race-free ones (True), others (False), or both (None)."""
    allowed = st.sampled_from((False, True, True)) if race_free is None else st.just(race_free)
    return allowed.flatmap(lambda each: _scripts(max_steps, each))


_FLAG: Final = st.booleans()
_SOME: Final = st.sampled_from((0, 1, 1))
_SELDOM: Final = st.integers(0, 9).map(lambda number: number == 9)
_FEW: Final = st.integers(0, 2)
_TYPE: Final = st.sampled_from(DIALOG_TYPES)
_LEVEL: Final = st.sampled_from(CONSOLE)
_URL: Final = st.sampled_from(PLAIN_URLS)
_ANY_URL: Final = st.sampled_from(PLAIN_URLS + DOCUMENTS)
_LATER_URLS: Final = [st.sampled_from(PLAIN_URLS + DOCUMENTS[index + 1 :]) for index in range(len(DOCUMENTS))]
_VALUE: Final = st.sampled_from([None, True, 0, 1.5, "", "\N{PILE OF POO}"])
_RACE_FREE_KINDS: Final = st.sampled_from((Console, ScriptError, Worker))
_CONSOLE_KINDS: Final = st.sampled_from((Console, ScriptError))
_KIND: Final = st.sampled_from((*WORKERS, "dedicated"))
_ANSWER_KINDS: Final = st.sampled_from((Console, ScriptError, Dialog, AddFrame, Popup))


@st.composite
def _scripts(draw: Draw, max_steps: int, race_free: bool) -> Script:
    pages = {url: tuple(_document(draw, index, race_free)) for index, url in enumerate(DOCUMENTS) if draw(_FLAG)}
    pages.update((url, (_own_step(draw, draw(_CONSOLE_KINDS), ""),)) for url in WORKER_SCRIPTS if draw(_FLAG))
    answers = {
        expression: Answer(
            draw(_VALUE), [_own_step(draw, draw(_ANSWER_KINDS), f"a{number}{each}") for each in range(draw(_FEW))]
        )
        for number, expression in enumerate(EXPRESSIONS)
        if draw(_FLAG)
    }
    scenarios: list[_Scenario] = draw(_RACE_FREE_CHOSEN if race_free else _CHOSEN)
    pages.update((url, steps) for scenario in scenarios for url, steps in scenario.pages.items() if draw(_KEPT))
    scenario_steps = [step for scenario in scenarios for step in scenario.steps if draw(_KEPT)]
    # One list would be empty in a third of the draws; three lists seldom are, and each shrinks independently.
    part = st.lists(_DRAFT, max_size=(max_steps + 1) // 2)
    timeline = _timeline([*scenario_steps, *draw(part), *draw(part), *draw(part)][:max_steps], race_free)
    if draw(_SELDOM):
        timeline += [Wait(1), Cut()]
    return Script(pages=pages, timeline=timeline, answers=answers)


def _document(draw: Draw, index: int, race_free: bool) -> list[Step]:
    """Draw a document's own script: it only adds things, and uses nothing that another step could remove."""
    made: list[Step] = [AddFrame(f"d{index}{number}", draw(_LATER_URLS[index])) for number in range(draw(_FEW))]
    made += [_own_step(draw, draw(_RACE_FREE_KINDS), f"w{index}{number}") for number in range(draw(_FEW))]
    if not race_free and draw(_FLAG):
        made.append(_own_step(draw, Dialog, ""))
    return made


def _own_step(draw: Draw, kind: type[Step], label: str) -> Step:
    """Draw a step that needs only the document whose script it is."""
    if kind is Console:
        return Console(draw(TEXTS), draw(_LEVEL))
    if kind is Dialog:
        return Dialog(draw(_TYPE), draw(TEXTS), draw(TEXTS))
    if kind is AddFrame:
        return AddFrame(label, draw(_URL))
    if kind is Popup:
        return Popup(label, draw(_URL), noopener=draw(_FLAG))
    return ScriptError(draw(TEXTS)) if kind is ScriptError else Worker(label, kind=draw(_KIND))


def _timeline(drawn: list[tuple[bool, Step]], race_free: bool) -> list[Step]:
    """Bind each drawn step to things that exist at that moment.

    Any part of the drawn steps gives a valid timeline again.
    """
    stage = _Stage()
    made: list[Step] = []
    loading: set[str] = set()
    for waits, each in drawn:
        step = stage.play(each)
        if step is None:
            continue
        # A thing added before the new document is loaded is lost with the initial empty document.
        early = isinstance(step, (AddFrame, PushState, Worker)) and _frame_of(step) in loading
        if race_free or waits or early:
            made.append(Wait(1))
            loading.clear()
        made.append(step)
        if isinstance(step, (AddFrame, NavigateFrame)):
            loading.add(step.label)
    return made


def _frame_of(step: AddFrame | PushState | Worker) -> str:
    return step.parent if isinstance(step, AddFrame) else step.frame


_INDEX: Final = st.integers(0, 5).map(str)
"""A number for one of the things that exist: the page is the first; it counts modulo their number."""
_NEW: Final = st.just("new")
_DELTA: Final = st.sampled_from([-1, 1])
_SELDOM_DRAWN: Final[tuple[tuple[Any, int], ...]] = ((EndWorker, 1), (Discard, 1), (Prerender, 3))
"""Each step, and how many of the fields label, URL and place it has, counted from the end."""


def _build(kind: tuple[Any, int], *fields: str) -> Any:
    made, number = kind
    return made(*fields[-number:])


_DRAFT_STEP: Final[st.SearchStrategy[Any]] = st.one_of(
    st.builds(AddFrame, _NEW, _ANY_URL, _INDEX),
    st.builds(Console, TEXTS, _LEVEL, _INDEX),
    st.builds(Dialog, _TYPE, TEXTS, TEXTS, _INDEX),
    st.builds(RemoveFrame, _INDEX),
    st.builds(NavigateFrame, _INDEX, _ANY_URL),
    st.builds(MoveFrame, _INDEX),
    st.builds(Navigate, _ANY_URL, _INDEX),
    st.builds(Go, _DELTA, _INDEX),
    st.builds(Popup, _NEW, _ANY_URL, _INDEX, _FLAG),
    st.builds(Worker, _NEW, frame=_INDEX, kind=_KIND),
    st.builds(_build, st.sampled_from(_SELDOM_DRAWN), _NEW, _ANY_URL, _INDEX),
    st.builds(ScriptError, TEXTS, _INDEX),
    st.builds(PushState, _NEW, _INDEX),
    st.builds(Request, _ANY_URL, _INDEX, _FLAG),
    st.builds(Close, _INDEX),
    st.builds(Crash, _INDEX),
)
_DRAFT: Final = st.tuples(_FLAG, _DRAFT_STEP)


@attrs.frozen
class _Scenario:
    """A few steps that random draws seldom combine and many clients handle wrongly; more steps follow."""

    steps: tuple[tuple[bool, Step], ...] = ()
    pages: dict[str, tuple[Step, ...]] = attrs.Factory(dict["str", "tuple[Step, ...]"])


def _scenario(*rough: tuple[bool, Step], pages: dict[str, list[Step]] | None = None) -> _Scenario:
    return _Scenario(rough, {url: tuple(made) for url, made in (pages or {}).items()})


_SHOP, _HELP, _PAY = PLAIN_URLS[1:4]
# A same-process frame that navigates within its document: one event reports it, and no target changes.
_PUSHED: Final = _scenario(
    (True, Navigate(_SHOP, "0")), (True, AddFrame("new", _HELP, "0")), (True, PushState("new", "1"))
)
# A document restored from the back/forward cache with frames that no event reports (fact 43).
_RESTORED: Final = _scenario(
    (True, Navigate(_SHOP, "0")), (True, AddFrame("new", _HELP, "0")), (True, Navigate(_PAY, "0")), (True, Go(-1, "0"))
)
_RACE_FREE_SCENARIOS: Final = (
    _scenario(),
    # Nested out-of-process frames: a session that ends also ends the sessions below it (fact 50).
    _scenario((True, AddFrame("new", _PAY, "0")), (True, AddFrame("new", _SHOP, "1"))),
    _scenario((True, AddFrame("new", _PAY, "0")), (True, Worker("new", frame="1"))),
    _scenario((True, Worker("new", frame="0")), (True, EndWorker("0"))),
    *2 * (_PUSHED,),
    *2 * (_RESTORED,),
    # A message larger than many WebSocket clients accept (fact 57).
    _scenario((True, Console("x", frame="0", times=LARGE))),
)
_SCENARIOS: Final = (
    *_RACE_FREE_SCENARIOS,
    # Sessions that end while a client still writes to them (facts 8, 55).
    _scenario((True, Popup("new", _PAY, "0", noopener=True)), (False, Close("1"))),
    _scenario((True, AddFrame("new", _PAY, "0")), (False, RemoveFrame("0"))),
    # A process that dies while a client still asks it (fact 55).
    *2 * (_scenario((True, Popup("new", _PAY, "0", noopener=True)), (False, Crash("1"))),),
    # Two dialogs of one page (fact 3).
    _scenario(
        (True, Navigate(DOCUMENTS[0], "0")),
        pages={
            DOCUMENTS[0]: [AddFrame("d00", DOCUMENTS[2]), Wait(1), Dialog("confirm", "a")],
            DOCUMENTS[2]: [Wait(1), Dialog("confirm", "b")],
        },
    ),
    _scenario(
        (True, AddFrame("new", DOCUMENTS[2], "0")),
        (True, Dialog("confirm", "a", frame="0")),
        pages={DOCUMENTS[2]: [Wait(1), Dialog("confirm", "b")]},
    ),
    # A dialog of an out-of-process frame, which the page's session must answer (fact 2).
    _scenario((True, AddFrame("new", DOCUMENTS[2], "0")), pages={DOCUMENTS[2]: [Dialog("confirm", "b")]}),
    # A popup that opens a dialog as soon as its document runs (fact 40).
    _scenario((True, Popup("new", DOCUMENTS[1], "0")), pages={DOCUMENTS[1]: [Dialog("confirm", "c")]}),
)
_KEPT: Final = st.integers(0, 15).map(bool)
"""Whether a step of a scenario is kept: False seldom, so that scenarios can shrink, too."""
_CHOSEN: Final = st.lists(st.sampled_from(_SCENARIOS), min_size=1, max_size=3)
_RACE_FREE_CHOSEN: Final = st.lists(st.sampled_from(_RACE_FREE_SCENARIOS), min_size=1, max_size=3)


class _Stage:
    """The pages, frames and workers that exist while a timeline is made."""

    def __init__(self) -> None:
        self._pages = [MAIN]
        self._frames: dict[str, str] = {}
        # The URL of each frame and page, without the changes by pushState.
        self._urls: dict[str, str] = {}
        # The crashed and discarded pages: they have no script that could act.
        self._crashed: set[str] = set()
        self._workers: list[str] = []
        self._named = 0

    def play(self, step: Step) -> Step | None:
        """Bind the step to something that exists and apply its effect; return None if nothing fits."""
        alive = [page for page in self._pages if page not in self._crashed]
        if isinstance(step, (Navigate, Go, Prerender, Discard, Crash, Close)):
            return self._play_page(step, self._pages if isinstance(step, Close) else alive)
        documents = [*alive, *self._frames]
        if isinstance(step, (RemoveFrame, MoveFrame, NavigateFrame)):
            if self._frames:
                return self._play_frame(step, list(self._frames))
            step = AddFrame("new", parent=step.label)  # so that the next such step has a frame
        if isinstance(step, AddFrame) and documents:
            self._frames[self._name()] = parent = _nth(documents, step.parent)
            self._urls[f"x{self._named}"] = step.url
            return AddFrame(f"x{self._named}", step.url, parent)
        if isinstance(step, PushState) and documents:
            return self._push(_nth(documents, step.frame))
        if isinstance(step, Popup) and documents:
            self._pages.append(self._name())
            self._urls[self._pages[-1]] = step.url
            return Popup(f"x{self._named}", step.url, _nth(documents, step.opener), step.noopener)
        if isinstance(step, (Worker, EndWorker)):
            return self._play_worker(step, documents)
        if isinstance(step, (Console, ScriptError)) and documents:
            return attrs.evolve(step, frame=_nth([*documents, *self._workers], step.frame))
        if isinstance(step, (Dialog, Request)) and documents:
            return attrs.evolve(step, frame=_nth(documents, step.frame))
        return None

    def _play_worker(self, step: Worker | EndWorker, documents: list[str]) -> Step | None:
        if isinstance(step, EndWorker):
            return EndWorker(_nth(self._workers, step.label)) if self._workers else None
        if not documents:
            return None
        self._workers.append(self._name())
        return attrs.evolve(step, label=self._workers[-1], frame=_nth(documents, step.frame))

    def _play_page(self, step: Navigate | Go | Prerender | Discard | Crash | Close, pages: list[str]) -> Step | None:
        if not pages:
            return None
        page = _nth(pages, step.page)
        if isinstance(step, Prerender):
            return Prerender(self._name(), step.url, page)
        self._clear(page)
        if isinstance(step, Close):
            self._pages.remove(page)
        elif isinstance(step, (Crash, Discard)):
            self._crashed.add(page)
        elif isinstance(step, Go):
            self._urls[page] = ""  # unknown: the history is not tracked
        else:
            self._urls[page] = step.url
        return attrs.evolve(step, page=page)

    def _play_frame(self, step: RemoveFrame | MoveFrame | NavigateFrame, frames: list[str]) -> Step:
        label = _nth(frames, step.label)
        self._clear(label)
        if isinstance(step, RemoveFrame):
            del self._frames[label]
        elif isinstance(step, NavigateFrame):
            self._urls[label] = step.url
        return attrs.evolve(step, label=label)

    def _push(self, document: str) -> Step | None:
        """Make a PushState to a URL of the document's origin; return None if it has no such origin."""
        url = self._urls.get(document, "")
        if not url.startswith("https://") or url == PLAIN_URLS[-1]:
            return None
        return PushState(url.rpartition("/")[0] + "/pushed", document)

    def _name(self) -> str:
        self._named += 1
        return f"x{self._named}"

    def _clear(self, above: str) -> None:
        for label in [label for label, parent in self._frames.items() if parent == above]:
            self._clear(label)
            del self._frames[label]


def _nth(items: list[str], index: str) -> str:
    return items[int(index) % len(items)]


def steps() -> st.SearchStrategy[Step]:
    """Return a strategy for any single step, whether or not it can be played."""
    names = st.sampled_from([MAIN, "ad", "é"])
    return st.one_of(
        st.one_of([st.builds(kind, names, TEXTS) for kind in (AddFrame, Popup, Prerender, Worker, NavigateFrame)]),
        st.builds(Dialog, _TYPE, TEXTS, TEXTS, names),
        st.builds(Console, TEXTS, _LEVEL, names),
        st.builds(ScriptError, TEXTS, names),
        st.builds(PushState, TEXTS, names),
        st.builds(Request, TEXTS, names, _FLAG),
        st.builds(Wait, st.floats(0, 1e6) | st.integers(0, 5)),
        st.builds(Navigate, TEXTS, names),
        st.builds(Go, st.integers(-50, 50), names),
        st.one_of([st.builds(kind, names) for kind in (RemoveFrame, MoveFrame, EndWorker, Discard, Crash, Close)]),
        st.just(Cut()),
    )
