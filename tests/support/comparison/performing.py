"""Perform the acts of a scenario on either browser: a real Chromium or the fake."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Protocol

import attrs
import trio

from cdp_core.errors import Gone
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.fake.client_end import ClientEnd
from cdp_core.transports.websocket.open import open_websocket
from support.comparison.scenario import Act, Connect, Ends, Expect, Json, Leave, Raw, Scenario, Send, Settle
from support.comparison.site import Site

QUIET = 0.1
"""Seconds without a message after which a real browser counts as settled."""
QUIET_WHILE_LOADING = 0.3
"""The same while a frame has started to load and has not stopped."""
QUIET_WITH_LIFECYCLE_EVENTS = 0.8
"""The same with lifecycle events enabled: some report half a second without a request."""
PROMPT_RUNS = 3
"""The number of first runs in which the server delays no document."""
QUIET_WHEN_LATE = 0.4
"""Additional seconds without a message in the runs after these."""
SLOW = 0.05
"""Seconds before each command in a run with a slow client."""
PATIENCE = 3.0
"""Seconds to wait for a message."""


@attrs.define
class Received:
    """All received messages with their clients, in order of arrival, and the values of the labels."""

    messages: list[tuple[str, Json]] = attrs.Factory(list["tuple[str, Json]"])
    names: dict[str, str] = attrs.Factory(dict["str", "str"])
    taken: set[int] = attrs.Factory(set["int"])
    ended: set[str] = attrs.Factory(set["str"])
    unordered: set[frozenset[int]] = attrs.Factory(set["frozenset[int]"])
    """Pairs of positions of messages that could also have arrived in the other order; only the fake knows them."""
    loading: set[tuple[str | None, str]] = attrs.Factory(set["tuple[str | None, str]"])
    """Each loading frame, with the session that reported it."""
    problem: str = ""
    """The awaited message that did not arrive: the scenario ended there."""

    def add(self, client: str, message: Json) -> None:
        """Append a message and follow which frames load."""
        self.messages.append((client, message))
        params, session = message.get("params") or {}, message.get("sessionId")
        if message.get("method") == "Page.frameStartedLoading":
            self.loading.add((session, params["frameId"]))
        elif message.get("method") in ("Page.frameStoppedLoading", "Page.frameDetached"):
            self.loading.discard((session, params["frameId"]))
        elif message.get("method") in ("Page.javascriptDialogOpening", "Fetch.requestPaused"):
            self.loading.clear()  # loading continues only when the client has answered
        elif message.get("method") == "Target.detachedFromTarget":
            self.loading = {each for each in self.loading if each[0] != params["sessionId"]}

    def find(self, client: str, fits: Callable[[Json], bool]) -> int | None:
        """Return the position of the first matching message that no act has consumed; None without one."""
        for number, (receiver, message) in enumerate(self.messages):
            if number not in self.taken and receiver == client and fits(message):
                return number
        return None


class Browser(Protocol):
    """What `perform` needs of either browser."""

    received: Received

    async def connect(self, client: str) -> None: ...
    async def send(self, client: str, text: str) -> None: ...
    async def leave(self, client: str) -> None: ...
    async def settle(self) -> None: ...
    async def until(self, ready: Callable[[], bool]) -> bool: ...


async def perform(acts: Sequence[Act], on: Browser, filled: Callable[[Any], Any]) -> Received:
    """Perform the acts until the end, or until an awaited message does not arrive or lacks a saved member."""
    try:
        await _perform(acts, on, filled)
    except (AssertionError, KeyError) as error:
        on.received.problem = f"{type(error).__name__}: {error}"
    return on.received


async def _perform(acts: Sequence[Act], on: Browser, filled: Callable[[Any], Any]) -> None:
    received = on.received
    for act in acts:
        if isinstance(act, Connect):
            await on.connect(act.client)
        elif isinstance(act, Leave):
            await on.leave(act.client)
        elif isinstance(act, Settle):
            await on.settle()
        elif isinstance(act, Ends):
            assert await on.until(lambda: act.client in received.ended), "the connection did not end"  # noqa: B023
        elif isinstance(act, Raw):
            before = sum(receiver == act.client for receiver, _ in received.messages)
            await on.send(act.client, act.text)
            enough = before + act.replies
            arrived = await on.until(
                lambda: sum(receiver == act.client for receiver, _ in received.messages) >= enough  # noqa: B023
            )
            assert arrived, f"no answer to {act.text[:80]!r}"
        elif isinstance(act, Send):
            await _send(act, on, filled)
        else:
            await _take(act.client, on, received, _fits(act, received, filled), act.save, f"{act.method} on {act.on}")
    await on.settle()


async def _send(act: Send, on: Browser, filled: Callable[[Any], Any]) -> None:
    message: Json = {"id": act.id, "method": act.method}
    if act.params is not None:
        message["params"] = _resolved(filled(act.params), on.received.names)
    if act.on != "browser":
        message["sessionId"] = on.received.names.get(f"session.{act.on}", act.on)
    await on.send(act.client, json.dumps(message))
    if act.wait:
        await _take(
            act.client,
            on,
            on.received,
            lambda each: each.get("id") == act.id,
            {label: f"result.{path}" for label, path in act.save.items()},
            f"an answer to {act.method} on {act.on}",
        )


async def _take(
    client: str, on: Browser, received: Received, fits: Callable[[Json], bool], save: Mapping[str, str], what: str
) -> None:
    assert await on.until(lambda: received.find(client, fits) is not None), f"{what} did not arrive"
    number = received.find(client, fits)
    assert number is not None
    received.taken.add(number)
    for label, path in save.items():
        found: Any = received.messages[number][1]
        for part in path.split("."):
            found = found[int(part)] if isinstance(found, list) else found[part]
        received.names[label] = found


def _fits(act: Expect, received: Received, filled: Callable[[Any], Any]) -> Callable[[Json], bool]:
    session = received.names.get(f"session.{act.on}")
    where = _resolved(filled(dict(act.where)), received.names)

    def fits(message: Json) -> bool:
        if message.get("method") != act.method or message.get("sessionId") != session:
            return False
        for path, wanted in where.items():
            found: Any = message["params"]
            for part in path.split("."):
                found = found.get(part) if isinstance(found, dict) else None
            if found != wanted:
                return False
        return True

    return fits


def _resolved(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str) and value.startswith("$"):
        return names[value[1:]]
    if isinstance(value, dict):
        return {key: _resolved(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [_resolved(each, names) for each in value]
    return value


class RealBrowser:
    """A real Chromium, with one WebSocket per client."""

    def __init__(self, url: str, nursery: trio.Nursery, number: int) -> None:
        self.received = Received()
        self._url = url
        self._nursery = nursery
        self._pace = SLOW if number % 2 else 0
        self._extra_quiet = QUIET_WHEN_LATE if number >= PROMPT_RUNS else 0
        self._quiet = QUIET
        self._links: dict[str, Any] = {}
        self._arrived = trio.Event()

    async def connect(self, client: str) -> None:
        self._links[client] = await self._nursery.start(self._read, client)

    async def _read(self, client: str, *, task_status: trio.TaskStatus[Any]) -> None:
        async with open_websocket(self._url) as transport:
            task_status.started(transport)
            with contextlib.suppress(Gone):
                while True:
                    for payload in await transport.receive():
                        self.received.add(client, json.loads(bytes(payload)))
                    self._wake()
        self.received.ended.add(client)
        self._wake()

    def _wake(self) -> None:
        self._arrived.set()
        self._arrived = trio.Event()

    async def send(self, client: str, text: str) -> None:
        if '"Page.setLifecycleEventsEnabled"' in text:
            self._quiet = QUIET_WITH_LIFECYCLE_EVENTS
        if self._pace:
            await trio.sleep(self._pace)
        await self._links[client].send([text.encode("utf-8", "surrogatepass")])

    async def leave(self, client: str) -> None:
        # The reader task still runs: it reads the browser's close frame, without which `aclose` would wait in vain.
        await self._links.pop(client).aclose()
        await self.until(lambda: client in self.received.ended)

    async def leave_all(self) -> None:
        for client in tuple(self._links):
            await self.leave(client)

    async def settle(self) -> None:
        with trio.move_on_after(PATIENCE):
            while True:
                longest = max(self._quiet, QUIET_WHILE_LOADING if self.received.loading else 0)
                with trio.move_on_after(longest + self._extra_quiet) as quiet:
                    await self._arrived.wait()
                if quiet.cancelled_caught:
                    return

    async def until(self, ready: Callable[[], bool]) -> bool:
        with trio.move_on_after(PATIENCE):
            while not ready():
                await self._arrived.wait()
        return ready()


class WrappedFake:
    """The fake browser behind the same interface."""

    def __init__(self, fake: FakeBrowser) -> None:
        self.received = Received()
        self.fake = fake
        self._ends: dict[str, ClientEnd] = {}

    async def connect(self, client: str) -> None:
        self._ends[client] = self.fake.connect()

    async def send(self, client: str, text: str) -> None:
        self._ends[client].receive(text.encode("utf-8", "surrogatepass"))

    async def leave(self, client: str) -> None:
        self._collect()
        self._ends[client].lost()
        self._collect()

    async def settle(self) -> None:
        while (due := self.fake.next_time()) is not None:
            self.fake.advance(due)
        self._collect()

    async def until(self, ready: Callable[[], bool]) -> bool:
        await self.settle()
        return ready()

    def _collect(self) -> None:
        for client, end in self._ends.items():
            positions: dict[int, int] = {}
            earlier: dict[int, set[int]] = {}
            while ready := end.ready():
                number, after = ready[0].number, ready[0].after
                earlier[number] = set(after).union(*(earlier.get(each, ()) for each in after))
                self.received.unordered |= {
                    frozenset((position, len(self.received.messages)))
                    for other, position in positions.items()
                    if other not in earlier[number]
                }
                positions[number] = len(self.received.messages)
                self.received.add(client, json.loads(self.fake.deliver(end, ready[0])))
            if not end.connected:
                self.received.ended.add(client)


@contextlib.asynccontextmanager
async def real_browser(url: str, number: int = 0) -> AsyncIterator[RealBrowser]:
    async with trio.open_nursery() as nursery:
        browser = RealBrowser(url, nursery, number)
        try:
            yield browser
        finally:
            await browser.leave_all()


async def run_real(scenario: Scenario, url: str, site: Site, number: int) -> Received:
    await clean(url)
    async with real_browser(url, number) as browser:
        return await perform(scenario.acts, browser, site.filled)


async def clean(url: str) -> None:
    """Reset the browser to its initial state: one empty page."""
    cleaning = Scenario("clean")
    async with real_browser(url) as browser:
        await browser.connect("A")

        async def ask(method: str, params: Json | None = None) -> Json:
            cleaning.send(method, params)
            act = cleaning.acts[-1]
            assert isinstance(act, Send)
            await _send(act, browser, lambda value: value)
            return browser.received.messages[max(browser.received.taken)][1].get("result", {})

        for context in (await ask("Target.getBrowserContexts"))["browserContextIds"]:
            await ask("Target.disposeBrowserContext", {"browserContextId": context})
        while True:
            infos = (await ask("Target.getTargets"))["targetInfos"]
            left = [info for info in infos if info["type"] == "page"]
            empty = [info for info in left if info["url"] == "about:blank" and not info["attached"]]
            if len(left) == 1 and empty:
                return
            if not empty:
                await ask("Target.createTarget", {"url": "about:blank"})
            for info in left:
                if info not in empty[:1]:
                    await ask("Target.closeTarget", {"targetId": info["targetId"]})
            await trio.sleep(0.01)
