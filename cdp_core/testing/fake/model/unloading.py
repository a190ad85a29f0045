"""How a document is left: it may ask whether it may be left at all, and act once more (facts 21, 22).

    a navigation or a close begins ──▶ the listeners to `beforeunload` run, in every frame
        ├─ none asks, or only documents without user activation ──▶ it is left
        └─ one asks ──▶ a dialog; a navigation or a close that begins meanwhile replaces the one that waits
             ├─ accepted  ──▶ it is left
             └─ dismissed ──▶ it stays; for the page's own document this is reported before the dialog's closed event
    it is left ──▶ for another one of its site: a dialog that it opens now is announced, and no session can answer it
               └─▶ for good: its unload listeners run, and its process exits on its own

A click, a key or a command with `userGesture` activates a document, the documents above it, and those below it that
are of its origin. In a listener to `beforeunload` or `unload` only the beforeunload dialog itself can open.
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
"""The events at which a document may act while it is left, in order."""

Act = Callable[[], None]


def activate_user(frame: Frame) -> None:
    """Record that a user did something in a frame, or that a command claims so."""
    above: Frame | None = frame
    while above is not None:
        above.unload_behaviour.user_activated = True
        above = above.parent
    for below in frame.subtree():
        if below.origin == frame.origin:
            below.unload_behaviour.user_activated = True


def listen(frame: Frame, event: str, act: Act) -> None:
    frame.unload_behaviour.listeners.append((event, act))


def listen_with_dialog(frame: Frame, event: str, kind: str, message: str, default: str) -> None:
    """Add a script's question before its document is left, or a dialog that it opens then."""
    if kind == BEFORE_UNLOAD:
        frame.unload_behaviour.asks_before_unload = True
    elif event in HIDE_EVENTS:
        frame.unload_behaviour.hide_dialog = (kind, message, default)
    else:
        listen(frame, event, _nothing)


def _nothing() -> None:
    """Open no dialog: at this event a dialog is suppressed."""


def has_listeners(target: Target) -> bool:
    """Return whether a document of this page or frame listens to any of these events.

    If one does, its process is not ended at once.
    """
    return target.frame is not None and any(
        each.unload_behaviour.asks_before_unload or each.unload_behaviour.listeners or each.unload_behaviour.hide_dialog
        for each in _own_documents(target.frame)
    )


def _own_documents(frame: Frame) -> Iterator[Frame]:
    return (each for each in frame.subtree() if each.target is frame.target)


# ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def before_unload_frame(frame: Frame) -> Frame | None:
    """Return the frame whose document asks before this one's is left.

    Of several, one in another process comes first.
    """
    asking = [
        each
        for each in frame.subtree()
        if each.unload_behaviour.asks_before_unload and each.unload_behaviour.user_activated
    ]
    return next((each for each in asking if each.renderer is not frame.renderer), asking[0] if asking else None)


def before_unload_dialog(page: Target) -> Dialog | None:
    return next((each for each in page.dialogs if each.type == BEFORE_UNLOAD), None)


def ask(world: World, frame: Frame, go_on: Act, stay: Act, *, at_once: bool = False) -> None:
    """Ask whether a frame's document may be left: `go_on` if it may, at last, and `stay` if it may not.

    A script that leaves its document waits for the answer (`at_once`); for others the dialog opens after their reply.
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
    """Open the dialog of a document that gives way to another one of its site; it delays that one."""
    hide_dialog = frame.unload_behaviour.hide_dialog
    if hide_dialog is None:
        go_on()
        return
    frame.unload_behaviour.hide_dialog = None
    kind, message, default = hide_dialog
    dialog = dialogs.raise_dialog(world, frame, kind, message, default, lambda _accepted, _text: go_on())
    dialog.unreachable = True


def run_unload_listeners(target: Target) -> None:
    for frame in () if target.frame is None else _own_documents(target.frame):
        for event in UNLOAD_EVENTS[1:]:
            _run_listeners(frame, event)


def _run_listeners(frame: Frame, event: str) -> None:
    for wanted, act in frame.unload_behaviour.listeners:
        if wanted == event:
            act()
