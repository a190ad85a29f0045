"""Subscriptions: which events wait for which consumer, and how many may.

The reader task hands each event to its sinks with `push`, synchronously. Nothing here makes the reader task wait,
because the one socket also carries the replies that a slow consumer may itself be waiting for
(docs/cdp/never-block-the-reader.md). So every subscription has a bound, in events and in bytes, and a policy for a
full queue:

* `subscribe` keeps what is queued, accepts nothing more, and, when the queue has been read, raises
  `SubscriberLagged` once to that consumer.
* `subscribe_latest` drops from the front and delivers `Missed(count)` before the next event.

A subscription listens from the moment of its creation, so that "listen before you act" needs no discipline. It ends
with the error that gives the reason: the end of its session or link, or the exception of its own `where`. It never
ends silently (docs/cdp/a-subscription-never-ends-silently.md).

A subscription uses no memory channel, but a deque and one parked task that is woken once per batch
(docs/cdp/a-memory-channel-costs-a-scheduler-pass-per-event.md). `where` runs in the reader
task: it must be pure and quick.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final, Generic, Protocol, TypeVar

import attrs
import trio
from trio.lowlevel import Abort, checkpoint, checkpoint_if_cancelled, current_task, reschedule, wait_task_rescheduled

from cdp_core.errors import InvalidArgument, SubscriberLagged
from cdp_core.expectations import CRASHED, QUIET, AtCrash, Expectation
from cdp_core.sansio.messages import Event, SessionId
from cdp_core.sansio.structs import Struct

T = TypeVar("T")

MAX_ITEMS_PER_CHECKPOINT = 4096
"""Items after which a consumer lets other tasks run; it also does so whenever its batch is empty.

A smaller number would be worse: in each pass that the consumer leaves to the reader task, the reader may bring a
chunk of events, so a consumer that yields after fewer items falls behind a flood for ever. Each item is a
cancellation point all the same.
"""

ITEM_SIZE = 256
"""Bytes that an item other than a raw event is assumed to take."""


MAX_BYTES: Final = 64 * 2**20
"""Bytes that may wait in one subscription, by default."""


@attrs.frozen
class Missed:
    """A marker in the queue: `count` events were dropped here, because the subscription was full."""

    count: int


class Received(Struct, Generic[T], frozen=True, kw_only=True):
    """An event of any session, with its session and the time it arrived (`trio.current_time()`)."""

    session_id: SessionId | None
    event: T
    at: float


class SubscriptionStatistics(Struct, frozen=True, kw_only=True):
    """What waits in a subscription, what may wait in it, and what it missed so far."""

    waiting: int
    waiting_bytes: int
    capacity: int
    max_bytes: int
    missed: int


class Sink(Protocol):
    """An object that takes the events of the methods it was registered for.

    Its methods may neither raise nor wait.
    """

    def push(self, event: Event, at: float, /) -> None:
        """Take one event.

        `at` is its time of arrival for a sink of all sessions, and meaningless for a sink of one session.
        """

    def end(self, error: Callable[[], BaseException], /) -> None:
        """Note that no more events follow; `error` makes a fresh exception with the reason."""


class Routes:
    """The sinks of each event method, in the order of their creation.

    They are kept in tuples, so that a delivery sees one state.
    """

    def __init__(self, subscribed: set[str]) -> None:
        self.by_method: dict[str, tuple[Sink, ...]] = {}
        # The link's methods that ever had a sink, in any routes: most events have none. The set only grows: a method
        # too many costs a lookup, but a missing one, which a garbage-collected sink could cause at any moment, would
        # cost events.
        self._subscribed = subscribed

    def add(self, methods: tuple[str, ...], sink: Sink) -> None:
        for method in methods:
            self._subscribed.add(method)
            self.by_method[method] = (*self.by_method.get(method, ()), sink)

    def remove(self, methods: tuple[str, ...], sink: Sink) -> None:
        for method in methods:
            rest = tuple(each for each in self.by_method.get(method, ()) if each is not sink)
            if rest:
                self.by_method[method] = rest
            else:
                self.by_method.pop(method, None)

    def subscription(
        self,
        methods: tuple[str, ...],
        read: Callable[[Event], Any] | None,
        *,
        capacity: int,
        max_bytes: int,
        drop_oldest: bool,
        where: Callable[[Any], object] | None = None,
        stamped: bool = False,
        silent: Callable[[], None] | None = None,
    ) -> Subscription[Any]:
        """Create a subscription that listens from now on, until it is closed."""
        subscription: Subscription[Any] = Subscription(
            capacity=capacity,
            max_bytes=max_bytes,
            drop_oldest=drop_oldest,
            read=read,
            where=where,
            stamped=stamped,
            close=lambda sink: self.remove(methods, sink),
            silent=silent,
        )
        self.add(methods, subscription)
        return subscription

    def expectation(
        self,
        methods: tuple[str, ...],
        read: Callable[[Event], Any] | None,
        where: Callable[[Any], object] | None,
        crash: Callable[[], BaseException] | None = None,
        silent: Callable[[], None] | None = None,
    ) -> Expectation[Any]:
        """Create an expectation that listens from now on; `crash` makes its error if the target crashes first."""

        def close(sink: Sink) -> None:
            self.remove(methods, sink)
            if at_crash is not None:
                self.remove((CRASHED,), at_crash)

        expectation: Expectation[Any] = Expectation(read=read, where=where, close=close, silent=silent)
        at_crash = None if crash is None else AtCrash(expectation.sink, crash)
        if at_crash is not None:
            self.add((CRASHED,), at_crash)
        self.add(methods, expectation.sink)
        return expectation

    def end(self, error: Callable[[], BaseException]) -> None:
        sinks = self.sinks()
        self.by_method.clear()
        for sink in sinks:
            sink.end(error)

    def sinks(self) -> tuple[Sink, ...]:
        """Return every sink, each once, in the order of their creation."""
        return tuple({id(sink): sink for several in self.by_method.values() for sink in several}.values())


class Subscription(Generic[T]):
    """A bounded stream of events: a context manager and an async iterator for one consumer at a time."""

    def __init__(
        self,
        *,
        capacity: int,
        max_bytes: int = MAX_BYTES,
        drop_oldest: bool = False,
        read: Callable[[Event], Any] | None = None,
        where: Callable[[Any], object] | None = None,
        stamped: bool = False,
        close: Callable[[Sink], None] = lambda _sink: None,
        silent: Callable[[], None] | None = None,
    ) -> None:
        """Start the queue; `close` is called to unregister it, `silent` if no first event comes for some time.

        `read` turns an event into the requested form (None: it has that form already), in the consumer's task if
        possible. `where` gets what `read` returned; `stamped` wraps it in `Received`.
        """
        if type(capacity) is not int or capacity < 1:
            raise InvalidArgument(f"capacity must be at least 1 event, not {capacity!r}.")
        if type(max_bytes) is not int or max_bytes < 1:
            raise InvalidArgument(f"max_bytes must be at least 1 byte, not {max_bytes!r}.")
        if where is not None and not callable(where):
            raise InvalidArgument(f"where must be a function of an event, not {type(where).__name__}.")
        # The reader task fills the queue; the consumer takes the whole queue as its batch and reads that item by item.
        # `_room` is how many items the queue may take: those in the batch count too, and after the end it is 0.
        self._queue: deque[Any] = deque()
        self._batch: deque[Any] = deque()
        self._room = self._capacity = capacity
        self._bytes = self._batch_bytes = 0
        self._max_bytes = max_bytes
        self._drops_oldest = drop_oldest
        self._missed = self._missed_in_all = 0
        self._read = read
        self._stamped = stamped
        self._where = where
        self._filters = where is not None or stamped
        self._finish = self._finisher(read) if read is not None and where is None else None
        self._unregister = close
        self._silent = silent
        self._error: Callable[[], BaseException] | None = None
        self._task: trio.lowlevel.Task | None = None
        self._receiving = self._bytes_were_short = False

    # ── called by the consumer ───────────────────────────────────────────────────────────────────────────────────────

    def __enter__(self) -> Subscription[T]:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def __aiter__(self) -> Subscription[T]:
        return self

    async def receive(self) -> T:
        """Wait for the next event, in order.

        Once all earlier events have been read, raises the reason of the end: SubscriberLagged, SessionGone,
        ConnectionLost, or the exception of its own `where`; trio.ClosedResourceError after `close()`. Raises
        trio.BusyResourceError if another task already waits here.
        """
        batch = self._batch
        if self._receiving:
            raise trio.BusyResourceError("another task is waiting for this subscription's next event")
        if len(batch) % MAX_ITEMS_PER_CHECKPOINT:
            await checkpoint_if_cancelled()
            item = batch.popleft()
            return item if self._finish is None else self._finish(item)  # type: ignore[no-any-return]
        self._receiving = True
        try:
            if self._is_ready():
                await checkpoint()
            while not self._is_ready():  # a `receive_nowait` may have taken the event that woke us
                if self._silent is None:
                    await self._park()
                else:
                    await self._await_first(self._silent)
            self._silent = None
        finally:
            self._receiving = False
        return self.receive_nowait()

    __anext__ = receive

    async def _park(self) -> None:
        self._task = current_task()
        await wait_task_rescheduled(self._unpark)

    async def _await_first(self, silent: Callable[[], None]) -> None:
        """Wait for the first event; after QUIET seconds ask once why it does not come."""
        with trio.move_on_after(QUIET):
            await self._park()
        if not self._is_ready():
            self._silent = None
            silent()

    def receive_nowait(self) -> T:
        """Return the next event if one waits, else raise trio.WouldBlock; otherwise as `receive`."""
        if not self._batch:
            if self._missed:
                missed, self._missed = Missed(self._missed), 0
                return missed  # type: ignore[return-value]  # T includes Missed where the policy is DROP_OLDEST
            self._take_queue()
        if self._batch:
            item = self._batch.popleft()
            return item if self._finish is None else self._finish(item)  # type: ignore[no-any-return]
        if self._error is None:
            raise trio.WouldBlock
        error = self._error()
        if isinstance(error, SubscriberLagged):
            self.close()
        raise error

    def close(self) -> None:
        """Stop listening and drop what is queued. Idempotent."""
        self._unregister(self)
        self._queue.clear()
        self._batch.clear()
        self._bytes = self._batch_bytes = self._missed = 0
        self.end(trio.ClosedResourceError)
        self._error = trio.ClosedResourceError

    @property
    def waiting(self) -> int:
        """How many items wait."""
        return len(self._batch) + len(self._queue)

    def statistics(self) -> SubscriptionStatistics:
        """Return the counts so far."""
        return SubscriptionStatistics(
            waiting=self.waiting,
            waiting_bytes=self._bytes - self._batch_bytes + sum(map(_size_of, self._batch)),
            capacity=self._capacity,
            max_bytes=self._max_bytes,
            missed=self._missed_in_all,
        )

    def _take_queue(self) -> None:
        self._bytes -= self._batch_bytes  # the last batch has been read
        self._batch_bytes = self._bytes
        self._batch, self._queue = self._queue, self._batch
        self._room = 0 if self._error is not None else self._capacity - len(self._batch)

    def _is_ready(self) -> bool:
        return bool(self._batch or self._queue or self._missed) or self._error is not None

    def _unpark(self, _raise_cancel: object) -> Abort:
        self._task = None
        return Abort.SUCCEEDED

    # ── called by the reader task ────────────────────────────────────────────────────────────────────────────────────

    def push(self, item: Any, at: float = 0.0, /) -> None:
        """Queue one event; an item that is not an event is queued unchanged."""
        if self._filters:
            item = self._filter(item, at)
            if item is None:
                return
        size = len(item.raw) if type(item) is Event else _size_of(item)
        full = len(self._queue) >= self._room or self._bytes + size > self._max_bytes
        if full and not self._make_room(size):
            return
        self._bytes += size
        self._queue.append(item)
        if self._task is not None:
            task, self._task = self._task, None
            reschedule(task)

    def _filter(self, event: Event, at: float) -> Any:
        """Return the item to queue for an event, or None to queue nothing."""
        item: Any = event
        if self._where is not None:
            try:
                if self._read is not None:
                    item = self._read(event)
                # After a lag `where` still runs: the events that it selects are counted as missed.
                if self._error not in (None, self._lagged) or not self._where(item):
                    return None
            except Exception as error:  # noqa: BLE001 - the user's own code: its error ends the subscription
                failure = error
                self._unregister(self)
                self.end(lambda: failure)
                return None
        return Received(session_id=event.session_id, event=item, at=at) if self._stamped else item

    def _finisher(self, read: Callable[[Event], Any]) -> Callable[[Any], Any]:
        if not self._stamped:
            return read
        return lambda item: Received(session_id=item.session_id, event=read(item.event), at=item.at)

    def _make_room(self, size: int) -> bool:
        """Return True if the policy lets one more item in, after the quick check found no room."""
        if self._error is None:
            self._room = self._capacity - len(self._batch)
            if len(self._queue) < self._room and self._bytes + size <= self._max_bytes:
                return True
            self._put_batch_back()
            if len(self._queue) < self._room and self._bytes + size <= self._max_bytes:
                return True
        if self._error is not None or not self._drops_oldest:
            if self._error is None:
                self._bytes_were_short = len(self._queue) < self._room
            self._missed_in_all += 1
            self.end(self._lagged)
            return False
        while self._queue and (len(self._queue) >= self._capacity or self._bytes + size > self._max_bytes):
            self._bytes -= _size_of(self._queue.popleft())
            self._missed += 1
            self._missed_in_all += 1
        return True

    def _put_batch_back(self) -> None:
        """Put the rest of the batch and the queue together again.

        Items that were read then take no bytes, and `Missed` is delivered before the rest.
        """
        self._bytes += sum(map(_size_of, self._batch)) - self._batch_bytes
        self._batch_bytes = 0
        if self._batch:
            self._batch.extend(self._queue)
            self._queue.clear()
            self._batch, self._queue = self._queue, self._batch
        self._room = self._capacity

    def _lagged(self) -> SubscriberLagged:
        return SubscriberLagged(
            missed=self._missed_in_all,
            capacity=self._capacity,
            max_bytes=self._max_bytes if self._bytes_were_short else None,
        )

    def end(self, error: Callable[[], BaseException]) -> None:
        if self._error is None:
            self._error = error
            self._room = 0
        if self._task is not None:
            task, self._task = self._task, None
            reschedule(task)


def _size_of(item: Any) -> int:
    """Estimate the bytes that a queued item keeps alive."""
    if isinstance(item, Received):
        return _size_of(item.event)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    return item.size if isinstance(item, Event) else ITEM_SIZE
