"""What can be asked of a supervisor, as values; each is answered once, with a value or an error.

A value of the wrong type is refused where it is made; whether it means anything is the machine's to say.
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
    """A validator: one of these types, and nothing else."""

    def check(_self: object, field: attrs.Attribute[Any], value: object) -> None:
        if not isinstance(value, kinds):
            raise InvalidArgument(f"{field.name} must be {what}, not {type(value).__name__}.")

    return check


_text = _of("a text", str)
_text_or_none = _of("a text or None", str, type(None))
_object_or_none = _of("a mapping or None", Mapping, type(None))
_seconds_or_none = _of("a number of seconds or None", int, float, type(None))


@attrs.frozen(kw_only=True)
class RespondToDialog:
    """Answer a dialog. The answer comes when the dialog has ended."""

    action: str = attrs.field(validator=_text)
    prompt_text: str | None = attrs.field(default=None, validator=_text_or_none)
    dialog_id: str | None = attrs.field(default=None, validator=_text_or_none)


@attrs.frozen(kw_only=True)
class Call:
    """Send a command where it belongs. The answer is its result."""

    method: str = attrs.field(validator=_text)
    params: Mapping[str, Any] | None = attrs.field(default=None, validator=_object_or_none)
    frame_id: str | None = attrs.field(default=None, validator=_text_or_none)
    target_id: str | None = attrs.field(default=None, validator=_text_or_none)
    session_id: str | None = attrs.field(default=None, validator=_text_or_none)
    timeout: float | None = attrs.field(default=30.0, validator=_seconds_or_none)
    when_blocked: str = attrs.field(default="raise", validator=_text)


@attrs.frozen(kw_only=True)
class AwaitCall:
    """The end of a call that a dialog has overtaken."""

    call_id: str = attrs.field(validator=_text)
    timeout: float | None = attrs.field(default=None, validator=_seconds_or_none)


@attrs.frozen(kw_only=True)
class SetPolicy:
    """From now on dialogs are met so; those that are open, too."""

    policy: Policy = attrs.field(validator=_of("a Policy", Policy))


@attrs.frozen(kw_only=True)
class Focus:
    """Which page is meant where none is named; None: the only one there is."""

    target_id: str | None = attrs.field(default=None, validator=_text_or_none)


@attrs.frozen(kw_only=True)
class Recover:
    """Free a page whose dialog nobody can answer."""

    target_id: str = attrs.field(validator=_text)
    remedy: str = attrs.field(validator=_text)


@attrs.frozen(kw_only=True)
class Stop:
    """End: settle what can be settled, within this time. The answer is a `StopReport`."""

    timeout: float = attrs.field(default=1.5, validator=_of("a number of seconds", int, float))


Request = RespondToDialog | Call | AwaitCall | SetPolicy | Focus | Recover | Stop
