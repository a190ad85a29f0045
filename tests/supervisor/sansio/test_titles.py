"""Titles: asked for when a document has loaded, and not more often than four times a second (fact 73)."""

from __future__ import annotations

from typing import Any

from cdp_supervisor.sansio.requests import Stop
from cdp_supervisor.sansio.titles import PAUSE
from support.folded_machine import Fold, on_a_page, with_tree

LIST = "Target.getTargets"


def loads(fold: Fold, page: str = "P") -> Fold:
    """Load a new document in a page."""
    number = str(fold.state.sequence)
    fold.event(
        "Page.frameNavigated", on=f"s-{page}", frame={"id": page, "url": "https://a.example/", "loaderId": number}
    )
    return fold.event("Page.loadEventFired", on=f"s-{page}", timestamp=1.0)


def listed(fold: Fold, **titles: Any) -> Fold:
    return fold.reply(LIST, {"targetInfos": [{"targetId": page, "title": title} for page, title in titles.items()]})


def asked(fold: Fold) -> int:
    return len(fold.all_sent(LIST))


def test_a_title_is_read_when_the_document_has_loaded() -> None:
    fold = with_tree()
    before = asked(fold)
    loads(fold)
    assert asked(fold) == before + 1
    fold.passes(0.1)
    listed(fold, P="Shop")
    shown = fold.shown().pages[0]
    assert (shown.title, shown.title_at) == ("Shop", fold.state.pages["P"].title_at)
    assert shown.to_dict()["title_at"] == shown.title_at


def test_many_loads_ask_once_and_once_more_after_the_pause() -> None:
    fold = with_tree()
    fold.attach("Q")
    before = asked(fold)
    for _ in range(5):
        loads(fold)
        loads(fold, "Q")
    assert asked(fold) == before + 1
    fold.passes(PAUSE)
    assert asked(fold) == before + 2
    fold.passes(PAUSE)
    assert asked(fold) == before + 2


def test_a_title_that_did_not_change_gets_a_new_time_only_if_it_was_asked_for() -> None:
    fold = with_tree()
    fold.attach("Q", title="Other")
    loads(fold)
    fold.passes(0.1)
    at = fold.page("Q").title_at
    listed(fold, P="", Q="Other", R="unknown")
    assert fold.page("Q").title_at == at
    assert fold.page("P").title_at > at


def test_a_list_without_titles_or_a_refusal_changes_nothing() -> None:
    fold = with_tree()
    loads(fold)
    before = fold.page()
    fold.reply(LIST, {"targetInfos": [{"targetId": "P"}]})
    assert fold.page() == before
    fold.passes(PAUSE)
    loads(fold).refuse(LIST)
    assert fold.page().title == before.title


def test_nothing_is_asked_during_a_stop_or_without_a_link() -> None:
    fold = on_a_page()
    fold.opening()
    fold.ask(Stop(timeout=9.0))
    before = asked(fold)
    fold.event("Page.frameNavigated", on="s-P", frame={"id": "P", "url": "https://a.example/", "loaderId": "l"})
    fold.event("Page.loadEventFired", on="s-P", timestamp=1.0)
    assert asked(fold) == before
    down = with_tree()
    loads(down)
    loads(down).down()
    before = asked(down)
    down.passes(PAUSE)
    assert asked(down) == before
