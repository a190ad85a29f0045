"""What is right for a client of a browser, by name, and a complaint of what is not.

Each law rests on what was seen of Chromium, so that a complaint names both, and whoever reads it can look. For the laws of
one idea there are cards in docs/cdp of that name (for all of it: docs/cdp/fuzzing-finds-clients-that-wait-for-ever.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

LAWS: Final[Mapping[str, str]] = {
    "a-client-comes-to-rest": "Where a browser says nothing more, a client has nothing more to ask.",
    "a-client-connects": "A client that is given an address speaks to it.",
    "a-client-reads": "What a browser has said is read, however much that is.",
    "a-dialog-is-answered-once": "Each opening is answered once; a second answer meets another dialog, or none.",
    "a-dialog-stops-its-page": "Who was told of a dialog answers it, on the page's own session.",
    "a-pause-is-answered-once": "Each request that was paused is answered once, on the session that was told of it.",
    "a-pause-stops-its-request": "Who was told of a paused request answers it: nobody gets what was asked for before.",
    "a-subscription-never-ends-silently": "Every event that was sent reaches the user, whatever its size and number.",
    "closed-precedes-reply": "An answer that was accepted closed the dialog of whose end was told before its reply.",
    "commands-are-waited-for": "A program that ends has the answers to what it asked.",
    "detached-commands-never-answer": "The end of a session, or of its process, ends its commands: nobody answers them.",
    "dialogs-are-matched-by-frame": "Opening and closing name the frame, and need not come in the same order.",
    "errors-say-what-to-do": "What a browser does is no reason for a program to fail.",
    "every-command-ends-once": "A command ends once, as the browser ended it, and is found by its id alone.",
    "ids-are-used-once": "An id is not used again on its session.",
    "listen-before-you-let-run": "What a paused page is to tell is asked for before runIfWaitingForDebugger.",
    "nested-sessions-die-silently": "With a session all below it end, of which nothing is said.",
    "nothing-else-than-text": "What is said to a browser is text, and less than 100 MiB of it.",
    "nothing-is-left-switched-on": "Who is done gives up what it had intercepted, and takes its scripts back.",
    "nothing-is-sent-to-an-ended-session": "Who was told of a session's end writes no more to it, nor to those below.",
    "nothing-the-peer-sends-raises": "Whatever a browser says, the reader goes on; what a client says is well-formed.",
    "nothing-waits-for-ever": "When the link ends, so does everything that waits for it.",
    "page-enable-replays-no-frames": "Frames are those of getFrameTree and of events since; a navigation ends those below.",
    "paused-targets-wait-for-ever": "Each session of auto-attach gets runIfWaitingForDebugger, or its page never runs.",
    "sessions-open-on-the-event": "A session has the id that attachedToTarget gave it, and is there from then on.",
    "target-info-changes": "A target's address is that of the last event about it; the first has none yet.",
}
"""What is right, by the names of the laws."""


@attrs.frozen(kw_only=True)
class Complaint:
    """One thing that a client did wrong."""

    law: str
    """Its name; `LAWS` has its words."""
    fact: int
    """The number of what was seen of Chromium that the law rests on."""
    message: str

    def __str__(self) -> str:
        return f"{self.message} ({self.law}, fact {self.fact})"
