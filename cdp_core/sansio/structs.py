"""Frozen records for values that are made once per message, and the JSON codec for them.

`Struct` is msgspec's: it decodes straight from bytes into fields, without a dict in between, and leaves `Raw` parts
undecoded. Every record is frozen and keyword-only. `amend` writes into a record that no other code has seen yet; only
the function that made the record may call it, before it returns the record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import asdict, replace
from msgspec.structs import force_setattr as amend

__all__ = ["DECODE_ERRORS", "Raw", "Struct", "amend", "asdict", "decoder", "encode", "replace"]

T = TypeVar("T")

DECODE_ERRORS: tuple[type[Exception], ...] = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The errors of a strict decoder. RecursionError: 100,000 brackets in a payload must not end the reader."""

encode: Callable[[Any], bytes] = msgspec.json.Encoder().encode


def decoder(kind: type[T]) -> Callable[[Any], T]:
    """Make a strict decoder for one type; a text that it declines (DECODE_ERRORS) may still be JSON."""
    return msgspec.json.Decoder(kind).decode
