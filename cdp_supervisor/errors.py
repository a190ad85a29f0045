"""What a supervisor can tell that the engine below it cannot: the branch `SupervisorError` of the tree in `cdp_core`.

Every error names what was wrong and what to do next, in one sentence, because agents read it; its fields hold the same as
values. What a page wrote (messages, texts) is in none of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cdp_core.errors import CdpError

if TYPE_CHECKING:
    from cdp_supervisor.sansio.health import Health


class SupervisorError(CdpError):
    """Base of what the supervisor raises on purpose."""


# ── dialogs ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class NoPendingDialog(SupervisorError):
    """No dialog is open, on any page in scope."""

    def __init__(self) -> None:
        super().__init__(
            "No dialog is pending; look at the snapshot's recent_dialogs for what became of the last ones."
        )


class UnknownDialog(SupervisorError):
    """No pending dialog has this id; `known` are those that are."""

    def __init__(self, dialog_id: str, *, known: Iterable[str]) -> None:
        self.dialog_id = dialog_id
        self.known = tuple(known)
        super().__init__(f"No pending dialog is called {dialog_id!r}; pending are: {_listed(self.known)}.")


class AmbiguousDialog(SupervisorError):
    """Several dialogs can be answered; name one of `candidates`."""

    def __init__(self, candidates: Iterable[str]) -> None:
        self.candidates = tuple(candidates)
        super().__init__(f"Several dialogs are pending; say which with dialog_id: {_listed(self.candidates)}.")


class DialogUnanswerable(SupervisorError):
    """The browser answers for this dialog to nobody any more; `why` says the reason, `cures` what frees its page."""

    def __init__(self, dialog_id: str, *, why: str, remedies: Iterable[str]) -> None:
        self.dialog_id = dialog_id
        self.why = why
        self.remedies = tuple(remedies)
        super().__init__(
            f"Dialog {dialog_id} cannot be answered any more ({why}); free its page with recover(target_id, cure), "
            f"where cure is one of: {_listed(self.remedies)}."
        )


class DialogAnswerRefused(SupervisorError):
    """This answer did not end the dialog; `reason` says why, `code` is the browser's where it refused."""

    def __init__(self, dialog_id: str, *, reason: str, code: int | None = None) -> None:
        self.dialog_id = dialog_id
        self.reason = reason
        self.code = code
        refused = "" if code is None else f" (code {code})"
        super().__init__(
            f"The answer to dialog {dialog_id} did not end it: {reason}{refused}; look at the snapshot before the next one."
        )


# ── addresses ────────────────────────────────────────────────────────────────────────────────────────────────────────


class UnknownFrame(SupervisorError):
    """No frame in scope has this id; `known` are some of those that there are."""

    def __init__(self, frame_id: str, *, known: Iterable[str]) -> None:
        self.frame_id = frame_id
        self.known = tuple(known)
        super().__init__(f"No frame is called {frame_id!r}; take a snapshot, there are: {_listed(self.known)}.")


class UnknownTarget(SupervisorError):
    """No target in scope has this id; `known` are those that there are."""

    def __init__(self, target_id: str, *, known: Iterable[str]) -> None:
        self.target_id = target_id
        self.known = tuple(known)
        super().__init__(f"No target in scope is called {target_id!r}; there are: {_listed(self.known)}.")


class AmbiguousTarget(SupervisorError):
    """Nothing says which page is meant; name one of `candidates`, or focus it."""

    def __init__(self, candidates: Iterable[str]) -> None:
        self.candidates = tuple(candidates)
        which = f"there are: {_listed(self.candidates)}" if self.candidates else "there is none at present"
        super().__init__(f"No page is focused; say which with target_id, or focus one with focus(target_id); {which}.")


class FrameSharesProcess(SupervisorError):
    """The frame has no session of its own, and this method takes no execution context; `hint` is the way."""

    def __init__(self, frame_id: str, *, method: str, hint: str) -> None:
        self.frame_id = frame_id
        self.method = method
        self.hint = hint
        super().__init__(
            f"{method} cannot be sent to frame {frame_id[:8]} alone, which shares its page's process; {hint}."
        )


# ── calls ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class BlockedByDialog(SupervisorError):
    """A dialog stops what was called. `dialogs` are their ids; `call` has the later end, or is None: nothing was sent."""

    def __init__(self, dialogs: Iterable[str], *, method: str, call: Any = None) -> None:
        self.dialogs = tuple(dialogs)
        self.method = method
        self.call = call
        what = (
            f"{method} was not sent"
            if call is None
            else f"{method} was sent once and waits behind it (await call.wait())"
        )
        super().__init__(
            f"A dialog is open on this page ({_listed(self.dialogs)}), so {what}; respond to the dialog first."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        restore, (cls, args, state) = super().__reduce__()
        return restore, (cls, args, {**state, "call": None})  # a handle belongs to its running supervisor


class PageFrozen(SupervisorError):
    """The page answers nothing, `since` then (wall time), and no dialog of it was seen."""

    def __init__(self, target_id: str, *, since: float, why: str) -> None:
        self.target_id = target_id
        self.since = since
        self.why = why
        super().__init__(
            f"Page {target_id[:8]} has not answered ({why}), so the call was not sent; wait, or free it with "
            "recover(target_id, cure)."
        )


class CallTimedOut(SupervisorError, TimeoutError):
    """A call was not answered in time: also a builtin `TimeoutError`. `health` says how its page fares."""

    def __init__(self, method: str, *, waited: float, health: Health | None, why: str = "") -> None:
        self.method = method
        self.waited = waited
        self.health = health
        self.why = why or ("its page is gone" if health is None else health.why)
        super().__init__(f"{method} was not answered within {waited:g} s: {self.why}.")


class ScriptFailed(SupervisorError):
    """The evaluated script threw; `name`, `text`, `line` and `column` are the exception's own."""

    def __init__(self, *, name: str, text: str, line: int, column: int) -> None:
        self.name = name
        self.text = text
        self.line = line
        self.column = column
        super().__init__(f"The script threw {name} at line {line}, column {column}; the text is in `text`.")


class UnknownCall(SupervisorError):
    """No call of this id is under way, and no end of one is kept."""

    def __init__(self, call_id: str) -> None:
        self.call_id = call_id
        super().__init__(f"No call {call_id!r} is under way or kept; each end is given out once, the last 20 are kept.")


# ── the supervisor itself ────────────────────────────────────────────────────────────────────────────────────────────


class InvalidPolicy(SupervisorError, ValueError):
    """A policy, scope or option is none: also a builtin `ValueError`. `valid` are those that there are."""

    def __init__(self, what: str, *, valid: Iterable[str] = ()) -> None:
        self.valid = tuple(valid)
        super().__init__(f"{what}; valid are: {_listed(self.valid)}." if self.valid else f"{what}.")


class UnsupportedBackend(SupervisorError):
    """What answers at the address does not do what a supervisor needs of a browser; `why` says what is missing."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(
            f"What answers there cannot be supervised: {why}; give the address of a browser's own endpoint, "
            "such as http://host:port or ws://host:port/devtools/browser/…."
        )


class SupervisorStopped(SupervisorError):
    """The supervisor does nothing any more; `reason` is `stopped`, `gave_up` or `link_not_owned`."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"The supervisor has ended ({reason}); open a new one.")


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    more = f" and {len(shown) - 12} more" if len(shown) > 12 else ""
    return (", ".join(shown[:12]) + more) or "none"
