"""The framing of the pipe: each JSON text ends with a NUL byte. Bytes in → whole texts, one text → its bytes.

`PipeReader` is fed whatever the pipe brought and returns the texts that are now complete. It never raises on what the
peer sent; a text above the limit is a `violation`, after which nothing more is read.

* Texts are split and merged at will by the pipe, and a newline separates nothing (fact 60). JSON holds no raw NUL byte,
  so one `split` finds every border.
* An unfinished text gathers in a buffer that grows by parts of itself, so a large text costs linear time. It is handed
  over as a view of that buffer, which is not used again: a list of pieces, joined at the end, would cost a third copy of
  the memory (for 100 MB: a peak of 300 MB instead of 200, with the decoded text).
* The length of a text is not told in front of it: the limit is judged on what has come so far, and what is above it is
  not kept.
* An empty text says nothing and is only counted. Whether a text is UTF-8, or JSON, is for `wire.decode` to find out.

Not known here: file descriptors, processes, what a text says.
"""

from __future__ import annotations

from typing import Final, cast

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.arguments import check_limit
from cdp_core.sansio.messages import Payload
from cdp_core.sansio.websocket_client import HEAD_BYTES, LARGE, Violation, too_big

_NUL: Final = b"\0"


class PipeReader:
    """Takes bytes of a pipe, gives whole texts."""

    def __init__(self, max_message_bytes: int) -> None:
        check_limit(max_message_bytes)
        self.violation: Violation | None = None
        self.empty_texts = 0
        self._limit = max_message_bytes
        self._begun = bytearray()

    @property
    def unfinished(self) -> int:
        """How many bytes wait for the rest of their text."""
        return len(self._begun)

    def feed(self, portion: bytes) -> list[Payload]:
        """Take the next bytes, in any portion; return the texts that they completed."""
        if self.violation is not None:
            return []
        texts = cast("list[Payload]", portion.split(_NUL))
        if self._begun:
            self._begun += texts[0]
            if len(self._begun) > self._limit:
                self._breach(self._begun)
                return []
            if len(texts) == 1:
                return []
            texts[0], self._begun = _payload(self._begun), bytearray()
        rest = texts.pop()
        # Only a portion above the limit can hold a text above the limit.
        if len(portion) > self._limit and self._judge(texts, rest):
            rest = b""
        self._begun += rest
        if not all(texts):
            whole = [text for text in texts if text]
            self.empty_texts += len(texts) - len(whole)
            return whole
        return texts

    def _judge(self, texts: list[Payload], rest: Payload) -> bool:
        """Cut the list before the first text above the limit, if there is one."""
        for place, text in enumerate(texts):
            if len(text) > self._limit:
                del texts[place:]
                self._breach(text)
                return True
        if len(rest) > self._limit:
            self._breach(rest)
            return True
        return False

    def _breach(self, text: Payload) -> None:
        """The pipe has no close codes; the violation has the one of the WebSocket for the same fault."""
        self.violation = too_big(len(text), self._limit, bytes(text[:HEAD_BYTES]), at_least=True)
        self._begun = bytearray()


def _payload(whole: bytearray) -> Payload:
    """A large text as a view, which is decoded whole and at once, as on every link."""
    return memoryview(whole) if len(whole) > LARGE else bytes(whole)


def frame_pipe(text: bytes) -> bytes:
    """One text as it goes into the pipe. Raises InvalidArgument where the peer would read it as none or as several."""
    if not text:
        raise InvalidArgument("An empty text is no message; send JSON.")
    if _NUL in text:
        raise InvalidArgument(
            "A NUL byte ends a message on the pipe, so none may stand inside; JSON writes it \\u0000."
        )
    return text + _NUL
