"""Opening a supervisor: the block that it lives in, its first link, and its end.

The block raises the exception of its body, unchanged; if the body raised none, the exception of a task of the driver,
which is a bug in this library or in the function that gives the address. If both raised, the block raises the body's
exception, with a note. A lost link is not an exception: it is state
(docs/cdp/link-loss-is-not-an-exception-of-the-block.md).

The end of the block needs the link and the clock: it settles dialogs and gives leases back. So only the block ends the
tasks; cancelling the block does not.
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
from cdp_core.loops import check_trio
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

    Pass an address, a function that returns one (called before each connect), or an open BrowserSession (left open at
    the end).

    The body's exception is raised unchanged. A lost link is not an exception of the block: the supervisor reconnects,
    and the snapshot shows it. With `trace`, every input of the state machine is recorded for `replay`. The end takes
    a bounded time: open dialogs are settled, paused targets and leases are given back, and `stop_report` lists what
    was left behind.

    The first connect waits up to `start_timeout` for a browser that is starting: while its port file does not exist, or
    its port refuses connections.

    Raises DiscoveryError if the first link cannot be made, ConnectionLost if no browser answers over it in time,
    UnsupportedBackend if the peer is not a browser, InvalidArgument or InvalidPolicy if an argument is invalid.
    """
    check_trio()
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
        driver.start_by = trio.current_time() + start_timeout
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
                log.warning("the supervisor stopped and left behind: %s", "; ".join(supervisor.stop_report.left))
            if driver.failure is not None:
                if body_error is None:
                    raise driver.failure
                add_note(body_error, f"A task of the supervisor had failed: {type(driver.failure).__name__}.")


async def _started(driver: Driver, start_timeout: float) -> None:
    with trio.move_on_after(start_timeout):
        await driver.started.wait()
    if driver.start_failure is None and not driver.started.is_set() and driver.browser is None and driver.not_yet:
        raise driver.not_yet
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
        raise InvalidArgument(f"trace must be a pathlib.Path or a TraceWriter, not {type(trace).__name__}.")
    if not (isinstance(where, (str, os.PathLike, BrowserSession)) or callable(where)):
        raise InvalidArgument(
            f"open_supervisor takes an address, an open BrowserSession, or a function that returns an address or a "
            f"transport for each connect, not {type(where).__name__}."
        )


@contextmanager
def _tracing(trace: TraceWriter | Path | None) -> Generator[TraceWriter | None, None, None]:
    if isinstance(trace, Path):
        with TraceWriter(trace) as writer:
            yield writer
    else:
        yield trace
