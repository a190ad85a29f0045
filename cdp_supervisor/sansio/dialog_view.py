"""A dialog as the snapshot and the answer to a request show it: a frozen value, with its JSON form."""

from __future__ import annotations

import attrs

from cdp_core.sansio.messages import Json, SessionId, TargetId
from cdp_supervisor.sansio.dialog_table import remedies
from cdp_supervisor.sansio.state import Dialog


@attrs.frozen(kw_only=True)
class DialogView:
    """A dialog, pending or past."""

    id: str
    number: int
    """The number in its id: a dialog that opened later has a greater one."""
    target_id: TargetId
    frame_id: str
    session_id: SessionId | None
    via: str
    """What announced it: the browser (`native`), or a `request` or `pause` that an extension holds."""
    type: str
    message: str
    default_prompt: str
    opened_at: float
    answerable: bool
    answering: bool
    why: str
    """Why it is unanswerable; empty if it can be answered."""
    remedies: tuple[str, ...]
    deadline: float | None
    """The moment of its next deadline, on the supervisor's clock."""
    overdue: bool
    closed_by: str
    reason: str
    closed_at: float | None
    opened_mono: float

    def to_dict(self, *, now: float | None = None) -> Json:
        """Return it as JSON; fields that do not apply are left out."""
        shown: Json = {
            "id": self.id,
            "type": self.type,
            "message": self.message,
            "default_prompt": self.default_prompt,
            "opened_at": self.opened_at,
            "target_id": self.target_id,
            "frame_id": self.frame_id,
        }
        if self.via != "native":
            shown["via"] = self.via
        if self.closed_at is not None:
            return {**shown, "closed_at": self.closed_at, "closed_by": self.closed_by, "reason": self.reason}
        shown["answerable"] = self.answerable
        if self.answering:
            shown["answering"] = True
        if self.why:
            shown |= {"why": self.why, "cures": list(self.remedies)}  # the key of schema version 1
        if self.overdue:
            shown["overdue"] = True
        if now is not None:
            shown["age"] = max(now - self.opened_mono, 0.0)
            if self.deadline is not None:
                shown["time_left"] = max(self.deadline - now, 0.0)
        return shown


def view_dialog(dialog: Dialog) -> DialogView:
    return DialogView(
        id=dialog.id,
        number=dialog.number,
        target_id=dialog.target_id,
        frame_id=dialog.frame_id,
        session_id=dialog.session_id,
        via=dialog.via,
        type=dialog.type,
        message=dialog.message,
        default_prompt=dialog.default_prompt,
        opened_at=dialog.opened.wall,
        answerable=dialog.phase == "open" and not dialog.closed_by,
        answering=dialog.phase in ("answering", "answered") and not dialog.closed_by,
        why=dialog.why,
        remedies=remedies(dialog.why, native=dialog.native, type=dialog.type) if dialog.why else (),
        deadline=dialog.deadline,
        overdue=dialog.overdue,
        closed_by=dialog.closed_by,
        reason=dialog.reason,
        closed_at=dialog.closed.wall if dialog.closed_by else None,
        opened_mono=dialog.opened.mono,
    )
