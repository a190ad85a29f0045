"""The rules of the wire, word for word: the notes and records of wire_errors and wire_ids, and more.

`wire_rules.jsonl` holds what Chromium 156 (`--headless=new`, over its pipe) answered to 170 texts that are not commands,
or hardly. Each line has the octets, as Latin-1, and the answers without their results. It is a record: nothing in it was
edited.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cdp_core.sansio.trace import MessageRecord
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.fake.client_end import ClientEnd
from cdp_core.testing.fake.commands.shapes import params_of
from cdp_core.testing.fake.model.dispatch_errors import (
    MAX_MESSAGE_BYTES,
    Refused,
    Request,
    Unreadable,
    _size,
    check_params,
    read_request,
)
from cdp_core.testing.fake.model.json_text import DuplicateKeyObject, JsonFault, read_json
from cdp_core.tracing.file import read_trace

Json = dict[str, Any]
TRACES = Path(__file__).parents[1] / "traces"
RULES = [json.loads(line) for line in Path(__file__).with_name("wire_rules.jsonl").read_text().splitlines()]


def answers(end: ClientEnd, octets: bytes) -> list[Json]:
    """Return the answers to a text, without events and results."""
    end.drain()
    end.receive(octets)
    found = [json.loads(payload) for payload in end.drain()]
    return [{"id": each["id"], "result": "…"} if "result" in each else each for each in found if "method" not in each]


def attached(fake: FakeBrowser) -> tuple[ClientEnd, str]:
    """Attach a client to the first page; return it and its session."""
    end = fake.connect()
    [page] = fake.truth().pages
    command = {"id": 1, "method": "Target.attachToTarget", "params": {"targetId": page, "flatten": True}}
    end.receive(json.dumps(command).encode())
    *_, reply = map(json.loads, end.drain())
    return end, reply["result"]["sessionId"]


# ── recorded answers of Chromium ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("rule", RULES, ids=[rule["octets"][:40] for rule in RULES])
def test_a_text_is_answered_as_chromium_answered_it(rule: Json) -> None:
    assert answers(FakeBrowser().connect(), rule["octets"].encode("latin-1")) == rule["answers"]


def test_the_record_is_complete() -> None:
    assert len(RULES) == 170
    assert len({each["error"]["message"] for rule in RULES for each in rule["answers"] if "error" in each}) == 51


NOTE = re.compile(r"- (?P<name>.+?): `(?P<text>.*?)` -> (?P<answers>\[.*)")


def wire_errors() -> Iterator[tuple[str, bytes, str]]:
    """Yield for each line of the notes its name, the whole text of the record, and the noted answers."""
    texts = [
        record.text
        for record in read_trace(TRACES / "wire_errors.jsonl")
        if isinstance(record, MessageRecord) and record.direction == "out"
    ]
    for line in (TRACES / "wire_errors.md").read_text().splitlines():
        found = NOTE.fullmatch(line)
        if found is not None:
            text = found["text"].encode()
            # The notes keep 70 characters of a text. The records hold objects, so no key occurs in them twice.
            whole = text if len(text) < 70 else next(each for each in texts if each.startswith(text))
            yield found["name"], whole, found["answers"]


ERRORS = list(wire_errors())


@pytest.mark.parametrize(("name", "text", "noted"), ERRORS, ids=[name for name, _, _ in ERRORS])
def test_a_line_of_the_notes_is_reproduced(name: str, text: bytes, noted: str) -> None:
    """Fact 53. The notes cut off results; other tests compare those."""
    end, session = attached(FakeBrowser())
    own = re.sub(rb'"sessionId":\s*"[0-9A-F]{32}"', f'"sessionId":"{session}"'.encode(), text)
    given = json.dumps(answers(end, own)).replace(session, "<sid>")
    if '"result"' in noted:
        command_id = json.loads(re.match(r'\[\{"id": (-?\d+)', noted)[1])  # type: ignore[index]
        assert [(each.get("id"), each.get("result")) for each in json.loads(given)] == [(command_id, "…")]
    else:
        assert json.loads(given) == json.loads(noted)


def test_all_lines_of_the_notes_are_read() -> None:
    noted = [line for line in (TRACES / "wire_errors.md").read_text().splitlines() if line.startswith("- ")]
    assert len(ERRORS) == len(noted) - 1 == 35
    assert noted[-1].startswith("- binary frame")  # a pipe has no frames; the WebSocket tests send one


def test_command_ids_belong_to_their_session() -> None:
    """wire_ids, fact 54: the same id on three sessions, twice on one session, and on an unknown session."""
    end, first = attached(FakeBrowser())
    end.receive(
        json.dumps(
            {
                "id": 2,
                "method": "Target.attachToTarget",
                "params": {"targetId": end.fake.truth().pages[0], "flatten": True},
            }
        ).encode()
    )
    *_, reply = map(json.loads, end.drain())
    second = reply["result"]["sessionId"]
    for session in ({}, {"sessionId": first}, {"sessionId": second}):
        end.receive(json.dumps({"id": 500, "method": "Target.getTargetInfo", **session}).encode())
    messages = [json.loads(payload) for payload in end.drain()]
    assert [(each["id"], each.get("sessionId")) for each in messages] == [(500, None), (500, first), (500, second)]

    evaluate = {"id": 600, "method": "Runtime.evaluate", "params": {"expression": "alert(1)"}, "sessionId": first}
    end.receive(json.dumps({"id": 599, "method": "Page.enable", "sessionId": first}).encode())
    end.receive(json.dumps(evaluate).encode())
    end.receive(json.dumps({**evaluate, "params": {"expression": "'b'"}}).encode())
    answer = {"id": 601, "method": "Page.handleJavaScriptDialog", "params": {"accept": True}, "sessionId": first}
    end.receive(json.dumps(answer).encode())
    messages = [each for each in map(json.loads, end.drain()) if each.get("id") == 600]
    assert [each.get("error") for each in messages] == [
        {"code": -32600, "message": "Duplicate `id` in protocol request"},
        None,
    ]

    gone = {"error": {"code": -32001, "message": "Session with given id not found."}}
    unknown = {"id": 700, "method": "Page.enable", "sessionId": "0" * 32}
    assert answers(end, json.dumps(unknown).encode()) == [{"id": 700, **gone}]
    end.receive(json.dumps({"id": 6, "method": "Target.detachFromTarget", "params": {"sessionId": second}}).encode())
    assert answers(end, json.dumps({**unknown, "id": 701, "sessionId": second}).encode()) == [{"id": 701, **gone}]


@pytest.mark.parametrize(("octets", "stays"), [(MAX_MESSAGE_BYTES - 1, True), (MAX_MESSAGE_BYTES, False)])
def test_a_text_that_is_too_long_ends_the_link(octets: int, stays: bool) -> None:
    """Fact 57; other clients stay connected."""
    fake = FakeBrowser()
    end, other = fake.connect(), fake.connect()
    end.receive(b" " * octets)
    assert end.connected is stays
    assert other.connected


# ── any text ─────────────────────────────────────────────────────────────────────────────────────────────────────────

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
PIECES = st.sampled_from(
    [
        '{"id":',
        '"method":',
        '"params":',
        '"sessionId":',
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        '"',
        "\\",
        "\\u00",
        "\\ud83d",
        "1",
        "-",
        "0",
        ".5",
        "e9",
        "1e999",
        "true",
        "null",
        '"a"',
        "\n",
        "\v",
        "é",
        "\N{PILE OF POO}",
        "\ud800",
        "/*",
        "\x00",
    ]
)


@given(text=st.text() | st.lists(PIECES).map("".join))
@example(text="[" * 5000)
@example(text='{"a":' * 5000)
@example(text="9" * 5000)
@example(text='{"id":1,"method":"a","params":' + "[" * 299 + "]" * 299 + "}")
def test_any_text_is_a_command_or_malformed(text: str) -> None:
    request: Request | Unreadable
    try:
        request = read_request(text)
    except Unreadable as malformed:
        request = malformed
    if isinstance(request, Unreadable):
        assert request.code in (-32700, -32600)
        assert request.data is None
    else:
        assert type(request.id) is int
        assert request.method.isascii()


@given(octets=st.binary() | st.lists(PIECES).map(lambda pieces: "".join(pieces).encode("utf-8", "surrogatepass")))
@example(octets=b'{"id":1,"method":"\xff"}')
@example(octets=b"\xff")
def test_any_octets_are_answered(octets: bytes) -> None:
    end = FakeBrowser().connect()
    end.receive(octets)
    [answer] = end.drain()
    assert "error" in json.loads(answer)
    assert end.connected


@given(value=JSON_VALUES, spaces=st.sampled_from([None, 1]), ascii_only=st.booleans())
def test_plain_json_is_read_as_python_reads_it(value: Any, spaces: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=spaces, ensure_ascii=ascii_only)
    assert same(read_json(text), json.loads(text))
    assert same(read_json(text.encode("utf-8", "surrogatepass")), json.loads(text))


def same(found: Any, wanted: Any) -> bool:
    """Compare values: numbers are 32-bit integers or doubles, and lone surrogates are replaced."""
    if isinstance(wanted, dict):
        keys = [clean(key) for key in wanted]
        if len(set(keys)) < len(keys):
            return type(found) is DuplicateKeyObject
        return list(found) == keys and all(map(same, found.values(), wanted.values()))
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    if isinstance(wanted, (int, float)) and not isinstance(wanted, bool):
        is_int = float(wanted).is_integer() and -(2**31) <= wanted < 2**31
        return type(found) is (int if is_int else float) and found == float(wanted)
    return bool(found == (clean(wanted) if isinstance(wanted, str) else wanted)) and type(found) is type(wanted)


def clean(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@given(value=JSON_VALUES, junk=st.sampled_from(["x", "}", "]", ",", '"']))
def test_json_that_python_refuses_is_refused(value: Any, junk: str) -> None:
    with pytest.raises(JsonFault, match=r"^JSON: [a-z ]+ at position \d+$"):
        read_json(json.dumps(value) + junk)


@given(
    id=st.integers(-(2**31), 2**31 - 1),
    method=st.text("abc.", min_size=1),
    params=st.none() | st.dictionaries(st.text(max_size=3), st.integers(0, 9)),
    session=st.none() | st.text("ABC"),
    order=st.permutations(range(4)),
)
def test_a_valid_command_is_read(id: int, method: str, params: Any, session: str | None, order: list[int]) -> None:
    members = [("id", id), ("method", method), ("params", params)]
    members += [] if session is None else [("sessionId", session)]
    text = json.dumps(dict(members[place] for place in order if place < len(members)))
    assert read_request(text) == Request(id=id, method=method, params=params, session=session or None)


# ── positions in the binary form ─────────────────────────────────────────────────────────────────────────────────────


def packed(value: Any) -> bytes:
    """Encode a value as CBOR as Chromium does, to compare the sizes."""
    if value is None or isinstance(value, bool):
        return b"\xf6"
    if isinstance(value, float):
        return b"\xfb" + bytes(8)
    if isinstance(value, int):
        return head(value if value >= 0 else -1 - value)
    if isinstance(value, str):
        octets = value.encode() if value.isascii() else value.encode("utf-16-le", "surrogatepass")
        return head(len(octets)) + octets
    inner = (
        [packed(key) + packed(each) for key, each in value.items()] if isinstance(value, dict) else map(packed, value)
    )
    body = b"\xbf" + b"".join(inner) + b"\xff"
    return b"\xd8\x18\x5a" + len(body).to_bytes(4, "big") + body


def head(number: int) -> bytes:
    if number < 24:
        return bytes([number])
    size = next(size for size in (1, 2, 4) if number < 1 << 8 * size)
    return b"\x18" + number.to_bytes(size, "big")


@given(value=JSON_VALUES)
def test_the_computed_size_is_the_length_of_the_encoded_value(value: Any) -> None:
    read = read_json(json.dumps(value))
    assert _size(read) == len(packed(read))


@given(before=st.dictionaries(st.text("abc", min_size=1), JSON_VALUES, max_size=3), url=st.integers(0, 9))
def test_a_field_of_the_wrong_type_is_named_with_its_position(before: Json, url: int) -> None:
    params = read_json(json.dumps({**before, "url": url}))
    with pytest.raises(Refused) as refused:
        check_params(params, params_of("Page.navigate"))
    place = 8 + sum(len(packed(name)) + len(packed(each)) for name, each in params.items() if name != "url")
    place += len(packed("url"))
    assert refused.value.error == {
        "code": -32602,
        "message": "Invalid parameters",
        "data": f"Failed to deserialize params.url - BINDINGS: string value expected at position {place}",
    }
