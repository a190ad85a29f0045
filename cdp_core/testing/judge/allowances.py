"""Allowances: the laws that do not apply to a client because a fault made them impossible to keep.

    fault                               what the client is not judged by
    a command was refused or dropped    the effect of that command: the page that it resumes, the dialog that it closes,
                                        the request that it continues, the frames and targets that it lists, the
                                        dialogs of a page with the events that it enables
    a command was dropped               also what the client has not done yet: it may wait for the reply without limit
    the link fell silent                what it has not done, and what it observed, except the counts of events
    an event was lost or doubled        the same, and how often it answered
    the link was cut                    what it observed; it disconnected with its link, and leaves nothing behind
    a delay, a doubled reply,           every law still applies
    a stream cut into other pieces

No fault allows an exit with an error, a hang, a malformed message, or an id that is used twice: whatever a browser
refuses or does not send, a program exits with 0 when its browser is gone.

This module does not decide what breaks a law (observation.py).
"""

from __future__ import annotations

from typing import Final, Protocol

from cdp_core.testing.faults import Cut, FaultReport, Silence

RUN_IF_WAITING: Final = "Runtime.runIfWaitingForDebugger"
HANDLE_DIALOG: Final = "Page.handleJavaScriptDialog"
PAGE_ENABLE: Final = "Page.enable"
SET_AUTO_ATTACH: Final = "Target.setAutoAttach"
SET_DISCOVER_TARGETS: Final = "Target.setDiscoverTargets"
ANSWERS_TO_PAUSES: Final = frozenset(
    f"Fetch.{name}"
    for name in ("continueRequest", "continueResponse", "continueWithAuth", "failRequest", "fulfillRequest")
)
DEPENDS_ON: Final[dict[str, frozenset[str]]] = {
    "targets": frozenset({SET_DISCOVER_TARGETS}),
    "frames": frozenset(
        {PAGE_ENABLE, "Page.getFrameTree", SET_AUTO_ATTACH, SET_DISCOVER_TARGETS, "Target.attachToTarget"}
    ),
}
"""The commands that bring the client each part of an observation; the other parts need none."""
EVENT_COUNTS: Final = "heard"


class FaultReporter(Protocol):
    """Reports the faults that a client met."""

    def matched_faults(self, client: int) -> FaultReport:
        """Return the faults that applied to the client with this number, and the commands that they hit."""
        ...


class Allowances:
    """The allowances of one client in one run."""

    def __init__(self, fake: FaultReporter, client: int) -> None:
        report = fake.matched_faults(client)
        # Whether it received a message that no browser sends, or missed one that every browser sends.
        self.misled: Final = any(fault.legality == "illegal" for fault in report.faults)
        self._silent = any(isinstance(fault, Silence) for fault in report.faults)
        self._cut = any(isinstance(fault, Cut) for fault in report.faults)
        self._dropped = report.dropped
        self._skipped = report.refused | report.dropped

    @property
    def may_wait(self) -> bool:
        """Whether the client may wait for a message that will not come, and do nothing more."""
        return bool(self._dropped or self._silent or self.misled)

    @property
    def may_give_up(self) -> bool:
        """Whether the client may exit before it has done everything."""
        return bool(self.may_wait or self._skipped or self._cut)

    def may_leave_paused(self, session: str | None) -> bool:
        """Return whether a target may stay paused on this session; None for a session that it has left."""
        left = session is None and any(method == RUN_IF_WAITING for _session, method in self._skipped)
        return self.may_wait or left or (session, RUN_IF_WAITING) in self._skipped

    def may_leave_open(self, session: str | None) -> bool:
        return self.may_wait or (session, HANDLE_DIALOG) in self._skipped

    def may_leave_held(self, session: str | None) -> bool:
        """Return whether a request that this session paused may stay paused."""
        return self.may_wait or any((session, method) in self._skipped for method in ANSWERS_TO_PAUSES)

    def may_miss(self, session: str | None) -> bool:
        """Return whether the client could not enable the events of this session in time."""
        return self.misled or (session, PAGE_ENABLE) in self._skipped

    def may_differ(self, part: str) -> bool:
        """Return whether this part of the client's observation may differ from the truth."""
        if self.misled or self._silent:
            return part != EVENT_COUNTS
        if part == "dialogs" and any(method == HANDLE_DIALOG for _session, method in self._dropped):
            return True  # only the reply shows which client's answer closed the dialog
        return any(method in DEPENDS_ON.get(part, ()) for _session, method in self._skipped)
