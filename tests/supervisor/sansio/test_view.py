"""The snapshot: the same for equal states, capped with a mark, and a value for any thread."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

import attrs
import pytest
from immutables import Map

from cdp_core.sansio.messages import BrowserContextId, SessionId, TargetId
from cdp_core.sansio.structs import replace
from cdp_supervisor.sansio.console import ConsoleRing
from cdp_supervisor.sansio.effects import Effect, Send
from cdp_supervisor.sansio.inputs import Input
from cdp_supervisor.sansio.state import (
    CallRecord,
    ExecutionContext,
    HostedExtension,
    LinkState,
    Page,
    State,
    initial_state,
)
from cdp_supervisor.sansio.view import (
    ExtensionViews,
    PageView,
    Snapshot,
    Views,
    snapshot,
)
from support import state_parts

T, U, S, UP = state_parts.T, state_parts.U, state_parts.S, state_parts.UP
moment, dialog, frame, page = state_parts.moment, state_parts.dialog, state_parts.frame, state_parts.page
attachment, state_of = state_parts.attachment, state_parts.state_of


def view_of(made: Page, **more: Any) -> PageView:
    [seen] = snapshot(state_of(made, **more)).pages
    return seen


def ids(tree: Any) -> list[str]:
    return [each["frame_id"] for each in tree["children"]]


# ── frames ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_page_with_an_unknown_top_frame_has_no_tree() -> None:
    seen = view_of(page(frame("F", "T")))
    assert (seen.tree, list(seen.frames()), seen.frame_count) == (None, [], 1)
    assert seen.frame_tree() == {"top": None, "children": [], "truncated": False}


def test_frames_are_in_the_order_of_the_tree_and_siblings_in_that_of_their_numbers() -> None:
    seen = view_of(
        page(frame("B", "T", 3), frame("T", None, 1), frame("BA", "B", 9), frame("A", "T", 2), frame("AA", "A", 5))
    )
    assert [each.frame_id for each in seen.frames()] == ["T", "A", "AA", "B", "BA"]
    assert ids(seen.frame_tree()) == ["A", "AA", "B", "BA"]


def test_a_frame_is_shown_with_all_its_fields() -> None:
    oopif = frame("O", "T", url="https://b.example/", name="n", origin="https://b.example", oopif=True)
    tree = view_of(page(frame("T", None), oopif)).frame_tree()
    [shown] = tree["children"]
    assert (tree["top"]["frame_id"], tree["top"]["is_oopif"], tree["truncated"]) == ("T", False, False)
    assert shown == {
        "frame_id": "O",
        "parent_frame_id": "T",
        "url": "https://b.example/",
        "origin": "https://b.example",
        "name": "n",
        "is_oopif": True,
        "session_id": "S",
        "load_state": "unknown",
    }


def test_a_frame_does_not_show_a_session_that_is_gone() -> None:
    made = page(frame("T", None), frame("O", "T", session_id=SessionId("gone")), frame("P", "T", session_id=None))
    assert [each.session_id for each in view_of(made).frames()] == ["S", None, None]


def test_a_child_frame_that_only_its_parent_lists_is_left_out() -> None:
    made = page(frame("T", None), frame("A", "T"))
    made = replace(made, children=made.children.set("T", Map({"A": None, "unknown": None})))
    assert [each.frame_id for each in view_of(made).frames()] == ["T", "A"]


def test_in_a_cycle_each_frame_is_shown_once() -> None:
    """A browser, or a proxy in front of it, may send anything."""
    made = page(frame("T", "B", 1), frame("A", "T", 2), frame("B", "A", 3))
    assert [each.frame_id for each in view_of(made).frames()] == ["T", "A", "B"]


def test_a_very_deep_tree_is_shown() -> None:
    deep = page(frame("T", None), *(frame(f"{n}", f"{n - 1}" if n else "T", n) for n in range(5_000)))
    assert sum(1 for _ in view_of(deep).frames()) == 5_001


@pytest.mark.parametrize(("below", "truncated"), [(29, False), (30, False), (31, True)])
def test_thirty_frames_are_shown_and_a_larger_tree_is_marked_as_truncated(below: int, truncated: bool) -> None:
    made = page(frame("T", None), *(frame(f"F{n}", "T", n) for n in range(below)))
    tree = view_of(made).frame_tree()
    assert (ids(tree), tree["truncated"]) == ([f"F{n}" for n in range(below)][:30], truncated)
    whole = view_of(made).frame_tree(most=None)
    assert (len(whole["children"]), whole["truncated"]) == (below, False)
    assert ids(view_of(made).frame_tree(most=1)) == ["F0"]
    assert view_of(made).to_dict()["frame_tree"]["truncated"] == truncated


def test_out_of_process_frames_are_shown_two_levels_deep() -> None:
    """Frames in the page's own process are shown at any depth."""
    nested = [frame(f"O{n}", f"O{n - 1}" if n else "T", n, oopif=True) for n in range(4)]
    plain = [frame("P", "T", 9), frame("PP", "P"), frame("PPP", "PP"), frame("in O1", "O1", 8)]
    made = page(frame("T", None), *nested, *plain)
    tree = view_of(made).frame_tree()
    assert (ids(tree), tree["truncated"]) == (["O0", "O1", "in O1", "P", "PP", "PPP"], True)
    whole = view_of(made).frame_tree(depth=None)
    assert (ids(whole), whole["truncated"]) == (["O0", "O1", "O2", "O3", "in O1", "P", "PP", "PPP"], False)


def test_frames_beyond_the_limit_are_shown_as_left_out() -> None:
    seen = view_of(page(frame("T", None), left_out=3))
    assert (seen.frames_left_out, seen.frame_tree(most=None, depth=None)["truncated"]) == (3, True)


# ── the snapshot ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_pages_are_in_the_order_of_their_numbers() -> None:
    pages = [page(id=TargetId(name), number=number) for number, name in ((3, "A"), (1, "C"), (2, "B"))]
    found = snapshot(state_of(*pages))
    assert [each.target_id for each in found.pages] == ["C", "B", "A"]
    assert found.page("B") is found.pages[1]
    assert found.page("other") is None


def test_a_page_is_shown_with_all_its_fields() -> None:
    made = page(
        frame("T", None), url="u", title="t", opener_id=U, context_id=BrowserContextId("C"), stale=True, recent=()
    )
    shown = view_of(made).to_dict()
    assert {name: shown[name] for name in ("target_id", "url", "title", "opener_id", "context_id", "session_id")} == {
        "target_id": "T",
        "url": "u",
        "title": "t",
        "opener_id": "U",
        "context_id": "C",
        "session_id": "S",
    }
    assert (shown["stale"], shown["frame_count"], shown["health"]["state"]) == (True, 1, "ok")


def test_the_tree_of_a_blocked_page_is_stale() -> None:
    """It cannot be read (fact 15)."""
    assert view_of(page(blocked=moment(6.0))).stale
    assert not view_of(page()).stale


def test_pending_dialogs_are_in_the_order_of_their_numbers_and_recent_ones_in_that_of_their_end() -> None:
    first = page(dialogs=(dialog(10), dialog(2)), recent=(dialog(4, closed_by="agent", closed=moment(9.0)),))
    second = page(id=U, number=2, dialogs=(dialog(9),), recent=(dialog(1, closed_by="agent", closed=moment(3.0)),))
    gone = (dialog(5, closed_by="remote", closed=moment(9.0)), dialog(3, closed_by="remote", closed=moment(1.0)))
    found = snapshot(state_of(first, second, departed=gone))
    assert [each.id for each in found.pending_dialogs] == ["d-2", "d-9", "d-10"]
    assert [each.id for each in found.recent_dialogs] == ["d-3", "d-1", "d-4", "d-5"]  # by their end
    assert [each.id for each in found.pages[0].pending_dialogs] == ["d-10", "d-2"]
    assert [each.id for each in found.pages[1].recent_dialogs] == ["d-1"]


def test_the_link_and_the_sessions_are_shown() -> None:
    down = LinkState(phase="down", reason="closed", since=moment(5.0), failures=2, owned=False, browser_changed=True)
    found = snapshot(state_of(sessions=(attachment("S2", "U"), attachment("S1", "T")), link=down, generation=7))
    assert not found.active
    assert attrs.asdict(found.link) == {
        "phase": "down",
        "reason": "closed",
        "generation": 7,
        "since": 1_005.0,
        "failures": 2,
        "owned": False,
        "browser_changed": True,
    }
    assert [(each.session_id, each.target_id) for each in found.sessions] == [("S1", "T"), ("S2", "U")]
    assert snapshot(state_of()).active


def test_calls_that_a_dialog_blocks_are_shown_by_age() -> None:
    def call_record(number: int, **more: Any) -> CallRecord:
        fields: dict[str, Any] = {"method": "Runtime.evaluate", "session_id": S, "page_id": T, "since": moment(2.0)}
        return CallRecord(
            id=f"c-{number}", number=number, ticket=number, request_id=None, raises=True, **{**fields, **more}
        )

    calls = [call_record(10, blocked=True), call_record(9, blocked=True), call_record(8)]
    found = snapshot(state_of(page(), calls=Map({each.id: each for each in calls})))
    assert [(each.call_id, each.method, each.target_id, each.since) for each in found.blocked_calls] == [
        ("c-9", "Runtime.evaluate", "T", 1_002.0),
        ("c-10", "Runtime.evaluate", "T", 1_002.0),
    ]
    assert [each["call_id"] for each in found.to_dict()["blocked_calls"]] == ["c-9", "c-10"]


def test_the_json_of_an_empty_snapshot_has_only_the_required_keys() -> None:
    shown = snapshot(state_of(sequence=4)).to_dict()
    assert list(shown) == ["schema_version", "sequence", "active", "link", "pages", "pending_dialogs"]
    assert (shown["schema_version"], shown["sequence"], shown["active"]) == (1, 4, True)
    assert snapshot(state_of()).to_dict(full=True)["sessions"] != []


def test_a_full_snapshot_is_json_and_leaves_out_nothing() -> None:
    frames = [frame("T", None), *(frame(f"F{n}", "T", n) for n in range(40))]
    state = state_of(
        page(*frames, dialogs=(dialog(deadline=12.0),), recent=(dialog(2, closed_by="agent", closed=moment(3.0)),)),
        page_gone=(U, "closed"),
        focus=T,
        extensions=initial_state(extensions=(ConsoleRing(),)).extensions,
    )
    found = snapshot(state)
    shown = json.loads(json.dumps(found.to_dict(full=True, now=5.0)))
    assert (shown["focus"], shown["page_gone"]) == ("T", {"target_id": "U", "reason": "closed"})
    assert (shown["extensions"], found.extensions["console"]) == ({"console": {"pages": {}}}, {"pages": {}})
    assert [each["session_id"] for each in shown["sessions"]] == ["S"]
    assert shown["pending_dialogs"][0]["time_left"] == 7.0
    assert shown["recent_dialogs"][0]["closed_by"] == "agent"
    assert shown["frame_tree"] == shown["pages"][0]["frame_tree"]
    assert len(shown["frame_tree"]["children"]) == 40
    capped = found.to_dict()
    assert (len(capped["frame_tree"]["children"]), len(capped["pages"][0]["frame_tree"]["children"])) == (30, 30)
    assert capped["frame_tree"]["truncated"]
    assert "sessions" not in capped
    assert "age" not in capped["pending_dialogs"][0]


def test_a_handmade_snapshot_may_focus_an_unknown_page() -> None:
    shown = attrs.evolve(snapshot(state_of(page())), focus=TargetId("gone")).to_dict()
    assert shown["focus"] == "gone"
    assert "frame_tree" not in shown


ONE, TWO = page(), page(id=U, number=2)


# ── reuse of views ────────────────────────────────────────────────────────────────────────────────────────────────────


def later(state: State, *pages: Page, **more: Any) -> State:
    return replace(
        state, sequence=state.sequence + 1, pages=Map({**state.pages, **{each.id: each for each in pages}}), **more
    )


def test_if_only_time_has_passed_the_snapshot_is_the_same_object() -> None:
    views, state = Views(), state_of(ONE)
    first = views.snapshot(state)
    assert views.snapshot(replace(state, now=99.0)) is first
    assert views.snapshot(later(state)) is not first


def test_one_changed_page_rebuilds_one_view() -> None:
    views, state = Views(), state_of(ONE, TWO)
    first = views.snapshot(state)
    second = views.snapshot(later(state, replace(TWO, title="new")))
    assert second.pages[0] is first.pages[0]
    assert (first.pages[1].title, second.pages[1].title) == ("", "new")
    assert second.sessions is first.sessions


def test_the_view_of_a_page_follows_changes_outside_the_page() -> None:
    """Its health depends on the link, and the sessions of its frames may end."""
    views, state = Views(), state_of(page(frame("T", None)))
    views.snapshot(state)
    down = later(state, link=replace(UP, phase="down"))
    assert views.snapshot(down).pages[0].health.state == "link_down"
    gone = later(down, link=UP, sessions=Map())
    found = views.snapshot(gone)
    assert (found.pages[0].health.state, found.sessions) == ("ok", ())
    assert [each.session_id for each in found.pages[0].frames()] == [None]


@pytest.mark.parametrize("silent", [{"busy_sessions": Map({S: moment(1.0)})}, {"blocked": moment(1.0)}])
def test_the_view_of_a_silent_page_follows_the_dialogs_of_its_popups(silent: Any) -> None:
    """A dialog of a popup may explain why its opener does not answer (fact 16)."""
    views = Views()
    popup = page(id=U, number=2, opener_id=T)
    state = state_of(page(**silent), popup)
    assert "dialog" not in views.snapshot(state).pages[0].health.why.partition(":")[0]
    state = later(state, replace(popup, dialogs=(dialog(7, target_id=U),)))
    assert "dialog d-7" in views.snapshot(state).pages[0].health.why
    assert "dialog d-7" not in views.snapshot(later(state, popup)).pages[0].health.why


def test_a_snapshot_with_reused_views_equals_a_new_one() -> None:
    views, state = Views(), state_of(ONE)
    for change in range(6):
        state = later(state, page(id=TargetId(f"P{change % 3}"), number=5 + change, title=f"{change}"))
        assert plain(views.snapshot(state)) == plain(snapshot(state))


def plain(found: Snapshot) -> Any:
    return found.to_dict(full=True)


def test_views_of_pages_that_are_gone_are_dropped() -> None:
    views = Views()
    many = state_of(*(page(id=TargetId(f"P{number}"), number=number) for number in range(50)))
    views.snapshot(many)
    few = replace(many, sequence=2, pages=Map({key: many.pages[key] for key in list(many.pages)[:3]}))
    kept = views.snapshot(few)
    assert set(views._pages) == set(few.pages)
    again = views.snapshot(replace(few, sequence=3))
    assert all(new is old for new, old in zip(again.pages, kept.pages, strict=True))


# ── views of extensions ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@attrs.define
class Counting:
    """An extension that counts its inputs and the calls of `view`; `view` raises `raises` if given."""

    name: str = "counting"
    raises: type[BaseException] | None = None
    sends: int = 0
    view_calls: int = 0
    shows: Any = None
    events: frozenset[str] = frozenset({"Page.loadEventFired"})

    def initial(self) -> int:
        return 0

    def step(self, state: int, input: Input, /) -> tuple[int, Iterable[Effect]]:
        return state + 1, [Send(ticket=0, session_id=None, method="Browser.getVersion")] * self.sends

    def next_deadline(self, _state: int, /) -> float | None:
        return None

    def view(self, state: int, /) -> Any:
        self.view_calls += 1
        if self.raises is not None:
            raise self.raises("text of a page")
        return {"counted": state} if self.shows is None else self.shows


def views(*hosted: Counting, off: str = "") -> ExtensionViews:
    return ExtensionViews(tuple(HostedExtension(extension=each, state=3, off=off) for each in hosted))


def test_each_extension_is_shown_by_its_name_in_the_given_order() -> None:
    shown = views(Counting("b"), Counting("a"))
    assert list(shown) == ["b", "a"]
    assert len(shown) == 2
    assert shown == {"b": {"counted": 3}, "a": {"counted": 3}}


def test_a_view_is_made_once_and_only_when_it_is_read() -> None:
    """Most snapshots are read for their other parts."""
    extension = Counting()
    shown = views(extension)
    assert (list(shown), len(shown), extension.view_calls) == (["counting"], 1, 0)
    assert shown["counting"] is shown["counting"]
    assert extension.view_calls == 1


def test_reading_one_view_makes_no_other() -> None:
    wanted, other = Counting("wanted"), Counting("other")
    assert views(wanted, other)["wanted"] == {"counted": 3}
    assert (wanted.view_calls, other.view_calls) == (1, 0)


def test_an_unknown_extension_is_not_a_key() -> None:
    shown = views(Counting())
    assert shown.get("other") is None
    with pytest.raises(KeyError):
        shown["other"]


def test_a_view_that_raises_is_shown_as_off_and_the_others_are_shown() -> None:
    """Only the type is shown: the message may contain page text."""
    shown = views(Counting("broken", raises=ZeroDivisionError), Counting("sound"))
    assert shown == {"broken": {"off": "its view raised ZeroDivisionError"}, "sound": {"counted": 3}}


@pytest.mark.parametrize("odd", [[1], "text", 5, True])
def test_a_view_that_is_not_an_object_is_shown_as_off(odd: Any) -> None:
    assert views(Counting(shows=odd), Counting("sound")) == {
        "counting": {"off": "its view is not a JSON object"},
        "sound": {"counted": 3},
    }


@pytest.mark.parametrize(
    ("odd", "kind"),
    [
        ({"a": object()}, "TypeError"),
        ({"a": math.nan}, "ValueError"),
        ({("a",): 1}, "TypeError"),
        ({"a": {1}}, "TypeError"),
    ],
)
def test_a_view_that_is_not_json_is_shown_as_off(odd: Any, kind: str) -> None:
    """A snapshot is always valid JSON."""
    shown = views(Counting(shows=odd))
    assert shown == {"counting": {"off": f"its view raised {kind}"}}
    json.dumps(dict(shown))


def test_a_view_that_contains_itself_is_shown_as_off() -> None:
    circle: dict[str, Any] = {}
    circle["a"] = circle
    assert views(Counting(shows=circle)) == {"counting": {"off": "its view raised ValueError"}}


def test_an_exception_that_is_not_an_error_of_the_extension_propagates() -> None:
    """`KeyboardInterrupt` stops the program."""
    with pytest.raises(KeyboardInterrupt):
        views(Counting(raises=KeyboardInterrupt))["counting"]


def test_a_disabled_extension_shows_the_reason_and_its_view_is_not_called() -> None:
    extension = Counting()
    assert dict(views(extension, off="it raised ValueError")) == {"counting": {"off": "it raised ValueError"}}
    assert extension.view_calls == 0


def test_the_repr_of_views_shows_their_content() -> None:
    assert repr(views(Counting())) == "{'counting': {'counted': 3}}"
    assert repr(views()) == "{}"


def test_a_frame_shows_its_live_execution_contexts_by_world() -> None:
    live = ExecutionContext(session_id=S, clearings_before=0)
    worlds = Map({"": "1.1", "tools": "1.2", "over": "1.3"})
    made = replace(page(frame("T", None, worlds=worlds)), contexts=Map({"1.1": live, "1.2": live}))
    assert view_of(made).tree is not None
    assert view_of(made).tree.contexts == {"": "1.1", "tools": "1.2"}  # type: ignore[union-attr]
