"""Scripts: what the pages of a fake browser do, as a list of steps per document.

A step names the things that it makes and uses by labels of the script: `AddFrame("ad", url=…)` makes a frame labelled `ad`,
and `Dialog("confirm", "sure?", frame="ad")` opens a dialog in it. The label of a page is the one it was opened with; the
first page is `main`. A page's label used as a frame means its main frame.

Steps print as the Python that makes them, compare by value, and survive JSON (`Script.to_json`, `Script.from_json`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar, cast, get_args

import attrs

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.messages import Json, is_object
from cdp_core.testing.literal_values import (
    FrozenMapping,
    LiteralValue,
    a_duration,
    a_flag,
    a_name,
    a_number,
    a_text,
    from_json,
    member_from_json,
    one_of,
    parse_object,
    to_json,
)

__all__ = [
    "AddFrame",
    "Answer",
    "Close",
    "Console",
    "Crash",
    "Cut",
    "Dialog",
    "Discard",
    "EndWorker",
    "Go",
    "MoveFrame",
    "Navigate",
    "NavigateFrame",
    "Override",
    "Popup",
    "Prerender",
    "PushState",
    "RemoveFrame",
    "Request",
    "Script",
    "ScriptError",
    "Served",
    "Step",
    "Wait",
    "Worker",
    "checked_script",
    "checked_steps",
    "labels_made",
    "labels_used",
]

T = TypeVar("T")
MAIN: Final = "main"
WORKERS: Final = ("dedicated", "shared", "service")
DIALOGS: Final = ("alert", "confirm", "prompt", "beforeunload")
UNLOAD_EVENTS: Final = ("", "beforeunload", "pagehide", "visibilitychange", "unload")
"""When a script acts: now (""), or at this event while its document is left."""
CONSOLE: Final = ("log", "debug", "info", "warning", "error")


@attrs.frozen(repr=False)
class Navigate(LiteralValue):
    """A page navigates itself to another document."""

    url: str = attrs.field(validator=a_text)
    page: str = attrs.field(default=MAIN, validator=a_name)


@attrs.frozen(repr=False)
class AddFrame(LiteralValue):
    """A script adds an iframe; it is out of process if its site differs from its parent's."""

    label: str = attrs.field(validator=a_name)
    url: str = attrs.field(default="about:blank", validator=a_text)
    parent: str = attrs.field(default=MAIN, validator=a_name)


@attrs.frozen(repr=False)
class NavigateFrame(LiteralValue):
    """An iframe navigates to another document; if the site differs, it changes its process."""

    label: str = attrs.field(validator=a_name)
    url: str = attrs.field(validator=a_text)


@attrs.frozen(repr=False)
class PushState(LiteralValue):
    """A script changes the URL of its document with `history.pushState`; nothing is loaded."""

    url: str = attrs.field(validator=a_text)
    frame: str = attrs.field(default=MAIN, validator=a_name)


@attrs.frozen(repr=False)
class Go(LiteralValue):
    """A script moves back or forward in the history of its page with `history.go`."""

    delta: int = attrs.field(default=-1, validator=a_number(-50))
    page: str = attrs.field(default=MAIN, validator=a_name)


@attrs.frozen(repr=False)
class RemoveFrame(LiteralValue):
    """A script removes an iframe."""

    label: str = attrs.field(validator=a_name)


@attrs.frozen(repr=False)
class MoveFrame(LiteralValue):
    """A script moves an iframe's element: the iframe loads again, as a new frame (fact 44)."""

    label: str = attrs.field(validator=a_name)


@attrs.frozen(repr=False)
class Dialog(LiteralValue):
    """A script calls alert, confirm or prompt; the steps after it run once the dialog is closed.

    With the type `beforeunload` the document asks before it is left, if by then a user, or a command with a user gesture,
    has interacted with it. `at` names an event of leaving the document; the dialog then opens at that event.
    """

    type: str = attrs.field(default="alert", validator=one_of(DIALOGS))
    message: str = attrs.field(default="", validator=a_text)
    default_prompt: str = attrs.field(default="", validator=a_text)
    frame: str = attrs.field(default=MAIN, validator=a_name)
    at: str = attrs.field(default="", validator=one_of(UNLOAD_EVENTS))


@attrs.frozen(repr=False)
class Console(LiteralValue):
    """A script writes to the console."""

    text: str = attrs.field(validator=a_text)
    type: str = attrs.field(default="log", validator=a_text)
    frame: str = attrs.field(default=MAIN, validator=a_name)
    times: int = attrs.field(default=1, validator=a_number(1))
    """How often the text is repeated in the one message: a short way to write large messages."""
    at: str = attrs.field(default="", validator=one_of(UNLOAD_EVENTS))
    """The event of leaving the document at which the script writes; "" is now."""


@attrs.frozen(repr=False)
class ScriptError(LiteralValue):
    """A script throws an exception that nothing catches."""

    message: str = attrs.field(validator=a_text)
    frame: str = attrs.field(default=MAIN, validator=a_name)


@attrs.frozen(repr=False)
class Request(LiteralValue):
    """A script sends an XMLHttpRequest and writes the result to the console: status and body, or `failed`.

    The request is sent when the script is over; with `sync` it is sent at once, and the whole process waits for the
    response. With `quiet` nothing is written.
    """

    url: str = attrs.field(validator=a_text)
    frame: str = attrs.field(default=MAIN, validator=a_name)
    sync: bool = attrs.field(default=False, validator=a_flag)
    quiet: bool = attrs.field(default=False, validator=a_flag)


@attrs.frozen(repr=False)
class Popup(LiteralValue):
    """A script opens a window; with `noopener` it has a process of its own."""

    label: str = attrs.field(validator=a_name)
    url: str = attrs.field(default="about:blank", validator=a_text)
    opener: str = attrs.field(default=MAIN, validator=a_name)
    noopener: bool = attrs.field(default=False, validator=a_flag)


@attrs.frozen(repr=False)
class Worker(LiteralValue):
    """A script starts a worker: dedicated, shared, or a service worker. The last two may exist already.

    The steps of the worker's own script are those that `pages` has under its URL; a worker performs Console, ScriptError
    and Wait only. A later Console or ScriptError may name the worker's label as its frame.
    """

    label: str = attrs.field(validator=a_name)
    url: str = attrs.field(default="worker.js", validator=a_text)
    frame: str = attrs.field(default=MAIN, validator=a_name)
    kind: str = attrs.field(default="dedicated", validator=one_of(WORKERS))


@attrs.frozen(repr=False)
class EndWorker(LiteralValue):
    """A worker ends: a dedicated one is terminated by its document, another one closes itself."""

    label: str = attrs.field(validator=a_name)


@attrs.frozen(repr=False)
class Prerender(LiteralValue):
    """A document prerenders another document of its origin, as speculation rules do (fact 45).

    Only clients that attached to pages through their tabs see it. When a step navigates the page to that URL, the
    prerendered document becomes the page's document.
    """

    label: str = attrs.field(validator=a_name)
    url: str = attrs.field(validator=a_text)
    page: str = attrs.field(default=MAIN, validator=a_name)


@attrs.frozen(repr=False)
class Discard(LiteralValue):
    """The browser discards a tab: its page is then a new target without a process, until it is navigated."""

    page: str = attrs.field(default=MAIN, validator=a_name)


@attrs.frozen(repr=False)
class Crash(LiteralValue):
    """The renderer process of a page crashes."""

    page: str = attrs.field(default=MAIN, validator=a_name)


@attrs.frozen(repr=False)
class Close(LiteralValue):
    """A page closes."""

    page: str = attrs.field(default=MAIN, validator=a_name)


@attrs.frozen(repr=False)
class Cut(LiteralValue):
    """Every connection breaks, without a close frame."""


@attrs.frozen(repr=False)
class Wait(LiteralValue):
    """The script pauses for `seconds` of virtual time."""

    seconds: float = attrs.field(validator=a_duration)


Step = (
    AddFrame
    | Close
    | Console
    | Crash
    | Cut
    | Dialog
    | Discard
    | EndWorker
    | Go
    | MoveFrame
    | Navigate
    | NavigateFrame
    | Popup
    | Prerender
    | PushState
    | RemoveFrame
    | Request
    | ScriptError
    | Wait
    | Worker
)
KINDS: Final[Mapping[str, type[Step]]] = {kind.__name__: kind for kind in get_args(Step)}


def _labels(steps: Iterable[Step]) -> list[str]:
    return [step.label for step in steps if isinstance(step, (AddFrame, Popup, Prerender, Worker))]


def labels_made(steps: Iterable[Step]) -> set[str]:
    """Return the labels of the things that these steps make."""
    return set(_labels(steps))


def labels_used(steps: Iterable[Step]) -> set[str]:
    """Return the labels of the things that these steps use."""
    used: set[str] = set()
    for step in steps:
        if isinstance(step, (NavigateFrame, RemoveFrame, MoveFrame, EndWorker)):
            used.add(step.label)
        used.update(getattr(step, field) for field in ("page", "frame", "parent", "opener") if hasattr(step, field))
    return used


def checked_steps(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the steps as a tuple. Raises InvalidArgument if one of the values is not a step."""
    given: Any = steps
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        raise InvalidArgument(f"The steps must be a list of steps, not {steps!r}.")
    made = tuple(steps)
    for each in made:
        if type(each) not in KINDS.values():
            raise InvalidArgument(f"{each!r} is not a step; the steps are {', '.join(KINDS)}.")
    return made


@attrs.frozen(repr=False)
class Answer(LiteralValue):
    """The steps that `Runtime.evaluate` of a known expression performs, and the value it then returns."""

    value: Any = attrs.field(default=None, hash=False)
    steps: tuple[Step, ...] = attrs.field(default=(), converter=checked_steps)


@attrs.frozen(repr=False)
class Served(LiteralValue):
    """The headers that a server sends with a document, and how long it takes.

    `content` is the Content-Security-Policy, `permissions` the Permissions-Policy; the fake browser heeds the parts of both
    that concern requests of scripts (fact 27).
    """

    content: str = attrs.field(default="", validator=a_text)
    permissions: str = attrs.field(default="", validator=a_text)
    seconds: float = attrs.field(default=0, validator=a_duration)


@attrs.frozen(repr=False)
class Override(LiteralValue):
    """What a client's init script puts in place of alert, confirm and prompt.

    Each call sends a request to `url`, in which `{type}`, `{message}` and `{default}` become the arguments of the dialog,
    and waits for the response: JSON whose members named by `accept` and `text` are the answer to the dialog. If no response
    comes, the call throws what XMLHttpRequest throws.
    """

    url: str = attrs.field(validator=a_text)
    accept: str = attrs.field(default="accept", validator=a_text)
    text: str = attrs.field(default="text", validator=a_text)


def _to_answers(given: Mapping[str, Answer]) -> Mapping[str, Answer]:
    return _members_of(given, "answers", Answer)


def _to_served(given: Mapping[str, Served]) -> Mapping[str, Served]:
    return _members_of(given, "served", Served)


def _to_overrides(given: Mapping[str, Override]) -> Mapping[str, Override]:
    return _members_of(given, "overrides", Override)


def _members_of(given: Mapping[str, T], part: str, kind: type[T]) -> FrozenMapping[T]:
    for known, each in _a_mapping(given, part).items():
        if not isinstance(each, kind):
            raise InvalidArgument(f"{part}[{known!r}] must be a {kind.__name__}, not {each!r}.")
    return FrozenMapping(given)


def _a_mapping(given: object, part: str) -> Mapping[Any, Any]:
    mapping = cast("Mapping[Any, Any]", given)
    if not isinstance(given, Mapping) or not all(isinstance(known, str) for known in mapping):
        raise InvalidArgument(f"{part} of a script must be a mapping with text keys, not {given!r}.")
    return mapping


def _to_pages(pages: Mapping[str, Iterable[Step]]) -> Mapping[str, tuple[Step, ...]]:
    made: dict[str, tuple[Step, ...]] = {}
    for url, steps in _a_mapping(pages, "pages").items():
        try:
            made[url] = checked_steps(steps)
        except InvalidArgument as error:
            raise InvalidArgument(f"pages[{url!r}]: {error}") from None
    return FrozenMapping(made)


@attrs.frozen(kw_only=True, repr=False)
class Script(LiteralValue):
    """What the pages of a fake browser do.

    `pages` has the steps of a document's own script by its URL, `timeline` the steps from the start of the browser on,
    `answers` the effects of evaluated expressions, `served` the headers of documents by URL, and `overrides` the effects of
    init scripts by a text that their source contains. A step that uses a thing which is gone by then does nothing; a step
    that uses a label which no step makes is an error here. Pages that clients open get the labels `page 2`, `page 3` …, by
    the number of labels so far.
    """

    pages: Mapping[str, tuple[Step, ...]] = attrs.field(default=FrozenMapping(), converter=_to_pages)
    timeline: tuple[Step, ...] = attrs.field(default=(), converter=checked_steps)
    answers: Mapping[str, Answer] = attrs.field(default=FrozenMapping(), converter=_to_answers)
    served: Mapping[str, Served] = attrs.field(default=FrozenMapping(), converter=_to_served)
    overrides: Mapping[str, Override] = attrs.field(default=FrozenMapping(), converter=_to_overrides)

    def __attrs_post_init__(self) -> None:
        for where, steps in self._step_lists().items():
            twice = [label for label, times in Counter(_labels(steps)).items() if times > 1]
            if twice:
                raise InvalidArgument(f"{where} makes {twice[0]!r} twice; give each thing a label of its own.")
        steps = self.steps()
        made = {MAIN, *labels_made(steps)}
        odd = sorted(label for label in labels_used(steps) - made if not label.startswith(("page ", "popup ")))
        if odd:
            raise InvalidArgument(
                f"No step of the script makes {odd[0]!r}; use one of these labels: {', '.join(sorted(made))}."
            )

    def steps(self) -> tuple[Step, ...]:
        """Return all steps of the timeline, the pages and the answers."""
        return tuple(step for steps in self._step_lists().values() for step in steps)

    def _step_lists(self) -> dict[str, tuple[Step, ...]]:
        """Return each list of steps by its path in the script."""
        pages = {f"pages[{url!r}]": steps for url, steps in self.pages.items()}
        answers = {f"answers[{known!r}]": answer.steps for known, answer in self.answers.items()}
        return {**pages, "The timeline": self.timeline, **answers}

    def merged(self, other: Script) -> Script:
        """Return this script with the parts of another one added; for equal keys the other one wins.

        Of the other timeline only the steps that make new labels are added, so that other steps can use those labels.
        """
        given = labels_made(self.timeline)
        parts = ("pages", "answers", "served", "overrides")
        known: dict[str, Any] = {part: {**getattr(self, part), **getattr(other, part)} for part in parts}
        further = (step for step in other.timeline if not labels_made((step,)) <= given)
        return attrs.evolve(self, timeline=(*self.timeline, *further), **known)

    def to_json(self) -> Json:
        """Return the script as JSON."""
        return {
            "pages": {url: _steps_to_json(steps) for url, steps in self.pages.items()},
            "timeline": _steps_to_json(self.timeline),
            "answers": {
                expression: {"value": answer.value, "steps": _steps_to_json(answer.steps)}
                for expression, answer in self.answers.items()
            },
            **{part: _members_to_json(values) for part in ("served", "overrides") if (values := getattr(self, part))},
        }

    @classmethod
    def from_json(cls, content: str | bytes | Json) -> Script:
        """Read a script from JSON. Raises InvalidArgument with the path of the wrong part."""
        script = parse_object(content, "script", ("pages", "timeline", "answers", "served", "overrides"))
        pages, answers, served, overrides = (
            _member(script, part) for part in ("pages", "answers", "served", "overrides")
        )
        return cls(
            pages={url: _steps_from_json(steps, f"pages[{url!r}]") for url, steps in pages.items()},
            timeline=_steps_from_json(script.get("timeline", []), "timeline"),
            answers={known: _answer_from_json(answer, f"answers[{known!r}]") for known, answer in answers.items()},
            served={url: member_from_json(Served, each, f"served[{url!r}]") for url, each in served.items()},
            overrides={
                text: member_from_json(Override, each, f"overrides[{text!r}]") for text, each in overrides.items()
            },
        )


def checked_script(given: Script) -> Script:
    """Return the value if it is a script. Raises InvalidArgument."""
    if not isinstance(given, Script):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be unchecked
        raise InvalidArgument(f"{given!r} is not a script; make one from JSON with Script.from_json.")
    return given


def _steps_to_json(steps: Iterable[Step]) -> list[Json]:
    return [to_json(step, "step") for step in steps]


def _steps_from_json(steps: object, where: str) -> tuple[Step, ...]:
    if not isinstance(steps, (list, tuple)):
        raise InvalidArgument(f"{where} must be a list of steps.")
    found: list[object] = list(steps)  # pyright: ignore[reportUnknownArgumentType]
    return tuple(from_json(step, "step", KINDS, f"{where}[{number}]") for number, step in enumerate(found))


def _members_to_json(values: Mapping[str, Served] | Mapping[str, Override]) -> Json:
    return {known: attrs.asdict(each) for known, each in values.items()}


def _answer_from_json(content: object, where: str) -> Answer:
    if not is_object(content) or content.keys() - {"value", "steps"}:
        raise InvalidArgument(f"{where} must be an object with value and steps.")
    return Answer(content.get("value"), _steps_from_json(content.get("steps", []), f"{where}.steps"))


def _member(script: Json, part: str) -> Json:
    found: object = script.get(part, {})
    if not is_object(found):
        raise InvalidArgument(f"{part} of a script must be an object.")
    return found
