"""History traversal: a command or a script moves a page to another entry of its history.

to another document             a navigation, which restores the cached document or loads it again
to another URL of the document  a navigation within the document; nothing is loaded
to another state of a frame     a navigation of that frame
"""

from __future__ import annotations

from cdp_core.testing.fake.model.addresses import is_same
from cdp_core.testing.fake.model.history import Entry
from cdp_core.testing.fake.model.parts import Frame, Target
from cdp_core.testing.fake.navigation import frames, moves
from cdp_core.testing.fake.navigation.loading import Loaded
from cdp_core.testing.fake.navigation.moves import Started
from cdp_core.testing.fake.world import World


def ignore_started() -> None:
    """Ignore the start of a traversal: a script gets no reply."""


def go(world: World, page: Target, entry: Entry, loaded: Loaded, started: Started = ignore_started) -> None:
    """Move a page to a history entry; `started` is called first, once the traversal has begun."""
    history, frame = page.history, page.frame
    here = history.current
    if frame is None or here is None or here is entry:
        started()
    elif here.document != entry.document or history.lost:
        _navigate(world, frame, entry.url, entry, loaded, started)
    elif here.url != entry.url:
        moves.move_back(world, frame, entry.url, entry, started)
    else:
        _go_inside(world, here, entry, loaded, started)


def _go_inside(world: World, here: Entry, entry: Entry, loaded: Loaded, started: Started) -> None:
    on_started = started
    for name, url in entry.frames.items():
        frame = world.frames.get(name)
        if frame is not None and here.frames.get(name) != url:
            if is_same(frame.url, url):
                moves.move_back(world, frame, url, entry, on_started)
            else:
                _navigate(world, frame, url, entry, loaded, on_started)
            on_started = ignore_started
    if on_started is started:
        started()


def _navigate(world: World, frame: Frame, url: str, entry: Entry, loaded: Loaded, started: Started) -> None:
    def on_started(_loader: str, _failure: str | None) -> None:
        started()

    frames.navigate(world, frame, url, loaded, kind="historyDifferentDocument", entry=entry, started=on_started)
