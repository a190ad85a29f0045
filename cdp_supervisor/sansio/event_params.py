"""What browsers say most often, as values: the few fields of each event that a rule reads.

A short event goes straight from its bytes into its value, past everything that nobody reads; one that is long, or has a
field of another type than it should, is read field by field: what is missing or of another type is empty, and long texts are
cut. Both ways give the same value, and no third thing: a newer browser, or a page that lies, breaks nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar, get_type_hints

from cdp_core.sansio.messages import Event, Json, is_object
from cdp_core.sansio.structs import DECODE_ERRORS, Struct, decoder

ID: Final = 1024
"""Characters of an id or a name."""
_HOST = re.compile(r"([a-z][a-z0-9+.-]*)://(?:[^/?#@]*@)?(\[[^\]]*\]|[^/?#:]*)", re.IGNORECASE)
_NUMERIC = re.compile(r"[0-9.]+")

S = TypeVar("S", bound=Struct)
Reader = Callable[[Event, int], S]
"""Reads an event; texts that may be long are cut at so many characters."""


NAMES: Final = {"native": "hasBrowserHandler"}
"""Where our word for a field is not its own."""


def protocol_name(name: str) -> str:
    """The protocol's name of a field."""
    first, *others = name.split("_")
    return NAMES.get(name) or "".join([first, *(each.capitalize() for each in others)])


class FrameInfo(Struct, frozen=True, kw_only=True, gc=False, rename=protocol_name):
    """A frame with its document, in an event and in a tree."""

    id: str = ""
    parent_id: str = ""
    loader_id: str = ""
    url: str = ""
    url_fragment: str = ""
    name: str = ""
    security_origin: str = ""


class FrameAttachedParams(Struct, frozen=True, kw_only=True, gc=False, rename=protocol_name):
    """`Page.frameAttached`."""

    frame_id: str = ""
    parent_frame_id: str = ""


class FrameDetachedParams(Struct, frozen=True, kw_only=True, gc=False, rename=protocol_name):
    """`Page.frameDetached`."""

    frame_id: str = ""
    reason: str = ""


class FrameNavigatedParams(Struct, frozen=True, kw_only=True, gc=False, rename=protocol_name):
    """`Page.frameNavigated`."""

    frame: FrameInfo = FrameInfo()
    type: str = ""


class NavigatedWithinDocumentParams(Struct, frozen=True, kw_only=True, gc=False, rename=protocol_name):
    """`Page.navigatedWithinDocument`."""

    frame_id: str = ""
    url: str = ""


class ContextAux(Struct, frozen=True, kw_only=True, gc=False, rename=protocol_name):
    """Whose an execution context is."""

    frame_id: str = ""
    is_default: bool = False


class ContextDescription(Struct, frozen=True, kw_only=True, gc=False, rename=protocol_name):
    """An execution context."""

    unique_id: str = ""
    aux_data: ContextAux = ContextAux()


class ContextCreatedParams(Struct, frozen=True, kw_only=True, gc=False, rename=protocol_name):
    """`Runtime.executionContextCreated`."""

    context: ContextDescription = ContextDescription()


class ContextDestroyedParams(Struct, frozen=True, kw_only=True, gc=False, rename=protocol_name):
    """`Runtime.executionContextDestroyed`."""

    execution_context_unique_id: str = ""


class DialogOpeningParams(Struct, frozen=True, kw_only=True, gc=False, rename=protocol_name):
    """`Page.javascriptDialogOpening`."""

    frame_id: str = ""
    type: str = ""
    message: str = ""
    default_prompt: str = ""
    native: bool = False


class DialogClosedParams(Struct, frozen=True, kw_only=True, gc=False, rename=protocol_name):
    """`Page.javascriptDialogClosed`."""

    frame_id: str = ""
    result: bool = False
    user_input: str = ""


class NoParams(Struct, frozen=True, kw_only=True, gc=False):
    """An event that says all by its name."""


LONG: Final = frozenset(("url", "url_fragment", "message", "default_prompt"))
"""Texts that may be longer than an id."""


def reader(kind: type[S]) -> Reader[S]:
    """A reader for one kind of event."""
    strict = decoder(kind)
    by_field = _by_field(kind)

    def read(event: Event, most: int) -> S:
        raw = event.raw
        if len(raw) <= most and len(raw) <= ID and type(event) is Event:  # so no text in it needs a cut
            try:
                return strict(raw)
            except DECODE_ERRORS:
                pass
        return by_field(event.params, most)

    return read


def _by_field(kind: type[S]) -> Callable[[Json, int], S]:
    read: dict[str, Callable[[Json, int], Any]] = {}
    for name, of in get_type_hints(kind).items():
        read[name] = _one_field(name, protocol_name(name), of)

    def by_field(params: Json, most: int) -> S:
        return kind(**{name: one(params, most) for name, one in read.items()})

    return by_field


def _one_field(name: str, wire_name: str, of: type) -> Callable[[Json, int], Any]:
    if of is bool:
        return lambda params, _most: flag(params, wire_name)
    if of is not str:
        below: Callable[[Json, int], Any] = _by_field(of)
        return lambda params, most: below(member(params, wire_name), most)
    if name in LONG:
        return lambda params, most: text(params, wire_name, most)
    return lambda params, _most: text(params, wire_name)


read_frame: Callable[[Json, int], FrameInfo] = _by_field(FrameInfo)
"""A frame of a tree."""


# ── fields of raw params ──────────────────────────────────────────────────────────────────────────────────────────────


def text(params: Json, name: str, most: int = ID) -> str:
    """A text, or an empty one. Ids and names have a bound as well: memory is bounded whatever a peer sends."""
    value = params.get(name)
    return value[:most] if isinstance(value, str) else ""


def flag(params: Json, name: str) -> bool:
    """True where it says so."""
    return params.get(name) is True


def member(params: Json, name: str) -> Json:
    """An object, or an empty one."""
    value = params.get(name)
    return value if is_object(value) else {}


def members(params: Json, name: str) -> list[Json]:
    """The objects in a list."""
    value: object = params.get(name)
    if not isinstance(value, list):
        return []
    listed: list[object] = value  # pyright: ignore[reportUnknownVariableType]
    return [each for each in listed if is_object(each)]


def site_of(url: str) -> str:
    """What a browser keeps in one process: scheme and the last two labels of the host; empty where there is no host.

    Who registers names below three labels is not known here: such sites may be taken for one.
    """
    found = _HOST.match(url)
    if found is None or not found[2]:
        return ""
    scheme, host = found[1].lower(), found[2].lower()
    if host.startswith("[") or _NUMERIC.fullmatch(host):
        return f"{scheme}://{host}"
    return f"{scheme}://{'.'.join(host.split('.')[-2:])}"
