"""The workloads, written once for every Python adapter and event loop.

Each opens the client, warms it up, and meters the work alone. An adapter must implement `Client`. The returned values
are checked: a client that drops, invents or misreads something fails its run.

* seq: one command after the other. pipe: `width` tasks, each with one command after the other.
* events, subscribe: until the last event of a flood reached the callback. They are one measurement under two names, so
  that an async iterator has a table of its own, with the callbacks of other clients.
* params: the same, and the callback gets two of each event's params, read in the client's own way.
* typed: events as objects of a class made for them; the callback gets three fields of a flat event, one an enumeration.
  nested: the same for a console message, two levels deep. field: the callback gets one field, of an object or a dict.
* supervise: a flood of console, frame and dialog events of many pages, until the reply to a command that follows it;
  then the client's knowledge is checked. A bare client reads nothing, or two params.
* flood: a flood at a consumer that never reads. The important number is memory.
* big: results of `mb` MB. connect: from no connection to the first reply.
"""

from __future__ import annotations

import select
import socket
import urllib.parse
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fake_messages import MIX
from job import Job
from meter import Meter

METHODS = {
    "network": "Network.dataReceived",
    "console": "Runtime.consoleAPICalled",
    "dialog": "Page.javascriptDialogOpening",
}

ON_PAGE = {
    "console": "for(let i=0;i<%d;i++)console.log('hello from the page',i);2",
    "random": """{let n=%d; if(!window.R||window.R.length!==n){let a=new Uint8Array(32768),s='';
while(s.length<n){crypto.getRandomValues(a);s+=btoa(String.fromCharCode(...a))} window.R=s.slice(0,n)}; window.R.length}""",
}
"""Expressions for a real page; the random string is hard to compress, like a screenshot."""

Measured = dict[str, float]


class Client(Protocol):
    """The protocol of an adapter.

    The method `hold_events(method)` is optional: subscribe to the method and never read.
    """

    async def open(self, job: Job) -> None:
        """Connect, open `job.sessions` flat sessions, and enable Runtime on the first."""

    async def evaluate(self, expression: str) -> Any:
        """Send Runtime.evaluate on the first session, in the library's own way, and return the value."""

    def on_event(self, method: str, callback: Callable[[], None]) -> None:
        """Call `callback()` for every event of this method on any session."""

    def on_event_params(self, method: str, callback: Callable[[str, int], None]) -> None:
        """Call `callback(requestId, dataLength)` for every Network.dataReceived, read the library's own way."""


class SupervisingClient(Client, Protocol):
    """The additional methods of an adapter that supervises; a bare client counts events."""

    def watch(self) -> None:
        """Observe every event on any session from now on, until `known`."""

    def known(self) -> Mapping[str, int]:
        """Return the totals that the client keeps, with names from `_supervise`."""


class TypedClient(Client, Protocol):
    """The additional methods of an adapter with typed events."""

    def on_dialog(self, callback: Callable[[str, object, bool], None]) -> None:
        """Call `callback(message, type, hasBrowserHandler)` for every dialog; the type as an enumeration."""

    def on_console(self, callback: Callable[[object, object, str], None]) -> None:
        """Call `callback(type, first argument's value, first call frame's URL)` for every console message."""

    def on_message(self, callback: Callable[[str], None]) -> None:
        """Call `callback(message)` for every dialog, and read no other field."""


@dataclass
class Loop:
    """The functions that differ between event loops."""

    gather: Callable[[Sequence[Callable[[], Awaitable[None]]]], Awaitable[None]]
    event: Callable[[], Any]
    readable: Callable[[socket.socket], Awaitable[None]]


def request_flood(job: Job) -> socket.socket:
    """Request a flood from the fake endpoint, and return the socket: its response follows the last byte."""
    url = urllib.parse.urlsplit(job.http)
    requesting = socket.create_connection((url.hostname, url.port))
    query = f"n={job.n}&k={job.k}&shape={job.shape}"
    requesting.sendall(f"GET /emit?{query} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    return requesting


async def measure(job: Job, client: Client, loop: Loop) -> Measured:
    """Run the job's workload."""
    if job.workload == "connect":
        with Meter() as meter:
            await client.open(job)
            assert await client.evaluate("1+1") == 2
        return meter.result()
    await client.open(job)
    assert await client.evaluate("1+1") == 2
    return await WORKLOADS[job.workload](job, client, loop)


async def _sequential(job: Job, client: Client, _loop: Loop) -> Measured:
    for _ in range(200):
        await client.evaluate("1+1")
    with Meter() as meter:
        for _ in range(job.n):
            await client.evaluate("1+1")
    return meter.result()


async def _pipelined(job: Job, client: Client, loop: Loop) -> Measured:
    async def one_after_the_other() -> None:
        for _ in range(job.n // job.width):
            await client.evaluate("1+1")

    await loop.gather([one_after_the_other] * min(job.width, 50))
    with Meter() as meter:
        await loop.gather([one_after_the_other] * job.width)
    return meter.result()


async def _events(job: Job, client: Client, loop: Loop) -> Measured:
    left, done = job.n, loop.event()

    def count() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            done.set()

    client.on_event(METHODS[job.shape], count)
    with Meter() as meter:
        if job.real:
            await client.evaluate(ON_PAGE["console"] % job.n)
            await done.wait()
        else:
            with request_flood(job):
                await done.wait()
    assert left == 0
    return meter.result()


async def _params(job: Job, client: Client, loop: Loop) -> Measured:
    left, total, done = job.n, 0, loop.event()

    def read(_request_id: str, data_length: int) -> None:
        nonlocal left, total
        total += data_length
        left -= 1
        if left == 0:
            done.set()

    client.on_event_params(METHODS["network"], read)
    with Meter() as meter, request_flood(job):
        await done.wait()
    assert total == sum(1000 + i % 60000 for i in range(job.n))  # as fake_messages.py makes them
    return meter.result()


async def _typed(job: Job, client: Any, loop: Loop) -> Measured:
    left, length, handled, kinds, done = job.n, 0, 0, set[object](), loop.event()

    def read(message: str, kind: object, has_browser_handler: bool) -> None:
        nonlocal left, length, handled
        length += len(message)
        handled += has_browser_handler
        kinds.add(kind)
        left -= 1
        if left == 0:
            done.set()

    client.on_dialog(read)
    with Meter() as meter, request_flood(job):
        await done.wait()
    assert (length, handled, len(kinds)) == (_length_of_messages(job.n), (job.n + 2) // 3, 4)
    return meter.result()


async def _field(job: Job, client: Any, loop: Loop) -> Measured:
    left, length, done = job.n, 0, loop.event()

    def read(message: str) -> None:
        nonlocal left, length
        length += len(message)
        left -= 1
        if left == 0:
            done.set()

    client.on_message(read)
    with Meter() as meter, request_flood(job):
        await done.wait()
    assert length == _length_of_messages(job.n)
    return meter.result()


def _length_of_messages(n: int) -> int:
    return sum(len(f"Are you sure? {i}") for i in range(n))  # as fake_messages.py makes them


async def _nested(job: Job, client: Any, loop: Loop) -> Measured:
    left, length, done = job.n, 0, loop.event()

    def read(kind: object, value: object, url: str) -> None:
        nonlocal left, length
        assert kind == "log" or getattr(kind, "value", None) == "log"
        assert value == "hello from the page"
        length += len(url)
        left -= 1
        if left == 0:
            done.set()

    client.on_console(read)
    with Meter() as meter, request_flood(job):
        await done.wait()
    assert length == job.n * len("https://example.test/static/app.js")
    return meter.result()


async def _supervise(job: Job, client: Any, loop: Loop) -> Measured:
    client.watch()
    with Meter() as meter, request_flood(job) as requesting:
        await loop.readable(requesting)
        await client.evaluate("1+1")  # its reply follows the last event
    known = client.known()
    turns = job.n // job.k // MIX
    expected = {"events": job.n, "frames": job.k, "pending": 0, "dialogs": job.k * turns, "lines": 50}
    assert known == {name: expected[name] for name in known}, known
    return meter.result()


async def _flood(job: Job, client: Client, _loop: Loop) -> Measured:
    hold = getattr(client, "hold_events", None)
    if hold is None:
        client.on_event(METHODS[job.shape], lambda: None)
    else:
        hold(METHODS[job.shape])
    with Meter() as meter, request_flood(job) as requesting:
        while not select.select([requesting], [], [], 0)[0]:
            await client.evaluate("1+1")
        await client.evaluate("1+1")  # its reply follows the last event
    return meter.result()


async def _big(job: Job, client: Client, _loop: Loop) -> Measured:
    size = round(job.mb * 1e6)
    expression = f"'x'.repeat({size})"
    await client.evaluate("'x'.repeat(1000)")
    if job.real:
        assert await client.evaluate(ON_PAGE["random"] % size) == size
        expression = "window.R"
    with Meter() as meter:
        for _ in range(job.n):
            value = await client.evaluate(expression)
            assert len(value) == size
            del value
    return meter.result()


WORKLOADS: dict[str, Callable[[Job, Client, Loop], Awaitable[Measured]]] = {
    "seq": _sequential,
    "pipe": _pipelined,
    "events": _events,
    "subscribe": _events,
    "params": _params,
    "typed": _typed,
    "nested": _nested,
    "field": _field,
    "supervise": _supervise,
    "flood": _flood,
    "big": _big,
}
