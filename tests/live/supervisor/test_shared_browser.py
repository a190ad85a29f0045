"""A supervisor beside another client that sets its pages up and answers their dialogs (fact 72)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import pytest
import trio

from cdp_core import Gone, PageSession, open_browser_session
from cdp_supervisor import Policy, Scope, Supervisor, open_supervisor
from support.waiting import wait_until

pytestmark = pytest.mark.chromium

Pages = Callable[..., str]
Times = Callable[[int, int], int]
SLOW = 0.3
"""Seconds that the other client needs to set a page up."""
MARK = {"source": "globalThis.mark = 'set up'"}


@asynccontextmanager
async def other_client(url: str) -> AsyncIterator[set[str]]:
    """A client that pauses each new page, sets it up slowly, resumes it, and accepts its dialogs.

    Returns the targets that it has set up so far.
    """
    ready: set[str] = set()

    async def set_up(session: PageSession) -> None:
        with session.subscribe("Page.javascriptDialogOpening", capacity=100) as dialogs:
            await trio.sleep(SLOW)
            for method, params in (("Page.enable", {}), ("Page.addScriptToEvaluateOnNewDocument", MARK)):
                session.send_nowait(method, params).on_end()
            session.send_nowait("Runtime.runIfWaitingForDebugger").on_end()
            ready.add(session.target_id)
            async for _dialog in dialogs:
                await session.send("Page.handleJavaScriptDialog", {"accept": True})

    async def tend(session: PageSession) -> None:
        with suppress(Gone):  # its page was closed
            await set_up(session)

    async with open_browser_session(url) as browser, trio.open_nursery() as nursery:
        await browser.send(
            "Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
        )

        @nursery.start_soon
        async def attach() -> None:
            with browser.subscribe("Target.attachedToTarget", capacity=1000) as attached:
                for session in tuple(browser.sessions.values()):
                    nursery.start_soon(tend, session)
                async for event in attached:
                    session = browser.sessions.get(event.params["sessionId"])
                    if session is not None and session.target_type == "page":
                        nursery.start_soon(tend, session)

        yield ready
        nursery.cancel_scope.cancel()


async def is_set_up(page: PageSession, ready: set[str]) -> bool:
    """True once the other client has set a page up: before that it misses popups also alone."""
    return page.target_id in ready


@pytest.mark.parametrize("first", ["supervisor", "other client"])
async def test_popups_get_the_init_script_of_another_client(
    own_chromium: Any, program: Any, pages: Pages, times: Times, first: str
) -> None:
    """With a client that resumes at once, 2 to 6 of 30 popups miss it."""
    rounds = times(3, 30)

    async def run(supervisor: Supervisor, ready: set[str]) -> None:
        opener = await supervisor.browser.targets.create(pages("<p>opener"))
        await wait_until(partial(is_set_up, opener, ready))
        await opener.wait_for_load_state()
        for number in range(rounds):
            popup = pages(f"<script>opener.seen = globalThis.mark ?? 'missed'</script>{number}")
            script = f"globalThis.seen = ''; open({popup!r}); 0"
            await supervisor.evaluate(script, target_id=opener.target_id, user_gesture=True)
            seen = ""
            while not seen:
                seen = await supervisor.evaluate("globalThis.seen", target_id=opener.target_id)
                await trio.sleep(0.01)
            assert seen == "set up", number

    scope = Scope.browser().shared()
    if first == "supervisor":
        async with (
            open_supervisor(own_chromium.url, scope=scope) as supervisor,
            other_client(own_chromium.url) as ready,
        ):
            await run(supervisor, ready)
    else:
        async with (
            other_client(own_chromium.url) as ready,
            open_supervisor(own_chromium.url, scope=scope) as supervisor,
        ):
            await run(supervisor, ready)


@pytest.mark.parametrize("first", ["supervisor", "other client"])
async def test_the_listener_of_another_client_wins_against_an_automatic_policy(
    own_chromium: Any, pages: Pages, times: Times, first: str
) -> None:
    rounds = times(3, 40)

    async def run(supervisor: Supervisor, ready: set[str]) -> None:
        page = await supervisor.browser.targets.create(pages("<p>page"))
        await supervisor.wait_ready(page.target_id)
        await wait_until(partial(is_set_up, page, ready))
        for _ in range(rounds):
            assert await supervisor.evaluate("confirm('mine?')", target_id=page.target_id) is True
        ended = {each.closed_by for each in supervisor.snapshot().recent_dialogs}
        assert ended == {"remote"}

    shared: dict[str, Any] = {"scope": Scope.browser().shared(), "policy": Policy("auto_dismiss")}
    if first == "supervisor":
        async with open_supervisor(own_chromium.url, **shared) as supervisor, other_client(own_chromium.url) as ready:
            await run(supervisor, ready)
    else:
        async with other_client(own_chromium.url) as ready, open_supervisor(own_chromium.url, **shared) as supervisor:
            await run(supervisor, ready)


async def test_a_policy_answers_where_nobody_else_does(own_chromium: Any, pages: Pages) -> None:
    scope = Scope.browser().shared(grace=0.2)
    async with open_supervisor(own_chromium.url, scope=scope, policy=Policy("auto_accept")) as supervisor:
        page = await supervisor.browser.targets.create(pages("<p>page"))
        await supervisor.wait_ready(page.target_id)
        assert await supervisor.evaluate("confirm('anybody?')", target_id=page.target_id) is True
        assert supervisor.snapshot().recent_dialogs[-1].closed_by == "auto_policy"
