"""WebSocket frames: `FrameReader` must read the same as wsproto from the same bytes.

A stream is drawn as data (`Frame`s, some of them malformed on purpose) and cut into any portions. The tests compare the
whole messages before the violation, the control frames, and the close code of the violation. Two rules are ours and not
wsproto's, so the oracle here adds them: a binary message is a violation (1003), and a message has a limit (1009).

Large frames take a separate path, into a reused buffer: it must give the same as the path of small frames.
"""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Callable, Iterable
from typing import Any

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from wsproto import events
from wsproto.connection import Connection, ConnectionType

from cdp_core.errors import InvalidArgument
from cdp_core.sansio import websocket_client
from cdp_core.sansio.websocket_client import KEPT_BUFFER, LARGE, OWN_BUFFER, FrameReader, frame_text

LIMIT = 1 << 20
TEXT, BINARY, CONTINUATION, CLOSE, PING, PONG = 1, 2, 0, 8, 9, 10


@attrs.frozen
class Frame:
    """A WebSocket frame from a server, valid with the default fields."""

    opcode: int = TEXT
    payload: bytes = b""
    final: bool = True
    reserved: int = 0
    masked: bool = False
    length_in: int = 0  # 2 or 8 forces a length field of that size; 0 takes the shortest

    def octets(self) -> bytes:
        size = len(self.payload)
        length_in = self.length_in or (0 if size < 126 else 2 if size < 1 << 16 else 8)
        code = {0: size, 2: 126, 8: 127}[length_in]
        head = bytes((self.final << 7 | self.reserved << 4 | self.opcode, self.masked << 7 | code))
        mask = b"\0\0\0\0" if self.masked else b""
        return head + (size.to_bytes(length_in, "big") if length_in else b"") + mask + self.payload


@attrs.frozen
class Reading:
    """The result of reading a stream: messages, control frames, and the close code of a violation."""

    messages: tuple[bytes, ...]
    controls: tuple[tuple[int, bytes], ...]
    code: int | None


def read_by_wsproto(chunks: Iterable[bytes], limit: int = LIMIT) -> Reading:
    """Return the result of wsproto, with our two rules added."""
    connection = Connection(ConnectionType.CLIENT)
    messages: list[bytes] = []
    controls: list[tuple[int, bytes]] = []
    parts: list[str] = []
    for chunk in chunks:
        connection.receive_data(chunk)
        for event in connection.events():
            if isinstance(event, events.TextMessage):
                parts.append(event.data)
                if len("".join(parts).encode()) > limit:
                    return Reading(tuple(messages), tuple(controls), 1009)
                if event.message_finished:
                    messages.append("".join(parts).encode())
                    parts = []
            elif isinstance(event, events.BytesMessage):
                return Reading(tuple(messages), tuple(controls), 1003)
            elif isinstance(event, (events.Ping, events.Pong)):
                controls.append((PING if isinstance(event, events.Ping) else PONG, bytes(event.payload)))
            else:
                assert isinstance(event, events.CloseConnection)
                return Reading(tuple(messages), tuple(controls), event.code)
    return Reading(tuple(messages), tuple(controls), None)


Feed = Callable[[FrameReader, bytes], list[bytes]]


def by_feed(reader: FrameReader, chunk: bytes) -> list[bytes]:
    return [bytes(message) for message in reader.feed(chunk)]


def by_socket(reader: FrameReader, chunk: bytes) -> list[bytes]:
    """Feed as a socket does: straight into the buffer that the reader wants, if it wants one."""
    messages: list[bytes] = []
    while chunk:
        wanted = reader.wanted()
        if wanted is None:
            messages += by_feed(reader, chunk)
            break
        taken = min(len(wanted), len(chunk))
        wanted[:taken] = chunk[:taken]
        chunk = chunk[taken:]
        messages += [bytes(message) for message in reader.filled(taken)]
    return messages


def read_by_frame_reader(chunks: Iterable[bytes], limit: int = LIMIT, feed: Feed = by_feed) -> Reading:
    reader = FrameReader(max_message_bytes=limit)
    messages: list[bytes] = []
    controls: list[tuple[int, bytes]] = []
    for chunk in chunks:
        messages += feed(reader, chunk)
        controls += [(control.opcode, control.octets[2:]) for control in reader.take_controls()]
    violation = reader.violation
    if violation is not None:
        assert violation.text
        assert violation.what
        assert feed(reader, Frame(payload=b"more").octets()) == []
        assert reader.violation == violation
    return Reading(tuple(messages), tuple(controls), None if violation is None else violation.code)


def cut(data: bytes, places: Iterable[int]) -> list[bytes]:
    borders = [0, *sorted(min(place, len(data)) for place in places), len(data)]
    return [data[start:stop] for start, stop in itertools.pairwise(borders)]


# ── streams ──────────────────────────────────────────────────────────────────────────────────────────────────────────

texts = st.one_of(
    st.sampled_from([b"", b"{}", "é".encode(), "€uro".encode(), "\U0001f600".encode(), b"x" * 125, b"y" * 126]),
    st.text(max_size=40).map(lambda text: text.encode("utf-8", "replace")),
)
bad_texts = st.sampled_from(
    [
        b"\xff",
        b"a\xc3",
        b"\xc3(",
        b"\xe2\x82",
        b"\xed\xa0\x80",
        b"\xf5\x80\x80\x80",
        b"\xc0\x80",
        b"ok\x80" + b"x" * 130,
    ]
)
controls = st.builds(Frame, opcode=st.sampled_from([PING, PONG]), payload=st.binary(max_size=125))


@st.composite
def whole_messages(draw: st.DrawFn, payloads: st.SearchStrategy[bytes] = texts) -> list[Frame]:
    """Draw one message in any fragments, with control frames in between; a border may split a character."""
    payload = draw(payloads)
    borders = draw(st.just([]) | st.lists(st.integers(0, max(len(payload), 1)), max_size=3))
    frames: list[Frame] = []
    parts = cut(payload, borders)
    for place, part in enumerate(parts):
        frames.append(Frame(opcode=CONTINUATION if place else TEXT, payload=part, final=place == len(parts) - 1))
        if place < len(parts) - 1:
            frames += draw(st.lists(controls, max_size=1))
    return frames


broken_frames = st.one_of(
    st.builds(Frame, payload=texts, reserved=st.integers(1, 7)),
    st.builds(Frame, payload=texts, masked=st.just(True)),
    st.builds(Frame, opcode=st.sampled_from([3, 4, 5, 6, 7, 11, 12, 13, 14, 15]), payload=texts),
    st.builds(
        Frame, payload=st.binary(max_size=125).map(lambda octets: octets.hex().encode()[:125]), length_in=st.just(2)
    ),
    st.builds(Frame, payload=texts, length_in=st.just(8)),
    st.builds(Frame, opcode=st.just(BINARY), payload=texts),
    st.builds(Frame, opcode=st.just(CONTINUATION), payload=texts, final=st.booleans()),
    st.builds(Frame, payload=texts, final=st.booleans()),  # in the middle of a message
    st.builds(Frame, opcode=st.sampled_from([PING, PONG, CLOSE]), final=st.just(False), payload=st.just(b"")),
    st.builds(Frame, opcode=st.sampled_from([PING, PONG, CLOSE]), payload=st.binary(min_size=126, max_size=140)),
    st.builds(Frame, opcode=st.sampled_from([PING, PONG]), reserved=st.integers(1, 7)),
)

streams = st.lists(
    st.one_of(
        whole_messages(),
        whole_messages(),
        controls.map(lambda frame: [frame]),
        whole_messages(bad_texts),
        broken_frames.map(lambda frame: [frame]),
        texts.map(lambda text: [Frame(payload=text, final=False)]),  # begun, perhaps never ended
    ),
    max_size=6,
).map(lambda groups: list(itertools.chain.from_iterable(groups)))

cuts = st.lists(st.integers(0, 900), max_size=12)


def octets_of(frames: Iterable[Frame]) -> bytes:
    return b"".join(frame.octets() for frame in frames)


@given(frames=streams, places=cuts, feed=st.sampled_from([by_feed, by_socket]))
@example(frames=[Frame(final=False), Frame(opcode=BINARY)], places=[], feed=by_feed)
@example(frames=[Frame(opcode=PING, final=False, reserved=1)], places=[1], feed=by_feed)
def test_any_portions_of_any_stream_read_as_in_wsproto(frames: list[Frame], places: list[int], feed: Feed) -> None:
    data = octets_of(frames)
    assert read_by_frame_reader(cut(data, places), feed=feed) == read_by_wsproto([data])


LIKE_A_FRAME = "\u0081\x03abc".encode()
"""A text that looks like a complete text frame from its second byte on."""

SHORT_STREAMS = [
    [Frame(payload=b"a", final=False), Frame(payload=b"bcdefgh"), Frame(CONTINUATION, b"i")],
    [Frame(payload=b"\xe2", final=False), Frame(CONTINUATION, b"\x82"), Frame(payload=b"after")],
    [Frame(payload=b"x" * 125, length_in=2), Frame(payload=b"after")],
    [Frame(payload=b"{}"), Frame(payload="é".encode())],
    [Frame(payload="€".encode()[:1], final=False), Frame(PING, b"p"), Frame(CONTINUATION, "€".encode()[1:])],
    [Frame(payload=b"", final=False), Frame(CONTINUATION, b"", final=False), Frame(CONTINUATION, b"")],
    [Frame(), Frame(PONG), Frame()],
    [Frame(payload=b"x" * 126), Frame(payload=b"y")],
    [Frame(payload=b"a"), Frame(payload=b"\xc3", final=False), Frame(CONTINUATION, b"("), Frame(payload=b"b")],
    [Frame(payload=b"a"), Frame(payload=b"\xe2\x82"), Frame(payload=b"b")],
    [Frame(payload=b"a"), Frame(payload=b"b", reserved=4)],
    [Frame(payload=b"a"), Frame(payload=b"b", masked=True)],
    [Frame(payload=b"a"), Frame(3, b"b")],
    [Frame(payload=b"a"), Frame(payload=b"b", length_in=2)],
    [Frame(payload=b"a"), Frame(payload=b"b", length_in=8)],
    [Frame(payload=b"a"), Frame(BINARY, b"b")],
    [Frame(payload=b"a"), Frame(CONTINUATION, b"b")],
    [Frame(payload=b"a", final=False), Frame(payload=b"b")],
    [Frame(payload=b"a", final=False), Frame(BINARY, b"b")],
    [Frame(payload=b"a"), Frame(PING, b"b", final=False)],
    [Frame(payload=b"a"), Frame(PING, b"b" * 126)],
    [Frame(payload=LIKE_A_FRAME)],
]


@pytest.mark.parametrize("frames", SHORT_STREAMS)
@pytest.mark.parametrize("feed", [by_feed, by_socket])
def test_every_split_of_a_short_stream_reads_the_same(frames: list[Frame], feed: Feed) -> None:
    data = octets_of(frames)
    expected = read_by_wsproto([data])
    assert read_by_frame_reader([data[place : place + 1] for place in range(len(data))], feed=feed) == expected
    for first in range(len(data) + 1):
        assert read_by_frame_reader(cut(data, [first]), feed=feed) == expected
        for second in range(first, len(data) + 1, 1 if len(data) < 40 else 11):
            assert read_by_frame_reader(cut(data, [first, second]), feed=feed) == expected


@pytest.mark.parametrize("before", [b"", Frame(payload=b"a").octets()], ids=["alone", "behind another"])
def test_any_first_bytes_of_a_frame_read_as_in_wsproto(before: bytes) -> None:
    heads = (first for first in range(256) if first & 0x0F != CLOSE)  # the transport judges close frames
    for first, second in itertools.product(heads, (0, 1, 5, 125, 126, 127, 128, 133, 253, 254, 255)):
        size, masked = second & 0x7F, second & 0x80
        length = {126: (130).to_bytes(2, "big"), 127: (1 << 16).to_bytes(8, "big")}.get(size, b"")
        body = b"z" * {126: 130, 127: 1 << 16}.get(size, size)
        masks = [b"\0\0\0\0"] if masked else [b""]
        if masked and size >= 4:
            masks.append(b"")  # without its mask it is as long as an unmasked frame
        for mask in masks:
            data = before + bytes((first, second)) + length + mask + body
            assert read_by_frame_reader([data]) == read_by_wsproto([data]), (first, second, mask)


def test_a_length_with_the_top_bit_is_a_violation() -> None:
    data = Frame(payload=b"a").octets() + b"\x81\x7f" + (1 << 63).to_bytes(8, "big")
    assert read_by_frame_reader([data]) == read_by_wsproto([data]) == Reading((b"a",), (), 1002)


@pytest.mark.parametrize(("size", "length_in"), [(65_535, 8), (65_535, 2), (65_536, 8), (126, 8), (126, 2)])
@pytest.mark.parametrize("opcode", [TEXT, CONTINUATION])
def test_a_length_field_must_be_the_shortest(size: int, length_in: int, opcode: int) -> None:
    begin = [Frame(final=False)] if opcode == CONTINUATION else []
    data = octets_of([*begin, Frame(opcode, b"x" * size, length_in=length_in), Frame(payload=b"after")])
    assert read_by_frame_reader([data]) == read_by_wsproto([data])


def test_a_close_frame_is_handed_over_whole() -> None:
    reader = FrameReader(max_message_bytes=LIMIT)
    close = Frame(CLOSE, (1001).to_bytes(2, "big") + b"going away").octets()
    assert reader.feed(Frame(payload=b"a").octets() + close) == [b"a"]
    assert [(control.opcode, control.octets) for control in reader.take_controls()] == [(CLOSE, close)]
    assert reader.take_controls() == []


@given(data=st.binary(max_size=200), places=cuts)
def test_no_bytes_make_the_reader_raise(data: bytes, places: list[int]) -> None:
    assert read_by_frame_reader(cut(data, places)) == read_by_frame_reader([data])


# ── the limit ────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(
    sizes=st.lists(st.sampled_from([0, 1, 500, 1023, 1024, 1025, 3000]), min_size=1, max_size=4),
    fragmented=st.booleans(),
    places=st.lists(st.integers(0, 6000), max_size=6),
)
def test_the_limit_applies_as_in_wsproto(sizes: list[int], fragmented: bool, places: list[int]) -> None:
    last = len(sizes) - 1
    frames = [
        Frame(CONTINUATION if fragmented and place else TEXT, b"x" * size, final=not fragmented or place == last)
        for place, size in enumerate(sizes)
    ]
    data = octets_of(frames)
    assert read_by_frame_reader(cut(data, places), limit=1024) == read_by_wsproto([data], limit=1024)


@pytest.mark.parametrize("size", [1025, 1 << 16, 1 << 40, (1 << 63) - 1])
def test_the_header_decides_the_limit_and_the_first_bytes_name_the_command(size: int) -> None:
    """The reader keeps only those bytes, and makes no buffer of the announced size."""
    reader = FrameReader(max_message_bytes=1024)
    header = b"\x81\x7e" + size.to_bytes(2, "big") if size < 1 << 16 else b"\x81\x7f" + size.to_bytes(8, "big")
    begin = b'{"id":77,"result":{"text":"' + b"x" * 64
    for octet in header + begin[:63]:
        assert reader.feed(bytes([octet])) == []
        assert reader.violation is None
        assert reader.wanted() is None
    assert reader.waits_for_close
    assert reader.feed(begin[63:]) == []
    assert not reader.waits_for_close
    violation = reader.violation
    assert violation is not None
    assert (violation.code, violation.what, violation.announced, violation.command_id) == (1009, "too_big", size, 77)
    assert f"a message of {size} bytes is above the limit of 1024" in violation.text
    assert "max_message_bytes" in violation.text
    assert reader.wanted() is None


@pytest.mark.parametrize(("kept", "command"), [(8, None), (9, 77), (20, 77)])
def test_a_message_above_the_limit_may_be_judged_before_its_first_bytes_arrive(kept: int, command: Any) -> None:
    reader = FrameReader(max_message_bytes=1024)
    reader.judge()
    assert not reader.waits_for_close
    assert reader.violation is None
    reader.feed(Frame(payload=b'{"id":77,"result":{' + b"x" * 2000).octets()[: 4 + kept])
    assert reader.waits_for_close
    reader.judge()
    assert not reader.waits_for_close
    assert reader.violation is not None
    assert (reader.violation.announced, reader.violation.command_id) == (2019, command)
    assert reader.feed(b"x" * 100) == []


@given(
    before=st.integers(0, 3),
    begin=st.sampled_from(
        [b'{"id":5,"result":{', b'{"id":-5, "x":1', b'{"method":"A.a","params":{"id":5', b'{"id":', b""]
    ),
    parts=st.lists(st.sampled_from([0, 1, 2, 30, 64, 500, 1100]), max_size=6),
    places=st.lists(st.integers(0, 8000), max_size=6),
    feed=st.sampled_from([by_feed, by_socket]),
)
@example(before=0, begin=b'{"id":5,"result":{', parts=[0, 1, 2, 0, 30], places=[], feed=by_feed)
@example(before=1, begin=b'{"id":5,"result":{', parts=[], places=[12, 20, 75], feed=by_feed)
def test_the_violation_of_the_limit_is_the_same_in_any_portions(
    before: int, begin: bytes, parts: list[int], places: list[int], feed: Feed
) -> None:
    """Whole or in fragments, the violation has the same size and command in any portions."""
    whole, frames, start = begin + b"x" * 5000, [Frame(payload=b"{}")] * before, 0
    for number, size in enumerate([*parts, 5000]):
        kind = CONTINUATION if number else TEXT
        frames.append(Frame(kind, whole[start : start + size], final=False))
        start += size
    octets = octets_of(frames)
    violations = []
    for chunks in ([octets], cut(octets, places), [bytes([octet]) for octet in octets]):
        reader = FrameReader(max_message_bytes=1024)
        messages = [message for chunk in chunks for message in feed(reader, chunk)]
        assert messages == [b"{}"] * before
        violations.append(reader.violation)
    assert violations[0] is not None
    assert violations == [violations[0]] * 3
    assert violations[0].command_id == {b'{"id":5,"': 5, b'{"id":-5,': -5}.get(begin[:9])


def test_endless_fragments_cost_only_their_bytes() -> None:
    """A peer may send any number of parts of one byte or none: no part is kept as an object of its own."""
    reader = FrameReader(max_message_bytes=1 << 20)
    reader.feed(Frame(payload=b"{", final=False).octets())
    tracemalloc.start()
    try:
        for _ in range(50):
            reader.feed(Frame(CONTINUATION, b"", final=False).octets() * 1000)
            reader.feed(Frame(CONTINUATION, b" ", final=False).octets() * 1000)
        assert tracemalloc.get_traced_memory()[0] < 200_000
    finally:
        tracemalloc.stop()
    assert reader.feed(Frame(CONTINUATION, b"}").octets()) == [b"{" + b" " * 50_000 + b"}"]


def test_the_limit_counts_all_fragments_of_a_message() -> None:
    reader = FrameReader(max_message_bytes=1024)
    reader.feed(Frame(payload=b"x" * 1024, final=False).octets())
    assert reader.violation is None
    reader.feed(Frame(CONTINUATION, b"y").octets())
    assert reader.violation is not None
    assert reader.violation.code == 1009


@pytest.mark.parametrize("limit", [1023, 0, -1, None, "4096", 4096.0, True])
def test_an_invalid_limit_is_refused(limit: Any) -> None:
    with pytest.raises(InvalidArgument, match="max_message_bytes"):
        FrameReader(max_message_bytes=limit)
    FrameReader(max_message_bytes=1024)


# ── large messages ───────────────────────────────────────────────────────────────────────────────────────────────────

SIZES = [OWN_BUFFER - 1, OWN_BUFFER, OWN_BUFFER + 1, LARGE - 1, LARGE, LARGE + 1, LARGE + 70_000]
ALPHABET = "abcdefghij€\U0001f600é{}"


def text_of(size: int, seed: int) -> bytes:
    """Return text of this size, with recognisable parts, and characters that cross every border."""
    pattern = (ALPHABET[seed % 10 :] + str(seed)).encode()
    text = (pattern * (size // len(pattern) + 1))[:size].decode("utf-8", "ignore").encode()
    return text + b"." * (size - len(text))


@given(
    messages=st.lists(st.tuples(st.sampled_from([0, 1, 130, *SIZES]), st.integers(1, 3)), min_size=1, max_size=4),
    chunk=st.sampled_from([4096, 65_536, 100_000, 262_144, 2_000_000]),
    feed=st.sampled_from([by_feed, by_socket]),
    bad=st.none() | st.integers(0, 3),
)
def test_large_messages_read_as_in_wsproto(
    messages: list[tuple[int, int]], chunk: int, feed: Feed, bad: int | None
) -> None:
    frames: list[Frame] = []
    for place, (size, parts) in enumerate(messages):
        text = text_of(size, place)
        if place == bad:
            text = text[:-1] + b"\xff"
        pieces = cut(text, [size * part // parts for part in range(1, parts)])
        for number, piece in enumerate(pieces):
            frames += [
                Frame(CONTINUATION if number else TEXT, piece, final=number == len(pieces) - 1),
                Frame(PING, b"p"),
            ]
    data = octets_of(frames)
    ours = read_by_frame_reader([data[start : start + chunk] for start in range(0, len(data), chunk)], feed=feed)
    assert ours == read_by_wsproto([data])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("feed", [by_feed, by_socket])
def test_a_large_message_reads_the_same_in_any_two_portions(size: int, feed: Feed) -> None:
    text = text_of(size, 5)
    data = Frame(payload=text).octets()
    for place in (1, 2, 9, 10, 11, 70_000, size, len(data) - 1):
        assert read_by_frame_reader(cut(data, [place]), feed=feed) == Reading((text,), (), None)


@pytest.mark.parametrize("size", SIZES)
def test_the_tail_of_a_large_message_is_not_read_as_a_frame(size: int) -> None:
    text = b"x" * (size - len(LIKE_A_FRAME)) + LIKE_A_FRAME
    data = Frame(payload=text).octets()
    assert read_by_frame_reader([data[:-5], data[-5:]]) == Reading((text,), (), None)


@pytest.mark.parametrize("place", [1, 2, 5, 10, 500])
def test_bytes_kept_for_a_large_frame_are_not_read_twice(place: int) -> None:
    text = text_of(LARGE + 10, 3)
    data = Frame(payload=text).octets()
    chunks = [*cut(data, [place, 1000]), Frame(payload=b"{}").octets()]
    assert read_by_frame_reader(chunks) == Reading((text, b"{}"), (), None)


def feed_in_two_portions(reader: FrameReader, text: bytes) -> list[memoryview]:
    """Feed a large message in two portions, so that it takes the path of large frames."""
    data = Frame(payload=text).octets()
    assert reader.feed(data[:1000]) == []
    return [message for message in reader.feed(data[1000:]) if isinstance(message, memoryview)]


def test_a_lent_view_is_valid_until_the_next_feed_and_its_buffer_is_reused() -> None:
    reader = FrameReader(max_message_bytes=LIMIT)
    first = feed_in_two_portions(reader, text_of(LARGE + 10, 1))[0]
    assert reader.take_controls() == []
    assert reader.wanted() is None
    assert reader.lent
    assert first == text_of(LARGE + 10, 1)
    buffer = first.obj
    second = feed_in_two_portions(reader, text_of(LARGE + 5, 2))[0]
    assert second.obj is buffer
    assert second == text_of(LARGE + 5, 2)
    assert first[: LARGE + 5] == second  # the first view shows the second message
    assert reader.large_messages == 2
    assert reader.feed(Frame(payload=b"{}").octets()) == [b"{}"]
    assert not reader.lent


def test_two_large_messages_of_one_portion_do_not_share_a_buffer() -> None:
    """The second begins while the first is lent out."""
    reader = FrameReader(max_message_bytes=LIMIT)
    one, two = text_of(LARGE + 10, 1), text_of(LARGE + 5, 2)
    data = Frame(payload=one).octets() + Frame(payload=two).octets()
    reader.feed(data[:100_000])
    messages = reader.feed(data[100_000 : LARGE + 50_000])
    assert messages == [one]
    wanted = reader.wanted()
    assert wanted is not None
    assert messages == [one]  # the beginning of the second message did not change it
    wanted[:] = data[LARGE + 50_000 :]
    assert reader.lent
    assert reader.filled(1) == []
    assert not reader.lent
    assert reader.filled(len(wanted) - 1) == [two]


def test_a_large_message_is_written_once() -> None:
    """It goes straight into the buffer that is handed out: no join, no copy."""
    reader = FrameReader(max_message_bytes=LIMIT)
    data = Frame(payload=text_of(LARGE + 10, 1)).octets()
    reader.feed(data[:1000])
    wanted = reader.wanted()
    assert wanted is not None
    assert len(wanted) == len(data) - 1000
    wanted[:] = data[1000:]
    (message,) = reader.filled(len(wanted))
    assert isinstance(message, memoryview)
    assert message.obj is wanted.obj


def test_a_stale_tail_of_the_buffer_is_not_validated() -> None:
    """A shorter message reuses the buffer of a longer one: the bytes after it are not part of it."""
    reader = FrameReader(max_message_bytes=LIMIT)
    feed_in_two_portions(reader, b"x" * (LARGE + 10) + "é".encode() * 45)
    shorter = "é".encode() + b"y" * (LARGE + 9)  # ends in the middle of a character of the tail
    assert feed_in_two_portions(reader, shorter) == [shorter]
    assert reader.violation is None


def test_a_slightly_longer_message_reuses_the_buffer() -> None:
    """Replies become longer now and then, by a digit of their id."""
    reader = FrameReader(max_message_bytes=LIMIT)
    first = feed_in_two_portions(reader, b"x" * (LARGE + 8))[0]
    longer = feed_in_two_portions(reader, b"x" * (LARGE + LARGE // 8))[0]
    assert longer.obj is first.obj


def test_a_huge_buffer_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    assert KEPT_BUFFER > LARGE
    monkeypatch.setattr(websocket_client, "KEPT_BUFFER", LARGE + 50)
    reader = FrameReader(max_message_bytes=LIMIT)
    huge = feed_in_two_portions(reader, text_of(LARGE + 51, 1))[0]
    assert len(reader._buffer) == 0
    assert huge == text_of(LARGE + 51, 1)
    kept = feed_in_two_portions(reader, text_of(LARGE + 50, 1))[0]
    assert kept.obj is reader._buffer


@pytest.mark.parametrize("place", [0, 1 << 20, (1 << 20) - 1, (1 << 20) + 5, -1])
def test_bad_utf8_anywhere_in_a_large_message_is_a_violation(place: int) -> None:
    reader = FrameReader(max_message_bytes=2 << 20)
    text = bytearray(b"x" * ((1 << 20) + 100))
    text[place] = 0xC3  # followed by an ASCII character, or by the end
    assert feed_in_two_portions(reader, bytes(text)) == []
    assert reader.violation is not None
    assert reader.violation.code == 1007
    assert reader.wanted() is None


def test_a_character_across_the_slices_of_the_check_is_valid() -> None:
    reader = FrameReader(max_message_bytes=2 << 20)
    text = b"x" * ((1 << 20) - 1) + "€".encode() + b"y" * 50
    assert feed_in_two_portions(reader, text) == [text]


def test_a_violation_in_a_large_frame_ends_the_reading_of_its_portion() -> None:
    reader = FrameReader(max_message_bytes=LIMIT)
    bad = Frame(payload=b"x" * LARGE + b"\xff").octets()
    reader.feed(bad[:1000])
    assert reader.feed(bad[1000:] + Frame(payload=b"after").octets()) == []
    assert reader.violation is not None


# ── outgoing frames ──────────────────────────────────────────────────────────────────────────────────────────────────


def read_by_server(octets: bytes) -> list[bytes]:
    connection = Connection(ConnectionType.SERVER)
    connection.receive_data(octets)
    parts: list[str] = []
    messages: list[bytes] = []
    for event in connection.events():
        assert isinstance(event, events.TextMessage), event
        parts.append(event.data)
        if event.message_finished:
            messages.append("".join(parts).encode())
            parts = []
    return messages


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 125, 126, 8191, 8192, 8193, 65_535, 65_536, 100_000])
def test_an_outgoing_frame_of_any_length_is_read_by_a_server(size: int) -> None:
    payload = text_of(size, size)
    assert read_by_server(frame_text(payload, b"\x01\x80\xff\x7e")) == [payload]


@given(
    payload=st.text(max_size=300).map(lambda text: text.encode("utf-8", "replace")),
    mask=st.binary(min_size=4, max_size=4),
)
@example(payload=b"", mask=b"\0\0\0\0")
def test_an_outgoing_frame_is_read_by_a_server(payload: bytes, mask: bytes) -> None:
    octets = frame_text(payload, mask)
    assert read_by_server(octets + octets) == [payload, payload]
    assert mask in octets


@pytest.mark.parametrize("size", [1, 10_000])
def test_an_outgoing_payload_is_masked(size: int) -> None:
    """Without the mask, a page could choose the bytes on the wire (RFC 6455, 10.3)."""
    assert b"x" * min(size, 8) not in frame_text(b"x" * size, b"\x01\x02\x03\x04")


def test_nothing_is_lent_before_the_first_large_message() -> None:
    assert not FrameReader(max_message_bytes=LIMIT).lent
