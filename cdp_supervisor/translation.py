"""Conversions that every event source shares: engine outputs to inputs, effects to plain commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cdp_core.sansio.messages import SessionId
from cdp_core.sansio.router import SessionClosed, SessionOpened
from cdp_core.sansio.structs import asdict
from cdp_core.sansio.target_table import AUTO_ATTACH, DISCOVER, NO_AUTO_ATTACH
from cdp_supervisor.sansio import inputs
from cdp_supervisor.sansio.effects import AutoAttach, Detach, Discover, Effect, Enable, Release, Resume
from cdp_supervisor.sansio.inputs import Input, Instant

Command = tuple[str, Mapping[str, Any] | None, SessionId | None]


def opened_input(opened: SessionOpened, at: Instant, generation: int) -> Input:
    return inputs.SessionOpened(at=at, generation=generation, **asdict(opened))


def closed_input(closed: SessionClosed, at: Instant, generation: int) -> Input:
    reason = "link_lost" if closed.loss.kind == "connection" else closed.loss.reason
    return inputs.SessionClosed(at=at, generation=generation, session_id=closed.session_id, reason=reason)


def commands_of(effect: Effect) -> tuple[Command, ...]:
    """Return the commands of an effect on a connection that no other code shares; empty if it has none."""
    if isinstance(effect, Discover):
        return (("Target.setDiscoverTargets", DISCOVER, None),)
    if isinstance(effect, AutoAttach):
        return (("Target.setAutoAttach", AUTO_ATTACH, effect.session_id),)
    if isinstance(effect, Enable):
        return ((f"{effect.domain}.enable", None, effect.session_id),)
    if isinstance(effect, Resume):
        return (("Runtime.runIfWaitingForDebugger", None, effect.session_id),)
    if isinstance(effect, Detach):
        return (("Target.detachFromTarget", {"sessionId": effect.session_id}, effect.parent),)
    if isinstance(effect, Release):
        detached = [("Target.detachFromTarget", {"sessionId": each}, None) for each in effect.sessions]
        return (("Target.setAutoAttach", NO_AUTO_ATTACH, None), *detached)
    return ()
