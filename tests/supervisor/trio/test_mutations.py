"""Each law of the driver, broken on purpose: the tests that prove it must fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from cdp_core.link import Link
from cdp_supervisor.driver import Driver
from cdp_supervisor.performing import Performer
from cdp_supervisor.runner import Runner
from cdp_supervisor.sansio import effects, inputs, pages
from cdp_supervisor.shared_link import SharedLink
from support.module_copies import copy_of
from support.shop import Site

HERE = Path(__file__).parent


def proofs_in(name: str) -> ModuleType:
    return copy_of(HERE / f"{name}.py")


def fails(test: Callable[..., Any], **given: Any) -> bool:
    """Return True if the test fails in any way when called with these arguments."""

    async def main() -> None:
        with trio.fail_after(3000):
            await test(**given)

    try:
        trio.run(main, clock=MockClock(autojump_threshold=0))
    except (Exception, pytest.fail.Exception):
        return True
    return False


def after_init(monkeypatch: pytest.MonkeyPatch, change: Callable[[Driver], None]) -> None:
    real = Driver.__init__

    def init(self: Driver, *args: Any, **more: Any) -> None:
        real(self, *args, **more)
        change(self)

    monkeypatch.setattr(Driver, "__init__", init)


def test_the_end_needs_the_link_task_and_the_clock_task(monkeypatch: pytest.MonkeyPatch) -> None:
    test = proofs_in("test_block").test_a_cancellation_passes_through
    test(Site())

    def unshielded(driver: Driver) -> None:
        driver._link_scope.shield = driver._time_scope.shield = False

    after_init(monkeypatch, unshielded)
    with pytest.raises(AssertionError):
        test(Site())


@pytest.mark.parametrize(
    "name", ["test_supervisor_and_embedder_share_one_socket", "test_two_supervisors_on_one_session"]
)
def test_shared_holds_are_released(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    test = getattr(proofs_in("test_borrowed"), name)
    assert not fails(test, site=Site(), bounded=None)
    if name == "test_supervisor_and_embedder_share_one_socket":
        monkeypatch.setattr(SharedLink, "release", lambda self: None)
    else:  # the inner supervisor also releases what the outer one needs
        real = SharedLink.release

        def releases_all(self: SharedLink) -> None:
            for holder in list(self._browser.targets._holders):
                self._browser.targets._release_holder(holder)
            real(self)

        monkeypatch.setattr(SharedLink, "release", releases_all)
    assert fails(test, site=Site(), bounded=None)


def test_sessions_of_our_own_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    test = proofs_in("test_borrowed").test_a_page_attached_to_twice_leaves_no_session
    assert not fails(test, site=Site(), bounded=None)

    monkeypatch.setattr(pages, "_opened_by_us", lambda transition, session_id: None)
    assert fails(test, site=Site(), bounded=None)


def test_a_cancelled_caller_is_an_input(monkeypatch: pytest.MonkeyPatch) -> None:
    test = proofs_in("test_calls").test_a_cancelled_caller_leaves_nothing
    assert not fails(test, site=Site(), bounded=None)
    real = Performer.feed

    def deaf(self: Performer, given: Any) -> None:
        if not isinstance(given, inputs.RequestCancelled):
            real(self, given)

    monkeypatch.setattr(Performer, "feed", deaf)
    assert fails(test, site=Site(), bounded=None)


def test_inputs_are_processed_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    test = proofs_in("test_block").test_steps_do_not_nest_and_a_lost_link_is_an_input_in_order

    def late(self: Driver, reason: str, *, final: bool = False) -> None:
        real(self, reason, final=final)
        self.runner.feed(inputs.SessionClosed(at=self.now(), generation=self.runner.generation, session_id="s"))  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patched:
        assert not fails(test, site=Site(), bounded=None, monkeypatch=patched)
    real = Driver._link_is_down
    monkeypatch.setattr(Driver, "_link_is_down", late)
    with pytest.MonkeyPatch.context() as patched:
        assert fails(test, site=Site(), bounded=None, monkeypatch=patched)


def test_a_state_is_published_for_each_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """With only the last of several states published, a waiter would miss a state of one instant."""
    test = proofs_in("test_pages").test_a_waiter_sees_a_state_of_one_instant
    assert not fails(test, site=Site(), bounded=None)
    real = Runner.watch

    def lazy(self: Runner, watcher: Callable[[Any], None]) -> Callable[[], None]:
        return real(self, lambda state: None if state.dialog_on else watcher(state))

    monkeypatch.setattr(Runner, "watch", lazy)
    assert fails(test, site=Site(), bounded=None)


def test_commands_are_written_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    test = proofs_in("test_sources").test_the_driver_and_the_engine_write_the_same_bytes
    share, command = Driver.share, Link.command
    kept: list[Any] = []

    def share_later(self: Driver, effect: Any) -> None:
        if isinstance(effect, effects.Discover):
            kept.append((self, effect))
        else:
            share(self, effect)

    def command_first(self: Any, *given: Any, **options: Any) -> Any:
        command_id = command(self, *given, **options)
        if kept:
            share(*kept.pop())
        return command_id

    monkeypatch.setattr(Driver, "share", share_later)
    monkeypatch.setattr(Link, "command", command_first)
    assert fails(test, site=Site())
