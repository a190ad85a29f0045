"""What faults excuse: a client that met some is asked for less, and never for what it could not do, or could not know.

    what struck                        what it is not asked for
    a call was refused, or dropped     what that call was to bring: the page that was to run, the dialog that was to close,
                                       the request that was to go on, the frames and targets that were to be told of, the dialogs of a page unheard
    a call was dropped                 also what it has not done yet: it may wait for the answer as long as it likes
    the link fell silent               what it has not done, and what it believes, but for what reached its user
    an event was lost, or doubled      the same, and how often it answered
    the link was cut                   what it believes; it has left with its link, and leaves nothing behind
    slowness, an answer said twice,    nothing at all
    a stream cut into other pieces

Nothing excuses an exit with an error, a hang, a malformed message, or an id that is used twice: whatever a browser refuses
or leaves unsaid, a program ends with 0 when its browser has gone.

What is taken for wrong is the judge's to say (observation.py).
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
"""The parts of an observation for which a client has to ask."""
EVENT_COUNTS: Final = "heard"


class FaultReporter(Protocol):
    """Who knows what went wrong on purpose."""

    def matched_faults(self, client: int) -> FaultReport:
        """What became of the faults of the client of that number."""
        ...


class Allowances:
    """Those of one client."""

    def __init__(self, fake: FaultReporter, client: int) -> None:
        report = fake.matched_faults(client)
        self.misled: Final = any(fault.legality == "illegal" for fault in report.faults)
        """Whether it was told what no browser says, or not told what each does."""
        self._silent = any(isinstance(fault, Silence) for fault in report.faults)
        self._cut = any(isinstance(fault, Cut) for fault in report.faults)
        self._dropped = report.dropped
        self._skipped = report.refused | report.dropped

    @property
    def may_wait(self) -> bool:
        """Whether it may rightly wait for what will not come, and do nothing more."""
        return bool(self._dropped or self._silent or self.misled)

    @property
    def may_give_up(self) -> bool:
        """Whether it may leave before it has done all it would."""
        return bool(self.may_wait or self._skipped or self._cut)

    def may_leave_paused(self, session: str | None) -> bool:
        """Whether a page of this session may wait for its word, or one that it has left, which has no session any more."""
        left = session is None and any(method == RUN_IF_WAITING for _session, method in self._skipped)
        return self.may_wait or left or (session, RUN_IF_WAITING) in self._skipped

    def may_leave_open(self, session: str | None) -> bool:
        """Whether a dialog of this session may be open."""
        return self.may_wait or (session, HANDLE_DIALOG) in self._skipped

    def may_leave_held(self, session: str | None) -> bool:
        """Whether a request that this session paused may be held."""
        return self.may_wait or any((session, method) in self._skipped for method in ANSWERS_TO_PAUSES)

    def may_miss(self, session: str | None) -> bool:
        """Whether it could not listen to this session in time."""
        return self.misled or (session, PAGE_ENABLE) in self._skipped

    def may_differ(self, part: str) -> bool:
        """Whether that part of what it observed may differ from the truth."""
        if self.misled or self._silent:
            return part != EVENT_COUNTS
        if part == "dialogs" and any(method == HANDLE_DIALOG for _session, method in self._dropped):
            return True  # whose answer closed it, only the reply can tell
        return any(method in DEPENDS_ON.get(part, ()) for _session, method in self._skipped)
