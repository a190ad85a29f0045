"""The fast rung of reading: JSON text straight into a record, where it fits exactly.

For each object type that is met there is a twin: a record of msgspec's with the same fields, which refuses what the
protocol does not say (unknown fields, another type, a member that an enumeration does not have), so that "it was read
here" means "it fits". Whatever it declines goes the loose way (`_shapes.py`).

Types refer to each other in circles (a node has children that are nodes): a twin that is not made yet is referred to by
its name, and msgspec looks for it among the names of this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct

from cdp_core.sansio.messages import Json
from cdp_core.sansio.structs import decoder


class Twin(Struct, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True, omit_defaults=True):
    """Base of all twins."""


_write: Final = msgspec.json.Encoder().encode
_read: Final = msgspec.json.Decoder(dict[str, Any]).decode


def to_builtins(twin: Twin) -> Json:
    """A twin as a JSON object."""
    return _read(_write(twin))


def set_or_none(stored: Any) -> Any:
    """What a field that may be anything holds; None where it was not sent."""
    return None if stored is UNSET else stored


_twins: Final[dict[str, type[Any]]] = {}


def finished(name: str) -> type[Any] | None:
    """The twin of that name, where it is made, and all that it refers to."""
    return _twins.get(name)


def finish(twins: Mapping[str, type[Any]]) -> None:
    """These are made, and so is all that they refer to."""
    _twins.update(twins)


def define(name: str, fields: list[tuple[str, str, Any, bool]]) -> type[Any]:
    """Make a twin; each field is its own name, its name in the protocol, its type, and whether it must be there."""
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
    """What makes twins; declines with one of DECODE_ERRORS."""
    return decoder(twin())
