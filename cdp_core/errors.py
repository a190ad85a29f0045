"""Everything that can go wrong, as one tree.

Two questions decide which class an error has: whose fault is it, and what ended?

* `LocalProtocolError`: the caller asked for something illegal now. Nothing was sent, nothing changed.
* `RemoteProtocolError`: the peer sent what WebSocket or CDP does not allow.
* `CommandRefused`: the browser answered, and the answer is no. Compare by `code`, never by text.
* `Gone` and its children: what the call needed has ended; the class says what, `reason` says why.
* `SubscriberLagged`: a subscription was read too slowly; it alone is told, with the count.
* `DiscoveryError`: no browser could be reached; `stage` says how far the attempt came.
* `BindingDrift`: the typed bindings and the browser disagree, and somebody asked for exactly that; the rest is usable.
* `TapFailed`: a tap raised; the cause is the tap's own exception.

`str()` of each is one sentence that says what to do next, because programs hand it to people and agents. No error carries
a payload, a token or page text. Each survives `pickle` and `copy` (exceptions cross processes in task queues and test
runners), which is why the fields are set by hand here: exceptions made by attrs with keyword-only fields do not.
"""

from __future__ import annotations

from typing import Any, Final

LONGEST_QUOTE: Final = 200


class CdpError(Exception):
    """Base of everything this library raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__.copy())


class LocalProtocolError(CdpError):
    """You asked for something that is illegal now; nothing was sent and no state changed.

    `reason` is a short fixed word (`"closed"`, `"too_big"`, `"outbox_full"`, `"ids_exhausted"` ...).
    """

    def __init__(self, message: str, *, reason: str = "illegal") -> None:
        super().__init__(message)
        self.reason = reason


class InvalidArgument(LocalProtocolError, ValueError):
    """An argument is wrong in itself, whatever the state: also a builtin `ValueError`."""

    def __init__(self, message: str, *, reason: str = "argument") -> None:
        super().__init__(message, reason=reason)


class RemoteProtocolError(CdpError):
    """The peer sent what WebSocket or CDP does not allow.

    `close_code` is the WebSocket close code that names the fault, or None where the fault is one message's own;
    `command_id` the command that the message answered, where its beginning told.
    """

    def __init__(self, message: str, *, close_code: int | None = None, command_id: int | None = None) -> None:
        super().__init__(message)
        self.close_code = close_code
        self.command_id = command_id


class CommandRefused(CdpError):
    """The browser answered a command with an error. Compare by `code`; the text changes between versions."""

    def __init__(self, *, code: int, message: str, data: str | None, method: str, session_id: str | None) -> None:
        detail = f"; {_cut(data)}" if data else ""
        where = f" on session {session_id[:8]}" if session_id else ""
        super().__init__(f"{method}{where} was refused by the browser: {_cut(message)} (code {code}{detail}).")
        self.code = code
        self.message = message
        self.data = data
        self.method = method
        self.session_id = session_id


class Gone(CdpError):
    """What the call needed has ended; `reason` is a short fixed word."""

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class ConnectionLost(Gone, ConnectionError):
    """The link to the browser ended: also a builtin `ConnectionError`.

    `close_code` is the WebSocket close code where there was one; 1006 (no close frame) is how Chromium ends normally.
    """

    def __init__(self, message: str, *, reason: str, close_code: int | None = None) -> None:
        super().__init__(message, reason=reason)
        self.close_code = close_code


class SessionGone(Gone):
    """The CDP session ended; attach to the target again if it still exists."""

    def __init__(self, message: str, *, reason: str, session_id: str, target_id: str | None = None) -> None:
        super().__init__(message, reason=reason)
        self.session_id = session_id
        self.target_id = target_id


class TargetGone(Gone):
    """The target (page, frame, worker) does not exist any more."""

    def __init__(self, message: str, *, reason: str, target_id: str) -> None:
        super().__init__(message, reason=reason)
        self.target_id = target_id


class TargetCrashed(Gone):
    """The target's process died under the command; the session lives on, reload the page to use it again."""

    def __init__(self, message: str, *, reason: str, session_id: str, target_id: str | None = None) -> None:
        super().__init__(message, reason=reason)
        self.session_id = session_id
        self.target_id = target_id


class SubscriberLagged(CdpError):
    """A subscription was read too slowly; `missed` events did not fit.

    `max_bytes` is told where it was the bytes that were too many, and None where it was the events.
    """

    def __init__(self, *, missed: int, capacity: int, max_bytes: int | None = None) -> None:
        room, larger = f"{capacity} places", "capacity"
        if max_bytes is not None:
            room, larger = f"{max_bytes} bytes", "max_bytes"
        super().__init__(
            f"This subscription was read too slowly: {missed} events did not fit into its {room}; "
            f"subscribe again with a larger {larger}, read faster, or use subscribe_latest.",
        )
        self.missed = missed
        self.capacity = capacity
        self.max_bytes = max_bytes


class DiscoveryError(CdpError, ConnectionError):
    """No browser was reached: also a builtin `ConnectionError`.

    `address` is redacted. `stage` is how far the attempt came: `"address"`, `"resolve"`, `"tcp"`, `"tls"`, `"http"`,
    `"upgrade"` or `"cdp"`. `answered` is what came back where somebody was there: `"http"` (its `status`), `"silence"`,
    `"end"` (it hung up) or `"other"` (something that is not what was asked for); None where nobody was asked.
    """

    def __init__(
        self, message: str, *, address: str, stage: str, status: int | None = None, answered: str | None = None
    ) -> None:
        super().__init__(message)
        self.address = address
        self.stage = stage
        self.status = status
        self.answered = answered if status is None else "http"


class BindingDrift(CdpError):
    """The browser and the typed bindings disagree about `field` of `item`: raised in the strict mode of tests only."""

    def __init__(self, message: str, *, item: str, field: str) -> None:
        super().__init__(message)
        self.item = item
        self.field = field


class MissingField(BindingDrift, AttributeError):
    """A field was read that the browser did not send: also a builtin `AttributeError`, so `getattr(…, default)` works."""


class TapFailed(CdpError):
    """A tap raised, so the link was ended; `__cause__` is the tap's exception. Taps must be pure and quick."""

    def __init__(self, tap: str) -> None:
        super().__init__(
            f"The tap {tap} raised an exception, so the link was ended; its exception is the cause of this one."
        )
        self.tap = tap


def _cut(text: str) -> str:
    """A peer's words as a sentence can hold them."""
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}…"


def _restore(cls: type[CdpError], args: tuple[Any, ...], state: dict[str, Any]) -> CdpError:
    error = cls.__new__(cls)
    error.args = args
    error.__dict__.update(state)
    return error
