"""What a client did wrong, seen from the browser: complaints, each with the law that it breaks and the fact behind that.

A complaint is never about what Chromium itself does to a client, only about what the client made of it: what it sent, what
it left behind, and, where it says what it observed, where that differs from the truth. So a correct client has none,
whatever the script and the schedule were; and whatever went wrong on purpose, for faults excuse what they cause
(excuses.py).

An observation is JSON. Every part may be missing, and nothing is asked about that part then:

    {"sessions": [id, …],                       the sessions that are open
     "targets":  {id: url, …},                  what discovery has told of, as it is now
     "frames":   {id: url, …},                  the frames of the pages that it has sessions on
     "pending":  [{"frame": id}, …],            the dialogs that it was told of, and that are open
     "dialogs":  [{"message": …, "closed_by": "us" | "other"}, …],   those that are closed
     "commands": [{"session": id | null, "id": 7, "outcome": "result" | "refused" | "gone"}, …],  those that ended for it
     "unanswered": 0,                           how many it still waits for
     "heard":    {"Runtime.consoleAPICalled": 3, …}}                 how many of an event reached its user

`gone` is what ends without an answer: its session, its page's process or the link had ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import attrs

from cdp_core.sansio.wire import Json
from cdp_core.testing.excuses import Excuses
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.fake.ledger import LedgerEntry, Note
from cdp_core.testing.fake.truth import TrueDialog, Truth

__all__ = ["LAWS", "Complaint", "judge"]

LAWS: Final[Mapping[str, str]] = {
    "a-client-comes-to-rest": "Where a browser says nothing more, a client has nothing more to ask.",
    "a-client-connects": "A client that is given an address speaks to it.",
    "a-dialog-is-answered-once": "Each opening is answered once; a second answer meets another dialog, or none.",
    "a-dialog-stops-its-page": "Who was told of a dialog answers it, on the page's own session.",
    "a-subscription-never-ends-silently": "Every event that was sent reaches the user, whatever its size and number.",
    "closed-precedes-reply": "An answer that was accepted closed the dialog of whose end was told before its reply.",
    "detached-commands-never-answer": "The end of a session is the end of its commands, as nobody will answer them.",
    "dialogs-are-matched-by-frame": "Opening and closing name the frame, and need not come in the same order.",
    "errors-say-what-to-do": "What a browser does is no reason for a program to fail.",
    "every-command-ends-once": "A command ends once, as the browser ended it, and is found by its id alone.",
    "ids-are-used-once": "An id is not used again on its session.",
    "listen-before-you-let-run": "What a paused page is to tell is asked for before runIfWaitingForDebugger.",
    "nested-sessions-die-silently": "With a session all below it end, of which nothing is said.",
    "nothing-is-sent-to-an-ended-session": "Who was told of a session's end writes no more to it, nor to those below.",
    "nothing-the-peer-sends-raises": "Whatever a browser says, the reader goes on; what a client says is well-formed.",
    "nothing-waits-for-ever": "When the link ends, so does everything that waits for it.",
    "page-enable-replays-no-frames": "Frames are those of getFrameTree and of events since; a navigation ends those below.",
    "paused-targets-wait-for-ever": "Each session of auto-attach gets runIfWaitingForDebugger, or its page never runs.",
    "sessions-open-on-the-event": "A session has the id that attachedToTarget gave it, and is there from then on.",
    "target-info-changes": "A target's address is that of the last event about it; the first has none yet.",
}
"""What is right, by the names of the laws: cards in docs/cdp where there is one of that name (for all of it:
docs/cdp/fuzzing-finds-what-silence-hides.md)."""

UNSAID: Final = ("worker", "shared_worker", "service_worker")
"""Targets of whose address discovery may say nothing, before somebody attaches to them."""


@attrs.frozen(kw_only=True)
class Complaint:
    """One thing that a client did wrong."""

    law: str
    """Its name; `LAWS` has its words."""
    fact: int | None
    said: str

    def __str__(self) -> str:
        fact = f", fact {self.fact}" if self.fact is not None else ""
        return f"{self.said} ({self.law}{fact})"


def judge(fake: FakeBrowser, observed: Json | None = None, *, client: int = 1) -> tuple[Complaint, ...]:
    """Everything that is wrong now that nothing is left to deliver.

    `observed` is what the client of that number says; nothing is asked of one whose connection broke.
    """
    told = observed if observed is not None and fake.is_connected(client) else {}
    truth = fake.truth()
    clients = sorted({client, *(command.client for command in fake.commands)})
    excuses = {number: Excuses(fake, number) for number in clients}
    return (
        *_left_behind(fake, truth, excuses),
        *_sent(fake),
        *(complaint for each in clients for complaint in _sent_by(fake, truth, each, excuses[each])),
        *_Observed(fake, truth, told, client).complaints(excuses[client]),
    )


# ── what it left behind ──────────────────────────────────────────────────────────────────────────────────────────────


def _left_behind(fake: FakeBrowser, truth: Truth, excuses: Mapping[int, Excuses]) -> Iterator[Complaint]:
    for client, excuse in excuses.items():
        sessions = {target: session for number, session, target in truth.sessions if number == client}
        # Who has gone leaves windows that wait for anybody, and cannot help it.
        for target, kind in fake.paused(client) if fake.is_connected(client) else ():
            if not excuse.leaves_paused(sessions.get(target)):
                said = f"the {kind} {target[:8]} still waits for runIfWaitingForDebugger"
                yield Complaint(law="paused-targets-wait-for-ever", fact=7, said=said)
    for dialog in truth.dialogs:
        seen_by = [(excuses[client], session or None) for client, session in dialog.seen_by if client in excuses]
        if dialog.open and dialog.answerable and not any(each.leaves_open(session) for each, session in seen_by):
            said = f"a {dialog.type} that it saw is still open on the page {dialog.page[:8]}"
            yield Complaint(law="a-dialog-stops-its-page", fact=15, said=said)


# ── what it sent ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _sent(fake: FakeBrowser) -> Iterator[Complaint]:
    malformed = fake.statistics().malformed
    if malformed:
        said = f"it sent {malformed} malformed messages"
        yield Complaint(law="nothing-the-peer-sends-raises", fact=53, said=said)
    uses = Counter((command.client, command.session_id, command.id) for command in fake.commands)
    for (_client, _session, number), times in uses.items():
        if times > 1:
            said = f"it used the id {number} {times} times on one session"
            yield Complaint(law="ids-are-used-once", fact=54, said=said)


def _sent_by(fake: FakeBrowser, truth: Truth, client: int, excuses: Excuses) -> Iterator[Complaint]:
    entries = fake.ledger(client)
    ended, told = fake.ended_with(client), fake.told(client)
    ends = told.ends()
    there = {session for number, session, _target in truth.sessions if number == client}
    late: list[str] = []
    for command in [entry.command for entry in entries]:
        session = command.session_id
        if session is None or session in there:
            continue
        if session not in ended:
            if fake.is_connected(client):
                said = f"it sent {command.method} to a session that never was: {session[:8]}"
                yield Complaint(law="sessions-open-on-the-event", fact=47, said=said)
        elif command.knew is not None and command.knew >= ends.get(ended[session], command.knew + 1):
            late.append(command.method)
    if late:
        said = f"it sent {len(late)} commands to sessions of whose end it had been told: {_short(late)}"
        yield Complaint(law="nothing-is-sent-to-an-ended-session", fact=50, said=said)
    yield from _missed(entries, truth, client, excuses)
    if not excuses.misled:
        yield from _answers(entries, told.notes, truth)


def _missed(entries: tuple[LedgerEntry, ...], truth: Truth, client: int, excuses: Excuses) -> Iterator[Complaint]:
    """The dialogs of pages that it let run too early: of those to which it listened later."""
    listened = {entry.command.session_id for entry in entries if entry.command.method == "Page.enable"}
    for dialog in truth.dialogs:
        for session in [session for number, session in dialog.missed_by if number == client]:
            if session in listened and not excuses.misses(session):
                said = f"it let the page {dialog.page[:8]} run before it listened, and missed a {dialog.type}"
                yield Complaint(law="listen-before-you-let-run", fact=40, said=said)


def _answers(entries: tuple[LedgerEntry, ...], notes: list[Note], truth: Truth) -> Iterator[Complaint]:
    """More answers in one breath than dialogs were open, as far as it had been told."""
    wedged = {dialog.page for dialog in truth.dialogs if not dialog.seen_by and dialog.closed_by is None}
    pages = {session: target for _client, session, target in truth.sessions}
    answers = Counter(
        (entry.command.session_id, entry.command.knew)
        for entry in entries
        if entry.command.method == "Page.handleJavaScriptDialog"
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


# ── what it observed ─────────────────────────────────────────────────────────────────────────────────────────────────


class _Observed:
    """An observation beside the truth."""

    def __init__(self, fake: FakeBrowser, truth: Truth, observed: Json, client: int) -> None:
        self._fake = fake
        self._truth = truth
        self._observed = observed
        self._client = client
        self._entries = fake.ledger(client) if observed else ()
        self._watched = {target for number, _session, target in truth.sessions if number == client}

    def complaints(self, excuses: Excuses) -> Iterator[Complaint]:
        """All of them."""
        parts: dict[str, Callable[[Any], Iterator[Complaint]]] = {
            "unanswered": self._unanswered,
            "commands": self._commands,
            "heard": self._heard,
            "sessions": self._sessions,
            "targets": self._targets,
            "frames": self._frames,
            "pending": self._pending,
            "dialogs": self._dialogs,
        }
        for part, compare in parts.items():
            if part in self._observed and not excuses.need_not_know(part):
                yield from compare(self._observed[part])

    def _unanswered(self, shown: int) -> Iterator[Complaint]:
        # A page that hangs keeps its commands; whoever waits for those is right to wait.
        in_vain = shown - sum(entry.fate == "waiting" for entry in self._entries)
        if in_vain > 0:
            said = f"it still waits for {in_vain} replies that nobody will send, and that it was told of"
            yield Complaint(law="detached-commands-never-answer", fact=55, said=said)

    def _commands(self, shown: list[Json]) -> Iterator[Complaint]:
        entries: dict[tuple[Any, Any], LedgerEntry] = {
            (entry.command.session_id, entry.command.id): entry for entry in self._entries
        }
        law = "every-command-ends-once"
        crashed = {note.session_id for note in self._fake.told(self._client).notes if note.method.endswith("Crashed")}
        told = Counter((each.get("session"), each.get("id")) for each in shown)
        for each in shown:
            key = (each.get("session"), each.get("id"))
            entry = entries.get(key)
            times = told.pop(key, 1)
            if times > 1:
                yield Complaint(law=law, fact=54, said=f"the command {key[1]} ended {times} times for it")
            if entry is not None and not _fits(str(each.get("outcome")), entry, crashed=key[0] in crashed):
                method, fate = entry.command.method, entry.fate
                said = f"{method} ended as {each.get('outcome')} for it, and the browser's word is: {fate}"
                yield Complaint(law=law, fact=8, said=said)

    def _heard(self, shown: dict[str, int]) -> Iterator[Complaint]:
        counts = self._fake.told(self._client).counts
        for method, times in sorted(shown.items()):
            if times != counts.get(method, 0):
                said = f"its user got {method} {times} times, and it was sent {counts.get(method, 0)} times"
                yield Complaint(law="a-subscription-never-ends-silently", fact=57, said=said)

    def _sessions(self, shown: list[str]) -> Iterator[Complaint]:
        really = {session for client, session, _target in self._truth.sessions if client == self._client}
        yield from _difference("sessions", "nested-sessions-die-silently", 50, really, set(shown))

    def _targets(self, shown: dict[str, str]) -> Iterator[Complaint]:
        really = {target: url for target, _type, url in self._truth.targets}
        unsaid = {target for target, kind, _url in self._truth.targets if kind in UNSAID}
        law = "target-info-changes"
        yield from _difference("targets", law, 47, set(really), set(shown))
        for target in sorted(really.keys() & shown.keys()):
            if really[target] != shown[target] and (shown[target] or target not in unsaid):
                yield Complaint(law=law, fact=40, said=f"it has another URL for the target {target[:8]}")

    def _frames(self, shown: dict[str, str]) -> Iterator[Complaint]:
        frames = {each.id: each.url for each in self._truth.frames if each.target in self._watched and not each.silent}
        gone = shown.keys() - {frame.id for frame in self._truth.frames}
        # What could not be loaded has the address of an error page, and its target that which was asked for.
        asked_for = {target: url for target, _type, url in self._truth.targets}
        law = "page-enable-replays-no-frames"
        yield from _difference("frames", law, 41, set(frames), (set(shown) & set(frames)) | gone)
        for frame in sorted(frames.keys() & shown.keys()):
            if shown[frame] not in (frames[frame], asked_for.get(frame)):
                yield Complaint(law=law, fact=40, said=f"it has another URL for the frame {frame[:8]}")

    def _pending(self, shown: list[Json]) -> Iterator[Complaint]:
        really = {dialog.frame for dialog in self._truth.dialogs if dialog.open and self._saw(dialog)}
        known = {frame.id for frame in self._truth.frames if frame.target in self._watched}
        frames = {str(each.get("frame")) for each in shown}
        # Who left the session of a frame out of process may have forgotten that frame.
        asked = really & known
        yield from _difference(
            "open dialogs", "dialogs-are-matched-by-frame", 3, asked, (frames & asked) | (frames - really)
        )

    def _saw(self, dialog: TrueDialog) -> bool:
        return any(client == self._client for client, _session in dialog.seen_by)

    def _dialogs(self, shown: list[Json]) -> Iterator[Complaint]:
        """Who closed what it saw; a dialog that it never heard of is no fault of its own."""
        by_us = sorted(str(each["message"]) for each in shown if each.get("closed_by") == "us")
        really = sorted(dialog.message for dialog in self._truth.dialogs if dialog.closed_by == self._client)
        if len(by_us) != len(really):
            said = f"it counts {len(by_us)} dialogs as answered by itself, and {len(really)} were"
            yield Complaint(law="closed-precedes-reply", fact=1, said=said)
        elif by_us != really:
            said = "it takes one dialog for another: those that it answered had other messages"
            yield Complaint(law="dialogs-are-matched-by-frame", fact=3, said=said)


def _fits(outcome: str, entry: LedgerEntry, *, crashed: bool) -> bool:
    """Whether a command may have ended so for who was told the truth."""
    if outcome == "gone":  # it may have been told of the end before the refusal came
        return entry.fate in ("ended", "lost") or entry.code == -32001 or crashed
    return outcome == entry.fate


def _difference(what: str, law: str, fact: int, really: set[str], shown: set[str]) -> Iterator[Complaint]:
    missing, ghosts = sorted(really - shown), sorted(shown - really)
    if missing:
        yield Complaint(law=law, fact=fact, said=f"it does not know {len(missing)} {what}: {_short(missing)}")
    if ghosts:
        yield Complaint(law=law, fact=fact, said=f"it believes in {len(ghosts)} {what} that are gone: {_short(ghosts)}")


def _short(names: list[Any]) -> str:
    return ", ".join(name[:8] if name.isalnum() else name for name in names[:3]) + (", …" if len(names) > 3 else "")
