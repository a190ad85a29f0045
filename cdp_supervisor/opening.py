"""Opening a supervisor: the block that it lives in, its first link, and its end.

What leaves the block is what its body raised, as it was; where the body raised nothing, what a task of ours raised, which
is a mistake in this library or in the function that gives the address. If both did, the body's leaves, with a note. A lost
link is neither: it is state (docs/cdp/link-loss-is-not-an-exception-of-the-block.md).

The end has work to do for which it needs the link and the clock: dialogs are settled, leases given back. So the tasks are
ended by the block alone, and not by whoever cancels it.
"""

from __future__ import annotations

import logging
import os
import ssl
from collections.abc import AsyncGenerator, Generator, Iterable, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import trio

from cdp_core import BrowserSession, ConnectionLost, InvalidArgument, TraceWriter
from cdp_core.nurseries import add_note, background_tasks
from cdp_core.sansio.arguments import check_timeout
from cdp_supervisor.driver import Connect, Driver, LinkOptions
from cdp_supervisor.recording import recorder
from cdp_supervisor.sansio.console import ConsoleRing
from cdp_supervisor.sansio.extensions import Extension
from cdp_supervisor.sansio.options import Limits, Policy, Reconnect, Scope
from cdp_supervisor.sansio.state import initial_state
from cdp_supervisor.supervisor import Supervisor

NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})

log = logging.getLogger("cdp_supervisor")


@asynccontextmanager
async def open_supervisor(
    where: Connect | BrowserSession,
    /,
    *,
    policy: Policy | None = None,
    scope: Scope | None = None,
    reconnect: Reconnect | None = None,
    keepalive: float | None = 60.0,
    headers: Mapping[str, str] = NO_HEADERS,
    ssl_context: ssl.SSLContext | None = None,
    extensions: Iterable[Extension[Any]] = (),
    limits: Limits | None = None,
    trace: TraceWriter | Path | None = None,
    start_timeout: float = 15.0,
) -> AsyncGenerator[Supervisor, None]:
    """Supervise a browser for the block.

    It is reached by its address (asked anew before each dial, where it is a function), or over a session that is open
    already, which is never closed here.

    The body's exception leaves as it is. A lost link is no exception of the block: it is dialled again, and the snapshot
    says so. With `trace`, all that the machine is fed is recorded for `replay`. The end is bounded: open dialogs are
    settled, what was paused or leased is given back, and `stop_report` says what was left.

    Raises DiscoveryError where the first link cannot be made, ConnectionLost where no browser answers over it in time,
    UnsupportedBackend where what answers is none, InvalidArgument or InvalidPolicy where an argument is wrong.
    """
    _check(where, start_timeout, keepalive, trace)
    state = initial_state(
        policy=policy,
        scope=scope,
        reconnect=reconnect,
        keepalive=keepalive,
        limits=limits,
        extensions=(ConsoleRing(), *extensions),
    )
    with _tracing(trace) as writer:
        record = None if writer is None else recorder(writer, state)
        driver = Driver(state, where, LinkOptions(headers=headers, ssl_context=ssl_context), record=record)
        async with _run(driver, start_timeout) as supervisor:
            yield supervisor


@asynccontextmanager
async def _run(driver: Driver, start_timeout: float) -> AsyncGenerator[Supervisor, None]:
    supervisor = Supervisor(driver)
    body = trio.CancelScope()
    body_error: BaseException | None = None
    driver.on_failure = body.cancel
    async with background_tasks() as nursery:
        nursery.start_soon(driver.run, driver.keep_link)
        nursery.start_soon(driver.run, driver.keep_time)
        try:
            with body:
                await _started(driver, start_timeout)
                yield supervisor
        except BaseException as error:
            body_error = error
            raise
        finally:
            try:
                supervisor.stop_report = await driver.stop()
            finally:
                driver.end()
            if supervisor.stop_report.left:
                log.warning("stopped, and left behind: %s", "; ".join(supervisor.stop_report.left))
            if driver.failure is not None:
                if body_error is None:
                    raise driver.failure
                add_note(body_error, f"The supervisor had failed: {type(driver.failure).__name__}.")


async def _started(driver: Driver, start_timeout: float) -> None:
    with trio.move_on_after(start_timeout):
        await driver.started.wait()
    if driver.start_failure is not None:
        raise driver.start_failure
    link = driver.runner.state.link
    if not driver.started.is_set() and not link.listed:
        what = "No browser answered over the link" if link.phase == "up" else "No link to a browser came up"
        raise ConnectionLost(f"{what} within {start_timeout:g} s.", reason="start_timeout")


def _check(where: object, start_timeout: float, keepalive: float | None, trace: object) -> None:
    check_timeout("start_timeout", start_timeout)
    if keepalive is not None:
        check_timeout("keepalive", keepalive)
    if not isinstance(trace, (TraceWriter, Path, type(None))):
        raise InvalidArgument(f"trace is a pathlib.Path or a TraceWriter, not {type(trace).__name__}.")
    if not (isinstance(where, (str, os.PathLike, BrowserSession)) or callable(where)):
        raise InvalidArgument(
            f"A supervisor is opened with an address, an open BrowserSession, or a function that gives an address or a "
            f"transport for each dial, not {type(where).__name__}."
        )


@contextmanager
def _tracing(trace: TraceWriter | Path | None) -> Generator[TraceWriter | None, None, None]:
    if isinstance(trace, Path):
        with TraceWriter(trace) as writer:
            yield writer
    else:
        yield trace
