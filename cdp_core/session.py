"""The methods that the root session and every page session share: send, listen, lease domains.

A `send` ends exactly once: with the result, or with an exception that gives the reason. It has no timeout (the caller
uses `trio.fail_after`). A cancelled `send` abandons its command, and a reply that comes later is counted as a late
reply. A caller that is already cancelled sends nothing.

Typed commands and events are values of generated classes. A string names the same command or event untyped; its
result or params are plain JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from importlib import import_module
from typing import Any, TypeVar, overload

from trio.lowlevel import checkpoint_if_cancelled, current_task, wait_task_rescheduled

from cdp_core.errors import InvalidArgument
from cdp_core.expectations import Expectation
from cdp_core.fetching import CAPACITY, FetchClaim, hold_claim
from cdp_core.leases import TRIES, WAIT, Leases
from cdp_core.link import Link
from cdp_core.replies import PendingReply, Reply, report_refusal
from cdp_core.sansio.arguments import describe_kind, typed_params
from cdp_core.sansio.messages import Event, Json, SessionId, TypedCommand, TypedEvent
from cdp_core.sansio.outcomes import Loss
from cdp_core.sansio.structs import Struct
from cdp_core.subscriptions import MAX_BYTES, Missed, Routes, Sink, Subscription

R = TypeVar("R")
E1 = TypeVar("E1", bound=TypedEvent)
E2 = TypeVar("E2", bound=TypedEvent)
E3 = TypeVar("E3", bound=TypedEvent)


class SessionStatistics(Struct, frozen=True, kw_only=True):
    """The subscriptions and leases of one session, and why it closed."""

    subscriptions: int
    leases: Mapping[str, int]
    closed: str | None


class Session:
    """One CDP session: the root session, or a session on one target."""

    def __init__(self, link: Link[Any], session_id: SessionId | None) -> None:
        self._link = link
        self._session_id = session_id
        self._loss: Loss | None = None
        self._leases = Leases(self, session_id, partial(report_refusal, link, session_id), link.domains)

    # ── sending ──────────────────────────────────────────────────────────────────────────────────────────────────────

    @overload
    async def send(self, command: TypedCommand[R], /) -> R: ...
    @overload
    async def send(self, command: str, params: Mapping[str, Any] | None = None, /) -> Json: ...
    async def send(self, command: TypedCommand[Any] | str, params: Mapping[str, Any] | None = None, /) -> Any:
        """Send a command and wait for its end: return the result or raise the error.

        Raises CommandRefused if the browser answers with an error; SessionGone, TargetCrashed or ConnectionLost if
        what the command needed has ended; LocalProtocolError if it could not be sent, and then nothing was sent.
        """
        await checkpoint_if_cancelled()
        reply: Reply[Any] = self._send(Reply, command, params, joined=False)
        reply._task = current_task()
        await wait_task_rescheduled(reply._on_cancel)
        return reply.unwrap()

    @overload
    def send_nowait(self, command: TypedCommand[R], /, *, bounded: bool = True) -> PendingReply[R]: ...
    @overload
    def send_nowait(
        self, command: str, params: Mapping[str, Any] | None = None, /, *, bounded: bool = True
    ) -> PendingReply[Json]: ...
    def send_nowait(
        self, command: TypedCommand[Any] | str, params: Mapping[str, Any] | None = None, /, *, bounded: bool = True
    ) -> PendingReply[Any]:
        """Send a command now and wait later, or never.

        A refusal that no caller waits for is counted and logged. While 64 MiB wait to be written, the command is
        refused here (`outbox_full`), unless its sender has a bound of its own.
        """
        return self._start(command, params, bounded=bounded)

    def _start(
        self,
        command: TypedCommand[Any] | str,
        params: Mapping[str, Any] | None,
        *,
        joined: bool = False,
        bounded: bool = True,
        leased: bool = False,
    ) -> PendingReply[Any]:
        reply: PendingReply[Any] = self._send(
            PendingReply, command, params, joined=joined, bounded=bounded, leased=leased
        )
        return reply

    def _send(
        self,
        kind: type[Reply[Any]],
        command: TypedCommand[Any] | str,
        params: Mapping[str, Any] | None,
        *,
        joined: bool,
        bounded: bool = True,
        leased: bool = False,
    ) -> Any:
        if self._loss is not None:
            raise self._loss.error()
        if isinstance(command, str):
            if type(command) is not str:
                command = str.__str__(command)  # a member of an enum stands for its value
            reply = kind(self._link, command, self._session_id, None)
        else:
            params = typed_params(command, params) or None
            reply = kind(self._link, command.method, self._session_id, command.parse)
        link = self._link
        reply.id = link.command(
            reply.method, params, self._session_id, reply, joined=joined, bounded=bounded, leased=leased
        )
        return reply

    # ── listening ────────────────────────────────────────────────────────────────────────────────────────────────────

    @overload
    def subscribe(
        self,
        event: str,
        /,
        *more: str,
        capacity: int,
        where: Callable[[Event], object] | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> Subscription[Event]: ...
    @overload
    def subscribe(
        self,
        event: type[E1],
        /,
        *,
        capacity: int,
        where: Callable[[E1], object] | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> Subscription[E1]: ...
    @overload
    def subscribe(
        self,
        event: type[E1],
        event2: type[E2],
        /,
        *,
        capacity: int,
        where: Callable[[E1 | E2], object] | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> Subscription[E1 | E2]: ...
    @overload
    def subscribe(
        self,
        event: type[E1],
        event2: type[E2],
        event3: type[E3],
        /,
        *,
        capacity: int,
        where: Callable[[E1 | E2 | E3], object] | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> Subscription[E1 | E2 | E3]: ...
    @overload
    def subscribe(
        self,
        event: str | type[TypedEvent],
        event2: str | type[TypedEvent],
        /,
        *more: str | type[TypedEvent],
        capacity: int,
        where: Callable[[Any], object] | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> Subscription[Any]: ...
    def subscribe(
        self,
        event: str | type[Any],
        /,
        *more: str | type[Any],
        capacity: int,
        where: Callable[[Any], object] | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> Subscription[Any]:
        """Subscribe to events of this session from now on; a consumer that is too slow gets SubscriberLagged.

        Up to `capacity` events of together `max_bytes` wait for the consumer. `where` selects events; it runs in the
        reader task, so it must be pure and quick. Read the events with `async for` or `receive()`; when the session
        or the link ends, its error is raised there.
        """
        return self._subscribe(event, *more, capacity=capacity, where=where, max_bytes=max_bytes, drop_oldest=False)

    @overload
    def subscribe_latest(
        self,
        event: str,
        /,
        *more: str,
        capacity: int,
        where: Callable[[Event], object] | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> Subscription[Event | Missed]: ...
    @overload
    def subscribe_latest(
        self,
        event: type[E1],
        /,
        *,
        capacity: int,
        where: Callable[[E1], object] | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> Subscription[E1 | Missed]: ...
    @overload
    def subscribe_latest(
        self,
        event: type[E1],
        event2: type[E2],
        /,
        *,
        capacity: int,
        where: Callable[[E1 | E2], object] | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> Subscription[E1 | E2 | Missed]: ...
    @overload
    def subscribe_latest(
        self,
        event: str | type[TypedEvent],
        event2: str | type[TypedEvent],
        /,
        *more: str | type[TypedEvent],
        capacity: int,
        where: Callable[[Any], object] | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> Subscription[Any | Missed]: ...
    def subscribe_latest(
        self,
        event: str | type[Any],
        /,
        *more: str | type[Any],
        capacity: int,
        where: Callable[[Any], object] | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> Subscription[Any]:
        """Subscribe as `subscribe` does, but drop the oldest events of a full queue.

        `Missed(count)` is delivered before the next event.
        """
        return self._subscribe(event, *more, capacity=capacity, where=where, max_bytes=max_bytes, drop_oldest=True)

    def _subscribe(
        self,
        *events: str | type[Any],
        capacity: int,
        where: Callable[[Any], object] | None,
        max_bytes: int,
        drop_oldest: bool,
    ) -> Subscription[Any]:
        methods, read = event_readers(*events)
        return self._routes().subscription(
            methods,
            read,
            capacity=capacity,
            max_bytes=max_bytes,
            drop_oldest=drop_oldest,
            where=where,
            silent=self._silence_of(methods),
        )

    def _silence_of(self, methods: tuple[str, ...]) -> Callable[[], None]:
        """Return what explains that none of these events comes."""
        return partial(_explain_silence, self._link, self._session_id, methods)

    @overload
    def expect(self, event: str, /, *, where: Callable[[Event], object] | None = None) -> Expectation[Event]: ...
    @overload
    def expect(self, event: type[E1], /, *, where: Callable[[E1], object] | None = None) -> Expectation[E1]: ...
    def expect(self, event: str | type[Any], /, *, where: Callable[[Any], object] | None = None) -> Expectation[Any]:
        """Expect the first matching event from now on: arm it, act, then `await` its `wait()`.

        `wait` raises what ends the session, and TargetCrashed at a crash of the session's target.
        """
        methods, read = event_readers(event)
        crash = self._crash_of(methods[0], f"{methods[0]} came")
        return self._routes().expectation(methods, read, where, crash, self._silence_of(methods))

    def _crash_of(self, _method: str, _what: str) -> Callable[[], BaseException] | None:
        """Return what makes the error of a wait for something that does not come after a crash."""
        return None

    def listen(self, methods: tuple[str, ...], sink: Sink) -> None:
        """Register a sink of the library's own."""
        self._routes().add(methods, sink)

    def unlisten(self, methods: tuple[str, ...], sink: Sink) -> None:
        """Remove a sink of the library's own."""
        routes = self._link.routes.get(self._session_id)
        if routes is not None:
            routes.remove(methods, sink)

    def _routes(self) -> Routes:
        if self._loss is not None:
            raise self._loss.error()
        return self._link.routes_of(self._session_id)

    # ── leases ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def enabled(self, *domains: str, wait: float | None = WAIT) -> AbstractAsyncContextManager[None]:
        """Hold domains enabled for the block, which begins when the browser has answered.

        Leases are counted: the first holder sends `enable`, the last one sends `disable`. The block begins at once if a
        dialog of this session opens, and after `wait` seconds with a CdpWarning: the events of a `Page.navigate` that
        is sent then may be lost. 0 does not wait, None waits for ever. `Page` is not disabled while a dialog is open: a
        browser without a native dialog handler would dismiss the dialog (fact 24).

        Raises CommandRefused if the browser refuses a domain, and SessionGone, TargetCrashed or ConnectionLost.
        """
        return self._leases.hold(domains, wait)

    def lease(self, *domains: str, retry: bool = True) -> Callable[[], None]:
        """Hold domains enabled without waiting, for example in a tap.

        The returned function ends the leases; it is idempotent. With `retry` an `enable` that found its renderer process
        gone is sent again; otherwise the caller does that.
        """
        return self._leases.take(domains, TRIES if retry else 0)

    def claim_fetch(
        self,
        *,
        patterns: Iterable[Mapping[str, Any]],
        auth: bool = False,
        name: str = "a claim",
        capacity: int = CAPACITY,
    ) -> AbstractAsyncContextManager[FetchClaim]:
        """Intercept requests for the block, together with other claims on this session.

        `patterns` are those of `Fetch.enable`; with `auth` the claim also gets challenges for credentials. A request
        belongs to the first claim that matches it, and goes to the browser if it is not answered within ten seconds. While a
        claim exists, `Fetch.enable`, `Fetch.disable` and `enabled("Fetch")` are refused on this session.

        Raises InvalidArgument for a pattern that Fetch does not have, or if Fetch is enabled here already.
        """
        self._routes()  # raises if the session or the link has ended
        return hold_claim(self._link, self._session_id, patterns, auth=auth, name=name, capacity=capacity)

    def closed(self, loss: Loss, /) -> None:
        self._loss = loss

    def session_statistics(self) -> SessionStatistics:
        """Return the counts of this session alone."""
        routes = self._link.routes.get(self._session_id)
        return SessionStatistics(
            subscriptions=0 if routes is None else len(routes.sinks()),
            leases=self._leases.counts(),
            closed=None if self._loss is None else self._loss.reason,
        )


def _explain_silence(link: Link[Any], session_id: SessionId | None, methods: tuple[str, ...]) -> None:
    """Warn if these events cannot come. The catalog of events is above this layer, and loaded only here."""
    import_module("cdp_core.silence").explain(link, session_id, methods)


def event_readers(*events: str | type[Any]) -> tuple[tuple[str, ...], Callable[[Event], Any] | None]:
    """Return the methods of the given events, and the function that reads such an event.

    None in place of the function: the events are delivered raw.
    """
    readers: dict[str, Callable[[Event], Any] | None] = {}
    for event in events:
        if isinstance(event, str):
            if "." not in event:
                raise InvalidArgument(f"{event!r} is not the name of an event; write it as in 'Page.loadEventFired'.")
            readers[str.__str__(event)] = None  # a member of an enum stands for its value
        elif hasattr(event, "__cdp_method__"):
            readers[event.__cdp_method__] = event.__cdp_read__
        else:
            raise InvalidArgument(f"An event must be given as its class or its name, not as {describe_kind(event)}.")
    methods, only = tuple(readers), next(iter(readers.values()), None)
    if len(readers) == 1 or not any(readers.values()):
        return methods, only

    def read(event: Event) -> Any:
        reader = readers[event.method]
        return event if reader is None else reader(event)

    return methods, read
