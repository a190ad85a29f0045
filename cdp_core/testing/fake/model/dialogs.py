"""Native dialogs as Chromium has them: one manager per page, which easily disagrees with its events.

    raised ──▶ announced on every session of the page that has Page enabled (fact 14)
                 ├─ handleJavaScriptDialog on one of these ──▶ closed, then the reply, then the script goes on (1, 12)
                 ├─ another one raised on the page ──▶ closed(false) of this one; the new one cannot be answered (3)
                 ├─ navigation, close, crash ──▶ closed(false) (23)
                 ├─ its frame, out of process, is removed ──▶ no event
                 └─ the last session that saw it leaves ──▶ no session can answer it any more (4)
    raised while no session has Page enabled ──▶ open for ever, unanswerable (4); headless-shell dismisses it at once (26)

On headless-shell navigation, close and crash send no event about a dialog, and navigation and crash leave it open. It
can be answered while its document is still shown. If its process is gone, an answer has no effect. If a document of
the same site waits for its process, the dialog belongs to a document that is being left, and no session can answer
it.

While a dialog is open its renderer process runs no script, and the commands to that renderer wait (15).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from cdp_core.testing.fake.model.dispatch_errors import Refused
from cdp_core.testing.fake.model.parts import Client, Dialog, Frame, PausedSteps, Renderer, Session, Target
from cdp_core.testing.fake.world import World

MAX_MESSAGE_UNITS: Final = 10_240
"""The length at which Chromium cuts a message, in UTF-16 units (fact 19)."""


def raise_dialog(
    world: World, frame: Frame, kind: str, message: str, default_prompt: str, finish: Callable[[bool, str], None]
) -> Dialog:
    """Open a dialog for a script, and announce it."""
    page = frame.target.page
    dialog = Dialog(
        page,
        frame,
        kind,
        cut(message),
        whole(default_prompt) if kind == "prompt" else "",
        finish,
        len(world.dialogs) + 1,
        document=frame.document,
    )
    world.dialogs.append(dialog)
    older = (
        [*page.dialogs] if world.profile == "headless-new" else [each for each in page.dialogs if not each.superseded]
    )
    page.dialogs.append(dialog)
    frame.renderer.dialog = dialog
    dialog.seen_by = {session for session in page.sessions if "Page" in session.domains}
    dialog.missed_by = tuple(each for each in page.sessions if each.held and each not in dialog.seen_by)
    if not dialog.seen_by:
        if world.profile == "headless-shell":
            _close(world, dialog, accepted=False, text="", by=None, emit_closed=False)
        return dialog
    opening = {
        "url": frame.unreachable or frame.url,
        "frameId": frame.id,
        "message": dialog.message,
        "type": kind,
        "hasBrowserHandler": world.profile == "headless-new",
        "defaultPrompt": dialog.default_prompt,
    }
    world.emit_to(page, "Page", "Page.javascriptDialogOpening", opening, page)
    for other in older:
        _supersede(world, other, dialog)
    return dialog


def _supersede(world: World, older: Dialog, newer: Dialog) -> None:
    if world.profile == "headless-shell":
        older.superseded = True  # no event; the older one becomes unanswerable (fact 26)
        return
    newer.superseded = True
    _close(world, older, accepted=False, text="", by=None)


def answer(world: World, session: Session, *, accept: bool, text: str, answered: Callable[[], None]) -> None:
    """Answer a page's dialog, for `Page.handleJavaScriptDialog`. Raises Refused.

    `answered` sends the reply: after the closed event and before the script goes on.
    """
    target = session.target
    assert target is not None
    if target.type != "page":
        raise Refused(-32000, "Command can only be executed on top-level targets")
    showing = next((each for each in target.dialogs if each.open and not each.superseded), None)
    if showing is not None and showing.unreachable:  # on every session (fact 22)
        raise Refused(-32000, "Not attached to an active page")
    if showing is None or session not in showing.seen_by:
        raise Refused(-32602, "No dialog is showing")
    _close(world, showing, accepted=accept, text=text, by=session.client, on_closed=answered)


def drop_dialogs(target: Target) -> None:
    """Drop the dialogs of an out-of-process frame without an event, since the frame is removed.

    See docs/cdp/removing-a-frame-closes-its-dialog-without-an-event.md.
    """
    for dialog in tuple(target.page.dialogs):
        if dialog.frame.target is target:
            dialog.open = False
            target.page.dialogs.remove(dialog)
            dialog.frame.renderer.dialog = None


def close_all(
    world: World, target: Target, *, on_closed: Callable[[], None] = lambda: None, but: Dialog | None = None
) -> bool:
    """Close the dialogs of a page, or of one frame's process, with false; return whether it had any.

    A navigation, a close or a crash does this. `on_closed` is called after the closed event and before any script
    goes on; in a process that is gone, no script goes on. A navigation closes all dialogs `but` the one that asks
    whether the document may be left.
    """
    page = target.page
    if world.profile == "headless-shell":
        on_closed()
        return False
    every = [each for each in page.dialogs if each is not but]
    ending = [each for each in every if target is page or each.frame.target is target]
    for number, dialog in enumerate(ending):
        if dialog.open:  # a script that was continued may have closed it
            _close(
                world, dialog, accepted=False, text="", by=None, on_closed=on_closed if number == 0 else lambda: None
            )
    if not ending:
        on_closed()
    return bool(ending)


def lose_renderer(target: Target) -> list[Callable[[], None]]:
    """Drop what the scripts of a crashed process still had to do; return the steps of no document.

    These steps go on all the same. The next process of the target answers the commands of its sessions (fact 49).
    """
    renderer = target.renderer
    paused_steps: list[Callable[[], None]] = [each for each in renderer.parked if isinstance(each, PausedSteps)]
    renderer.parked, renderer.dialog, renderer.resource = [], None, None
    return paused_steps


def leave_document(target: Target) -> None:
    """Mark a page's dialogs as unreachable: another document waits for their process (fact 22)."""
    for dialog in target.dialogs:
        dialog.unreachable = True


def leave(world: World, session: Session) -> None:
    """Take an ending session from the dialogs; a dialog that only it saw becomes unanswerable."""
    target = session.target
    if target is None or target.type != "page":
        return
    for dialog in tuple(target.dialogs):
        if session not in dialog.seen_by or not dialog.open:  # a script that was continued may have left
            continue
        dialog.seen_by.discard(session)
        if world.profile == "headless-shell":
            _close(world, dialog, accepted=False, text="", by=None)


def disable(session: Session) -> None:
    """Take a session that disables Page from the dialogs; it can no longer answer those that it saw."""
    for dialog in () if session.target is None else session.target.dialogs:
        dialog.seen_by.discard(session)


def when_unblocked(owner: Target | Frame, act: Callable[[], None]) -> bool:
    """Call `act` now, or when the dialog that stops the process is gone; return whether it was called now.

    For a target, `act` also waits for a document that is on its way.
    """
    if isinstance(owner, Target) and owner.is_navigating:
        owner.deferred.append(act)
        return False
    return _when_unblocked(owner.renderer, act)


def run_deferred(target: Target) -> None:
    """Run what waited for a document, which has arrived or will not come."""
    waiting, target.deferred = target.deferred, []
    for act in waiting:
        when_unblocked(target, act)


def _when_unblocked(renderer: Renderer, act: Callable[[], None]) -> bool:
    if not renderer.stopped:
        act()
        return True
    renderer.parked.append(act)
    return False


def resume(renderer: Renderer) -> None:
    """Run the parked work of a process that nothing stops any more, until something stops it again."""
    if not renderer.stopped:
        parked, renderer.parked = renderer.parked, []
        for act in parked:
            _when_unblocked(renderer, act)


def _close(
    world: World,
    dialog: Dialog,
    *,
    accepted: bool,
    text: str,
    by: Client | None,
    emit_closed: bool = True,
    on_closed: Callable[[], None] = lambda: None,
) -> None:
    dialog.open = False
    dialog.accepted = accepted
    dialog.closed_by = by
    dialog.page.dialogs.remove(dialog)
    if dialog.finishes_before_closed and not accepted and by is not None:
        _finish(dialog, accepted, text)
        dialog.finish = _nothing
    if emit_closed:
        closed = {"frameId": dialog.frame.id, "result": accepted, "userInput": text}
        # A session that came after the opening event gets the closed event, too (fact 18).
        world.emit_to(dialog.page, "Page", "Page.javascriptDialogClosed", closed, dialog.page)
    on_closed()
    renderer = dialog.frame.renderer
    renderer.dialog = next((each for each in dialog.page.dialogs if each.frame.renderer is renderer), None)
    _finish(dialog, accepted, text)
    resume(renderer)


def _finish(dialog: Dialog, accepted: bool, text: str) -> None:
    """Continue the script that waits for the answer, if its document still exists."""
    frame = dialog.frame
    gone = frame.target.closed or frame.target.crashed or frame.left
    if not gone and frame.document == dialog.document:
        dialog.finish(accepted, text)


def _nothing(_accepted: bool, _text: str) -> None:
    """Do nothing: the script has been continued already."""


def cut(message: str) -> str:
    lines = message.replace("\r\n", "\n").replace("\r", "\n")
    units = lines.encode("utf-16-le", "surrogatepass")[: 2 * MAX_MESSAGE_UNITS]
    return units.decode("utf-16-le", "replace")


def whole(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
