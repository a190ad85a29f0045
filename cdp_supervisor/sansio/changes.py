"""The changes that a subscriber of `Supervisor.changes()` receives, as frozen values."""

from __future__ import annotations

from cdp_core.sansio.messages import TargetId
from cdp_core.sansio.structs import Struct


class DialogOpened(Struct, frozen=True, kw_only=True, gc=False):
    """A dialog opened."""

    dialog_id: str
    target_id: TargetId
    type: str


class DialogClosed(Struct, frozen=True, kw_only=True, gc=False):
    """A dialog is over."""

    dialog_id: str
    target_id: TargetId
    closed_by: str
    reason: str


class FrameAdded(Struct, frozen=True, kw_only=True, gc=False):
    """A frame was added to a page."""

    frame_id: str
    target_id: TargetId
    parent_id: str | None


class FrameNavigated(Struct, frozen=True, kw_only=True, gc=False):
    """A frame has a new document."""

    frame_id: str
    target_id: TargetId


class FrameRemoved(Struct, frozen=True, kw_only=True, gc=False):
    """A frame was removed."""

    frame_id: str
    target_id: TargetId


class PageOpened(Struct, frozen=True, kw_only=True, gc=False):
    """A page came into scope."""

    target_id: TargetId
    opener_id: TargetId | None


class PageCrashed(Struct, frozen=True, kw_only=True, gc=False):
    """The renderer process of a page is gone."""

    target_id: TargetId


class PageGone(Struct, frozen=True, kw_only=True, gc=False):
    """A page was closed, or is gone for another reason."""

    target_id: TargetId
    reason: str


class LinkChanged(Struct, frozen=True, kw_only=True, gc=False):
    """The link came up, went down, or was given up."""

    phase: str
    generation: int
    reason: str


Change = (
    DialogOpened
    | DialogClosed
    | FrameAdded
    | FrameNavigated
    | FrameRemoved
    | PageOpened
    | PageCrashed
    | PageGone
    | LinkChanged
)
"""Any change."""
