"""The judge: complaints about a client, from what the browser saw and what the client observed.

Each complaint names the broken law and the fact behind it. A complaint is about what the client did, never about what
Chromium did to it: what it sent, what it left behind, and where its observation differs from the truth. A correct client
has no complaints, whatever the script, the schedule and the faults (allowances.py).

An observation is JSON. Every part may be absent; an absent part is not judged:

    {"sessions": [id, …],                       the open sessions
     "targets":  {id: url, …},                  the targets that discovery reported, with their latest URL
     "frames":   {id: url, …},                  the frames of the pages that the client has sessions on
     "pending":  [{"frame": id}, …],            the open dialogs that it received
     "dialogs":  [{"message": …, "closed_by": "us" | "other"}, …],   the closed dialogs
     "commands": [{"session": id | null, "id": 7, "outcome": "result" | "refused" | "gone"}, …],   the ended commands
     "unanswered": 0,                           the number of commands that it still waits for
     "heard":    {"Runtime.consoleAPICalled": 3, …},                 how often each event reached its user
     "done":     true}                          it is done, and should have left nothing enabled (behaviour.py)

`gone` is the outcome of a command that ended without a reply, since its session, its page's process or the link had ended.
Once the client received that end, the commands that it sent before are over for it: their outcome is not judged, nor
whether it counts a dialog as closed by its own answer if such a command closed it (facts 49, 55).
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
"""Target types that discovery may report without a URL until a client attaches to the target."""


def judge(
    fake: FakeBrowser, observed: Json | None = None, *, client: int = 1, underway: bool = False
) -> tuple[Complaint, ...]:
    """Return all complaints; call it when nothing is left to deliver.

    `observed` is the observation of the client with the number `client`; it is ignored if the client's connection broke.
    With `underway`, clients may still have enabled what they need, unless the observation says `done`.
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


# ── the observation ──────────────────────────────────────────────────────────────────────────────────────────────────


class _Observed:
    """Compares one client's observation with the truth."""

    def __init__(self, fake: FakeBrowser, truth: Truth, observed: Json, client: int) -> None:
        self._fake = fake
        self._truth = truth
        self._observed = observed
        self._client = client
        self._entries = fake.command_log(client) if observed else ()
        self._delivered = fake.delivered(client)
        ends = self._delivered.session_ends()
        # For each session: the number of the delivery that reported its end, or the end of a session above it.
        self._ends = {session: ends[end] for session, end in fake.ended_sessions(client).items() if end in ends}
        # For each session: the numbers of the deliveries that reported a crash of its process.
        self._crashes: dict[str | None, list[int]] = {}
        for note in self._delivered.events:
            if note.method.endswith("Crashed"):
                self._crashes.setdefault(note.session_id, []).append(note.number)
        self._watched = {target for number, _session, target in truth.sessions if number == client}

    def complaints(self, allowances: Allowances) -> Iterator[Complaint]:
        """Yield the complaints about every part that was observed and is judged."""
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
        # A page that hangs keeps its commands, so a client may wait for them; it may not wait for a crashed process.
        in_vain = shown - sum(entry.outcome == "waiting" and not self._crashed_after(entry) for entry in self._entries)
        if in_vain > 0:
            message = f"the client still waits for {in_vain} replies that cannot come: their session or process ended"
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
                yield Complaint(law=law, fact=54, message=f"the command {key[1]} ended {times} times for the client")
            if entry is not None and not self._is_outcome_right(str(each.get("outcome")), entry):
                method, outcome = entry.command.method, entry.outcome
                message = f"{method} ended as {each.get('outcome')} for the client, and as {outcome} for the browser"
                yield Complaint(law=law, fact=8, message=message)

    def _is_outcome_right(self, outcome: str, entry: LoggedCommand) -> bool:
        """Return whether a correct client may report this outcome for the command."""
        if outcome == "gone":  # the client may have received the end before the reply
            return entry.outcome in ("ended", "lost") or entry.code == -32001 or self._over_before_reply(entry)
        return outcome == entry.outcome

    def _over_before_reply(self, entry: LoggedCommand) -> bool:
        """Return whether the end of the session or its process was delivered before any reply."""
        session, number = entry.command.session_id, entry.command.id
        over = [*self._crashes.get(session, ()), *([self._ends[session]] if session in self._ends else [])]
        replied = self._delivered.replies.get((session, number))
        return bool(over) and (replied is None or min(over) < replied)

    def _crashed_after(self, entry: LoggedCommand) -> bool:
        """Return whether a crash of the session's process was delivered after the client wrote this command."""
        knew, crashes = entry.command.knew, self._crashes.get(entry.command.session_id)
        return knew is not None and crashes is not None and knew < crashes[-1]

    def _event_counts(self, shown: dict[str, int]) -> Iterator[Complaint]:
        counts = self._fake.delivered(self._client).counts
        for method, times in sorted(shown.items()):
            if times != counts.get(method, 0):
                message = f"{method} reached the user {times} times, and the client {counts.get(method, 0)} times"
                yield Complaint(law="a-subscription-never-ends-silently", fact=57, message=message)

    def _sessions(self, shown: list[str]) -> Iterator[Complaint]:
        true = {session for client, session, _target in self._truth.sessions if client == self._client}
        yield from _difference("sessions", "nested-sessions-die-silently", 50, true, set(shown))

    def _targets(self, shown: dict[str, str]) -> Iterator[Complaint]:
        true = {target: url for target, _type, url in self._truth.targets}
        without_url = {target for target, kind, _url in self._truth.targets if kind in URL_NOT_REPORTED}
        law = "target-info-changes"
        yield from _difference("targets", law, 47, set(true), set(shown))
        # No event reports that a frame loses its URL when its process dies (docs/cdp/a-crash-ends-no-session.md).
        for target in sorted(true.keys() & shown.keys() - set(self._truth.crashed)):
            if true[target] != shown[target] and (shown[target] or target not in without_url):
                yield Complaint(law=law, fact=40, message=f"the client has a wrong URL for the target {target[:8]}")

    def _frames(self, shown: dict[str, str]) -> Iterator[Complaint]:
        frames = {each.id: each.url for each in self._truth.frames if each.target in self._watched and not each.silent}
        gone = shown.keys() - {frame.id for frame in self._truth.frames}
        # A document that failed to load has the URL of an error page, and its target has the requested URL.
        asked_for = {target: url for target, _type, url in self._truth.targets}
        law = "page-enable-replays-no-frames"
        yield from _difference("frames", law, 41, set(frames), (set(shown) & set(frames)) | gone)
        for frame in sorted(frames.keys() & shown.keys()):
            if shown[frame] not in (frames[frame], asked_for.get(frame)):
                yield Complaint(law=law, fact=40, message=f"the client has a wrong URL for the frame {frame[:8]}")

    def _pending(self, shown: list[Json]) -> Iterator[Complaint]:
        true = {dialog.frame for dialog in self._truth.dialogs if dialog.open and self._was_seen(dialog)}
        known = {frame.id for frame in self._truth.frames if frame.target in self._watched}
        frames = {str(each.get("frame")) for each in shown}
        # A client that detached from the session of an out-of-process frame may have dropped that frame.
        asked = true & known
        yield from _difference(
            "open dialogs", "dialogs-are-matched-by-frame", 3, asked, (frames & asked) | (frames - true)
        )

    def _was_seen(self, dialog: TrueDialog) -> bool:
        return any(client == self._client for client, _session in dialog.seen_by)

    def _dialogs(self, shown: list[Json]) -> Iterator[Complaint]:
        """Compare the dialogs that it counts as closed by itself.

        A client is not judged by dialogs that it never received.
        """
        by_us = Counter(str(each["message"]) for each in shown if each.get("closed_by") == "us")
        true = Counter(dialog.message for dialog in self._truth.dialogs if dialog.closed_by == self._client)
        unsure = sum(
            entry.command.method == HANDLE_DIALOG and self._over_before_reply(entry) for entry in self._entries
        )
        counted, were = sum(by_us.values()), sum(true.values())
        if not were - unsure <= counted <= were:
            message = f"the client counts {counted} dialogs as closed by its own answers, and {were} were"
            yield Complaint(law="closed-precedes-reply", fact=1, message=message)
        elif by_us - true:
            message = "the client confuses dialogs: those that it answered had other messages"
            yield Complaint(law="dialogs-are-matched-by-frame", fact=3, message=message)


def _difference(what: str, law: str, fact: int, true: set[str], shown: set[str]) -> Iterator[Complaint]:
    missing, gone = sorted(true - shown), sorted(shown - true)
    if missing:
        message = f"the client does not know {len(missing)} {what}: {abbreviated(missing)}"
        yield Complaint(law=law, fact=fact, message=message)
    if gone:
        message = f"the client still has {len(gone)} {what} that are gone: {abbreviated(gone)}"
        yield Complaint(law=law, fact=fact, message=message)
