"""The targets of the browser, folded from its `Target.*` events.

A target is a page, an iframe with a process of its own, a worker, and so on. The table is exact once discovery is on:
the browser announces a target before any other event about it, and its end last. Without discovery the table has only
the targets that were attached.

Unknown and missing fields are normal: the browser is newer or older than this file.

Sessions are the router's; the table does not know which client asked, or what a target is for.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from cdp_core.errors import RemoteProtocolError
from cdp_core.sansio.messages import BrowserContextId, Event, Json, TargetId, _raw, is_object
from cdp_core.sansio.structs import Struct, replace


class TargetInfo(Struct, frozen=True, kw_only=True):
    """The browser's description of a target; a field that it did not send is empty."""

    target_id: TargetId
    type: str = ""
    title: str = ""
    url: str = ""
    attached: bool = False
    subtype: str | None = None
    opener_id: TargetId | None = None
    parent_id: TargetId | None = None
    parent_frame_id: str | None = None
    browser_context_id: BrowserContextId | None = None

    @classmethod
    def read(cls, info: Json) -> TargetInfo | None:
        """Read a `targetInfo` object; return None if it has no target id."""

        def text(name: str) -> str | None:
            value = info.get(name)
            return value if isinstance(value, str) and value else None

        target_id, opener, parent = text("targetId"), text("openerId"), text("parentId")
        context = text("browserContextId")
        if target_id is None:
            return None
        return cls(
            target_id=TargetId(target_id),
            type=text("type") or "",
            title=text("title") or "",
            url=text("url") or "",
            attached=info.get("attached") is True,
            subtype=text("subtype"),
            opener_id=None if opener is None else TargetId(opener),
            parent_id=None if parent is None else TargetId(parent),
            parent_frame_id=text("parentFrameId"),
            browser_context_id=None if context is None else BrowserContextId(context),
        )


class TargetCreated(Struct, frozen=True, kw_only=True):
    """A new target exists."""

    target: TargetInfo


class TargetChanged(Struct, frozen=True, kw_only=True):
    """A target's info changed: its URL, its title, or whether a client is attached."""

    target: TargetInfo


class TargetDestroyed(Struct, frozen=True, kw_only=True):
    """A target ended; `target` is its last known info."""

    target: TargetInfo


TargetEvent = TargetCreated | TargetChanged | TargetDestroyed

FILTER: Final[list[Json]] = [
    {"type": "browser", "exclude": True},
    {"type": "tab", "exclude": True},
    {"type": "browser_ui", "exclude": True},
    {},
]
"""Every target except the browser's own interface, which could be evaluated in and closed like a page (fact 46)."""
AUTO_ATTACH: Final[Json] = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True, "filter": FILTER}
ATTACH_RUNNING: Final[Json] = {**AUTO_ATTACH, "waitForDebuggerOnStart": False}
NO_AUTO_ATTACH: Final[Json] = {"autoAttach": False, "waitForDebuggerOnStart": False, "flatten": True}
DISCOVER: Final[Json] = {"discover": True, "filter": FILTER}

TARGET_METHODS = (
    "Target.targetCreated",
    "Target.targetInfoChanged",
    "Target.targetDestroyed",
    "Target.attachedToTarget",
)


class TargetTable:
    """The live targets of one browser."""

    def __init__(self) -> None:
        self._targets: dict[TargetId, TargetInfo] = {}
        self._target_infos: dict[TargetId, Json] = {}

    @property
    def targets(self) -> Mapping[TargetId, TargetInfo]:
        """Every live target by its id, in the order of creation."""
        return MappingProxyType(self._targets)

    def announcements(self) -> tuple[Event, ...]:
        """Return a `Target.targetCreated` event for each live target, in the order of creation."""
        return tuple(
            Event(method="Target.targetCreated", raw=_raw({"targetInfo": info})) for info in self._target_infos.values()
        )

    def apply(self, event: Event) -> TargetEvent | None:
        """Fold one event into the table; return the change, or None if nothing changed or it is unreadable."""
        try:
            params = event.params
        except RemoteProtocolError:
            return None
        if event.method == "Target.targetDestroyed":
            target_id = params.get("targetId")
            if not isinstance(target_id, str):
                return None
            self._target_infos.pop(TargetId(target_id), None)
            gone = self._targets.pop(TargetId(target_id), None)
            return None if gone is None else TargetDestroyed(target=gone)
        if event.method not in TARGET_METHODS:
            return None
        info = params.get("targetInfo")
        target = TargetInfo.read(info) if is_object(info) else None
        if target is None or not is_object(info):
            return None
        known = self._targets.get(target.target_id)
        if known is not None and event.method == "Target.attachedToTarget" and not target.url:
            # At the attach of a frame the browser does not know its URL yet (fact 40), so the known one is kept.
            target = replace(target, url=known.url, title=target.title or known.title)
            info = {**info, "url": target.url, "title": target.title}
        self._targets[target.target_id] = target
        self._target_infos[target.target_id] = info
        if known is None:
            return TargetCreated(target=target)
        return None if known == target else TargetChanged(target=target)
