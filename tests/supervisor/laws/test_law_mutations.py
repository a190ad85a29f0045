"""Laws 2, 4 and 5 can fail: a rule is taken out, and the law's own check goes red within its examples.

`test_mutations.py` does this for laws 1 and 3, scene by scene. Here each law is run as it stands, from a copy of its module:
the examples are the same each time, the first that fails is enough, and nothing is shrunk.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import attrs
import pytest
from hypothesis import HealthCheck, Phase, settings

from cdp_core.sansio.structs import replace
from cdp_supervisor.errors import DialogAnswerRefused, DialogUnanswerable, SupervisorStopped
from cdp_supervisor.sansio import calls, dialogs, effects, frames, step
from cdp_supervisor.sansio.dialog_view import DialogView
from cdp_supervisor.sansio.transition import Transition
from support.module_copies import copy_of

HERE: Final = Path(__file__).parent
Patch = pytest.MonkeyPatch
Take = Callable[[Patch], None]
NOTHING: Final = lambda *_args, **_named: None  # noqa: E731 - a rule that does nothing
ENOUGH: Final = 300
"""Examples: only a law that stays green has that many."""


settings.register_profile(
    "mutations",
    max_examples=ENOUGH,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(autouse=True)
def the_first_failure_is_enough() -> Iterator[None]:
    """Laws take the settings of the profile that is loaded when their module is."""
    before = settings.get_current_profile_name()
    settings.load_profile("mutations")
    yield
    settings.load_profile(before)


def law_of(module: str) -> ModuleType:
    """A copy of a test module, which may be broken."""
    return copy_of(HERE / f"{module}.py")


def is_red(law: Callable[..., Any], **given: Any) -> bool:
    """Whether a law fails: by what it asserts, or by what the machine raises."""
    try:
        law(**given)
    except Exception:
        return True
    return False


def without(module: Any, name: str, instead: Any = NOTHING) -> Take:
    return lambda patch: patch.setattr(module, name, instead)


# ── law 2: confluence ────────────────────────────────────────────────────────────────────────────────────────────────


def the_kind_of_a_dialog_goes_by_what_came_before(patch: Patch) -> None:
    real = dialogs.opened

    def opened(transition: Transition, page: Any, session_id: Any, given: Any) -> Any:
        kind = given.get("type") if transition.state.sequence % 2 else "alert"
        return real(transition, page, session_id, {**given, "type": kind})

    patch.setattr(dialogs, "opened", opened)


def the_first_word_of_a_frame_counts(patch: Patch) -> None:
    real = frames._with_document

    def showing(transition: Transition, frame: Any, *told: Any) -> Any:
        return replace(real(transition, frame, *told), url=frame.url or real(transition, frame, *told).url)

    patch.setattr(frames, "_with_document", showing)


CONFLUENCE: Final[dict[str, Take]] = {
    "the kind of a dialog goes by what came before": the_kind_of_a_dialog_goes_by_what_came_before,
    "the first word of a frame counts": the_first_word_of_a_frame_counts,
}


@pytest.mark.parametrize("name", CONFLUENCE)
def test_an_order_that_counts_is_seen(name: str, monkeypatch: Patch) -> None:
    law = law_of("test_laws").test_two_orders_with_the_same_truth_look_the_same
    CONFLUENCE[name](monkeypatch)
    assert is_red(law)


def test_confluence_holds() -> None:
    assert not is_red(law_of("test_laws").test_two_orders_with_the_same_truth_look_the_same)


# ── law 4: totality ──────────────────────────────────────────────────────────────────────────────────────────────────

RAW: Final = lambda given, name, *_most: given.get(name, "")  # noqa: E731 - a field as it came


@pytest.mark.parametrize("name", ["text", "member", "members"])
def test_a_value_that_is_taken_as_it_comes_is_seen(name: str, monkeypatch: Patch) -> None:
    laws = law_of("test_endless")
    for key, module in sorted(sys.modules.items()):
        if key.startswith("cdp_supervisor.sansio.") and hasattr(module, name):
            monkeypatch.setattr(module, name, RAW)
    checks = (laws.odd_events, laws.odd_results)
    assert any(is_red(each, laws=laws.totality()) for each in checks)


def at_once(change: Callable[[float, float], float]) -> Take:
    """Deadlines by another sum; where time then stands still for ever, that is said."""

    def let_time_pass(transition: Transition) -> None:
        for _ in range(1_000):
            key = transition.due()
            if key is None:
                return
            kind, _, name = key.partition(":")
            step.DUE[kind](transition, name)
        raise AssertionError("time stands still")

    def take(patch: Patch) -> None:
        patch.setattr(sys.modules[Transition.__module__], "moment_after", change)
        patch.setattr(step, "_advance", let_time_pass)

    return take


TIMES: Final[dict[str, Take]] = {
    "a deadline is a plain sum": at_once(lambda now, seconds: now + seconds),
    "a deadline is now": at_once(lambda now, _seconds: now),
    "no moment is too late": lambda patch: patch.setattr(step, "inf", math.nan),
    "time may run backwards": lambda patch: patch.setattr(Transition, "__init__", of_the_input),
}


def of_the_input(transition: Transition, state: Any, at: Any) -> None:
    """The moment of a step is that of its input, whatever was before."""
    transition.state, transition._is_new_state, transition.extensions, transition.effects = (
        state,
        False,
        state.extensions,
        [],
    )
    transition.at, transition.now = at, at.mono - 1.0


@pytest.mark.parametrize("name", TIMES)
def test_a_deadline_that_has_passed_is_seen(name: str, monkeypatch: Patch) -> None:
    law = law_of("test_step_totality").test_any_inputs_in_any_order
    TIMES[name](monkeypatch)
    assert is_red(law)


def test_deadlines_that_pile_up_are_seen(monkeypatch: Patch) -> None:
    """What was to be done under a key is not taken out where it is done in another way."""
    endless = law_of("test_endless")
    monkeypatch.setattr(Transition, "cancel", NOTHING)
    assert is_red(endless.flood, kind=endless.dialogs_that_go, laws=endless.totality(), many=200)


LIMITS: Final = (
    "frames_kept",
    "pages_kept",
    "sessions_kept",
    "dialogs_kept",
    "recent_dialogs",
    "ended_calls",
    "calls_kept",
)


def unlimited(law: ModuleType, limit: str) -> None:
    """`step` as if there were no such limit; what is checked is that there is."""
    real = law.step

    def without_limit(state: Any, given: Any) -> Any:
        wide = attrs.evolve(state.limits, **{limit: 10**6})
        done = real(replace(state, limits=wide), given)
        return replace(done, state=replace(done.state, limits=state.limits))

    law.step = without_limit  # type: ignore[attr-defined]


@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_that_is_not_kept_is_seen(limit: str) -> None:
    endless = law_of("test_endless")
    laws = endless.totality()
    unlimited(laws, limit)
    assert any(is_red(endless.flood, kind=each, laws=laws) for each in endless.FLOODS)


def test_floods_are_borne() -> None:
    endless = law_of("test_endless")
    assert not any(is_red(endless.flood, kind=each, laws=endless.totality()) for each in endless.FLOODS)


def answered(how: Callable[[Any], int]) -> Take:
    """An ask is answered so many times, by what it is answered with."""
    real = Transition.answer

    def answer(
        transition: Transition, request_id: int | None, value: Any = None, *, error: Exception | None = None
    ) -> None:
        for _ in range(how(error if error is not None else value)):
            real(transition, request_id, value, error=error)

    return lambda patch: patch.setattr(Transition, "answer", answer)


ASKS: Final[dict[str, Take]] = {
    "every ask is answered twice": answered(lambda _what: 2),
    "a refusal is answered twice": answered(lambda what: 2 if isinstance(what, DialogAnswerRefused) else 1),
    "who waits at the end is not told": answered(lambda what: 0 if isinstance(what, SupervisorStopped) else 1),
    "who answered a dialog is not told of its end": answered(lambda what: 0 if isinstance(what, DialogView) else 1),
    "who called is not told at the end": without(calls, "end_all"),
    "who answered a dialog that is stuck is not told": answered(
        lambda what: 0 if isinstance(what, DialogUnanswerable) else 1
    ),
    "the end never comes": without(step, "_finish_stop"),
}


@pytest.mark.parametrize("name", ASKS)
def test_an_ask_that_is_not_answered_once_is_seen(name: str, monkeypatch: Patch) -> None:
    laws = law_of("test_endless")
    ASKS[name](monkeypatch)
    assert is_red(laws.asks_at_the_end, laws=laws.totality())


# ── law 5: the end ───────────────────────────────────────────────────────────────────────────────────────────────────


def stop_within(seconds: float | None) -> Take:
    """The end has another deadline than was asked for, or none."""
    real = Transition.schedule

    def schedule(transition: Transition, key: str, asked: float, why: str) -> float:
        return real(transition, key, seconds if key == "stop" and seconds is not None else asked, why)

    def none(transition: Transition, key: str, asked: float, why: str) -> float:
        return transition.now if key == "stop" else real(transition, key, asked, why)

    return lambda patch: patch.setattr(Transition, "schedule", none if seconds is None else schedule)


def never_ordered(*kinds: type) -> Take:
    """These effects are left out."""
    real = Transition.emit

    def emit(transition: Transition, effect: Any) -> None:
        if not isinstance(effect, kinds):
            real(transition, effect)

    return lambda patch: patch.setattr(Transition, "emit", emit)


def the_end_waits_for_what_is_stuck(patch: Patch) -> None:
    """As if a dialog that nobody can answer might still be settled, with no deadline of the end's own."""
    real = step._finish_stop

    def finish(transition: Transition) -> None:
        if not transition.state.dialog_on:
            real(transition)

    patch.setattr(step, "_finish_stop", finish)


ENDS: Final[dict[str, tuple[Take, str, dict[str, Any]]]] = {
    "dialogs are left open": (
        without(dialogs, "settle_for_stop"),
        "test_a_pending_dialog_is_settled_before_the_end",
        {"profile": "headless-new", "kind": "confirm"},
    ),
    "the end has no deadline": (
        stop_within(None),
        "test_a_pending_dialog_is_settled_before_the_end",
        {"profile": "headless-new", "kind": "confirm"},
    ),
    "the end takes its time": (stop_within(1_000.0), "test_the_end_is_bounded_where_the_browser_is_silent", {}),
    "the end waits for what is stuck": (the_end_waits_for_what_is_stuck, "test_the_end_is_bounded_at_any_moment", {}),
    "nothing is resumed": (
        never_ordered(effects.Resume),
        "test_nothing_that_was_attached_to_waits_for_us",
        {"profile": "headless-new"},
    ),
    "what is out of scope is not resumed": (
        never_ordered(effects.Resume, effects.Detach),
        "test_what_is_not_ours_is_let_go",
        {"profile": "headless-new"},
    ),
    "nothing is detached": (
        never_ordered(effects.Detach),
        "test_what_is_not_ours_is_let_go",
        {"profile": "headless-new"},
    ),
    "nothing is let go": (
        never_ordered(effects.Release),
        "test_after_the_end_nothing_is_ours_and_what_comes_later_waits_for_nobody",
        {"profile": "headless-new"},
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_an_end_that_leaves_something_is_seen(name: str, monkeypatch: Patch) -> None:
    take, law, given = ENDS[name]
    take(monkeypatch)
    assert is_red(getattr(law_of("test_stop"), law), **given)
