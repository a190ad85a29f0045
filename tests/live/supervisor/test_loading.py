"""Load states, navigations in flight and named worlds of real pages (facts 78, 79, 90)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import trio

from cdp_supervisor import CallTimedOut

pytestmark = pytest.mark.chromium

Pages = Callable[..., str]


async def never_answer(stream: trio.SocketStream) -> None:
    """Keep a request until its client leaves."""
    async for _data in stream:
        pass


async def test_load_states_are_those_of_the_documents(stage: Any, sites: Pages) -> None:
    target = await stage.open(sites("<p>before"))
    page = sites("<iframe srcdoc='<p>near'></iframe>" + f"<iframe src='{sites('<p>far', 'localhost')}'>")
    await (await stage.attach(target)).navigate(page)  # its events come on a session that is set up

    def are_complete(snapshot: Any) -> bool:
        page = snapshot.page(target)
        frames = () if page is None else tuple(page.frames())
        return len(frames) == 3 and all(frame.load.phase == "complete" for frame in frames)

    snapshot = await stage.until(are_complete)
    for frame in snapshot.page(target).frames():
        assert await stage.sup.evaluate("document.readyState", frame_id=frame.frame_id) == "complete"
        assert frame.load.loader
        assert frame.load.navigating_to == ""
        assert frame.contexts[""]


async def test_a_navigation_in_flight_is_named_and_its_end_is_seen(stage: Any, sites: Pages) -> None:
    target = await stage.open(sites("<p>here"))
    async with trio.open_nursery() as nursery:
        [listener] = await nursery.start(partial(trio.serve_tcp, never_answer, 0, host="127.0.0.1"))
        slow = f"http://127.0.0.1:{listener.socket.getsockname()[1]}/"
        session = await stage.attach(target)
        session.send_nowait("Page.navigate", {"url": slow}).on_end()
        await stage.until(lambda snapshot: snapshot.page(target).health.state == "navigating")
        with pytest.raises(CallTimedOut, match="a navigation of it is in flight") as timed_out:
            await stage.sup.evaluate("1 + 1", target_id=target, timeout=1.0)
        assert timed_out.value.health.state == "navigating"
        assert timed_out.value.health.since is not None
        await stage.sup.call("Page.stopLoading", target_id=target)
        await stage.until(lambda snapshot: snapshot.page(target).health.state == "ok")
        assert await stage.sup.evaluate("1 + 1", target_id=target) == 2
        nursery.cancel_scope.cancel()


async def empty_or_nothing(stream: trio.SocketStream) -> None:
    """Answer `/empty` with 204 and keep every other request."""
    async for data in stream:
        if b"/empty" in data:
            await stream.send_all(b"HTTP/1.1 204 No Content\r\n\r\n")


async def test_a_navigation_without_a_document_is_over_also_while_the_old_document_loads(
    stage: Any, sites: Pages
) -> None:
    """Fact 92."""
    async with trio.open_nursery() as nursery:
        [listener] = await nursery.start(partial(trio.serve_tcp, empty_or_nothing, 0, host="127.0.0.1"))
        address = f"http://127.0.0.1:{listener.socket.getsockname()[1]}"
        target = await stage.open(sites("<p>here"))
        session = await stage.attach(target)
        await session.send("Page.navigate", {"url": sites(f"<p>old<img src='{address}/never'>")})
        await stage.until(lambda snapshot: next(snapshot.page(target).frames()).load.phase == "interactive")
        await session.send("Page.navigate", {"url": f"{address}/empty"})
        await stage.until(lambda snapshot: snapshot.page(target).health.state == "ok")
        assert await stage.sup.evaluate("1 + 1", target_id=target) == 2
        nursery.cancel_scope.cancel()


async def test_a_named_world_is_known_to_those_who_come_later(stage: Any, sites: Pages) -> None:
    target = await stage.open(sites("<p>here"))
    made = await stage.sup.call("Page.createIsolatedWorld", {"frameId": target, "worldName": "tools"}, target_id=target)
    again = await stage.sup.call(
        "Page.createIsolatedWorld", {"frameId": target, "worldName": "tools"}, target_id=target
    )
    assert made == again
    snapshot = await stage.until(lambda snapshot: "tools" in next(snapshot.page(target).frames()).contexts)
    context = next(snapshot.page(target).frames()).contexts["tools"]
    params = {"expression": "globalThis.mark = 7", "uniqueContextId": context}
    await stage.sup.call("Runtime.evaluate", params, target_id=target)
    assert await stage.sup.evaluate("typeof mark", target_id=target) == "undefined"
    params = {"expression": "mark", "uniqueContextId": context}
    found = await stage.sup.call("Runtime.evaluate", params, target_id=target)
    assert found["result"]["value"] == 7
