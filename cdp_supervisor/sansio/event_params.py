"""Event params: the few fields of each event that a rule reads, as typed values.

A short event is decoded straight from its bytes, and its other fields are skipped; an event that is long, or has a
field of an unexpected type, is read field by field: a field that is missing or of another type is empty, and long
texts are cut. Both ways give the same value and never raise for a field: a newer browser, or a page that lies, breaks
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_type_hints

from cdp_core.sansio.messages import Event, Json, is_object
from cdp_core.sansio.structs import DECODE_ERRORS, Struct, decoder

if TYPE_CHECKING:
    from cdp_supervisor.sansio.state import Page

ID: Final = 1024
"""Characters of an id or a name at most."""
_HOST = re.compile(r"([a-z][a-z0-9+.-]*)://(?:[^/?#@]*@)?(\[[^\]]*\]|[^/?#:]*)(:\d+)?", re.IGNORECASE)
_NUMERIC = re.compile(r"[0-9.]+")

S = TypeVar("S", bound=Struct)
Reader = Callable[[Event, int], S]
"""Reads an event; its long texts are cut to the given number of characters."""


NAMES: Final = {"native": "hasBrowserHandler"}
"""Protocol names of fields that have another name here."""


def protocol_name(name: str) -> str:
    """Return the protocol's name of a field."""
    first, *others = name.split("_")
    return NAMES.get(name) or "".join([first, *(each.capitalize() for each in others)])


class FrameInfo(Struct, frozen=True, kw_only=True, gc=False, rename=protocol_name):
    """`Page.Frame`: a frame with its document, in an event or a frame tree."""

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
    """`auxData` of an execution context: its frame, and whether it is the default one."""

    frame_id: str = ""
    is_default: bool = False


class ContextDescription(Struct, frozen=True, kw_only=True, gc=False, rename=protocol_name):
    """`Runtime.ExecutionContextDescription`."""

    unique_id: str = ""
    name: str = ""
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
    """An event without params that a rule reads."""


LONG: Final = frozenset(("url", "url_fragment", "message", "default_prompt"))
"""Fields that may be longer than an id."""


def reader(kind: type[S]) -> Reader[S]:
    """Return a reader for one kind of event params."""
    strict = decoder(kind)
    by_field = _by_field(kind)

    def read(event: Event, most: int) -> S:
        raw = event.raw
        if len(raw) <= most and len(raw) <= ID and type(event) is Event:  # so none of its texts needs a cut
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
"""Reads a frame of a frame tree."""


# ── fields of raw params ──────────────────────────────────────────────────────────────────────────────────────────────


def text(params: Json, name: str, most: int = ID) -> str:
    """Return a string, or an empty one. Even ids are cut, so memory is bounded whatever a peer sends."""
    value = params.get(name)
    return value[:most] if isinstance(value, str) else ""


def flag(params: Json, name: str) -> bool:
    return params.get(name) is True


def member(params: Json, name: str) -> Json:
    """Return an object, or an empty one."""
    value = params.get(name)
    return value if is_object(value) else {}


def members(params: Json, name: str) -> list[Json]:
    value: object = params.get(name)
    if not isinstance(value, list):
        return []
    listed: list[object] = value  # pyright: ignore[reportUnknownVariableType]
    return [each for each in listed if is_object(each)]


def site_of(url: str) -> str:
    """Return the site of a URL: its scheme and the last two labels of its host; empty without a host.

    A browser keeps one site in one process. The public suffix list is not known here: sites below a suffix of two
    labels are taken for one.
    """
    found = _HOST.match(url)
    if found is None or not found[2]:
        return ""
    scheme, host = found[1].lower(), found[2].lower()
    if host.startswith("[") or _NUMERIC.fullmatch(host):
        return f"{scheme}://{host}"
    return f"{scheme}://{'.'.join(host.split('.')[-2:])}"


def shown_page(page: Page) -> str:
    """Return the short id of a page with its origin, for an error: the rest of its URL may hold secrets."""
    return f"{page.id[:8]} ({shown_origin(page.url)})"


def shown_origin(url: str) -> str:
    """Return scheme, host and port of a URL, or its scheme; `about:blank` as such."""
    found = _HOST.match(url)
    if found is not None:
        return f"{found[1]}://{found[2]}{found[3] or ''}"[:100]
    if not url:
        return "no URL"
    return url if re.fullmatch(r"about:[a-z]{1,16}", url) else f"{url.partition(':')[0][:32]}:"
