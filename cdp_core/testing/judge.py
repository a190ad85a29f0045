"""What a client did wrong, seen from the browser: complaints, each with the law and the fact that it rests on.

A complaint is never about what Chromium itself does to a client, only about what the client made of it: what it sent, what
it left behind, and, where it says what it observed, where that differs from the truth. So a correct client has none,
whatever the script and the schedule were.

An observation is JSON, of which every part may be missing:

    {"sessions": [id, …], "frames": {id: url, …}, "dialogs": [{"message": …, "closed_by": "us" | "other"}, …], "unanswered": 0}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from cdp_core.sansio.wire import Json
from cdp_core.testing.fake.browser import FakeBrowser

__all__ = ["Complaint", "judge"]


@attrs.frozen(kw_only=True)
class Complaint:
    """One thing that a client did wrong."""

    law: str
    """The card that says what is right."""
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
    return (*_left_behind(fake), *_sent(fake), *_observed(fake, told))


def _left_behind(fake: FakeBrowser) -> Iterator[Complaint]:
    for target, kind in fake.paused():
        yield Complaint(
            law="paused-targets-wait-for-ever",
            fact=7,
            said=f"the {kind} {target[:8]} still waits for runIfWaitingForDebugger",
        )
    for dialog in fake.truth().dialogs:
        if dialog.open and dialog.answerable:
            yield Complaint(
                law="a-dialog-stops-its-page",
                fact=15,
                said=f"a {dialog.type} that it saw is still open on the page {dialog.page[:8]}",
            )


def _sent(fake: FakeBrowser) -> Iterator[Complaint]:
    counts = fake.statistics()
    if counts.malformed:
        yield Complaint(
            law="nothing-the-peer-sends-raises", fact=53, said=f"it sent {counts.malformed} malformed messages"
        )
    seen: set[tuple[int, str | None, int]] = set()
    for command in fake.commands:
        key = (command.client, command.session_id, command.id)
        if key in seen:
            yield Complaint(law="ids-are-used-once", fact=54, said=f"it used the id {command.id} twice on one session")
        seen.add(key)


def _observed(fake: FakeBrowser, observed: Json) -> Iterator[Complaint]:
    truth = fake.truth()
    # A page that hangs keeps its commands; whoever waits for those is right to wait.
    in_vain = observed.get("unanswered", 0) - fake.statistics().never_answered
    if in_vain > 0:
        yield Complaint(
            law="detached-commands-never-answer",
            fact=55,
            said=f"it still waits for {in_vain} replies that nobody will send, and that it was told of",
        )
    if "sessions" in observed:
        really = {session for _client, session, _target in truth.sessions}
        yield from _difference("sessions", "nested-sessions-die-silently", 50, really, set(observed["sessions"]))
    if "frames" in observed:
        shown: dict[str, str] = observed["frames"]
        frames = {frame.id: frame.url for frame in truth.frames if not frame.silent}
        gone = shown.keys() - {frame.id for frame in truth.frames}
        law = "page-enable-replays-no-frames"
        yield from _difference("frames", law, 41, set(frames), (set(shown) & set(frames)) | gone)
        for frame in sorted(frames.keys() & shown.keys()):
            if frames[frame] != shown[frame]:
                yield Complaint(law=law, fact=40, said=f"it has another URL for the frame {frame[:8]}")
    if "dialogs" in observed:
        yield from _dialogs(fake, observed["dialogs"])


def _difference(what: str, law: str, fact: int, really: set[str], shown: set[str]) -> Iterator[Complaint]:
    missing, ghosts = sorted(really - shown), sorted(shown - really)
    if missing:
        yield Complaint(law=law, fact=fact, said=f"it does not know {len(missing)} {what}: {_short(missing)}")
    if ghosts:
        yield Complaint(law=law, fact=fact, said=f"it believes in {len(ghosts)} {what} that are gone: {_short(ghosts)}")


def _dialogs(fake: FakeBrowser, shown: list[Any]) -> Iterator[Complaint]:
    """Who closed what it saw; a dialog that it never heard of is no fault of its own."""
    by_us = sorted(each["message"] for each in shown if each.get("closed_by") == "us")
    really = sorted(dialog.message for dialog in fake.truth().dialogs if dialog.closed_by is not None)
    if by_us != really:
        yield Complaint(
            law="closed-precedes-reply",
            fact=1,
            said=f"it counts {len(by_us)} dialogs as answered by itself, and {len(really)} were",
        )


def _short(names: list[str]) -> str:
    return ", ".join(name[:8] for name in names[:3]) + (", …" if len(names) > 3 else "")
