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

from cdp_core.testing.fake.command_log import LedgerEntry, Note, ReceivedCommand
from cdp_core.testing.fake.inspection import Books
from cdp_core.testing.fake.truth import Truth
from cdp_core.testing.judge.allowances import ANSWERS_TO_PAUSES, Excuses
from cdp_core.testing.judge.laws import Complaint

RUN: Final = "Runtime.runIfWaitingForDebugger"
LISTEN: Final = "Page.enable"
ANSWER: Final = "Page.handleJavaScriptDialog"
PAUSED: Final = "Fetch.requestPaused"
SWITCHED_ON: Final[Mapping[str, tuple[str, int]]] = {
    "Fetch": ("it left its patterns of Fetch with", 34),
    "scripts": ("it left scripts for new documents with", 36),
}


def unclean(books: Books) -> Iterator[Complaint]:
    """What is wrong at the end of a test, whoever did it; beyond what a look at the browser itself shows."""
    truth = books.truth()
    clients = sorted({command.client for command in books.commands})
    excuses = {number: Excuses(books, number) for number in clients}
    yield from _pauses(truth, excuses)
    # Patterns stop the pages of everybody; a script is there for documents of its own session, and goes with it (fact 36).
    yield from left_on(books, clients, {"Fetch"})
    yield from _second_uses(books)
    for client in clients:
        entries, told = books.ledger(client), books.told(client)
        yield from _astray(books, truth, client, [entry.command for entry in entries])
        if not excuses[client].misled:
            yield from _second_words(entries, told.notes)


# ── what they leave behind ───────────────────────────────────────────────────────────────────────────────────────────


def left_behind(books: Books, truth: Truth, excuses: Mapping[int, Excuses]) -> Iterator[Complaint]:
    """What waits for one of these clients, and need not."""
    for client, excuse in excuses.items():
        # Who has gone leaves windows that wait for anybody, and cannot help it.
        if books.is_connected(client):
            yield from _paused_targets(books, truth, client, excuse)
    for dialog in truth.dialogs:
        seen_by = [(excuses[client], session or None) for client, session in dialog.seen_by if client in excuses]
        if dialog.open and dialog.answerable and not any(each.leaves_open(session) for each, session in seen_by):
            said = f"a {dialog.type} that it saw is still open on the page {dialog.page[:8]}"
            yield Complaint(law="a-dialog-stops-its-page", fact=15, said=said)
    yield from _pauses(truth, excuses)


def _pauses(truth: Truth, excuses: Mapping[int, Excuses]) -> Iterator[Complaint]:
    for pause in truth.paused_requests:
        excuse = excuses.get(pause.client)
        if excuse is not None and not excuse.leaves_held(pause.session):
            said = f"the request {pause.request_id} for {pause.url[:40]} is still paused, and it was told so"
            yield Complaint(law="a-pause-stops-its-request", fact=33, said=said)


def _paused_targets(books: Books, truth: Truth, client: int, excuse: Excuses) -> Iterator[Complaint]:
    there = {session for number, session, _target in truth.sessions if number == client}
    # Behind a dialog that nobody can answer the word waits as all else does, and in a crash it is lost
    # (docs/cdp/an-unseen-dialog-blocks-its-page.md): who said it has done what there is to do.
    ran = {each.session_id for each in books.commands if each.client == client and each.method == RUN}
    for target, kind, session in books.holding(client):
        if session not in ran and not excuse.leaves_paused(session if session in there else None):
            said = f"the {kind} {target[:8]} still waits for runIfWaitingForDebugger"
            yield Complaint(law="paused-targets-wait-for-ever", fact=7, said=said)


def left_on(books: Books, clients: Iterable[int], kinds: Container[str] = tuple(SWITCHED_ON)) -> Iterator[Complaint]:
    """What these clients have switched on and not off."""
    for client in clients:
        told = books.left_on(client) if books.is_connected(client) else ()
        for session, what in [each for each in told if each[1] in kinds]:
            where = "the browser" if session is None else f"session {session[:8]}"
            said, fact = SWITCHED_ON[what]
            yield Complaint(law="nothing-is-left-switched-on", fact=fact, said=f"{said} {where}")


# ── what they sent ───────────────────────────────────────────────────────────────────────────────────────────────────


def sent(books: Books, truth: Truth, excuses: Mapping[int, Excuses]) -> Iterator[Complaint]:
    """What no client should have sent, and these did."""
    malformed = books.statistics().malformed
    if malformed:
        said = f"it sent {malformed} malformed messages"
        yield Complaint(law="nothing-the-peer-sends-raises", fact=53, said=said)
    yield from _second_uses(books)
    for client, excuse in excuses.items():
        yield from _sent_by(books, truth, client, excuse)


def _second_uses(books: Books) -> Iterator[Complaint]:
    uses = Counter((command.client, command.session_id, command.id) for command in books.commands)
    for (_client, _session, number), times in uses.items():
        if times > 1:
            said = f"it used the id {number} {times} times on one session"
            yield Complaint(law="ids-are-used-once", fact=54, said=said)


def _sent_by(books: Books, truth: Truth, client: int, excuses: Excuses) -> Iterator[Complaint]:
    entries, told = books.ledger(client), books.told(client)
    yield from _astray(books, truth, client, [entry.command for entry in entries])
    yield from _missed(entries, truth, client, excuses)
    if not excuses.misled:
        yield from _second_answers(entries, told.notes, truth)
        yield from _second_words(entries, told.notes)


def _astray(books: Books, truth: Truth, client: int, commands: list[ReceivedCommand]) -> Iterator[Complaint]:
    """To sessions that are not there."""
    there = {session for number, session, _target in truth.sessions if number == client}
    ended, ends = books.ended_with(client), books.told(client).ends()
    late: list[str] = []
    for command in commands:
        session = command.session_id
        if session is None or session in there:
            continue
        if session not in ended:
            if books.is_connected(client):
                said = f"it sent {command.method} to a session that never was: {session[:8]}"
                yield Complaint(law="sessions-open-on-the-event", fact=47, said=said)
        elif command.knew is not None and command.knew >= ends.get(ended[session], command.knew + 1):
            late.append(command.method)
    if late:
        said = f"it sent {len(late)} commands to sessions of whose end it had been told: {short(late)}"
        yield Complaint(law="nothing-is-sent-to-an-ended-session", fact=50, said=said)


def _missed(entries: tuple[LedgerEntry, ...], truth: Truth, client: int, excuses: Excuses) -> Iterator[Complaint]:
    """The dialogs of pages that it let run, and to which it listened after that."""
    first: dict[tuple[str | None, str], int] = {}
    for number, entry in enumerate(entries):
        first.setdefault((entry.command.session_id, entry.command.method), number)
    for dialog in truth.dialogs:
        for session in [session for number, session in dialog.missed_by if number == client]:
            listened, ran = first.get((session, LISTEN), -1), first.get((session, RUN), len(entries))
            if listened > ran and not excuses.misses(session):
                said = f"it let the page {dialog.page[:8]} run before it listened, and missed a {dialog.type}"
                yield Complaint(law="listen-before-you-let-run", fact=40, said=said)


def _second_answers(entries: tuple[LedgerEntry, ...], notes: list[Note], truth: Truth) -> Iterator[Complaint]:
    """More answers in one breath than dialogs were open, as far as it had been told."""
    wedged = {dialog.page for dialog in truth.dialogs if not dialog.seen_by and dialog.closed_by is None}
    pages = {session: target for _client, session, target in truth.sessions}
    answers = Counter(
        (entry.command.session_id, entry.command.knew)
        for entry in entries
        if entry.command.method == ANSWER
        and entry.command.knew is not None
        and entry.code in (None, -32602)
        and "accept" in entry.command.params
    )
    for (session, knew), times in answers.items():
        told = [note for note in notes if note.session_id == session and note.number <= (knew or 0)]
        opened = {note.subject for note in told if note.method == "Page.javascriptDialogOpening"}
        if opened and times > max(1, len(opened)) and pages.get(str(session)) not in wedged:
            said = f"it answered {times} times at once, and had been told of {len(opened)} dialogs"
            yield Complaint(law="a-dialog-is-answered-once", fact=13, said=said)


def _second_words(entries: tuple[LedgerEntry, ...], notes: list[Note]) -> Iterator[Complaint]:
    """Answers to requests that were not paused: of one that is paused on its way back as well there are two."""
    paused = [(note.session_id, note.subject, note.number) for note in notes if note.method == PAUSED]
    accepted: Counter[tuple[str | None, str]] = Counter()
    for entry in entries:
        command = entry.command
        if command.method not in ANSWERS_TO_PAUSES or "requestId" not in command.params:
            continue
        of = command.session_id, str(command.params["requestId"])
        known = [number for *pause, number in paused if (*pause,) == of]
        told = [number for number in known if command.knew is None or number <= command.knew]
        if len(told) <= accepted[of]:
            twice = f"it answered the paused request {of[1]} more often than it was paused"
            never = f"it answered the request {of[1]} on a session on which that was never paused"
            yield Complaint(law="a-pause-is-answered-once", fact=33 if known else 29, said=twice if known else never)
        accepted[of] += entry.fate == "result"


def short(names: list[Any]) -> str:
    """The first of them, in few signs."""
    return ", ".join(name[:8] if name.isalnum() else name for name in names[:3]) + (", …" if len(names) > 3 else "")
