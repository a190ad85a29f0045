"""What a value that is made once per message is made of, and the JSON codec below it.

Such a value is a frozen, keyword-only `Struct`: `msgspec` fills it straight from the bytes, without an object in
between, and leaves `Raw` parts undecoded. Where msgspec cannot be had (another interpreter, a browser sandbox) the same
names stand on attrs and the standard library: slower, equal in meaning. There, `decoder` gives decoders that decline
everything, so that each text takes the tolerant way, which needs nothing but the standard library anyway.
`nox -s stdlib` runs the suite with msgspec hidden.

`amend` writes into a record that nobody else has seen yet: only its maker may, before it is handed out.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["DECODE_ERRORS", "HAVE_MSGSPEC", "Raw", "Struct", "amend", "decoder", "encode", "replace"]

T = TypeVar("T")

HAVE_MSGSPEC = find_spec("msgspec") is not None

if TYPE_CHECKING or HAVE_MSGSPEC:
    import msgspec
    from msgspec import Raw, Struct
    from msgspec.structs import force_setattr as amend
    from msgspec.structs import replace

    # An exceeded recursion limit is no DecodeError, and a payload of 100,000 brackets must not end the reader.
    DECODE_ERRORS: tuple[type[Exception], ...] = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

    def decoder(kind: type[T]) -> Callable[[Any], T]:
        """A strict and fast decoder for one type; what it declines (DECODE_ERRORS) may still be JSON."""
        return msgspec.json.Decoder(kind).decode

    encode: Callable[[Any], bytes] = msgspec.json.Encoder().encode
else:
    import attrs

    replace = attrs.evolve
    amend = object.__setattr__
    DECODE_ERRORS = (ValueError, RecursionError)

    class Raw(bytes):
        """JSON text that has not been decoded yet."""

        __slots__ = ()

    class Struct:
        """A frozen, keyword-only record: attrs in msgspec's clothes (its codec options mean nothing here)."""

        def __init_subclass__(cls, **_options: object) -> None:
            super().__init_subclass__()
            attrs.define(cls, frozen=True, kw_only=True, slots=False)

    def decoder(_kind: type[T]) -> Callable[[Any], T]:
        """Declines everything."""

        def decline(_payload: object) -> T:
            raise ValueError

        return decline

    def encode(value: Any) -> bytes:
        """Write plain JSON."""
        return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()
