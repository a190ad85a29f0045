"""How a command ends: each failure as an exception of its own."""

from __future__ import annotations

import pytest

from cdp_core.errors import CommandRefused, ConnectionLost, Gone, RemoteProtocolError, SessionGone, TargetCrashed
from cdp_core.sansio.messages import CommandId, Malformed, Refusal, SessionId, TargetId
from cdp_core.sansio.outcomes import Loss, failure_of


def test_a_connection_loss_on_a_session_is_a_connection_lost() -> None:
    loss = Loss(kind="connection", reason="closed", detail="The link was closed here.", session_id=SessionId("A"))
    assert isinstance(loss.error(), ConnectionLost)


def test_each_failure_of_a_command_is_a_new_error_with_the_reason() -> None:
    session = SessionId("A")
    refusal = Refusal(id=CommandId(1), code=-32602, message="Invalid parameters", data="url: string value expected")
    refused = failure_of(refusal, "Page.navigate", session)
    assert isinstance(refused, CommandRefused)
    assert (refused.code, refused.data, refused.method, refused.session_id) == (
        -32602,
        refusal.data,
        "Page.navigate",
        session,
    )
    loss = Loss(kind="session", reason="detached", detail="The session has ended.", session_id=session)
    lost = failure_of(loss, "Page.navigate", session)
    assert isinstance(lost, SessionGone)
    assert lost is not failure_of(loss, "Page.navigate", session)  # a traceback belongs to one raise
    unread = failure_of(Malformed(reason="it is not JSON", size=7, id=CommandId(1)), "Page.navigate", session)
    assert isinstance(unread, RemoteProtocolError)
    assert "Page.navigate" in str(unread)
    assert "7 bytes" in str(unread)


def test_a_fault_of_the_peer_is_the_cause_of_the_loss() -> None:
    loss = Loss(kind="connection", reason="protocol_error", detail="It was binary.", close_code=1003)
    cause = loss.error().__cause__
    assert isinstance(cause, RemoteProtocolError)
    assert cause.close_code == 1003
    assert Loss(kind="connection", reason="closed", detail="It was closed.").error().__cause__ is None


@pytest.mark.parametrize(
    ("kind", "error"), [("session", SessionGone), ("crash", TargetCrashed), ("connection", ConnectionLost)]
)
def test_the_kind_of_a_loss_is_the_class_of_its_error(kind: str, error: type[Gone]) -> None:
    session, target = SessionId("A"), TargetId("T")
    made = Loss(kind=kind, reason="detached", detail="It ended.", session_id=session, target_id=target).error()
    assert type(made) is error
    assert (made.reason, str(made)) == ("detached", "It ended.")
    if not isinstance(made, ConnectionLost):
        assert (made.session_id, made.target_id) == (session, target)  # type: ignore[attr-defined]


def test_the_loss_of_the_root_session_is_that_of_the_connection() -> None:
    lost = Loss(kind="session", reason="closed", detail="It ended.", close_code=1006).error()
    assert isinstance(lost, ConnectionLost)
    assert lost.close_code == 1006
