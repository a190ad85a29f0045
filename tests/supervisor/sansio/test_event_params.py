"""Event params are read from the bytes or field by field: both agree, and no odd value breaks them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdp_core.errors import RemoteProtocolError
from cdp_core.sansio.messages import Event, TargetId, decode
from cdp_core.sansio.structs import Raw
from cdp_supervisor.sansio import event_params
from cdp_supervisor.sansio.event_params import (
    ID,
    ContextCreatedParams,
    DialogClosedParams,
    DialogOpeningParams,
    FrameAttachedParams,
    FrameDetachedParams,
    FrameInfo,
    FrameNavigatedParams,
    NavigatedWithinDocumentParams,
    NoParams,
    flag,
    member,
    members,
    read_frame,
    reader,
    shown_page,
    site_of,
    text,
)
from cdp_supervisor.sansio.state import Page

KINDS = (
    ContextCreatedParams,
    DialogClosedParams,
    DialogOpeningParams,
    FrameAttachedParams,
    FrameDetachedParams,
    FrameNavigatedParams,
    NavigatedWithinDocumentParams,
    NoParams,
)
MOST = 10_240
ODD: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=9), st.just("\ud800"), st.just([]), st.just({"a": 1})
)
NAMES = ("frameId", "parentFrameId", "reason", "type", "url", "result", "userInput", "message", "hasBrowserHandler")
FRAME = st.dictionaries(st.sampled_from(["id", "parentId", "url", "urlFragment", "name", "securityOrigin"]), ODD)
CONTEXT = st.fixed_dictionaries(
    {}, optional={"uniqueId": ODD, "auxData": ODD | st.dictionaries(st.sampled_from(["frameId", "isDefault"]), ODD)}
)
PARAMS = st.fixed_dictionaries(
    {}, optional={**dict.fromkeys(NAMES, ODD), "frame": ODD | FRAME, "context": ODD | CONTEXT, "defaultPrompt": ODD}
)


def event(params: Any) -> Event:
    return Event(method="Page.any", raw=Raw(json.dumps(params).encode()))


@given(params=PARAMS, kind=st.sampled_from(KINDS))
def test_both_ways_of_reading_give_the_same_params(params: Any, kind: Any) -> None:
    with pytest.MonkeyPatch.context() as patched:
        quick = reader(kind)(event(params), MOST)
        patched.setattr(event_params, "ID", 0)
        assert reader(kind)(event(params), MOST) == quick


def test_the_params_of_an_opening_are_read() -> None:
    params = {
        "frameId": "F",
        "type": "prompt",
        "message": "Name?",
        "defaultPrompt": "Ada",
        "hasBrowserHandler": True,
        "newer": [1],
    }
    expected = DialogOpeningParams(frame_id="F", type="prompt", message="Name?", default_prompt="Ada", native=True)
    assert reader(DialogOpeningParams)(event(params), MOST) == expected


def test_a_missing_field_or_one_of_another_type_is_empty() -> None:
    read = reader(FrameNavigatedParams)(event({"frame": {"id": 5, "url": "u", "parentId": None}, "type": {}}), MOST)
    assert read == FrameNavigatedParams(frame=FrameInfo(url="u"))


@pytest.mark.parametrize("most", [20, 5_000])
def test_long_texts_are_cut(most: int) -> None:
    frame = {"id": "i" * 9_000, "url": "u" * 9_000, "name": "n" * 9_000}
    for read in (reader(FrameNavigatedParams)(event({"frame": frame}), most).frame, read_frame(frame, most)):
        assert (len(read.id), len(read.url), len(read.name)) == (ID, most, ID)


def test_an_event_of_a_large_message_is_read() -> None:
    message = {"method": "Page.frameNavigated", "params": {"frame": {"id": "F", "url": "x" * 300_000}}}
    made = decode(memoryview(json.dumps(message).encode()))
    assert isinstance(made, Event)
    assert not made.raw
    read = reader(FrameNavigatedParams)(made, MOST)
    assert (read.frame.id, len(read.frame.url)) == ("F", MOST)


@pytest.mark.parametrize("params", [[1], "text", 7])
def test_params_that_are_not_an_object_raise(params: Any) -> None:
    with pytest.raises(RemoteProtocolError):
        reader(FrameAttachedParams)(event(params), MOST)


# ── field by field ────────────────────────────────────────────────────────────────────────────────────────────────────


ODD_VALUES: list[Any] = [None, True, False, 0, 1, -1, 0.5, "", "text", [], ["text"], {}, {"a": 1}]


@pytest.mark.parametrize("odd", ODD_VALUES)
def test_a_field_of_another_type_counts_as_missing(odd: Any) -> None:
    params = {"it": odd}
    assert text(params, "it") == (odd if isinstance(odd, str) else "")
    assert flag(params, "it") is (odd is True)
    assert member(params, "it") == (odd if isinstance(odd, dict) else {})
    assert members(params, "it") == []


def test_a_missing_field_is_empty() -> None:
    assert (text({}, "it"), flag({}, "it"), member({}, "it"), members({}, "it")) == ("", False, {}, [])


def test_only_the_boolean_true_sets_a_flag() -> None:
    """A truthy value, such as the text "false", does not count."""
    assert not any(flag({"it": value}, "it") for value in (1, "true", "false", [0], {"a": 1}))


def test_a_long_id_is_cut() -> None:
    """Memory stays bounded, whatever the browser sends."""
    assert len(text({"it": "x" * 5_000}, "it")) == 1_024
    assert text({"it": "x" * 1_024}, "it") == "x" * 1_024


@pytest.mark.parametrize(("most", "seen"), [(0, ""), (2, "ab"), (3, "abc"), (9, "abc")])
def test_a_text_is_cut_at_the_given_length(most: int, seen: str) -> None:
    assert text({"it": "abc"}, "it", most) == seen


def test_a_member_is_returned_without_a_copy() -> None:
    inner = {"a": {"b": 1}}
    assert member({"it": inner}, "it") is inner


def test_the_objects_of_a_list_are_read_in_order() -> None:
    assert members({"it": [{"a": 1}, None, "b", {"c": 2}, [{"d": 3}], {}]}, "it") == [{"a": 1}, {"c": 2}, {}]


def test_the_returned_list_is_a_copy() -> None:
    params = {"it": [{"a": 1}]}
    members(params, "it").clear()
    assert params == {"it": [{"a": 1}]}


# ── sites ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("http://a.example/x?y#z", "http://a.example"),
        ("https://deep.sub.a.example:8443/", "https://a.example"),
        ("HTTPS://A.Example/", "https://a.example"),
        ("http://user:secret@a.example/", "http://a.example"),
        ("http://a.example/user@b.example", "http://a.example"),
        ("http://localhost:8000/", "http://localhost"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1"),
        ("http://[::1]:8000/", "http://[::1]"),
        ("http://[::ffff:10.0.0.1]/", "http://[::ffff:10.0.0.1]"),
        ("chrome-extension://abcdef/page.html", "chrome-extension://abcdef"),
        ("about:blank", ""),
        ("data:text/html,http://a.example/", ""),
        ("file:///tmp/page.html", ""),
        ("http://", ""),
        ("http://:80/", ""),
        ("no address", ""),
        ("", ""),
    ],
)
def test_a_site_is_a_scheme_and_the_last_two_labels_of_a_host(url: str, site: str) -> None:
    assert site_of(url) == site


def test_two_ip_addresses_are_two_sites() -> None:
    assert site_of("http://10.0.0.1/") != site_of("http://20.0.0.1/")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:secret@shop.example:8443/cart?token=1#x", "12345678 (https://shop.example:8443)"),
        ("http://[::1]/", "12345678 (http://[::1])"),
        ("data:text/html,secret", "12345678 (data:)"),
        ("about:blank", "12345678 (about:blank)"),
        ("about:secret?x", "12345678 (about:)"),
        ("", "12345678 (no URL)"),
        ("https://" + "a" * 200, f"12345678 (https://{'a' * 92})"),
    ],
)
def test_a_page_is_shown_by_its_id_and_origin_without_the_rest_of_its_url(url: str, shown: str) -> None:
    assert shown_page(Page(id=TargetId("1234567890"), number=1, url=url)) == shown
