"""Constructors for parts of a state, with defaults for the fields that a test does not set."""

from __future__ import annotations

from typing import Any

from immutables import Map

from cdp_core.sansio.messages import SessionId, TargetId
from cdp_core.sansio.structs import replace
from cdp_supervisor.sansio.inputs import Instant
from cdp_supervisor.sansio.state import Attachment, Dialog, Frame, LinkState, Page, State, initial_state

T, U, S = TargetId("T"), TargetId("U"), SessionId("S")
UP = LinkState(phase="up", since=Instant(mono=1.0, wall=1_001.0))


def moment(mono: float) -> Instant:
    return Instant(mono=mono, wall=1_000.0 + mono)


def dialog(number: int = 1, **more: Any) -> Dialog:
    fields: dict[str, Any] = {
        "id": f"d-{number}",
        "number": number,
        "target_id": T,
        "frame_id": "T",
        "session_id": S,
        "type": "confirm",
        "message": "Sure?",
        "default_prompt": "",
        "native": True,
        "opened": moment(2.0),
        "generation": 1,
    }
    return Dialog(**{**fields, **more})


def frame(id: str, parent: str | None, number: int = 0, **more: Any) -> Frame:
    return Frame(id=id, number=number, parent_id=parent, **{"session_id": S, **more})


def page(*frames: Frame, id: TargetId = T, number: int = 1, **more: Any) -> Page:
    children: Map[str, Map[str, None]] = Map()
    for each in frames:
        if each.parent_id is not None:
            children = children.set(each.parent_id, children.get(each.parent_id, Map()).set(each.id, None))
    fields = {"session_id": S, "stale": False, **more}
    return Page(id=id, number=number, frames=Map({each.id: each for each in frames}), children=children, **fields)


def attachment(session: str, target: str, **more: Any) -> Attachment:
    fields: dict[str, Any] = {"type": "page", "parent": None, "page_id": TargetId(target), "primary": True}
    return Attachment(session_id=SessionId(session), target_id=TargetId(target), **{**fields, **more})


def state_of(*pages: Page, sessions: tuple[Attachment, ...] = (attachment("S", "T"),), **more: Any) -> State:
    fields = {"link": UP, "sequence": 1, **more}
    return replace(
        initial_state(),
        pages=Map({each.id: each for each in pages}),
        sessions=Map({each.session_id: each for each in sessions}),
        **fields,
    )
