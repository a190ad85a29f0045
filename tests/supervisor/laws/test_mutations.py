"""Laws 1 and 3 can fail: with a rule removed from the state machine, one of the scenes fails.

If two rules have the same effect (a removed frame is reported by its parent's session, and its own session ends),
removing only one of them goes unnoticed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from cdp_core.testing.fake.world import PROFILES
from cdp_core.testing.faults import Cut
from cdp_supervisor.sansio import calls, dialogs, frames, link, pages, step
from cdp_supervisor.sansio.dialog_table import TABLE, Move
from cdp_supervisor.sansio.event_params import ContextCreatedParams
from cdp_supervisor.sansio.inputs import Instant, LinkDown, LinkUp
from cdp_supervisor.sansio.state import initial_state
from support import scenarios, supervised_run

Patch = pytest.MonkeyPatch
NOTHING: Final = lambda *_args, **_named: None  # noqa: E731 - a rule that does nothing


def no_move(phase: str, trigger: str, move: Move | None = None) -> Callable[[Patch], None]:
    return lambda patch: patch.setitem(TABLE, (phase, trigger), move or Move())  # type: ignore[arg-type]


def ignoring(method: str) -> Callable[[Patch], None]:
    return lambda patch: patch.setitem(step.EVENTS, method, NOTHING)  # type: ignore[misc]


def without(module: Any, name: str, instead: Any = NOTHING) -> Callable[[Patch], None]:
    return lambda patch: patch.setattr(module, name, instead)


def of_a_known_frame(transition: Any, page: Any, session_id: Any, params: Any) -> None:
    if params.context.aux_data.frame_id in page.frames:
        CREATED(transition, page, session_id, params)


def ends_contexts(transition: Any, page: Any, session_id: Any, params: Any) -> bool:
    read_again = NAVIGATED(transition, page, session_id, params)
    now = transition.page(page.id)
    frames.contexts_cleared(transition, now, session_id)
    return read_again


CREATED: Final = frames.context_created
NAVIGATED: Final = frames.navigated

MUTATIONS: dict[str, Callable[[Patch], None]] = {
    "a navigation keeps the descendants": without(frames, "_below", lambda *_: []),
    "a navigation ends contexts": without(frames, "navigated", ends_contexts),
    "a context of an unknown frame is ignored": lambda patch: patch.setitem(
        step.EVENTS, "Runtime.executionContextCreated", step._page_rule(ContextCreatedParams, of_a_known_frame)
    ),
    "Page.frameDetached is ignored": ignoring("Page.frameDetached"),
    "Page.frameNavigated is ignored": ignoring("Page.frameNavigated"),
    "no frame tree is read": without(pages, "request_tree"),
    "a page that is gone stays": without(pages, "page_gone"),
    "a crash is ignored": without(pages, "_mark_crashed"),
    "Page.javascriptDialogClosed is ignored": ignoring("Page.javascriptDialogClosed"),
    "Page.javascriptDialogOpening is ignored": ignoring("Page.javascriptDialogOpening"),
    "no dialog is superseded": without(dialogs, "_supersede"),
    "every close is credited to our answer": no_move("answering", "closed", Move(settle="by", reason="answered")),
    "the reply to our answer is ignored": no_move("closed", "reply_ok", Move(settle="remote", reason="unconfirmed")),
    "a dialog is not orphaned by the end of its session": no_move("open", "session_lost"),
    "an unanswerable dialog stays when the page replies": no_move("unanswerable", "page_replies"),
    "a frame is removed with the link": without(pages, "ENDED_WITH_ANOTHER", frozenset()),
    "a page's tree decides about frames of other processes": without(
        frames,
        "_missing_from_tree",
        lambda transition, page, _attachment, found: [
            each.id
            for each in page.frames.values()
            if each.id not in found and each.session_id not in transition.state.sessions
        ],
    ),
    "tickets outlive their link": without(link, "_end_tickets"),
    "no caller gets BlockedByDialog": without(calls, "blocked_by_dialog"),
}
NOT_SHOWN_BY_PAGES: Final = {
    "tickets outlive their link",
    "the reply to our answer is ignored",
    "no caller gets BlockedByDialog",
}
"""These show in credits, answers and tickets, not in the truth of the pages; each has a test below."""


def first_failure() -> str:
    """Play every scene; return the first failure, or an empty string."""
    for name, scene in scenarios.SCENES.items():
        for profile in PROFILES:
            try:
                assert_scene({"profile": profile, **scene.how()})
            except AssertionError as wrong:
                return f"{name}: {wrong}"
    return ""


def assert_scene(how: dict[str, Any]) -> None:
    """Play a scene in its default order, in four other orders, and with three cuts.

    Check it once no message is on its way, and again after every deadline.
    """
    last = len(supervised_run.play(**how).run.delivered)
    cuts: list[dict[str, Any]] = [
        {"faults": [Cut(place, "out", "after", client=1)]} for place in (last, last - 3, last // 2)
    ]
    for variant in [{}, *cuts, *({"seed": seed} for seed in range(4))]:
        played = supervised_run.play(**variant, **how)
        supervised_run.check_quiet(played)
        played.pump.horizon = 2_000.0
        played.pump.run()
        supervised_run.check_quiet(played)


def test_no_scene_fails_without_a_mutation() -> None:
    assert not first_failure()


@pytest.mark.parametrize("name", sorted(set(MUTATIONS) - NOT_SHOWN_BY_PAGES))
def test_a_scene_fails_with_a_rule_removed(name: str, monkeypatch: Patch) -> None:
    MUTATIONS[name](monkeypatch)
    assert first_failure(), name


def test_credit_needs_the_reply_to_our_answer(monkeypatch: Patch) -> None:
    scene = scenarios.SCENES["a confirm, accepted by policy"]

    def credited() -> list[str]:
        return [each.closed_by for each in supervised_run.play(**scene.how()).engine.snapshot().recent_dialogs]

    assert credited() == ["auto_policy"]
    MUTATIONS["the reply to our answer is ignored"](monkeypatch)
    assert credited() == ["remote"]


def test_a_caller_gets_an_error_for_the_dialog_that_blocks_it(monkeypatch: Patch) -> None:
    scene = scenarios.SCENES["a call that a dialog stops"]

    def first_error() -> str:
        answers = supervised_run.play(**scene.how()).pump.supervised.answers
        return type(answers[min(answers)].error).__name__

    assert first_error() == "BlockedByDialog"
    MUTATIONS["no caller gets BlockedByDialog"](monkeypatch)
    assert first_error() != "BlockedByDialog"


def test_a_ticket_ends_with_its_link(monkeypatch: Patch) -> None:
    """Else the state would grow with every link."""

    def left() -> int:
        state = initial_state()
        for number, kind in enumerate((LinkUp, LinkDown)):
            fields = {"reason": "cut"} if kind is LinkDown else {}
            at = Instant(mono=float(number))
            state = step.step(state, kind(at=at, generation=1, **fields)).state  # type: ignore[arg-type]
        return len(state.tickets)

    assert left() == 0
    monkeypatch.setattr(link, "_end_tickets", NOTHING)
    assert left() > 0
