"""Pages, waiting, changes, scopes and extensions, over the driver."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import AsyncExitStack
from typing import Any

import pytest
import trio
import trio.testing

from cdp_core import InvalidArgument, Missed, open_browser_session
from cdp_core.sansio.messages import SessionId
from cdp_core.testing.steps import Console, Crash, Dialog, Popup
from cdp_supervisor import (
    AmbiguousTarget,
    BlockedByDialog,
    DialogClosed,
    DialogOpened,
    Instant,
    InvalidPolicy,
    LinkChanged,
    Note,
    PageGone,
    PageOpened,
    Policy,
    Scope,
    Send,
    Snapshot,
    SupervisorEngine,
    SupervisorStopped,
    UnknownTarget,
    open_supervisor,
)
from cdp_supervisor.sansio.wanted_effects import NAMES

SHOP = "https://shop.example/"


async def test_focus_changes_only_on_request(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial) as supervisor:
        first = supervisor.snapshot().pages[0].target_id
        assert supervisor.snapshot().focus == first  # the only page
        with supervisor.changes(PageOpened, PageGone) as changes:
            site.fake.play(Popup("other", f"{SHOP}other", noopener=True))
            opened = await changes.receive()
            assert isinstance(opened, PageOpened)
            second = opened.target_id
            assert supervisor.snapshot().focus is None
            with pytest.raises(AmbiguousTarget) as ambiguous:
                await supervisor.evaluate("1")
            assert ambiguous.value.candidates == (first, second)
            with pytest.raises(AmbiguousTarget):
                supervisor.session()
            supervisor.focus(second)
            await supervisor.wait_for(lambda snapshot: not snapshot.pages[1].stale)
            assert await supervisor.evaluate("location.href") == f"{SHOP}other"
            await supervisor.call("Target.closeTarget", {"targetId": second})
            assert await changes.receive() == PageGone(target_id=second, reason="closed")
        gone = supervisor.snapshot()
        assert (gone.page_gone, gone.focus) == ((second, "closed"), None)
        with pytest.raises(AmbiguousTarget):
            await supervisor.evaluate("1")
        supervisor.focus(None)
        assert supervisor.snapshot().page_gone is None
        assert await supervisor.evaluate("location.href") == "about:blank"
        with pytest.raises(InvalidArgument):
            supervisor.focus(["page"])  # type: ignore[arg-type]
    site.fake.assert_clean()


async def test_the_browser_session_is_available(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial) as supervisor:
        assert len(await supervisor.browser.targets.list()) == 1
        page = await supervisor.browser.targets.create(f"{SHOP}own")
        snapshot = await supervisor.wait_for(lambda snapshot: len(snapshot.pages) == 2)
        assert snapshot.pages[1].target_id == page.target_id
        assert repr(supervisor) == "<Supervisor up, 2 pages, 0 dialogs>"


# ── waiting ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_waiter_sees_a_state_of_one_instant(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial, policy=Policy("auto_accept")) as supervisor:
        seen: list[Snapshot] = []
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def _wait() -> None:
                seen.append(await supervisor.wait_for(lambda snapshot: bool(snapshot.pending_dialogs)))

            await trio.testing.wait_all_tasks_blocked()
            await supervisor.call("Runtime.evaluate", {"expression": "tell()"}, when_blocked="wait")
        assert seen[0].pending_dialogs[0].id == "d-1"
        assert not supervisor.snapshot().pending_dialogs
        assert seen[0].sequence < supervisor.snapshot().sequence


async def test_a_waiter_sees_each_snapshot_in_order_and_gets_its_conditions_exception(
    site: Any, bounded: trio.abc.Clock
) -> None:
    async with open_supervisor(site.dial) as supervisor:
        sequences: list[int] = []

        def condition(snapshot: Snapshot) -> bool:
            sequences.append(snapshot.sequence)
            if snapshot.pending_dialogs:
                raise KeyError("mine")
            return False

        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def _wait() -> None:
                with pytest.raises(KeyError, match="mine"):
                    await supervisor.wait_for(condition)

            await trio.testing.wait_all_tasks_blocked()
            await site.shop(supervisor)
            site.fake.play(Dialog("alert"))
        assert sequences == list(range(sequences[0], sequences[-1] + 1))
        assert len(sequences) > 5
        assert not supervisor._driver.runner._watchers
        await supervisor.respond_to_dialog("accept")
        with trio.move_on_after(1) as scope:
            await supervisor.wait_for(lambda snapshot: False)
        assert scope.cancelled_caught
        assert not supervisor._driver.runner._watchers


async def test_the_end_stops_waiters_and_subscribers(site: Any, bounded: trio.abc.Clock) -> None:
    outcomes: list[Any] = []
    async with trio.open_nursery() as nursery, open_supervisor(site.dial) as supervisor:

        @nursery.start_soon
        async def _wait() -> None:
            with pytest.raises(SupervisorStopped) as stopped:
                await supervisor.wait_for(lambda snapshot: False)
            assert stopped.value.reason == "stopped"

        @nursery.start_soon
        async def _listen() -> None:
            outcomes.extend([type(change) async for change in supervisor.changes(DialogOpened, DialogClosed)])
            outcomes.append("ended")

        with pytest.raises(BlockedByDialog):
            await supervisor.evaluate("sure()")
    assert outcomes == [DialogOpened, DialogClosed, "ended"]
    with pytest.raises(SupervisorStopped):
        await supervisor.wait_for(lambda snapshot: False)
    with pytest.raises(trio.EndOfChannel):
        await supervisor.changes().receive()


async def test_the_last_changes_are_delivered_before_the_end(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial) as supervisor:
        changes = supervisor.changes()
        with pytest.raises(BlockedByDialog):
            await supervisor.evaluate("sure()")
    received: list[Any] = []
    with pytest.raises(trio.EndOfChannel):
        while True:
            received.append(await changes.receive())
    assert [type(each) for each in received] == [DialogOpened, DialogClosed]
    assert received[1].closed_by == "auto_policy"


async def test_a_slow_subscriber_receives_missed(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial) as supervisor:
        with supervisor.changes(capacity=1) as changes:
            await site.shop(supervisor)
            assert isinstance(await changes.receive(), Missed)


async def test_another_thread_can_read_snapshots(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial) as supervisor:
        stop, wrong = threading.Event(), []
        seen: tuple[list[int], ...] = ([], [])

        def read_snapshots(sequences: list[int]) -> None:
            while not stop.is_set():
                try:
                    snapshot = supervisor.snapshot()
                    snapshot.to_dict(full=True)
                    sequences.append(snapshot.sequence)
                except Exception as error:
                    wrong.append(error)
                    return

        async def all_have_read() -> None:
            """Wait until each thread has read the current snapshot."""
            now = supervisor.snapshot().sequence
            while not wrong and any(not sequences or sequences[-1] < now for sequences in seen):
                await trio.lowlevel.checkpoint()

        threads = [threading.Thread(target=read_snapshots, args=(sequences,)) for sequences in seen]
        for thread in threads:
            thread.start()
        try:
            await all_have_read()
            for number in range(12):
                site.fake.play(Popup(f"popup {number}", f"{SHOP}{number}", noopener=True))
                await supervisor.wait_for(lambda snapshot: len(snapshot.pages) == 2 and not snapshot.pages[1].stale)
                target = supervisor.snapshot().pages[1].target_id
                await supervisor.call("Target.closeTarget", {"targetId": target})
                await supervisor.wait_for(lambda snapshot: len(snapshot.pages) == 1)
            await all_have_read()
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert not wrong
        for sequences in seen:
            assert sequences == sorted(sequences)  # a thread never sees an older snapshot after a newer one
            assert sequences[0] < sequences[-1]
        assert supervisor.snapshot() is supervisor.snapshot()


# ── scopes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_scope_of_targets_includes_the_popups_they_open(site: Any, bounded: trio.abc.Clock) -> None:
    (first,) = site.fake.truth().pages
    async with open_browser_session(await site.dial()) as client:
        other = (await client.send("Target.createTarget", {"url": f"{SHOP}other"}))["targetId"]
    async with open_supervisor(site.dial, scope=Scope.targets(first)) as supervisor:
        assert [page.target_id for page in supervisor.snapshot().pages] == [first]
        await supervisor.evaluate("open()")
        snapshot = await supervisor.wait_for(lambda snapshot: len(snapshot.pages) == 2)
        assert snapshot.pages[1].opener_id == first
        with pytest.raises(UnknownTarget):
            await supervisor.evaluate("1", target_id=other)
        site.fake.play(Dialog("alert", "not ours", frame="page 2"))
        assert site.fake.truth().dialogs[0].page == other
        await trio.sleep(400)
        assert not supervisor.snapshot().pending_dialogs
        # No session is left on a page out of scope, and the page runs.
        assert other not in {target for _, _, target in site.fake.truth().sessions}
        assert not site.fake.paused()


async def test_a_scope_of_a_browser_context_includes_its_pages(site: Any, bounded: trio.abc.Clock) -> None:
    async with (
        open_browser_session(await site.dial()) as browser,
        browser.targets.open_context() as context,
        open_supervisor(browser, scope=Scope.context(context)) as supervisor,
    ):
        assert supervisor.snapshot().pages == ()
        page = await browser.targets.create(SHOP, context=context)
        snapshot = await supervisor.wait_for(lambda snapshot: bool(snapshot.pages))
        assert [(each.target_id, each.context_id) for each in snapshot.pages] == [(page.target_id, context)]


@pytest.mark.parametrize("wrong", [Scope.targets, lambda: Scope.targets(""), lambda: Scope.context("")])
def test_invalid_scopes_are_refused(wrong: Any) -> None:
    with pytest.raises(InvalidPolicy):
        wrong()


# ── extensions of the embedder ────────────────────────────────────────────────────────────────────────────────────────


class Counting:
    """Count console lines, and seconds; `act` adds further effects."""

    name = "counting"
    events = frozenset({"Runtime.consoleAPICalled"})

    def __init__(self, act: Any = lambda: ()) -> None:
        self._act = act

    def initial(self) -> Any:
        return (0, None)

    def step(self, state: Any, input: Any, /) -> tuple[Any, Iterable[Any]]:
        lines, due = state
        if type(input).__name__ == "BrowserEvent":
            return (lines + 1, input.at.mono + 5), self._act()
        if type(input).__name__ == "TimePassed" and due is not None and input.at.mono >= due:
            return (lines + 100, None), ()
        return state, ()

    def next_deadline(self, state: Any, /) -> float | None:
        return state[1]

    def view(self, state: Any, /) -> dict[str, Any]:
        return {"lines": state[0]}


def fails() -> Any:
    raise ZeroDivisionError


async def test_an_extension_gets_inputs_and_deadlines_and_is_shown(site: Any, bounded: trio.abc.Clock) -> None:
    def act() -> list[Any]:
        return [
            Send(ticket=7, session_id=None, method="Browser.getVersion"),
            Note(level="info", text="a line", fields={}),
        ]

    async with open_supervisor(site.dial, extensions=(Counting(act),)) as supervisor:
        site.fake.play(Console("one"))
        await supervisor.wait_for(lambda snapshot: snapshot.extensions["counting"] == {"lines": 1})
        assert [each.method for each in site.sent("Browser.getVersion")] == ["Browser.getVersion"]
        await supervisor.wait_for(lambda snapshot: snapshot.extensions["counting"] == {"lines": 101})
        assert supervisor.snapshot().to_dict()["extensions"]["counting"] == {"lines": 101}
        assert await supervisor.evaluate("1 + 1") == 2


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (fails, "it raised ZeroDivisionError"),
        (
            lambda: [Send(ticket=0, session_id=None, method="Browser.getVersion")] * 9,
            "it sent 9 commands for one input",
        ),
        (lambda: ["close the browser"], f"it returned something other than {NAMES}"),
    ],
)
async def test_an_extension_that_fails_is_disabled_alone(
    site: Any, bounded: trio.abc.Clock, act: Any, why: str
) -> None:
    async with open_supervisor(site.dial, extensions=(Counting(act),)) as supervisor:
        site.fake.play(Console("one"))
        await supervisor.wait_for(lambda snapshot: snapshot.extensions["counting"] == {"off": why})
        assert supervisor.statistics()["machines_switched_off"] == 1
        assert not site.sent("Browser.getVersion")
        lines = supervisor.snapshot().extensions["console"]["pages"]
        assert [line["text"] for rows in lines.values() for line in rows] == ["one"]


class Sending(Counting):
    """For each line, and each end of its own command, send one command over a session that does not exist."""

    def step(self, state: Any, input: Any, /) -> tuple[Any, Iterable[Any]]:
        ended = type(input).__name__ == "CommandEnded" and input.ticket == 0
        if ended or type(input).__name__ == "BrowserEvent":
            return (state[0] + 1, None), [Send(ticket=0, session_id=SessionId("gone"), method="Runtime.disable")]
        return state, ()


async def test_an_unsent_command_of_an_extension_is_counted_and_is_no_input(site: Any, bounded: trio.abc.Clock) -> None:
    """If the failed send were an input, an extension that sends again at each end would never stop."""
    async with open_supervisor(site.dial, extensions=(Sending(),)) as supervisor:
        assert supervisor.statistics()["machine_commands_unsent"] == 0
        site.fake.play(Console("one"))
        await supervisor.wait_for(lambda snapshot: snapshot.extensions["counting"] == {"lines": 1})
        assert supervisor.statistics()["machine_commands_unsent"] == 1
        assert not site.sent("Runtime.disable")
        assert await supervisor.evaluate("1 + 1") == 2
        assert supervisor.snapshot().extensions["counting"] == {"lines": 1}


def test_the_engine_counts_an_unsent_command_of_an_extension_too() -> None:
    engine = SupervisorEngine(extensions=(Sending(),))
    engine.link_up(Instant(mono=0.0))
    engine.outgoing()
    engine.receive(b'{"method":"Runtime.consoleAPICalled","params":{"type":"log"}}', Instant(mono=0.0))
    assert engine._runner.unsent == 1
    assert engine.outgoing() == []
    assert engine.snapshot().extensions["counting"] == {"lines": 1}


async def test_two_extensions_with_one_name_are_refused(site: Any) -> None:
    with pytest.raises(InvalidPolicy, match="counting"):
        async with open_supervisor(site.dial, extensions=(Counting(), Counting())):
            pass


async def test_link_changes_are_published(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial) as supervisor:
        with supervisor.changes(LinkChanged) as changes:
            site.fake.cut()
            phases = [(await changes.receive()).phase for _ in range(2)]  # type: ignore[union-attr]
        assert phases == ["down", "up"]


@pytest.mark.parametrize("borrowed", [False, True])
async def test_events_arrive_from_a_page_that_had_crashed_before_the_start(
    site: Any, bounded: trio.abc.Clock, borrowed: bool
) -> None:
    site.fake.play(Crash())
    async with AsyncExitStack() as held:
        where = await held.enter_async_context(open_browser_session(await site.dial())) if borrowed else site.dial
        supervisor = await held.enter_async_context(open_supervisor(where))
        found = await site.shop(supervisor)
        assert found.pages[0].health.state == "ok"
        await supervisor.evaluate("log()")
        await supervisor.wait_for(lambda seen: "'line'" in str(seen.extensions["console"]))
        leases = supervisor.browser.sessions[found.pages[0].session_id].statistics().leases
        assert leases == {"Inspector": 1, "Page": 1, "Runtime": 1}


async def test_a_popup_that_crashed_while_paused_runs_after_its_reload(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial) as supervisor:
        site.fake.play(Popup("x", SHOP, noopener=True), Crash("x"))
        found = await supervisor.wait_for(lambda seen: len(seen.pages) == 2)
        await supervisor.call("Page.navigate", {"url": SHOP}, target_id=found.pages[1].target_id)
        await supervisor.wait_for(lambda seen: seen.pages[1].health.state == "ok" and seen.pages[1].frame_count == 3)
