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
    from cdp_core.testing.fake.model.parts import DocumentSettings, Frame, IsolatedWorld, Renderer, UnloadBehaviour


@attrs.frozen(eq=False)
class CachedDocument:
    """A document that was left and waits to be come back to, with the frames in it."""

    children: list[Frame]
    renderer: Renderer
    loader: str
    title: str
    context: int
    context_unique: str
    worlds: list[IsolatedWorld]
    objects: dict[str, Json]
    lifecycle_times: dict[str, float] | None
    mime: str
    referrer: str
    document: int
    unload_behaviour: UnloadBehaviour
    settings: DocumentSettings
    runtime_events: list[tuple[str, Json]]
    paused_steps: list[Callable[[], None]] = attrs.Factory(list["Callable[[], None]"])
    """What its scripts are to do when it is shown again."""


@attrs.define(eq=False)
class Entry:
    """One place."""

    number: int
    url: str
    typed_url: str
    """The address that was asked for; that of a document holds for every place in it."""
    transition: str
    document: int
    browsing_instance: int
    """Documents of one group of windows that may reach each other are not there at one time, but one of them."""
    frames: dict[str, str]
    """Where the frames inside are, by their ids."""
    title: str = ""
    cached_document: CachedDocument | None = None
    reasons: list[str] = attrs.Factory(list[str])
    """Why its document was not kept when it was left."""

    def shown(self) -> Json:
        """As `Page.getNavigationHistory` shows it."""
        shown: Json = {"id": self.number, "url": self.url, "userTypedURL": self.typed_url, "title": self.title}
        return {**shown, "transitionType": self.transition}


@attrs.define(eq=False)
class History:
    """The places of one page, the oldest first."""

    entries: list[Entry] = attrs.Factory(list[Entry])
    current_index: int = -1
    lost: bool = False
    """The present document died with its process."""
    last_id: int = 1
    documents: int = 0
    browsing_instances: int = 0
    cached: list[Entry] = attrs.Factory(list[Entry])
    """Those that keep a document, the one that was left first in front; also such as are no entries any more."""

    @property
    def current(self) -> Entry | None:
        """Where the page is; None for a window that has shown nothing yet."""
        return self.entries[self.current_index] if self.entries else None

    def find(self, number: int) -> Entry | None:
        """The entry of that id."""
        return next((each for each in self.entries if each.number == number), None)

    def by(self, delta: int) -> Entry | None:
        """The entry so far ahead, or back."""
        index = self.current_index + delta
        return self.entries[index] if 0 <= index < len(self.entries) else None

    # ── going ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def record_document(
        self, url: str, transition: str, *, replace_entry: bool, swaps_instance: bool, title: str = ""
    ) -> None:
        """Another document is there; it may be in a group of windows of its own (`swaps`)."""
        here = self.current
        self.documents += 1
        self.browsing_instances += swaps_instance
        browsing_instance = self.browsing_instances if swaps_instance or here is None else here.browsing_instance
        made = Entry(
            self._number(), url, "" if title else url, transition, self.documents, browsing_instance, {}, title
        )
        self._put(made, replace_entry=replace_entry)

    def record_same_document(
        self, url: str, transition: str, *, new_entry: bool = False, replace_entry: bool = False
    ) -> None:
        """The document has another address; or the same one `anew`, which is another place all the same."""
        here = self.current
        if here is not None:
            made = attrs.evolve(here, number=self._number(), url=url, transition=transition, cached_document=None)
            self._put(made, replace_entry=replace_entry or (here.url == url and not new_entry))

    def record_subframe(self, frame_id: str, url: str, *, replace_entry: bool) -> None:
        """A frame inside has another document."""
        here = self.current
        if here is None:
            return
        if replace_entry:
            here.frames[frame_id] = url
        else:
            frames = {**here.frames, frame_id: url}
            self._put(
                attrs.evolve(here, number=self._number(), frames=frames, cached_document=None), replace_entry=False
            )

    def select(self, entry: Entry) -> None:
        """One of its entries is shown again."""
        if entry in self.entries:
            self.current_index = self.entries.index(entry)

    def restored(self) -> History:
        """The same places, of which nothing but the addresses is left."""
        entries = [
            attrs.evolve(each, number=self._number(), transition="reload", cached_document=None)
            for each in self.entries
        ]
        made = attrs.evolve(self, entries=entries, cached=list[Entry]())
        made.last_id = self.last_id
        return made

    def lose(self, died: Renderer) -> None:
        """A process died, and every document with it."""
        self.lost = True
        for entry in [
            each for each in self.cached if each.cached_document is not None and each.cached_document.renderer is died
        ]:
            entry.cached_document, entry.reasons = None, ["RendererProcessKilled"]
            self.cached.remove(entry)

    def reset(self) -> None:
        """Only the present place is left."""
        self.entries = self.entries[self.current_index : self.current_index + 1]
        self.current_index = len(self.entries) - 1

    def _number(self) -> int:
        self.last_id += 1
        return self.last_id

    def _put(self, made: Entry, *, replace_entry: bool) -> None:
        if replace_entry and self.entries:
            self.entries[self.current_index] = made
        else:
            self.entries = [*self.entries[: self.current_index + 1], made]
            self.current_index = len(self.entries) - 1
