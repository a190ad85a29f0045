"""A fake browser in its own thread, for blocking programs, asyncio, and clients in other processes.

    with start_fake_browser() as endpoint:
        subprocess.run(["node", "client.js", endpoint.ws_url])
        assert endpoint.fake.truth().dialogs == ()

The thread runs trio and the endpoint of endpoint.py, on the real clock. `endpoint.fake` may be used from any thread: each
call runs in the thread of the fake browser, between two messages, and the caller waits for it.

A script that cannot be played raises InvalidArgument at the end of the block.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final, TypeVar

import trio

from cdp_core.errors import LocalProtocolError
from cdp_core.testing.endpoint import FakeEndpoint, serve_fake_browser
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.fake.client_end import ClientEnd, ReadyMessage
from cdp_core.testing.fake.command_log import DeliveryLog, FakeStatistics, LoggedCommand, ReceivedCommand
from cdp_core.testing.fake.truth import Truth
from cdp_core.testing.faults import FaultReport
from cdp_core.testing.served_client import Order
from cdp_core.testing.steps import Script, Step
from cdp_core.transports import Transport

T = TypeVar("T")
CHECK_INTERVAL: Final = 0.1
"""Seconds between two checks of a waiting caller that the thread still runs."""


@contextmanager
def start_fake_browser(
    fake: FakeBrowser | None = None, /, *, port: int = 0, control: bool = False, order: Order = "arising"
) -> Generator[FakeEndpoint, None, None]:
    """Serve a fake browser in its own thread while the block runs.

    Until the end of the block use `endpoint.fake`, and not the given fake browser, which belongs to the thread. Raises what
    `serve_fake_browser` raises.
    """
    thread = _Thread(FakeBrowser() if fake is None else fake, port=port, control=control, order=order)
    endpoint = thread.start()
    try:
        yield FakeEndpoint(endpoint.ws_url, endpoint.http_url, FakeInThread(endpoint.fake, thread.call))
    finally:
        thread.stop()
    thread.raise_failure()


class _Thread:
    """The thread of a fake browser, and calls into it."""

    def __init__(self, fake: FakeBrowser, *, port: int, control: bool, order: Order) -> None:
        self._open = partial(serve_fake_browser, fake, port=port, control=control, order=order)
        self._serving: Future[FakeEndpoint] = Future()
        self._token: trio.lowlevel.TrioToken | None = None
        self._scope = trio.CancelScope()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="fake browser", daemon=True)

    def start(self) -> FakeEndpoint:
        """Start the thread; return the endpoint once it serves. Raises what serving raised."""
        self._thread.start()
        try:
            return self._serving.result()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the thread if it still runs, and wait for its end."""
        if self._token is not None:
            with suppress(trio.RunFinishedError):
                self._token.run_sync_soon(self._scope.cancel)
        self._thread.join()

    def raise_failure(self) -> None:
        """Raise the exception that ended the thread, if there was one."""
        if self._failure is not None:
            raise self._failure

    def call(self, run: Callable[[], T]) -> T:
        """Run a function in the thread and return its result. Raises what it raised."""
        done: Future[T] = Future()
        assert self._token is not None
        try:
            self._token.run_sync_soon(_run_into, done, run)
            while True:
                try:
                    return done.result(CHECK_INTERVAL)
                except NotYet:
                    if done.done():
                        raise  # `run` itself raised it
                    if not self._thread.is_alive():
                        break
        except trio.RunFinishedError:
            pass
        raise LocalProtocolError(
            "The fake browser's thread has ended; use it before the block of start_fake_browser ends.", reason="closed"
        )

    def _run(self) -> None:
        try:
            trio.run(self._serve)
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits
            if self._serving.done():
                self._failure = error
            else:
                self._serving.set_exception(error)

    async def _serve(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        with self._scope:
            async with self._open() as endpoint:
                self._serving.set_result(endpoint)
                await trio.sleep_forever()


def _run_into(done: Future[T], run: Callable[[], T]) -> None:
    try:
        done.set_result(run())
    except Exception as error:  # noqa: BLE001 - raised in the calling thread
        done.set_exception(error)


class FakeInThread(FakeBrowser):
    """A fake browser in another thread; each call runs in that thread and waits for the result."""

    def __init__(self, fake: FakeBrowser, call: Callable[[Callable[[], Any]], Any]) -> None:
        self._fake = fake
        self._call = call
        self.script = fake.script
        self.schedule = fake.schedule
        self.faults = fake.faults
        self.seed = fake.seed

    @property
    def path(self) -> str:
        return self._fake.path

    @property
    def now(self) -> float:
        return self._call_in_thread(lambda: self._fake.now)

    @property
    def commands(self) -> tuple[ReceivedCommand, ...]:
        return self._call_in_thread(lambda: self._fake.commands)

    def play(self, *steps: Step | Script) -> None:
        self._call_in_thread(lambda: self._fake.play(*steps))

    def advance(self, to: float) -> None:
        self._call_in_thread(lambda: self._fake.advance(to))

    def next_time(self) -> float | None:
        return self._call_in_thread(self._fake.next_time)

    def cut(self) -> None:
        self._call_in_thread(self._fake.cut)

    def command_log(self, client: int | None = None) -> tuple[LoggedCommand, ...]:
        return self._call_in_thread(lambda: self._fake.command_log(client))

    def delivered(self, client: int) -> DeliveryLog:
        return self._call_in_thread(lambda: self._fake.delivered(client))

    def matched_faults(self, client: int) -> FaultReport:
        return self._call_in_thread(lambda: self._fake.matched_faults(client))

    def ended_sessions(self, client: int) -> Mapping[str, str]:
        return self._call_in_thread(lambda: self._fake.ended_sessions(client))

    def truth(self) -> Truth:
        return self._call_in_thread(self._fake.truth)

    def statistics(self) -> FakeStatistics:
        return self._call_in_thread(self._fake.statistics)

    def assert_clean(self) -> None:
        self._call_in_thread(self._fake.assert_clean)

    def is_connected(self, client: int) -> bool:
        return self._call_in_thread(lambda: self._fake.is_connected(client))

    def paused(self, client: int | None = None) -> tuple[tuple[str, str], ...]:
        return self._call_in_thread(lambda: self._fake.paused(client))

    def held_by(self, client: int) -> tuple[tuple[str, str, str], ...]:
        return self._call_in_thread(lambda: self._fake.held_by(client))

    def left_enabled(self, client: int) -> tuple[tuple[str | None, str], ...]:
        return self._call_in_thread(lambda: self._fake.left_enabled(client))

    def unfinished(self) -> list[str]:
        return self._call_in_thread(self._fake.unfinished)

    def connect(self, path: str | None = None, **_options: Any) -> ClientEnd:  # noqa: ARG002
        """Raise LocalProtocolError: a client end belongs to the thread of its fake browser."""
        raise self._refusal()

    def ready(self) -> tuple[ReadyMessage, ...]:
        """Raise LocalProtocolError, as `connect` does."""
        raise self._refusal()

    def deliver(self, *_what: Any) -> Any:
        """Raise LocalProtocolError, as `connect` does."""
        raise self._refusal()

    def transport(self, path: str | None = None) -> Transport:  # noqa: ARG002
        """Raise LocalProtocolError, as `connect` does."""
        raise self._refusal()

    def _refusal(self) -> LocalProtocolError:
        return LocalProtocolError(
            "This fake browser runs in another thread; connect to it over its address.", reason="elsewhere"
        )

    def _call_in_thread(self, run: Callable[[], T]) -> T:
        answered: T = self._call(run)
        return answered
