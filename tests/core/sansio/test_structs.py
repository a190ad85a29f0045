"""The codec below the records: errors of decoders, raw fields, encoding and pickling."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdp_core.sansio import structs
from cdp_core.sansio.outcomes import Loss

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


def test_raw_text_is_kept_unchanged() -> None:
    assert bytes(structs.Raw(b'{"a": 1}')) == b'{"a": 1}'


def test_a_decoder_reads_or_raises_a_decode_error() -> None:
    read = structs.decoder(dict)
    assert read(b'{"a":1}') == {"a": 1}
    for odd in (b"", b"{", b"[" * 100_000):
        with pytest.raises(structs.DECODE_ERRORS):
            read(odd)


@given(value=JSON)
def test_the_standard_library_reads_what_is_written(value: Any) -> None:
    assert json.loads(structs.encode(value)) == value


def test_a_record_of_the_engine_survives_pickle() -> None:
    loss = Loss(kind="session", reason="detached", detail="It ended.")
    assert pickle.loads(pickle.dumps(loss)) == loss
