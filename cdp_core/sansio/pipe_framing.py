"""The framing of the pipe: each JSON text ends with a NUL byte.

`PipeReader` takes the bytes of the pipe and returns the texts that are complete; `frame_pipe` turns one text into its
bytes. `PipeReader` never raises on what the peer sent; a text above the limit is a `violation`, after which nothing
more is read.

* The pipe splits and merges texts arbitrarily, and a newline separates nothing (fact 60). JSON has no raw NUL byte, so
  one `split` finds every border.
* An unfinished text is collected in a buffer that grows in proportion to its size, so a large text costs linear time.
  It is passed on as a view of that buffer, which is not reused: a list of pieces, joined at the end, would cost a
  third copy of the memory (for 100 MB: a peak of 300 MB instead of 200, with the decoded text).
* No length precedes a text: the limit applies to the bytes received so far, and a text above it is not kept.
* An empty text has no meaning and is only counted. `messages.decode` finds out whether a text is UTF-8 and JSON.

This module does not know file descriptors, processes, or the content of a text.
"""

from __future__ import annotations

from typing import Final, cast

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.arguments import check_limit
from cdp_core.sansio.messages import Payload
from cdp_core.sansio.websocket_client import HEAD_BYTES, LARGE, Violation, too_big

_NUL: Final = b"\0"


class PipeReader:
    """Cuts the bytes of a pipe into whole texts."""

    def __init__(self, max_message_bytes: int) -> None:
        check_limit(max_message_bytes)
        self.violation: Violation | None = None
        self.empty_texts = 0
        self._limit = max_message_bytes
        self._partial = bytearray()

    @property
    def unfinished(self) -> int:
        """The bytes of the text that is not complete yet."""
        return len(self._partial)

    def feed(self, portion: bytes) -> list[Payload]:
        """Take the next bytes, in any portion; return the texts that they complete."""
        if self.violation is not None:
            return []
        texts = cast("list[Payload]", portion.split(_NUL))
        if self._partial:
            self._partial += texts[0]
            if len(self._partial) > self._limit:
                self._breach(self._partial)
                return []
            if len(texts) == 1:
                return []
            texts[0], self._partial = _payload(self._partial), bytearray()
        rest = texts.pop()
        # Only a portion above the limit can hold a text above the limit.
        if len(portion) > self._limit:
            self._cut_above_limit(texts, rest)
        if self.violation is None:
            self._partial += rest
        if not all(texts):
            whole = [text for text in texts if text]
            self.empty_texts += len(texts) - len(whole)
            return whole
        return texts

    def _cut_above_limit(self, texts: list[Payload], rest: Payload) -> None:
        """Cut the list before the first text above the limit, if there is one."""
        for place, text in enumerate((*texts, rest)):
            if len(text) > self._limit:
                del texts[place:]
                self._breach(text)
                return

    def _breach(self, text: Payload) -> None:
        """Set the violation, with the WebSocket's close code, since the pipe has no close codes."""
        self.violation = too_big(len(text), self._limit, bytes(text[:HEAD_BYTES]), at_least=True)
        self._partial = bytearray()


def _payload(whole: bytearray) -> Payload:
    """Return a large text as a view, which is decoded as a whole, as on every link."""
    return memoryview(whole) if len(whole) > LARGE else bytes(whole)


def frame_pipe(text: bytes) -> bytes:
    """Return one text with its NUL byte.

    Raises InvalidArgument if the peer would read the text as no message or as several.
    """
    if not text:
        raise InvalidArgument("An empty text is not a message; send JSON.")
    if _NUL in text:
        raise InvalidArgument(
            "A NUL byte ends a message on the pipe, so a message cannot contain one; in JSON, write \\u0000."
        )
    return text + _NUL
