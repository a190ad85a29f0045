"""The frames of a page: what comes, moves between processes, and goes, in whichever order it is told."""

from __future__ import annotations

from typing import Any, Final

import pytest

from cdp_supervisor.sansio.changes import FrameAdded, FrameNavigated, FrameRemoved
from cdp_supervisor.sansio.options import Limits
from cdp_supervisor.sansio.requests import Call
from support import folded_machine

TREE: Final = "Page.getFrameTree"


def with_tree(*nodes: str, **options: Any) -> Any:
    return folded_machine.with_tree(*nodes, **options)


def attached(fold: Any, frame: str, above: str = "P", *, on: str = "s-P") -> None:
    fold.says("Page.frameAttached", on=on, frameId=frame, parentFrameId=above)


def navigated(fold: Any, frame: str, *, on: str = "s-P", type: str = "Navigation", **shown: Any) -> None:
    fold.says("Page.frameNavigated", on=on, frame={"id": frame, **shown}, type=type)


def detached(fold: Any, frame: str, reason: str = "remove", *, on: str = "s-P") -> None:
    fold.says("Page.frameDetached", on=on, frameId=frame, reason=reason)


def oopif(fold: Any, frame: str = "F", above: str = "P", **info: Any) -> None:
    """A frame gets a session of its own."""
    fold.attach(frame, "iframe", of="s-P", parentFrameId=above, **info)


def frame_of(fold: Any, frame: str) -> Any:
    return fold.page().frames[frame]


def shown_frame(fold: Any, frame: str) -> Any:
    page = fold.shown().page("P")
    return next(each for each in page.frames() if each.frame_id == frame)


# ── coming ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_frame_that_attaches_is_shown_below_its_parent() -> None:
    fold = with_tree("A")
    attached(fold, "B", "A")
    assert fold.tree() == {"P": {"A": {"B": {}}}}
    assert fold.reported(FrameAdded)[-1] == FrameAdded(frame_id="B", target_id="P", parent_id="A")


def test_a_frame_is_shown_once_the_one_above_it_is_known() -> None:
    """What two sessions say overtakes each other (fact 38)."""
    fold = with_tree()
    attached(fold, "B", "A")
    assert fold.tree() == {"P": {}}
    attached(fold, "A")
    assert fold.tree() == {"P": {"A": {"B": {}}}}


@pytest.mark.parametrize("frame", ["", "P"])
def test_neither_the_page_nor_nothing_attaches_to_the_page(frame: str) -> None:
    fold = with_tree()
    before = fold.page()
    attached(fold, frame)
    assert fold.page() is before


def test_what_another_session_says_of_a_frame_is_older_and_passed_over() -> None:
    fold = with_tree("F")
    oopif(fold, url="http://own/")
    before = fold.page()
    attached(fold, "F")
    navigated(fold, "F", url="http://old/")
    fold.says("Page.navigatedWithinDocument", on="s-P", frameId="F", url="http://older/")
    assert fold.page() is before
    created(fold, "F", "1.1")
    assert fold.page().frames["F"] is before.frames["F"]


def test_a_frame_that_attaches_again_has_come_back_into_the_process_above() -> None:
    """Demotion: its own session has ended (fact 39)."""
    fold = with_tree("F")
    oopif(fold)
    fold.detach("s-F", "parent_ended")
    assert frame_of(fold, "F").oopif
    attached(fold, "F")
    assert not frame_of(fold, "F").oopif
    assert shown_frame(fold, "F").session_id == "s-P"


def test_beyond_the_limit_frames_are_counted_and_the_view_says_so() -> None:
    fold = with_tree("A", limits=Limits(frames_kept=2))
    attached(fold, "B")
    navigated(fold, "C", parentId="P")
    oopif(fold, "F")
    assert fold.tree() == {"P": {"A": {}}}
    page = fold.shown().page("P")
    assert page.frames_left_out == 3
    assert page.frame_tree()["truncated"]


# ── showing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_navigation_tells_what_a_frame_shows() -> None:
    fold = with_tree("A")
    navigated(fold, "A", url="http://b/", urlFragment="#f", name="n", securityOrigin="http://b")
    shown = shown_frame(fold, "A")
    assert (shown.url, shown.name, shown.origin) == ("http://b/#f", "n", "http://b")
    assert fold.reported(FrameNavigated) == [FrameNavigated(frame_id="A", target_id="P")]
    assert fold.page().url == "http://P/"


def test_a_navigation_of_the_top_is_one_of_the_page_and_ends_its_crash() -> None:
    fold = with_tree()
    fold.says("Inspector.targetCrashed", on="s-P")
    navigated(fold, "P", url="http://b/")
    assert fold.page().url == "http://b/"
    assert fold.health() == "ok"


def test_a_navigation_drops_what_was_below_and_says_so() -> None:
    """The browser says nothing of the frames of a document that was left (fact 9)."""
    fold = with_tree("A", "A/B", "A/B/C", "D")
    navigated(fold, "A", url="http://b/")
    assert fold.tree() == {"P": {"A": {}, "D": {}}}
    assert sorted(each.frame_id for each in fold.reported(FrameRemoved)) == ["B", "C"]


def test_a_frame_may_be_told_of_first_by_its_navigation() -> None:
    fold = with_tree()
    navigated(fold, "A", parentId="P", url="http://b/")
    assert shown_frame(fold, "A").url == "http://b/"
    assert shown_frame(fold, "A").parent_frame_id == "P"


def test_the_top_is_below_nobody_whatever_is_said() -> None:
    fold = folded_machine.on_a_page()
    navigated(fold, "P", parentId="X", url="http://b/")
    assert fold.tree() == {"P": {}}
    assert frame_of(fold, "P").parent_id is None


def test_a_navigation_of_nothing_is_none() -> None:
    fold = with_tree()
    before = fold.page()
    fold.says("Page.frameNavigated", on="s-P", type="Navigation")
    assert fold.page() is before


def test_a_restored_document_keeps_the_frames_that_have_just_been_attached_and_is_read_anew() -> None:
    """Fact 43: what came back with it is unsaid, but what has a session has been said."""
    fold = with_tree("A", "F")
    oopif(fold)
    asked = len(fold.all_sent(TREE, on="s-P"))
    navigated(fold, "P", type="BackForwardCacheRestore", url="http://back/")
    assert fold.tree() == {"P": {"F": {}}}
    assert len(fold.all_sent(TREE, on="s-P")) == asked + 1


def test_a_restored_frame_beyond_the_limit_is_read_anew_all_the_same() -> None:
    fold = with_tree(limits=Limits(frames_kept=1))
    asked = len(fold.all_sent(TREE, on="s-P"))
    navigated(fold, "A", type="BackForwardCacheRestore", parentId="P")
    assert len(fold.all_sent(TREE, on="s-P")) == asked + 1


def test_a_navigation_within_the_document_changes_the_url_and_nothing_below() -> None:
    fold = with_tree("A", "A/B")
    fold.says("Page.navigatedWithinDocument", on="s-P", frameId="A", url="http://A/#x")
    assert shown_frame(fold, "A").url == "http://A/#x"
    assert fold.page().url == "http://P/"
    fold.says("Page.navigatedWithinDocument", on="s-P", frameId="P", url="http://P/#y")
    assert fold.page().url == "http://P/#y"
    assert fold.tree() == {"P": {"A": {"B": {}}}}


def test_an_unknown_frame_navigates_nowhere() -> None:
    fold = with_tree()
    before = fold.page()
    fold.says("Page.navigatedWithinDocument", on="s-P", frameId="X", url="http://x/")
    assert fold.page() is before


# ── where its scripts run ────────────────────────────────────────────────────────────────────────────────────────────


def created(fold: Any, frame: str, unique: str, *, default: bool = True) -> None:
    context = {"uniqueId": unique, "auxData": {"frameId": frame, "isDefault": default}}
    fold.says("Runtime.executionContextCreated", on="s-P", context=context)


def destroyed(fold: Any, unique: str) -> None:
    fold.says("Runtime.executionContextDestroyed", on="s-P", executionContextUniqueId=unique)


def context_of(fold: Any, frame: str) -> str:
    """The context that a script for this frame is sent to; empty where it is refused."""
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
    fold.says("Runtime.executionContextsCleared", on="s-P")
    assert context_of(fold, "A") == ""
    created(fold, "A", "2.2")
    assert context_of(fold, "A") == "2.2"


def test_a_navigation_alone_ends_no_context() -> None:
    """The empty document that a frame begins with hands its context on to one of the same origin."""
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


def test_a_context_may_be_told_of_before_its_frame() -> None:
    """As when a document comes back from the back/forward cache (fact 43)."""
    fold = with_tree()
    created(fold, "A", "1.1")
    attached(fold, "A")
    assert context_of(fold, "A") == "1.1"


def test_a_context_is_its_session_s() -> None:
    fold = with_tree("A")
    created(fold, "A", "1.1")
    fold.says("Page.frameDetached", on="s-P", frameId="A", reason="swap")
    attached(fold, "A")
    assert context_of(fold, "A") == "1.1"  # nobody said that it has ended
    oopif(fold, "A")
    fold.ask(Call(method="Runtime.evaluate", frame_id="A"))
    assert "uniqueContextId" not in (fold.sent("Runtime.evaluate").params or {})


def test_of_contexts_no_more_is_kept_than_of_frames() -> None:
    fold = with_tree("A", "B", limits=Limits(frames_kept=3))
    for number in range(3):
        for frame in "ABCDEF":
            created(fold, frame, f"{frame}.{number}")
    page = fold.page()
    assert {*page.contexts} == {f"{frame}.2" for frame in "ABCDE"}
    assert {*page.early_contexts} == {"C", "D", "E"}
    fold.says("Page.frameDetached", on="s-P", frameId="A", reason="remove")
    attached(fold, "C")
    page = fold.page()
    assert {*page.contexts} == {f"{frame}.2" for frame in "BCDE"}
    assert {*page.early_contexts} == {"D", "E"}


@pytest.mark.parametrize("ends", ["cleared", "detached"])
def test_what_was_told_early_ends_with_its_session_s(ends: str) -> None:
    fold = with_tree("A")
    oopif(fold, "A")
    created(fold, "B", "1.1")
    created(fold, "D", "1.2")
    destroyed(fold, "1.2")
    context = {"uniqueId": "2.2", "auxData": {"frameId": "C", "isDefault": True}}
    fold.says("Runtime.executionContextCreated", on="s-A", context=context)
    if ends == "cleared":
        fold.says("Runtime.executionContextsCleared", on="s-A")
        left = {"1.1"}
    else:
        fold.says("Runtime.executionContextsCleared", on="s-P")
        left = {"2.2"}
    assert {*fold.page().contexts} == {*fold.page().early_contexts.values()} == left
    fold.detach("s-A")
    assert {*fold.page().contexts} == left - {"2.2"}


# ── processes of their own ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_frame_that_leaves_for_a_process_of_its_own_stays_without_its_frames() -> None:
    fold = with_tree("F", "F/G", "F/H")
    oopif(fold, "H", "F")
    detached(fold, "F", "swap")
    assert fold.tree() == {"P": {"F": {"H": {}}}}  # H is told of by another session
    assert shown_frame(fold, "F").session_id is None
    assert shown_frame(fold, "F").is_oopif
    oopif(fold)
    assert shown_frame(fold, "F").session_id == "s-F"


def test_a_frame_that_left_and_never_came_is_gone_with_its_target() -> None:
    fold = with_tree("F")
    detached(fold, "F", "swap")
    fold.says("Target.targetDestroyed", targetId="F")
    assert fold.tree() == {"P": {}}


def test_a_swap_of_a_frame_that_has_its_session_already_is_old_news() -> None:
    fold = with_tree("F")
    oopif(fold)
    detached(fold, "F", "swap")
    assert shown_frame(fold, "F").session_id == "s-F"


def test_a_frame_that_is_removed_goes_with_all_below() -> None:
    fold = with_tree("A", "A/B", "C")
    detached(fold, "A")
    assert fold.tree() == {"P": {"C": {}}}
    assert [each.frame_id for each in fold.reported(FrameRemoved)] == ["A", "B"]
    detached(fold, "A")
    assert len(fold.reported(FrameRemoved)) == 2


def test_a_frame_that_is_removed_takes_its_dialog_along() -> None:
    fold = with_tree("A", "B")
    gone, kept = fold.opening("A", native=False), fold.opening("B", native=False)
    detached(fold, "A")
    assert fold.end_of(gone) == ("remote", "frame_gone")
    assert [each.id for each in fold.page().dialogs] == [kept]


def test_a_frame_of_which_no_parent_was_said_can_be_removed() -> None:
    fold = with_tree()
    navigated(fold, "X", url="http://x/")
    detached(fold, "X")
    assert set(fold.page().frames) == {"P"}


def test_a_frame_may_be_told_of_first_by_its_session() -> None:
    """Its parent and its URL are in the target's info."""
    fold = with_tree()
    oopif(fold, url="http://f/")
    assert fold.tree() == {"P": {"F": {}}}
    assert shown_frame(fold, "F").url == "http://f/"


def test_what_the_target_says_of_a_url_counts_until_its_session_tells() -> None:
    """Fact 40: the only word of it where the first events were missed."""
    fold = with_tree("F")
    oopif(fold)
    fold.says("Target.targetInfoChanged", targetInfo={"targetId": "F", "url": "http://info/"})
    assert shown_frame(fold, "F").url == "http://info/"
    navigated(fold, "F", on="s-F", url="http://own/")
    fold.says("Target.targetInfoChanged", targetInfo={"targetId": "F", "url": "http://older/"})
    assert shown_frame(fold, "F").url == "http://own/"


def test_a_frame_goes_with_its_own_session() -> None:
    """It comes back by an event of its own, where it only changed its process (facts 39, 42)."""
    fold = with_tree("F")
    oopif(fold)
    attached(fold, "G", "F", on="s-F")
    fold.detach("s-F")
    assert fold.tree() == {"P": {}}


def test_a_session_that_ends_after_its_frame_was_removed_takes_nothing_along() -> None:
    fold = with_tree("A", "F")
    oopif(fold)
    detached(fold, "F")
    before = fold.page()
    fold.detach("s-F")
    assert fold.page() is before


def test_a_frame_is_told_of_by_the_second_session_on_it_where_the_first_ends() -> None:
    fold = with_tree("F")
    oopif(fold)
    fold.attach("F", "iframe", of="s-P", session="s-F2", parentFrameId="P")
    fold.detach("s-F")
    assert shown_frame(fold, "F").session_id == "s-F2"


@pytest.mark.parametrize("back", [False, True])
def test_an_adrift_frame_is_gone_with_its_target_unless_it_has_come_back(back: bool) -> None:
    fold = with_tree("F")
    oopif(fold)
    fold.detach("s-F", "parent_ended")
    assert fold.tree() == {"P": {"F": {}}}
    if back:
        attached(fold, "F")
    fold.says("Target.targetDestroyed", targetId="F")
    assert fold.tree() == {"P": {"F": {}} if back else {}}


# ── reading a tree ───────────────────────────────────────────────────────────────────────────────────────────────────


def read(fold: Any, tree: dict[str, Any], on: str = "s-P") -> None:
    """The tree of a session is asked for anew, and answered."""
    fold.says("Inspector.targetReloadedAfterCrash", on=on)
    fold.reply(TREE, {"frameTree": tree}, on=on)


def test_the_first_tree_shows_all_there_is() -> None:
    fold = folded_machine.on_a_page()
    assert fold.page().stale
    fold.reply(TREE, {"frameTree": folded_machine.tree_of("P", "A", "A/B")}, on="s-P")
    assert fold.tree() == {"P": {"A": {"B": {}}}}
    assert not fold.page().stale
    assert shown_frame(fold, "B").url == "http://B/"


def test_what_a_tree_does_not_name_is_gone_but_not_what_has_its_own_process() -> None:
    """Facts 41, 49: a tree names only what is in its process."""
    fold = with_tree("A", "A/B", "F", "A/H")
    oopif(fold)
    oopif(fold, "H", "A")
    read(fold, folded_machine.tree_of("P", "C"))
    assert fold.tree() == {"P": {"F": {}, "C": {}}}
    assert "H" in fold.page().frames  # its own session, which is open, tells of it


@pytest.mark.parametrize("loader", ["1", "2"], ids=["the same document", "another one"])
def test_an_adrift_frame_stays_with_its_document_alone(loader: str) -> None:
    """The document that was left may be kept, and its frames with it: no target's end is told then (fact 43)."""
    fold = with_tree()
    navigated(fold, "P", loaderId="1")
    for frame in ("F", "G"):
        attached(fold, frame)
        oopif(fold, frame)
    fold.detach("s-F", "parent_ended")
    tree = folded_machine.tree_of("P", "A")
    tree["frame"]["loaderId"] = loader
    read(fold, tree)
    assert fold.tree() == {"P": {"F": {}, "G": {}, "A": {}} if loader == "1" else {"G": {}, "A": {}}}


def test_a_tree_that_names_no_parents_says_them_by_its_shape() -> None:
    fold = folded_machine.on_a_page()
    fold.reply(TREE, {"frameTree": {"frame": {"id": "P"}, "childFrames": [{"frame": {"id": "A"}}]}}, on="s-P")
    assert fold.tree() == {"P": {"A": {}}}


def test_a_document_that_is_left_takes_its_dialog_along() -> None:
    fold = with_tree()
    dialog = fold.opening(native=False)
    navigated(fold, "P", url="http://b/")
    assert fold.end_of(dialog) == ("remote", "navigation")


def test_what_hangs_nowhere_and_is_not_named_is_gone() -> None:
    fold = with_tree()
    attached(fold, "B", "lost")
    read(fold, folded_machine.tree_of("P"))
    assert "B" not in fold.page().frames


def test_the_tree_of_a_frame_s_process_says_what_is_below_the_frame() -> None:
    fold = with_tree("A", "F")
    oopif(fold)
    attached(fold, "G", "F", on="s-F")
    read(fold, folded_machine.tree_of("F", "K", "K/L"), on="s-F")
    assert fold.tree() == {"P": {"A": {}, "F": {"K": {"L": {}}}}}


def test_a_tree_of_something_else_is_not_believed() -> None:
    """The session shows another target's tree: torn, or a page that lies."""
    fold = with_tree("A")
    read(fold, folded_machine.tree_of("X", "Y"))
    assert fold.tree() == {"P": {"A": {}}}


def test_a_frame_that_a_tree_names_twice_or_without_an_id_is_there_once() -> None:
    fold = with_tree()
    tree = folded_machine.tree_of("P", "A")
    tree["childFrames"] += [folded_machine.tree_of("A", "B"), {"frame": {}}, "odd"]
    read(fold, tree)
    assert fold.tree() == {"P": {"A": {}}}


def test_a_tree_beyond_the_limit_is_cut_and_counted() -> None:
    fold = with_tree("A", "B", "C", limits=Limits(frames_kept=2))
    assert len(fold.page().frames) == 2
    assert fold.page().left_out == 2


def test_a_tree_says_nothing_of_a_frame_that_another_open_session_tells_of() -> None:
    fold = with_tree("F")
    oopif(fold)
    navigated(fold, "F", on="s-F", url="http://own/")
    read(fold, folded_machine.tree_of("P", "F"))
    assert shown_frame(fold, "F").url == "http://own/"
    assert shown_frame(fold, "F").session_id == "s-F"
