"""A lost link: backoff and budget, commands that are never repeated, and what the new link shows."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from cdp_core import ConnectionLost, DiscoveryError, InvalidArgument
from cdp_core.testing import FakeBrowser, FakeTransport, Script, serve_fake_browser
from cdp_core.testing.faults import Cut
from cdp_supervisor import CallTimedOut, Reconnect, Snapshot, SupervisorStopped, UnknownTarget, open_supervisor
from support.shop import Site

SHOP = "https://shop.example/"


def is_up_again(generation: int) -> Callable[[Snapshot], bool]:
    def condition(snapshot: Snapshot) -> bool:
        return (
            snapshot.link.generation == generation
            and snapshot.active
            and bool(snapshot.pages)
            and all(page.session_id and not page.stale for page in snapshot.pages)
        )

    return condition


def refusing(status: int | None = None, stage: str = "tcp") -> DiscoveryError:
    return DiscoveryError("Nobody is there.", address="ws://…", stage=stage, status=status)


@pytest.mark.parametrize("jitter", [0.0, 0.5, 1.0])
async def test_redials_follow_backoff_and_jitter_up_to_the_budget(
    site: Any, bounded: trio.abc.Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, jitter: float
) -> None:
    monkeypatch.setattr(random, "random", lambda: jitter)
    dialled: list[float] = []

    async def before(number: int) -> None:
        dialled.append(trio.current_time())
        if number > 1:
            raise refusing()

    site.before = before
    with caplog.at_level(logging.INFO, "cdp_supervisor"):
        async with open_supervisor(site.dial, reconnect=Reconnect(first=1, factor=3, most=10, budget=4)) as supervisor:
            lost_at = trio.current_time()
            site.fake.cut()
            with pytest.raises(SupervisorStopped) as stopped:
                await supervisor.wait_for(lambda snapshot: False)
            snapshot = supervisor.snapshot()
    assert stopped.value.reason == "gave_up"
    assert (snapshot.link.phase, snapshot.link.reason, snapshot.link.failures) == ("gave_up", "tcp", 5)
    spread = 0.5 + jitter / 2
    waits = [later - sooner for sooner, later in zip([lost_at, *dialled[1:]], dialled[1:], strict=False)]
    assert waits == pytest.approx([1 * spread, 3 * spread, 9 * spread, 10 * spread], abs=0.01)
    warnings = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert len([each for each in warnings if each.startswith("link down (")]) == 1  # one line for the outage
    assert len([each for each in warnings if "does not reconnect" in each]) == 1  # and one at giving up


async def test_a_later_redial_succeeds_and_resets_the_count(site: Any, bounded: trio.abc.Clock) -> None:
    async def before(number: int) -> None:
        if number in (2, 3):
            raise OSError("no route")  # the embedder's own code can fail as well
        if number == 4:
            raise refusing(status=503, stage="upgrade")

    site.before = before
    async with open_supervisor(site.dial) as supervisor:
        for generation in (5, 6):
            site.fake.cut()
            snapshot = await supervisor.wait_for(is_up_again(generation))
            assert (snapshot.link.failures, snapshot.link.browser_changed) == (0, False)
        assert await supervisor.evaluate("1 + 1") == 2
    assert site.dials == 6


@pytest.mark.parametrize("status", [401, 403, 404, 410])
async def test_a_final_answer_ends_the_redials_at_once(site: Any, bounded: trio.abc.Clock, status: int) -> None:
    async def before(number: int) -> None:
        if number == 2:
            raise refusing(status=status, stage="upgrade")

    site.before = before
    async with open_supervisor(site.dial) as supervisor:
        with supervisor.changes() as changes:
            site.fake.cut()
            with pytest.raises(SupervisorStopped):
                await supervisor.wait_for(lambda snapshot: False)
            phases = []
            with pytest.raises(SupervisorStopped):
                while True:
                    phases.append(getattr(await changes.receive(), "phase", None))
        assert phases == ["down", "gave_up"]
        with pytest.raises(SupervisorStopped):
            await supervisor.evaluate("1")
        await trio.sleep(1000)
    assert site.dials == 2
    assert supervisor.stop_report.left == ("the link is gave_up",)


async def test_the_first_link_is_dialled_once(site: Any, bounded: trio.abc.Clock) -> None:
    async def before(_number: int) -> None:
        raise refusing()

    site.before = before
    with pytest.raises(DiscoveryError) as refused:
        async with open_supervisor(site.dial):
            pass
    assert (refused.value.stage, site.dials) == ("tcp", 1)


async def test_commands_are_never_sent_again(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial) as supervisor:
        await site.shop(supervisor)
        ends: list[Any] = []
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def _call() -> None:
                with pytest.raises(ConnectionLost) as lost:
                    await supervisor.call("Runtime.evaluate", {"expression": "ask()"}, when_blocked="wait")
                ends.append(lost.value)

            await supervisor.wait_for(lambda snapshot: bool(snapshot.pending_dialogs))
            site.fake.cut()
        assert ends
        await supervisor.wait_for(lambda snapshot: snapshot.link.generation == 2 and bool(snapshot.pages[0].session_id))
        target = supervisor.snapshot().pages[0].target_id
        await supervisor.recover(target, "reload")
        await supervisor.wait_for(lambda snapshot: all(each.url[:6] == "https:" for each in snapshot.pages[0].frames()))
        assert [frame.url for frame in supervisor.snapshot().pages[0].frames()] == [
            SHOP,
            f"{SHOP}news",
            "https://pay.example/f",
        ]
    assert [len(site.sent(method)) for method in ("Page.navigate", "Page.reload")] == [1, 1]
    assert [each.params["expression"] for each in site.sent("Runtime.evaluate")].count("ask()") == 1


# ── keepalive ────────────────────────────────────────────────────────────────────────────────────────────────────────


class Idle(FakeTransport):
    """A service that ends a link on which no command arrived for ten minutes."""

    async def receive(self) -> Any:
        while True:
            self.heard = getattr(self, "heard", trio.current_time())
            with trio.move_on_at(self.heard + 600):
                return await super().receive()
            if trio.current_time() >= self.heard + 600:
                await self.aclose()
                raise ConnectionLost("No command arrived for ten minutes.", reason="idle")

    def send_now(self, text: bytes, /) -> bool:
        self.heard = trio.current_time()
        return super().send_now(text)


@pytest.mark.parametrize(("keepalive", "dials"), [(60.0, 1), (None, 6)])
async def test_keepalive_holds_a_link_that_a_service_would_drop(
    site: Any, bounded: trio.abc.Clock, keepalive: float | None, dials: int
) -> None:
    async def dial() -> Idle:
        site.dials += 1
        return Idle(site.fake)

    async with open_supervisor(dial, keepalive=keepalive) as supervisor:
        await trio.sleep(3300)
        assert supervisor.snapshot().link.generation == dials
    assert site.dials == dials
    assert bool(site.sent("Browser.getVersion")) == (keepalive is not None)


async def test_any_command_replaces_the_keepalive(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial) as supervisor:
        for _ in range(20):
            await trio.sleep(59)
            await supervisor.evaluate("1 + 1")
        assert not site.sent("Browser.getVersion")
        await trio.sleep(61)
        assert len(site.sent("Browser.getVersion")) == 1


async def test_two_unanswered_keepalives_mean_a_half_open_link(bounded: trio.abc.Clock) -> None:
    silent = Site(FakeBrowser())
    async with open_supervisor(silent.dial) as supervisor:
        delivered = silent.fake._ends[1].delivered
        silent.fake._ends[1].faults.silent.add("out")
        begun = trio.current_time()
        down = await supervisor.wait_for(lambda snapshot: snapshot.link.phase != "up")
        assert down.link.reason == "half_open"
        assert trio.current_time() - begun <= 181
        await supervisor.wait_for(is_up_again(2))
        assert silent.fake._ends[1].delivered == delivered
        assert len([each for each in silent.sent("Browser.getVersion") if each.client == 1]) == 2
        assert await supervisor.evaluate("1 + 1") == 2


# ── what the new link shows ───────────────────────────────────────────────────────────────────────────────────────────


async def test_another_browser_behind_the_address_is_reported(site: Any, bounded: trio.abc.Clock) -> None:
    other = FakeBrowser(seed=7)

    async def dial() -> FakeTransport:
        site.dials += 1
        return FakeTransport(site.fake if site.dials == 1 else other)

    async with open_supervisor(dial) as supervisor:
        first = supervisor.snapshot().pages[0].target_id
        supervisor.focus(first)
        site.fake.cut()
        snapshot = await supervisor.wait_for(is_up_again(2))
        assert snapshot.link.browser_changed
        assert [page.target_id for page in snapshot.pages] == list(other.truth().pages)
        assert first not in other.truth().pages
        assert (snapshot.page_gone, snapshot.focus) == ((first, "link_lost"), None)
        supervisor.focus(None)
        assert await supervisor.evaluate("location.href") == "about:blank"


async def test_the_same_browser_is_not_reported_as_changed(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial) as supervisor:
        before = supervisor.snapshot()
        site.fake.cut()
        after = await supervisor.wait_for(is_up_again(2))
        assert not after.link.browser_changed
        assert [page.target_id for page in before.pages] == [page.target_id for page in after.pages]


async def test_each_dial_asks_for_a_new_address(site: Any) -> None:
    """Each address is valid for one link: a real WebSocket, and a function that returns the next address."""
    asked: list[str] = []
    async with serve_fake_browser(site.fake) as one, serve_fake_browser(site.fake) as two:

        async def next_address() -> str:
            asked.append("address")
            return one.ws_url if len(asked) == 1 else two.ws_url

        async with open_supervisor(next_address, reconnect=Reconnect(first=0.01)) as supervisor:
            with trio.fail_after(10):
                site.fake.cut()
                await supervisor.wait_for(is_up_again(2))
                assert await supervisor.evaluate("1 + 1") == 2
    assert len(asked) == 2


# ── a cut at every message ────────────────────────────────────────────────────────────────────────────────────────────


async def one_cut(script: Any, fault: Cut, use: Callable[[Any, Any], Any]) -> bool:
    """Cut the first link there: each request must end, and the supervisor must recover on the next link."""
    own_site = Site(FakeBrowser(script, faults=[fault]))
    async with open_supervisor(own_site.dial) as supervisor:
        with trio.move_on_after(400) as patience:
            await use(own_site, supervisor)
        assert not patience.cancelled_caught, fault
        generation = supervisor.snapshot().link.generation
        await trio.sleep(8)  # a page that was stopped unseen is known to be blocked by then
        back = await supervisor.wait_for(
            lambda snapshot: snapshot.active and all(page.session_id for page in snapshot.pages)
        )
        await free(supervisor, back)
        await trio.sleep(8)  # a further dialog of the script stops the page, and no session can answer it (fact 22)
        await gently(lambda: supervisor.respond_to_dialog("dismiss"))
        await trio.sleep(8)
        await free(supervisor, supervisor.snapshot())
        with trio.fail_after(400):
            snapshot = await supervisor.wait_for(
                lambda snapshot: (
                    all(page.session_id and not page.stale for page in snapshot.pages)
                    and not any(not each.answerable for each in snapshot.pending_dialogs)
                )
            )
            await trio.sleep(2)
            snapshot = supervisor.snapshot()
        delivered = sum(own_site.fake._ends[number].delivered for number in own_site.fake._ends if number > 1)
        assert delivered <= 200, fault
        truth = own_site.fake.truth()
        assert {page.target_id for page in snapshot.pages} == set(truth.pages), fault
        shown = {frame.frame_id: frame.url for page in snapshot.pages for frame in page.frames()}
        silent = {frame.id for frame in truth.frames if frame.silent}
        assert {frame: url for frame, url in shown.items() if frame not in silent} == {
            frame.id: frame.url for frame in truth.frames if not frame.silent
        }, fault
        if silent:  # a dialog opened unseen, in a process other than its page's
            await supervisor.recover(snapshot.pages[0].target_id, "reload")
            await trio.sleep(2)
    own_site.fake.assert_clean()
    return generation > 1


async def free(supervisor: Any, snapshot: Any) -> None:
    for page in snapshot.pages:
        if (page.pending_dialogs and not page.pending_dialogs[0].answerable) or page.health.state == "blocked":
            await supervisor.recover(page.target_id, "navigate")


async def gently(act: Callable[[], Any]) -> None:
    """Run a call that may fail because of a dialog or the end of the link."""
    with trio.move_on_after(5):
        try:
            await act()
        except Exception as error:
            assert type(error).__module__ in ("cdp_core.errors", "cdp_supervisor.errors"), error  # noqa: PT017


async def shopping(site: Any, supervisor: Any) -> None:
    await gently(lambda: supervisor.call("Page.navigate", {"url": SHOP}))
    await trio.sleep(1)


async def asking(site: Any, supervisor: Any) -> None:
    await gently(lambda: supervisor.evaluate("ask()"))
    await gently(lambda: supervisor.respond_to_dialog("accept", prompt_text="me"))
    await trio.sleep(1)


async def opening(site: Any, supervisor: Any) -> None:
    await gently(lambda: supervisor.evaluate("open_alone()"))
    await trio.sleep(1)


async def twice(site: Any, supervisor: Any) -> None:
    await gently(lambda: supervisor.evaluate("both()"))
    for _ in range(2):
        await gently(lambda: supervisor.respond_to_dialog("dismiss"))
    await trio.sleep(1)


async def in_a_frame(site: Any, supervisor: Any) -> None:
    await shopping(site, supervisor)
    await gently(lambda: supervisor.evaluate("framed()"))
    await gently(lambda: supervisor.respond_to_dialog("accept"))
    await trio.sleep(1)


POSITIONS = {shopping: ("after",), in_a_frame: ("after",), opening: ("after",)}
"""The position after one message is the one before the next, except for the work between the two.

The short scenarios test both.
"""


@pytest.mark.parametrize("scenario", [shopping, asking, opening, twice, in_a_frame], ids=lambda each: each.__name__)
async def test_a_cut_before_or_after_any_message_is_survived(
    site: Any, autojump_clock: trio.abc.Clock, scenario: Any
) -> None:
    for direction in ("in", "out"):
        for when in POSITIONS.get(scenario, ("before", "after")):
            number, struck = 0, True
            while struck:
                number += 1
                struck = await one_cut(site.fake.script, Cut(number, direction, when, client=1), scenario)
            assert number > 8


async def test_the_first_connect_waits_for_a_browser_that_is_starting(tmp_path: Path) -> None:
    """There is no port file yet."""
    async with serve_fake_browser(FakeBrowser(Script())) as endpoint, trio.open_nursery() as nursery:

        @nursery.start_soon
        async def start() -> None:
            await trio.testing.wait_all_tasks_blocked(0.05)
            port, path = endpoint.ws_url.removeprefix("ws://127.0.0.1:").split("/", 1)
            (tmp_path / "DevToolsActivePort").write_text(f"{port}\n/{path}")

        async with open_supervisor(tmp_path, start_timeout=30.0) as supervisor:
            assert supervisor.snapshot().active


@pytest.mark.parametrize(("address", "stage"), [("profile", "address"), ("ws://127.0.0.1:9/devtools/browser/x", "tcp")])
async def test_a_browser_that_never_starts_raises_why_it_was_not_reached(
    tmp_path: Path, address: str, stage: str
) -> None:
    where = tmp_path / address if stage == "address" else address
    with pytest.raises(DiscoveryError) as failed:
        async with open_supervisor(where, start_timeout=0.3):
            raise AssertionError
    assert failed.value.stage == stage


async def test_another_failure_of_the_first_connect_is_raised_at_once(autojump_clock: Any) -> None:
    begun = trio.current_time()
    with pytest.raises(DiscoveryError):
        async with open_supervisor("http://", start_timeout=3.0):
            raise AssertionError
    assert trio.current_time() == begun


async def test_a_call_after_a_reconnect_waits_for_the_session_of_its_page(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial) as supervisor:
        [page] = supervisor.snapshot().pages
        for _ in range(3):
            site.fake.cut()
            await supervisor.wait_for(lambda found: not found.active)
            await supervisor.wait_for(lambda found: found.active)
            assert await supervisor.evaluate("1+1", target_id=page.target_id) == 2
            ready = await supervisor.wait_ready(page.target_id)
            assert ready.session_id is not None
            assert not ready.stale


async def test_waiting_for_a_page_that_is_gone_or_silent_ends(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial) as supervisor:
        with pytest.raises(UnknownTarget):
            await supervisor.wait_ready("gone")
        with pytest.raises(InvalidArgument, match="timeout must be"):
            await supervisor.wait_ready("gone", timeout=-1)
        site.fake.cut()
        await supervisor.wait_for(lambda found: not found.active)
        with pytest.raises(CallTimedOut, match="the link to the browser is down"):
            await supervisor.wait_ready(supervisor.snapshot().pages[0].target_id, timeout=0.01)
