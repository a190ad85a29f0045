"""What a page does, as values: the steps of a script.

A step names the things it makes and uses by labels of the script's own: `AddFrame("ad", url=…)` makes a frame called `ad`,
`Dialog("confirm", "sure?", frame="ad")` is raised in it. A page is called by the label it was opened under; the first one
is `main`. A frame that is not named is the page's own.

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
"""When a script does something: now, or when its document is left."""
CONSOLE: Final = ("log", "debug", "info", "warning", "error")


@attrs.frozen(repr=False)
class Navigate(LiteralValue):
    """The page goes to another document by itself."""

    url: str = attrs.field(validator=a_text)
    page: str = attrs.field(default=MAIN, validator=a_name)


@attrs.frozen(repr=False)
class AddFrame(LiteralValue):
    """A script adds an iframe; it is out of process where its site is another one."""

    label: str = attrs.field(validator=a_name)
    url: str = attrs.field(default="about:blank", validator=a_text)
    parent: str = attrs.field(default=MAIN, validator=a_name)


@attrs.frozen(repr=False)
class NavigateFrame(LiteralValue):
    """An iframe goes to another document; to another site, it changes its process."""

    label: str = attrs.field(validator=a_name)
    url: str = attrs.field(validator=a_text)


@attrs.frozen(repr=False)
class PushState(LiteralValue):
    """A script gives its document another address, as `history.pushState` does: nothing is loaded."""

    url: str = attrs.field(validator=a_text)
    frame: str = attrs.field(default=MAIN, validator=a_name)


@attrs.frozen(repr=False)
class Go(LiteralValue):
    """A script goes back in the history of its page, or forward, as `history.go` does."""

    delta: int = attrs.field(default=-1, validator=a_number(-50))
    page: str = attrs.field(default=MAIN, validator=a_name)


@attrs.frozen(repr=False)
class RemoveFrame(LiteralValue):
    """A script removes an iframe."""

    label: str = attrs.field(validator=a_name)


@attrs.frozen(repr=False)
class MoveFrame(LiteralValue):
    """A script moves an iframe's element: it loads anew, as another frame (fact 44)."""

    label: str = attrs.field(validator=a_name)


@attrs.frozen(repr=False)
class Dialog(LiteralValue):
    """A script calls alert, confirm or prompt; the steps after it come when it was answered.

    With the type `beforeunload` the document will ask before it is left, if a user, or a command in the name of one, has
    done something in it by then. `at` is a moment of its leaving at which the dialog is opened, in place of now.
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
    """How often the text stands there: how large messages are told in few words."""
    at: str = attrs.field(default="", validator=one_of(UNLOAD_EVENTS))
    """A moment of the document's leaving, in place of now."""


@attrs.frozen(repr=False)
class ScriptError(LiteralValue):
    """A script throws, and nobody catches it."""

    message: str = attrs.field(validator=a_text)
    frame: str = attrs.field(default=MAIN, validator=a_name)


@attrs.frozen(repr=False)
class Request(LiteralValue):
    """A script asks for something, by XMLHttpRequest, and writes to the console what came: status and body, or `failed`.

    It asks when it is over; with `sync` it asks at once and waits for it, and so does its whole process. Where it is
    `quiet`, nothing is written.
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
    """A script starts a worker: a dedicated one, or one that is shared, or a service worker, which there may be already.

    What its own script does are the steps that `pages` has by its address: of these it writes to the console, throws, and
    waits. So it does where a later step names its label as the frame.
    """

    label: str = attrs.field(validator=a_name)
    url: str = attrs.field(default="worker.js", validator=a_text)
    frame: str = attrs.field(default=MAIN, validator=a_name)
    kind: str = attrs.field(default="dedicated", validator=one_of(WORKERS))


@attrs.frozen(repr=False)
class EndWorker(LiteralValue):
    """A worker ends: a dedicated one is terminated by who made it, another one closes itself."""

    label: str = attrs.field(validator=a_name)


@attrs.frozen(repr=False)
class Prerender(LiteralValue):
    """A document has another one of its origin rendered in advance, as speculation rules do (fact 45).

    It is there for clients that are attached to pages through their tabs. The page is that one when it goes there, by a
    step of it.
    """

    label: str = attrs.field(validator=a_name)
    url: str = attrs.field(validator=a_text)
    page: str = attrs.field(default=MAIN, validator=a_name)


@attrs.frozen(repr=False)
class Discard(LiteralValue):
    """The browser discards a tab: its page is there as another target, without a process, until somebody goes there."""

    page: str = attrs.field(default=MAIN, validator=a_name)


@attrs.frozen(repr=False)
class Crash(LiteralValue):
    """The renderer of a page dies."""

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
    """Nothing happens for so long, in virtual time."""

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
    """The labels of what these steps make."""
    return set(_labels(steps))


def labels_used(steps: Iterable[Step]) -> set[str]:
    """The labels of what must be there for these steps to do anything."""
    used: set[str] = set()
    for step in steps:
        if isinstance(step, (NavigateFrame, RemoveFrame, MoveFrame, EndWorker)):
            used.add(step.label)
        used.update(getattr(step, field) for field in ("page", "frame", "parent", "opener") if hasattr(step, field))
    return used


def checked_steps(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Steps, and nothing else. Raises InvalidArgument."""
    given: Any = steps
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        raise InvalidArgument(f"Steps are given as a list of them, not as {steps!r}.")
    made = tuple(steps)
    for each in made:
        if type(each) not in KINDS.values():
            raise InvalidArgument(f"{each!r} is no step; there are {', '.join(KINDS)}.")
    return made


@attrs.frozen(repr=False)
class Answer(LiteralValue):
    """What `Runtime.evaluate` of a known expression does, and then brings."""

    value: Any = attrs.field(default=None, hash=False)
    steps: tuple[Step, ...] = attrs.field(default=(), converter=checked_steps)


@attrs.frozen(repr=False)
class Served(LiteralValue):
    """What the server says of a document, and how long it takes for it.

    `content` is its Content-Security-Policy, `permissions` its Permissions-Policy; of both, what is about requests of
    scripts is heeded (fact 27).
    """

    content: str = attrs.field(default="", validator=a_text)
    permissions: str = attrs.field(default="", validator=a_text)
    seconds: float = attrs.field(default=0, validator=a_duration)


@attrs.frozen(repr=False)
class Override(LiteralValue):
    """What a client's script for new documents puts in the place of alert, confirm and prompt.

    Each asks an address, and waits for the answer: JSON whose members `accept` and `text` are what the dialog brings. In
    `url` stand `{type}`, `{message}` and `{default}` for what it is asked with. Where no answer comes, the call throws
    what XMLHttpRequest throws.
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
        raise InvalidArgument(f"{part} of a script is a mapping by texts, not {given!r}.")
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
    """What pages do: when they load, by themselves, and when an expression is evaluated in them.

    `pages` has the steps of a document's own script by its URL, `timeline` what happens from the start on, `answers` what
    expressions do, `served` what servers say of documents, `overrides` what those scripts for new documents do in whose
    source a text stands. A step about something that has gone meanwhile does nothing; one about something that no step makes is
    an error here. Pages that clients open are called `page 2`, `page 3` …, by the number of labels there are.
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
            raise InvalidArgument(f"No step of the script makes {odd[0]!r}; there are {', '.join(sorted(made))}.")

    def steps(self) -> tuple[Step, ...]:
        """All of them, wherever they stand."""
        return tuple(step for steps in self._step_lists().values() for step in steps)

    def _step_lists(self) -> dict[str, tuple[Step, ...]]:
        """Each list of steps, by where it stands."""
        pages = {f"pages[{url!r}]": steps for url, steps in self.pages.items()}
        answers = {f"answers[{known!r}]": answer.steps for known, answer in self.answers.items()}
        return {**pages, "The timeline": self.timeline, **answers}

    def merged(self, other: Script) -> Script:
        """This script and what another one knows besides, which stands in place of what has the same name.

        Of its timeline are there the labels that it gives, for others to use.
        """
        given = labels_made(self.timeline)
        parts = ("pages", "answers", "served", "overrides")
        known: dict[str, Any] = {part: {**getattr(self, part), **getattr(other, part)} for part in parts}
        further = (step for step in other.timeline if not labels_made((step,)) <= given)
        return attrs.evolve(self, timeline=(*self.timeline, *further), **known)

    def to_json(self) -> Json:
        """The script as JSON."""
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
        """Read a script. Raises InvalidArgument that names the place."""
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
    """A script, and nothing else. Raises InvalidArgument."""
    if not isinstance(given, Script):  # pyright: ignore[reportUnnecessaryIsInstance] - of those who are not checked
        raise InvalidArgument(f"{given!r} is no script; JSON becomes one by Script.from_json.")
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
