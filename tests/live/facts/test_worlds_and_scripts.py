"""The debugger, execution contexts, worlds and shadow trees (facts 76-80, 87)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from cdp_core import BrowserSession, CommandRefused, PageSession
from support.raw_pages import Pages, assert_no_event, open_page_with_oopif, refusal, sent

pytestmark = pytest.mark.chromium

Evaluate = Callable[..., Awaitable[Any]]
Load = Callable[[PageSession, str], Awaitable[None]]
NewPage = Callable[..., Awaitable[PageSession]]
Times = Callable[[int, int], int]

CREATED = "Runtime.executionContextCreated"


# ── the debugger ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def pause(page: PageSession, source: str = "debugger") -> tuple[str, Any]:
    """Run a script that pauses; return the id of its call frame, and the evaluation that is paused."""
    with page.expect("Debugger.paused") as paused:
        asked = sent(page, "Runtime.evaluate", {"expression": source, "returnByValue": True})
        return (await paused.wait()).params["callFrames"][0]["callFrameId"], asked


async def test_a_resume_can_overtake_an_evaluation_on_the_call_frame(new_page: NewPage, times: Times) -> None:
    """Fact 76: the evaluation is refused then; awaited before the resume, it never is."""
    page = await new_page("<p>paused")
    await page.send("Debugger.enable")
    for _ in range(times(5, 100)):
        frame, asked = await pause(page, "{ const inside = 7; debugger }")
        inside = {"callFrameId": frame, "expression": "inside"}
        assert (await page.send("Debugger.evaluateOnCallFrame", inside))["result"]["value"] == 7
        await page.send("Debugger.resume")
        await asked.wait()
    for _ in range(500):
        frame, asked = await pause(page)
        overtaken = sent(page, "Debugger.evaluateOnCallFrame", {"callFrameId": frame, "expression": "1"})
        await page.send("Debugger.resume")
        await asked.wait()
        try:
            await overtaken.wait()
        except CommandRefused as refused:
            assert refused.message == "Can only perform operation while paused."  # noqa: PT017 - most are not refused
            return
    pytest.fail("no resume overtook an evaluation")


async def test_the_call_of_a_binding_comes_before_the_pause_after_it(new_page: NewPage, times: Times) -> None:
    """Fact 76."""
    page = await new_page("<p>paused")
    for method, params in (("Runtime.enable", {}), ("Debugger.enable", {}), ("Runtime.addBinding", {"name": "tell"})):
        await page.send(method, params)
    with page.subscribe("Runtime.bindingCalled", "Debugger.paused", capacity=1000) as events:
        for _ in range(times(20, 400)):
            _, asked = await pause(page, "tell('x'); debugger")
            await page.send("Debugger.resume")
            await asked.wait()
            came = [(await events.receive()).method for _ in range(2)]
            assert came == ["Runtime.bindingCalled", "Debugger.paused"]


@pytest.mark.parametrize(
    ("method", "off", "on"),
    [
        ("Debugger.setBreakpointsActive", {"active": False}, {"active": True}),
        ("Debugger.setSkipAllPauses", {"skip": True}, {"skip": False}),
    ],
)
async def test_pauses_are_switched_off_for_the_own_session_only(
    new_page: NewPage, second_client: BrowserSession, evaluate: Evaluate, method: str, off: Any, on: Any
) -> None:
    """Fact 76: the `debugger` statement still pauses for the other client."""
    page = await new_page("<p>paused")
    theirs = await second_client.targets.attach(page.target_id)
    await theirs.send("Debugger.enable")
    await theirs.send(method, off)
    await page.send("Debugger.enable")
    for setting in (off, on, off):
        await theirs.send(method, setting)
        _, asked = await pause(page)
        await page.send("Debugger.resume")
        await asked.wait()
    await theirs.detach()
    await page.send(method, off)
    assert await evaluate(page, "debugger; 'ran'") == "ran"
    await page.send(method, on)
    _, asked = await pause(page)
    await page.send("Debugger.resume")
    await asked.wait()


# ── contexts ─────────────────────────────────────────────────────────────────────────────────────────────────────────

LISTEN = "globalThis.count = 0; for (const on of [window, document]) on.addEventListener('ping', () => count++)"
PING = "for (const on of [window, document]) on.dispatchEvent(new Event('ping')); count"


async def test_opening_a_document_removes_the_listeners_of_every_world(new_page: NewPage, evaluate: Evaluate) -> None:
    """Fact 77: no execution context is made or destroyed."""
    page = await new_page("<p>one")
    await page.send("Page.enable")
    await page.send("Runtime.enable")
    world = await page.send("Page.createIsolatedWorld", {"frameId": page.target_id, "worldName": "ours"})
    ours = {"contextId": world["executionContextId"]}
    await evaluate(page, LISTEN)
    await evaluate(page, LISTEN, **ours)
    assert await evaluate(page, PING) == 2
    assert await evaluate(page, "count", **ours) == 2

    async def rewrite() -> None:
        await evaluate(page, "document.open(); document.write('<p>two'); document.close()")

    changes = ("Runtime.executionContextDestroyed", "Runtime.executionContextsCleared")
    await assert_no_event(page, rewrite, CREATED, *changes)
    assert await evaluate(page, "document.body.textContent", **ours) == "two"
    assert await evaluate(page, PING) == 2
    assert await evaluate(page, "count", **ours) == 2


async def test_an_init_script_with_a_world_makes_it_in_every_document(
    browser: BrowserSession, new_page: NewPage, pages: Pages
) -> None:
    """Fact 78: in loaded documents and in frames too; an OOPIF needs the script on its own session."""
    page = await new_page()
    url = pages(f'<iframe srcdoc="near"></iframe><iframe src="{pages("far", "localhost")}"></iframe>')
    frame = await open_page_with_oopif(page, browser, url)
    script = {"source": "globalThis.mark = 1", "worldName": "ours", "runImmediately": True}
    for session, documents in ((page, 2), (frame, 1)):
        await session.send("Page.enable")
        await session.send("Page.addScriptToEvaluateOnNewDocument", script)
        with session.subscribe(CREATED, capacity=20) as created:
            await session.send("Runtime.enable")
            # The contexts come before the reply.
            found = [(await created.receive()).params["context"] for _ in range(created.statistics().waiting)]
            worlds = {each["auxData"]["frameId"]: each["id"] for each in found if each["name"] == "ours"}
            assert len(worlds) == documents
            await session.send("Runtime.enable")
            assert created.statistics().waiting == 0
        for frame_id, context in worlds.items():
            mark = await session.send("Runtime.evaluate", {"expression": "mark", "contextId": context})
            assert mark["result"]["value"] == 1
            again = await session.send("Page.createIsolatedWorld", {"frameId": frame_id, "worldName": "ours"})
            assert again["executionContextId"] == context


async def test_lifecycle_events_of_the_present_document_are_sent_again(new_page: NewPage, pages: Pages) -> None:
    """Fact 79: each has its loaderId; a new document begins with `init`."""
    page = await new_page("<p>one")
    await page.send("Page.enable")
    tree = await page.send("Page.getFrameTree")
    with page.subscribe("Page.lifecycleEvent", capacity=100) as events:
        await page.send("Page.setLifecycleEventsEnabled", {"enabled": True})
        old = (await events.receive()).params
        assert old["loaderId"] == tree["frameTree"]["frame"]["loaderId"]
        navigated = await page.send("Page.navigate", {"url": pages("<p>two")})
        new: list[str] = []
        while "load" not in new:
            event = (await events.receive()).params
            if event["loaderId"] == navigated["loaderId"]:
                new.append(event["name"])
    assert new[0] == "init"
    assert "commit" not in new


async def test_a_document_that_goes_away_refuses_in_four_ways(
    browser: BrowserSession, new_page: NewPage, pages: Pages, load: Load
) -> None:
    """Fact 80: by the context's id, by its unique id, with its frame, and at a navigation."""
    page = await new_page("<p>one")
    with page.subscribe(CREATED, capacity=9) as created:
        await page.send("Runtime.enable")
        await created.receive()
        await page.send("Runtime.evaluate", {"expression": "document.body.append(document.createElement('iframe'))"})
        context = (await created.receive()).params["context"]
    never = {"expression": "new Promise(() => {})", "awaitPromise": True}
    in_frame = sent(page, "Runtime.evaluate", {**never, "contextId": context["id"]})
    await page.send("Runtime.evaluate", {"expression": "document.querySelector('iframe').remove()"})
    with pytest.raises(CommandRefused) as refused:
        await in_frame.wait()
    assert refused.value.message == "Execution context was destroyed."
    by_id = await refusal(page, "Runtime.evaluate", {"expression": "1", "contextId": context["id"]})
    by_unique_id = await refusal(page, "Runtime.evaluate", {"expression": "1", "uniqueContextId": context["uniqueId"]})
    assert (by_id.code, by_id.message) == (-32000, "Cannot find context with specified id")
    assert (by_unique_id.code, by_unique_id.message) == (-32602, "uniqueContextId not found")
    in_page = sent(page, "Runtime.evaluate", never)
    await load(page, pages("<p>two", "localhost"))
    with pytest.raises(CommandRefused) as refused:
        await in_page.wait()
    assert (refused.value.code, refused.value.message) == (-32000, "Inspected target navigated or closed")


# ── shadow trees ─────────────────────────────────────────────────────────────────────────────────────────────────────

CLOSED_ROOT = """<button>Buy now</button><div id=host></div>
    <script>host.attachShadow({mode: 'closed'}).innerHTML = '<button id=inner>Secret</button>'</script>"""


async def test_a_closed_shadow_root_is_visible_in_the_accessibility_tree_only(
    new_page: NewPage, evaluate: Evaluate
) -> None:
    """Fact 87: names are matched exactly, and the text comes beside its control."""
    page = await new_page(CLOSED_ROOT)
    await page.send("Page.bringToFront")
    assert await evaluate(page, "document.querySelectorAll('button, #inner').length") == 1
    assert await evaluate(page, "document.evaluate('//button', document, null, 7).snapshotLength") == 1
    assert await evaluate(page, "host.shadowRoot") is None
    root = (await page.send("DOM.getDocument"))["root"]["nodeId"]
    assert len((await page.send("DOM.querySelectorAll", {"nodeId": root, "selector": "button"}))["nodeIds"]) == 1
    for name, found in (("Secret", 2), ("Buy now", 2), ("secret", 0), ("Secre", 0), ("Buy", 0)):
        nodes = (await page.send("Accessibility.queryAXTree", {"nodeId": root, "accessibleName": name}))["nodes"]
        roles = [node["role"]["value"] for node in nodes]
        assert roles == ["button", "StaticText"][:found], name
