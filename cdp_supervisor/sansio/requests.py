"""The requests to a supervisor, as frozen values; each is answered once, with a value or an error.

A field of the wrong type raises InvalidArgument where the request is made; the state machine checks the values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from cdp_core.errors import InvalidArgument
from cdp_supervisor.sansio.options import Policy

WhenBlocked = Literal["raise", "wait"]
Remedy = Literal["same_document", "navigate", "reload", "close"]


def _of(what: str, *kinds: type) -> Any:
    """Make a validator that allows these types only."""

    def check(_self: object, field: attrs.Attribute[Any], value: object) -> None:
        if not isinstance(value, kinds):
            raise InvalidArgument(f"{field.name} must be {what}, not {type(value).__name__}.")

    return check


_text = _of("a string", str)
_text_or_none = _of("a string or None", str, type(None))
_object_or_none = _of("a mapping or None", Mapping, type(None))
_seconds_or_none = _of("a number of seconds or None", int, float, type(None))


@attrs.frozen(kw_only=True)
class RespondToDialog:
    """Respond to a dialog; answered with the `DialogView` when the dialog is over."""

    action: str = attrs.field(validator=_text)
    prompt_text: str | None = attrs.field(default=None, validator=_text_or_none)
    dialog_id: str | None = attrs.field(default=None, validator=_text_or_none)


@attrs.frozen(kw_only=True)
class Call:
    """Send a command to the session that it belongs to; answered with its result."""

    method: str = attrs.field(validator=_text)
    params: Mapping[str, Any] | None = attrs.field(default=None, validator=_object_or_none)
    frame_id: str | None = attrs.field(default=None, validator=_text_or_none)
    target_id: str | None = attrs.field(default=None, validator=_text_or_none)
    session_id: str | None = attrs.field(default=None, validator=_text_or_none)
    timeout: float | None = attrs.field(default=30.0, validator=_seconds_or_none)
    when_blocked: str = attrs.field(default="raise", validator=_text)


@attrs.frozen(kw_only=True)
class AwaitCall:
    """Wait for the end of a call that a dialog blocked; answered with its result."""

    call_id: str = attrs.field(validator=_text)
    timeout: float | None = attrs.field(default=None, validator=_seconds_or_none)


@attrs.frozen(kw_only=True)
class SetPolicy:
    """Set the policy for dialogs, also for those that are open."""

    policy: Policy = attrs.field(validator=_of("a Policy", Policy))


@attrs.frozen(kw_only=True)
class Focus:
    """Focus the page that is used if none is named; None: the only page."""

    target_id: str | None = attrs.field(default=None, validator=_text_or_none)


@attrs.frozen(kw_only=True)
class Recover:
    """Free a page that does not answer: an unanswerable or unseen dialog blocks it, or an endless script."""

    target_id: str = attrs.field(validator=_text)
    remedy: str = attrs.field(validator=_text)


@attrs.frozen(kw_only=True)
class Stop:
    """Stop: settle what can be settled within this time; answered with a `StopReport`."""

    timeout: float = attrs.field(default=1.5, validator=_of("a number of seconds", int, float))


Request = RespondToDialog | Call | AwaitCall | SetPolicy | Focus | Recover | Stop
