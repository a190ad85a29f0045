"""How a command ends: with its result, a refusal, a loss, or a reply that cannot be read.

An outcome is a plain record, which several readers may keep; each raise makes an exception of its own.
"""

from __future__ import annotations

from typing import Protocol

from cdp_core.errors import (
    CdpError,
    CommandRefused,
    ConnectionLost,
    Gone,
    RemoteProtocolError,
    SessionGone,
    TargetCrashed,
)
from cdp_core.sansio.messages import Malformed, Refusal, Result, SessionId, TargetId
from cdp_core.sansio.structs import Struct


class Loss(Struct, frozen=True, kw_only=True):
    """Why a command or session ended without a reply: a plain record; each raise makes its own exception.

    `kind` is `"connection"`, `"session"` or `"crash"`; `reason` is a short fixed word; `detail` is one sentence.
    """

    kind: str
    reason: str
    detail: str
    session_id: SessionId | None = None
    target_id: TargetId | None = None
    close_code: int | None = None

    def error(self) -> Gone:
        """Make a new exception for this loss; a breach of the protocol by the peer becomes its cause."""
        if self.kind == "connection" or self.session_id is None:
            lost = ConnectionLost(self.detail, reason=self.reason, close_code=self.close_code)
            if self.reason == "protocol_error":
                lost.__cause__ = RemoteProtocolError(self.detail, close_code=self.close_code)
            return lost
        kind = TargetCrashed if self.kind == "crash" else SessionGone
        return kind(self.detail, reason=self.reason, session_id=self.session_id, target_id=self.target_id)


Failure = Refusal | Loss | Malformed
Outcome = Result | Failure


def failure_of(outcome: Failure, method: str, session_id: SessionId | None) -> CdpError:
    """Make a new exception for a command that has no result."""
    if isinstance(outcome, Refusal):
        return CommandRefused(
            code=outcome.code, message=outcome.message, data=outcome.data, method=method, session_id=session_id
        )
    if isinstance(outcome, Loss):
        return outcome.error()
    return RemoteProtocolError(
        f"The reply to {method} cannot be read: {outcome.reason} ({outcome.size} bytes); "
        "the command may have been carried out."
    )


class Waiter(Protocol):
    """An object that receives the outcome of one command."""

    def settle(self, outcome: Outcome, /) -> None:
        """Take the outcome of the command."""
