"""Dialogs over the driver: every answer and its refusals, policies, the watchdog, the remedies."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from cdp_core import InvalidArgument
from cdp_core.testing import FakeBrowser
from cdp_core.testing.faults import Refuse
from cdp_core.testing.steps import Dialog, Popup
from cdp_supervisor import (
    AmbiguousDialog,
    BlockedByDialog,
    DialogAnswerRefused,
    DialogUnanswerable,
    InvalidPolicy,
    NoPendingDialog,
    Policy,
    RespondToDialog,
    Scope,
    Snapshot,
    SupervisorStopped,
    UnknownDialog,
    open_supervisor,
)
from support.shop import Site

SHOP = "https://shop.example/"


def pending(snapshot: Snapshot) -> list[tuple[str, str]]:
    return [(dialog.id, dialog.type) for dialog in snapshot.pending_dialogs]


def ended(snapshot: Snapshot) -> list[tuple[str, str, str]]:
    return [(dialog.id, dialog.closed_by, dialog.reason) for dialog in snapshot.recent_dialogs]


# ── answers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("expression", "action", "text", "accepted"),
    [
        ("ask()", "accept", "Ada", True),
        ("ask()", "accept", None, True),
        ("ask()", "dismiss", None, False),
        ("sure()", "accept", None, True),
        ("tell()", "dismiss", None, False),
    ],
)
async def test_an_answer_is_confirmed(
    site: Any, bounded: trio.abc.Clock, expression: str, action: Any, text: str | None, accepted: bool
) -> None:
    async with open_supervisor(site.dial) as supervisor:
        with pytest.raises(BlockedByDialog) as blocked:
            await supervisor.evaluate(expression)
        view = await supervisor.respond_to_dialog(action, prompt_text=text, dialog_id="d-1")
        assert (view.id, view.closed_by, view.reason, view.answerable) == ("d-1", "agent", "answered", False)
        await blocked.value.call.wait()
        (answer,) = site.sent("Page.handleJavaScriptDialog")
        wanted = "guest" if expression == "ask()" and action == "accept" and text is None else text
        assert answer.params.get("promptText") == wanted
        (truth,) = site.fake.truth().dialogs
        assert (truth.accepted, truth.closed_by) == (accepted, 1)
        assert ended(supervisor.snapshot()) == [("d-1", "agent", "answered")]
        assert supervisor.statistics()["closed_by_agent"] == 1


async def test_invalid_answers_are_refused(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial) as supervisor:
        with pytest.raises(NoPendingDialog):
            await supervisor.respond_to_dialog("accept")
        target = supervisor.snapshot().pages[0].target_id
        site.fake.play(Popup("other", f"{SHOP}other", noopener=True))
        await supervisor.wait_for(lambda snapshot: len(snapshot.pages) == 2)
        with pytest.raises(BlockedByDialog):
            await supervisor.evaluate("tell()", target_id=target)
        with pytest.raises(InvalidArgument, match="accept, dismiss"):
            await supervisor.respond_to_dialog("close")  # type: ignore[arg-type]
        for wrong in ({"prompt_text": 5}, {"dialog_id": 1}, {"prompt_text": "x"}):
            with pytest.raises(InvalidArgument):
                await supervisor.respond_to_dialog("accept", **wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidArgument):
            await supervisor.respond_to_dialog(["accept"])  # type: ignore[arg-type]
        with pytest.raises(UnknownDialog) as unknown:
            await supervisor.respond_to_dialog("accept", dialog_id="d-7")
        assert unknown.value.known == ("d-1",)
        assert not site.sent("Page.handleJavaScriptDialog")
        site.fake.play(Dialog("confirm", "too?", frame="other"))
        await supervisor.wait_for(lambda snapshot: len(snapshot.pending_dialogs) == 2)
        with pytest.raises(AmbiguousDialog) as ambiguous:
            await supervisor.respond_to_dialog("accept")
        assert ambiguous.value.candidates == ("d-1", "d-2")
        await supervisor.respond_to_dialog("accept", dialog_id="d-2")
        assert pending(supervisor.snapshot()) == [("d-1", "alert")]
        # two answers at once: the second one is refused because the first is under way
        _, first = supervisor._driver.request_nowait(RespondToDialog(action="accept"))
        with pytest.raises(DialogAnswerRefused):
            await supervisor.respond_to_dialog("dismiss")
        with trio.fail_after(5):
            await first.answered.wait()
        assert first.answer is not None
        assert first.answer.value.closed_by == "agent"
    with pytest.raises(SupervisorStopped):
        await supervisor.respond_to_dialog("accept")
    site.fake.assert_clean()


async def test_an_answer_that_the_browser_refuses(bounded: trio.abc.Clock, site: Any) -> None:
    site = Site(
        FakeBrowser(site.fake.script, faults=[Refuse("Page.handleJavaScriptDialog", code=-32602, message="No dialog")])
    )
    async with open_supervisor(site.dial) as supervisor:
        with pytest.raises(BlockedByDialog):
            await supervisor.evaluate("tell()")
        with pytest.raises(DialogUnanswerable) as unanswerable:
            await supervisor.respond_to_dialog("accept")
        assert (unanswerable.value.why, unanswerable.value.remedies[0]) == ("unseen", "same_document")
        with pytest.raises(DialogUnanswerable):
            await supervisor.respond_to_dialog("accept")
        assert supervisor.snapshot().pending_dialogs[0].why == "unseen"
        await supervisor.recover(supervisor.snapshot().pages[0].target_id, "navigate")
        await supervisor.wait_for(lambda snapshot: not snapshot.pending_dialogs)


async def test_observed_pages_are_left_alone(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial, scope=Scope.browser().observed(), policy=Policy("auto_accept")) as supervisor:
        with pytest.raises(BlockedByDialog):
            await supervisor.evaluate("tell()")
        await trio.sleep(1000)
        assert pending(supervisor.snapshot()) == [("d-1", "alert")]
        with pytest.raises(InvalidArgument, match="observes"):
            await supervisor.respond_to_dialog("accept")
        with pytest.raises(InvalidArgument, match="observes"):
            await supervisor.recover(supervisor.snapshot().pages[0].target_id, "close")
    assert supervisor.stop_report.left == ("dialog d-1 (open)",)
    assert not site.sent("Page.handleJavaScriptDialog")


# ── policies ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("policy", "expression", "accepted", "text"),
    [
        (Policy("auto_accept"), "tell()", True, None),
        (Policy("auto_dismiss"), "sure()", False, None),
        (Policy("auto_accept", prompt_text="me"), "ask()", True, "me"),
        (Policy({"prompt": "auto_accept"}), "ask()", True, "guest"),
        (Policy.unattended(), "tell()", True, None),
        (Policy.unattended(), "sure()", False, None),
        (Policy.unattended(), "ask()", False, None),
    ],
    ids=str,
)
async def test_a_policy_answers(
    site: Any, bounded: trio.abc.Clock, policy: Policy, expression: str, accepted: bool, text: str | None
) -> None:
    async with open_supervisor(site.dial, policy=policy) as supervisor:
        await supervisor.call("Runtime.evaluate", {"expression": expression}, when_blocked="wait")
        (answer,) = site.sent("Page.handleJavaScriptDialog")
        assert (answer.params["accept"], answer.params.get("promptText")) == (accepted, text)
        assert ended(supervisor.snapshot()) == [("d-1", "auto_policy", "answered")]


async def test_a_type_without_a_policy_waits(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial, policy=Policy({"alert": "auto_accept"})) as supervisor:
        with pytest.raises(BlockedByDialog) as blocked:
            await supervisor.evaluate("both()")  # the policy waits while both are open, and answers one of them later
        assert await supervisor.wait_for(lambda snapshot: pending(snapshot) == [("d-2", "confirm")])
        await supervisor.set_policy(Policy("auto_dismiss"))  # a new policy applies to an open dialog too
        assert await blocked.value.call.wait() == 1
        assert [each[1] for each in ended(supervisor.snapshot())] == ["auto_policy", "auto_policy"]
        with pytest.raises(InvalidArgument):
            await supervisor.set_policy("auto_accept")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Policy("never"),  # type: ignore[arg-type]
        lambda: Policy({"confirmation": "auto_accept"}),  # type: ignore[dict-item]
        lambda: Policy(dialog_timeout=-1),
        lambda: Policy(dialog_timeout=float("nan")),
        lambda: Policy.from_mapping({"dialogs": "auto_accept"}),
        lambda: Policy.from_mapping({"dialog_policy": "auto"}),
        lambda: open_supervisor("ws://127.0.0.1:9", policy="auto_accept"),  # type: ignore[arg-type]
        lambda: open_supervisor("ws://127.0.0.1:9", scope="browser"),  # type: ignore[arg-type]
    ],
)
async def test_invalid_policies_are_refused(wrong: Any) -> None:
    with pytest.raises(InvalidPolicy):
        async with wrong():
            pass


# ── deadlines ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_watchdog_dismisses_after_300_seconds(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial) as supervisor:
        with pytest.raises(BlockedByDialog):
            await supervisor.evaluate("sure()")
        (dialog,) = supervisor.snapshot().pending_dialogs
        begun = trio.current_time()
        assert dialog.deadline == pytest.approx(begun + 300, abs=0.1)
        snapshot = await supervisor.wait_for(lambda snapshot: bool(snapshot.recent_dialogs))
        assert trio.current_time() - begun == pytest.approx(300, abs=0.1)
        assert ended(snapshot) == [("d-1", "watchdog", "answered")]
        assert [each.accepted for each in site.fake.truth().dialogs] == [False]


async def test_the_watchdog_survives_a_reconnect(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial) as supervisor:
        with pytest.raises(BlockedByDialog):
            await supervisor.evaluate("sure()")
        begun = trio.current_time()
        await trio.sleep(100)
        site.fake.cut()
        await supervisor.wait_for(lambda snapshot: snapshot.link.generation == 2 and snapshot.active)
        (dialog,) = supervisor.snapshot().pending_dialogs
        assert (dialog.answerable, dialog.why, dialog.overdue) == (False, "orphaned", False)
        with pytest.raises(DialogUnanswerable) as unanswerable:
            await supervisor.respond_to_dialog("accept")
        assert "same_document" in unanswerable.value.remedies
        overdue = await supervisor.wait_for(lambda snapshot: snapshot.pending_dialogs[0].overdue)
        assert trio.current_time() - begun == pytest.approx(300, abs=0.1)
        await supervisor.recover(overdue.pages[0].target_id, "reload")
        snapshot = await supervisor.wait_for(lambda snapshot: not snapshot.pending_dialogs)
        assert [each[1] for each in ended(snapshot)] == ["remote"]
    site.fake.assert_clean()


@pytest.mark.parametrize("remedy", ["same_document", "navigate", "reload", "close"])
async def test_each_remedy_frees_the_page(site: Any, bounded: trio.abc.Clock, remedy: Any) -> None:
    async with open_supervisor(site.dial) as supervisor:
        await site.shop(supervisor)
        with pytest.raises(BlockedByDialog):
            await supervisor.evaluate("ask()")
        site.fake.cut()
        snapshot = await supervisor.wait_for(
            lambda snapshot: snapshot.link.generation == 2 and snapshot.active and bool(snapshot.pages[0].session_id)
        )
        target = snapshot.pages[0].target_id
        assert supervisor.health().state == "blocked_by_dialog"
        with pytest.raises(InvalidArgument, match="same_document"):
            await supervisor.recover(target, "hope")  # type: ignore[arg-type]
        await supervisor.recover(target, remedy)
        snapshot = await supervisor.wait_for(lambda snapshot: not snapshot.pending_dialogs)
        assert [each[1] for each in ended(snapshot)] == ["remote"]
        if remedy == "close":
            await supervisor.wait_for(lambda snapshot: not snapshot.pages)
        else:
            assert await supervisor.evaluate("1 + 1") == 2
            await supervisor.wait_for(lambda snapshot: snapshot.pages[0].health.state == "ok")
    site.fake.assert_clean()


async def test_the_end_settles_open_dialogs(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial) as supervisor:
        with pytest.raises(BlockedByDialog):
            await supervisor.evaluate("sure()")
    assert supervisor.stop_report.left == ()
    assert [each.accepted for each in site.fake.truth().dialogs] == [False]
    assert ended(supervisor.snapshot()) == [("d-1", "auto_policy", "answered")]
    site.fake.assert_clean()


async def test_the_end_is_bounded_and_reports_open_dialogs(site: Any, bounded: trio.abc.Clock) -> None:
    asked: list[str] = []
    async with trio.open_nursery() as nursery:
        async with open_supervisor(site.dial) as supervisor:
            with pytest.raises(BlockedByDialog):
                await supervisor.evaluate("sure()")
            site.fake.cut()
            await supervisor.wait_for(lambda snapshot: snapshot.link.phase == "down")

            @nursery.start_soon
            async def _request_received() -> None:
                with pytest.raises(SupervisorStopped):
                    await supervisor.wait_for(lambda snapshot: False)
                asked.append("ended")

            begun = trio.current_time()
        assert trio.current_time() - begun <= 2.0
        assert supervisor.stop_report.left == ("the link is down", "dialog d-1 (orphaned)")
    assert asked == ["ended"]
