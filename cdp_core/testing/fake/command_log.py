"""What became of what clients sent, and what they had been told by then: the books that the judge reads (observation.py).

A command has one fate:

    result    it was answered with a result
    refused   it was answered with an error, under its code
    waiting   nothing was said so far, and its session is open: a dialog, a crash, a load stands before the answer
    ended     its session ended first, or was gone before: nothing will ever be said (fact 55)
    lost      so did its connection

What a client had been told when it wrote a command is known where somebody counts it (`ClientEnd.receive`): the pump does,
a socket cannot. Without it nobody can tell a client that writes to a session of whose end it knows from one that was not
told yet.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, Literal

import attrs

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.model.parts import Client

CommandOutcome = Literal["result", "refused", "waiting", "ended", "lost"]
SESSION_END: Final = "Target.detachedFromTarget"
LOGGED_EVENTS: Final[dict[str, str]] = {
    SESSION_END: "sessionId",
    "Page.javascriptDialogOpening": "frameId",
    "Page.javascriptDialogClosed": "frameId",
    "Inspector.targetCrashed": "",
    "Fetch.requestPaused": "requestId",
}
"""The events of which it is kept when they were delivered, and the parameter that says of what."""
REPLY: Final = b'{"id":'
"""How a reply begins that is not wrapped for a session that is not flat."""


@attrs.frozen(kw_only=True)
class ReceivedCommand:
    """One command that a client sent."""

    client: int
    session_id: str | None
    id: int
    method: str
    params: Json
    at: float
    knew: int | None = None
    """How many messages had been delivered to the client when it wrote this; None where nobody counted."""


@attrs.frozen(kw_only=True)
class LoggedCommand:
    """A command, and what became of it."""

    command: ReceivedCommand
    outcome: CommandOutcome
    code: int | None = None
    """Of the refusal."""


@attrs.frozen
class DeliveredEvent:
    """One event of those that are noted, as a client was told it."""

    number: int
    """How many messages had been delivered to the client with it."""
    session_id: str | None
    method: str
    subject: str


class DeliveryLog:
    """What was delivered to one client."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        """How many of each event; replies are among them as `reply to …`."""
        self.events: list[DeliveredEvent] = []
        self.replies: dict[tuple[str | None, int], int] = {}
        """With which message each command was answered, by its session and id."""

    def add(self, number: int, session_id: str | None, what: str, payload: bytes) -> None:
        """One message more."""
        self.counts[what] = self.counts.get(what, 0) + 1
        if payload.startswith(REPLY):
            number_of = int(payload[len(REPLY) : payload.index(b",")])
            self.replies.setdefault((session_id, number_of), number)
        elif what in LOGGED_EVENTS:
            self.events.append(
                DeliveredEvent(number, session_id, what, json.loads(payload)["params"].get(LOGGED_EVENTS[what], ""))
            )

    def session_ends(self) -> dict[str, int]:
        """The sessions of whose end the client was told, with the number of that message."""
        return {note.subject: note.number for note in reversed(self.events) if note.method == SESSION_END}


@attrs.frozen(kw_only=True)
class FakeStatistics:
    """What happened so far."""

    received: int
    delivered: int
    waiting: int
    refused: int
    malformed: int
    never_answered: int
    unmodelled: Mapping[str, int]


def logged_command(command: ReceivedCommand, client: Client) -> LoggedCommand:
    """What became of a command of this client."""
    code = client.outcomes.get((command.session_id, command.id))
    if code is not None:
        return LoggedCommand(command=command, outcome="refused" if code else "result", code=code or None)
    if not client.connected:
        return LoggedCommand(command=command, outcome="lost")
    return LoggedCommand(command=command, outcome="waiting" if command.session_id in client.sessions else "ended")
