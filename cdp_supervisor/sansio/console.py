"""The console ring: the last console lines and uncaught exceptions of each page, as an extension.

A line is kept as its event until the view is read, since most lines are never read. Only a large event is read at
once, so that fifty lines of a page that logs megabytes take no more memory than fifty lines of text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

from immutables import Map

from cdp_core.errors import RemoteProtocolError
from cdp_core.sansio.messages import Event, Json, TargetId
from cdp_core.sansio.structs import Struct
from cdp_supervisor.sansio.effects import Wanted
from cdp_supervisor.sansio.event_params import member, members, text
from cdp_supervisor.sansio.inputs import BrowserEvent, ExtensionInput, Instant

LINES: Final = 50
"""Lines kept per page."""
ARGUMENTS: Final = 4
"""Arguments shown of a console call."""
TEXT: Final = 2_000
"""Characters shown of a text."""
LARGE: Final = 8_192
"""Bytes beyond which an event is read at once, and its raw form dropped."""
PAGES: Final = 4_000

LOGGED, THROWN = "Runtime.consoleAPICalled", "Runtime.exceptionThrown"


class Read(Struct, frozen=True, kw_only=True, gc=False):
    """The content of a line that came as a large event."""

    at: Instant
    page: TargetId | None
    session_id: str | None
    content: Json


Line = BrowserEvent | Read
"""One line: its event, or the content of a large one."""

Rings = Map[TargetId, tuple[Line, ...]]
"""The last lines of each page, the oldest first."""


class ConsoleRing:
    """An extension that keeps the last console lines and uncaught exceptions of each page."""

    name = "console"
    events = frozenset((LOGGED, THROWN))

    def initial(self) -> Rings:
        return Map()

    def step(self, state: Rings, input: ExtensionInput, /) -> tuple[Rings, Iterable[Wanted]]:
        """Keep one line with its page; ignore every other input."""
        if type(input) is not BrowserEvent or input.event.method not in self.events:
            return state, ()
        return self.fold(state, (input,)), ()

    def fold(self, state: Rings, inputs: Sequence[BrowserEvent], /) -> Rings:
        """Keep several lines, each with its page."""
        new: defaultdict[TargetId, list[Line]] = defaultdict(list)
        for input in inputs:
            page, event = input.page, input.event
            if page is not None:
                new[page].append(input if type(event) is Event and len(event.raw) <= LARGE else _as_read(input))
        if not new:
            return state
        rings = state.mutate()
        for page, lines in new.items():
            older = rings.get(page, ())
            rings[page] = (*older, *lines) if len(older) + len(lines) <= LINES else (*older, *lines)[-LINES:]
        if len(rings) > PAGES:
            rings = _newest(rings.finish()).mutate()
        return rings.finish()

    def next_deadline(self, _state: Rings, /) -> float | None:
        return None

    def view(self, state: Rings, /) -> Json:
        """Return the lines of each page, the oldest first."""
        return {"pages": {page: [_shown(line) for line in lines] for page, lines in state.items()}}


def _newest(rings: Rings) -> Rings:
    """Keep the `PAGES` pages with the newest last lines."""
    order = sorted(rings.items(), key=lambda ring: (ring[1][-1].at.mono, ring[0]))
    return Map(order[len(order) - PAGES :])


def _as_read(input: BrowserEvent) -> Read:
    return Read(at=input.at, page=input.page, session_id=input.event.session_id, content=_read(input.event))


def _shown(line: Line) -> Json:
    if isinstance(line, Read):
        return {**line.content, "at": line.at.wall, "session_id": line.session_id}
    return {**_read(line.event), "at": line.at.wall, "session_id": line.event.session_id}


def _read(event: Event) -> Json:
    try:
        params = event.params
    except RemoteProtocolError:
        return {"level": "unreadable", "text": "", "url": ""}
    if event.method == THROWN:
        details = member(params, "exceptionDetails")
        content = text(member(details, "exception"), "description", TEXT) or text(details, "text", TEXT)
        return {"level": "exception", "text": content, "url": text(details, "url", TEXT)}
    content = " ".join(map(_argument, members(params, "args")[:ARGUMENTS]))[:TEXT]
    frames = members(member(params, "stackTrace"), "callFrames")
    return {
        "level": text(params, "type") or "log",
        "text": content,
        "url": text(frames[0], "url", TEXT) if frames else "",
    }


def _argument(remote: Json) -> str:
    value: Any = remote.get("value")
    if isinstance(value, str):
        return value[:TEXT]
    if value is not None:
        return str(value)[:TEXT]
    return text(remote, "unserializableValue", TEXT) or text(remote, "description", TEXT) or text(remote, "type")
