"""The strict, fast reader: JSON text straight into a record, if it fits exactly.

Each object type in use has a twin: a msgspec record with the same fields, which refuses everything that the protocol
does not describe (unknown fields, another type, an unknown member of an enumeration), so that a text that was read
here fits. A text that it declines goes to the loose reader (`_shapes.py`).

Types refer to each other in circles (a node has children that are nodes): a twin that is not made yet is referred to
by its name, which msgspec looks up among the names of this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct

from cdp_core.sansio.messages import Json
from cdp_core.sansio.structs import decoder


class Twin(Struct, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True, omit_defaults=True):
    """The base of all twins."""


_write: Final = msgspec.json.Encoder().encode
_read: Final = msgspec.json.Decoder(dict[str, Any]).decode


def to_builtins(twin: Twin) -> Json:
    return _read(_write(twin))


def set_or_none(stored: Any) -> Any:
    """Return the value of an `any` field; None if it was not sent."""
    return None if stored is UNSET else stored


_twins: Final[dict[str, type[Any]]] = {}


def finished(name: str) -> type[Any] | None:
    """Return the twin of a name, if it and every twin that it refers to are made."""
    return _twins.get(name)


def finish(twins: Mapping[str, type[Any]]) -> None:
    """Publish twins that are complete, with every twin that they refer to."""
    _twins.update(twins)


def define(name: str, fields: list[tuple[str, str, Any, bool]]) -> type[Any]:
    """Make a twin; each field is its Python name, its protocol name, its type, and whether it is required."""
    twin = msgspec.defstruct(
        name,
        [
            (own, kind) if required else (own, kind, UNSET if kind is Any else None)
            for own, _wire, kind, required in fields
        ],
        bases=(Twin,),
        module=__name__,
        rename={own: wire for own, wire, _, _ in fields},
        frozen=True,
        kw_only=True,
        gc=False,
        forbid_unknown_fields=True,
        omit_defaults=True,
    )
    globals()[name] = twin
    return twin


def strict_decoder(twin: Callable[[], type[Any]]) -> Callable[[Any], Any]:
    """Make the strict decoder of a twin; it declines a text with one of DECODE_ERRORS."""
    return decoder(twin())
