"""What clients sent and what they leave behind: complaints that a browser can make without asking anybody.

    left behind    targets that wait for them, dialogs and paused requests that they were told of and did not answer
    sent           malformed messages, ids used twice, words to sessions that never were, or of whose end they had been told,
                   second answers to one dialog or one pause, pages let run before they were listened to
    switched on    by who is done: patterns of Fetch, scripts for new documents

What a client says of itself is compared with the truth elsewhere (observation.py).
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
    "Fetch": ("it left its patterns of Fetch with", 34),
    "scripts": ("it left scripts for new documents with", 36),
}


def unclean(fake: Inspection) -> Iterator[Complaint]:
    """What is wrong at the end of a test, whoever did it; beyond what a look at the browser itself shows."""
    truth = fake.truth()
    clients = sorted({command.client for command in fake.commands})
    allowances = {number: Allowances(fake, number) for number in clients}
    yield from _held_requests(truth, allowances)
    # Patterns stop the pages of everybody; a script is there for documents of its own session, and goes with it (fact 36).
    yield from left_enabled(fake, clients, {"Fetch"})
    yield from _reused_ids(fake)
    for client in clients:
        entries, delivered = fake.command_log(client), fake.delivered(client)
        yield from _wrong_sessions(fake, truth, client, [entry.command for entry in entries])
        if not allowances[client].misled:
            yield from _second_pause_answers(entries, delivered.events)


# ── what they leave behind ───────────────────────────────────────────────────────────────────────────────────────────


def left_behind(fake: Inspection, truth: Truth, allowances: Mapping[int, Allowances]) -> Iterator[Complaint]:
    """What waits for one of these clients, and need not."""
    for client, allowance in allowances.items():
        # Who has gone leaves windows that wait for anybody, and cannot help it.
        if fake.is_connected(client):
            yield from _paused_targets(fake, truth, client, allowance)
    for dialog in truth.dialogs:
        seen_by = [(allowances[client], session or None) for client, session in dialog.seen_by if client in allowances]
        if dialog.open and dialog.answerable and not any(each.may_leave_open(session) for each, session in seen_by):
            message = f"a {dialog.type} that it saw is still open on the page {dialog.page[:8]}"
            yield Complaint(law="a-dialog-stops-its-page", fact=15, message=message)
    yield from _held_requests(truth, allowances)


def _held_requests(truth: Truth, allowances: Mapping[int, Allowances]) -> Iterator[Complaint]:
    for pause in truth.paused_requests:
        allowance = allowances.get(pause.client)
        if allowance is not None and not allowance.may_leave_held(pause.session):
            message = f"the request {pause.request_id} for {pause.url[:40]} is still paused, and it was told so"
            yield Complaint(law="a-pause-stops-its-request", fact=33, message=message)


def _paused_targets(fake: Inspection, truth: Truth, client: int, allowance: Allowances) -> Iterator[Complaint]:
    open_sessions = {session for number, session, _target in truth.sessions if number == client}
    # Behind a dialog that nobody can answer the word waits as all else does, and in a crash it is lost
    # (docs/cdp/an-unseen-dialog-blocks-its-page.md): who said it has done what there is to do.
    ran = {each.session_id for each in fake.commands if each.client == client and each.method == RUN_IF_WAITING}
    for target, kind, session in fake.held_by(client):
        if session not in ran and not allowance.may_leave_paused(session if session in open_sessions else None):
            message = f"the {kind} {target[:8]} still waits for runIfWaitingForDebugger"
            yield Complaint(law="paused-targets-wait-for-ever", fact=7, message=message)


def left_enabled(
    fake: Inspection, clients: Iterable[int], kinds: Container[str] = tuple(LEFT_ENABLED)
) -> Iterator[Complaint]:
    """What these clients have switched on and not off."""
    for client in clients:
        enabled = fake.left_enabled(client) if fake.is_connected(client) else ()
        for session, what in [each for each in enabled if each[1] in kinds]:
            where = "the browser" if session is None else f"session {session[:8]}"
            message, fact = LEFT_ENABLED[what]
            yield Complaint(law="nothing-is-left-switched-on", fact=fact, message=f"{message} {where}")


# ── what they sent ───────────────────────────────────────────────────────────────────────────────────────────────────


def sent(fake: Inspection, truth: Truth, allowances: Mapping[int, Allowances]) -> Iterator[Complaint]:
    """What no client should have sent, and these did."""
    malformed = fake.statistics().malformed
    if malformed:
        message = f"it sent {malformed} malformed messages"
        yield Complaint(law="nothing-the-peer-sends-raises", fact=53, message=message)
    yield from _reused_ids(fake)
    for client, allowance in allowances.items():
        yield from _sent_by(fake, truth, client, allowance)


def _reused_ids(fake: Inspection) -> Iterator[Complaint]:
    uses = Counter((command.client, command.session_id, command.id) for command in fake.commands)
    for (_client, _session, number), times in uses.items():
        if times > 1:
            message = f"it used the id {number} {times} times on one session"
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
    """To sessions that are not there."""
    open_sessions = {session for number, session, _target in truth.sessions if number == client}
    ended, ends = fake.ended_sessions(client), fake.delivered(client).session_ends()
    late: list[str] = []
    for command in commands:
        session = command.session_id
        if session is None or session in open_sessions:
            continue
        if session not in ended:
            if fake.is_connected(client):
                message = f"it sent {command.method} to a session that never was: {session[:8]}"
                yield Complaint(law="sessions-open-on-the-event", fact=47, message=message)
        elif command.knew is not None and command.knew >= ends.get(ended[session], command.knew + 1):
            late.append(command.method)
    if late:
        message = f"it sent {len(late)} commands to sessions of whose end it had been told: {abbreviated(late)}"
        yield Complaint(law="nothing-is-sent-to-an-ended-session", fact=50, message=message)


def _late_listening(
    entries: tuple[LoggedCommand, ...], truth: Truth, client: int, allowances: Allowances
) -> Iterator[Complaint]:
    """The dialogs of pages that it let run, and to which it listened after that."""
    first: dict[tuple[str | None, str], int] = {}
    for number, entry in enumerate(entries):
        first.setdefault((entry.command.session_id, entry.command.method), number)
    for dialog in truth.dialogs:
        for session in [session for number, session in dialog.missed_by if number == client]:
            listened, ran = first.get((session, PAGE_ENABLE), -1), first.get((session, RUN_IF_WAITING), len(entries))
            if listened > ran and not allowances.may_miss(session):
                message = f"it let the page {dialog.page[:8]} run before it listened, and missed a {dialog.type}"
                yield Complaint(law="listen-before-you-let-run", fact=40, message=message)


def _second_dialog_answers(
    entries: tuple[LoggedCommand, ...], events: list[DeliveredEvent], truth: Truth
) -> Iterator[Complaint]:
    """More answers in one breath than dialogs were open, as far as it had been told."""
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
            message = f"it answered {times} times at once, and had been told of {len(opened)} dialogs"
            yield Complaint(law="a-dialog-is-answered-once", fact=13, message=message)


def _second_pause_answers(entries: tuple[LoggedCommand, ...], events: list[DeliveredEvent]) -> Iterator[Complaint]:
    """Answers to requests that were not paused: of one that is paused on its way back as well there are two."""
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
            twice = f"it answered the paused request {of[1]} more often than it was paused"
            never = f"it answered the request {of[1]} on a session on which that was never paused"
            yield Complaint(law="a-pause-is-answered-once", fact=33 if known else 29, message=twice if known else never)
        accepted[of] += entry.outcome == "result"


def abbreviated(names: list[Any]) -> str:
    """The first of them, in few signs."""
    return ", ".join(name[:8] if name.isalnum() else name for name in names[:3]) + (", …" if len(names) > 3 else "")
