"""What a page does, as values: the steps of a script.

A step names the things it makes and uses by labels of the script's own: `AddFrame("ad", url=…)` makes a frame called `ad`,
`Dialog("confirm", "sure?", frame="ad")` is raised in it. A page is called by the label it was opened under; the first one
is `main`. A frame that is not named is the page's own.

Steps print as the Python that makes them, compare by value, and survive JSON (`Script.to_json`, `Script.from_json`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

import attrs

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.wire import Json, is_object

__all__ = [
    "AddFrame",
    "Answer",
    "Close",
    "Console",
    "Crash",
    "Cut",
    "Dialog",
    "MoveFrame",
    "Navigate",
    "NavigateFrame",
    "Popup",
    "RemoveFrame",
    "Script",
    "ScriptError",
    "Step",
    "Wait",
    "Worker",
]

MAIN: Final = "main"


def _text(_step: object, field: attrs.Attribute[Any], value: object) -> None:
    if not isinstance(value, str):
        raise InvalidArgument(f"{field.name} must be a text, not {value!r}.")


def _seconds(_step: object, field: attrs.Attribute[Any], value: object) -> None:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < float("inf"):
        raise InvalidArgument(f"{field.name} must be a number of seconds, not {value!r}.")


DIALOGS: Final = ("alert", "confirm", "prompt", "beforeunload")


def _dialog_type(_step: object, _field: object, value: object) -> None:
    if value not in DIALOGS:
        raise InvalidArgument(f"{value!r} is no type of dialog; there are {', '.join(DIALOGS)}.")


@attrs.frozen
class Navigate:
    """The page goes to another document by itself."""

    url: str = attrs.field(validator=_text)
    page: str = attrs.field(default=MAIN, validator=_text)


@attrs.frozen
class AddFrame:
    """A script adds an iframe; it is out of process where its site is another one."""

    label: str = attrs.field(validator=_text)
    url: str = attrs.field(default="about:blank", validator=_text)
    parent: str = attrs.field(default=MAIN, validator=_text)


@attrs.frozen
class NavigateFrame:
    """An iframe goes to another document; to another site, it changes its process."""

    label: str = attrs.field(validator=_text)
    url: str = attrs.field(validator=_text)


@attrs.frozen
class RemoveFrame:
    """A script removes an iframe."""

    label: str = attrs.field(validator=_text)


@attrs.frozen
class MoveFrame:
    """A script moves an iframe's element: it loads anew, as another frame (fact 44)."""

    label: str = attrs.field(validator=_text)


@attrs.frozen
class Dialog:
    """A script calls alert, confirm or prompt; the steps after it come when it was answered."""

    type: str = attrs.field(default="alert", validator=_dialog_type)
    message: str = attrs.field(default="", validator=_text)
    default_prompt: str = attrs.field(default="", validator=_text)
    frame: str = attrs.field(default=MAIN, validator=_text)


@attrs.frozen
class Console:
    """A script writes to the console."""

    text: str = attrs.field(validator=_text)
    type: str = attrs.field(default="log", validator=_text)
    frame: str = attrs.field(default=MAIN, validator=_text)


@attrs.frozen
class ScriptError:
    """A script throws, and nobody catches it."""

    message: str = attrs.field(validator=_text)
    frame: str = attrs.field(default=MAIN, validator=_text)


@attrs.frozen
class Popup:
    """A script opens a window; with `noopener` it has a process of its own."""

    label: str = attrs.field(validator=_text)
    url: str = attrs.field(default="about:blank", validator=_text)
    opener: str = attrs.field(default=MAIN, validator=_text)
    noopener: bool = False


@attrs.frozen
class Worker:
    """A script starts a dedicated worker."""

    label: str = attrs.field(validator=_text)
    url: str = attrs.field(default="worker.js", validator=_text)
    frame: str = attrs.field(default=MAIN, validator=_text)


@attrs.frozen
class Crash:
    """The renderer of a page dies."""

    page: str = attrs.field(default=MAIN, validator=_text)


@attrs.frozen
class Close:
    """A page closes."""

    page: str = attrs.field(default=MAIN, validator=_text)


@attrs.frozen
class Cut:
    """Every connection breaks, without a close frame."""


@attrs.frozen
class Wait:
    """Nothing happens for so long, in virtual time."""

    seconds: float = attrs.field(validator=_seconds)


Step = (
    AddFrame
    | Close
    | Console
    | Crash
    | Cut
    | Dialog
    | MoveFrame
    | Navigate
    | NavigateFrame
    | Popup
    | RemoveFrame
    | ScriptError
    | Wait
    | Worker
)
KINDS: Final[Mapping[str, type[Any]]] = {
    kind.__name__: kind
    for kind in (
        AddFrame,
        Close,
        Console,
        Crash,
        Cut,
        Dialog,
        MoveFrame,
        Navigate,
        NavigateFrame,
        Popup,
        RemoveFrame,
        ScriptError,
        Wait,
        Worker,
    )
}


def _to_steps(steps: Iterable[Step]) -> tuple[Step, ...]:
    return tuple(steps)


@attrs.frozen
class Answer:
    """What `Runtime.evaluate` of a known expression does, and then brings."""

    value: Any = None
    steps: tuple[Step, ...] = attrs.field(default=(), converter=_to_steps)


@attrs.frozen(kw_only=True)
class Script:
    """What pages do: when they load, by themselves, and when an expression is evaluated in them.

    `pages` has the steps of a document's own script by its URL, `timeline` what happens from the start on, `answers` what
    expressions do.
    """

    pages: Mapping[str, tuple[Step, ...]] = MappingProxyType({})
    timeline: tuple[Step, ...] = attrs.field(default=(), converter=_to_steps)
    answers: Mapping[str, Answer] = MappingProxyType({})

    def to_json(self) -> Json:
        """The script as JSON."""
        return {
            "pages": {url: [_step_to_json(step) for step in steps] for url, steps in self.pages.items()},
            "timeline": [_step_to_json(step) for step in self.timeline],
            "answers": {
                expression: {"value": answer.value, "steps": [_step_to_json(step) for step in answer.steps]}
                for expression, answer in self.answers.items()
            },
        }

    @classmethod
    def from_json(cls, text: str | Json) -> Script:
        """Read a script. Raises InvalidArgument that names the place."""
        try:
            content: object = json.loads(text) if isinstance(text, str) else text
        except (ValueError, RecursionError):
            content = None
        if not is_object(content):
            raise InvalidArgument("A script is a JSON object with pages, timeline and answers.")
        odd = sorted(content.keys() - {"pages", "timeline", "answers"})
        if odd:
            raise InvalidArgument(f"A script has pages, timeline and answers, and no {odd[0]!r}.")
        return cls(
            pages={url: _steps_from_json(steps, f"pages[{url!r}]") for url, steps in content.get("pages", {}).items()},
            timeline=_steps_from_json(content.get("timeline", []), "timeline"),
            answers={
                expression: Answer(
                    answer.get("value"), _steps_from_json(answer.get("steps", []), f"answers[{expression!r}]")
                )
                for expression, answer in content.get("answers", {}).items()
            },
        )


def _step_to_json(step: Step) -> Json:
    return {"step": type(step).__name__, **attrs.asdict(step)}


def _steps_from_json(steps: Iterable[Any], where: str) -> tuple[Step, ...]:
    return tuple(_step_from_json(step, f"{where}[{number}]") for number, step in enumerate(steps))


def _step_from_json(step: Any, where: str) -> Step:
    fields = dict(step) if is_object(step) else {}
    kind = KINDS.get(str(fields.pop("step", "")))
    if kind is None:
        raise InvalidArgument(f"{where} is no step; there are {', '.join(KINDS)}.")
    try:
        made: Step = kind(**fields)
    except TypeError:
        wanted = ", ".join(field.name for field in attrs.fields(kind))
        raise InvalidArgument(f"{where} does not fit: {kind.__name__} has {wanted}.") from None
    except InvalidArgument as error:
        raise InvalidArgument(f"{where}: {error}") from None
    return made
