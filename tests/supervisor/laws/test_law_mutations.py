"""Laws 2, 4 and 5 can fail: with a rule removed from the state machine, the law's own test fails.

`test_mutations.py` does this for laws 1 and 3, scene by scene. Here each law runs unchanged, from a copy of its
module, with the same examples each time; the first failure ends it, and nothing is shrunk.
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
from cdp_supervisor.sansio import calls, dialogs, effects, frames, step, stopping
from cdp_supervisor.sansio.dialog_view import DialogView
from cdp_supervisor.sansio.transition import Transition
from support.module_copies import copy_of

HERE: Final = Path(__file__).parent
Patch = pytest.MonkeyPatch
Take = Callable[[Patch], None]
NOTHING: Final = lambda *_args, **_named: None  # noqa: E731 - a rule that does nothing
ENOUGH: Final = 3_000
"""Examples per law; only a law that passes runs all of them."""


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
settings.register_profile("few mutations", parent=settings.get_profile("mutations"), max_examples=200)


@pytest.fixture(autouse=True)
def stop_at_the_first_failure() -> Iterator[None]:
    """Load the profile: a law takes the settings that are active when its module is imported."""
    before = settings.get_current_profile_name()
    settings.load_profile("mutations")
    yield
    settings.load_profile(before)


def law_of(module: str) -> ModuleType:
    """Return a copy of a test module, which a test may change."""
    return copy_of(HERE / f"{module}.py")


def fails(law: Callable[..., Any], **given: Any) -> bool:
    """Return True if a law fails, by an assertion or because the state machine raises."""
    try:
        law(**given)
    except Exception:
        return True
    return False


def without(module: Any, name: str, instead: Any = NOTHING) -> Take:
    return lambda patch: patch.setattr(module, name, instead)


# ── law 2: confluence ────────────────────────────────────────────────────────────────────────────────────────────────


def the_type_of_a_dialog_depends_on_earlier_inputs(patch: Patch) -> None:
    real = dialogs.opened

    def opened(transition: Transition, page: Any, session_id: Any, params: Any) -> Any:
        kind = params.type if transition.state.sequence % 2 else "alert"
        return real(transition, page, session_id, replace(params, type=kind))

    patch.setattr(dialogs, "opened", opened)


def the_first_url_of_a_frame_is_kept(patch: Patch) -> None:
    real = frames._with_document

    def with_document(frame: Any, *how: Any) -> Any:
        made = real(frame, *how)
        return replace(made, url=frame.url or made.url)

    patch.setattr(frames, "_with_document", with_document)


CONFLUENCE: Final[dict[str, Take]] = {
    "the type of a dialog depends on earlier inputs": the_type_of_a_dialog_depends_on_earlier_inputs,
    "the first URL of a frame is kept": the_first_url_of_a_frame_is_kept,
}


@pytest.mark.parametrize("name", CONFLUENCE)
def test_confluence_fails_if_the_order_of_events_counts(name: str, monkeypatch: Patch) -> None:
    law = law_of("test_laws").test_two_orders_with_the_same_truth_give_the_same_snapshot
    CONFLUENCE[name](monkeypatch)
    with pytest.raises(AssertionError):  # and not because the changed rule cannot run
        law()


def test_confluence_holds() -> None:
    """Few examples: test_laws.py runs many, and this checks that the copy of the law can pass."""
    settings.load_profile("few mutations")
    assert not fails(law_of("test_laws").test_two_orders_with_the_same_truth_give_the_same_snapshot)


# ── law 4: totality ──────────────────────────────────────────────────────────────────────────────────────────────────

RAW: Final = lambda given, name, *_most: given.get(name, "")  # noqa: E731 - a field that is not checked


@pytest.mark.parametrize("name", ["text", "member", "members"])
def test_totality_fails_if_fields_are_read_unchecked(name: str, monkeypatch: Patch) -> None:
    laws = law_of("test_endless")
    for key, module in sorted(sys.modules.items()):
        if key.startswith("cdp_supervisor.sansio.") and hasattr(module, name):
            monkeypatch.setattr(module, name, RAW)
    checks = (laws.odd_events, laws.odd_results)
    assert any(fails(each, laws=laws.totality()) for each in checks)


TIMES: Final[dict[str, Take]] = {
    "no moment is too late": lambda patch: patch.setattr(step, "inf", math.nan),
}


@pytest.mark.parametrize("name", TIMES)
def test_totality_fails_if_a_deadline_is_not_in_the_future(name: str, monkeypatch: Patch) -> None:
    law = law_of("test_step_totality").test_any_inputs_in_any_order
    TIMES[name](monkeypatch)
    assert fails(law)


def test_a_flood_fails_if_cancelled_deadlines_are_kept(monkeypatch: Patch) -> None:
    endless = law_of("test_endless")
    monkeypatch.setattr(Transition, "cancel", NOTHING)
    assert fails(endless.flood, kind=endless.dialogs_that_close, laws=endless.totality(), many=200)


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
    """Run `step` without this limit, while the law still checks it."""
    real = law.step

    def without_limit(state: Any, input: Any) -> Any:
        wide = attrs.evolve(state.limits, **{limit: 10**6})
        done = real(replace(state, limits=wide), input)
        return replace(done, state=replace(done.state, limits=state.limits))

    law.step = without_limit  # type: ignore[attr-defined]


@pytest.mark.parametrize("limit", LIMITS)
def test_a_flood_fails_if_a_limit_is_not_kept(limit: str) -> None:
    endless = law_of("test_endless")
    laws = endless.totality()
    unlimited(laws, limit)
    assert any(fails(endless.flood, kind=each, laws=laws) for each in endless.FLOODS)


def test_no_flood_fails_without_a_mutation() -> None:
    endless = law_of("test_endless")
    assert not any(fails(endless.flood, kind=each, laws=endless.totality()) for each in endless.FLOODS)


def answered(how: Callable[[Any], int]) -> Take:
    """Answer each request as often as `how` returns for its value or error."""
    real = Transition.answer

    def answer(
        transition: Transition, request_id: int | None, value: Any = None, *, error: Exception | None = None
    ) -> None:
        for _ in range(how(error if error is not None else value)):
            real(transition, request_id, value, error=error)

    return lambda patch: patch.setattr(Transition, "answer", answer)


REQUESTS: Final[dict[str, Take]] = {
    "every request is answered twice": answered(lambda _what: 2),
    "a refusal is answered twice": answered(lambda what: 2 if isinstance(what, DialogAnswerRefused) else 1),
    "open requests get no answer at the stop": answered(lambda what: 0 if isinstance(what, SupervisorStopped) else 1),
    "a response gets no answer at its dialog's end": answered(lambda what: 0 if isinstance(what, DialogView) else 1),
    "open calls get no answer at the stop": without(calls, "end_all"),
    "a response to an unanswerable dialog gets no answer": answered(
        lambda what: 0 if isinstance(what, DialogUnanswerable) else 1
    ),
    "the stop never ends": without(stopping, "go_on"),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_the_law_fails_if_a_request_is_not_answered_once(name: str, monkeypatch: Patch) -> None:
    laws = law_of("test_endless")
    REQUESTS[name](monkeypatch)
    assert fails(laws.requests_at_the_end, laws=laws.totality())


# ── law 5: the stop ──────────────────────────────────────────────────────────────────────────────────────────────────


def stop_within(seconds: float | None) -> Take:
    """Give the stop another time limit than was requested; None for no limit."""
    real = Transition.schedule

    def schedule(transition: Transition, key: str, asked: float, why: str) -> float:
        return real(transition, key, seconds if key == ("stop", "") and seconds is not None else asked, why)

    def none(transition: Transition, key: str, asked: float, why: str) -> float:
        return transition.now if key == ("stop", "") else real(transition, key, asked, why)

    return lambda patch: patch.setattr(Transition, "schedule", none if seconds is None else schedule)


def never_emitted(*kinds: type) -> Take:
    """Leave out the effects of these types."""
    real = Transition.emit

    def emit(transition: Transition, effect: Any) -> None:
        if not isinstance(effect, kinds):
            real(transition, effect)

    return lambda patch: patch.setattr(Transition, "emit", emit)


def the_stop_waits_for_unanswerable_dialogs(patch: Patch) -> None:
    """Finish a stop only once no dialog is pending, without a time limit."""
    real = stopping.go_on

    def finish(transition: Transition) -> None:
        if not transition.state.dialog_on:
            real(transition)

    patch.setattr(stopping, "go_on", finish)


ENDS: Final[dict[str, tuple[Take, str, dict[str, Any]]]] = {
    "dialogs are left open": (
        without(dialogs, "settle_for_stop"),
        "test_a_stop_settles_a_pending_dialog",
        {"profile": "headless-new", "kind": "confirm"},
    ),
    "the stop has no deadline": (
        stop_within(None),
        "test_a_stop_settles_a_pending_dialog",
        {"profile": "headless-new", "kind": "confirm"},
    ),
    "the stop takes too long": (stop_within(1_000.0), "test_a_stop_is_bounded_if_the_browser_does_not_answer", {}),
    "the stop waits for unanswerable dialogs": (
        the_stop_waits_for_unanswerable_dialogs,
        "test_a_stop_is_bounded_at_any_moment",
        {},
    ),
    "nothing is resumed": (
        never_emitted(effects.Resume),
        "test_no_attached_target_stays_paused",
        {"profile": "headless-new"},
    ),
    "targets out of scope are not resumed": (
        never_emitted(effects.Resume, effects.Detach),
        "test_a_target_out_of_scope_is_detached_and_resumed",
        {"profile": "headless-new"},
    ),
    "nothing is detached": (
        never_emitted(effects.Detach),
        "test_a_target_out_of_scope_is_detached_and_resumed",
        {"profile": "headless-new"},
    ),
    "nothing is released": (
        never_emitted(effects.Release),
        "test_after_the_stop_no_session_is_left_and_new_targets_are_not_paused",
        {"profile": "headless-new"},
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_law_of_the_stop_fails_with_a_rule_removed(name: str, monkeypatch: Patch) -> None:
    take, law, given = ENDS[name]
    take(monkeypatch)
    assert fails(getattr(law_of("test_stop"), law), **given)
