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

BEFORE_UNLOAD: Final = "beforeunload"
HIDE_EVENTS: Final = ("pagehide", "visibilitychange")
UNLOAD_EVENTS: Final = (BEFORE_UNLOAD, *HIDE_EVENTS, "unload")
"""When a document may do something on leaving, in order."""

Act = Callable[[], None]


def activate_user(frame: Frame) -> None:
    """A user did something in it, or a command says so."""
    above: Frame | None = frame
    while above is not None:
        above.unload_behaviour.user_activated = True
        above = above.parent
    for below in frame.subtree():
        if below.origin == frame.origin:
            below.unload_behaviour.user_activated = True


def listen(frame: Frame, event: str, act: Act) -> None:
    """A script wants something done at that moment."""
    frame.unload_behaviour.listeners.append((event, act))


def listen_with_dialog(frame: Frame, event: str, kind: str, message: str, default: str) -> None:
    """A script wants to ask before it is left, or a dialog opened then."""
    if kind == BEFORE_UNLOAD:
        frame.unload_behaviour.asks_before_unload = True
    elif event in HIDE_EVENTS:
        frame.unload_behaviour.hide_dialog = (kind, message, default)
    else:
        listen(frame, event, _nothing)


def _nothing() -> None:
    """A dialog that is not opened."""


def has_listeners(target: Target) -> bool:
    """Whether a document of this page or frame listens to any of these: then its process is not just ended."""
    return target.frame is not None and any(
        each.unload_behaviour.asks_before_unload or each.unload_behaviour.listeners or each.unload_behaviour.hide_dialog
        for each in _own_documents(target.frame)
    )


def _own_documents(frame: Frame) -> Iterator[Frame]:
    return (each for each in frame.subtree() if each.target is frame.target)


# ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def before_unload_frame(frame: Frame) -> Frame | None:
    """Whose document would ask before this one is left; of several, one in a process of its own."""
    asking = [
        each
        for each in frame.subtree()
        if each.unload_behaviour.asks_before_unload and each.unload_behaviour.user_activated
    ]
    return next((each for each in asking if each.renderer is not frame.renderer), asking[0] if asking else None)


def before_unload_dialog(page: Target) -> Dialog | None:
    """The dialog that asks, while it is open."""
    return next((each for each in page.dialogs if each.type == BEFORE_UNLOAD), None)


def ask(world: World, frame: Frame, go_on: Act, stay: Act, *, at_once: bool = False) -> None:
    """Somebody wants to leave the document of a frame: `resume` where that may be, at last, and `stay` where it may not.

    A script that wants it waits for the answer (`at_once`); to others the document comes when they were answered.
    """

    def answered(accepted: bool, _text: str) -> None:
        (go_on if accepted else stay)()

    shown = before_unload_dialog(frame.target.page)
    if shown is not None:
        shown.finish = answered
        return
    for each in frame.subtree():
        _run_listeners(each, BEFORE_UNLOAD)
    asking = before_unload_frame(frame)
    if asking is None:
        go_on()
        return
    raising = partial(_raise, world, asking, answered, finishes_before_closed=not at_once and asking.parent is None)
    if at_once:
        raising()
    else:
        world.soon(raising)


def _raise(world: World, asking: Frame, answered: Callable[[bool, str], None], *, finishes_before_closed: bool) -> None:
    def show() -> None:
        if not asking.target.closed:
            dialog = dialogs.raise_dialog(world, asking, BEFORE_UNLOAD, "", "", answered)
            dialog.finishes_before_closed = finishes_before_closed

    dialogs.when_unblocked(asking, show)


# ── leaving ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def open_hide_dialog(world: World, frame: Frame, go_on: Act) -> None:
    """The document gives way to one of its own site; a dialog that it opens now holds that up."""
    hide_dialog = frame.unload_behaviour.hide_dialog
    if hide_dialog is None:
        go_on()
        return
    frame.unload_behaviour.hide_dialog = None
    kind, message, default = hide_dialog
    dialog = dialogs.raise_dialog(world, frame, kind, message, default, lambda _accepted, _text: go_on())
    dialog.unreachable = True


def run_unload_listeners(target: Target) -> None:
    """The page is closed, and its documents are heard once more."""
    for frame in () if target.frame is None else _own_documents(target.frame):
        for event in UNLOAD_EVENTS[1:]:
            _run_listeners(frame, event)


def _run_listeners(frame: Frame, event: str) -> None:
    for wanted, act in frame.unload_behaviour.listeners:
        if wanted == event:
            act()
