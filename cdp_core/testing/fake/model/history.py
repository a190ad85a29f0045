"""The history of a page: where it was, in which documents, and which of these can be come back to as they were left.

    another document      a new entry; what was ahead is dropped
    the same address, a script's wish before the load event, a popup's first
                          a new entry in the place of the present one
    reload                the present entry
    another address in the same document, another document in a frame inside
                          a new entry of the same document

Entries of one document have its number. What an entry keeps of a document that was left is the back/forward cache
(`cache.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs

from cdp_core.sansio.messages import Json

if TYPE_CHECKING:
    from cdp_core.testing.fake.model.parts import Frame, IsolatedWorld, Manners, Renderer, Terms


@attrs.frozen(eq=False)
class Kept:
    """A document that was left and waits to be come back to, with the frames in it."""

    children: list[Frame]
    renderer: Renderer
    loader: str
    title: str
    context: int
    context_unique: str
    worlds: list[IsolatedWorld]
    objects: dict[str, Json]
    moments: dict[str, float] | None
    mime: str
    referrer: str
    document: int
    manners: Manners
    terms: Terms
    said: list[tuple[str, Json]]
    further: list[Callable[[], None]] = attrs.Factory(list["Callable[[], None]"])
    """What its scripts are to do when it is shown again."""


@attrs.define(eq=False)
class Entry:
    """One place."""

    number: int
    url: str
    typed: str
    """The address that was asked for; that of a document holds for every place in it."""
    transition: str
    document: int
    instance: int
    """Documents of one group of windows that may reach each other are not there at one time, but one of them."""
    frames: dict[str, str]
    """Where the frames inside are, by their ids."""
    title: str = ""
    kept: Kept | None = None
    reasons: list[str] = attrs.Factory(list[str])
    """Why its document was not kept when it was left."""

    def shown(self) -> Json:
        """As `Page.getNavigationHistory` shows it."""
        shown: Json = {"id": self.number, "url": self.url, "userTypedURL": self.typed, "title": self.title}
        return {**shown, "transitionType": self.transition}


@attrs.define(eq=False)
class History:
    """The places of one page, the oldest first."""

    entries: list[Entry] = attrs.Factory(list[Entry])
    at: int = -1
    lost: bool = False
    """The present document died with its process."""
    numbered: int = 1
    documents: int = 0
    instances: int = 0
    cached: list[Entry] = attrs.Factory(list[Entry])
    """Those that keep a document, the one that was left first in front; also such as are no entries any more."""

    @property
    def current(self) -> Entry | None:
        """Where the page is; None for a window that has shown nothing yet."""
        return self.entries[self.at] if self.entries else None

    def find(self, number: int) -> Entry | None:
        """The entry of that id."""
        return next((each for each in self.entries if each.number == number), None)

    def by(self, delta: int) -> Entry | None:
        """The entry so far ahead, or back."""
        place = self.at + delta
        return self.entries[place] if 0 <= place < len(self.entries) else None

    # ── going ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def come_to(self, url: str, transition: str, *, instead: bool, swaps: bool, title: str = "") -> None:
        """Another document is there; it may be in a group of windows of its own (`swaps`)."""
        here = self.current
        self.documents += 1
        self.instances += swaps
        instance = self.instances if swaps or here is None else here.instance
        made = Entry(self._number(), url, "" if title else url, transition, self.documents, instance, {}, title)
        self._put(made, instead=instead)

    def move_within(self, url: str, transition: str, *, anew: bool = False, instead: bool = False) -> None:
        """The document has another address; or the same one `anew`, which is another place all the same."""
        here = self.current
        if here is not None:
            made = attrs.evolve(here, number=self._number(), url=url, transition=transition, kept=None)
            self._put(made, instead=instead or (here.url == url and not anew))

    def move_inside(self, frame_id: str, url: str, *, instead: bool) -> None:
        """A frame inside has another document."""
        here = self.current
        if here is None:
            return
        if instead:
            here.frames[frame_id] = url
        else:
            frames = {**here.frames, frame_id: url}
            self._put(attrs.evolve(here, number=self._number(), frames=frames, kept=None), instead=False)

    def go_to(self, entry: Entry) -> None:
        """One of its entries is shown again."""
        if entry in self.entries:
            self.at = self.entries.index(entry)

    def restored(self) -> History:
        """The same places, of which nothing but the addresses is left."""
        entries = [attrs.evolve(each, number=self._number(), transition="reload", kept=None) for each in self.entries]
        made = attrs.evolve(self, entries=entries, cached=list[Entry]())
        made.numbered = self.numbered
        return made

    def lose(self, died: Renderer) -> None:
        """A process died, and every document with it."""
        self.lost = True
        for entry in [each for each in self.cached if each.kept is not None and each.kept.renderer is died]:
            entry.kept, entry.reasons = None, ["RendererProcessKilled"]
            self.cached.remove(entry)

    def reset(self) -> None:
        """Only the present place is left."""
        self.entries = self.entries[self.at : self.at + 1]
        self.at = len(self.entries) - 1

    def _number(self) -> int:
        self.numbered += 1
        return self.numbered

    def _put(self, made: Entry, *, instead: bool) -> None:
        if instead and self.entries:
            self.entries[self.at] = made
        else:
            self.entries = [*self.entries[: self.at + 1], made]
            self.at = len(self.entries) - 1
