"""The acts of a scenario, done on either of two browsers: a real Chromium and the fake."""

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
"""Seconds without a message, after which a real browser has nothing more to say."""
QUIET_WHILE_LOADING = 0.3
"""The same, where it has said that a frame loads, and not yet that it stopped."""
QUIET_WHILE_IDLE_IS_TOLD = 0.8
"""The same, where it was asked to tell how far documents have come: it tells of half a second without a request."""
PROMPT_RUNS = 3
"""After how many of these documents may come late."""
QUIET_WHEN_LATE = 0.4
"""Seconds more without a message, in the runs after these."""
SLOW = 0.05
"""Seconds before each command of a client that takes its time."""
PATIENCE = 3.0
"""Seconds in which an awaited message comes."""


@attrs.define
class Told:
    """Everything that came back, in the order of arrival, by client; and what the scenario's labels stand for."""

    messages: list[tuple[str, Json]] = attrs.Factory(list["tuple[str, Json]"])
    names: dict[str, str] = attrs.Factory(dict["str", "str"])
    taken: set[int] = attrs.Factory(set["int"])
    ended: set[str] = attrs.Factory(set["str"])
    free: set[frozenset[int]] = attrs.Factory(set["frozenset[int]"])
    """Pairs of messages that might as well have come in the other order; only the fake can tell."""
    loading: set[tuple[str | None, str]] = attrs.Factory(set["tuple[str | None, str]"])
    """Sessions and the frames that load there."""
    problem: str = ""
    """What was awaited and did not come: the scenario ended there."""

    def hear(self, client: str, message: Json) -> None:
        """One more."""
        self.messages.append((client, message))
        params, session = message.get("params") or {}, message.get("sessionId")
        if message.get("method") == "Page.frameStartedLoading":
            self.loading.add((session, params["frameId"]))
        elif message.get("method") in ("Page.frameStoppedLoading", "Page.frameDetached"):
            self.loading.discard((session, params["frameId"]))
        elif message.get("method") in ("Page.javascriptDialogOpening", "Fetch.requestPaused"):
            self.loading.clear()  # it loads when the client has answered, and no sooner
        elif message.get("method") == "Target.detachedFromTarget":
            self.loading = {each for each in self.loading if each[0] != params["sessionId"]}

    def find(self, client: str, fits: Callable[[Json], bool]) -> int | None:
        """The first one that was not taken yet."""
        for number, (whose, message) in enumerate(self.messages):
            if number not in self.taken and whose == client and fits(message):
                return number
        return None


class Browser(Protocol):
    """Either of the two."""

    told: Told

    async def connect(self, client: str) -> None: ...
    async def send(self, client: str, text: str) -> None: ...
    async def leave(self, client: str) -> None: ...
    async def settle(self) -> None: ...
    async def until(self, ready: Callable[[], bool]) -> bool: ...


async def perform(acts: Sequence[Act], on: Browser, filled: Callable[[Any], Any]) -> Told:
    """Do what a client does, up to where something that is awaited does not come, or not as it should be."""
    try:
        await _perform(acts, on, filled)
    except (AssertionError, KeyError) as error:
        on.told.problem = f"{type(error).__name__}: {error}"
    return on.told


async def _perform(acts: Sequence[Act], on: Browser, filled: Callable[[Any], Any]) -> None:
    told = on.told
    for act in acts:
        if isinstance(act, Connect):
            await on.connect(act.client)
        elif isinstance(act, Leave):
            await on.leave(act.client)
        elif isinstance(act, Settle):
            await on.settle()
        elif isinstance(act, Ends):
            assert await on.until(lambda: act.client in told.ended), "the connection did not end"  # noqa: B023
        elif isinstance(act, Raw):
            before = sum(whose == act.client for whose, _ in told.messages)
            await on.send(act.client, act.text)
            enough = before + act.replies
            came = await on.until(lambda: sum(whose == act.client for whose, _ in told.messages) >= enough)  # noqa: B023
            assert came, f"no answer to {act.text[:80]!r}"
        elif isinstance(act, Send):
            await _send(act, on, filled)
        else:
            await _take(act.client, on, told, _fits(act, told, filled), act.save, f"{act.method} on {act.on}")
    await on.settle()


async def _send(act: Send, on: Browser, filled: Callable[[Any], Any]) -> None:
    message: Json = {"id": act.id, "method": act.method}
    if act.params is not None:
        message["params"] = _resolved(filled(act.params), on.told.names)
    if act.on != "browser":
        message["sessionId"] = on.told.names.get(f"session.{act.on}", act.on)
    await on.send(act.client, json.dumps(message))
    if act.wait:
        await _take(
            act.client,
            on,
            on.told,
            lambda each: each.get("id") == act.id,
            {label: f"result.{path}" for label, path in act.save.items()},
            f"an answer to {act.method} on {act.on}",
        )


async def _take(
    client: str, on: Browser, told: Told, fits: Callable[[Json], bool], save: Mapping[str, str], what: str
) -> None:
    assert await on.until(lambda: told.find(client, fits) is not None), f"{what} did not come"
    number = told.find(client, fits)
    assert number is not None
    told.taken.add(number)
    for label, path in save.items():
        found: Any = told.messages[number][1]
        for part in path.split("."):
            found = found[int(part)] if isinstance(found, list) else found[part]
        told.names[label] = found


def _fits(act: Expect, told: Told, filled: Callable[[Any], Any]) -> Callable[[Json], bool]:
    session = told.names.get(f"session.{act.on}")
    where = _resolved(filled(dict(act.where)), told.names)

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
    """Chromium, over one WebSocket for each client."""

    def __init__(self, url: str, nursery: trio.Nursery, number: int) -> None:
        self.told = Told()
        self._url = url
        self._nursery = nursery
        self._pace = SLOW if number % 2 else 0
        self._more = QUIET_WHEN_LATE if number >= PROMPT_RUNS else 0
        self._quiet = QUIET
        self._links: dict[str, Any] = {}
        self._news = trio.Event()

    async def connect(self, client: str) -> None:
        self._links[client] = await self._nursery.start(self._read, client)

    async def _read(self, client: str, *, task_status: trio.TaskStatus[Any]) -> None:
        async with open_websocket(self._url) as transport:
            task_status.started(transport)
            with contextlib.suppress(Gone):
                while True:
                    for payload in await transport.receive():
                        self.told.hear(client, json.loads(bytes(payload)))
                    self._wake()
        self.told.ended.add(client)
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = trio.Event()

    async def send(self, client: str, text: str) -> None:
        if '"Page.setLifecycleEventsEnabled"' in text:
            self._quiet = QUIET_WHILE_IDLE_IS_TOLD
        if self._pace:
            await trio.sleep(self._pace)
        await self._links[client].send([text.encode("utf-8", "surrogatepass")])

    async def leave(self, client: str) -> None:
        await self._links.pop(client).aclose()  # while it is read on, or the goodbye would be waited for in vain
        await self.until(lambda: client in self.told.ended)

    async def leave_all(self) -> None:
        for client in tuple(self._links):
            await self.leave(client)

    async def settle(self) -> None:
        with trio.move_on_after(PATIENCE):
            while True:
                longest = max(self._quiet, QUIET_WHILE_LOADING if self.told.loading else 0)
                with trio.move_on_after(longest + self._more) as quiet:
                    await self._news.wait()
                if quiet.cancelled_caught:
                    return

    async def until(self, ready: Callable[[], bool]) -> bool:
        with trio.move_on_after(PATIENCE):
            while not ready():
                await self._news.wait()
        return ready()


class MadeUpBrowser:
    """The fake."""

    def __init__(self, fake: FakeBrowser) -> None:
        self.told = Told()
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
            places: dict[int, int] = {}
            earlier: dict[int, set[int]] = {}
            while ready := end.ready():
                number, after = ready[0].number, ready[0].after
                earlier[number] = set(after).union(*(earlier.get(each, ()) for each in after))
                self.told.free |= {
                    frozenset((place, len(self.told.messages)))
                    for other, place in places.items()
                    if other not in earlier[number]
                }
                places[number] = len(self.told.messages)
                self.told.hear(client, json.loads(self.fake.deliver(end, ready[0])))
            if not end.connected:
                self.told.ended.add(client)


@contextlib.asynccontextmanager
async def real_browser(url: str, number: int = 0) -> AsyncIterator[RealBrowser]:
    async with trio.open_nursery() as nursery:
        browser = RealBrowser(url, nursery, number)
        try:
            yield browser
        finally:
            await browser.leave_all()


async def run_real(scenario: Scenario, url: str, site: Site, number: int) -> Told:
    await clean(url)
    async with real_browser(url, number) as browser:
        return await perform(scenario.acts, browser, site.filled)


async def clean(url: str) -> None:
    """Leave the browser as it was: one empty page."""
    tidy = Scenario("tidy")
    async with real_browser(url) as browser:
        await browser.connect("A")

        async def ask(method: str, params: Json | None = None) -> Json:
            tidy.send(method, params)
            act = tidy.acts[-1]
            assert isinstance(act, Send)
            await _send(act, browser, lambda value: value)
            return browser.told.messages[max(browser.told.taken)][1].get("result", {})

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
