"""The laws that a correct client of a browser keeps, and the complaint about one that was broken.

Each law rests on a fact about Chromium; a complaint names both, so that a reader can look the fact up. For the laws of
one idea docs/cdp has a card of that name (an overview: docs/cdp/fuzzing-finds-clients-that-wait-for-ever.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

LAWS: Final[Mapping[str, str]] = {
    "a-client-comes-to-rest": "When the browser sends nothing more, stop sending commands.",
    "a-client-connects": "Connect to the address that you are given, and send a command.",
    "a-client-reads": "Read everything that the browser sends, however much it is.",
    "a-dialog-is-answered-once": "Answer each dialog once: a second answer reaches another dialog, or none.",
    "a-dialog-stops-its-page": "Answer each dialog that you received, on the session of its page.",
    "a-pause-is-answered-once": "Answer each paused request once, on the session that received Fetch.requestPaused.",
    "a-pause-stops-its-request": "Answer each paused request that you received: until then it gets no response.",
    "a-subscription-never-ends-silently": "Pass every event on to the user, whatever their size and number.",
    "closed-precedes-reply": "Count a dialog as closed by your answer if its closed event precedes an accepted reply.",
    "commands-are-waited-for": "Before exiting, wait for the replies to your commands.",
    "detached-commands-never-answer": "When a session or its process ends, end its commands: no reply will come.",
    "dialogs-are-matched-by-frame": "Match dialog events by frame: they need not close in the order of opening.",
    "errors-say-what-to-do": "Exit with 0, whatever the browser does.",
    "every-command-ends-once": "End each command once, as the browser ended it, and find it by its id alone.",
    "ids-are-used-once": "Never use a command id twice on one session.",
    "listen-before-you-let-run": "Enable the events of a paused page before you send runIfWaitingForDebugger.",
    "nested-sessions-die-silently": "When a session ends, end all sessions below it: no event reports their end.",
    "nothing-else-than-text": "Send text messages only, each shorter than 100 MiB.",
    "nothing-is-left-switched-on": "Before disconnecting, disable Fetch and remove your init scripts.",
    "nothing-is-sent-to-an-ended-session": "After the end of a session is reported, send nothing to it or below it.",
    "nothing-the-peer-sends-raises": "Keep reading whatever the browser sends, and send well-formed messages only.",
    "nothing-waits-for-ever": "When the link ends, end everything that waits for it.",
    "page-enable-replays-no-frames": "Read frames by getFrameTree, then follow events; a navigation ends child frames.",
    "paused-targets-wait-for-ever": "Send runIfWaitingForDebugger on auto-attached sessions, or their pages never run.",
    "sessions-open-on-the-event": "Use a session from its attachedToTarget event on, with the sessionId in that event.",
    "target-info-changes": "Take a target's URL from the last event about it; the first event has no URL yet.",
}
"""The name of each law, and what it demands of a client."""


@attrs.frozen(kw_only=True)
class Complaint:
    """One law that a client broke, with the fact behind the law."""

    law: str
    """The name of the law; `LAWS` has its text."""
    fact: int
    """The number, in docs/cdp/facts.md, of the fact about Chromium that the law rests on."""
    message: str

    def __str__(self) -> str:
        return f"{self.message} ({self.law}, fact {self.fact})"
