"""A shared browser: nothing is paused or resumed, and dialogs are left to others at first."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_supervisor.errors import BlockedByDialog
from cdp_supervisor.sansio.effects import AutoAttach, Release, Resume
from cdp_supervisor.sansio.options import Policy, Scope
from cdp_supervisor.sansio.requests import Stop
from support import folded_machine
from support.folded_machine import Fold, call, error_of

ATTACH, HANDLE = "Target.attachToTarget", "Page.handleJavaScriptDialog"
SHARED = Scope.browser().shared()


def shared(**options: Any) -> Fold:
    return Fold(**{"scope": SHARED, **options}).up()


def created(fold: Fold, target: str, **info: Any) -> Fold:
    return fold.event("Target.targetCreated", targetInfo={"targetId": target, "type": "page", **info})


def attached(fold: Fold, target: str = "P") -> Fold:
    """Create a page, and open the session that the supervisor asked for."""
    created(fold, target)
    fold.attach(target)
    return fold.reply(ATTACH, {"sessionId": f"s-{target}"})


def orders(fold: Fold, kind: type) -> list[Any]:
    return [each for each in fold.orders if isinstance(each, kind)]


# ── attaching ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_pages_are_attached_by_discovery_and_nothing_is_paused_or_resumed() -> None:
    fold = attached(shared())
    assert [each.params for each in fold.all_sent(ATTACH)] == [{"targetId": "P", "flatten": True}]
    fold.attach("F", "iframe", of="s-P", parentFrameId="P")
    assert orders(fold, AutoAttach) == [
        AutoAttach(session_id="s-P", wait=False),
        AutoAttach(session_id="s-F", wait=False),
    ]
    assert not orders(fold, Resume)
    assert fold.state.opened == ("s-P",)


def test_pages_that_are_there_already_are_attached_once() -> None:
    fold = shared()
    created(fold, "P")
    infos = [{"targetId": each, "type": "page"} for each in ("P", "Q")]
    fold.reply("Target.getTargets", {"targetInfos": infos})
    assert [each.params["targetId"] for each in fold.all_sent(ATTACH)] == ["P", "Q"]
    attached(fold, "R")
    created(fold, "R")
    assert len(fold.all_sent(ATTACH)) == 3


@pytest.mark.parametrize(
    ("scope", "info"),
    [
        (SHARED, {"type": "iframe"}),
        (SHARED, {"subtype": "prerender"}),
        (SHARED, {"targetId": ""}),
        (Scope.targets("X").shared(), {}),
        (Scope.context("C").shared(), {"browserContextId": "D"}),
        (Scope.browser(), {}),
    ],
)
def test_other_targets_are_not_attached(scope: Scope, info: Any) -> None:
    fold = shared(scope=scope)
    created(fold, info.pop("targetId", "P"), **info)
    assert not fold.all_sent(ATTACH)


def test_nothing_is_attached_by_a_supervisor_that_adopts_or_stops() -> None:
    adopting = shared(adopting=True)
    created(adopting, "P")
    assert not adopting.all_sent(ATTACH)
    stopping = attached(shared())
    stopping.opening()
    stopping.ask(Stop(timeout=9.0))
    created(stopping, "Q")
    assert len(stopping.all_sent(ATTACH)) == 1


def test_a_session_out_of_scope_is_detached_and_not_resumed() -> None:
    fold = shared(scope=Scope.targets("X").shared())
    fold.attach("P")
    assert not orders(fold, Resume)
    assert "s-P" not in fold.state.sessions


def test_a_stop_detaches_the_sessions_and_leaves_the_root_alone() -> None:
    fold = attached(shared())
    fold.ask(Stop())
    assert orders(fold, Release) == [Release(sessions=("s-P",), root=False)]


# ── dialogs ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_policy_answers_a_dialog_that_no_other_client_answered_in_the_grace() -> None:
    fold = attached(shared(policy=Policy("auto_accept")))
    request_id = call(fold, target_id="P")
    fold.opening()
    fold.passes(0.9)
    assert not fold.all_sent(HANDLE)
    assert request_id not in fold.answers
    fold.passes(0.1)
    assert len(fold.all_sent(HANDLE)) == 1
    assert fold.dialog("d-1").by == "auto_policy"


def test_a_dialog_that_another_client_answers_in_the_grace_is_left_to_it() -> None:
    fold = attached(shared(policy=Policy("auto_dismiss"), scope=Scope.browser().shared(grace=3.0)))
    fold.opening()
    fold.passes(2.9)
    fold.closing(result=True)
    fold.passes(9.0)
    assert not fold.all_sent(HANDLE)
    assert fold.end_of("d-1") == ("remote", "other_client")


def test_a_policy_that_waits_for_a_caller_raises_at_once_and_keeps_its_own_time() -> None:
    fold = attached(shared(policy=Policy(dialog_timeout=20.0)))
    request_id = call(fold, target_id="P")
    fold.opening()
    assert isinstance(error_of(fold, request_id), BlockedByDialog)
    fold.passes(19.0)
    assert not fold.all_sent(HANDLE)
    fold.passes(1.0)
    assert fold.dialog("d-1").by == "watchdog"


def test_observing_wins_over_sharing() -> None:
    fold = attached(shared(policy=Policy("auto_accept"), scope=Scope.browser().shared().observed()))
    fold.opening()
    fold.passes(9.0)
    assert not fold.all_sent(HANDLE)


def test_an_invalid_grace_is_refused_and_the_scope_has_a_json_form() -> None:
    for grace in (0, -1.0, float("nan"), "1"):
        with pytest.raises(ValueError, match="grace must be a positive number of seconds"):
            Scope.browser().shared(grace=grace)
    assert SHARED.to_json() == {"targets": None, "context": None, "observing": False, "sharing": True, "grace": 1.0}
    assert "grace" not in Scope.browser().to_json()
    assert folded_machine.Fold(scope=SHARED).state.scope.grace == 1.0
