"""The history of a page: its entries, their documents, and the documents that it can restore.

    another document      a new entry; the entries ahead are dropped
    the same URL, a navigation by a script before the load event, a popup's first document
                          a new entry replaces the current one
    reload                the current entry
    another URL in the same document, another document in a frame inside
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
    """A document that was left and is kept for a restore, with the frames in it."""

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
    """What its scripts do when it is shown again."""


@attrs.define(eq=False)
class Entry:
    """One entry of a page's history."""

    number: int
    url: str
    typed_url: str
    """The URL that was asked for; all entries of one document have the same one."""
    transition: str
    document: int
    browsing_instance: int
    """The group of windows that may reach each other; only one of its documents is shown at a time."""
    frames: dict[str, str]
    """The URLs of the frames inside, by frame id."""
    title: str = ""
    cached_document: CachedDocument | None = None
    reasons: list[str] = attrs.Factory(list[str])
    """Why its document was not kept when it was left."""

    def shown(self) -> Json:
        shown: Json = {"id": self.number, "url": self.url, "userTypedURL": self.typed_url, "title": self.title}
        return {**shown, "transitionType": self.transition}


@attrs.define(eq=False)
class History:
    """The entries of one page, the oldest first."""

    entries: list[Entry] = attrs.Factory(list[Entry])
    current_index: int = -1
    lost: bool = False
    """The current document died with its process."""
    last_id: int = 1
    documents: int = 0
    browsing_instances: int = 0
    cached: list[Entry] = attrs.Factory(list[Entry])
    """The entries that keep a document, in the order of leaving; some are no longer in `entries`."""

    @property
    def current(self) -> Entry | None:
        """The current entry; None for a window that has shown nothing yet."""
        return self.entries[self.current_index] if self.entries else None

    def find(self, number: int) -> Entry | None:
        return next((each for each in self.entries if each.number == number), None)

    def by(self, delta: int) -> Entry | None:
        """Return the entry so far ahead, or back; None beyond the ends."""
        index = self.current_index + delta
        return self.entries[index] if 0 <= index < len(self.entries) else None

    # ── navigating ───────────────────────────────────────────────────────────────────────────────────────────────────

    def record_document(
        self, url: str, transition: str, *, replace_entry: bool, swaps_instance: bool, title: str = ""
    ) -> None:
        """Record a navigation to another document.

        With `swaps_instance` the document is in a group of windows of its own.
        """
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
        """Record another URL of the same document.

        The same URL replaces the current entry, unless `new_entry` is set.
        """
        here = self.current
        if here is not None:
            made = attrs.evolve(here, number=self._number(), url=url, transition=transition, cached_document=None)
            self._put(made, replace_entry=replace_entry or (here.url == url and not new_entry))

    def record_subframe(self, frame_id: str, url: str, *, replace_entry: bool) -> None:
        """Record another document in a frame inside."""
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
        if entry in self.entries:
            self.current_index = self.entries.index(entry)

    def restored(self) -> History:
        """Return a history of the same URLs that keeps no document."""
        entries = [
            attrs.evolve(each, number=self._number(), transition="reload", cached_document=None)
            for each in self.entries
        ]
        made = attrs.evolve(self, entries=entries, cached=list[Entry]())
        made.last_id = self.last_id
        return made

    def lose(self, died: Renderer) -> None:
        self.lost = True
        for entry in [
            each for each in self.cached if each.cached_document is not None and each.cached_document.renderer is died
        ]:
            entry.cached_document, entry.reasons = None, ["RendererProcessKilled"]
            self.cached.remove(entry)

    def reset(self) -> None:
        """Drop all entries but the current one."""
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
