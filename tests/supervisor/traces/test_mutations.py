"""Each demand can fail: with one rule removed, a trace that needs the rule gets complaints.

A rule is removed by a change of its effect: another move in the dialog table, or a function that does nothing.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import pytest

from cdp_core.sansio.messages import Event
from cdp_core.sansio.structs import Raw
from cdp_core.tracing.file import read_trace
from cdp_supervisor.sansio import dialogs, event_params, frames, pages, step, stopping
from cdp_supervisor.sansio.dialog_table import TABLE, Move
from cdp_supervisor.sansio.state import Attachment
from cdp_supervisor.sansio.transition import Transition
from support.traces import consistency, follower, verdict

TRACES = Path(__file__).parents[2] / "traces"

Take = Callable[[pytest.MonkeyPatch], None]


def move(phase: str, trigger: str, instead: Move) -> Take:
    def take(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(TABLE, (phase, trigger), instead)

    return take


def idle(module: Any, name: str, answer: Any = None) -> Take:
    def take(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, name, lambda *_args, **_named: answer)

    return take


def ignoring(method: str) -> Take:
    def take(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delitem(step.EVENTS, method)

    return take


def without_fields(module: ModuleType, *names: str) -> Take:
    """Read these fields as empty."""

    def take(monkeypatch: pytest.MonkeyPatch) -> None:
        def text(params: Any, name: str, *most: int) -> str:
            return "" if name in names else event_params.text(params, name, *most)

        monkeypatch.setattr(module, "text", text)

    return take


def without_param(method: str, name: str) -> Take:
    """Remove this parameter from an event."""

    def take(monkeypatch: pytest.MonkeyPatch) -> None:
        rule = step.EVENTS[method]

        def read(transition: Transition, event: Event) -> None:
            left = {each: value for each, value in event.params.items() if each != name}
            rule(transition, Event(method=method, raw=Raw(json.dumps(left).encode()), session_id=event.session_id))

        monkeypatch.setitem(step.EVENTS, method, read)

    return take


def every_session_is_primary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every session primary, as if it were the only one on its target."""
    monkeypatch.setattr(pages, "Attachment", lambda **fields: Attachment(**{**fields, "primary": True}))


@attrs.frozen
class Mutation:
    """A removed rule, and a trace that needs it."""

    name: str
    take: Take
    trace: str


MUTATIONS = (
    Mutation("a navigation keeps the descendants", idle(frames, "_below", []), "frames_oopif_removed"),
    Mutation("an open dialog is not superseded", move("open", "superseded", Move()), "dialog_in_frames"),
    Mutation(
        "a close while answering is another client's",
        move("answering", "closed", Move(settle="remote", reason="other_client")),
        "dialog_basic",
    ),
    Mutation(
        "the reply to our answer confirms nothing",
        move("closed", "reply_ok", Move(settle="remote", reason="unconfirmed")),
        "dialog_basic",
    ),
    Mutation(
        "a close while open is ours", move("open", "closed", Move(settle="by", reason="answered")), "dialog_two_clients"
    ),
    Mutation("a close while open is ignored", move("open", "closed", Move()), "dialog_navigate_while_open"),
    Mutation(
        "a refused answer counts as answered",
        move("answering", "refused_inactive", Move(settle="by", reason="answered")),
        "dialog_pagehide",
    ),
    Mutation("the end of a session is ignored", move("open", "session_lost", Move()), "dialog_attach_late"),
    Mutation(
        "the end of a session closes its dialogs",
        move("open", "session_lost", Move(settle="remote", reason="closed_elsewhere")),
        "dialog_close_and_crash",
    ),
    Mutation("a removed frame keeps its dialog", idle(dialogs, "frame_gone"), "hs_dialog_superseded"),
    Mutation("every session is primary", every_session_is_primary, "dialog_wedge_recovery"),
    Mutation("Target.targetInfoChanged is ignored", ignoring("Target.targetInfoChanged"), "hermes_frames_many"),
    Mutation("parent ids are not read", without_fields(frames, "parentFrameId", "parentId"), "frames_existing"),
    Mutation("frame trees are not read", idle(frames, "read_tree"), "frames_existing"),
    Mutation("a frame's own session is ignored", idle(frames, "attached_as_oopif"), "frames_promote"),
    Mutation("a swap removes the frame", without_param("Page.frameDetached", "reason"), "frames_promote"),
    Mutation("Page.frameNavigated is ignored", ignoring("Page.frameNavigated"), "frames_basic"),
    Mutation("Page.frameAttached is ignored", ignoring("Page.frameAttached"), "hermes_frames_many"),
    Mutation("Page.frameDetached is ignored", ignoring("Page.frameDetached"), "frames_oopif_removed"),
    Mutation("Target.targetDestroyed is ignored", ignoring("Target.targetDestroyed"), "dialog_close_and_crash"),
    Mutation("a page that was replaced stays", without_fields(pages, "subtype"), "frames_prerender"),
    Mutation("the loss of the link is ignored", idle(pages, "link_lost"), "dialog_basic"),
    Mutation("a stop never ends", idle(stopping, "go_on"), "dialog_basic"),
    Mutation("no deadline is due", idle(Transition, "due"), "dialog_popup"),
    Mutation("no second session becomes primary", idle(pages, "_leave_target"), "bridge_messages"),
)


def has_complaints(path: Path) -> bool:
    """Return True if a check fails on the trace or the verdict complains."""
    records = list(read_trace(path))
    try:
        links = follower.follow(records, after=consistency.look)
    except (AssertionError, KeyError):
        return True
    return bool(verdict.judge(path.stem, path.with_suffix(".md"), links))


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each.name)
def test_a_trace_gets_complaints_with_a_rule_removed(mutation: Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    path = TRACES / f"{mutation.trace}.jsonl"
    assert not has_complaints(path)
    mutation.take(monkeypatch)
    assert has_complaints(path)


def test_two_replays_differ_if_the_state_machine_has_hidden_state(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = itertools.count()

    def text(params: Any, name: str, *most: int) -> str:
        return str(next(numbers)) if name == "title" else event_params.text(params, name, *most)

    def replay() -> list[Any]:
        seen: list[Any] = []
        records = read_trace(TRACES / "dialog_basic.jsonl")
        follower.follow(records, after=lambda _place, link: seen.append(link.runner.snapshot()))
        return seen

    assert replay() == replay()
    monkeypatch.setattr(pages, "text", text)
    assert replay() != replay()
