"""Checks the effects that an extension wants, before any of them is performed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

from cdp_core.errors import CdpError
from cdp_core.sansio.messages import CommandId, encode_command
from cdp_supervisor.sansio import effects

MAX_SENDS: Final = 8
"""Commands that one input may bring from one extension."""
LONGEST_TAG: Final = 1_000
COMMANDS: Final = (effects.Send, effects.ClaimFetch, effects.AnswerFetch)
"""The effects that count as commands."""
NAMES: Final = ", ".join(sorted(kind.__name__ for kind in get_args(effects.Wanted)))


def _is_a(*kinds: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, kinds)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_tag(value: object) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_TAG


_TEXT, _TEXT_OR_NONE, _FLAG = _is_a(str), _is_a(str, type(None)), _is_a(bool)

FIELDS: Final[Mapping[type, Mapping[str, Callable[[Any], bool]]]] = {
    effects.Send: {"session_id": _TEXT_OR_NONE, "method": _is_name, "reply_to": _is_tag},
    effects.Note: {
        "level": lambda level: level in ("debug", "info", "warning"),
        "text": _TEXT,
        "fields": _is_a(Mapping),
    },
    effects.OpenDialog: {
        "key": _is_name,
        "via": lambda via: via in ("request", "pause"),
        **dict.fromkeys(("page_id", "frame_id", "type", "message", "default_prompt"), _TEXT),
    },
    effects.EndDialog: {"key": _TEXT, "answered": _FLAG, "reason": _TEXT},
    effects.ClaimFetch: {"key": _is_name, "session_id": _TEXT_OR_NONE, "patterns": _is_a(tuple), "auth": _FLAG},
    effects.AnswerFetch: {"key": _TEXT, "method": _is_name, "reply_to": _is_tag},
    effects.ReleaseFetch: {"key": _TEXT},
}
"""Class of an effect → the fields to check; the machine fills in the others."""


def violation(orders: tuple[Any, ...]) -> str:
    """Return why these effects of one input cannot be performed; empty if they can."""
    sends = sum(isinstance(each, COMMANDS) for each in orders)
    if sends > MAX_SENDS:
        return f"it sent {sends} commands for one input"
    return next((reason for order in orders if (reason := _invalid(order))), "")


def _invalid(order: object) -> str:
    fields = FIELDS.get(type(order))
    if fields is None:
        return f"it returned something other than {NAMES}"
    for name, is_valid in fields.items():
        if not is_valid(getattr(order, name)):
            return f"the {name} of the {type(order).__name__} that it returned is invalid"
    if isinstance(order, (effects.Send, effects.AnswerFetch)):
        try:
            encode_command(CommandId(1), order.method, order.params, None)
        except CdpError:
            return f"it sent {order.method[:64]} with params that are not JSON"
    return ""
