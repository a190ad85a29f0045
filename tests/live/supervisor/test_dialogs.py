"""Dialogs that can be answered: which page they belong to, what the page gets, and `closed_by`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio

from cdp_supervisor import BlockedByDialog, DialogAnswerRefused, NoPendingDialog, Policy

pytestmark = pytest.mark.chromium

Pages = Callable[..., str]
THERE = "localhost"

ASKED = (
    ("alert('a')", "accept", None, None),
    ("confirm('c')", "accept", None, True),
    ("confirm('c')", "dismiss", None, False),
    ("prompt('p', 'guest')", "accept", "Ada", "Ada"),
    ("prompt('p', 'guest')", "accept", None, "guest"),
    ("prompt('p', 'guest')", "dismiss", None, None),
)


async def value_of(reply: Any) -> Any:
    """Return the value of a script."""
    with trio.fail_after(20):
        return (await reply.wait())["result"].get("value")


async def test_an_agent_answers_each_type(stage: Any, sites: Pages) -> None:
    target = await stage.open(sites("<p>quiet"))
    for expression, action, prompt_text, value in ASKED:
        reply = await stage.start(target, expression)
        dialog = await stage.dialog()
        assert dialog.answerable
        assert (dialog.type, dialog.target_id) == (expression.partition("(")[0], target)
        assert dialog.default_prompt == ("guest" if dialog.type == "prompt" else "")
        answered = await stage.sup.respond_to_dialog(action, prompt_text=prompt_text)
        assert (answered.id, answered.closed_by, answered.reason) == (dialog.id, "agent", "answered")
        assert await value_of(reply) == value
    assert stage.sup.snapshot().pending_dialogs == ()
    assert stage.page(target).health.state == "ok"
    with pytest.raises(NoPendingDialog):
        await stage.sup.respond_to_dialog("accept")


@pytest.mark.parametrize(
    ("policy", "values"),
    [
        (Policy.unattended(), [None, False, None]),
        (Policy("auto_dismiss"), [None, False, None]),
        (Policy("auto_accept", prompt_text="policy"), [None, True, "policy"]),
        (Policy({"alert": "auto_accept", "confirm": "auto_accept", "prompt": "auto_accept"}), [None, True, "guest"]),
    ],
)
async def test_a_policy_answers_each_type(stage: Any, pages: Pages, policy: Policy, values: list[Any]) -> None:
    target = await stage.open(pages("<p>quiet"))
    await stage.sup.set_policy(policy)
    reply = await stage.start(target, "[alert('a') ?? null, confirm('c'), prompt('p', 'guest')]")
    assert await value_of(reply) == values
    found = await stage.until(lambda s: len(s.recent_dialogs) == 3)
    assert [(each.type, each.closed_by, each.reason) for each in found.recent_dialogs] == [
        (kind, "auto_policy", "answered") for kind in ("alert", "confirm", "prompt")
    ]


async def test_a_new_policy_answers_an_open_dialog(stage: Any, pages: Pages) -> None:
    target = await stage.open(pages("<p>quiet"))
    reply = await stage.start(target, "confirm('c')")
    dialog = await stage.dialog()
    await stage.sup.set_policy(Policy("auto_accept"))
    assert await value_of(reply) is True
    assert (await stage.ended(dialog.id)).closed_by == "auto_policy"


async def test_the_watchdog_dismisses_an_unanswered_dialog(open_stage: Any, pages: Pages) -> None:
    async with open_stage(policy=Policy(dialog_timeout=0.15)) as stage:
        target = await stage.open(pages("<p>quiet"))
        for expression, value in (("alert('a')", None), ("confirm('c')", False), ("prompt('p', 'guest')", None)):
            reply = await stage.start(target, expression)
            dialog = await stage.dialog()
            assert await value_of(reply) is value
            ended = await stage.ended(dialog.id)
            assert (ended.closed_by, ended.reason) == ("watchdog", "answered")
            assert ended.closed_at - ended.opened_at >= 0.1  # by the wall clock, which is read a moment later


async def test_a_dialog_of_another_process_belongs_to_the_page(stage: Any, sites: Pages) -> None:
    target = await stage.open(sites(f'<iframe src="{sites("<p>far", THERE)}"></iframe>'))
    frame = await stage.far_frame(target)
    with pytest.raises(BlockedByDialog) as blocked:
        await stage.sup.evaluate("confirm('from far')", frame_id=frame.frame_id)
    dialog = await stage.dialog()
    assert blocked.value.dialogs == (dialog.id,)
    assert (dialog.frame_id, dialog.session_id) == (frame.frame_id, stage.page(target).session_id)
    assert dialog.session_id != frame.session_id
    assert (await stage.sup.respond_to_dialog("accept", dialog_id=dialog.id)).closed_by == "agent"
    assert await blocked.value.call.wait(timeout=20) is True
    assert await stage.sup.evaluate("1 + 1", frame_id=frame.frame_id) == 2


async def test_a_blocked_call_raises_at_once_and_ends_later(stage: Any, pages: Pages) -> None:
    target = await stage.open(pages("<p>quiet"))
    with pytest.raises(BlockedByDialog) as first:
        await stage.sup.evaluate(
            "window.times = (window.times ?? 0) + 1; confirm('go on?') ? times : -1", target_id=target
        )
    assert [each.call_id for each in stage.sup.snapshot().blocked_calls] == [first.value.call.call_id]
    with pytest.raises(BlockedByDialog) as second:  # the call would block, so it is not sent
        await stage.sup.evaluate("window.times = 100", target_id=target)
    assert second.value.call is None
    health = stage.sup.health(target)
    assert health.state == "blocked_by_dialog"
    navigation = await stage.sup.call("Page.getNavigationHistory", target_id=target)  # by the browser process
    assert navigation["entries"]
    await stage.sup.respond_to_dialog("accept")
    assert await first.value.call.wait(timeout=20) == 1
    assert stage.sup.snapshot().blocked_calls == ()


async def test_another_client_answers(stage: Any, pages: Pages) -> None:
    target = await stage.open(pages("<p>quiet"))
    theirs = await stage.attach(target)
    async with theirs.enabled("Page"):
        for accept, value, reason in ((True, True, "other_client"), (False, False, "closed_elsewhere")):
            with theirs.expect("Page.javascriptDialogOpening") as opening:
                reply = await stage.start(target, "confirm('whose?')")
                await opening.wait()
            dialog = await stage.dialog()
            await theirs.send("Page.handleJavaScriptDialog", {"accept": accept})
            ended = await stage.ended(dialog.id)
            assert (ended.closed_by, ended.reason) == ("remote", reason)
            assert await value_of(reply) is value


async def test_three_pages_open_dialogs_at_once(stage: Any, pages: Pages) -> None:
    targets = [await stage.open(pages(f"<p>{number}")) for number in range(3)]
    replies = [await stage.start(each, "prompt('which?')") for each in targets]
    found = await stage.until(lambda s: len(s.pending_dialogs) == 3)
    by_page = {each.target_id: each.id for each in found.pending_dialogs}
    for target in reversed(targets):
        answered = await stage.sup.respond_to_dialog("accept", prompt_text=target, dialog_id=by_page[target])
        assert (answered.target_id, answered.closed_by) == (target, "agent")
    assert [await value_of(each) for each in replies] == targets


LEAVING = "<script>onbeforeunload = event => { event.preventDefault(); event.returnValue = 'x' }</script>"


@pytest.mark.parametrize("accept", [True, False])
async def test_beforeunload_decides_on_a_navigation(stage: Any, pages: Pages, accept: bool) -> None:
    target = await stage.open(pages(LEAVING))
    next_url = pages("<p>next")
    await stage.sup.evaluate("1", target_id=target, user_gesture=True)
    with pytest.raises(BlockedByDialog) as blocked:
        await stage.sup.call("Page.navigate", {"url": next_url}, target_id=target)
    assert (await stage.dialog()).type == "beforeunload"
    answered = await stage.sup.respond_to_dialog("accept" if accept else "dismiss")
    assert answered.closed_by == "agent"
    ended = await blocked.value.call.wait(timeout=20)
    assert ended.get("errorText") == (None if accept else "net::ERR_ABORTED")
    if accept:
        await stage.until(lambda s: s.page(target).url == next_url)
    assert (await stage.agree(target))[target][1] == (next_url if accept else pages(LEAVING))


async def test_a_navigation_ends_an_open_dialog(stage: Any, pages: Pages) -> None:
    """On headless-shell the navigation would freeze the page or end the browser: it is not sent."""
    target = await stage.open(pages("<p>quiet"))
    (await stage.start(target, "confirm('c')")).on_end()
    dialog = await stage.dialog()
    if stage.shell:
        with pytest.raises(BlockedByDialog) as blocked:
            await stage.sup.call("Page.navigate", {"url": pages("<p>next")}, target_id=target)
        assert blocked.value.call is None
        await stage.sup.respond_to_dialog("dismiss")
        return
    await stage.sup.call("Page.navigate", {"url": pages("<p>next")}, target_id=target)
    ended = await stage.ended(dialog.id)
    assert (ended.closed_by, ended.reason) == ("remote", "navigation")
    await stage.agree(target)


async def test_a_second_clients_navigation_ends_an_open_dialog(stage: Any, pages: Pages) -> None:
    """To another site, and over another connection: headless-shell sends no event for the dialog's end."""
    target = await stage.open(pages("<p>quiet"))
    (await stage.start(target, "confirm('c')")).on_end()
    dialog = await stage.dialog()
    theirs = await stage.attach(target)
    await theirs.send("Page.navigate", {"url": pages("<p>next", THERE)})
    assert (await stage.ended(dialog.id)).closed_by == "remote"
    with pytest.raises(NoPendingDialog):  # an answer now would end headless-shell
        await stage.sup.respond_to_dialog("accept")
    await stage.agree(target)


async def test_removing_a_frame_ends_its_dialog(stage: Any, pages: Pages) -> None:
    far = pages("<script>setTimeout(() => confirm('far'), 50)</script>", THERE)
    target = await stage.open(pages(f'<iframe src="{far}"></iframe>'))
    dialog = await stage.dialog()
    await stage.sup.evaluate("document.querySelector('iframe').remove()", target_id=target)
    ended = await stage.ended(dialog.id)
    assert ended.closed_by == "remote"
    assert len(await stage.agree(target)) == 1
    with pytest.raises(NoPendingDialog):
        await stage.sup.respond_to_dialog("accept")


async def test_an_answer_that_comes_second_is_not_reported_as_ours(stage: Any, pages: Pages) -> None:
    """Two clients answer at the same moment: the later one is never reported as `closed_by`."""
    target = await stage.open(pages("<p>quiet"))
    theirs = await stage.attach(target)
    async with theirs.enabled("Page"):
        await theirs.send("Page.enable")
        for _ in range(5):
            reply = await stage.start(target, "confirm('whose?')")
            dialog = await stage.dialog()
            answer = theirs.send_nowait("Page.handleJavaScriptDialog", {"accept": False})
            try:
                ended = await stage.sup.respond_to_dialog("accept", dialog_id=dialog.id)
            except DialogAnswerRefused:
                ended = await stage.ended(dialog.id)
            except NoPendingDialog:
                ended = await stage.ended(dialog.id)
            ours = await value_of(reply) is True
            assert ended.closed_by == ("agent" if ours else "remote")
            try:
                await answer.wait()
            except Exception:
                assert ours
