"""The options of a supervisor: policy for dialogs, scope of pages, reconnecting, limits.

All are frozen values. An invalid one raises where it is made, with the values that are allowed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, get_args

import attrs

from cdp_core.sansio.messages import BrowserContextId, TargetId
from cdp_supervisor.errors import InvalidPolicy

DialogPolicy = Literal["must_respond", "auto_dismiss", "auto_accept"]
"""What the supervisor does with dialogs of one type: see `Policy`."""
DialogType = Literal["alert", "confirm", "prompt", "beforeunload"]
"""The types of native dialogs in the protocol."""
POLICIES: Final[tuple[str, ...]] = get_args(DialogPolicy)
TYPES: Final[tuple[str, ...]] = get_args(DialogType)
DEFAULT: Final[DialogPolicy] = "must_respond"
SHOWN: Final = 80
"""Characters of an invalid value in an error text."""


def _to_policies(given: DialogPolicy | Mapping[DialogType, DialogPolicy]) -> str | Mapping[str, str]:
    if not isinstance(given, Mapping):
        _check(given, POLICIES, "a dialog policy")
        return given
    for kind, policy in given.items():
        _check(kind, TYPES, "a dialog type")
        _check(policy, POLICIES, "a dialog policy")
    return MappingProxyType({str(kind): str(policy) for kind, policy in given.items()})


def _comparable(dialogs: str | Mapping[str, str]) -> object:
    return dialogs if isinstance(dialogs, str) else tuple(sorted(dialogs.items()))


def _check(given: object, valid: tuple[str, ...], what: str) -> None:
    if not isinstance(given, str) or given not in valid:
        raise InvalidPolicy(f"{shown(given)} is not {what}", valid=valid)


def is_finite(value: object) -> bool:
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(float(value))
    except OverflowError:
        return False


def is_time(value: object) -> bool:
    """True for a positive, finite number of seconds."""
    return is_finite(value) and isinstance(value, (int, float)) and value > 0


def shown(value: object) -> str:
    """Return the repr of an invalid value for an error text, cut to `SHOWN` characters."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - the repr of a caller's class, or of a number with too many digits
        return f"a {type(value).__name__}"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _seconds(_self: object, field: attrs.Attribute[Any], value: object) -> None:
    if not is_time(value):
        raise InvalidPolicy(f"{field.name} must be a positive number of seconds, not {shown(value)}")


def _count(_self: object, field: attrs.Attribute[Any], value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidPolicy(f"{field.name} must be a whole number, 0 or more, not {shown(value)}")


def _text_or_none(_self: object, field: attrs.Attribute[Any], value: object) -> None:
    if value is not None and not isinstance(value, str):
        raise InvalidPolicy(f"{field.name} must be a string or None, not {shown(value)}")


@attrs.frozen
class Policy:
    """What the supervisor does with dialogs.

    `dialogs` is one policy for all types, or a mapping of types to policies (`must_respond` for a type that is
    missing): `must_respond` waits for an answer, at most `dialog_timeout` seconds, then dismisses; `auto_dismiss` and
    `auto_accept` answer at once. A prompt is accepted with `prompt_text`, or with the page's default text if that is
    None.
    """

    dialogs: str | Mapping[str, str] = attrs.field(default=DEFAULT, converter=_to_policies, eq=_comparable)
    dialog_timeout: float = attrs.field(default=300.0, validator=_seconds, kw_only=True)
    prompt_text: str | None = attrs.field(default=None, validator=_text_or_none, kw_only=True)

    def __reduce__(self) -> tuple[Any, ...]:
        return Policy.from_mapping, (self.to_json(),)

    def of(self, kind: str) -> str:
        """Return the policy for a dialog type: `must_respond` for a type that this version does not know."""
        if isinstance(self.dialogs, str):
            return self.dialogs
        return self.dialogs.get(kind, DEFAULT)

    @classmethod
    def unattended(cls, *, dialog_timeout: float = 300.0) -> Policy:
        """Return a policy for unattended programs: accept alert and beforeunload, dismiss confirm and prompt."""
        return cls(
            {
                "alert": "auto_accept",
                "beforeunload": "auto_accept",
                "confirm": "auto_dismiss",
                "prompt": "auto_dismiss",
            },
            dialog_timeout=dialog_timeout,
        )

    @classmethod
    def from_mapping(cls, config: Mapping[str, Any]) -> Policy:
        """Read `dialog_policy`, `dialog_timeout_s` and `prompt_text`. Raises InvalidPolicy."""
        names = {"dialog_policy": "dialogs", "dialog_timeout_s": "dialog_timeout", "prompt_text": "prompt_text"}
        if not isinstance(config, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidPolicy(f"a policy is read from a mapping, not from {shown(config)}", valid=tuple(names))
        for key in config:
            _check(key, tuple(names), "an option of a policy")
        return cls(**{names[key]: value for key, value in config.items()})

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON, for a trace."""
        dialogs = self.dialogs if isinstance(self.dialogs, str) else dict(self.dialogs)
        return {"dialog_policy": dialogs, "dialog_timeout_s": self.dialog_timeout, "prompt_text": self.prompt_text}


@attrs.frozen(kw_only=True)
class Scope:
    """The supervised pages: all, some targets with the windows that they open, or those of one context."""

    target_ids: frozenset[TargetId] | None = None
    context_id: BrowserContextId | None = None
    observing: bool = False
    """True: nothing is sent automatically that a page could notice; no dialog is answered or timed."""
    sharing: bool = False
    """True: no target is paused or resumed, and dialogs are left to other clients for `grace` seconds."""
    grace: float = attrs.field(default=1.0, validator=_seconds)

    @classmethod
    def browser(cls) -> Scope:
        """Return the scope of all pages, also of future ones."""
        return cls()

    @classmethod
    def targets(cls, *target_ids: str) -> Scope:
        """Return the scope of these pages and the windows that they open."""
        if not target_ids or not all(isinstance(each, str) and each for each in target_ids):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidPolicy("Scope.targets needs the ids of at least one target, as strings")
        return cls(target_ids=frozenset(map(TargetId, target_ids)))

    @classmethod
    def context(cls, context_id: str) -> Scope:
        """Return the scope of the pages of one browser context."""
        if not isinstance(context_id, str) or not context_id:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidPolicy("Scope.context needs the id of a browser context, as a string")
        return cls(context_id=BrowserContextId(context_id))

    def shared(self, *, grace: float = 1.0) -> Scope:
        """Return this scope for a browser that other clients use too.

        No target is paused, and none is resumed, so that another client has the time to set its popups up. A dialog is
        left to the others for `grace` seconds after its opening; if it is still open then, the policy applies.
        `observed()` wins over this.

        The price: a dialog in the first milliseconds of a page may open unseen (the page's health says so), and no init
        script of an extension is promised to run before a page's first instruction.
        """
        return attrs.evolve(self, sharing=True, grace=grace)

    def observed(self) -> Scope:
        """Return this scope, observing: no dialog is answered or timed, and no page is navigated or closed.

        Observing has one visible effect. A browser without windows for dialogs dismisses a dialog at once if no
        client has `Page` enabled; while one observes, the dialog stays open until a client answers it or the last
        observer leaves (fact 26). A page whose dialog would end the browser when this supervisor leaves it is navigated
        away before (`StopReport.freed`, docs/cdp/leaving-a-page-can-end-the-browser.md).
        """
        return attrs.evolve(self, observing=True)

    @property
    def whole(self) -> bool:
        """True if every page is in scope."""
        return self.target_ids is None and self.context_id is None

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON, for a trace."""
        targets = None if self.target_ids is None else sorted(self.target_ids)
        shared = {"sharing": True, "grace": self.grace} if self.sharing else {}
        return {"targets": targets, "context": self.context_id, "observing": self.observing, **shared}


@attrs.frozen(kw_only=True)
class Reconnect:
    """Backoff of reconnects: after `first` seconds, each wait longer by `factor`, up to `most` seconds."""

    first: float = attrs.field(default=0.5, validator=_seconds)
    factor: float = attrs.field(default=2.0, validator=_seconds)
    most: float = attrs.field(default=10.0, validator=_seconds)
    budget: int = attrs.field(default=5, validator=_count)
    """Consecutive failures to connect after which the supervisor gives up; 0: it never reconnects."""

    @classmethod
    def never(cls) -> Reconnect:
        """Return the option that a lost link ends the supervisor."""
        return cls(budget=0)

    def wait_before(self, attempt: int, jitter: float) -> float:
        """Return the seconds before an attempt (the first is 1); `jitter` from 0 to 1 spreads many clients."""
        spread = jitter if 0 <= jitter <= 1 else 0.5
        try:
            grown = self.first * float(self.factor) ** (attempt - 1)
        except OverflowError:
            grown = self.most
        return min(grown, self.most) * (0.5 + spread / 2)


@attrs.frozen(kw_only=True)
class Limits:
    """Bounds of the state, whatever a page does; what exceeds one is counted and shown in the snapshot."""

    frames_kept: int = 12_000
    """Frames per page."""
    pages_kept: int = 4_000
    sessions_kept: int = 40_000
    dialogs_kept: int = 100
    """Pending dialogs per page."""
    recent_dialogs: int = 20
    ended_calls: int = 20
    calls_kept: int = 4_000
    text_kept: int = 10_240
    """Characters of a message, a title or a URL."""
    setup_patience: float = 3.0
    """Seconds after which a page that has not answered its setup counts as blocked."""
    answer_patience: float = 5.0
    """Seconds in which an answered dialog has to close."""
    retries: int = 3
    """Further attempts to read a frame tree that a navigation interrupted."""
