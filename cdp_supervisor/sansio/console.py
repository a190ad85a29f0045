"""The console of each page: the last lines and uncaught exceptions, as a machine like anybody's.

A line stays as it came until somebody looks, since most are never looked at; only what is large is read at once, so that
fifty lines of a page that logs megabytes take no more than fifty lines of text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from immutables import Map

from cdp_core.errors import RemoteProtocolError
from cdp_core.sansio.records import Struct
from cdp_core.sansio.wire import Event, Json, TargetId
from cdp_supervisor.sansio.effects import Effect
from cdp_supervisor.sansio.inputs import BrowserEvent, Input, Instant
from cdp_supervisor.sansio.params import member, members, text

__all__ = ["ConsoleRing"]

LINES: Final = 50
ARGUMENTS: Final = 4
TEXT: Final = 2_000
LARGE: Final = 8_192
"""Bytes beyond which an event is not kept as it came."""
PAGES: Final = 4_000
UNSORTED: Final = 256
"""Lines that may wait in the order of their coming: to put each to its page at once would touch all the lines there."""

LOGGED, THROWN = "Runtime.consoleAPICalled", "Runtime.exceptionThrown"


class Read(Struct, frozen=True, kw_only=True, gc=False):
    """What a line says that was large."""

    at: Instant
    page: TargetId | None
    session_id: str | None
    said: Json


Line = BrowserEvent | Read
"""One line: as it came, or what it says."""

Newest = tuple[Line, "Newest"] | None
"""The lines of all pages, the last one first."""


class Rings(Struct, frozen=True, kw_only=True, gc=False):
    """The lines of each page, and those that came since they were put there."""

    newest: Newest = None
    unsorted: int = 0
    """How many came since."""
    of_page: Map[TargetId, tuple[Line, ...]] = Map()


class ConsoleRing:
    """See the module."""

    name = "console"
    events = frozenset((LOGGED, THROWN))

    def initial(self) -> Rings:
        """Nothing was said."""
        return Rings()

    def step(self, state: Rings, input: Input, /) -> tuple[Rings, Iterable[Effect]]:
        """Keep a line, with its page."""
        if type(input) is not BrowserEvent or input.page is None or input.event.method not in self.events:
            return state, ()
        line: Line = input
        event = input.event
        if event.size > LARGE:
            line = Read(at=input.at, page=input.page, session_id=event.session_id, said=_read(event))
        if state.unsorted >= UNSORTED:
            state = _sorted(state)
        return Rings(newest=(line, state.newest), unsorted=state.unsorted + 1, of_page=state.of_page), ()

    def next_deadline(self, _state: Rings, /) -> float | None:
        """Time does nothing here."""
        return None

    def view(self, state: Rings, /) -> Json:
        """The lines of each page, oldest first."""
        return {"pages": {page: [_shown(line) for line in lines] for page, lines in _sorted(state).of_page.items()}}


def _sorted(state: Rings) -> Rings:
    """All lines at their pages, where only the last ones are kept."""
    came: dict[TargetId, list[Line]] = {}
    cell = state.newest
    while cell is not None:
        line, cell = cell
        assert line.page is not None
        lines = came.setdefault(line.page, [])
        if len(lines) < LINES:
            lines.append(line)
    of_page = state.of_page.mutate()
    for page, lines in reversed(came.items()):
        if page not in of_page and len(of_page) >= PAGES:
            del of_page[next(iter(of_page))]
        older = of_page.get(page, ())
        of_page[page] = (*older[max(len(older) + len(lines) - LINES, 0) :], *reversed(lines))
    return Rings(of_page=of_page.finish())


def _shown(line: Line) -> Json:
    if isinstance(line, Read):
        return {**line.said, "at": line.at.wall, "session_id": line.session_id}
    return {**_read(line.event), "at": line.at.wall, "session_id": line.event.session_id}


def _read(event: Event) -> Json:
    try:
        params = event.params
    except RemoteProtocolError:
        return {"level": "unreadable", "text": "", "url": ""}
    if event.method == THROWN:
        details = member(params, "exceptionDetails")
        said = text(member(details, "exception"), "description", TEXT) or text(details, "text", TEXT)
        return {"level": "exception", "text": said, "url": text(details, "url", TEXT)}
    said = " ".join(map(_argument, members(params, "args")[:ARGUMENTS]))[:TEXT]
    frames = members(member(params, "stackTrace"), "callFrames")
    return {"level": text(params, "type") or "log", "text": said, "url": text(frames[0], "url", TEXT) if frames else ""}


def _argument(remote: Json) -> str:
    value: Any = remote.get("value")
    if isinstance(value, str):
        return value[:TEXT]
    if value is not None:
        return str(value)[:TEXT]
    return text(remote, "unserializableValue", TEXT) or text(remote, "description", TEXT) or text(remote, "type")
