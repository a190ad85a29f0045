"""What browsers say is read in two ways, straight from the bytes and field by field: they see the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdp_core.errors import RemoteProtocolError
from cdp_core.sansio.messages import Event, decode
from cdp_core.sansio.structs import Raw
from cdp_supervisor.sansio import event_params
from cdp_supervisor.sansio.event_params import (
    ContextCreated,
    DialogClosing,
    DialogOpening,
    FrameAttaching,
    FrameDetaching,
    FrameNavigating,
    FrameShown,
    NavigatedWithin,
    Nothing,
    frame_shown,
    reader,
)
from cdp_supervisor.sansio.params import ID

KINDS = (
    ContextCreated,
    DialogClosing,
    DialogOpening,
    FrameAttaching,
    FrameDetaching,
    FrameNavigating,
    NavigatedWithin,
    Nothing,
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
def test_both_ways_of_reading_see_the_same(params: Any, kind: Any) -> None:
    with pytest.MonkeyPatch.context() as patched:
        quick = reader(kind)(event(params), MOST)
        patched.setattr(event_params, "ID", 0)
        assert reader(kind)(event(params), MOST) == quick


def test_an_opening_is_read() -> None:
    params = {
        "frameId": "F",
        "type": "prompt",
        "message": "Name?",
        "defaultPrompt": "Ada",
        "hasBrowserHandler": True,
        "newer": [1],
    }
    wanted = DialogOpening(frame_id="F", type="prompt", message="Name?", default_prompt="Ada", native=True)
    assert reader(DialogOpening)(event(params), MOST) == wanted


def test_what_is_missing_or_of_another_type_is_empty() -> None:
    read = reader(FrameNavigating)(event({"frame": {"id": 5, "url": "u", "parentId": None}, "type": {}}), MOST)
    assert read == FrameNavigating(frame=FrameShown(url="u"))


@pytest.mark.parametrize("most", [20, 5_000])
def test_texts_are_cut(most: int) -> None:
    frame = {"id": "i" * 9_000, "url": "u" * 9_000, "name": "n" * 9_000}
    for read in (reader(FrameNavigating)(event({"frame": frame}), most).frame, frame_shown(frame, most)):
        assert (len(read.id), len(read.url), len(read.name)) == (ID, most, ID)


def test_an_event_out_of_a_large_message_is_read() -> None:
    text = {"method": "Page.frameNavigated", "params": {"frame": {"id": "F", "url": "x" * 300_000}}}
    made = decode(memoryview(json.dumps(text).encode()))
    assert isinstance(made, Event)
    assert not made.raw
    read = reader(FrameNavigating)(made, MOST)
    assert (read.frame.id, len(read.frame.url)) == ("F", MOST)


@pytest.mark.parametrize("params", [[1], "text", 7])
def test_params_that_are_no_object_are_told_of(params: Any) -> None:
    with pytest.raises(RemoteProtocolError):
        reader(FrameAttaching)(event(params), MOST)
