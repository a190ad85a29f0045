"""One test body, four ways to connect: the engine's promises against a real Chromium over each.

Over `tap` the engine's reader reads the socket, over `tap over a stream` it reads trio's stream below it, over `plain`
trio-websocket reads everything, over `pipe` there is no WebSocket. A test must not see a difference.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
import trio

from cdp_core import (
    BrowserContextId,
    BrowserSession,
    CommandRefused,
    Event,
    Missed,
    Output,
    PageSession,
    RecordedTransport,
    SessionClosed,
    SessionGone,
    SessionOpened,
    SubscriberLagged,
    TargetCrashed,
    TargetGone,
    open_browser_session,
    read_trace,
)

pytestmark = pytest.mark.chromium

Evaluate = Callable[..., Awaitable[Any]]
Load = Callable[[PageSession, str], Awaitable[None]]
NewPage = Callable[..., Awaitable[PageSession]]
OpenLink = Callable[..., AbstractAsyncContextManager[BrowserSession]]
Pages = Callable[..., str]

NEVER = {"expression": "new Promise(() => {})", "awaitPromise": True}
"""A command that the page never answers."""
SURROGATE = "a\ud800b"
TEXTS = (
    "\0",
    "a\u2028b\u2029c",
    "日本語 ünï 🙂",
    "\x01\x1f\x7f\u0085",
    '"\\/\b\f\n\r\t',
    "\ufeff\ufffd\uffff",
    SURROGATE,
)


# ── commands ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_round_trip_on_the_root_and_on_a_session(
    browser: BrowserSession, new_page: NewPage, evaluate: Evaluate
) -> None:
    version = await browser.send("Browser.getVersion")
    assert version["protocolVersion"] == "1.3"
    assert "Chrom" in version["product"] or "Chrom" in version["userAgent"]
    page = await new_page("<title>here</title>")
    assert await evaluate(page, "document.title + 6 * 7") == "here42"
    assert (await browser.send("Browser.getVersion")) == version


async def test_each_of_many_in_flight_gets_its_own_answer(
    browser: BrowserSession, new_page: NewPage, evaluate: Evaluate
) -> None:
    one, other = await new_page(), await new_page()
    pages = (one, other)
    numbers = [
        pages[number % 2].send_nowait("Runtime.evaluate", {"expression": f"{number}", "returnByValue": True})
        for number in range(200)
    ]
    infos = [browser.send_nowait("Target.getTargetInfo", {"targetId": page.target_id}) for page in pages * 20]
    assert [(await reply.wait())["result"]["value"] for reply in numbers] == list(range(200))
    answers = [(await reply.wait())["targetInfo"]["targetId"] for reply in infos]
    assert answers == [page.target_id for page in pages * 20]
    assert browser.statistics().router.in_flight == 0
    received_lines: list[object] = []
    reply = one.send_nowait("Runtime.evaluate", {"expression": "1"})
    reply.on_end(received_lines.append)
    await reply.wait()
    assert len(received_lines) == 1
    assert await evaluate(one, "1") == 1


async def test_a_refusal_fails_only_its_own_command(
    browser: BrowserSession, new_page: NewPage, evaluate: Evaluate
) -> None:
    page = await new_page()
    for session in (browser, page):
        with pytest.raises(CommandRefused) as unknown:
            await session.send("Nothing.atAll")
        assert (unknown.value.code, unknown.value.method) == (-32601, "Nothing.atAll")
        with pytest.raises(CommandRefused) as invalid:
            await session.send("Target.getTargetInfo", {"targetId": 7})
        assert invalid.value.code == -32602
        assert invalid.value.data
    assert unknown.value.session_id == page.session_id
    assert await evaluate(page, "'well'") == "well"


async def test_a_page_that_navigates_away_refuses_what_was_in_flight(
    new_page: NewPage, load: Load, pages: Pages
) -> None:
    page = await new_page("one")
    reply = page.send_nowait("Runtime.evaluate", NEVER)
    await load(page, pages("two", "localhost"))
    with pytest.raises(CommandRefused) as refused:
        await reply.wait()
    assert refused.value.code == -32000


async def test_a_cancelled_send_leaves_nothing(browser: BrowserSession, new_page: NewPage, evaluate: Evaluate) -> None:
    page = await new_page()
    with trio.move_on_after(0.05) as scope:
        await page.send(
            "Runtime.evaluate", {"expression": "new Promise(f => globalThis.free = f)", "awaitPromise": True}
        )
    assert scope.cancelled_caught
    assert browser.statistics().router.in_flight == 0
    assert await evaluate(page, "free(), 3") == 3
    while not browser.statistics().router.late_replies:  # the reply of a promise arrives after that of its resolver
        await evaluate(page, "0")
    assert browser.statistics().router.abandoned == 1


# ── message contents ──────────────────────────────────────────────────────────────────────────────────────────────────


async def test_thirty_megabytes_in_one_result(new_page: NewPage, evaluate: Evaluate) -> None:
    page = await new_page()
    text = await evaluate(page, "'0123456789abcdef'.repeat(30 << 16)")
    assert text == "0123456789abcdef" * (30 << 16)
    assert await evaluate(page, "'next'") == "next"


async def test_a_lone_surrogate_survives_in_a_result_and_in_an_event(new_page: NewPage, evaluate: Evaluate) -> None:
    page = await new_page()
    assert await evaluate(page, r"'a\ud800b'") == SURROGATE
    async with page.enabled("Runtime"):
        with page.expect("Runtime.consoleAPICalled") as line:
            await evaluate(page, r"console.log('a\ud800b')")
        assert (await line.wait()).params["args"][0]["value"] == SURROGATE


async def test_a_large_result_with_a_lone_surrogate(new_page: NewPage, evaluate: Evaluate) -> None:
    page = await new_page()
    assert await evaluate(page, r"'é\ud800'.repeat(1 << 18)") == "é\ud800" * (1 << 18)


async def test_text_passes_both_ways(new_page: NewPage) -> None:
    page = await new_page()
    made = await page.send("Runtime.evaluate", {"expression": "globalThis"})
    for text in TEXTS:
        answer = await page.send(
            "Runtime.callFunctionOn",
            {
                "functionDeclaration": "function(text) { return [text, text.length, text.charCodeAt(1)] }",
                "objectId": made["result"]["objectId"],
                "arguments": [{"value": text}],
                "returnByValue": True,
            },
        )
        utf16 = text.encode("utf-16-le", "surrogatepass")
        second = int.from_bytes(utf16[2:4], "little") if len(utf16) > 2 else None
        assert answer["result"]["value"] == [text, len(utf16) // 2, second]


# ── sessions ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_attach_is_counted_and_the_last_detach_ends_it(
    browser: BrowserSession, new_page: NewPage, evaluate: Evaluate
) -> None:
    page = await new_page()
    again = await browser.targets.attach(page.target_id)
    fresh = await browser.targets.attach(page.target_id, fresh=True)
    assert again is page
    assert fresh.session_id != page.session_id
    await page.detach()
    assert await evaluate(page, "1") == 1
    pending = page.send_nowait("Runtime.evaluate", NEVER)
    listening = page.subscribe("Runtime.consoleAPICalled", capacity=1)
    await page.detach()
    with pytest.raises(SessionGone) as gone:
        await pending.wait()
    assert (gone.value.reason, gone.value.session_id) == ("detached", page.session_id)
    with pytest.raises(SessionGone):
        await listening.receive()
    with pytest.raises(SessionGone):
        await page.send("Runtime.evaluate", {"expression": "1"})
    assert not page.open
    assert page.session_id not in browser.sessions
    assert await evaluate(fresh, "2") == 2
    await page.detach()
    with pytest.raises(TargetGone):
        await browser.targets.attach("0" * 32)


async def test_the_end_of_a_session_ends_its_child_sessions(
    browser: BrowserSession, new_page: NewPage, pages: Pages, evaluate: Evaluate
) -> None:
    inner = f"<iframe src='{pages('inner', 'b.localhost')}'></iframe>"
    page = await new_page(f"<iframe src='{pages(inner, 'a.localhost')}'></iframe>")
    outputs: list[Output] = []
    with browser.tap(outputs.append):
        outer = await _attach_child(browser, page)
        nested = await _attach_child(browser, outer)
        assert nested.parent == outer.session_id
        assert await evaluate(nested, "location.hostname") == "b.localhost"
        pending = [session.send_nowait("Runtime.evaluate", NEVER) for session in (page, outer, nested)]
        listening = nested.subscribe("Runtime.consoleAPICalled", capacity=1)
        await page.detach()
        reasons = []
        for reply in pending:
            with pytest.raises(SessionGone) as gone:
                await reply.wait()
            reasons.append(gone.value.reason)
    assert reasons == ["detached", "parent_ended", "parent_ended"]
    with pytest.raises(SessionGone):
        await listening.receive()
    closed = [output.session_id for output in outputs if isinstance(output, SessionClosed)]
    assert closed == [nested.session_id, outer.session_id, page.session_id]
    # Chromium itself sends an event for one of the three (fact 50).
    results = [
        output for output in outputs if isinstance(output, Event) and output.method == "Target.detachedFromTarget"
    ]
    assert [event.params["sessionId"] for event in results] == [page.session_id]
    await browser.send("Browser.getVersion")


async def _attach_child(browser: BrowserSession, parent: PageSession) -> PageSession:
    with parent.expect("Target.attachedToTarget") as attached:
        await parent.send(
            "Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}
        )
    child = browser.sessions[(await attached.wait()).params["sessionId"]]
    assert (child.target_type, child.parent) == ("iframe", parent.session_id)
    return child


async def test_a_blocked_page_does_not_block_another_page(new_page: NewPage, evaluate: Evaluate) -> None:
    blocked, free = await new_page("blocked"), await new_page("free")
    async with blocked.enabled("Page"):
        with blocked.expect("Page.javascriptDialogOpening") as opening:
            asked = blocked.send_nowait("Runtime.evaluate", {"expression": "confirm('?')"})
        await opening.wait()
        assert [await evaluate(free, f"{number} * 2") for number in range(20)] == [number * 2 for number in range(20)]
        assert not asked.ended
        await blocked.send("Page.handleJavaScriptDialog", {"accept": True})
        assert (await asked.wait())["result"]["value"] is True


async def test_frames_of_other_sites_are_attached_from_their_first_instruction(
    browser: BrowserSession, context: BrowserContextId, pages: Pages, evaluate: Evaluate
) -> None:
    inner = "<script>console.log('inner')</script>"
    middle = f"<script>console.log('middle')</script><iframe src='{pages(inner, 'b.localhost')}'></iframe>"
    outer = f"<script>console.log('outer')</script><iframe src='{pages(middle, 'a.localhost')}'></iframe>"
    console_lines = browser.subscribe_all("Runtime.consoleAPICalled", capacity=100)
    wanted = {"page", "iframe"}
    async with browser.targets.auto_attach(
        types=wanted, arm=lambda _session: ["Runtime.enable"], capacity=100
    ) as arriving:
        page = await browser.targets.create(pages(outer), context=context)
        received_lines: dict[str, str] = {}
        while len(received_lines) < 3:
            received = await console_lines.receive()
            assert received.session_id is not None
            received_lines[received.event.params["args"][0]["value"]] = received.session_id
        assert received_lines["outer"] == page.session_id
        sessions = {name: browser.sessions[session_id] for name, session_id in received_lines.items()}
        assert [sessions[name].parent for name in ("middle", "inner")] == [
            received_lines["outer"],
            received_lines["middle"],
        ]
        assert await evaluate(sessions["inner"], "location.hostname") == "b.localhost"
        came: set[str] = set()
        while not came >= set(received_lines.values()):
            session = await arriving.receive()
            assert session.target_type in wanted
            came.add(session.session_id)
        assert browser.targets.statistics().duplicates_ended <= 1  # createTarget's attach may be the second
        ending = trio.Event()
        with browser.tap(lambda output: _is_end_of(output, received_lines["inner"]) and ending.set()):
            await evaluate(sessions["middle"], "document.querySelector('iframe').remove()")
            await ending.wait()
        assert not sessions["inner"].open
        assert sessions["middle"].open
    # When its holder ends, its sessions end too; one of them belongs to `create`.
    await browser.send("Browser.getVersion")


def _is_end_of(output: Output, session_id: str) -> bool:
    return isinstance(output, SessionClosed) and output.session_id == session_id


# ── targets ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("by", ["command", "address"])
async def test_a_crash_ends_what_was_in_flight_and_not_the_session(
    new_page: NewPage, evaluate: Evaluate, by: str
) -> None:
    page = await new_page("<script>globalThis.life = Math.random(); console.log(life)</script>")
    async with page.enabled("Runtime"):
        first_life = await evaluate(page, "life")
        pending = page.send_nowait("Runtime.evaluate", NEVER)
        if by == "command":
            with pytest.raises(TargetCrashed):
                await page.send("Page.crash")
        else:
            page.send_nowait("Page.navigate", {"url": "chrome://crash"}).on_end()
        with pytest.raises(TargetCrashed) as crashed:
            await pending.wait()
        assert crashed.value.session_id == page.session_id
        assert page.open
        with page.expect("Runtime.consoleAPICalled") as line, page.expect("Inspector.targetReloadedAfterCrash") as back:
            await page.send("Page.reload")
        await back.wait()
        second_life = _line(await line.wait())  # enabled domains stay enabled
        assert second_life != first_life
        assert await evaluate(page, "life") == second_life


async def test_a_domain_enabled_on_a_crashed_page_is_enabled_after_its_reload(
    browser: BrowserSession, new_page: NewPage, evaluate: Evaluate
) -> None:
    page = await new_page("<p>lively")
    with page.expect("Inspector.targetCrashed") as crashed:
        await page.send("Inspector.enable")
        page.send_nowait("Page.crash").on_end()
        await crashed.wait()
    late = await browser.targets.attach(page.target_id, fresh=True)
    async with late.enabled("Runtime", wait=0):
        with page.expect("Inspector.targetReloadedAfterCrash") as back:
            await page.send("Page.reload")
            await back.wait()
        with late.expect("Runtime.consoleAPICalled") as line:
            await evaluate(late, "console.log('heard')")
        assert _line(await line.wait()) == "heard"


async def test_a_closed_target_ends_what_was_in_flight(browser: BrowserSession, new_page: NewPage) -> None:
    page = await new_page()
    pending = page.send_nowait("Runtime.evaluate", NEVER)
    expectation = page.expect("Page.loadEventFired")
    await browser.targets.close(page.target_id)
    with pytest.raises(SessionGone) as gone:
        await pending.wait()
    assert gone.value.target_id == page.target_id
    with pytest.raises(SessionGone):
        await expectation.wait()
    with pytest.raises(TargetGone):
        await browser.targets.close(page.target_id)


async def test_browser_contexts_share_nothing_and_close_their_pages(
    browser: BrowserSession, pages: Pages, load: Load, evaluate: Evaluate
) -> None:
    async def open_page(context: BrowserContextId) -> PageSession:
        page = await browser.targets.create("about:blank", context=context)
        await load(page, pages("storage"))
        return page

    async with browser.targets.open_context() as one:
        first = await open_page(one)
        assert await evaluate(first, "localStorage.kept = 'x'") == "x"
        pending = first.send_nowait("Runtime.evaluate", NEVER)
        async with browser.targets.open_context() as other:
            second = await open_page(other)
            assert await evaluate(second, "localStorage.kept === undefined")
            listed = {target.target_id: target.browser_context_id for target in await browser.targets.list()}
            assert (listed[first.target_id], listed[second.target_id]) == (one, other)
        assert not second.open
        assert first.open
        third = await open_page(one)
        assert await evaluate(third, "localStorage.kept") == "x"
    with pytest.raises(SessionGone):
        await pending.wait()
    contexts = (await browser.send("Target.getBrowserContexts"))["browserContextIds"]
    assert not {one, other} & set(contexts)


async def test_several_tasks_may_list_the_targets_at_once(browser: BrowserSession, new_page: NewPage) -> None:
    page = await new_page()
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(browser.targets.list)
    assert page.target_id in {target.target_id for target in await browser.targets.list()}


async def test_targets_are_announced_in_order(browser: BrowserSession, context: BrowserContextId, pages: Pages) -> None:
    await browser.targets.list()
    changes = browser.targets.subscribe(capacity=100)
    new = browser.targets.expect_new(lambda target: target.browser_context_id == context)
    page = await browser.targets.create(pages("new"), context=context)
    assert (await new.wait()).target_id == page.target_id
    await browser.targets.close(page.target_id)
    seen: list[str] = []
    while "TargetDestroyed" not in seen:
        change = await changes.receive()
        if change.target.target_id == page.target_id:
            seen.append(type(change).__name__)
    assert seen[0] == "TargetCreated"
    assert set(seen[1:-1]) == {"TargetChanged"}
    assert page.target_id not in {target.target_id for target in await browser.targets.list(type=None)}


# ── events ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_each_subscriber_gets_console_lines_in_order_up_to_its_own_limit(
    browser: BrowserSession, new_page: NewPage, evaluate: Evaluate
) -> None:
    page, quiet = await new_page(), await new_page()
    async with page.enabled("Runtime"), quiet.enabled("Runtime"):
        name = "Runtime.consoleAPICalled"
        everything = page.subscribe(name, capacity=100)
        even = page.subscribe(name, capacity=100, where=lambda event: _line(event) % 2 == 0)
        slow = page.subscribe(name, capacity=10)
        latest = page.subscribe_latest(name, capacity=10)
        elsewhere = quiet.subscribe(name, capacity=1)
        everywhere = browser.subscribe_all(name, capacity=100)
        await evaluate(page, "for (let i = 0; i < 50; i++) console.log(i)")
        assert [_line(await everything.receive()) for _ in range(50)] == list(range(50))
        assert [_line(await even.receive()) for _ in range(25)] == list(range(0, 50, 2))
        assert [_line(await slow.receive()) for _ in range(10)] == list(range(10))
        with pytest.raises(SubscriberLagged) as lagged:
            await slow.receive()
        assert lagged.value.missed >= 1
        assert await latest.receive() == Missed(40)
        assert [_line(await latest.receive()) for _ in range(10)] == list(range(40, 50))
        received = [await everywhere.receive() for _ in range(50)]
        assert {each.session_id for each in received} == {page.session_id}
        assert [_line(each.event) for each in received] == list(range(50))
        with pytest.raises(trio.WouldBlock):
            elsewhere.receive_nowait()


def _line(event: Event) -> Any:
    return event.params["args"][0]["value"]


async def test_an_expectation_made_before_the_act_misses_nothing(
    new_page: NewPage, pages: Pages, evaluate: Evaluate
) -> None:
    page = await new_page("first")
    async with page.enabled("Page"):
        await page.send("Page.enable")  # a navigation to another process can overtake an unanswered `enable`
        for number in range(5):
            url = pages(f"<title>{number}</title>")
            with page.expect("Page.loadEventFired") as loaded, page.expect("Page.frameNavigated") as navigated:
                await page.send("Page.navigate", {"url": url})
            assert (await navigated.wait()).params["frame"]["url"] == url
            await loaded.wait()
            assert await evaluate(page, "document.title") == str(number)


async def test_leases_are_counted(new_page: NewPage, evaluate: Evaluate) -> None:
    page = await new_page()
    lines = page.subscribe("Runtime.consoleAPICalled", capacity=10)
    async with page.enabled("Runtime"):
        async with page.enabled("Runtime", "Page"):
            assert page.statistics().leases == {"Runtime": 2, "Page": 1}
        await evaluate(page, "console.log('held')")
        assert _line(await lines.receive()) == "held"
    assert page.statistics().leases == {}
    await evaluate(page, "console.log('unheard')")
    with pytest.raises(trio.WouldBlock):
        lines.receive_nowait()
    async with page.enabled("Runtime"):
        results = [_line(await lines.receive()) for _ in range(2)]
        assert results == ["held", "unheard"]  # `Runtime.enable` repeats all earlier lines


# ── traces ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_recorded_live_session_replays_to_the_same_results(
    open_link: OpenLink, pages: Pages, evaluate: Evaluate, load: Load, tmp_path: Path
) -> None:
    async def story(browser: BrowserSession) -> list[object]:
        results: list[object] = [await browser.send("Browser.getVersion")]
        async with browser.targets.open_context() as context:
            page = await browser.targets.create("about:blank", context=context)
            await load(page, pages("<title>recorded</title>"))
            async with page.enabled("Runtime"):
                lines = page.subscribe("Runtime.consoleAPICalled", capacity=10)
                results += [
                    await evaluate(page, "document.title"),
                    await evaluate(page, r"console.log('a\ud800b', 1.5)"),
                ]
                results.append((await lines.receive()).params)
            results.append(await evaluate(page, "'é\0🙂'.repeat(200_000)"))
            with pytest.raises(CommandRefused) as refused:
                await page.send("Nothing.atAll")
            results.append((refused.value.code, refused.value.message))
            pending = page.send_nowait("Runtime.evaluate", NEVER)
            await browser.targets.close(page.target_id)
            with pytest.raises(SessionGone) as gone:
                await pending.wait()
            results.append((gone.value.reason, gone.value.session_id))
        return results

    recording = tmp_path / "live.jsonl"
    opened: list[Output] = []
    async with open_link(trace=recording, taps=[opened.append]) as browser:
        lived = await story(browser)
    transport = RecordedTransport(read_trace(recording))
    async with open_browser_session(transport) as browser:
        assert await story(browser) == lived
        assert (await browser.wait_closed()).reason == "trace_ended"
    assert transport.statistics().left_in == 0
    assert transport.statistics().left_out == 0
    assert any(isinstance(output, SessionOpened) for output in opened)
