"""The exceptions of this library, as one tree.

Two questions decide the class of an error: which side is at fault, and what ended?

* `LocalProtocolError`: the caller asked for something that is illegal now. Nothing was sent and nothing changed,
  except with the reasons `abandoned` (the command was sent before) and `trace_deviates` (the replayed link ended).
* `RemoteProtocolError`: the peer sent what WebSocket or CDP does not allow.
* `CommandRefused`: the browser answered a command with an error. Compare by `code`, never by text.
* `Gone` and its children: what the call needed has ended; the class names it, `reason` is the cause.
* `NavigationFailed`: a navigation ended without the document that was asked for; `reason` says how.
* `NavigationBlocked`: a dialog opened during a navigation, which goes on.
* `SubscriberLagged`: a subscription was read too slowly; only its consumer gets this error, with the count.
* `DiscoveryError`: no browser could be reached; `stage` is how far the attempt came.
* `LaunchFailed`: a browser could not be started; `reason` says why, with its exit code and standard error.
* `BindingDrift`: the typed bindings and the browser disagree about exactly what the caller used; the rest is usable.
* `TapFailed`: a tap raised; the cause is the tap's own exception.

`CdpWarning` is the category of this library's warnings.

`str()` of each is one sentence that includes what to do next, because programs show it to people and agents. No error
contains a payload, a token or page text. Each survives `pickle` and `copy` (task queues and test runners send
exceptions between processes), which is why the fields are set by hand here: exceptions made by attrs with
keyword-only fields do not survive them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

LONGEST_QUOTE: Final = 200
"""Characters of the peer's text that one error quotes."""


class CdpError(Exception):
    """The base class of everything that this library raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__.copy())


class LocalProtocolError(CdpError):
    """The caller asked for something that is illegal now; nothing was sent, with two exceptions (above).

    `reason` is a short fixed word (`"closed"`, `"too_big"`, `"outbox_full"`, `"ids_exhausted"` ...).
    """

    def __init__(self, message: str, *, reason: str = "illegal") -> None:
        super().__init__(message)
        self.reason = reason


class InvalidArgument(LocalProtocolError, ValueError):
    """An argument is invalid, whatever the state: also a builtin `ValueError`."""

    def __init__(self, message: str, *, reason: str = "argument") -> None:
        super().__init__(message, reason=reason)


class RemoteProtocolError(CdpError):
    """The peer sent what WebSocket or CDP does not allow.

    `close_code` is the WebSocket close code for the fault, or None if the fault concerns one message only;
    `command_id` is the command that the message answered, if the beginning of the message shows it.
    """

    def __init__(self, message: str, *, close_code: int | None = None, command_id: int | None = None) -> None:
        super().__init__(message)
        self.close_code = close_code
        self.command_id = command_id


class CommandRefused(CdpError):
    """The browser answered a command with an error. Compare by `code`: the text changes between versions."""

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
    """The link, session or target that the call needed has ended; `reason` is a short fixed word."""

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class ConnectionLost(Gone, ConnectionError):
    """The link to the browser ended: also a builtin `ConnectionError`.

    `close_code` is the WebSocket close code, if any; 1006 (no close frame) is how Chromium ends normally.
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
    """The target's renderer process died; the session stays open, and the page is usable after a reload.

    `reason` is `"crashed"` for a command that was in flight, and so may have been carried out, and `"not_sent"` for one
    that was refused here until the reload, because nothing would answer it.
    """

    def __init__(self, message: str, *, reason: str, session_id: str, target_id: str | None = None) -> None:
        super().__init__(message, reason=reason)
        self.session_id = session_id
        self.target_id = target_id


class NavigationFailed(CdpError):
    """A navigation brought no document, or not as far as was asked.

    `reason` is Chromium's `net::ERR_…`, or `download`, `no_document`, `stopped`, `superseded`, `timeout`.
    """

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class NavigationTimedOut(NavigationFailed, TimeoutError):
    """A navigation took too long, and the text says how far it came: also a builtin `TimeoutError`."""


class NavigationBlocked(CdpError):
    """A dialog opened during a navigation, which goes on; answer it, then `wait()` for the end.

    `type` is the dialog's; `phase` is `"leaving"` for one of the page that is left, and `"loading"` for one of the page
    that is loading.
    """

    def __init__(
        self,
        message: str,
        *,
        type: str,  # noqa: A002 - the protocol's word
        phase: str,
        resume: Callable[[float | None], Awaitable[Any]] | None = None,
    ) -> None:
        super().__init__(message)
        self.type = type
        self.phase = phase
        self._resume = resume

    async def wait(self, *, timeout: float | None = 30.0) -> Any:
        """Wait for the end of the navigation; returns and raises as `navigate` does."""
        if self._resume is None:
            raise LocalProtocolError(
                "This is a copy of a NavigationBlocked, which cannot wait; call wait() where it was caught.",
                reason="copy",
            )
        return await self._resume(timeout)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.__class__, self.args, {**self.__dict__, "_resume": None})


class SubscriberLagged(CdpError):
    """A subscription was read too slowly; `missed` events did not fit.

    `max_bytes` is set if the limit in bytes was reached, and None if the limit in events was.
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
    `"upgrade"` or `"cdp"`. `answered` is the answer of the peer: `"http"` (its `status`), `"silence"`, `"end"` (it
    hung up) or `"other"` (an answer of another kind than requested); None if no peer was asked.
    """

    def __init__(
        self, message: str, *, address: str, stage: str, status: int | None = None, answered: str | None = None
    ) -> None:
        super().__init__(message)
        self.address = address
        self.stage = stage
        self.status = status
        self.answered = answered if status is None else "http"


class LaunchFailed(CdpError, ConnectionError):
    """A browser could not be started: also a builtin `ConnectionError`.

    `reason` is `"not_found"`, `"not_started"` (by the system), `"profile_in_use"`, `"exited"` (before it answered) or
    `"no_answer"`. `exit_code` is negative for a signal, and None if no browser was started or if it still ran. `stderr`
    is the end of its standard error, at most 2 KB, without the values in `args`.
    """

    def __init__(self, message: str, *, reason: str, exit_code: int | None = None, stderr: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.exit_code = exit_code
        self.stderr = stderr


class BindingDrift(CdpError):
    """The browser and the typed bindings disagree about `field` of `item`.

    Raised only in the strict mode of tests.
    """

    def __init__(self, message: str, *, item: str, field: str) -> None:
        super().__init__(message)
        self.item = item
        self.field = field


class MissingField(BindingDrift, AttributeError):
    """The caller read a field that the browser did not send: also a builtin `AttributeError`.

    `getattr(…, default)` therefore works.
    """


class TapFailed(CdpError):
    """A tap raised, so the link was ended; `__cause__` is the tap's exception.

    Taps must be pure and quick.
    """

    def __init__(self, tap: str) -> None:
        super().__init__(
            f"The tap {tap} raised an exception, so the link was ended; its exception is the cause of this one."
        )
        self.tap = tap


class CdpWarning(UserWarning):
    """Warns of something that no exception shows; the text says what to do."""


def _cut(text: str) -> str:
    """Cut the peer's text to a length that fits into a sentence."""
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}…"


def _restore(cls: type[CdpError], args: tuple[Any, ...], state: dict[str, Any]) -> CdpError:
    error = cls.__new__(cls)
    error.args = args
    error.__dict__.update(state)
    return error
