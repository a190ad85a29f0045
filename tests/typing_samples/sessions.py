"""The types that the checkers must infer for sending and listening; never run.

One line per overload. A line that must be an error carries `# type: ignore[code]`: both checkers report it if the
error, and with it the comment, is not needed any more.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from cdp_core import (
    BrowserSession,
    Event,
    Expectation,
    Json,
    Missed,
    PageSession,
    PendingReply,
    Received,
    Result,
    SessionId,
    Subscription,
    TargetChanged,
    TargetCreated,
    TargetDestroyed,
    TargetInfo,
    Transport,
    TypedCommand,
    memory_pair,
    open_browser_session,
)

if TYPE_CHECKING:
    from typing_extensions import assert_type  # noqa: TC004 - this module is never run


@attrs.frozen(kw_only=True)
class Navigated:
    """A typed event in the form of generated code."""

    __cdp_method__: ClassVar[str] = "Page.frameNavigated"
    url: str

    @classmethod
    def __cdp_read__(cls, event: Event, /) -> Navigated:
        return cls(url=event.params["frame"]["url"])


@attrs.frozen(kw_only=True)
class Loaded:
    __cdp_method__: ClassVar[str] = "Page.loadEventFired"
    timestamp: float

    @classmethod
    def __cdp_read__(cls, event: Event, /) -> Loaded:
        return cls(timestamp=event.params["timestamp"])


@attrs.frozen(kw_only=True)
class Resized:
    __cdp_method__: ClassVar[str] = "Page.frameResized"

    @classmethod
    def __cdp_read__(cls, _event: Event, /) -> Resized:
        return cls()


@attrs.frozen(kw_only=True)
class Navigate:
    """A typed command in the form of generated code."""

    url: str

    @property
    def method(self) -> str:
        return "Page.navigate"

    def to_params(self) -> Json:
        return {"url": self.url}

    def parse(self, result: Result, /) -> str:
        return str(result.value["frameId"])


async def sending(page: PageSession, params: Mapping[str, Any]) -> None:
    typed: TypedCommand[str] = Navigate(url="https://example.org")
    assert_type(await page.send(typed), str)
    assert_type(await page.send(Navigate(url="https://example.org")), str)
    assert_type(await page.send("Page.navigate", {"url": "https://example.org"}), Json)
    assert_type(await page.send("Page.navigate", params), Json)
    assert_type(await page.send("Page.enable"), Json)
    assert_type(page.send_nowait(typed), PendingReply[str])
    assert_type(page.send_nowait("Page.enable"), PendingReply[Json])
    assert_type(await page.send_nowait(typed).wait(), str)

    await page.send(typed, {"url": "https://example.com"})  # type: ignore[call-overload]
    await page.send(method="Page.enable")  # type: ignore[call-overload]
    await page.send("Page.navigate", ["https://example.org"])  # type: ignore[call-overload]
    await page.send(Navigate)  # type: ignore[call-overload]
    page.send_nowait(42)  # type: ignore[call-overload]


async def subscribing(page: PageSession, browser: BrowserSession) -> None:
    assert_type(page.subscribe("Page.x", capacity=1), Subscription[Event])
    assert_type(page.subscribe("Page.x", "Page.y", "Page.z", "Page.w", capacity=1), Subscription[Event])
    assert_type(page.subscribe_latest("Page.x", capacity=1), Subscription[Event | Missed])
    assert_type(page.subscribe(Navigated, capacity=1), Subscription[Navigated])
    assert_type(page.subscribe_latest(Navigated, capacity=1), Subscription[Navigated | Missed])
    assert_type(page.subscribe(Navigated, Loaded, capacity=1), Subscription[Navigated | Loaded])
    assert_type(page.subscribe_latest(Navigated, Loaded, capacity=1), Subscription[Navigated | Loaded | Missed])
    assert_type(page.subscribe(Navigated, Loaded, Resized, capacity=1), Subscription[Navigated | Loaded | Resized])
    assert_type(page.subscribe_latest(Navigated, Loaded, Resized, capacity=1), Subscription[Any | Missed])
    assert_type(page.subscribe(Navigated, capacity=1, where=lambda event: event.url == "x"), Subscription[Navigated])
    assert_type(page.subscribe("Page.x", capacity=1, where=lambda event: event.params), Subscription[Event])
    assert_type(browser.subscribe(Navigated, capacity=1), Subscription[Navigated])

    assert_type(page.subscribe("Page.x", Navigated, capacity=1), Subscription[Any])
    assert_type(page.subscribe(Navigated, "Page.x", capacity=1, where=lambda event: event), Subscription[Any])
    assert_type(page.subscribe_latest(Navigated, "Page.x", capacity=1), Subscription[Any | Missed])
    assert_type(page.subscribe(Navigated, Loaded, Resized, Navigated, capacity=1), Subscription[Any])

    page.subscribe("Page.x")  # type: ignore[call-overload]
    page.subscribe(capacity=1)  # type: ignore[call-overload]
    page.subscribe(Navigate, capacity=1)  # type: ignore[type-var]
    page.subscribe("Page.x", Navigate, capacity=1)  # type: ignore[arg-type]
    page.subscribe("Page.x", capacity=1, max_bytes="1")  # type: ignore[call-overload]


async def consuming(page: PageSession) -> None:
    with page.subscribe(Navigated, capacity=1) as events:
        assert_type(events, Subscription[Navigated])
        assert_type(await events.receive(), Navigated)
        assert_type(events.receive_nowait(), Navigated)
        async for event in events:
            assert_type(event, Navigated)
    with page.subscribe_latest("Page.x", capacity=1) as some:
        async for item in some:
            assert_type(item, Event | Missed)
            _params = item.params  # type: ignore[union-attr]
            if not isinstance(item, Missed):
                assert_type(item.params, Json)


async def everywhere(browser: BrowserSession) -> None:
    assert_type(browser.subscribe_all("Page.x", "Page.y", capacity=1), Subscription[Received[Event]])
    assert_type(browser.subscribe_all_latest("Page.x", capacity=1), Subscription[Received[Event] | Missed])
    assert_type(browser.subscribe_all(Navigated, Loaded, capacity=1), Subscription[Received[Navigated | Loaded]])
    assert_type(browser.subscribe_all_latest(Navigated, capacity=1), Subscription[Received[Navigated] | Missed])
    both = browser.subscribe_all_latest(Navigated, Loaded, capacity=1)
    assert_type(both, Subscription[Received[Navigated | Loaded] | Missed])
    assert_type(browser.subscribe_all(Navigated, Loaded, Resized, capacity=1), Subscription[Received[Any]])
    assert_type(browser.subscribe_all_latest("Page.x", Navigated, capacity=1), Subscription[Received[Any] | Missed])
    three = browser.subscribe_all_latest(Navigated, Loaded, Resized, capacity=1)
    assert_type(three, Subscription[Received[Any] | Missed])
    assert_type(browser.subscribe_all(Navigated, capacity=1), Subscription[Received[Navigated]])
    assert_type(browser.subscribe_all("Page.x", Navigated, capacity=1), Subscription[Received[Any]])
    received = await browser.subscribe_all("Page.x", capacity=1).receive()
    assert_type(received.session_id, SessionId | None)
    assert_type(received.event, Event)
    assert_type(received.at, float)

    browser.subscribe_all("Page.x")  # type: ignore[call-overload]


async def expecting(page: PageSession, browser: BrowserSession) -> None:
    assert_type(page.expect("Page.x"), Expectation[Event])
    assert_type(page.expect(Navigated), Expectation[Navigated])
    assert_type(page.expect(Navigated, where=lambda event: event.url == "x"), Expectation[Navigated])
    with page.expect(Loaded) as loaded:
        await page.send("Page.reload")
    assert_type(await loaded.wait(), Loaded)
    assert_type(browser.targets.expect_new(lambda target: target.url), Expectation[TargetInfo])

    page.expect(Navigated, Loaded)  # type: ignore[call-overload]
    page.expect(Navigated, where=lambda event: event.nothing)  # type: ignore[attr-defined]


async def watching_targets(browser: BrowserSession) -> None:
    assert_type(browser.targets.subscribe(1), Subscription[TargetCreated | TargetChanged | TargetDestroyed])
    assert_type(
        browser.targets.subscribe_latest(1),
        Subscription[TargetCreated | TargetChanged | TargetDestroyed | Missed],
    )

    browser.targets.subscribe(1, 2)  # type: ignore[call-arg]
    browser.targets.subscribe()  # type: ignore[call-arg]


async def attaching(browser: BrowserSession) -> None:
    def arm(session: PageSession) -> list[TypedCommand[str] | str]:
        return [Navigate(url=session.target_id), "Page.enable"]

    async with browser.targets.auto_attach(types=["page"], arm=arm, capacity=1) as sessions:
        assert_type(sessions, Subscription[PageSession])
        async for session in sessions:
            assert_type(session, PageSession)
    async with browser.targets.auto_attach(
        arm=lambda session: [("Page.navigate", {"url": session.target_id})], capacity=1
    ) as armed:
        assert_type(await armed.receive(), PageSession)
    assert_type(await browser.targets.attach("T", fresh=True), PageSession)

    browser.targets.auto_attach()  # type: ignore[call-arg]
    browser.targets.auto_attach(arm=lambda _session: [42], capacity=1)  # type: ignore[list-item]


async def opening() -> None:
    ours, theirs = memory_pair()
    own: Transport = ours
    _manager: AbstractAsyncContextManager[BrowserSession] = open_browser_session(own)
    async with open_browser_session(theirs) as browser:
        assert_type(browser, BrowserSession)
    async with open_browser_session("ws://127.0.0.1:9222/devtools/browser/x") as browser:
        assert_type(browser.sessions, Mapping[SessionId, PageSession])

    open_browser_session(42)  # type: ignore[arg-type]
