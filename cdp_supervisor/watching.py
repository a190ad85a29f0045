"""Changes as lines of text for a terminal."""

from __future__ import annotations

from collections.abc import Callable

import trio

from cdp_core import Missed
from cdp_supervisor.sansio.changes import (
    Change,
    DialogClosed,
    DialogOpened,
    FrameAdded,
    FrameNavigated,
    FrameRemoved,
    LinkChanged,
    PageCrashed,
    PageGone,
    PageOpened,
)
from cdp_supervisor.supervisor import Supervisor


async def print_changes(
    supervisor: Supervisor,
    print_line: Callable[[str], None],
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Print one line for each change, until the supervisor ends or this task is cancelled."""
    with supervisor.changes() as changes:
        task_status.started()
        async for change in changes:
            print_line(f" · {line_of(change)}")


def line_of(change: Change | Missed) -> str:
    """Describe a change in a few words: ids only, never text that a page wrote."""
    if isinstance(change, Missed):
        return f"{change.count} changes were missed"
    if isinstance(change, LinkChanged):
        return f"link {change.phase}{f' ({change.reason})' if change.reason else ''}, generation {change.generation}"
    page = change.target_id[:8]
    if isinstance(change, DialogOpened):
        return f"page {page}: {change.type} {change.dialog_id} opened"
    if isinstance(change, DialogClosed):
        return f"page {page}: dialog {change.dialog_id} closed by {change.closed_by} ({change.reason})"
    if isinstance(change, (FrameAdded, FrameNavigated, FrameRemoved)):
        word = {FrameAdded: "was added", FrameNavigated: "has a new document", FrameRemoved: "was removed"}[
            type(change)
        ]
        return f"page {page}: frame {change.frame_id[:8]} {word}"
    if isinstance(change, PageOpened):
        return f"page {page} opened"
    if isinstance(change, PageCrashed):
        return f"page {page} crashed"
    assert isinstance(change, PageGone)
    return f"page {page} is gone ({change.reason})"
