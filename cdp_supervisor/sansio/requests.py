"""The requests to a supervisor, as frozen values; each is answered once, with a value or an error.

A field of the wrong type raises InvalidArgument where the request is made; the state machine checks the values. The
fields also give the JSON of a request, for traces and for other programs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, get_args

import attrs

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.arguments import describe_kind
from cdp_core.sansio.messages import Json, TypedCommand, is_object
from cdp_supervisor.sansio.options import Policy

__all__ = [
    "AskExtension",
    "AwaitCall",
    "Call",
    "Evaluate",
    "Focus",
    "Recover",
    "Request",
    "RespondToDialog",
    "SetPolicy",
    "Stop",
    "TypedCall",
    "request_from_json",
    "request_to_json",
]

WhenBlocked = Literal["raise", "wait"]
Remedy = Literal["same_document", "navigate", "reload", "close"]


# ── kinds of fields ──────────────────────────────────────────────────────────────────────────────────────────────────


def _same(value: Any) -> Any:
    return value


def _number_to_json(value: float | None) -> object:
    """Write infinity and NaN as strings: JSON has no numbers for them."""
    return value if value is None or math.isfinite(value) else str(value)


def _number_from_json(value: object) -> object:
    return float(value) if value in ("inf", "-inf", "nan") else value


@attrs.frozen
class _Kind:
    """The kind of a field: its name in errors, types, JSON, and the stand-in for a hidden value."""

    what: str
    types: tuple[type, ...]
    write: Callable[[Any], Any] = _same
    read: Callable[[Any], Any] = _same
    hide: Callable[[Any], Any] = _same


_TEXT: Final = _Kind("a string", (str,))
_TEXT_OR_NONE: Final = _Kind("a string or None", (str, type(None)), hide=lambda text: None if text is None else "")
_OBJECT: Final = _Kind("a mapping", (Mapping,), dict, hide=lambda _value: {})
_OBJECT_OR_NONE: Final = _Kind(
    "a mapping or None",
    (Mapping, type(None)),
    lambda value: None if value is None else dict(value),
    hide=lambda _value: None,
)
_COMMAND: Final = _Kind("a typed command such as page.navigate(url=…)", (TypedCommand,))
_FLAG: Final = _Kind("True or False", (bool,))
_SECONDS: Final = _Kind("a number of seconds", (int, float), _number_to_json, _number_from_json)
_SECONDS_OR_NONE: Final = _Kind(
    "a number of seconds or None", (int, float, type(None)), _number_to_json, _number_from_json
)
_POLICY: Final = _Kind(
    "a Policy",
    (Policy,),
    Policy.to_json,
    Policy.from_mapping,
    hide=lambda policy: attrs.evolve(policy, prompt_text=policy.prompt_text and ""),
)


def _field(kind: _Kind, *, default: Any = attrs.NOTHING, private: bool = False) -> Any:
    """Make a field of this kind; a trace does not show the value of a private one."""
    return attrs.field(default=default, metadata={"kind": kind, "private": private})


class _Checked:
    """A request whose fields are checked when it is made."""

    __slots__ = ()

    def __attrs_post_init__(self) -> None:
        for name, kind in _kinds_of(type(self)):  # type: ignore[arg-type]
            value = getattr(self, name)
            if not isinstance(value, kind.types):
                raise InvalidArgument(f"{name} must be {kind.what}, not {type(value).__name__}.")


@functools.cache
def _kinds_of(request: type) -> tuple[tuple[str, _Kind], ...]:
    return tuple((field.name, field.metadata["kind"]) for field in attrs.fields(request))


# ── the requests ─────────────────────────────────────────────────────────────────────────────────────────────────────


@attrs.frozen(kw_only=True)
class RespondToDialog(_Checked):
    """Respond to a dialog; answered with the `DialogView` when the dialog is over."""

    action: str = _field(_TEXT)
    prompt_text: str | None = _field(_TEXT_OR_NONE, default=None, private=True)
    dialog_id: str | None = _field(_TEXT_OR_NONE, default=None)


@attrs.frozen(kw_only=True)
class Call(_Checked):
    """Send a command to the session that it belongs to; answered with its result."""

    method: str = _field(_TEXT)
    params: Mapping[str, Any] | None = _field(_OBJECT_OR_NONE, default=None, private=True)
    frame_id: str | None = _field(_TEXT_OR_NONE, default=None)
    target_id: str | None = _field(_TEXT_OR_NONE, default=None)
    session_id: str | None = _field(_TEXT_OR_NONE, default=None)
    timeout: float | None = _field(_SECONDS_OR_NONE, default=30.0)
    when_blocked: str = _field(_TEXT, default="raise")
    force: bool = _field(_FLAG, default=False)


@attrs.frozen(kw_only=True)
class AwaitCall(_Checked):
    """Wait for the end of a call that a dialog blocked; answered with its result."""

    call_id: str = _field(_TEXT)
    timeout: float | None = _field(_SECONDS_OR_NONE, default=None)


@attrs.frozen(kw_only=True)
class SetPolicy(_Checked):
    """Set the policy for dialogs, also for those that are open."""

    policy: Policy = _field(_POLICY, private=True)  # noqa: RUF009 - attrs.field behind a function


@attrs.frozen(kw_only=True)
class Focus(_Checked):
    """Focus the page that is used if none is named; None: the only page."""

    target_id: str | None = _field(_TEXT_OR_NONE, default=None)


@attrs.frozen(kw_only=True)
class Recover(_Checked):
    """Free a page that does not answer: an unanswerable or unseen dialog blocks it, or an endless script."""

    target_id: str = _field(_TEXT)
    remedy: str = _field(_TEXT)
    force: bool = _field(_FLAG, default=False)


@attrs.frozen(kw_only=True)
class AskExtension(_Checked):
    """Ask an extension; answered with the JSON that its `answer` returns."""

    extension: str = _field(_TEXT)
    question: Mapping[str, Any] = _field(_OBJECT)


@attrs.frozen(kw_only=True)
class Stop(_Checked):
    """Stop: settle what can be settled within this time; answered with a `StopReport`."""

    timeout: float = _field(_SECONDS, default=1.5)


Request = RespondToDialog | Call | AwaitCall | SetPolicy | Focus | Recover | AskExtension | Stop
"""Any request to a supervisor."""


# ── requests whose results are read ───────────────────────────────────────────────────────────────────────────────────


@attrs.frozen(kw_only=True)
class TypedCall(_Checked):
    """As `Call`, with a typed command; answered with its typed result. For `SupervisorEngine.request`."""

    command: TypedCommand[Any] = _field(_COMMAND)  # noqa: RUF009 - attrs.field behind a function
    frame_id: str | None = _field(_TEXT_OR_NONE, default=None)
    target_id: str | None = _field(_TEXT_OR_NONE, default=None)
    session_id: str | None = _field(_TEXT_OR_NONE, default=None)
    timeout: float | None = _field(_SECONDS_OR_NONE, default=30.0)
    when_blocked: str = _field(_TEXT, default="raise")
    force: bool = _field(_FLAG, default=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if isinstance(self.command, type):  # a class has the same attributes
            raise InvalidArgument(f"command must be {_COMMAND.what}, not {describe_kind(self.command)}.")


@attrs.frozen(kw_only=True)
class Evaluate(_Checked):
    """Evaluate an expression; answered with its value, or ScriptFailed. For `SupervisorEngine.request`."""

    expression: str = _field(_TEXT)
    frame_id: str | None = _field(_TEXT_OR_NONE, default=None)
    target_id: str | None = _field(_TEXT_OR_NONE, default=None)
    await_promise: bool = _field(_FLAG, default=True)
    user_gesture: bool = _field(_FLAG, default=False)
    timeout: float | None = _field(_SECONDS_OR_NONE, default=30.0)
    when_blocked: str = _field(_TEXT, default="raise")


TypedRequest = TypedCall | Evaluate
"""A request that becomes a `Call` before the state machine gets it (typed_requests.py); it has no JSON form."""


def evaluation_of(expression: str, *, await_promise: bool, user_gesture: bool, **where: Any) -> Call:
    """Return the call of an evaluation; `where` are the other fields of `Call`.

    Its result is for `read_evaluation` (replies.py). Raises InvalidArgument for an expression that is no string.
    """
    if not isinstance(expression, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
        raise InvalidArgument(f"expression must be a string, not {type(expression).__name__}.")
    params = {
        "expression": expression,
        "awaitPromise": await_promise,
        "userGesture": user_gesture,
        "returnByValue": True,
    }
    return Call(method="Runtime.evaluate", params=params, **where)


# ── requests as JSON ─────────────────────────────────────────────────────────────────────────────────────────────────

KINDS: Final[Mapping[str, type[Request]]] = {kind.__name__: kind for kind in get_args(Request)}


def request_to_json(request: Request, *, private: bool = True) -> Json:
    """Return a request as JSON, with its class name as `type`; without `private`, contents are left out.

    Raises InvalidArgument for a value without a JSON form, such as a `TypedCall`.
    """
    if KINDS.get(type(request).__name__) is not type(request):
        raise InvalidArgument(f"Only {', '.join(KINDS)} have a JSON form, not {type(request).__name__}.")
    written: Json = {"type": type(request).__name__}
    for field in attrs.fields(type(request)):
        kind: _Kind = field.metadata["kind"]
        value = getattr(request, field.name)
        written[field.name] = kind.write(value if private or not field.metadata["private"] else kind.hide(value))
    return written


def request_from_json(written: object) -> Request:
    """Return the request with this JSON; fields with a default may be missing.

    Raises InvalidArgument, or InvalidPolicy for the values of a policy.
    """
    if not is_object(written):
        raise InvalidArgument(f"A request is a JSON object, not {type(written).__name__}.")
    make = KINDS.get(str(written.get("type")))
    if make is None:
        raise InvalidArgument(
            f"The type of a request is one of {', '.join(KINDS)}, not {str(written.get('type'))[:64]!r}."
        )
    fields = {field.name: field for field in attrs.fields(make)}
    unknown = [name for name in written if name != "type" and name not in fields]
    missing = [name for name, field in fields.items() if field.default is attrs.NOTHING and name not in written]
    if unknown or missing:
        what = f"has no field {unknown[0][:64]!r}" if unknown else f"needs the field {missing[0]!r}"
        raise InvalidArgument(f"{make.__name__} {what}; its fields are {', '.join(fields)}.")
    values = {name: field.metadata["kind"].read(written[name]) for name, field in fields.items() if name in written}
    return make(**values)
