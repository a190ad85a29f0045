"""The `open_supervisor` block: which exceptions leave it, and that no end leaves anything open."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from cdp_core import (
    CdpError,
    ConnectionLost,
    DiscoveryError,
    InvalidArgument,
    SessionOpened,
    TapFailed,
    open_browser_session,
)
from cdp_core.testing import FakeBrowser, FakeTransport, serve_fake_browser
from cdp_core.testing.faults import Cut, Silence
from cdp_core.testing.steps import Dialog
from cdp_supervisor import BlockedByDialog, Reconnect, SupervisorStopped, open_supervisor
from cdp_supervisor.sansio import step as machine
from support.cancellation import cancelled_at
from support.shop import Site

SHOP = "https://shop.example/"


def run(main: Callable[[], Awaitable[Any]]) -> Any:
    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0), strict_exception_groups=True)


# ── exceptions of the block ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("error", [KeyError("mine"), KeyboardInterrupt(), SystemExit(3)], ids=repr)
def test_an_exception_of_the_body_is_raised_unchanged(site: Any, error: BaseException) -> None:
    async def main() -> None:
        async with open_supervisor(site.dial) as supervisor:
            with pytest.raises(BlockedByDialog):
                await supervisor.evaluate("sure()")
            raise error

    with pytest.raises(type(error)) as raised:
        run(main)
    assert raised.value is error
    site.fake.assert_clean()  # the dialog was settled nevertheless


def test_a_lost_link_raises_nothing(site: Any) -> None:
    async def main() -> str:
        async with open_supervisor(site.dial, reconnect=Reconnect.never()) as supervisor:
            site.fake.cut()
            with pytest.raises(SupervisorStopped) as gone:
                await supervisor.wait_for(lambda snapshot: False)
            assert supervisor.snapshot().link.phase == "gave_up"
            await trio.sleep(100)
            return gone.value.reason

    assert run(main) == "gave_up"


def broken_rule(*_args: Any) -> None:
    raise ZeroDivisionError("a mistake of ours")


@pytest.mark.parametrize("borrowed", [False, True])
def test_an_internal_error_is_raised(site: Any, borrowed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    async def use(where: Any) -> None:
        async with open_supervisor(where) as supervisor:
            monkeypatch.setitem(machine.EVENTS, "Page.javascriptDialogOpening", broken_rule)
            site.fake.play(Dialog("alert"))
            await supervisor.wait_for(lambda snapshot: False)

    async def main() -> None:
        if not borrowed:
            await use(site.dial)
            return
        async with open_browser_session(await site.dial()) as browser:
            await use(browser)

    with pytest.raises(TapFailed) as failed:
        run(main)
    assert isinstance(failed.value.__cause__, ZeroDivisionError)


def test_an_internal_error_is_a_note_on_the_body_s_exception(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with open_supervisor(site.dial) as supervisor:
            monkeypatch.setitem(machine.EVENTS, "Page.javascriptDialogOpening", broken_rule)
            site.fake.play(Dialog("alert"))
            try:
                await trio.sleep_forever()
            finally:
                assert supervisor.snapshot()
                raise KeyError("mine")

    with pytest.raises(KeyError) as raised:
        run(main)
    assert any("TapFailed" in note for note in raised.value.__notes__)


def test_an_internal_error_in_the_clock_task_is_raised(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with open_supervisor(site.dial):
            monkeypatch.setitem(machine.DUE, "keepalive", broken_rule)
            await trio.sleep(1000)

    with pytest.raises(ZeroDivisionError):
        run(main)


def test_an_error_in_the_address_function_is_raised(site: Any) -> None:
    async def fails(number: int) -> None:
        if number == 2:
            raise KeyError("token")

    site.before = fails

    async def main() -> None:
        async with open_supervisor(site.dial):
            site.fake.cut()
            await trio.sleep(1000)

    with pytest.raises(KeyError, match="token"):
        run(main)


def test_a_cancellation_passes_through(site: Any) -> None:
    async def main() -> None:
        with trio.move_on_after(5) as scope:
            async with open_supervisor(site.dial) as supervisor:
                with pytest.raises(BlockedByDialog):
                    await supervisor.evaluate("sure()")
                await trio.sleep_forever()
        assert scope.cancelled_caught
        assert trio.current_time() - scope.deadline < 1.0
        assert supervisor.stop_report.left == ()  # a cancelled block settles its dialogs as well
        site.fake.assert_clean()

    run(main)


def test_a_keyboard_interrupt_passes_through(site: Any) -> None:
    async def main() -> None:
        async with open_supervisor(site.dial):
            signal.raise_signal(signal.SIGINT)
            await trio.sleep(10)

    with pytest.raises(KeyboardInterrupt):
        run(main)


# ── opening that fails ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "wrong", [5, None, FakeTransport, {"where": "there"}, "transport", "listing", "nothing", "not async"], ids=str
)
async def test_an_invalid_address_is_refused(wrong: Any, site: Any, bounded: trio.abc.Clock) -> None:
    async def gives_nothing() -> Any:
        return {"listing": ["ws://127.0.0.1:1"], "nothing": None}[wrong]

    where = (
        gives_nothing
        if wrong in ("listing", "nothing")
        else FakeTransport(site.fake)
        if wrong == "transport"
        else (lambda: "ws://127.0.0.1:1")
        if wrong == "not async"
        else wrong
    )
    with pytest.raises(TypeError if wrong is FakeTransport else InvalidArgument):  # the class itself raises it
        async with open_supervisor(where):
            pass


@pytest.mark.parametrize("option", [{"start_timeout": 0}, {"start_timeout": -1}, {"keepalive": float("nan")}])
async def test_an_invalid_duration_is_refused(site: Any, option: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        async with open_supervisor(site.dial, **option):
            pass
    assert site.dials == 0


async def test_an_address_without_a_browser_is_a_discovery_error(bounded: trio.abc.Clock) -> None:
    with pytest.raises(DiscoveryError) as refused:
        async with open_supervisor("ws://127.0.0.1:1/devtools/browser/x"):
            pass
    assert refused.value.stage == "tcp"


async def test_a_peer_that_never_replies_ends_in_a_start_timeout(bounded: trio.abc.Clock) -> None:
    site = Site(FakeBrowser(faults=[Silence()]))
    begun = trio.current_time()
    with pytest.raises(ConnectionLost) as silent:
        async with open_supervisor(site.dial, start_timeout=4):
            pass
    assert silent.value.reason == "start_timeout"
    assert trio.current_time() - begun < 8


async def test_a_link_lost_during_startup_is_dialled_again(bounded: trio.abc.Clock) -> None:
    site = Site(FakeBrowser(faults=[Cut(client=1)]))
    async with open_supervisor(site.dial) as supervisor:
        assert supervisor.snapshot().link.generation == 2
        assert await supervisor.evaluate("1 + 1") == 2
    site = Site(FakeBrowser(faults=[Cut(client=1)]))
    with pytest.raises(ConnectionLost) as lost:
        async with open_supervisor(site.dial, reconnect=Reconnect.never()):
            pass
    assert lost.value.reason == "broken"


async def test_a_blocked_page_delays_the_start_only_until_it_is_detected(site: Any, bounded: trio.abc.Clock) -> None:
    site.fake.play(Dialog("alert"))
    begun = trio.current_time()
    async with open_supervisor(site.dial) as supervisor:
        assert trio.current_time() - begun <= 3.1
        assert supervisor.snapshot().pages[0].health.state == "blocked"


# ── one input at a time ───────────────────────────────────────────────────────────────────────────────────────────────


async def test_steps_do_not_nest_and_a_lost_link_is_an_input_in_order(
    site: Any, bounded: trio.abc.Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs: list[Any] = []
    inside = 0
    real = machine.take

    def watched(state: Any, given: Any) -> Any:
        nonlocal inside
        assert inside == 0
        inside += 1
        inputs.append(given)
        done = real(state, given)
        inside -= 1
        return done

    monkeypatch.setattr("cdp_supervisor.runner.take", watched)
    async with open_supervisor(site.dial) as supervisor:
        await site.shop(supervisor)
        with pytest.raises(BlockedByDialog):
            await supervisor.evaluate("ask()")
        with pytest.raises(CdpError):  # the failed send is an input that queues behind the others
            await supervisor.call("Browser.getVersion", {"x": float("nan")})
        before = len(inputs)
        site.fake.cut()
        await supervisor.wait_for(
            lambda snapshot: snapshot.link.generation == 2 and snapshot.active and bool(snapshot.pages[0].session_id)
        )
        lost = [
            type(each).__name__
            for each in inputs[before:]
            if each.generation == 1 and type(each).__name__ != "TimePassed"
        ]
        ends = [name for name in lost if name == "CommandEnded"]
        assert lost == [*ends, "SessionClosed", "SessionClosed", "LinkDown"]
        assert len(ends) == 1
        assert SessionOpened.__name__ in {type(each).__name__ for each in inputs if each.generation == 2}
        await supervisor.recover(supervisor.snapshot().pages[0].target_id, "reload")


# ── cancellation at every checkpoint ──────────────────────────────────────────────────────────────────────────────────


def open_sockets() -> int:
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.exists() else 0


async def use(site: Any, supervisor: Any) -> None:
    """Navigate, answer, lose the link, recover and call, and end with a dialog open."""
    await site.shop(supervisor)
    with supervisor.changes() as changes:
        with pytest.raises(BlockedByDialog) as blocked:
            await supervisor.evaluate("ask()")
        await changes.receive()
        with trio.move_on_after(0.5):
            await blocked.value.call.wait()
        await supervisor.respond_to_dialog("accept", prompt_text="me")
        await blocked.value.call.wait()
    with pytest.raises(BlockedByDialog):
        await supervisor.evaluate("sure()", frame_id=list(supervisor.snapshot().pages[0].frames())[1].frame_id)
    site.fake.cut()
    await supervisor.wait_for(
        lambda snapshot: snapshot.link.generation == 2 and snapshot.active and bool(snapshot.pages[0].session_id)
    )
    await supervisor.recover(supervisor.snapshot().pages[0].target_id, "reload")
    await supervisor.evaluate("1 + 1")
    with pytest.raises(BlockedByDialog):
        await supervisor.evaluate("tell()")


def assert_nothing_is_left(site: Any, supervisors: list[Any], at: int) -> None:
    for supervisor in supervisors:
        driver = supervisor._driver
        assert supervisor.stop_report is not None, at
        leases = {} if driver._shared is None else driver._shared._leases
        assert (driver._pending_requests, leases, driver.runner.state.link.phase) == ({}, {}, "stopped"), at
        assert supervisor.snapshot().blocked_calls == (), at
    truth = site.fake.truth()
    assert (truth.sessions, site.fake.paused()) == ((), ()), at
    known = max((supervisor._driver.runner.state.last_dialog for supervisor in supervisors), default=0)
    unseen = sorted(truth.dialogs, key=lambda dialog: dialog.number)[known:]
    if all(not supervisor.stop_report.left for supervisor in supervisors) and not any(each.open for each in unseen):
        site.fake.assert_clean()  # a call that was just cancelled can still open a dialog, too late to settle it


async def test_cancelled_at_every_checkpoint(site: Any, bounded: trio.abc.Clock) -> None:
    script = site.fake.script

    async def one_run(at: int) -> int:
        own_site, held = Site(FakeBrowser(script)), []

        async def program() -> None:
            async with open_supervisor(own_site.dial) as supervisor:
                held.append(supervisor)
                await use(own_site, supervisor)

        tasks, sockets = trio.lowlevel.current_statistics().tasks_living, open_sockets()
        with trio.fail_after(60):
            count, cancelled = await cancelled_at(program, at)
        assert not (cancelled and at == 0)
        assert trio.lowlevel.current_statistics().tasks_living == tasks, at
        assert open_sockets() <= sockets, at
        assert_nothing_is_left(own_site, held, at)
        return count

    count = await one_run(0)
    assert count >= 12
    for at in range(1, count + 1):
        await one_run(at)


async def test_cancelled_at_every_checkpoint_on_a_borrowed_session(bounded: trio.abc.Clock) -> None:
    """The embedder's own session keeps working after each cancellation."""

    async def one_run(at: int) -> int:
        own_site, held = Site(), []
        async with open_browser_session(await own_site.dial()) as browser:

            async def program() -> None:
                async with open_supervisor(browser) as supervisor:
                    held.append(supervisor)
                    await own_site.shop(supervisor)
                    with pytest.raises(BlockedByDialog):
                        await supervisor.evaluate("sure()")

            tasks = trio.lowlevel.current_statistics().tasks_living
            with trio.fail_after(60):
                count, _ = await cancelled_at(program, at)
            assert trio.lowlevel.current_statistics().tasks_living == tasks, at
            await browser.send("Browser.getVersion")  # its reply proves that all earlier messages were processed
            assert browser._link._taps == (), at
            assert_nothing_is_left(own_site, held, at)
        return count

    count = await one_run(0)
    assert count >= 5
    for at in range(1, count + 1):
        await one_run(at)


async def test_cancelled_at_every_checkpoint_over_a_websocket(site: Any) -> None:
    for at in range(100):
        held: list[Any] = []
        sockets, tasks = open_sockets(), trio.lowlevel.current_statistics().tasks_living
        async with serve_fake_browser(FakeBrowser(site.fake.script)) as endpoint:

            async def program(address: str = endpoint.ws_url, held: list[Any] = held) -> None:
                async with open_supervisor(address) as supervisor:
                    held.append(supervisor)
                    assert await supervisor.evaluate("1 + 1") == 2
                    with pytest.raises(BlockedByDialog):
                        await supervisor.evaluate("sure()")

            with trio.fail_after(20):
                count, _ = await cancelled_at(program, at)
                while endpoint.fake.truth().sessions:  # noqa: ASYNC110 - a fake has no event for this
                    await trio.sleep(0.001)  # the server's side ends once the client has closed
            assert_nothing_is_left(Site(endpoint.fake), held, at)
        assert trio.lowlevel.current_statistics().tasks_living == tasks, at
        assert open_sockets() <= sockets, at
        if at > count:
            break
    assert 5 < at < 99
