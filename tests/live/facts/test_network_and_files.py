"""Bodies, network idle, files, permissions, and binary messages (facts 83-85, 88)."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from cdp_core import BrowserContextId, BrowserSession, PageSession
from support.http_stream import read_request
from support.raw_pages import PATIENCE, Pages, assert_browser_lives, assert_unanswered, eventually, refusal

pytestmark = pytest.mark.chromium

Evaluate = Callable[..., Awaitable[Any]]
Load = Callable[[PageSession, str], Awaitable[None]]
NewPage = Callable[..., Awaitable[PageSession]]


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────

CHOOSER = """<body style="margin:0"><input id=input type=file multiple><script>
    globalThis.seen = [];
    for (const type of ['click', 'change', 'cancel']) input.addEventListener(type, () => seen.push(type));
</script>"""


async def click(page: PageSession) -> None:
    for kind in ("mousePressed", "mouseReleased"):
        params = {"type": kind, "x": 20, "y": 10, "button": "left", "clickCount": 1}
        await page.send("Input.dispatchMouseEvent", params)


@pytest.mark.parametrize(
    ("interception", "events", "announced"),
    [
        (None, ["click", "cancel"], False),
        ({"enabled": True}, ["click"], True),
        ({"enabled": True, "cancel": True}, ["click", "cancel"], True),
    ],
)
async def test_a_click_on_a_file_input_is_announced_only_with_interception(
    new_page: NewPage, evaluate: Evaluate, interception: Any, events: list[str], announced: bool
) -> None:
    """Fact 83: without it the choice is cancelled at once, without an event of the protocol."""
    page = await new_page(CHOOSER)
    await page.send("Page.bringToFront")
    await page.send("Page.enable")
    if interception is not None:
        await page.send("Page.setInterceptFileChooserDialog", interception)
    with page.subscribe("Page.fileChooserOpened", capacity=9) as opened:
        await click(page)

        async def all_came() -> bool:
            return bool(await evaluate(page, "seen") == events)

        await eventually(all_came)
        if announced:
            with trio.fail_after(PATIENCE):
                assert (await opened.receive()).params["mode"] == "selectMultiple"
        await click(page)  # its events come after all events of the first click
        if not announced:
            assert opened.statistics().waiting == 0


async def test_a_file_input_takes_paths_that_do_not_exist(
    new_page: NewPage, evaluate: Evaluate, tmp_path: Path
) -> None:
    """Fact 83: and folders; the page finds out when it reads them."""
    page = await new_page(CHOOSER)
    real = tmp_path / "real.txt"
    real.write_text("text")
    element = (await page.send("Runtime.evaluate", {"expression": "input"}))["result"]["objectId"]
    files = [str(real), str(tmp_path / "missing.txt"), str(tmp_path)]
    assert await page.send("DOM.setFileInputFiles", {"files": files, "objectId": element}) == {}
    names = await evaluate(page, "Array.from(input.files, file => file.name)")
    assert names == ["real.txt", "missing.txt", tmp_path.name]
    read = "Promise.all(Array.from(input.files, file => file.text().catch(error => error.name)))"
    assert await evaluate(page, read) == ["text", "NotFoundError", "NotFoundError"]
    assert await evaluate(page, "input.files[1].size") == 0
    assert await evaluate(page, "seen") == ["change"]


# ── permissions ──────────────────────────────────────────────────────────────────────────────────────────────────────

NAMES = ("geolocation", "notifications", "midi", "camera")
STATES = f"""Promise.all({list(NAMES)!r}.map(name => navigator.permissions.query({{name}})))
    .then(found => found.map(each => each.state))"""
LOCATE = "new Promise(end => navigator.geolocation.getCurrentPosition(() => end(0), error => end(error.code)))"
DENIED = 1
"""The code of a GeolocationPositionError without permission."""


async def test_a_grant_of_permissions_denies_every_other_one(
    browser: BrowserSession, context: BrowserContextId, new_page: NewPage, evaluate: Evaluate
) -> None:
    """Fact 84: a second grant takes back the first one; `Browser.setPermission` changes one."""
    page = await new_page("<p>asks")
    here = {"origin": await evaluate(page, "origin"), "browserContextId": context}
    assert await evaluate(page, STATES) == ["prompt"] * len(NAMES)
    await browser.send("Browser.grantPermissions", {"permissions": ["geolocation"], **here})
    assert await evaluate(page, STATES) == ["granted", "denied", "denied", "denied"]
    await browser.send("Browser.grantPermissions", {"permissions": ["notifications"], **here})
    assert await evaluate(page, STATES) == ["denied", "granted", "denied", "denied"]
    await browser.send("Browser.resetPermissions", {"browserContextId": context})
    for name in ("geolocation", "notifications"):
        await browser.send("Browser.setPermission", {"permission": {"name": name}, "setting": "granted", **here})
    assert await evaluate(page, STATES) == ["granted", "granted", "prompt", "prompt"]


async def test_a_request_for_a_permission_that_prompts_is_denied(
    browser: BrowserSession, context: BrowserContextId, new_page: NewPage, evaluate: Evaluate
) -> None:
    """Fact 84: its state stays `prompt`; on a hidden page the request waits."""
    page = await new_page("<p>asks")
    where = {"origin": await evaluate(page, "origin"), "browserContextId": context}
    ask = {"permission": {"name": "geolocation"}, "setting": "prompt", **where}
    await browser.send("Browser.setPermission", ask)
    assert await evaluate(page, LOCATE, userGesture=True) == DENIED
    assert (await evaluate(page, STATES))[0] == "prompt"
    hidden = await new_page("<p>asks")
    assert await evaluate(hidden, "document.visibilityState") == "hidden"
    waiting = await assert_unanswered(hidden, "Runtime.evaluate", {"expression": LOCATE, "awaitPromise": True})
    await hidden.send("Page.bringToFront")
    assert (await waiting.wait())["result"]["value"] == DENIED


# ── responses ────────────────────────────────────────────────────────────────────────────────────────────────────────

HALF = b"x" * 5000


async def serve_in_halves(second: trio.Event, stream: trio.SocketStream) -> None:
    """Answer one request with half of a body, and with the other half when `second` is set."""
    if await read_request(stream):
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % (2 * len(HALF))
        await stream.send_all(head + HALF)
        await second.wait()
        await stream.send_all(HALF)


async def test_a_body_is_refused_until_loading_has_finished(new_page: NewPage) -> None:
    """Fact 85: a short body can be there already."""
    page = await new_page("<p>asks")
    await page.send("Network.enable")
    second = trio.Event()
    async with trio.open_nursery() as nursery:
        serve = partial(trio.serve_tcp, partial(serve_in_halves, second), 0, host="127.0.0.1")
        [listener] = await nursery.start(serve)
        url = f"http://127.0.0.1:{listener.socket.getsockname()[1]}/"
        fetch = f"fetch({url!r}, {{mode: 'no-cors'}})"

        def is_ours(event: Any) -> bool:
            return bool(event.params["response"]["url"] == url)

        with (
            page.expect("Network.responseReceived", where=is_ours) as received,
            page.subscribe("Network.loadingFinished", capacity=9) as finished,
        ):
            await page.send("Runtime.evaluate", {"expression": fetch})
            request = {"requestId": (await received.wait()).params["requestId"]}
            refused = await refusal(page, "Network.getResponseBody", request)
            assert refused.message == "No data found for resource with given identifier"
            second.set()
            while (await finished.receive()).params["requestId"] != request["requestId"]:
                pass
        answer = await page.send("Network.getResponseBody", request)
        body = base64.b64decode(answer["body"]) if answer["base64Encoded"] else answer["body"].encode()
        assert body == 2 * HALF
        nursery.cancel_scope.cancel()


POLL = "<script>const poll = () => fetch('/?after=0.3').then(poll); poll()</script>"


async def test_network_idle_comes_after_a_quiet_time_and_never_beside_a_long_poll(
    new_page: NewPage, pages: Pages
) -> None:
    """Fact 85: its timestamp is the beginning of the quiet time."""
    page = await new_page("<p>one")
    await page.send("Page.enable")
    await page.send("Network.enable")
    await page.send("Page.setLifecycleEventsEnabled", {"enabled": True})
    for html, is_idle in (("<p>quiet", True), (POLL, False)):
        arrived: dict[str, float] = {}
        stamps: dict[str, float] = {}
        with page.subscribe("Page.lifecycleEvent", "Network.responseReceived", capacity=100) as events:
            loader = (await page.send("Page.navigate", {"url": pages(html)}))["loaderId"]
            polls = 0
            with trio.fail_after(PATIENCE):
                while "networkIdle" not in arrived and polls < 6:
                    event = await events.receive()
                    if event.params["loaderId"] == loader and event.method == "Page.lifecycleEvent":
                        arrived[event.params["name"]] = trio.current_time()
                        stamps[event.params["name"]] = event.params["timestamp"]
                    elif event.method == "Network.responseReceived":
                        polls += event.params["response"]["url"].endswith("after=0.3")
        assert ("networkIdle" in arrived) is is_idle
        assert "load" in arrived
        if is_idle:
            waited = arrived["networkIdle"] - arrived["load"]
            assert waited > 0.4
            assert stamps["networkIdle"] - stamps["load"] < waited


# ── the wire ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_binary_message_ends_the_link_without_a_close_frame(
    browser: BrowserSession, shared_chromium: Any
) -> None:
    """Fact 88: without a byte; other links live."""
    stream = await trio.open_tcp_stream("127.0.0.1", shared_chromium.port)
    async with stream:
        key = base64.b64encode(bytes(16)).decode()
        await stream.send_all(
            f"GET {shared_chromium.path} HTTP/1.1\r\nHost: 127.0.0.1:{shared_chromium.port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        assert b" 101 " in await read_request(stream)
        message = b'{"id":1,"method":"Browser.getVersion"}'
        header = bytes([0x80 | len(message)]) + bytes(4)  # masked with zeros
        await stream.send_all(b"\x81" + header + message)
        assert b'"id":1' in await stream.receive_some()
        await stream.send_all(b"\x82" + header + message)
        with trio.fail_after(PATIENCE):
            try:
                rest = await stream.receive_some()
            except trio.BrokenResourceError:  # a reset
                rest = b""
        assert rest == b""
    await assert_browser_lives(browser, shared_chromium)
