"""The console ring keeps the last lines of each page, whatever the page logs and however much."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdp_core.sansio.messages import Event, TargetId, decode
from cdp_core.sansio.structs import replace
from cdp_supervisor.sansio import console
from cdp_supervisor.sansio.console import LARGE, LINES, TEXT, ConsoleRing, Read
from cdp_supervisor.sansio.inputs import BrowserEvent, Instant, TimePassed

LOGGED, THROWN = "Runtime.consoleAPICalled", "Runtime.exceptionThrown"
AT = Instant(mono=3.0, wall=1_000.0)
RING = ConsoleRing()


def event(method: str, params: Any, session: str = "S") -> Event:
    made = decode(json.dumps({"method": method, "params": params, "sessionId": session}).encode())
    assert isinstance(made, Event)
    return made


def console_event(params: Any, *, method: str = LOGGED, page: str | None = "T", wall: float = 1_000.0) -> BrowserEvent:
    target = None if page is None else TargetId(page)
    return BrowserEvent(at=Instant(mono=3.0, wall=wall), generation=1, event=event(method, params), page=target)


def logged(*args: Any, page: str = "T", **more: Any) -> BrowserEvent:
    return console_event(
        {"type": "log", "args": [{"type": "string", "value": each} for each in args], **more}, page=page
    )


def state_after(*inputs: Any, state: Any = None) -> Any:
    state = RING.initial() if state is None else state
    for each in inputs:
        state, effects = RING.step(state, each)
        assert effects == ()
        assert RING.next_deadline(state) is None
    return state


def lines_by_page(*inputs: Any) -> dict[str, list[Any]]:
    pages: dict[str, list[Any]] = RING.view(state_after(*inputs))["pages"]
    return pages


def only_line(*inputs: Any) -> Any:
    [one] = lines_by_page(*inputs)["T"]
    return one


# ── which lines are kept ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_new_ring_has_no_pages() -> None:
    assert RING.view(RING.initial()) == {"pages": {}}


def test_a_line_has_level_text_url_time_and_session() -> None:
    frames = [{"url": "https://a.example/x.js"}, {"url": "https://b.example/"}]
    assert only_line(logged("one", "two", stackTrace={"callFrames": frames})) == {
        "level": "log",
        "text": "one two",
        "url": "https://a.example/x.js",
        "at": 1_000.0,
        "session_id": "S",
    }


def test_the_ring_listens_to_console_calls_and_exceptions_and_keeps_nothing_else() -> None:
    assert RING.events == {LOGGED, THROWN}
    state = state_after(logged("kept"))
    other = console_event({"args": []}, method="Page.loadEventFired")
    without_page = console_event({"args": []}, page=None)
    assert state_after(other, without_page, TimePassed(at=AT, generation=1), state=state) is state


def test_each_page_has_its_own_lines_oldest_first() -> None:
    pages = lines_by_page(logged("1", page="A"), logged("2", page="B"), logged("3", page="A"))
    assert {page: [each["text"] for each in lines] for page, lines in pages.items()} == {"A": ["1", "3"], "B": ["2"]}


def test_a_view_does_not_change_the_state() -> None:
    state = state_after(logged("1"), logged("2"))
    assert RING.view(state) == RING.view(state)
    more = state_after(logged("3"), state=state)
    assert [each["text"] for each in RING.view(state)["pages"]["T"]] == ["1", "2"]
    assert [each["text"] for each in RING.view(more)["pages"]["T"]] == ["1", "2", "3"]


@pytest.mark.parametrize("count", [LINES - 1, LINES, LINES + 1, 2 * LINES, 5 * LINES + 7])
def test_the_last_fifty_lines_of_a_page_are_kept(count: int) -> None:
    texts = [each["text"] for each in lines_by_page(*(logged(str(number)) for number in range(count)))["T"]]
    assert texts == [str(number) for number in range(count)][-50:]


@settings(max_examples=25)
@given(batches=st.lists(st.lists(st.sampled_from("AAAB"), min_size=1, max_size=9), max_size=9))
def test_the_ring_equals_a_list_for_each_page(batches: list[list[str]]) -> None:
    """For any number of events folded at once, with a small limit."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(console, "LINES", 3)
        model: dict[str, list[str]] = {}
        state, one_by_one, number = RING.initial(), RING.initial(), 0
        for batch in batches:
            lines = [logged(str(number + offset), page=page) for offset, page in enumerate(batch)]
            for page in batch:
                model[page] = [*model.get(page, []), str(number)][-3:]
                number += 1
            state = RING.fold(state, lines)
            one_by_one = state_after(*lines, state=one_by_one)
        view = RING.view(state)
    assert {page: [each["text"] for each in lines] for page, lines in view["pages"].items()} == model
    assert RING.view(one_by_one) == view


def test_a_page_with_many_lines_drops_no_line_of_another_page() -> None:
    many = [logged(str(number), page="A") for number in range(10 * LINES)]
    assert [each["text"] for each in lines_by_page(logged("quiet", page="B"), *many)["B"]] == ["quiet"]


def test_the_number_of_pages_with_lines_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page with the oldest last line is dropped first."""
    monkeypatch.setattr(console, "PAGES", 2)
    logged_at = {page: at for at, page in enumerate("ABCDAE")}
    lines = [replace(logged(page, page=page), at=Instant(mono=at)) for at, page in enumerate("ABCDAE")]
    assert logged_at["A"] > logged_at["D"]
    assert set(lines_by_page(*lines)) == {"A", "E"}
    assert set(RING.view(RING.fold(RING.initial(), lines))["pages"]) == {"A", "E"}


def test_another_line_of_a_known_page_drops_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "PAGES", 2)
    pages = lines_by_page(*(logged(page, page=page) for page in "ABABAB"))
    assert {page: len(lines) for page, lines in pages.items()} == {"A": 3, "B": 3}


# ── the content of a line ─────────────────────────────────────────────────────────────────────────────────────────────


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
def test_an_argument_is_shown_by_its_value_or_its_description(argument: Any, text: str) -> None:
    assert only_line(console_event({"type": "log", "args": [argument]}))["text"] == text


def test_only_the_first_arguments_are_shown() -> None:
    assert only_line(logged(*"abcdefgh"))["text"] == "a b c d"


@pytest.mark.parametrize(("kind", "level"), [("error", "error"), ("warning", "warning"), (None, "log"), (5, "log")])
def test_the_level_is_the_type_of_the_console_call(kind: Any, level: str) -> None:
    assert only_line(console_event({"type": kind, "args": []}))["level"] == level


@pytest.mark.parametrize("stack", [None, {}, {"callFrames": []}, {"callFrames": [5]}, {"callFrames": [{}]}])
def test_a_line_without_a_stack_frame_has_no_url(stack: Any) -> None:
    assert only_line(logged("text", stackTrace=stack))["url"] == ""


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
    seen = only_line(console_event({"exceptionDetails": details}, method=THROWN))
    assert (seen["level"], seen["text"], seen["url"]) == ("exception", text, "")


def test_an_exception_has_the_url_where_it_was_thrown() -> None:
    details = {"text": "Uncaught", "url": "https://a.example/"}
    assert only_line(console_event({"exceptionDetails": details}, method=THROWN))["url"] == "https://a.example/"


@pytest.mark.parametrize("params", [5, None, [], "text"])
def test_unreadable_event_params_give_a_line_of_level_unreadable(params: Any) -> None:
    seen = only_line(console_event(params))
    assert (seen["level"], seen["text"], seen["url"]) == ("unreadable", "", "")
    assert (seen["at"], seen["session_id"]) == (1_000.0, "S")


# ── limits ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_large_event_is_kept_as_its_text_only_and_shown_the_same() -> None:
    """Fifty large events of a page take no more memory than fifty lines of text."""
    least = logged("text", padding="").event.size
    small, large = logged("text", padding="x" * (LARGE - least)), logged("text", padding="x" * (LARGE - least + 1))
    assert small.event.size == LARGE
    [kept] = state_after(large)["T"]
    assert isinstance(kept, Read)
    assert len(str(kept)) < 1_000
    assert state_after(small)["T"] == (small,)
    assert only_line(large) == only_line(small)


@pytest.mark.parametrize("value", ["x" * 3 * TEXT, int("9" * (TEXT + 500))])
def test_a_long_text_is_cut(value: Any) -> None:
    for params in ({"args": [{"value": value}]}, {"args": [{"description": str(value)}] * 3}):
        assert only_line(console_event(params))["text"] == str(value)[:TEXT]
    assert len(only_line(logged(*["y" * (TEXT // 2)] * 4))["text"]) == TEXT
    url = "https://a.example/" + "x" * TEXT
    assert len(only_line(logged("", stackTrace={"callFrames": [{"url": url}]}))["url"]) == TEXT
