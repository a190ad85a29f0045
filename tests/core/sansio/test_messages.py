"""Decoding and encoding of one message: no input raises, and every decoder reads it the same.

Three decoders exist: the strict one in C, the tolerant one for messages that it declines, and the one for large
messages in a reused buffer. `meaning` reduces a decoded message to comparable fields; the laws compare meanings.
"""

from __future__ import annotations

import json
import math
from collections import UserDict
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cdp_core.errors import InvalidArgument, RemoteProtocolError
from cdp_core.sansio import messages
from cdp_core.sansio.messages import (
    EVENT_MARK,
    UNUSUAL,
    CommandId,
    Event,
    Incoming,
    Malformed,
    OrphanError,
    Refusal,
    Result,
    SessionId,
    TypedCommand,
    decode,
    encode_command,
)
from cdp_core.sansio.structs import DECODE_ERRORS, Raw

ONE = CommandId(1)


# ── the three decoders ───────────────────────────────────────────────────────────────────────────────────────────────


def by_bytes(octets: bytes) -> Incoming:
    return decode(octets)


def by_bytearray(octets: bytes) -> Incoming:
    return decode(bytearray(octets))


def by_buffer(octets: bytes) -> Incoming:
    """Decode a view of a buffer that the transport reuses right after the read."""
    buffer = bytearray(octets)
    message = decode(memoryview(buffer))
    buffer[:] = b"#" * len(buffer)
    return message


def by_tolerant_decoder(octets: bytes) -> Incoming:
    return messages._decode_tolerantly(octets)


DECODERS: list[Callable[[bytes], Incoming]] = [by_bytes, by_bytearray, by_buffer, by_tolerant_decoder]

Meaning = tuple[Any, ...]


def meaning(message: Incoming) -> Meaning:
    """Return the fields of a decoded message, as comparable values."""
    if isinstance(message, Event):
        return ("event", message.method, message.session_id, value_or_unreadable(lambda: message.params))
    if isinstance(message, Result):
        return ("result", message.id, message.session_id, value_or_unreadable(lambda: message.value))
    if isinstance(message, Refusal):
        return ("refusal", message.id, message.code, message.message, message.data, message.session_id)
    if isinstance(message, OrphanError):
        return ("orphan", message.code, message.message, message.data)
    return ("malformed", message.id, message.session_id, message.reason, message.size)


def value_or_unreadable(read: Callable[[], Any]) -> Any:
    try:
        return exact(read())
    except RemoteProtocolError:
        return "unreadable"


def exact(value: Any) -> Any:
    """Return a form of a value that compares types too: 1, 1.0 and True differ, and NaN equals itself."""
    if isinstance(value, dict):
        return {key: exact(item) for key, item in value.items()}
    if isinstance(value, list):
        return [exact(item) for item in value]
    return (type(value).__name__, repr(value))


# ── messages ─────────────────────────────────────────────────────────────────────────────────────────────────────────

words = st.text(st.characters(), max_size=8)  # lone surrogates too
integers = st.integers(-(2**70), 2**70) | st.sampled_from([0, 2**31 - 1, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63) - 1])
json_values = st.recursive(
    st.none() | st.booleans() | integers | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(words, json_values, max_size=3)
ids = st.integers(1, 2**31 - 1) | integers
sessions = st.none() | words


@st.composite
def legal_messages(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a message that a browser may send, with its keys in Chromium's order."""
    kind = draw(st.sampled_from(["event", "event", "result", "refusal", "orphan"]))
    message: dict[str, Any] = {}
    if kind in ("result", "refusal"):
        message["id"] = draw(ids)
    if kind == "event":
        message["method"] = draw(st.sampled_from(["Page.loadEventFired", "é.é", ""]) | words)
        if draw(st.booleans()):
            message["params"] = draw(objects)
    elif kind == "result":
        message["result"] = draw(objects)
    else:
        message["error"] = {"code": draw(st.integers(-40_000, 0)), "message": draw(words)}
        if draw(st.booleans()):
            message["error"]["data"] = draw(words)
    session = draw(sessions)
    if session is not None and kind != "orphan":
        message["sessionId"] = session
    return message


def expected_meaning(message: dict[str, Any]) -> Meaning:
    """Return the meaning that a decoder must give a legal message."""
    session, error = message.get("sessionId"), message.get("error")
    if "method" in message:
        return ("event", message["method"], session, exact(message.get("params", {})))
    if error is None:
        return ("result", message["id"], session, exact(message["result"]))
    if "id" in message:
        return ("refusal", message["id"], error["code"], error["message"], error.get("data"), session)
    return ("orphan", error["code"], error["message"], error.get("data"))


odd_ids = st.sampled_from([None, True, False, 1.5, "1", [], {}, math.nan, math.inf, 7.0, -0.0, 1e300, 10**30])
odd_messages = st.dictionaries(
    st.sampled_from(["id", "method", "params", "result", "error", "sessionId", "jsonrpc", "é"]),
    json_values | odd_ids | st.sampled_from([{"code": 1, "message": "m"}, {"code": True}, {"message": 5}, {"data": 1}]),
    max_size=5,
)


def text_of(message: Any, *, ascii_only: bool = False, spaced: bool = False) -> bytes:
    separators = None if spaced else (",", ":")
    text = json.dumps(message, ensure_ascii=ascii_only, separators=separators)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(message, separators=separators).encode()


# ── every decoder reads the same ─────────────────────────────────────────────────────────────────────────────────────


@given(message=legal_messages(), ascii_only=st.booleans(), spaced=st.booleans())
@example(message={"method": "M.m", "params": {"s": "\ud800"}}, ascii_only=True, spaced=False)
@example(message={"id": 1, "result": {"s": "\udfff", "n": 2**70}, "sessionId": "S"}, ascii_only=True, spaced=False)
def test_every_decoder_reads_a_legal_message(message: dict[str, Any], ascii_only: bool, spaced: bool) -> None:
    octets = text_of(message, ascii_only=ascii_only, spaced=spaced)
    for read_by in DECODERS:
        assert meaning(read_by(octets)) == expected_meaning(message), read_by


@given(message=legal_messages() | odd_messages, data=st.data())
def test_the_order_of_the_keys_does_not_matter(message: dict[str, Any], data: st.DataObject) -> None:
    keys = data.draw(st.permutations(list(message)))
    shuffled = {key: message[key] for key in keys}
    for read_by in DECODERS:
        assert meaning(read_by(text_of(shuffled))) == meaning(read_by(text_of(message)))


@given(message=odd_messages | json_values)
@example(message={"method": "M.m", "params": None})
@example(message={"id": 1, "result": None})
@example(message={"id": 1, "result": [1], "sessionId": None})
@example(message={"method": "M.m", "params": [1]})
@example(message={"id": 1, "method": "M.m", "result": {}})
@example(message={"id": 1, "result": {}, "error": None})
@example(message={"id": 1, "result": {}, "error": {}})
@example(message={"id": 1, "error": {"code": 1.5, "message": 5, "data": {}}})
@example(message={"method": "M.m", "params": {"a": math.nan, "b": -math.inf}})
@example(message={"id": math.inf, "result": {}})
def test_every_decoder_reads_any_json_the_same(message: Any) -> None:
    octets = text_of(message)
    first, *others = (meaning(read_by(octets)) for read_by in DECODERS)
    assert all(other == first for other in others)


@given(message=legal_messages())
def test_the_strict_decoder_agrees_with_the_tolerant_one(message: dict[str, Any]) -> None:
    octets = text_of(message)
    try:
        strict = messages.decode_event(octets) if octets[2] == EVENT_MARK else messages.decode_result(octets)
    except UNUSUAL:
        return
    assert meaning(strict) == meaning(messages._decode_tolerantly(octets))


def test_the_strict_decoder_accepts_what_browsers_write() -> None:
    assert isinstance(messages.decode_event(b'{"method":"M.m","params":{"a":1},"sessionId":"S"}'), Event)
    assert isinstance(messages.decode_event(b'{"method":"M.m"}'), Event)
    assert isinstance(messages.decode_result(b'{"id":1,"result":{"a":"\xc3\xa9"},"sessionId":"S"}'), Result)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"id": 7.0, "result": {}}, ("result", 7, None, {})),
        ({"id": 0, "result": {}}, ("result", 0, None, {})),
        ({"id": -5, "error": {"code": -1, "message": "m"}}, ("refusal", -5, -1, "m", None, None)),
        ({"id": 1, "error": {}}, ("refusal", 1, 0, "(no message)", None, None)),
        ({"id": 1, "error": {"code": True, "message": 5, "data": 5}}, ("refusal", 1, 0, "(no message)", None, None)),
        ({"error": {"code": -32700, "message": "m", "data": "d"}}, ("orphan", -32700, "m", "d")),
        ({"id": None, "method": "M.m"}, ("event", "M.m", None, {})),
        ({"id": 1, "method": "M.m", "result": {}}, ("result", 1, None, {})),
        ({"method": "M.m", "params": None}, ("event", "M.m", None, "unreadable")),
        ({"method": "M.m", "sessionId": None}, ("event", "M.m", None, {})),
        ({"method": "M.m", "sessionId": ""}, ("event", "M.m", "", {})),
    ],
)
def test_odd_legal_messages_are_read(message: dict[str, Any], expected: Meaning) -> None:
    for read_by in DECODERS:
        assert meaning(read_by(text_of(message))) == expected


@pytest.mark.parametrize(
    ("message", "command_id", "session", "reason"),
    [
        ({"id": True, "result": {}}, None, None, "its id is not an integer"),
        ({"id": 1.5, "result": {}, "sessionId": "S"}, None, "S", "its id is not an integer"),
        ({"id": "1", "method": "M.m"}, None, None, "its id is not an integer"),
        ({"id": 1}, 1, None, "it has an id but neither result nor error"),
        ({"id": 1, "method": "M.m", "sessionId": "S"}, 1, "S", "it has an id but neither result nor error"),
        ({"id": 1, "error": "no"}, 1, None, "it has an id but neither result nor error"),
        ({"id": 1, "result": {}, "sessionId": 5}, 1, None, "its sessionId is not a string"),
        ({"method": 5}, None, None, "it is neither an event nor a reply"),
        ({"params": {}, "sessionId": "S"}, None, "S", "it is neither an event nor a reply"),
        ([], None, None, "it is not a JSON object"),
        ("text", None, None, "it is not a JSON object"),
        (None, None, None, "it is not a JSON object"),
    ],
)
def test_a_malformed_message_gives_the_reason(
    message: Any, command_id: int | None, session: str | None, reason: str
) -> None:
    octets = text_of(message)
    for read_by in DECODERS:
        assert meaning(read_by(octets)) == ("malformed", command_id, session, reason, len(octets))


# ── no input raises ──────────────────────────────────────────────────────────────────────────────────────────────────


def assert_harmless(octets: bytes) -> None:
    for read_by in DECODERS:
        message = read_by(octets)
        assert isinstance(message, (Event, Result, Refusal, OrphanError, Malformed))
        assert meaning(message)
        repr(message)


@given(octets=st.binary(max_size=60))
@example(octets=b"")
@example(octets=b"{}")
@example(octets=b'{"m')
@example(octets=b"\xef\xbb\xbf{}")
@example(octets=b'{"method":"M.m","params":{"a":"\xff"}}')
@example(octets=b'{"id":1,"result":{"a":"\xff"}}')
def test_no_bytes_raise(octets: bytes) -> None:
    assert_harmless(octets)


@given(
    message=legal_messages(),
    changes=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 3), st.binary(max_size=4)), max_size=4),
)
def test_no_broken_message_raises(message: dict[str, Any], changes: list[tuple[int, int, bytes]]) -> None:
    octets = text_of(message)
    for place, removed, inserted in changes:
        start = place % (len(octets) + 1)
        octets = octets[:start] + inserted + octets[start + removed :]
    assert_harmless(octets)


DEEP = {
    "event": b'{"method":"M.m","params":%s}',
    "odd event": b'{"params":%s,"method":"M.m"}',
    "result": b'{"id":1,"result":%s}',
    "odd result": b'{"result":%s,"id":1}',
    "error": b'{"id":1,"error":%s}',
    "nothing": b"%s",
}


@pytest.mark.parametrize("form", DEEP.values(), ids=DEEP)
@pytest.mark.parametrize(("begin", "end"), [(b"[", b"]"), (b'{"a":', b"}")])
@pytest.mark.parametrize("depth", [100, 10_000, 100_000])
def test_no_nesting_raises(form: bytes, begin: bytes, end: bytes, depth: int) -> None:
    assert_harmless(form % (begin * depth + b"1" + end * depth))


@pytest.mark.parametrize("form", DEEP.values(), ids=DEEP)
def test_no_nesting_around_the_limit_raises(form: bytes) -> None:
    """At these depths reading just succeeds, and writing the result again can raise RecursionError."""
    for depth in range(900, 1010):
        for read_by in DECODERS:
            assert read_by(form % (b"[" * depth + b"]" * depth))


def test_a_reply_that_cannot_be_read_still_names_its_command() -> None:
    for octets in (
        b'{"id":77,"result":' + b"[" * 100_000,
        b'{"id":77,"result":{"a":\x01}}',
        b'{"id": 77 ,"result":{',
        b'{"id":77}}',
    ):
        for read_by in DECODERS:
            assert meaning(read_by(octets))[:2] == ("malformed", 77)
    for octets in (b'{"id":77', b'{"id":7.5,', b'{"id":77000000000,"result":{', b' {"id":77,', b'{"ID":77,'):
        assert meaning(decode(octets))[:2] == ("malformed", None)


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity"])
def test_numbers_that_json_lacks_are_malformed(number: bytes) -> None:
    """The standard library accepts them by default, and the tolerant decoder uses it."""
    for octets in (
        b'{"method":"A.a","params":{"x":%s}}',
        b'{"method":"A.a","params":{"x":[%s],"y":"\\ud800"}}',
        b'{"params":{"x":%s},"method":"A.a"}',
    ):
        for read_by in DECODERS:
            assert meaning(read_by(octets % number))[0] == "malformed", octets
    for read_by in DECODERS:
        assert meaning(read_by(b'{"id":77,"result":{"x":%s}}' % number))[:2] == ("malformed", 77)
    event = Event(method="A.a", raw=Raw(b'{"x":%s}' % number))
    with pytest.raises(RemoteProtocolError):
        event.params  # noqa: B018 - reading the property is the test


@pytest.mark.parametrize("message", ["{}", 5, None, [b"{}"]])
def test_a_message_that_is_not_bytes_raises(message: Any) -> None:
    with pytest.raises(RemoteProtocolError, match=type(message).__name__):
        decode(message)


def test_invalid_utf8_is_given_as_the_reason() -> None:
    message = decode(b'{"id":1,"note":"\xff"}')
    assert isinstance(message, Malformed)
    assert (message.reason, message.id) == ("it is not UTF-8", 1)


def test_a_malformed_message_keeps_no_text() -> None:
    assert "secret" not in repr(decode(b'{"id":1,"secret":1}'))
    assert "secret" not in repr(decode(b"secret"))


# ── params and values: read at each access, or once ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("raw", [b"null", b"[1]", b'"text"', b"5", b'{"a":\x01}', b'{"a":"\xff"}', b"[" * 100_000, b""])
def test_reading_malformed_params_or_values_raises(raw: bytes) -> None:
    for read in (
        lambda: Event(method="M.m", raw=Raw(raw)).params,
        lambda: Result(id=ONE, raw=Raw(raw)).value,
    ):
        with pytest.raises(RemoteProtocolError) as caught:
            read()
        assert caught.value.close_code is None
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
        assert "text" not in str(caught.value)


def test_each_access_of_params_reads_a_new_object() -> None:
    event = decode(b'{"method":"M.m","params":{"a":[1]}}')
    assert isinstance(event, Event)
    event.params["a"].append(2)
    assert event.params == {"a": [1]}
    assert event.size == len(b'{"a":[1]}')


def test_a_large_event_is_read_once_and_knows_its_size() -> None:
    octets = text_of({"method": "M.m", "params": {"a": "x" * 300_000}, "sessionId": "S"})
    event = by_buffer(octets)
    assert isinstance(event, Event)
    assert event.params == {"a": "x" * 300_000}
    assert event.params is event.params
    assert event.size == len(octets)
    result = by_buffer(text_of({"id": 1, "result": {"a": "y" * 300_000}}))
    assert isinstance(result, Result)
    assert result.value == {"a": "y" * 300_000}


@given(message=legal_messages(), garbage=st.binary(min_size=1, max_size=1))
def test_a_decoded_message_does_not_use_its_buffer(message: dict[str, Any], garbage: bytes) -> None:
    buffer = bytearray(text_of(message))
    decoded = decode(memoryview(buffer))
    buffer[:] = garbage * len(buffer)
    assert meaning(decoded) == expected_meaning(message)
    buffer.append(0)  # raises BufferError if a view of the buffer is still held


# ── encoding ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class Text(str):
    __slots__ = ()


def params_of(octets: bytes) -> Any:
    return json.loads(octets)["params"]


@given(command_id=st.integers(1, 2**31 - 1), method=words, params=st.none() | objects, session=sessions)
@example(command_id=1, method="M.m", params={"\ud800": "\udfff"}, session="\ud800")
@example(command_id=1, method="M.m", params={"a": 2**64, "b": -(2**63) - 1}, session=None)
def test_an_encoded_command_reads_back_equal(
    command_id: int, method: str, params: dict[str, Any] | None, session: str | None
) -> None:
    octets = encode_command(CommandId(command_id), method, params, None if session is None else SessionId(session))
    expected: dict[str, Any] = {"id": command_id, "method": method}
    expected |= {} if params is None else {"params": params}
    expected |= {} if session is None else {"sessionId": session}
    assert exact(json.loads(octets)) == exact(expected)
    assert octets.startswith(b'{"id":')
    octets.decode()


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def cyclic_list() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def cyclic_dict() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["a"] = value
    return value


@pytest.mark.parametrize(
    "bad", [cyclic_list(), (cyclic_list(),), cyclic_dict(), UserDict(cyclic_dict()), nested(20_000)]
)
def test_cyclic_or_too_deep_params_are_refused(bad: Any) -> None:
    with pytest.raises(InvalidArgument, match="nested too deeply"):
        encode_command(ONE, "M.m", {"a": bad}, None)


@pytest.mark.parametrize("sibling", ["x", "\ud800", 2**70])
def test_any_depth_is_sent_or_refused(sibling: Any) -> None:
    """A depth that one encoder can still write may raise RecursionError in the other."""
    for depth in range(900, 1010):
        params = {"a": sibling, "b": nested(depth)}
        try:
            octets = encode_command(ONE, "M.m", params, None)
        except InvalidArgument:
            continue
        assert octets.count(b"[") == depth + 1


def test_an_integer_with_too_many_digits_is_refused() -> None:
    """Python itself raises a bare ValueError for it."""
    assert params_of(encode_command(ONE, "M.m", {"a": 10**400}, None)) == {"a": 10**400}
    with pytest.raises(InvalidArgument, match="digits"):
        encode_command(ONE, "M.m", {"a": 10**5000}, None)


def test_encoding_does_not_change_the_params() -> None:
    params = {"a": (1, Text("x")), "b": [1]}
    encode_command(ONE, "M.m", params, None)
    assert params == {"a": (1, Text("x")), "b": [1]}
    assert type(params["a"]) is tuple


# ── types of messages and commands ───────────────────────────────────────────────────────────────────────────────────


def test_a_typed_command_is_recognised_by_its_members() -> None:
    class Navigate:
        method = "Page.navigate"

        def to_params(self) -> dict[str, Any]:
            return {}

        def parse(self, result: Result, /) -> int:
            return len(result.value)

    assert isinstance(Navigate(), TypedCommand)
    assert not isinstance("Page.navigate", TypedCommand)


def test_decoders_raise_the_listed_errors() -> None:
    with pytest.raises(DECODE_ERRORS):
        messages.decode_event(b"nonsense")
    with pytest.raises(DECODE_ERRORS):
        messages.decode_result(b"[" * 100_000)


# ── limits and kinds ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_largest_id_is_that_of_a_signed_32_bit_integer() -> None:
    """Chromium answers a larger id with an error without an id (fact 53)."""
    assert messages.MAX_COMMAND_ID == 2_147_483_647


@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_a_payload_that_only_the_tolerant_decoder_reads_keeps_its_raw_params(kind: Any) -> None:
    odd = b'{"params": {"a": 1}, "id": null, "method": "A.b"}'
    message = decode(kind(odd))
    assert type(message) is Event
    assert bytes(message.raw) == b'{"a":1}'
    result = decode(kind(b'{"result": {"a": 1}, "id": 7.0}'))
    assert type(result) is Result


def test_a_view_that_only_the_tolerant_decoder_reads_is_decoded_as_a_whole() -> None:
    lone = b'{"method":"A.b","params":{"a":"\\ud800"}}'
    message = decode(memoryview(lone))
    assert isinstance(message, messages.WholeEvent)
    assert message.params["a"] == "\ud800"


def test_an_event_has_no_items() -> None:
    event: Any = Event(method="Page.loadEventFired")
    with pytest.raises(TypeError, match=r"write event\.params\['timestamp'\]"):
        event["timestamp"]
