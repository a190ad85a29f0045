"""How a document takes its leave: it may ask whether it is to be left at all, and do one thing more (facts 21, 22).

    somebody wants to leave ──▶ the listeners to `beforeunload` run, in every frame
        ├─ none asks, or only such as nobody has touched ──▶ it is left
        └─ one asks ──▶ a dialog; what else is wanted meanwhile takes the place of the wish before
             ├─ accepted  ──▶ it is left
             └─ dismissed ──▶ it stays; of the page's own document that is told before the end of the dialog
    it is left ──▶ for another one of its site: a dialog that it opens now is announced, and can be answered by nobody
               └─▶ for good: its last words are heard, and its process ends by itself

A document is touched by a click, a key or a command with `userGesture`; so are then those above it, and those below that are of
its origin. A dialog of another type than its own opens in no listener to `beforeunload` or `unload`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from cdp_core.testing.fake.model import dialogs
from cdp_core.testing.fake.model.parts import Dialog, Frame, Target
from cdp_core.testing.fake.world import World

ASKS: Final = "beforeunload"
HIDING: Final = ("pagehide", "visibilitychange")
MOMENTS: Final = (ASKS, *HIDING, "unload")
"""When a document may do something on leaving, in order."""

Act = Callable[[], None]


def touch(frame: Frame) -> None:
    """A user did something in it, or a command says so."""
    above: Frame | None = frame
    while above is not None:
        above.manners.touched = True
        above = above.parent
    for below in frame.subtree():
        if below.origin == frame.origin:
            below.manners.touched = True


def listen(frame: Frame, moment: str, act: Act) -> None:
    """A script wants something done at that moment."""
    frame.manners.acts.append((moment, act))


def listen_with(frame: Frame, moment: str, kind: str, message: str, default: str) -> None:
    """A script wants to ask before it is left, or a dialog opened then."""
    if kind == ASKS:
        frame.manners.asks = True
    elif moment in HIDING:
        frame.manners.parting = (kind, message, default)
    else:
        listen(frame, moment, _nothing)


def _nothing() -> None:
    """A dialog that is not opened."""


def is_heard(target: Target) -> bool:
    """Whether a document of this page or frame listens to any of these: then its process is not just ended."""
    return target.frame is not None and any(
        each.manners.asks or each.manners.acts or each.manners.parting for each in _own_documents(target.frame)
    )


def _own_documents(frame: Frame) -> Iterator[Frame]:
    return (each for each in frame.subtree() if each.target is frame.target)


# ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def wants_to_ask(frame: Frame) -> Frame | None:
    """Whose document would ask before this one is left; of several, one in a process of its own."""
    asking = [each for each in frame.subtree() if each.manners.asks and each.manners.touched]
    return next((each for each in asking if each.renderer is not frame.renderer), asking[0] if asking else None)


def open_question(page: Target) -> Dialog | None:
    """The dialog that asks, while it is open."""
    return next((each for each in page.dialogs if each.type == ASKS), None)


def ask(world: World, frame: Frame, go_on: Act, stay: Act, *, at_once: bool = False) -> None:
    """Somebody wants to leave the document of a frame: `go_on` where that may be, at last, and `stay` where it may not.

    A script that wants it waits for the answer (`at_once`); to others the document comes when they were answered.
    """

    def answered(accepted: bool, _text: str) -> None:
        (go_on if accepted else stay)()

    shown = open_question(frame.target.page)
    if shown is not None:
        shown.finish = answered
        return
    for each in frame.subtree():
        _do(each, ASKS)
    asking = wants_to_ask(frame)
    if asking is None:
        go_on()
        return
    raising = partial(_raise, world, asking, answered, stays_first=not at_once and asking.parent is None)
    if at_once:
        raising()
    else:
        world.soon(raising)


def _raise(world: World, asking: Frame, answered: Callable[[bool, str], None], *, stays_first: bool) -> None:
    def show() -> None:
        if not asking.target.closed:
            dialog = dialogs.raise_dialog(world, asking, ASKS, "", "", answered)
            dialog.stays_first = stays_first

    dialogs.when_free(asking, show)


# ── leaving ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def part(world: World, frame: Frame, go_on: Act) -> None:
    """The document gives way to one of its own site; a dialog that it opens now holds that up."""
    parting = frame.manners.parting
    if parting is None:
        go_on()
        return
    frame.manners.parting = None
    kind, message, default = parting
    dialog = dialogs.raise_dialog(world, frame, kind, message, default, lambda _accepted, _text: go_on())
    dialog.unreachable = True


def say_goodbye(target: Target) -> None:
    """The page is closed, and its documents are heard once more."""
    for frame in () if target.frame is None else _own_documents(target.frame):
        for moment in MOMENTS[1:]:
            _do(frame, moment)


def _do(frame: Frame, moment: str) -> None:
    for wanted, act in frame.manners.acts:
        if wanted == moment:
            act()
