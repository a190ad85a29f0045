"""Native dialogs, as Chromium has them: one manager for each page, which is easily out of step with what was announced.

    raised ──▶ announced on every session of the page that has Page enabled (fact 14)
                 ├─ handleJavaScriptDialog on one of these ──▶ Closed, then the reply, then the script goes on (1, 12)
                 ├─ another one raised on the page ──▶ Closed(false) of this one; the new one cannot be answered (3)
                 ├─ navigation, close, crash ──▶ Closed(false) (23)
                 ├─ its frame, out of process, is removed ──▶ nothing is said
                 └─ the last session that saw it leaves ──▶ nobody can answer it any more (4)
    raised with nobody listening ──▶ open for ever, unanswerable (4); on headless-shell dismissed at once (26)

On headless-shell navigation, close and crash say nothing of a dialog, and navigation and crash leave it open: one whose
document is still there can be answered, and so can one whose process has gone, to no effect; a document of the same site
waits for its process, and the dialog is of a document that is being left, so that nobody can answer it.

While it is open its process runs no script: whatever the renderer is asked waits (15).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from cdp_core.testing.fake.model.dispatch_errors import Refused
from cdp_core.testing.fake.model.parts import Client, Dialog, Frame, PausedSteps, Renderer, Session, Target
from cdp_core.testing.fake.world import World

MAX_MESSAGE_UNITS: Final = 10_240
"""A message is cut there, in UTF-16 units (fact 19)."""


def raise_dialog(
    world: World, frame: Frame, kind: str, message: str, default_prompt: str, finish: Callable[[bool, str], None]
) -> Dialog:
    """A script calls alert, confirm or prompt."""
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
        older.superseded = True  # no event, and it is the older one that cannot be answered any more (fact 26)
        return
    newer.superseded = True
    _close(world, older, accepted=False, text="", by=None)


def answer(world: World, session: Session, *, accept: bool, text: str, answered: Callable[[], None]) -> None:
    """`Page.handleJavaScriptDialog`; its reply comes after the event and before the script goes on. Raises Refused."""
    target = session.target
    assert target is not None
    if target.type != "page":
        raise Refused(-32000, "Command can only be executed on top-level targets")
    showing = next((each for each in target.dialogs if each.open and not each.superseded), None)
    if showing is not None and showing.unreachable:  # whoever asks (fact 22)
        raise Refused(-32000, "Not attached to an active page")
    if showing is None or session not in showing.seen_by:
        raise Refused(-32602, "No dialog is showing")
    _close(world, showing, accepted=accept, text=text, by=session.client, on_closed=answered)


def drop_dialogs(target: Target) -> None:
    """A frame out of process is removed (docs/cdp/removing-a-frame-closes-its-dialog-without-an-event.md)."""
    for dialog in tuple(target.page.dialogs):
        if dialog.frame.target is target:
            dialog.open = False
            target.page.dialogs.remove(dialog)
            dialog.frame.renderer.dialog = None


def close_all(
    world: World, target: Target, *, on_closed: Callable[[], None] = lambda: None, but: Dialog | None = None
) -> bool:
    """Navigation, close or crash ends the dialogs of a page, or those of one frame's process, with false.

    `on_closed` is called when that was told, and before any script goes on; in a process that is no more, none does. A
    navigation ends all `but` the one that asks whether it may be. Whether there were any.
    """
    page = target.page
    if world.profile == "headless-shell":
        on_closed()
        return False
    every = [each for each in page.dialogs if each is not but]
    ending = [each for each in every if target is page or each.frame.target is target]
    for number, dialog in enumerate(ending):
        if dialog.open:  # a script that went on may have ended it
            _close(
                world, dialog, accepted=False, text="", by=None, on_closed=on_closed if number == 0 else lambda: None
            )
    if not ending:
        on_closed()
    return bool(ending)


def lose_renderer(target: Target) -> list[Callable[[], None]]:
    """The process died, and with it what its scripts still had to do; what goes on all the same is the answer.

    What sessions had asked of it is answered when there is a process again, by that (fact 49).
    """
    renderer = target.renderer
    paused_steps: list[Callable[[], None]] = [each for each in renderer.parked if isinstance(each, PausedSteps)]
    renderer.parked, renderer.dialog, renderer.resource = [], None, None
    return paused_steps


def leave_document(target: Target) -> None:
    """Another document is there and waits for the process: who raised them is being left (fact 22)."""
    for dialog in target.dialogs:
        dialog.unreachable = True


def leave(world: World, session: Session) -> None:
    """A session ends: what only it had seen can be answered by nobody."""
    target = session.target
    if target is None or target.type != "page":
        return
    for dialog in tuple(target.dialogs):
        if session not in dialog.seen_by or not dialog.open:  # the script that the one before stopped may have left
            continue
        dialog.seen_by.discard(session)
        if world.profile == "headless-shell":
            _close(world, dialog, accepted=False, text="", by=None)


def disable(session: Session) -> None:
    """A session does not want to hear of dialogs any more: of those that it saw, too, it can answer none."""
    for dialog in () if session.target is None else session.target.dialogs:
        dialog.seen_by.discard(session)


def when_unblocked(owner: Target | Frame, act: Callable[[], None]) -> bool:
    """Do it now, or when the dialog that stops this process is gone. Whether it was done now.

    What is asked of a target waits for the document, too, that is on its way.
    """
    if isinstance(owner, Target) and owner.is_navigating:
        owner.deferred.append(act)
        return False
    return _when_unblocked(owner.renderer, act)


def run_deferred(target: Target) -> None:
    """The document is there, or will not come."""
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
    """What stopped this process may be gone: then what had to wait happens, until something stops it again."""
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
        # Who came after the opening hears of the end all the same (fact 18).
        world.emit_to(dialog.page, "Page", "Page.javascriptDialogClosed", closed, dialog.page)
    on_closed()
    renderer = dialog.frame.renderer
    renderer.dialog = next((each for each in dialog.page.dialogs if each.frame.renderer is renderer), None)
    _finish(dialog, accepted, text)
    resume(renderer)


def _finish(dialog: Dialog, accepted: bool, text: str) -> None:
    """What waits for the answer goes on, where its document is still there."""
    frame = dialog.frame
    gone = frame.target.closed or frame.target.crashed or frame.left
    if not gone and frame.document == dialog.document:
        dialog.finish(accepted, text)


def _nothing(_accepted: bool, _text: str) -> None:
    """It was gone on with."""


def cut(message: str) -> str:
    """A message as the browser shows it."""
    lines = message.replace("\r\n", "\n").replace("\r", "\n")
    units = lines.encode("utf-16-le", "surrogatepass")[: 2 * MAX_MESSAGE_UNITS]
    return units.decode("utf-16-le", "replace")


def whole(text: str) -> str:
    """A text without halves of signs."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
