"""The addresses of a real browser, and how it refuses wrong ones."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

from cdp_core import (
    ConnectionLost,
    DiscoveryError,
    LocalProtocolError,
    PageSession,
    open_browser_session,
)
from cdp_core.discovery import list_targets_http
from cdp_core.sansio.messages import CommandId, encode_command
from cdp_core.sansio.router import MAX_SEND_BYTES

pytestmark = pytest.mark.chromium

Evaluate = Callable[..., Awaitable[Any]]
Load = Callable[[PageSession, str], Awaitable[None]]
Pages = Callable[..., str]

MiB = 2**20


# ── addresses that work ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "form", ["ws", "http", "http with a path", "host:port", ":port", "localhost", "file", "folder"]
)
async def test_every_form_of_address_finds_the_browser(shared_chromium: Any, form: str) -> None:
    port = shared_chromium.port
    address = {
        "ws": shared_chromium.url,
        "http": f"http://127.0.0.1:{port}",
        "http with a path": f"http://127.0.0.1:{port}/json/version",
        "host:port": f"127.0.0.1:{port}",
        ":port": f":{port}",
        "localhost": f"http://localhost:{port}",
        "file": shared_chromium.port_file,
        "folder": str(shared_chromium.profile),
    }[form]
    async with open_browser_session(address) as browser:
        assert "Chrom" in (await browser.send("Browser.getVersion"))["userAgent"]


async def test_targets_are_listed_without_a_websocket(shared_chromium: Any, pages: Pages) -> None:
    async with open_browser_session(shared_chromium.url) as browser:
        page = await browser.targets.create(pages("listed"))
        listed = {target.target_id: target for target in await list_targets_http(shared_chromium.url)}
        assert listed[page.target_id].type == "page"
        await browser.targets.close(page.target_id)


async def test_the_endpoint_of_a_page_has_its_own_root_session(
    shared_chromium: Any, pages: Pages, evaluate: Evaluate, load: Load
) -> None:
    async with open_browser_session(shared_chromium.url) as browser:
        page = await browser.targets.create("about:blank")
        url = f"ws://127.0.0.1:{shared_chromium.port}/devtools/page/{page.target_id}"
        async with open_browser_session(url) as root:
            await load(root, pages("<title>root</title>"))
            assert await evaluate(root, "document.title") == "root"
            async with root.enabled("Runtime"):
                with root.expect("Runtime.consoleAPICalled") as console_line:
                    await evaluate(root, "console.log('here')")
                assert (await console_line.wait()).session_id is None
            assert page.target_id in {target.target_id for target in await root.targets.list()}
            assert (await root.send("Browser.getVersion"))["protocolVersion"] == "1.3"
            pending = root.send_nowait(
                "Runtime.evaluate", {"expression": "new Promise(() => {})", "awaitPromise": True}
            )
            await browser.targets.close(page.target_id)
            with pytest.raises(ConnectionLost):
                await pending.wait()
            gone = await root.wait_closed()
            assert isinstance(gone, ConnectionLost)
            assert (gone.reason, gone.close_code) == ("peer_closed", 1006)
        await browser.send("Browser.getVersion")


# ── addresses that are refused ────────────────────────────────────────────────────────────────────────────────────────


async def refused(address: str, **options: Any) -> DiscoveryError:
    with pytest.raises(DiscoveryError) as error:
        async with open_browser_session(address, **options):
            pytest.fail("the browser let us in")
    return error.value


@pytest.mark.parametrize(
    ("path", "status"),
    [("/devtools/browser/00000000-0000-0000-0000-000000000000", 404), ("/devtools/page/NOSUCHPAGE", 500)],
    ids=["browser", "page"],
)
async def test_an_unknown_id_is_refused(shared_chromium: Any, path: str, status: int) -> None:
    error = await refused(f"ws://127.0.0.1:{shared_chromium.port}{path}")
    assert (error.stage, error.status) == ("upgrade", status)
    assert path.rpartition("/")[2] not in str(error)


@pytest.mark.parametrize("origin", ["http://example.org", "null", "http://localhost"])
async def test_a_foreign_origin_is_refused(shared_chromium: Any, origin: str) -> None:
    error = await refused(shared_chromium.url, headers={"Origin": origin})
    assert (error.stage, error.status) == ("upgrade", 403)
    assert "Origin" in str(error)


async def test_the_browsers_own_origin_is_accepted(shared_chromium: Any) -> None:
    own = f"http://127.0.0.1:{shared_chromium.port}"
    async with open_browser_session(shared_chromium.url, headers={"Origin": own}) as browser:
        await browser.send("Browser.getVersion")


class Resolver(trio.abc.HostnameResolver):
    """A resolver for which every name is this machine."""

    async def getaddrinfo(self, _host: Any, port: Any, *_rest: Any) -> Any:
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", int(port)))]

    async def getnameinfo(self, sockaddr: Any, flags: int) -> Any:
        raise NotImplementedError


async def test_a_host_may_be_given_by_name(shared_chromium: Any) -> None:
    trio.socket.set_custom_hostname_resolver(Resolver())
    port = shared_chromium.port
    over_websocket = await refused(f"ws://browser.example:{port}{shared_chromium.path}")
    assert (over_websocket.stage, over_websocket.status) == ("upgrade", 500)
    assert "Host" in str(over_websocket)
    over_http = await refused(f"http://browser.example:{port}")
    assert (over_http.stage, over_http.status) == ("http", 500)
    async with open_browser_session(f"ws://any.localhost:{port}{shared_chromium.path}") as browser:
        await browser.send("Browser.getVersion")


# ── sizes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("octets", [64 * MiB, MAX_SEND_BYTES], ids=["64 MiB", "the limit"])
async def test_a_large_send_passes(shared_chromium: Any, octets: int) -> None:
    async with open_browser_session(shared_chromium.url) as browser:
        version = await browser.send("Browser.getVersion")
        number = browser.statistics().router.commands + 1
        empty = encode_command(CommandId(number), "Browser.getVersion", {"padding": ""}, None)
        # The browser reads and ignores an unknown param; a page would need many seconds for so much source.
        assert await browser.send("Browser.getVersion", {"padding": "x" * (octets - len(empty))}) == version


async def test_a_send_above_the_limit_is_refused_locally_and_the_link_stays_open(
    shared_chromium: Any, evaluate: Evaluate
) -> None:
    async with open_browser_session(shared_chromium.url) as browser:
        page = await browser.targets.create("about:blank")
        before = browser.statistics().router
        with pytest.raises(LocalProtocolError) as too_big:
            await evaluate(page, "x" * (100 * MiB))
        assert too_big.value.reason == "too_big"
        after = browser.statistics().router
        assert (after.commands, after.in_flight) == (before.commands, 0)
        assert await evaluate(page, "1") == 1
        await browser.targets.close(page.target_id)
