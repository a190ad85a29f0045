"""The console ring: the last lines of each page, as they were said, whatever a page says and however much of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdp_core.sansio.messages import Event, TargetId, decode
from cdp_core.sansio.structs import replace
from cdp_supervisor.sansio import console
from cdp_supervisor.sansio.console import ARGUMENTS, LARGE, LINES, TEXT, ConsoleRing, Read
from cdp_supervisor.sansio.inputs import BrowserEvent, Instant, TimePassed

LOGGED, THROWN = "Runtime.consoleAPICalled", "Runtime.exceptionThrown"
AT = Instant(mono=3.0, wall=1_000.0)
RING = ConsoleRing()


def event(method: str, params: Any, session: str = "S") -> Event:
    made = decode(json.dumps({"method": method, "params": params, "sessionId": session}).encode())
    assert isinstance(made, Event)
    return made


def said(params: Any, *, method: str = LOGGED, page: str | None = "T", wall: float = 1_000.0) -> BrowserEvent:
    target = None if page is None else TargetId(page)
    return BrowserEvent(at=Instant(mono=3.0, wall=wall), generation=1, event=event(method, params), page=target)


def logged(*args: Any, page: str = "T", **more: Any) -> BrowserEvent:
    return said({"type": "log", "args": [{"type": "string", "value": each} for each in args], **more}, page=page)


def fed(*inputs: Any, state: Any = None) -> Any:
    state = RING.initial() if state is None else state
    for each in inputs:
        state, orders = RING.step(state, each)
        assert orders == ()
        assert RING.next_deadline(state) is None
    return state


def shown(*inputs: Any) -> dict[str, list[Any]]:
    pages: dict[str, list[Any]] = RING.view(fed(*inputs))["pages"]
    return pages


def line(*inputs: Any) -> Any:
    [one] = shown(*inputs)["T"]
    return one


# ── which lines ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_nothing_was_said() -> None:
    assert RING.view(RING.initial()) == {"pages": {}}


def test_a_line_says_what_where_and_when() -> None:
    frames = [{"url": "https://a.example/x.js"}, {"url": "https://b.example/"}]
    assert line(logged("one", "two", stackTrace={"callFrames": frames})) == {
        "level": "log",
        "text": "one two",
        "url": "https://a.example/x.js",
        "at": 1_000.0,
        "session_id": "S",
    }


def test_the_ring_wants_lines_and_uncaught_exceptions_and_keeps_nothing_else() -> None:
    assert RING.events == {LOGGED, THROWN}
    state = fed(logged("kept"))
    other = said({"args": []}, method="Page.loadEventFired")
    without_page = said({"args": []}, page=None)
    assert fed(other, without_page, TimePassed(at=AT, generation=1), state=state) is state


def test_each_page_has_its_own_lines_oldest_first() -> None:
    pages = shown(logged("1", page="A"), logged("2", page="B"), logged("3", page="A"))
    assert {page: [each["text"] for each in lines] for page, lines in pages.items()} == {"A": ["1", "3"], "B": ["2"]}


def test_looking_changes_nothing() -> None:
    state = fed(logged("1"), logged("2"))
    assert RING.view(state) == RING.view(state)
    more = fed(logged("3"), state=state)
    assert [each["text"] for each in RING.view(state)["pages"]["T"]] == ["1", "2"]
    assert [each["text"] for each in RING.view(more)["pages"]["T"]] == ["1", "2", "3"]


@pytest.mark.parametrize("count", [LINES - 1, LINES, LINES + 1, 2 * LINES, 5 * LINES + 7])
def test_the_last_fifty_lines_of_a_page_are_kept(count: int) -> None:
    texts = [each["text"] for each in shown(*(logged(str(number)) for number in range(count)))["T"]]
    assert texts == [str(number) for number in range(count)][-50:]


@settings(max_examples=25)
@given(pages=st.lists(st.lists(st.sampled_from("AAAB"), min_size=1, max_size=9), max_size=9))
def test_lines_are_those_of_a_list_for_each_page(pages: list[list[str]]) -> None:
    """However many come at once, and however few a page may have."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(console, "LINES", 3)
        naive: dict[str, list[str]] = {}
        state, one_by_one, number = RING.initial(), RING.initial(), 0
        for at_once in pages:
            lines = [logged(str(number + place), page=page) for place, page in enumerate(at_once)]
            for page in at_once:
                naive[page] = [*naive.get(page, []), str(number)][-3:]
                number += 1
            state = RING.fold(state, lines)
            one_by_one = fed(*lines, state=one_by_one)
        view = RING.view(state)
    assert {page: [each["text"] for each in lines] for page, lines in view["pages"].items()} == naive
    assert RING.view(one_by_one) == view


def test_a_chatty_page_takes_no_line_from_another() -> None:
    chatter = [logged(str(number), page="A") for number in range(10 * LINES)]
    assert [each["text"] for each in shown(logged("quiet", page="B"), *chatter)["B"]] == ["quiet"]


def test_so_many_pages_have_lines_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has been silent longest goes first."""
    monkeypatch.setattr(console, "PAGES", 2)
    said_at = {page: at for at, page in enumerate("ABCDAE")}
    lines = [replace(logged(page, page=page), at=Instant(mono=at)) for at, page in enumerate("ABCDAE")]
    assert said_at["A"] > said_at["D"]
    assert set(shown(*lines)) == {"A", "E"}
    assert set(RING.view(RING.fold(RING.initial(), lines))["pages"]) == {"A", "E"}


def test_a_page_that_has_lines_takes_nobody_s_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "PAGES", 2)
    pages = shown(*(logged(page, page=page) for page in "ABABAB"))
    assert {page: len(lines) for page, lines in pages.items()} == {"A": 3, "B": 3}


# ── what a line says ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        ({"type": "string", "value": "text"}, "text"),
        ({"type": "string", "value": ""}, ""),
        ({"type": "number", "value": 5}, "5"),
        ({"type": "number", "value": 0}, "0"),
        ({"type": "number", "unserializableValue": "NaN", "description": "NaN"}, "NaN"),
        ({"type": "number", "unserializableValue": "-0"}, "-0"),
        ({"type": "bigint", "unserializableValue": "5n", "description": "5n"}, "5n"),
        ({"type": "object", "className": "Object", "description": "Object", "objectId": "1"}, "Object"),
        ({"type": "undefined"}, "undefined"),
        ({}, ""),
        ({"value": None, "description": 5, "type": ["odd"]}, ""),
    ],
)
def test_an_argument_is_shown_by_its_value_or_what_describes_it(argument: Any, text: str) -> None:
    assert line(said({"type": "log", "args": [argument]}))["text"] == text


def test_the_first_arguments_are_shown() -> None:
    assert line(logged(*"abcdefgh"))["text"] == " ".join("abcdefgh"[:ARGUMENTS])


@pytest.mark.parametrize(("kind", "level"), [("error", "error"), ("warning", "warning"), (None, "log"), (5, "log")])
def test_the_level_is_the_call_s(kind: Any, level: str) -> None:
    assert line(said({"type": kind, "args": []}))["level"] == level


@pytest.mark.parametrize("stack", [None, {}, {"callFrames": []}, {"callFrames": [5]}, {"callFrames": [{}]}])
def test_a_line_from_nowhere_has_no_url(stack: Any) -> None:
    assert line(logged("text", stackTrace=stack))["url"] == ""


@pytest.mark.parametrize(
    ("details", "text"),
    [
        ({"text": "Uncaught", "exception": {"description": "Error: no\n    at x.js:1"}}, "Error: no\n    at x.js:1"),
        ({"text": "Uncaught (in promise)", "exception": {"type": "number", "value": 5}}, "Uncaught (in promise)"),
        ({"text": "Uncaught"}, "Uncaught"),
        (5, ""),
    ],
)
def test_an_uncaught_exception_is_a_line(details: Any, text: str) -> None:
    seen = line(said({"exceptionDetails": details}, method=THROWN))
    assert (seen["level"], seen["text"], seen["url"]) == ("exception", text, "")


def test_an_exception_says_where_it_was_thrown() -> None:
    details = {"text": "Uncaught", "url": "https://a.example/"}
    assert line(said({"exceptionDetails": details}, method=THROWN))["url"] == "https://a.example/"


@pytest.mark.parametrize("params", [5, None, [], "text"])
def test_a_line_that_cannot_be_read_is_a_line_all_the_same(params: Any) -> None:
    seen = line(said(params))
    assert (seen["level"], seen["text"], seen["url"]) == ("unreadable", "", "")
    assert (seen["at"], seen["session_id"]) == (1_000.0, "S")


# ── how much ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_large_line_is_kept_as_what_it_says_and_shown_the_same() -> None:
    """Fifty lines of a page that logs megabytes take no more than fifty lines of text."""
    least = logged("text", padding="").event.size
    small, large = logged("text", padding="x" * (LARGE - least)), logged("text", padding="x" * (LARGE - least + 1))
    assert small.event.size == LARGE
    [kept] = fed(large)["T"]
    assert isinstance(kept, Read)
    assert len(str(kept)) < 1_000
    assert fed(small)["T"] == (small,)
    assert line(large) == line(small)


@pytest.mark.parametrize("value", ["x" * 3 * TEXT, int("9" * (TEXT + 500))])
def test_a_text_is_cut(value: Any) -> None:
    for params in ({"args": [{"value": value}]}, {"args": [{"description": str(value)}] * 3}):
        assert line(said(params))["text"] == str(value)[:TEXT]
    assert len(line(logged(*["y" * (TEXT // 2)] * 4))["text"]) == TEXT
    url = "https://a.example/" + "x" * TEXT
    assert len(line(logged("", stackTrace={"callFrames": [{"url": url}]}))["url"]) == TEXT
