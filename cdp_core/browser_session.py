"""`open_browser_session`, `open_pipe_session`, and the root session that they yield."""

from __future__ import annotations

import logging
import os
import ssl
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast, overload

import trio

from cdp_core.discovery import Address, find_websocket
from cdp_core.errors import Gone, InvalidArgument
from cdp_core.fetching import listen_for_pauses
from cdp_core.link import Batches, Link, LinkStatistics, Tap, check_tap
from cdp_core.loops import check_trio
from cdp_core.nurseries import add_note, background_tasks
from cdp_core.sansio.addresses import check_headers
from cdp_core.sansio.arguments import check_limit, check_timeout
from cdp_core.sansio.launch_rules import check_argv, with_pipe_switch
from cdp_core.sansio.messages import Event, SessionId, TypedEvent
from cdp_core.sansio.router import Output
from cdp_core.session import E1, E2, Session, event_readers
from cdp_core.subscriptions import MAX_BYTES, Missed, Received, Subscription
from cdp_core.target_session import PageSession
from cdp_core.targets import TargetBridge
from cdp_core.transports import Transport
from cdp_core.transports.tuning import MAX_MESSAGE_BYTES

if TYPE_CHECKING:
    from cdp_core.tracing.file import TraceWriter

log = logging.getLogger("cdp_core.browser_session")

CLOSE_TIMEOUT: Final = 2.0
START_TIMEOUT: Final = 30.0
"""Seconds for a new browser to answer: a cold start on a busy machine takes several."""
NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


class BrowserSession(Session):
    """The root session of a browser; every other session is reached from it."""

    def __init__(self, link: Link[PageSession]) -> None:
        super().__init__(link, None)
        self._targets = TargetBridge(link, self)
        self.browser_id: str | None = None
        """The id in the browser's WebSocket address, constant while the browser runs; None if the address has none."""

    @property
    def targets(self) -> TargetBridge:
        """The browser's targets: list, attach, create, close, and attach before their first instruction."""
        return self._targets

    @property
    def link(self) -> Link[PageSession]:
        """The link below all sessions, for a state machine that sends by itself."""
        return self._link

    @property
    def sessions(self) -> Mapping[SessionId, PageSession]:
        """Every open session of this link, by sessionId, as a live read-only view."""
        return MappingProxyType(self._link.sessions)

    @overload
    def subscribe_all(
        self,
        *events: str,
        capacity: int,
        max_bytes: int = MAX_BYTES,
    ) -> Subscription[Received[Event]]: ...
    @overload
    def subscribe_all(
        self,
        event: type[E1],
        /,
        *,
        capacity: int,
        max_bytes: int = MAX_BYTES,
    ) -> Subscription[Received[E1]]: ...
    @overload
    def subscribe_all(
        self,
        event: type[E1],
        event2: type[E2],
        /,
        *,
        capacity: int,
        max_bytes: int = MAX_BYTES,
    ) -> Subscription[Received[E1 | E2]]: ...
    @overload
    def subscribe_all(
        self,
        event: str | type[TypedEvent],
        event2: str | type[TypedEvent],
        /,
        *more: str | type[TypedEvent],
        capacity: int,
        max_bytes: int = MAX_BYTES,
    ) -> Subscription[Received[Any]]: ...
    def subscribe_all(self, *events: str | type[Any], capacity: int, max_bytes: int = MAX_BYTES) -> Subscription[Any]:
        """Subscribe to events of every session; each arrives as `Received`, with its session and time.

        Otherwise as `subscribe`.
        """
        return self._subscribe_all(*events, capacity=capacity, max_bytes=max_bytes, drop_oldest=False)

    @overload
    def subscribe_all_latest(
        self,
        *events: str,
        capacity: int,
        max_bytes: int = MAX_BYTES,
    ) -> Subscription[Received[Event] | Missed]: ...
    @overload
    def subscribe_all_latest(
        self,
        event: type[E1],
        /,
        *,
        capacity: int,
        max_bytes: int = MAX_BYTES,
    ) -> Subscription[Received[E1] | Missed]: ...
    @overload
    def subscribe_all_latest(
        self,
        event: type[E1],
        event2: type[E2],
        /,
        *,
        capacity: int,
        max_bytes: int = MAX_BYTES,
    ) -> Subscription[Received[E1 | E2] | Missed]: ...
    @overload
    def subscribe_all_latest(
        self,
        event: str | type[TypedEvent],
        event2: str | type[TypedEvent],
        /,
        *more: str | type[TypedEvent],
        capacity: int,
        max_bytes: int = MAX_BYTES,
    ) -> Subscription[Received[Any] | Missed]: ...
    def subscribe_all_latest(
        self, *events: str | type[Any], capacity: int, max_bytes: int = MAX_BYTES
    ) -> Subscription[Any]:
        """Subscribe as `subscribe_all` does, but drop the oldest events of a full queue.

        `Missed(count)` is delivered before the next event.
        """
        return self._subscribe_all(*events, capacity=capacity, max_bytes=max_bytes, drop_oldest=True)

    def _subscribe_all(
        self, *events: str | type[Any], capacity: int, max_bytes: int, drop_oldest: bool
    ) -> Subscription[Any]:
        methods, read = event_readers(*events)
        if not methods:
            raise InvalidArgument("subscribe_all needs the name or class of at least one event.")
        self._routes()
        return self._link.all_sessions.subscription(
            methods, read, capacity=capacity, max_bytes=max_bytes, drop_oldest=drop_oldest, stamped=True
        )

    @contextmanager
    def tap(self, on_output: Tap, /) -> Generator[tuple[Output, ...], None, None]:
        """Call `on_output` with every output of the engine, before all other consumers, for the block.

        Yields the outputs that describe the present state: a SessionOpened for each open session, then a
        `Target.targetCreated` event for each target that `targets` knows; once discovery was used, these are all
        targets. A tap must be pure and quick. A tap that raises ends the link: see `open_browser_session`.
        """
        check_tap(on_output)
        open_sessions = self._link.add_tap(on_output)
        try:
            yield (*open_sessions, *self._targets._announcements())
        finally:
            self._link.remove_tap(on_output)

    async def wait_closed(self) -> Gone:
        """Wait for the end of the link and return its reason as an exception, without raising it."""
        await self._link.ended.wait()
        loss = self._link.router.loss
        assert loss is not None
        return loss.error()

    @property
    def batches(self) -> Batches:
        """A counter of received batches: outputs at the same count arrived at the same moment."""
        return self._link.batches

    def statistics(self) -> LinkStatistics:
        """Return the counts of this link so far."""
        return self._link.statistics()

    def __repr__(self) -> str:
        loss = self._link.router.loss
        return f"<BrowserSession {len(self._link.sessions)} sessions, {'open' if loss is None else loss.reason}>"


@asynccontextmanager
async def open_browser_session(
    where: Address | Transport,
    /,
    *,
    headers: Mapping[str, str] = NO_HEADERS,
    ssl_context: ssl.SSLContext | None = None,
    connect_timeout: float = 10.0,
    handshake_timeout: float = 10.0,
    close_timeout: float = CLOSE_TIMEOUT,
    max_message_bytes: int = MAX_MESSAGE_BYTES,
    taps: Sequence[Tap] = (),
    trace: TraceWriter | Path | None = None,
    strict: bool = False,
) -> AsyncGenerator[BrowserSession, None]:
    """Open a link to a browser and hold it for the block.

    * An exception of the body leaves the block unchanged.
    * The end of the link does not raise in the block: it ends commands and subscriptions with ConnectionLost.
    * A tap that raises ends the link and cancels the body, and the block raises TapFailed; if the body failed too,
      the block raises the body's exception with a note.
    * Use it in an async function or a pytest-trio fixture, never in another kind of async generator.

    Raises DiscoveryError if no browser is reached, InvalidArgument if an argument is invalid.
    """
    check_trio()
    for name, seconds in (
        ("connect_timeout", connect_timeout),
        ("handshake_timeout", handshake_timeout),
        ("close_timeout", close_timeout),
    ):
        check_timeout(name, seconds)
    check_limit(max_message_bytes)
    check_headers(headers)
    check_options(ssl_context=ssl_context, taps=taps, trace=trace, strict=strict)
    browser_id: str | None = None
    async with AsyncExitStack() as stack:
        if isinstance(where, (str, os.PathLike)):
            from cdp_core.transports.websocket.open import open_websocket  # noqa: PLC0415 - imports stay cheap

            address = await find_websocket(
                where, headers=headers, ssl_context=ssl_context, connect_timeout=connect_timeout
            )
            browser_id = address.browser_id
            transport: Transport = await stack.enter_async_context(
                open_websocket(
                    address,
                    headers=headers,
                    ssl_context=ssl_context,
                    connect_timeout=connect_timeout,
                    handshake_timeout=handshake_timeout,
                    close_timeout=close_timeout,
                    max_message_bytes=max_message_bytes,
                )
            )
        else:
            transport = _checked_transport(where)
        browser = await stack.enter_async_context(
            _run(transport, taps=taps, trace=trace, strict=strict, close_timeout=close_timeout)
        )
        browser.browser_id = browser_id
        yield browser


@asynccontextmanager
async def open_pipe_session(
    argv: Sequence[str],
    /,
    *,
    env: Mapping[str, str] | None = None,
    start_timeout: float = START_TIMEOUT,
    close_timeout: float = CLOSE_TIMEOUT,
    max_message_bytes: int = MAX_MESSAGE_BYTES,
    taps: Sequence[Tap] = (),
    trace: TraceWriter | Path | None = None,
    strict: bool = False,
) -> AsyncGenerator[BrowserSession, None]:
    """Start a browser controlled over a pipe (`--remote-debugging-pipe`), and hold its link for the block.

    The switch is added if `argv` lacks it. The child process ends with the block, and so does the rest of its process
    group. `open_chromium` also finds an installed browser and gives it a profile. Otherwise as `open_browser_session`.

    Raises DiscoveryError if the program does not exist, ends, or does not answer within `start_timeout` seconds.
    """
    from cdp_core.transports.pipe import start_pipe  # noqa: PLC0415 - imports stay cheap

    check_trio()
    check_timeout("start_timeout", start_timeout)
    check_timeout("close_timeout", close_timeout)
    check_options(taps=taps, trace=trace, strict=strict)
    command = with_pipe_switch(check_argv(argv))
    async with start_pipe(
        command, env=env, max_message_bytes=max_message_bytes, close_timeout=close_timeout
    ) as transport:
        await transport.wait_answering(start_timeout)
        async with _run(transport, taps=taps, trace=trace, strict=strict, close_timeout=close_timeout) as browser:
            yield browser


@asynccontextmanager
async def _run(
    transport: Transport,
    *,
    taps: Sequence[Tap],
    trace: TraceWriter | Path | None,
    strict: bool,
    close_timeout: float,
) -> AsyncGenerator[BrowserSession, None]:
    """Run the reader task and the writer task on a transport for the block."""
    with _tracing(transport, trace) as traced:
        link: Link[PageSession] = Link(
            traced,
            taps=taps,
            strict=strict,
            close_timeout=close_timeout,
            open_session=lambda opened: PageSession(link, opened),
        )
        body_error: BaseException | None = None
        body = trio.CancelScope()
        link.on_tap_failure = body.cancel
        async with background_tasks() as nursery:
            nursery.start_soon(link.read)
            nursery.start_soon(link.write)
            link.fetch.on_first_claim = partial(listen_for_pauses, link, nursery)
            log.info("link up")
            try:
                with body:
                    yield BrowserSession(link)
                    with trio.move_on_after(close_timeout):  # commands that were sent without waiting still go out
                        await link.flush()
            except BaseException as error:
                body_error = error
                raise
            finally:
                await link.aclose()
                if link.tap_failure is not None:
                    if body_error is None:
                        raise link.tap_failure
                    add_note(body_error, str(link.tap_failure))


def _checked_transport(where: object) -> Any:
    """Raise InvalidArgument unless the object has the methods of a transport, before anything starts."""
    missing = [name for name in ("receive", "send", "aclose") if not callable(getattr(where, name, None))]
    if missing or isinstance(where, type):
        raise InvalidArgument(
            "Pass a browser's address (a str or an os.PathLike) or a transport (with the methods receive, send and "
            f"aclose), not a value of type {type(where).__name__}."
        )
    return where


def check_options(*, ssl_context: object = None, taps: object, trace: object, strict: object) -> None:
    """Check what a type checker would check, before anything is dialled or started."""
    if ssl_context is not None and not isinstance(ssl_context, ssl.SSLContext):
        raise InvalidArgument(f"ssl_context must be an ssl.SSLContext, not {type(ssl_context).__name__}.")
    if not isinstance(taps, Sequence) or isinstance(taps, (str, bytes)):
        raise InvalidArgument(f"taps must be a sequence of functions, as in [tap], not {type(taps).__name__}.")
    for tap in cast("Sequence[object]", taps):
        check_tap(tap)
    if trace is not None and not isinstance(trace, (str, os.PathLike)):
        from cdp_core.tracing.file import TraceWriter  # noqa: PLC0415 - imports stay cheap

        if not isinstance(trace, TraceWriter):
            raise InvalidArgument(f"trace must be a path or a TraceWriter, not {type(trace).__name__}.")
    if not isinstance(strict, bool):
        raise InvalidArgument(f"strict must be True or False, not {type(strict).__name__}.")


@contextmanager
def _tracing(transport: Transport, trace: TraceWriter | Path | None) -> Generator[Transport, None, None]:
    if trace is None:
        yield transport
        return
    from cdp_core.tracing.file import TraceWriter  # noqa: PLC0415 - imports stay cheap
    from cdp_core.tracing.tee import TeeTransport  # noqa: PLC0415

    if isinstance(trace, TraceWriter):
        yield TeeTransport(transport, trace)
    else:
        with TraceWriter(trace) as writer:
            yield TeeTransport(transport, writer)
