"""Each law can fail: a rule is taken out of the machine, and a scene shows it.

Where two rules say the same (a removed frame is told of by its parent, and its session ends), one alone is not missed.
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


def deaf_to(method: str) -> Callable[[Patch], None]:
    return lambda patch: patch.setitem(step.EVENTS, method, NOTHING)  # type: ignore[misc]


def without(module: Any, name: str, instead: Any = NOTHING) -> Callable[[Patch], None]:
    return lambda patch: patch.setattr(module, name, instead)


def of_a_known_frame(transition: Any, page: Any, session_id: Any, said: Any) -> None:
    if said.context.aux_data.frame_id in page.frames:
        CREATED(transition, page, session_id, said)


def ends_contexts(transition: Any, page: Any, session_id: Any, said: Any) -> bool:
    read_anew = NAVIGATED(transition, page, session_id, said)
    now = transition.page(page.id)
    frames.contexts_cleared(transition, now, session_id)
    return read_anew


CREATED: Final = frames.context_created
NAVIGATED: Final = frames.navigated

MUTATIONS: dict[str, Callable[[Patch], None]] = {
    "descendants stay at a navigation": without(frames, "_below", lambda *_: []),
    "a navigation ends contexts": without(frames, "navigated", ends_contexts),
    "a context is there for a known frame alone": lambda patch: patch.setitem(
        step.EVENTS, "Runtime.executionContextCreated", step._page_rule(ContextCreatedParams, of_a_known_frame)
    ),
    "frames that detach stay": deaf_to("Page.frameDetached"),
    "an address that is pushed is not read, nor is a document": deaf_to("Page.frameNavigated"),
    "no tree is asked for": without(pages, "request_tree"),
    "a page that is gone stays": without(pages, "page_gone"),
    "a crash is not noticed": without(pages, "_mark_crashed"),
    "a closing is not believed": deaf_to("Page.javascriptDialogClosed"),
    "an opening is lost": deaf_to("Page.javascriptDialogOpening"),
    "nobody is superseded": without(dialogs, "_supersede"),
    "an opening is taken for ours when it closes": no_move("answering", "closed", Move(settle="by", reason="answered")),
    "a reply to our answer is not waited for": no_move(
        "closed", "reply_ok", Move(settle="remote", reason="unconfirmed")
    ),
    "a dialog is not orphaned with its session": no_move("open", "session_lost"),
    "what is stuck stays when the page replies": no_move("unanswerable", "page_replies"),
    "a frame is gone with the link": without(pages, "ENDED_WITH_ANOTHER", frozenset()),
    "the tree of a page is believed about other processes": without(
        frames,
        "_missing_from_tree",
        lambda transition, page, _attachment, found: [
            each.id
            for each in page.frames.values()
            if each.id not in found and each.session_id not in transition.state.sessions
        ],
    ),
    "tickets outlive their link": without(link, "_end_tickets"),
    "nobody hears of a dialog that stops a call": without(calls, "blocked_by_dialog"),
}
SILENT: Final = {
    "tickets outlive their link",
    "a reply to our answer is not waited for",
    "nobody hears of a dialog that stops a call",
}
"""Found by what is credited, and by what a caller is told, not by the truth of the pages."""


def faulty() -> str:
    """The first scene in which a law is broken; empty where none is."""
    for name, scene in scenarios.SCENES.items():
        for profile in PROFILES:
            try:
                try_scene({"profile": profile, **scene.how()})
            except AssertionError as wrong:
                return f"{name}: {wrong}"
    return ""


def try_scene(how: dict[str, Any]) -> None:
    """In its order, in a few others, and with its link cut in a few places: once it is quiet, and at the end of all time."""
    last = len(supervised_run.play(**how).run.delivered)
    cuts: list[dict[str, Any]] = [
        {"faults": [Cut(place, "out", "after", client=1)]} for place in (last, last - 3, last // 2)
    ]
    for way in [{}, *cuts, *({"seed": seed} for seed in range(4))]:
        played = supervised_run.play(**way, **how)
        supervised_run.check_quiet(played)
        played.pump.horizon = 2_000.0
        played.pump.run()
        supervised_run.check_quiet(played)


def test_the_machine_as_it_is_breaks_none() -> None:
    assert not faulty()


@pytest.mark.parametrize("name", sorted(set(MUTATIONS) - SILENT))
def test_a_rule_that_is_taken_out_is_missed(name: str, monkeypatch: Patch) -> None:
    MUTATIONS[name](monkeypatch)
    assert faulty(), name


def test_who_answered_is_credited(monkeypatch: Patch) -> None:
    scene = scenarios.SCENES["a confirm, accepted by policy"]

    def credited() -> list[str]:
        return [each.closed_by for each in supervised_run.play(**scene.how()).engine.snapshot().recent_dialogs]

    assert credited() == ["auto_policy"]
    MUTATIONS["a reply to our answer is not waited for"](monkeypatch)
    assert credited() == ["remote"]


def test_a_caller_hears_of_the_dialog(monkeypatch: Patch) -> None:
    scene = scenarios.SCENES["a call that a dialog stops"]

    def first() -> str:
        answers = supervised_run.play(**scene.how()).pump.supervised.answers
        return type(answers[min(answers)].error).__name__

    assert first() == "BlockedByDialog"
    MUTATIONS["nobody hears of a dialog that stops a call"](monkeypatch)
    assert first() != "BlockedByDialog"


def test_a_ticket_ends_with_its_link(monkeypatch: Patch) -> None:
    """Without it the state would grow with every link."""

    def left() -> int:
        state = initial_state()
        for number, given in enumerate((LinkUp, LinkDown)):
            named = {"reason": "cut"} if given is LinkDown else {}
            at = Instant(mono=float(number))
            state = step.step(state, given(at=at, generation=1, **named)).state  # type: ignore[arg-type]
        return len(state.tickets)

    assert left() == 0
    monkeypatch.setattr(link, "_end_tickets", NOTHING)
    assert left() > 0
