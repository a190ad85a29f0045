"""The framing of the pipe: borders, limits, counts, and the linear cost of a large text."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.messages import Payload
from cdp_core.sansio.pipe_framing import PipeReader, frame_pipe
from cdp_core.sansio.websocket_client import LARGE

LIMIT = 1024

texts = st.lists(st.binary(min_size=1, max_size=40).map(lambda text: text.replace(b"\0", b"0")), max_size=8)


def portions(data: bytes, cuts: list[int]) -> list[bytes]:
    borders = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    return [data[start:stop] for start, stop in itertools.pairwise(borders)]


# ── round trips ──────────────────────────────────────────────────────────────────────────────────────────────────────


@given(texts=texts, cuts=st.lists(st.integers(0, 400), max_size=12))
@example(texts=[b"ab"], cuts=[0, 1, 2, 2, 3])
def test_any_portions_give_the_same_texts(texts: list[bytes], cuts: list[int]) -> None:
    reader = PipeReader(LIMIT)
    received: list[Payload] = []
    for portion in portions(b"".join(map(frame_pipe, texts)), cuts):
        received += reader.feed(portion)
    assert received == texts
    assert reader.unfinished == 0
    assert reader.empty_texts == 0
    assert reader.violation is None


@given(texts=texts, empty=st.integers(1, 5), cuts=st.lists(st.integers(0, 400), max_size=12))
def test_empty_texts_are_only_counted(texts: list[bytes], empty: int, cuts: list[int]) -> None:
    reader = PipeReader(LIMIT)
    received: list[Payload] = []
    for portion in portions(b"\0" * empty + b"\0".join([*texts, b""]), cuts):
        received += reader.feed(portion)
    assert received == texts
    assert reader.empty_texts == empty


def test_a_text_is_kept_back_until_it_is_whole() -> None:
    reader = PipeReader(LIMIT)
    assert reader.feed(b'{"id":') == []
    assert reader.unfinished == 6
    assert reader.feed(b"1}") == []
    assert reader.feed(b'\0{"id":2}\0{') == [b'{"id":1}', b'{"id":2}']
    assert reader.unfinished == 1


def test_a_newline_is_not_a_separator() -> None:
    assert PipeReader(LIMIT).feed(b"a\nb\n\0") == [b"a\nb\n"]


def test_invalid_utf8_passes_the_framing() -> None:
    assert PipeReader(LIMIT).feed(b"\xff\0") == [b"\xff"]


# ── the limit ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_text_of_exactly_the_limit_passes() -> None:
    reader = PipeReader(LIMIT)
    assert reader.feed(b"x" * LIMIT) == []
    assert reader.feed(b"\0y" + b"x" * (LIMIT - 1) + b"\0") == [b"x" * LIMIT, b"y" + b"x" * (LIMIT - 1)]
    assert reader.violation is None


BEGIN = b'{"id":9,"result":{'


@given(before=texts, size=st.integers(LIMIT + 1, 3 * LIMIT), ended=st.booleans(), cuts=st.lists(st.integers(0, 4000)))
@example(before=[b"a"], size=LIMIT + 1, ended=True, cuts=[])  # in the middle of one portion
@example(before=[b"a"], size=LIMIT + 1, ended=False, cuts=[])  # at its end, unfinished
@example(before=[], size=LIMIT + 1, ended=False, cuts=[LIMIT])  # by its last byte
@example(before=[], size=LIMIT + 1, ended=True, cuts=[LIMIT])
def test_a_text_above_the_limit_ends_the_reading(before: list[bytes], size: int, ended: bool, cuts: list[int]) -> None:
    reader = PipeReader(LIMIT)
    data = b"".join(map(frame_pipe, before)) + BEGIN + b"x" * (size - len(BEGIN)) + (b"\0after\0" if ended else b"")
    received: list[Payload] = []
    for portion in portions(data, cuts):
        received += reader.feed(portion)
    assert received == before
    assert reader.violation is not None
    assert reader.violation.code == 1009
    assert str(LIMIT) in reader.violation.text
    assert "max_message_bytes" in reader.violation.text
    assert reader.violation.what == "too_big"
    assert reader.violation.announced is not None
    assert LIMIT < reader.violation.announced <= size
    assert reader.violation.command_id == 9
    assert reader.unfinished == 0
    assert reader.feed(b"more\0") == []


def test_the_limit_applies_before_the_text_has_ended() -> None:
    reader = PipeReader(LIMIT)
    reader.feed(b"x" * LIMIT)
    assert reader.violation is None
    reader.feed(b"x")
    assert reader.violation is not None
    assert f"at least {LIMIT + 1} bytes" in reader.violation.text
    assert reader.unfinished == 0  # no part of it is kept


@pytest.mark.parametrize("limit", [LIMIT - 1, None, "4096", 4096.0])
def test_an_invalid_limit_is_refused(limit: Any) -> None:
    with pytest.raises(InvalidArgument, match="max_message_bytes"):
        PipeReader(limit)


# ── outgoing frames ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_text_ends_with_one_nul() -> None:
    assert frame_pipe(b'{"id":1}') == b'{"id":1}\0'


@pytest.mark.parametrize("text", [b"", b"a\0b", b"\0", b"a\0"])
def test_a_text_that_is_empty_or_contains_nul_is_refused(text: bytes) -> None:
    with pytest.raises(InvalidArgument):
        frame_pipe(text)


# ── cost ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_large_text_costs_linear_time() -> None:
    """Reallocations are surer than a clock: the partial text moves a few times, not with each piece."""
    reader = PipeReader(1 << 30)
    piece = b"x" * (1 << 14)
    sizes: set[int] = set()
    for _ in range(4096):
        assert reader.feed(piece) == []
        sizes.add(sys.getsizeof(reader._partial))
    assert len(sizes) < 200
    assert reader.feed(b"\0") == [piece * 4096]
    assert reader.unfinished == 0


def test_a_large_text_is_a_view_that_stays_valid() -> None:
    reader = PipeReader(1 << 30)
    small, large = b"s" * LARGE, b"l" * (LARGE + 1)
    reader.feed(small[:9])
    (first,) = reader.feed(small[9:] + b"\0" + large[:9])
    (second,) = reader.feed(large[9:] + b"\0" + b"x" * 9)
    reader.feed(b"y" * LARGE)
    assert type(first) is bytes
    assert type(second) is memoryview
    assert (first, second) == (small, large)


def test_a_text_of_exactly_the_limit_is_accepted_in_each_place_of_a_portion() -> None:
    whole = b"x" * LIMIT
    for portion in (whole, whole + b"\0", b"a\0" + whole, b"a\0" + whole + b"\0b", whole + b"\0" + whole):
        reader = PipeReader(LIMIT)
        received = [*reader.feed(portion), *reader.feed(b"\0")]
        assert received == [each for each in portion.split(b"\0") if each]
        assert reader.violation is None


def test_a_portion_above_the_limit_whose_texts_are_not_keeps_its_rest() -> None:
    reader = PipeReader(LIMIT)
    assert reader.feed(b"a\0" * LIMIT + b"rest") == [b"a"] * LIMIT
    assert reader.unfinished == 4
