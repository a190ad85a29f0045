"""The command log: each command with its outcome, and what its client had received by then.

The judge reads it (`observation.py`). A command has one outcome:

    result    it was answered with a result
    refused   it was answered with an error; the log has its code
    waiting   it has no reply so far, and its session is open: a dialog, a crash or a load delays the reply
    ended     its session ended before the reply, or before the command: no reply will ever come (fact 55)
    lost      its connection ended before the reply

How much a client had received when it wrote a command is known only if the sender counts it (`ClientEnd.receive`):
the pump does, a socket cannot. Without this count, a client that writes to a session although it knows of its end
looks the same as a client that has not received the detach event yet.
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
"""The events that the log records when they are delivered, with the parameter that names the subject."""
REPLY: Final = b'{"id":'
"""The first bytes of a reply, unless it is wrapped for a session that is not flat."""


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
    """How many messages had been delivered to the client when it wrote this; None if nothing counted them."""


@attrs.frozen(kw_only=True)
class LoggedCommand:
    """A command with its outcome."""

    command: ReceivedCommand
    outcome: CommandOutcome
    code: int | None = None


@attrs.frozen
class DeliveredEvent:
    """A logged event that was delivered to a client."""

    number: int
    """How many messages had been delivered to the client, this one included."""
    session_id: str | None
    method: str
    subject: str


class DeliveryLog:
    """What was delivered to one client."""

    def __init__(self) -> None:
        # How many of each event were delivered; replies count as `reply to …`.
        self.counts: dict[str, int] = {}
        self.events: list[DeliveredEvent] = []
        # The number of the message that answered each command, by session and command id.
        self.replies: dict[tuple[str | None, int], int] = {}

    def add(self, number: int, session_id: str | None, what: str, payload: bytes) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1
        if payload.startswith(REPLY):
            command_id = int(payload[len(REPLY) : payload.index(b",")])
            self.replies.setdefault((session_id, command_id), number)
        elif what in LOGGED_EVENTS:
            self.events.append(
                DeliveredEvent(number, session_id, what, json.loads(payload)["params"].get(LOGGED_EVENTS[what], ""))
            )

    def session_ends(self) -> dict[str, int]:
        """Return the sessions with a delivered detach event, and the number of that message."""
        return {note.subject: note.number for note in reversed(self.events) if note.method == SESSION_END}


@attrs.frozen(kw_only=True)
class FakeStatistics:
    """Counts of messages and commands so far."""

    received: int
    delivered: int
    waiting: int
    refused: int
    malformed: int
    never_answered: int
    unmodelled: Mapping[str, int]


def logged_command(command: ReceivedCommand, client: Client) -> LoggedCommand:
    code = client.outcomes.get((command.session_id, command.id))
    if code is not None:
        return LoggedCommand(command=command, outcome="refused" if code else "result", code=code or None)
    if not client.connected:
        return LoggedCommand(command=command, outcome="lost")
    return LoggedCommand(command=command, outcome="waiting" if command.session_id in client.sessions else "ended")
