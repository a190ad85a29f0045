"""Complaints about what clients sent and left behind: the browser alone sees enough to make them.

    left behind    targets that the client paused, dialogs and paused requests that it was sent and did not answer
    sent           malformed messages, ids used twice, commands to sessions that never existed or after the delivery
                   of their end, second answers to one dialog or one pause, pages resumed before their events were enabled
    left enabled   by a client that is done: Fetch patterns, init scripts

This module does not read what a client reports about itself: observation.py compares that with the truth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, Final

from cdp_core.testing.fake.command_log import DeliveredEvent, LoggedCommand, ReceivedCommand
from cdp_core.testing.fake.inspection import Inspection
from cdp_core.testing.fake.truth import Truth
from cdp_core.testing.judge.allowances import ANSWERS_TO_PAUSES, Allowances
from cdp_core.testing.judge.laws import Complaint

RUN_IF_WAITING: Final = "Runtime.runIfWaitingForDebugger"
PAGE_ENABLE: Final = "Page.enable"
HANDLE_DIALOG: Final = "Page.handleJavaScriptDialog"
PAUSED: Final = "Fetch.requestPaused"
LEFT_ENABLED: Final[Mapping[str, tuple[str, int]]] = {
    "Fetch": ("the client left Fetch enabled on", 34),
    "scripts": ("the client left init scripts on", 36),
}


def unclean(fake: Inspection) -> Iterator[Complaint]:
    """Yield the complaints about all clients at the end of a test that `unfinished` does not cover."""
    truth = fake.truth()
    clients = sorted({command.client for command in fake.commands})
    allowances = {number: Allowances(fake, number) for number in clients}
    yield from _held_requests(truth, allowances)
    # Fetch patterns pause the pages of all clients; an init script concerns its own session, and ends with it (fact 36).
    yield from left_enabled(fake, clients, {"Fetch"})
    yield from _reused_ids(fake)
    for client in clients:
        entries, delivered = fake.command_log(client), fake.delivered(client)
        yield from _wrong_sessions(fake, truth, client, [entry.command for entry in entries])
        if not allowances[client].misled:
            yield from _second_pause_answers(entries, delivered.events)


# ── left behind ──────────────────────────────────────────────────────────────────────────────────────────────────────


def left_behind(fake: Inspection, truth: Truth, allowances: Mapping[int, Allowances]) -> Iterator[Complaint]:
    """Yield the paused targets, open dialogs and paused requests that wait for one of these clients."""
    for client, allowance in allowances.items():
        # A disconnected client cannot resume the popups that it left paused; do not blame it.
        if fake.is_connected(client):
            yield from _paused_targets(fake, truth, client, allowance)
    for dialog in truth.dialogs:
        seen_by = [(allowances[client], session or None) for client, session in dialog.seen_by if client in allowances]
        if dialog.open and dialog.answerable and not any(each.may_leave_open(session) for each, session in seen_by):
            message = f"the client did not answer a dialog: a {dialog.type} is still open on the page {dialog.page[:8]}"
            yield Complaint(law="a-dialog-stops-its-page", fact=15, message=message)
    yield from _held_requests(truth, allowances)


def _held_requests(truth: Truth, allowances: Mapping[int, Allowances]) -> Iterator[Complaint]:
    for pause in truth.paused_requests:
        allowance = allowances.get(pause.client)
        if allowance is not None and not allowance.may_leave_held(pause.session):
            message = f"the client did not answer the paused request {pause.request_id} for {pause.url[:40]}"
            yield Complaint(law="a-pause-stops-its-request", fact=33, message=message)


def _paused_targets(fake: Inspection, truth: Truth, client: int, allowance: Allowances) -> Iterator[Complaint]:
    open_sessions = {session for number, session, _target in truth.sessions if number == client}
    # An unanswerable dialog delays runIfWaitingForDebugger like any other command, and a crash loses it
    # (docs/cdp/an-unseen-dialog-blocks-its-page.md): a client that sent it has done its part.
    ran = {each.session_id for each in fake.commands if each.client == client and each.method == RUN_IF_WAITING}
    for target, kind, session in fake.held_by(client):
        if session not in ran and not allowance.may_leave_paused(session if session in open_sessions else None):
            message = f"the client did not resume the {kind} {target[:8]}: it waits for runIfWaitingForDebugger"
            yield Complaint(law="paused-targets-wait-for-ever", fact=7, message=message)


def left_enabled(
    fake: Inspection, clients: Iterable[int], kinds: Container[str] = tuple(LEFT_ENABLED)
) -> Iterator[Complaint]:
    """Yield what these clients enabled and did not disable."""
    for client in clients:
        enabled = fake.left_enabled(client) if fake.is_connected(client) else ()
        for session, what in [each for each in enabled if each[1] in kinds]:
            where = "the browser" if session is None else f"session {session[:8]}"
            message, fact = LEFT_ENABLED[what]
            yield Complaint(law="nothing-is-left-switched-on", fact=fact, message=f"{message} {where}")


# ── sent ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def sent(fake: Inspection, truth: Truth, allowances: Mapping[int, Allowances]) -> Iterator[Complaint]:
    """Yield what these clients sent and no client should send."""
    malformed = fake.statistics().malformed
    if malformed:
        message = f"the client sent {malformed} malformed messages"
        yield Complaint(law="nothing-the-peer-sends-raises", fact=53, message=message)
    yield from _reused_ids(fake)
    for client, allowance in allowances.items():
        yield from _sent_by(fake, truth, client, allowance)


def _reused_ids(fake: Inspection) -> Iterator[Complaint]:
    uses = Counter((command.client, command.session_id, command.id) for command in fake.commands)
    for (_client, _session, number), times in uses.items():
        if times > 1:
            message = f"the client used the id {number} {times} times on one session"
            yield Complaint(law="ids-are-used-once", fact=54, message=message)


def _sent_by(fake: Inspection, truth: Truth, client: int, allowances: Allowances) -> Iterator[Complaint]:
    entries, delivered = fake.command_log(client), fake.delivered(client)
    yield from _wrong_sessions(fake, truth, client, [entry.command for entry in entries])
    yield from _late_listening(entries, truth, client, allowances)
    if not allowances.misled:
        yield from _second_dialog_answers(entries, delivered.events, truth)
        yield from _second_pause_answers(entries, delivered.events)


def _wrong_sessions(
    fake: Inspection, truth: Truth, client: int, commands: list[ReceivedCommand]
) -> Iterator[Complaint]:
    """Yield the commands to sessions that never existed, or that were reported as ended before."""
    open_sessions = {session for number, session, _target in truth.sessions if number == client}
    ended, ends = fake.ended_sessions(client), fake.delivered(client).session_ends()
    late: list[str] = []
    for command in commands:
        session = command.session_id
        if session is None or session in open_sessions:
            continue
        if session not in ended:
            if fake.is_connected(client):
                message = f"the client sent {command.method} to a session that never existed: {session[:8]}"
                yield Complaint(law="sessions-open-on-the-event", fact=47, message=message)
        elif command.knew is not None and command.knew >= ends.get(ended[session], command.knew + 1):
            late.append(command.method)
    if late:
        message = f"the client sent {len(late)} commands to sessions after it received their end: {abbreviated(late)}"
        yield Complaint(law="nothing-is-sent-to-an-ended-session", fact=50, message=message)


def _late_listening(
    entries: tuple[LoggedCommand, ...], truth: Truth, client: int, allowances: Allowances
) -> Iterator[Complaint]:
    """Yield the dialogs that the client missed because it resumed their page before it sent `Page.enable`."""
    first: dict[tuple[str | None, str], int] = {}
    for number, entry in enumerate(entries):
        first.setdefault((entry.command.session_id, entry.command.method), number)
    for dialog in truth.dialogs:
        for session in [session for number, session in dialog.missed_by if number == client]:
            listened, ran = first.get((session, PAGE_ENABLE), -1), first.get((session, RUN_IF_WAITING), len(entries))
            if listened > ran and not allowances.may_miss(session):
                message = f"the client resumed the page {dialog.page[:8]} before Page.enable and missed a {dialog.type}"
                yield Complaint(law="listen-before-you-let-run", fact=40, message=message)


def _second_dialog_answers(
    entries: tuple[LoggedCommand, ...], events: list[DeliveredEvent], truth: Truth
) -> Iterator[Complaint]:
    """Yield the sessions to which it sent, between two deliveries, more answers than it knew open dialogs."""
    unanswerable = {dialog.page for dialog in truth.dialogs if not dialog.seen_by and dialog.closed_by is None}
    pages = {session: target for _client, session, target in truth.sessions}
    answers = Counter(
        (entry.command.session_id, entry.command.knew)
        for entry in entries
        if entry.command.method == HANDLE_DIALOG
        and entry.command.knew is not None
        and entry.code in (None, -32602)
        and "accept" in entry.command.params
    )
    for (session, knew), times in answers.items():
        delivered = [note for note in events if note.session_id == session and note.number <= (knew or 0)]
        opened = {note.subject for note in delivered if note.method == "Page.javascriptDialogOpening"}
        if opened and times > max(1, len(opened)) and pages.get(str(session)) not in unanswerable:
            message = f"the client sent {times} answers at once and had received {len(opened)} dialogs"
            yield Complaint(law="a-dialog-is-answered-once", fact=13, message=message)


def _second_pause_answers(entries: tuple[LoggedCommand, ...], events: list[DeliveredEvent]) -> Iterator[Complaint]:
    """Yield the answers to requests that were not paused.

    A request that is paused at its response as well has two pauses.
    """
    paused = [(note.session_id, note.subject, note.number) for note in events if note.method == PAUSED]
    accepted: Counter[tuple[str | None, str]] = Counter()
    for entry in entries:
        command = entry.command
        if command.method not in ANSWERS_TO_PAUSES or "requestId" not in command.params:
            continue
        of = command.session_id, str(command.params["requestId"])
        known = [number for *pause, number in paused if (*pause,) == of]
        delivered = [number for number in known if command.knew is None or number <= command.knew]
        if len(delivered) <= accepted[of]:
            twice = f"the client answered the paused request {of[1]} more often than it was paused"
            never = f"the client answered the request {of[1]} on a session on which it was never paused"
            yield Complaint(law="a-pause-is-answered-once", fact=33 if known else 29, message=twice if known else never)
        accepted[of] += entry.outcome == "result"


def abbreviated(names: list[Any]) -> str:
    """Return the first three names as text, each at most 8 characters long if it is an id."""
    return ", ".join(name[:8] if name.isalnum() else name for name in names[:3]) + (", …" if len(names) > 3 else "")
