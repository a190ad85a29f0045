"""What a client did wrong, seen from the browser: complaints, each with the law that it breaks and the fact behind that.

A complaint is never about what Chromium itself does to a client, only about what the client made of it: what it sent, what
it left behind, and, where it says what it observed, where that differs from the truth. So a correct client has none,
whatever the script and the schedule were; and whatever went wrong on purpose, for faults excuse what they cause
(allowances.py).

An observation is JSON. Every part may be missing, and nothing is asked about that part then:

    {"sessions": [id, …],                       the sessions that are open
     "targets":  {id: url, …},                  what discovery has told of, as it is now
     "frames":   {id: url, …},                  the frames of the pages that it has sessions on
     "pending":  [{"frame": id}, …],            the dialogs that it was told of, and that are open
     "dialogs":  [{"message": …, "closed_by": "us" | "other"}, …],   those that are closed
     "commands": [{"session": id | null, "id": 7, "outcome": "result" | "refused" | "gone"}, …],  those that ended for it
     "unanswered": 0,                           how many it still waits for
     "heard":    {"Runtime.consoleAPICalled": 3, …},                 how many of an event reached its user
     "done":     true}                      it wants nothing more, and should have nothing switched on (behaviour.py)

`gone` is what ends without an answer: its session, its page's process or the link had ended. Once the client was told of
that, what it had asked before is over for it: neither how such a command ended is asked, nor whether it counts the dialog
as its own that such an answer closed (facts 49, 55).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.fake.command_log import LoggedCommand
from cdp_core.testing.fake.truth import TrueDialog, Truth
from cdp_core.testing.judge import behaviour
from cdp_core.testing.judge.allowances import Allowances
from cdp_core.testing.judge.behaviour import HANDLE_DIALOG, abbreviated
from cdp_core.testing.judge.laws import Complaint

URL_NOT_REPORTED: Final = ("worker", "shared_worker", "service_worker")
"""Targets of whose address discovery may say nothing, before somebody attaches to them."""


def judge(
    fake: FakeBrowser, observed: Json | None = None, *, client: int = 1, underway: bool = False
) -> tuple[Complaint, ...]:
    """Everything that is wrong now that nothing is left to deliver.

    `observed` is what the client of that number says; nothing is asked of one whose connection broke. Clients that are
    `underway` may still have switched on what they need, unless they say that they are done.
    """
    given = observed if observed is not None and fake.is_connected(client) else {}
    truth = fake.truth()
    clients = sorted({client, *(command.client for command in fake.commands)})
    allowances = {number: Allowances(fake, number) for number in clients}
    done = [number for number in clients if not underway or (number == client and given.get("done"))]
    return (
        *behaviour.left_behind(fake, truth, allowances),
        *behaviour.left_enabled(fake, done),
        *behaviour.sent(fake, truth, allowances),
        *_Observed(fake, truth, given, client).complaints(allowances[client]),
    )


# ── what it observed ─────────────────────────────────────────────────────────────────────────────────────────────────


class _Observed:
    """An observation beside the truth."""

    def __init__(self, fake: FakeBrowser, truth: Truth, observed: Json, client: int) -> None:
        self._fake = fake
        self._truth = truth
        self._observed = observed
        self._client = client
        self._entries = fake.command_log(client) if observed else ()
        self._delivered = fake.delivered(client)
        ends = self._delivered.session_ends()
        self._ends = {session: ends[end] for session, end in fake.ended_sessions(client).items() if end in ends}
        """With which message it was told that a session had ended, or one above."""
        self._crashes: dict[str | None, list[int]] = {}
        """With which messages it was told that the process of a session had died."""
        for note in self._delivered.events:
            if note.method.endswith("Crashed"):
                self._crashes.setdefault(note.session_id, []).append(note.number)
        self._watched = {target for number, _session, target in truth.sessions if number == client}

    def complaints(self, allowances: Allowances) -> Iterator[Complaint]:
        """All of them."""
        parts: dict[str, Callable[[Any], Iterator[Complaint]]] = {
            "unanswered": self._unanswered,
            "commands": self._commands,
            "heard": self._event_counts,
            "sessions": self._sessions,
            "targets": self._targets,
            "frames": self._frames,
            "pending": self._pending,
            "dialogs": self._dialogs,
        }
        for part, compare in parts.items():
            if part in self._observed and not allowances.may_differ(part):
                yield from compare(self._observed[part])

    def _unanswered(self, shown: int) -> Iterator[Complaint]:
        # A page that hangs keeps its commands; whoever waits for those is right to wait, but not for a process that died.
        in_vain = shown - sum(entry.outcome == "waiting" and not self._crashed_after(entry) for entry in self._entries)
        if in_vain > 0:
            message = f"it still waits for {in_vain} replies that nobody will send, and that it was told of"
            yield Complaint(law="detached-commands-never-answer", fact=55, message=message)

    def _commands(self, shown: list[Json]) -> Iterator[Complaint]:
        entries: dict[tuple[Any, Any], LoggedCommand] = {
            (entry.command.session_id, entry.command.id): entry for entry in self._entries
        }
        law = "every-command-ends-once"
        given = Counter((each.get("session"), each.get("id")) for each in shown)
        for each in shown:
            key = (each.get("session"), each.get("id"))
            entry = entries.get(key)
            times = given.pop(key, 1)
            if times > 1:
                yield Complaint(law=law, fact=54, message=f"the command {key[1]} ended {times} times for it")
            if entry is not None and not self._is_outcome_right(str(each.get("outcome")), entry):
                method, outcome = entry.command.method, entry.outcome
                message = f"{method} ended as {each.get('outcome')} for it, and the browser's word is: {outcome}"
                yield Complaint(law=law, fact=8, message=message)

    def _is_outcome_right(self, outcome: str, entry: LoggedCommand) -> bool:
        """Whether a command may have ended so for who was told the truth."""
        if outcome == "gone":  # it may have been told of the end before the answer came
            return entry.outcome in ("ended", "lost") or entry.code == -32001 or self._over_before_reply(entry)
        return outcome == entry.outcome

    def _over_before_reply(self, entry: LoggedCommand) -> bool:
        """Whether it was told of the end of the session, or of its process, and then of the answer, or of none."""
        session, number = entry.command.session_id, entry.command.id
        over = [*self._crashes.get(session, ()), *([self._ends[session]] if session in self._ends else [])]
        replied = self._delivered.replies.get((session, number))
        return bool(over) and (replied is None or min(over) < replied)

    def _crashed_after(self, entry: LoggedCommand) -> bool:
        """Whether it was told of a crash after it had written this."""
        knew, crashes = entry.command.knew, self._crashes.get(entry.command.session_id)
        return knew is not None and crashes is not None and knew < crashes[-1]

    def _event_counts(self, shown: dict[str, int]) -> Iterator[Complaint]:
        counts = self._fake.delivered(self._client).counts
        for method, times in sorted(shown.items()):
            if times != counts.get(method, 0):
                message = f"its user got {method} {times} times, and it was sent {counts.get(method, 0)} times"
                yield Complaint(law="a-subscription-never-ends-silently", fact=57, message=message)

    def _sessions(self, shown: list[str]) -> Iterator[Complaint]:
        true = {session for client, session, _target in self._truth.sessions if client == self._client}
        yield from _difference("sessions", "nested-sessions-die-silently", 50, true, set(shown))

    def _targets(self, shown: dict[str, str]) -> Iterator[Complaint]:
        true = {target: url for target, _type, url in self._truth.targets}
        without_url = {target for target, kind, _url in self._truth.targets if kind in URL_NOT_REPORTED}
        law = "target-info-changes"
        yield from _difference("targets", law, 47, set(true), set(shown))
        # That a frame whose process died has no address any more, nobody is told (docs/cdp/a-crash-ends-no-session.md).
        for target in sorted(true.keys() & shown.keys() - set(self._truth.crashed)):
            if true[target] != shown[target] and (shown[target] or target not in without_url):
                yield Complaint(law=law, fact=40, message=f"it has another URL for the target {target[:8]}")

    def _frames(self, shown: dict[str, str]) -> Iterator[Complaint]:
        frames = {each.id: each.url for each in self._truth.frames if each.target in self._watched and not each.silent}
        gone = shown.keys() - {frame.id for frame in self._truth.frames}
        # What could not be loaded has the address of an error page, and its target that which was asked for.
        asked_for = {target: url for target, _type, url in self._truth.targets}
        law = "page-enable-replays-no-frames"
        yield from _difference("frames", law, 41, set(frames), (set(shown) & set(frames)) | gone)
        for frame in sorted(frames.keys() & shown.keys()):
            if shown[frame] not in (frames[frame], asked_for.get(frame)):
                yield Complaint(law=law, fact=40, message=f"it has another URL for the frame {frame[:8]}")

    def _pending(self, shown: list[Json]) -> Iterator[Complaint]:
        true = {dialog.frame for dialog in self._truth.dialogs if dialog.open and self._was_seen(dialog)}
        known = {frame.id for frame in self._truth.frames if frame.target in self._watched}
        frames = {str(each.get("frame")) for each in shown}
        # Who left the session of a frame out of process may have forgotten that frame.
        asked = true & known
        yield from _difference(
            "open dialogs", "dialogs-are-matched-by-frame", 3, asked, (frames & asked) | (frames - true)
        )

    def _was_seen(self, dialog: TrueDialog) -> bool:
        return any(client == self._client for client, _session in dialog.seen_by)

    def _dialogs(self, shown: list[Json]) -> Iterator[Complaint]:
        """Who closed what it saw; a dialog that it never heard of is no fault of its own."""
        by_us = Counter(str(each["message"]) for each in shown if each.get("closed_by") == "us")
        true = Counter(dialog.message for dialog in self._truth.dialogs if dialog.closed_by == self._client)
        unsure = sum(
            entry.command.method == HANDLE_DIALOG and self._over_before_reply(entry) for entry in self._entries
        )
        counted, were = sum(by_us.values()), sum(true.values())
        if not were - unsure <= counted <= were:
            message = f"it counts {counted} dialogs as answered by itself, and {were} were"
            yield Complaint(law="closed-precedes-reply", fact=1, message=message)
        elif by_us - true:
            message = "it takes one dialog for another: those that it answered had other messages"
            yield Complaint(law="dialogs-are-matched-by-frame", fact=3, message=message)


def _difference(what: str, law: str, fact: int, true: set[str], shown: set[str]) -> Iterator[Complaint]:
    missing, gone = sorted(true - shown), sorted(shown - true)
    if missing:
        yield Complaint(law=law, fact=fact, message=f"it does not know {len(missing)} {what}: {abbreviated(missing)}")
    if gone:
        yield Complaint(
            law=law, fact=fact, message=f"it believes in {len(gone)} {what} that are gone: {abbreviated(gone)}"
        )
