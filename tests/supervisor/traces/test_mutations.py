"""Each demand can fail: with one rule of the machine taken out, a trace that rests on it is not judged right any more.

A rule is taken out by what follows from it: a move of the dialogs' table is another one, a function does nothing.
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
from cdp_supervisor.sansio import dialogs, event_params, frames, pages, step
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


def deaf(method: str) -> Take:
    def take(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delitem(step.EVENTS, method)

    return take


def blind(module: ModuleType, *names: str) -> Take:
    """These fields are not read."""

    def take(monkeypatch: pytest.MonkeyPatch) -> None:
        def text(given: Any, name: str, *most: int) -> str:
            return "" if name in names else event_params.text(given, name, *most)

        monkeypatch.setattr(module, "text", text)

    return take


def unsaid(method: str, name: str) -> Take:
    """This field of an event is not read."""

    def take(monkeypatch: pytest.MonkeyPatch) -> None:
        rule = step.EVENTS[method]

        def read(transition: Transition, event: Event) -> None:
            left = {each: value for each, value in event.params.items() if each != name}
            rule(transition, Event(method=method, raw=Raw(json.dumps(left).encode()), session_id=event.session_id))

        monkeypatch.setitem(step.EVENTS, method, read)

    return take


def every_session_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no other were on its target."""
    monkeypatch.setattr(pages, "Attachment", lambda **given: Attachment(**{**given, "primary": True}))


@attrs.frozen
class Mutation:
    """A rule taken out, and a trace that tells."""

    name: str
    take: Take
    trace: str


MUTATIONS = (
    Mutation("navigation keeps what is below", idle(frames, "_below", []), "frames_oopif_removed"),
    Mutation("the older of two says nothing of the newer", move("open", "superseded", Move()), "dialog_in_frames"),
    Mutation(
        "closed while we answer: somebody else",
        move("answering", "closed", Move(settle="remote", reason="other_client")),
        "dialog_basic",
    ),
    Mutation(
        "our reply says nothing",
        move("closed", "reply_ok", Move(settle="remote", reason="unconfirmed")),
        "dialog_basic",
    ),
    Mutation(
        "closed while open: we", move("open", "closed", Move(settle="by", reason="answered")), "dialog_two_clients"
    ),
    Mutation("closed while open: still there", move("open", "closed", Move()), "dialog_navigate_while_open"),
    Mutation(
        "refused: answered",
        move("answering", "refused_inactive", Move(settle="by", reason="answered")),
        "dialog_pagehide",
    ),
    Mutation("a session's end changes nothing", move("open", "session_lost", Move()), "dialog_attach_late"),
    Mutation(
        "a session's end closes",
        move("open", "session_lost", Move(settle="remote", reason="closed_elsewhere")),
        "dialog_close_and_crash",
    ),
    Mutation("frames take no dialog with them", idle(dialogs, "frame_gone"), "hs_dialog_superseded"),
    Mutation("every session counts", every_session_counts, "dialog_wedge_recovery"),
    Mutation("what targets show is not read", deaf("Target.targetInfoChanged"), "hermes_frames_many"),
    Mutation("the frame above is not read", blind(frames, "parentFrameId", "parentId"), "frames_existing"),
    Mutation("trees are not read", idle(frames, "read_tree"), "frames_existing"),
    Mutation("a new process is not told", idle(frames, "attached_as_oopif"), "frames_promote"),
    Mutation("going to another process is going", unsaid("Page.frameDetached", "reason"), "frames_promote"),
    Mutation("navigations are not heard", deaf("Page.frameNavigated"), "frames_basic"),
    Mutation("frames come unheard", deaf("Page.frameAttached"), "hermes_frames_many"),
    Mutation("frames go unheard", deaf("Page.frameDetached"), "frames_oopif_removed"),
    Mutation("pages go unheard", deaf("Target.targetDestroyed"), "dialog_close_and_crash"),
    Mutation("a page that was replaced stays", blind(pages, "subtype"), "frames_prerender"),
    Mutation("the end of the link is not told", idle(pages, "link_lost"), "dialog_basic"),
    Mutation("the end never comes", idle(step, "_finish_stop"), "dialog_basic"),
    Mutation("time passes unseen", idle(Transition, "due"), "dialog_popup"),
    Mutation("nobody is listened to after the first", idle(pages, "_leave_target"), "bridge_messages"),
)


def wrong(path: Path) -> bool:
    """Whether something is found."""
    records = list(read_trace(path))
    try:
        links = follower.follow(records, after=consistency.look)
    except (AssertionError, KeyError):
        return True
    return bool(verdict.judge(path.stem, path.with_suffix(".md"), links))


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each.name)
def test_a_rule_taken_out_is_seen(mutation: Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    path = TRACES / f"{mutation.trace}.jsonl"
    assert not wrong(path)
    mutation.take(monkeypatch)
    assert wrong(path)


def test_a_machine_that_keeps_something_to_itself_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two replays differ, where anything but the inputs counts."""
    numbers = itertools.count()

    def text(given: Any, name: str, *most: int) -> str:
        return str(next(numbers)) if name == "title" else event_params.text(given, name, *most)

    def replay() -> list[Any]:
        seen: list[Any] = []
        records = read_trace(TRACES / "dialog_basic.jsonl")
        follower.follow(records, after=lambda _place, link: seen.append(link.runner.snapshot()))
        return seen

    assert replay() == replay()
    monkeypatch.setattr(pages, "text", text)
    assert replay() != replay()
