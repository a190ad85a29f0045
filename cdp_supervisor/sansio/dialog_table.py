"""The phases of a dialog, and every move between them as a table; dialogs.py applies it.

    open ──answer──▶ answering(by) ──closed──▶ closed(by) ──our reply──▶ settled(by)
      │                   │  └──our reply──▶ answered(by) ──closed──▶ settled(by)
      │                   └──refused, silent──▶ unanswerable(why)
      └──superseded, its session ended──▶ unanswerable(why) ──the page replies, closed──▶ settled(remote)

The origin of the end of a dialog is known at the later of its closed event and the reply to our answer, which comes
second (fact 1); an unknown origin is `remote`, never `agent` (docs/cdp/closed-precedes-reply.md). The table is drawn
in docs/cdp/a-dialog-has-five-phases-and-one-end.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, get_args

import attrs

Phase = Literal["open", "answering", "answered", "closed", "unanswerable"]
Trigger = Literal[
    "answer",
    "closed",
    "reply_ok",
    "refused_none",
    "refused_inactive",
    "reply_gone",
    "superseded",
    "session_lost",
    "page_replies",
    "target_gone",
    "due",
]
PHASES: Final[tuple[Phase, ...]] = get_args(Phase)
TRIGGERS: Final[tuple[Trigger, ...]] = get_args(Trigger)


@attrs.frozen
class Move:
    """What a trigger does to a phase.

    `go` is the next phase. `settle` ends the dialog, with the origin of its end (`by`: that of our answer) and a
    `reason`. `unanswerable` is why it cannot be answered, `probe` checks its renderer, `refuse` is the error of an
    answer, `overdue` marks that the time of its policy is over. All empty: nothing changes.
    """

    go: Phase | Literal[""] = ""
    settle: str = ""
    reason: str = ""
    unanswerable: str = ""
    probe: bool = False
    refuse: str = ""
    overdue: bool = False


_STAY: Final = Move()
_BUSY: Final = Move(refuse="another answer is under way")
_UNCONFIRMED: Final = Move(settle="remote", reason="unconfirmed")
_OTHERS: Final = Move(settle="remote", reason="elsewhere")
_OURS: Final = Move(settle="by", reason="answered")
_GONE: Final = Move(settle="remote", reason="target_gone")

TABLE: Final[Mapping[tuple[Phase, Trigger], Move]] = {
    ("open", "answer"): Move(go="answering"),
    ("open", "closed"): Move(settle="remote", reason="elsewhere"),
    ("open", "superseded"): Move(unanswerable="superseded"),
    ("open", "session_lost"): Move(unanswerable="orphaned"),
    ("open", "target_gone"): _GONE,
    ("open", "due"): Move(go="answering"),
    ("answering", "answer"): _BUSY,
    ("answering", "closed"): Move(go="closed"),
    ("answering", "reply_ok"): Move(go="answered"),
    ("answering", "refused_none"): Move(unanswerable="unseen", probe=True),
    ("answering", "refused_inactive"): Move(unanswerable="page_inactive"),
    ("answering", "reply_gone"): _STAY,
    ("answering", "superseded"): Move(unanswerable="superseded"),
    ("answering", "session_lost"): Move(unanswerable="orphaned"),
    ("answering", "target_gone"): _UNCONFIRMED,
    ("answering", "due"): Move(unanswerable="unseen", probe=True),
    ("answered", "answer"): _BUSY,
    ("answered", "closed"): _OURS,
    ("answered", "superseded"): _OURS,
    ("answered", "session_lost"): _OURS,
    ("answered", "target_gone"): _OURS,
    ("answered", "due"): _OURS,
    ("closed", "answer"): _BUSY,
    ("closed", "reply_ok"): _OURS,
    ("closed", "refused_none"): _OTHERS,
    ("closed", "refused_inactive"): _OTHERS,
    ("closed", "superseded"): _OTHERS,
    ("closed", "reply_gone"): _UNCONFIRMED,
    ("closed", "session_lost"): _UNCONFIRMED,
    ("closed", "target_gone"): _UNCONFIRMED,
    ("closed", "due"): _UNCONFIRMED,
    ("unanswerable", "answer"): Move(refuse="it cannot be answered any more"),
    ("unanswerable", "closed"): Move(settle="remote", reason="elsewhere"),
    ("unanswerable", "reply_ok"): _STAY,
    ("unanswerable", "refused_none"): _STAY,
    ("unanswerable", "refused_inactive"): _STAY,
    ("unanswerable", "reply_gone"): _STAY,
    ("unanswerable", "superseded"): _STAY,
    ("unanswerable", "session_lost"): Move(unanswerable="orphaned"),
    ("unanswerable", "page_replies"): Move(settle="remote", reason="why"),
    ("unanswerable", "target_gone"): _GONE,
    ("unanswerable", "due"): Move(overdue=True),
}

REMEDIES: Final[Mapping[str, tuple[str, ...]]] = {
    "orphaned": ("same_document", "navigate", "reload", "close"),
    "superseded": ("same_document", "navigate", "reload", "close"),
    "unseen": ("same_document", "navigate", "reload", "close"),
    "page_inactive": ("navigate", "close"),
}
"""Remedies by the reason why a dialog is unanswerable (facts 5, 22); the gentlest first."""
REMEDIES_WITHOUT_WINDOW: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("orphaned", "superseded", "unseen"), ("navigate", "close")),
    "page_inactive": ("close",),
}
"""The same for a browser without windows for dialogs, where a same-document navigation frees nothing."""


LEAVING: Final = ("orphaned", "unseen")
"""Reasons for which a `beforeunload` dialog leaves only the end of its page: nothing else frees it (fact 64)."""


def remedies(why: str, *, native: bool, type: str = "") -> tuple[str, ...]:
    """Return the remedies for a dialog that is unanswerable for this reason; none if it is answerable."""
    if type == "beforeunload" and why in LEAVING:
        return ("close",)
    return (REMEDIES if native else REMEDIES_WITHOUT_WINDOW).get(why, ())
