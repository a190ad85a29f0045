"""The frames of a page: how they are added, navigate, move between processes and are removed."""

from __future__ import annotations

from typing import Any, Final

import pytest

from cdp_supervisor.sansio.changes import FrameAdded, FrameNavigated, FrameRemoved
from cdp_supervisor.sansio.frames import MOST_WORLDS
from cdp_supervisor.sansio.options import Limits
from cdp_supervisor.sansio.requests import Call
from support import folded_machine

TREE: Final = "Page.getFrameTree"


def with_tree(*nodes: str, **options: Any) -> Any:
    return folded_machine.with_tree(*nodes, **options)


def attached(fold: Any, frame: str, parent: str = "P", *, on: str = "s-P") -> None:
    fold.event("Page.frameAttached", on=on, frameId=frame, parentFrameId=parent)


def navigated(fold: Any, frame: str, *, on: str = "s-P", type: str = "Navigation", **shown: Any) -> None:
    fold.event("Page.frameNavigated", on=on, frame={"id": frame, **shown}, type=type)


def detached(fold: Any, frame: str, reason: str = "remove", *, on: str = "s-P") -> None:
    fold.event("Page.frameDetached", on=on, frameId=frame, reason=reason)


def oopif(fold: Any, frame: str = "F", parent: str = "P", **info: Any) -> None:
    """Attach a session to a frame: it is out of process."""
    fold.attach(frame, "iframe", of="s-P", parentFrameId=parent, **info)


def frame_of(fold: Any, frame: str) -> Any:
    return fold.page().frames[frame]


def shown_frame(fold: Any, frame: str) -> Any:
    page = fold.shown().page("P")
    return next(each for each in page.frames() if each.frame_id == frame)


# ── added frames ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_frame_that_attaches_is_shown_below_its_parent() -> None:
    fold = with_tree("A")
    attached(fold, "B", "A")
    assert fold.tree() == {"P": {"A": {"B": {}}}}
    assert fold.reported(FrameAdded)[-1] == FrameAdded(frame_id="B", target_id="P", parent_id="A")


def test_a_frame_is_shown_once_its_parent_is_known() -> None:
    """The events of two sessions overtake each other (fact 38)."""
    fold = with_tree()
    attached(fold, "B", "A")
    assert fold.tree() == {"P": {}}
    attached(fold, "A")
    assert fold.tree() == {"P": {"A": {"B": {}}}}


@pytest.mark.parametrize("frame", ["", "P"])
def test_an_attached_frame_with_an_empty_id_or_the_id_of_the_page_is_ignored(frame: str) -> None:
    fold = with_tree()
    before = fold.page()
    attached(fold, frame)
    assert fold.page() is before


def test_reports_of_a_frame_from_another_session_are_stale_and_ignored() -> None:
    fold = with_tree("F")
    oopif(fold, url="http://own/")
    before = fold.page()
    attached(fold, "F")
    navigated(fold, "F", url="http://old/")
    fold.event("Page.navigatedWithinDocument", on="s-P", frameId="F", url="http://older/")
    assert fold.page() is before
    created(fold, "F", "1.1")
    assert fold.page().frames["F"] is before.frames["F"]


def test_a_frame_that_attaches_again_has_moved_back_to_its_parent_s_process() -> None:
    """Demotion: its own session has ended (fact 39)."""
    fold = with_tree("F")
    oopif(fold)
    fold.detach("s-F", "parent_ended")
    assert frame_of(fold, "F").oopif
    attached(fold, "F")
    assert not frame_of(fold, "F").oopif
    assert frame_of(fold, "F").session_id == "s-P"
    assert shown_frame(fold, "F").session_id is None  # it shares that of its page


def test_frames_beyond_the_limit_are_counted_and_the_view_shows_it() -> None:
    fold = with_tree("A", limits=Limits(frames_kept=2))
    attached(fold, "B")
    navigated(fold, "C", parentId="P")
    oopif(fold, "F")
    assert fold.tree() == {"P": {"A": {}}}
    page = fold.shown().page("P")
    assert page.frames_left_out == 3
    assert page.frame_tree()["truncated"]


# ── navigations ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_navigation_sets_url_name_and_origin_of_a_frame() -> None:
    fold = with_tree("A")
    navigated(fold, "A", url="http://b/", urlFragment="#f", name="n", securityOrigin="http://b")
    shown = shown_frame(fold, "A")
    assert (shown.url, shown.name, shown.origin) == ("http://b/#f", "n", "http://b")
    assert fold.reported(FrameNavigated) == [FrameNavigated(frame_id="A", target_id="P")]
    assert fold.page().url == "http://P/"


def test_a_navigation_of_the_top_frame_updates_the_page_and_ends_its_crash() -> None:
    fold = with_tree()
    fold.event("Inspector.targetCrashed", on="s-P")
    navigated(fold, "P", url="http://b/")
    assert fold.page().url == "http://b/"
    assert fold.health() == "ok"


def test_a_navigation_removes_the_descendants_and_publishes_it() -> None:
    """The browser does not report the removal of the frames of a left document (fact 9)."""
    fold = with_tree("A", "A/B", "A/B/C", "D")
    navigated(fold, "A", url="http://b/")
    assert fold.tree() == {"P": {"A": {}, "D": {}}}
    assert sorted(each.frame_id for each in fold.reported(FrameRemoved)) == ["B", "C"]


def test_a_navigation_may_be_the_first_report_of_a_frame() -> None:
    fold = with_tree()
    navigated(fold, "A", parentId="P", url="http://b/")
    assert shown_frame(fold, "A").url == "http://b/"
    assert shown_frame(fold, "A").parent_frame_id == "P"


def test_the_top_frame_has_no_parent_whatever_the_event_contains() -> None:
    fold = folded_machine.on_a_page()
    navigated(fold, "P", parentId="X", url="http://b/")
    assert fold.tree() == {"P": {}}
    assert frame_of(fold, "P").parent_id is None


def test_a_navigation_without_a_frame_is_ignored() -> None:
    fold = with_tree()
    before = fold.page()
    fold.event("Page.frameNavigated", on="s-P", type="Navigation")
    assert fold.page() is before


def test_a_restored_document_keeps_frames_with_a_session_and_its_tree_is_read_again() -> None:
    """Fact 43: the restored frames are not reported, except those with their own session."""
    fold = with_tree("A", "F")
    oopif(fold)
    tree_requests = len(fold.all_sent(TREE, on="s-P"))
    navigated(fold, "P", type="BackForwardCacheRestore", url="http://back/")
    assert fold.tree() == {"P": {"F": {}}}
    assert len(fold.all_sent(TREE, on="s-P")) == tree_requests + 1


def test_the_tree_is_read_again_even_if_the_restored_frame_is_beyond_the_limit() -> None:
    fold = with_tree(limits=Limits(frames_kept=1))
    tree_requests = len(fold.all_sent(TREE, on="s-P"))
    navigated(fold, "A", type="BackForwardCacheRestore", parentId="P")
    assert len(fold.all_sent(TREE, on="s-P")) == tree_requests + 1


def test_a_same_document_navigation_changes_the_url_and_no_descendant() -> None:
    fold = with_tree("A", "A/B")
    fold.event("Page.navigatedWithinDocument", on="s-P", frameId="A", url="http://A/#x")
    assert shown_frame(fold, "A").url == "http://A/#x"
    assert fold.page().url == "http://P/"
    fold.event("Page.navigatedWithinDocument", on="s-P", frameId="P", url="http://P/#y")
    assert fold.page().url == "http://P/#y"
    assert fold.tree() == {"P": {"A": {"B": {}}}}


def test_a_same_document_navigation_of_an_unknown_frame_is_ignored() -> None:
    fold = with_tree()
    before = fold.page()
    fold.event("Page.navigatedWithinDocument", on="s-P", frameId="X", url="http://x/")
    assert fold.page() is before


# ── execution contexts ────────────────────────────────────────────────────────────────────────────────────────────────


def created(fold: Any, frame: str, unique: str, *, default: bool = True) -> None:
    context = {"uniqueId": unique, "auxData": {"frameId": frame, "isDefault": default}}
    fold.event("Runtime.executionContextCreated", on="s-P", context=context)


def destroyed(fold: Any, unique: str) -> None:
    fold.event("Runtime.executionContextDestroyed", on="s-P", executionContextUniqueId=unique)


def context_of(fold: Any, frame: str) -> str:
    """Return the execution context that a script for this frame is sent to; empty if it is not sent."""
    before = len(fold.all_sent("Runtime.evaluate"))
    fold.ask(Call(method="Runtime.evaluate", params={"expression": "1"}, frame_id=frame))
    sent = fold.all_sent("Runtime.evaluate")[before:]
    return sent[0].params["uniqueContextId"] if sent else ""


def test_a_script_goes_to_the_frame_s_own_context() -> None:
    fold = with_tree("A", "B")
    created(fold, "A", "1.1")
    created(fold, "B", "2.2")
    created(fold, "A", "9.9", default=False)  # an isolated world
    assert [context_of(fold, "A"), context_of(fold, "B")] == ["1.1", "2.2"]


def test_a_context_that_was_cleared_is_not_used() -> None:
    fold = with_tree("A")
    created(fold, "A", "1.1")
    fold.event("Runtime.executionContextsCleared", on="s-P")
    assert context_of(fold, "A") == ""
    created(fold, "A", "2.2")
    assert context_of(fold, "A") == "2.2"


def test_a_navigation_alone_ends_no_context() -> None:
    """A frame's first, empty document passes its context on to a document of the same origin."""
    fold = with_tree("A")
    created(fold, "A", "1.1")
    navigated(fold, "A", url="http://b/")
    assert context_of(fold, "A") == "1.1"


def test_a_context_that_was_destroyed_is_not_used() -> None:
    fold = with_tree("A", "B")
    created(fold, "A", "1.1")
    created(fold, "B", "2.2")
    destroyed(fold, "1.1")
    navigated(fold, "A", url="http://b/")
    assert [context_of(fold, "A"), context_of(fold, "B")] == ["", "2.2"]
    created(fold, "A", "3.3")
    assert context_of(fold, "A") == "3.3"


@pytest.mark.parametrize("unique", ["9.9", ""])
def test_the_end_of_another_context_changes_nothing(unique: str) -> None:
    fold = with_tree("A")
    created(fold, "A", "")
    created(fold, "A", "1.1")
    before = fold.page()
    destroyed(fold, unique)
    assert fold.page() is before


def test_a_context_may_be_reported_before_its_frame() -> None:
    """This happens when a document comes back from the back/forward cache (fact 43)."""
    fold = with_tree()
    created(fold, "A", "1.1")
    attached(fold, "A")
    assert context_of(fold, "A") == "1.1"


def test_a_context_is_used_only_on_its_session() -> None:
    fold = with_tree("A")
    created(fold, "A", "1.1")
    fold.event("Page.frameDetached", on="s-P", frameId="A", reason="swap")
    attached(fold, "A")
    assert context_of(fold, "A") == "1.1"  # no event has reported its end
    oopif(fold, "A")
    fold.ask(Call(method="Runtime.evaluate", frame_id="A"))
    assert "uniqueContextId" not in (fold.sent("Runtime.evaluate").params or {})


def test_the_limit_of_frames_also_bounds_the_contexts() -> None:
    fold = with_tree("A", "B", limits=Limits(frames_kept=3))
    for number in range(3):
        for frame in "ABCDEF":
            created(fold, frame, f"{frame}.{number}")
    page = fold.page()
    assert {*page.contexts} == {f"{frame}.2" for frame in "ABCDE"}
    assert {*page.early_contexts} == {"C", "D", "E"}
    fold.event("Page.frameDetached", on="s-P", frameId="A", reason="remove")
    attached(fold, "C")
    page = fold.page()
    assert {*page.contexts} == {f"{frame}.2" for frame in "BCDE"}
    assert {*page.early_contexts} == {"D", "E"}


@pytest.mark.parametrize("ends", ["cleared", "detached"])
def test_a_context_reported_before_its_frame_ends_with_its_session(ends: str) -> None:
    fold = with_tree("A")
    oopif(fold, "A")
    created(fold, "B", "1.1")
    created(fold, "D", "1.2")
    destroyed(fold, "1.2")
    context = {"uniqueId": "2.2", "auxData": {"frameId": "C", "isDefault": True}}
    fold.event("Runtime.executionContextCreated", on="s-A", context=context)
    if ends == "cleared":
        fold.event("Runtime.executionContextsCleared", on="s-A")
        left = {"1.1"}
    else:
        fold.event("Runtime.executionContextsCleared", on="s-P")
        left = {"2.2"}
    early = {context for worlds in fold.page().early_contexts.values() for context in worlds.values()}
    assert {*fold.page().contexts} == early == left
    fold.detach("s-A")
    assert {*fold.page().contexts} == left - {"2.2"}


# ── out-of-process frames ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_frame_that_moves_to_its_own_process_stays_without_its_descendants() -> None:
    fold = with_tree("F", "F/G", "F/H")
    oopif(fold, "H", "F")
    detached(fold, "F", "swap")
    assert fold.tree() == {"P": {"F": {"H": {}}}}  # another session reports H
    assert shown_frame(fold, "F").session_id is None
    assert shown_frame(fold, "F").is_oopif
    oopif(fold)
    assert shown_frame(fold, "F").session_id == "s-F"


def test_a_swapped_frame_that_never_got_a_session_is_gone_with_its_target() -> None:
    fold = with_tree("F")
    detached(fold, "F", "swap")
    fold.event("Target.targetDestroyed", targetId="F")
    assert fold.tree() == {"P": {}}


def test_a_swap_of_a_frame_that_already_has_its_own_session_is_ignored() -> None:
    fold = with_tree("F")
    oopif(fold)
    detached(fold, "F", "swap")
    assert shown_frame(fold, "F").session_id == "s-F"


def test_a_frame_is_removed_with_all_its_descendants() -> None:
    fold = with_tree("A", "A/B", "C")
    detached(fold, "A")
    assert fold.tree() == {"P": {"C": {}}}
    assert [each.frame_id for each in fold.reported(FrameRemoved)] == ["A", "B"]
    detached(fold, "A")
    assert len(fold.reported(FrameRemoved)) == 2


def test_the_dialog_of_a_removed_frame_ends() -> None:
    fold = with_tree("A", "B")
    gone, kept = fold.opening("A", native=False), fold.opening("B", native=False)
    detached(fold, "A")
    assert fold.end_of(gone) == ("remote", "frame_gone")
    assert [each.id for each in fold.page().dialogs] == [kept]


def test_a_frame_without_a_known_parent_can_be_removed() -> None:
    fold = with_tree()
    navigated(fold, "X", url="http://x/")
    detached(fold, "X")
    assert set(fold.page().frames) == {"P"}


def test_a_session_may_be_the_first_report_of_a_frame() -> None:
    """The target info contains its parent and its URL."""
    fold = with_tree()
    oopif(fold, url="http://f/")
    assert fold.tree() == {"P": {"F": {}}}
    assert shown_frame(fold, "F").url == "http://f/"


def test_the_url_of_the_target_info_counts_until_the_frame_s_session_reports_one() -> None:
    """Fact 40: it is the only report if the first events were missed."""
    fold = with_tree("F")
    oopif(fold)
    fold.event("Target.targetInfoChanged", targetInfo={"targetId": "F", "url": "http://info/"})
    assert shown_frame(fold, "F").url == "http://info/"
    navigated(fold, "F", on="s-F", url="http://own/")
    fold.event("Target.targetInfoChanged", targetInfo={"targetId": "F", "url": "http://older/"})
    assert shown_frame(fold, "F").url == "http://own/"


def test_a_frame_is_removed_when_its_own_session_ends() -> None:
    """If it only changed its process, an event adds it again (facts 39, 42)."""
    fold = with_tree("F")
    oopif(fold)
    attached(fold, "G", "F", on="s-F")
    fold.detach("s-F")
    assert fold.tree() == {"P": {}}


def test_a_session_that_ends_after_its_frame_was_removed_changes_nothing() -> None:
    fold = with_tree("A", "F")
    oopif(fold)
    detached(fold, "F")
    before = fold.page()
    fold.detach("s-F")
    assert fold.page() is before


def test_the_second_session_on_a_frame_takes_over_when_the_first_ends() -> None:
    fold = with_tree("F")
    oopif(fold)
    fold.attach("F", "iframe", of="s-P", session="s-F2", parentFrameId="P")
    fold.detach("s-F")
    assert shown_frame(fold, "F").session_id == "s-F2"


@pytest.mark.parametrize("back", [False, True])
def test_an_adrift_frame_is_gone_with_its_target_unless_it_attached_again(back: bool) -> None:
    fold = with_tree("F")
    oopif(fold)
    fold.detach("s-F", "parent_ended")
    assert fold.tree() == {"P": {"F": {}}}
    if back:
        attached(fold, "F")
    fold.event("Target.targetDestroyed", targetId="F")
    assert fold.tree() == {"P": {"F": {}} if back else {}}


# ── reading a tree ────────────────────────────────────────────────────────────────────────────────────────────────────


def read_again(fold: Any, tree: dict[str, Any], on: str = "s-P") -> None:
    """Make the supervisor read the tree of a session again, and reply with this tree."""
    fold.event("Inspector.targetReloadedAfterCrash", on=on)
    fold.reply(TREE, {"frameTree": tree}, on=on)


def test_the_first_tree_shows_all_frames() -> None:
    fold = folded_machine.on_a_page()
    assert fold.page().stale
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("P", "A", "A/B")}, on="s-P")
    assert fold.tree() == {"P": {"A": {"B": {}}}}
    assert not fold.page().stale
    assert shown_frame(fold, "B").url == "http://B/"


def test_a_frame_missing_from_the_tree_is_gone_unless_it_has_its_own_process() -> None:
    """Facts 41, 49: a tree contains only the frames of its process."""
    fold = with_tree("A", "A/B", "F", "A/H")
    oopif(fold)
    oopif(fold, "H", "A")
    read_again(fold, folded_machine.tree_of("P", "C"))
    assert fold.tree() == {"P": {"F": {}, "C": {}}}
    assert "H" in fold.page().frames  # its own session is open and reports it


@pytest.mark.parametrize("loader", ["1", "2"], ids=["the same document", "another document"])
def test_an_adrift_frame_stays_only_while_its_document_stays(loader: str) -> None:
    """A left document may be kept with its frames, and no event reports it (fact 43)."""
    fold = with_tree()
    navigated(fold, "P", loaderId="1")
    for frame in ("F", "G"):
        attached(fold, frame)
        oopif(fold, frame)
    fold.detach("s-F", "parent_ended")
    tree = folded_machine.tree_of("P", "A")
    tree["frame"]["loaderId"] = loader
    read_again(fold, tree)
    assert fold.tree() == {"P": {"F": {}, "G": {}, "A": {}} if loader == "1" else {"G": {}, "A": {}}}


def test_a_tree_without_parent_ids_gives_the_parents_by_its_shape() -> None:
    fold = folded_machine.on_a_page()
    fold.reply(TREE, {"frameTree": {"frame": {"id": "P"}, "childFrames": [{"frame": {"id": "A"}}]}}, on="s-P")
    assert fold.tree() == {"P": {"A": {}}}


def test_a_navigation_ends_the_dialog_of_the_left_document() -> None:
    fold = with_tree()
    dialog = fold.opening(native=False)
    navigated(fold, "P", url="http://b/")
    assert fold.end_of(dialog) == ("remote", "navigation")


def test_a_frame_with_an_unknown_parent_is_gone_if_the_tree_does_not_contain_it() -> None:
    fold = with_tree()
    attached(fold, "B", "lost")
    read_again(fold, folded_machine.tree_of("P"))
    assert "B" not in fold.page().frames


def test_the_tree_of_a_frame_s_process_updates_the_frames_below_it() -> None:
    fold = with_tree("A", "F")
    oopif(fold)
    attached(fold, "G", "F", on="s-F")
    read_again(fold, folded_machine.tree_of("F", "K", "K/L"), on="s-F")
    assert fold.tree() == {"P": {"A": {}, "F": {"K": {"L": {}}}}}


def test_a_tree_of_another_target_is_ignored() -> None:
    """A corrupt reply, or a hostile page, may give the tree of another target."""
    fold = with_tree("A")
    read_again(fold, folded_machine.tree_of("X", "Y"))
    assert fold.tree() == {"P": {"A": {}}}


def test_a_tree_with_a_duplicate_frame_or_one_without_an_id_adds_each_frame_once() -> None:
    fold = with_tree()
    tree = folded_machine.tree_of("P", "A")
    tree["childFrames"] += [folded_machine.tree_of("A", "B"), {"frame": {}}, "odd"]
    read_again(fold, tree)
    assert fold.tree() == {"P": {"A": {}}}


def test_a_tree_beyond_the_limit_is_cut_and_counted() -> None:
    fold = with_tree("A", "B", "C", limits=Limits(frames_kept=2))
    assert len(fold.page().frames) == 2
    assert fold.page().left_out == 2


def test_a_tree_does_not_change_a_frame_that_another_open_session_reports() -> None:
    fold = with_tree("F")
    oopif(fold)
    navigated(fold, "F", on="s-F", url="http://own/")
    read_again(fold, folded_machine.tree_of("P", "F"))
    assert shown_frame(fold, "F").url == "http://own/"
    assert shown_frame(fold, "F").session_id == "s-F"


# ── frames that a tree lacks ─────────────────────────────────────────────────────────────────────────────────────────


def ids_of(fold: Any) -> set[str]:
    return {*fold.page().frames}


def after_a_reconnect(*nodes: str) -> Any:
    """Return a fold on its second link: the page and its frame `F` have sessions again, no tree is read."""
    fold = with_tree(*nodes)
    oopif(fold)
    attached(fold, "FA", "F", on="s-F")
    fold.down()
    fold.passes(60.0)
    fold.up()
    fold.attach("P")
    oopif(fold)
    return fold


def test_the_tree_of_an_out_of_process_frame_says_nothing_of_the_frames_around_it() -> None:
    """After a reconnect it may be read before the tree of the page."""
    fold = after_a_reconnect("A", "A/B")
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("F", "FA")}, on="s-F")
    assert ids_of(fold) == {"P", "F", "A", "B", "FA"}


def test_the_tree_of_an_out_of_process_frame_lists_every_frame_of_its_document() -> None:
    fold = after_a_reconnect("A")
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("F")}, on="s-F")
    assert ids_of(fold) == {"P", "F", "A"}


def test_a_frame_that_a_session_reported_and_its_tree_lacks_is_gone() -> None:
    fold = with_tree("A")
    oopif(fold)
    attached(fold, "X", "unknown", on="s-F")
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("F")}, on="s-F")
    assert ids_of(fold) == {"P", "F", "A"}


@pytest.mark.parametrize("of_page", [True, False])
def test_a_frame_without_a_known_parent_and_session_is_gone_with_the_tree_of_the_page(of_page: bool) -> None:
    fold = with_tree("A")
    oopif(fold)
    attached(fold, "X", "unknown", on="s-F")
    fold.detach("s-F")
    oopif(fold, "G")
    navigated(fold, "P", type="BackForwardCacheRestore")
    attached(fold, "A")
    if of_page:
        fold.reply(TREE, {"frameTree": folded_machine.tree_of("P", "A")}, on="s-P")
    else:
        fold.reply(TREE, {"frameTree": folded_machine.tree_of("G")}, on="s-G")
    assert ("X" in ids_of(fold)) is not of_page


def test_frames_that_are_each_others_parents_end_no_reading() -> None:
    """A peer may report any parent."""
    fold = with_tree("A")
    oopif(fold, "F", "G")
    attached(fold, "G", "F", on="s-F")
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("F", "G")}, on="s-F")
    assert ids_of(fold) == {"P", "A", "F", "G"}


def test_a_removed_frame_leaves_nothing_behind_and_children_go_first() -> None:
    fold = with_tree("A", "A/B", "A/B/C")
    detached(fold, "A")
    assert [each.frame_id for each in fold.reported(FrameRemoved)] == ["A", "C", "B"]
    assert not fold.page().children


def test_the_dialog_of_a_frame_that_a_navigation_removes_is_over_with_its_frame() -> None:
    fold = with_tree("A")
    dialog = fold.opening("A")
    navigated(fold, "P", loaderId="next")
    assert fold.end_of(dialog) == ("remote", "frame_gone")


def test_the_default_context_has_no_name_whatever_the_browser_calls_it() -> None:
    fold = with_tree()
    about = {"frameId": "P", "isDefault": True}
    fold.event("Runtime.executionContextCreated", on="s-P", context={"uniqueId": "1", "name": "top", "auxData": about})
    assert shown_frame(fold, "P").contexts == {"": "1"}


def test_worlds_that_have_ended_make_room_for_others() -> None:
    fold = with_tree()
    for number in range(MOST_WORLDS + 5):
        about = {"frameId": "P", "isDefault": False}
        made = {"uniqueId": f"1.{number}", "name": f"world {number}", "auxData": about}
        fold.event("Runtime.executionContextCreated", on="s-P", context=made)
    assert len(shown_frame(fold, "P").contexts) == MOST_WORLDS
    fold.event("Runtime.executionContextDestroyed", on="s-P", executionContextUniqueId="1.0")
    made = {"uniqueId": "2", "name": "late", "auxData": {"frameId": "P", "isDefault": False}}
    fold.event("Runtime.executionContextCreated", on="s-P", context=made)
    assert "late" in shown_frame(fold, "P").contexts


def test_a_frame_that_is_removed_under_its_open_dialog_makes_its_page_fragile() -> None:
    """Fact 63."""
    fold = with_tree("F")
    oopif(fold)
    fold.opening("F")
    fold.event("Page.frameDetached", on="s-P", frameId="F", reason="remove")
    assert fold.page().fragile is not None
