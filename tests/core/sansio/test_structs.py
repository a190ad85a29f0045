"""Records and codec mean the same with msgspec and without it; the module is loaded both ways here."""

from __future__ import annotations

import importlib.util
import pickle
import sys
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdp_core.sansio import structs

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


def load(monkeypatch: pytest.MonkeyPatch, *, msgspec: bool) -> ModuleType:
    """The module anew, on an interpreter that has msgspec or has not."""
    find_spec = importlib.util.find_spec
    if not msgspec:
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "msgspec" else find_spec(name))
    name = f"records_{'with' if msgspec else 'without'}_msgspec"
    spec = importlib.util.spec_from_file_location(name, structs.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=[True, False], ids=["msgspec", "stdlib"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    if request.param:
        pytest.importorskip("msgspec")
    return load(monkeypatch, msgspec=request.param)


def make_point(module: ModuleType) -> Any:
    class Point(module.Struct, frozen=True, kw_only=True, gc=False, rename={"x": "X"}):  # type: ignore[name-defined, misc]
        x: int
        y: int = 0

    return Point


def test_a_record_is_frozen_keyword_only_comparable_and_hashable(either: ModuleType) -> None:
    point = make_point(either)
    assert point(x=1) == point(x=1, y=0)
    assert hash(point(x=1)) == hash(point(x=1))
    assert point(x=1) != point(x=2)
    assert "x=1" in repr(point(x=1))
    with pytest.raises(AttributeError):
        point(x=1).x = 2
    with pytest.raises(TypeError):
        point(1)
    assert either.replace(point(x=1), y=5) == point(x=1, y=5)


def test_a_subclass_adds_fields(either: ModuleType) -> None:
    class Deep(make_point(either), frozen=True, kw_only=True):  # type: ignore[misc]
        z: int

    assert (Deep(x=1, z=3).x, Deep(x=1, z=3).z) == (1, 3)


def test_it_says_which_codec_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not load(monkeypatch, msgspec=False).HAVE_MSGSPEC


def test_raw_text_is_kept_as_it_is(either: ModuleType) -> None:
    assert bytes(either.Raw(b'{"a": 1}')) == b'{"a": 1}'
    assert len(either.Raw(b"{}")) == 2


def test_a_decoder_reads_or_declines(either: ModuleType) -> None:
    read = either.decoder(dict)
    if either.HAVE_MSGSPEC:
        assert read(b'{"a":1}') == {"a": 1}
    for odd in (b"", b"{", b"[" * 100_000):
        with pytest.raises(either.DECODE_ERRORS):
            read(odd)


@given(value=JSON)
def test_what_is_written_is_read_the_same(value: Any) -> None:
    import json

    with pytest.MonkeyPatch.context() as patch:
        without = load(patch, msgspec=False)
    assert json.loads(without.encode(value)) == json.loads(structs.encode(value)) == value


def test_the_stdlib_writer_refuses_what_json_cannot_say(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        load(monkeypatch, msgspec=False).encode(float("nan"))


def test_a_record_of_the_engine_survives_pickle() -> None:
    from cdp_core.sansio.router import Loss

    loss = Loss(kind="session", reason="detached", detail="It ended.")
    assert pickle.loads(pickle.dumps(loss)) == loss
