"""Errors of the supervisor: the branch `SupervisorError` of the tree in `cdp_core`.

The text of every error names in one sentence what is wrong and what to do next, because agents read it; its fields
hold the same as values. No error text contains what a page wrote (messages, texts).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cdp_core.errors import CdpError, InvalidArgument, NavigationBlocked

if TYPE_CHECKING:
    from cdp_supervisor.sansio.health import Health


_CLASS = r"an exception|[A-Za-z_$][A-Za-z0-9_$]{0,31}"


class SupervisorError(CdpError):
    """Base class of the errors that the supervisor raises on purpose."""


# ── dialogs ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class NoPendingDialog(SupervisorError):
    """No dialog is open on any page in scope."""

    def __init__(self) -> None:
        super().__init__("No dialog is pending; the snapshot's recent_dialogs show how the last ones ended.")


class UnknownDialog(SupervisorError):
    """No pending dialog has this id; `known` lists the ids of the pending dialogs."""

    def __init__(self, dialog_id: str, *, known: Iterable[str]) -> None:
        self.dialog_id = dialog_id
        self.known = tuple(known)
        super().__init__(f"No pending dialog has the id {dialog_id!r}; pending dialogs: {_listed(self.known)}.")


class AmbiguousDialog(SupervisorError):
    """Several dialogs can be answered; name one of `candidates`."""

    def __init__(self, candidates: Iterable[str]) -> None:
        self.candidates = tuple(candidates)
        super().__init__(f"Several dialogs are pending; pass one of them as dialog_id: {_listed(self.candidates)}.")


class DialogUnanswerable(SupervisorError):
    """No session can answer this dialog any more; `why` is the reason, `remedies` free its page."""

    def __init__(self, dialog_id: str, *, why: str, remedies: Iterable[str]) -> None:
        self.dialog_id = dialog_id
        self.why = why
        self.remedies = tuple(remedies)
        super().__init__(
            f"Dialog {dialog_id} cannot be answered any more ({why}); free its page with "
            f"recover(target_id, remedy), where remedy is one of: {_listed(self.remedies)}."
        )


class DialogAnswerRefused(SupervisorError):
    """The answer did not close the dialog; `code` is the browser's error code, if it refused the answer."""

    def __init__(self, dialog_id: str, *, reason: str, code: int | None = None) -> None:
        self.dialog_id = dialog_id
        self.reason = reason
        self.code = code
        refused = "" if code is None else f" (code {code})"
        super().__init__(
            f"The answer to dialog {dialog_id} did not close it: {reason}{refused}; take a snapshot before you retry."
        )


# ── frames and targets ───────────────────────────────────────────────────────────────────────────────────────────────


class UnknownFrame(SupervisorError):
    """No frame in scope has this id; `known` lists some of the frames in scope."""

    def __init__(self, frame_id: str, *, known: Iterable[str]) -> None:
        self.frame_id = frame_id
        self.known = tuple(known)
        super().__init__(
            f"No frame in scope has the id {frame_id!r}; take a snapshot, the frames are: {_listed(self.known)}."
        )


class UnknownTarget(SupervisorError):
    """No target in scope has this id; `known` lists the targets in scope."""

    def __init__(self, target_id: str, *, known: Iterable[str]) -> None:
        self.target_id = target_id
        self.known = tuple(known)
        super().__init__(f"No target in scope has the id {target_id!r}; pass one of: {_listed(self.known)}.")


class AmbiguousTarget(SupervisorError):
    """No page was named, and none is focused; name one of `candidates`, or focus it."""

    def __init__(self, candidates: Iterable[str]) -> None:
        self.candidates = tuple(candidates)
        which = f"the pages are: {_listed(self.candidates)}" if self.candidates else "no page exists at present"
        super().__init__(f"No page is focused; pass a target_id, or focus a page with focus(target_id); {which}.")


class FrameSharesProcess(SupervisorError):
    """The frame has no session, and this method takes no execution context; `hint` names the way."""

    def __init__(self, frame_id: str, *, method: str, hint: str) -> None:
        self.frame_id = frame_id
        self.method = method
        self.hint = hint
        what = "has no session of its own" if method == "A session" else f"cannot get {method} alone"
        super().__init__(f"Frame {frame_id[:8]} {what}, because it shares its page's process; {hint}.")


# ── calls ────────────────────────────────────────────────────────────────────────────────────────────────────────────


class BlockedByDialog(SupervisorError):
    """A dialog blocks the call; `dialogs` lists the ids of the dialogs that do.

    `call` waits for the end of the call; it is None if the command was not sent.
    """

    def __init__(self, dialogs: Iterable[str], *, method: str, call: Any = None) -> None:
        self.dialogs = tuple(dialogs)
        self.method = method
        self.call = call
        what = (
            f"{method} was not sent"
            if call is None
            else f"{method} was sent and ends when the dialog is over (`call` waits for its result)"
        )
        super().__init__(
            f"A dialog stops this page ({_listed(self.dialogs)}), so {what}; respond to the dialog, or free its page with "
            "recover(target_id, remedy) if the snapshot shows the dialog as unanswerable."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        restore, (cls, args, state) = super().__reduce__()
        return restore, (cls, args, {**state, "call": None})  # `call` works only in its running supervisor


class NavigationBlockedByDialog(BlockedByDialog, NavigationBlocked):
    """A dialog blocks a call that navigates; `wait()` gives the end of the navigation."""

    def __init__(  # pyright: ignore[reportMissingSuperCall] - the bases have constructors of their own
        self,
        dialogs: Iterable[str],
        *,
        method: str,
        type: str,  # noqa: A002 - the protocol's word
        phase: str,
        call: Any = None,
    ) -> None:
        text = str(BlockedByDialog(dialogs := tuple(dialogs), method=method, call=call))
        CdpError.__init__(self, text)
        self.dialogs, self.method, self.call = dialogs, method, call
        self.type, self.phase = type, phase
        self._resume = None

    async def wait(self, *, timeout: float | None = 30.0) -> Any:
        """Wait for the end of the navigation; only if it was sent."""
        if self.call is None:
            raise InvalidArgument(f"{self.method} was not sent; respond to the dialog, then call again.")
        return await self.call.wait(timeout=timeout)


class PageFrozen(SupervisorError):
    """The page has not answered since `since` (wall time), and no dialog of it was seen."""

    def __init__(self, target_id: str, *, since: float, why: str, shown: str = "") -> None:
        self.target_id = target_id
        self.since = since
        self.why = why
        super().__init__(
            f"The call was not sent to page {shown or target_id[:8]}, since {why}; wait, or free the page with "
            "recover(target_id, 'navigate')."
        )


class WouldEndBrowser(SupervisorError):
    """The command would end the whole browser; `force=True` sends it all the same."""

    def __init__(self, target_id: str, *, method: str, shown: str = "") -> None:
        self.target_id = target_id
        self.method = method
        super().__init__(
            f"{method} was not sent to page {shown or target_id[:8]}, since it would end the whole browser: a frame of the "
            "page was removed under its open dialog; leave the page alone, and open another one, or pass force=True."
        )


class RemedyFailed(SupervisorError):
    """The browser carried a remedy out, and the page is not free; `remedies` are those that are left."""

    def __init__(self, target_id: str, *, remedy: str, remedies: Iterable[str], shown: str = "") -> None:
        self.target_id = target_id
        self.remedy = remedy
        self.remedies = tuple(remedies)
        super().__init__(
            f"The remedy {remedy!r} was carried out, and page {shown or target_id[:8]} still does not answer; "
            f"use one of: {_listed(self.remedies)}."
        )


class CallTimedOut(SupervisorError, TimeoutError):
    """A call was not answered in time: also a builtin `TimeoutError`. `health` is the health of its page."""

    def __init__(self, method: str, *, waited: float, health: Health | None, why: str = "") -> None:
        self.method = method
        self.waited = waited
        self.health = health
        self.why = why or ("its page is gone" if health is None else health.why)
        super().__init__(f"{method} was not answered within {waited:g} s: {self.why}.")


class ScriptFailed(SupervisorError):
    """The evaluated script threw; `name`, `text`, `line` and `column` are those of the exception.

    Lines count from 1; 0 is an unknown line. The text is in no other place: not in `str()`, `repr()` or a log.
    """

    def __init__(self, *, name: str, text: str, line: int, column: int) -> None:
        self.name = name
        self.text = text
        self.line = line
        self.column = column
        what = name if re.fullmatch(_CLASS, name) else "an exception"  # a page may name its classes as it likes
        super().__init__(f"The script threw {what} at line {line}, column {column}; the text is in `text`.")


class UnknownCall(SupervisorError):
    """No call with this id is under way, and no result of one is kept."""

    def __init__(self, call_id: str) -> None:
        self.call_id = call_id
        super().__init__(
            f"No call with the id {call_id!r} is under way or kept; each result is returned once, and only the most "
            "recent ones are kept (Limits.ended_calls)."
        )


# ── the supervisor itself ────────────────────────────────────────────────────────────────────────────────────────────


class InvalidPolicy(SupervisorError, ValueError):
    """An option value is invalid: also a builtin `ValueError`. `valid` lists the allowed values."""

    def __init__(self, what: str, *, valid: Iterable[str] = ()) -> None:
        self.valid = tuple(valid)
        super().__init__(f"{what}; valid values: {_listed(self.valid)}." if self.valid else f"{what}.")


class UnsupportedBackend(SupervisorError):
    """The peer at the address lacks what a supervisor needs of a browser; `why` names what is missing."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(
            f"The peer at this address cannot be supervised: {why}; give the address of a browser's own endpoint, "
            "such as http://host:port or ws://host:port/devtools/browser/…."
        )


class SupervisorStopped(SupervisorError):
    """The supervisor has ended; `reason` is `stopped`, `gave_up` or `link_not_owned`."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"The supervisor has ended ({reason}); open a new one.")


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    more = f" and {len(shown) - 12} more" if len(shown) > 12 else ""
    return (", ".join(shown[:12]) + more) or "none"
