"""One step of the state machine while it is computed: the state so far, and the effects so far.

`step` is a pure function from a state and an input to a state and effects. Inside it several rules process one input,
and pass a `Transition` on: it is made in `step` and ends there, and no other code ever sees it.

Laws kept here, for all rules: every deadline is later than every moment seen; a request is answered once; a ticket is
taken once; what is kept stays within its limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

from cdp_core.sansio.messages import SessionId, TargetId
from cdp_core.sansio.structs import Struct, amend, replace
from cdp_supervisor.sansio.changes import Change
from cdp_supervisor.sansio.deadlines import Key, added, without
from cdp_supervisor.sansio.effects import Answer, Effect, EndDialog, Forget, Note, OpenDialog, Publish, Resume, Send
from cdp_supervisor.sansio.inputs import DialogAnswered, Instant, RequestReceived
from cdp_supervisor.sansio.state import Page, State, Ticket


class Transition(Struct, eq=False):
    """The new state and the effects of one input, while the rules write them."""

    state: State
    at: Instant
    now: float
    """The moment of `at`."""
    changed: bool = False
    """True if the state was made in this step: no other code has seen it, so it is changed in place."""
    effects: list[Effect] = []  # noqa: RUF012 - each transition gets a list of its own
    dialogs: tuple[tuple[str, OpenDialog | EndDialog], ...] = ()
    """What extensions report about dialogs of their own: each with the extension's name."""
    answers: tuple[tuple[str, DialogAnswered], ...] = ()
    """The answers to such dialogs, on their way to the extensions."""
    last: tuple[Effect, ...] = ()
    """Effects that follow those of the extensions: a target is resumed after everything that its session gets."""

    # ── the state ────────────────────────────────────────────────────────────────────────────────────────────────────

    def update(self, **changed: Any) -> None:
        """Change fields of the state."""
        state = self.state
        if not self.changed:
            self.state = replace(state, now=self.now, sequence=state.sequence + 1, **changed)
            self.changed = True
            return
        for name, value in changed.items():
            amend(state, name, value)

    def page(self, target_id: TargetId | None) -> Page | None:
        """Return a page by its id; None if there is none."""
        return None if target_id is None else self.state.pages.get(target_id)

    def current(self, page: Page) -> Page:
        """Return a page as it is now, after the changes of this step; it must still exist."""
        return self.state.pages[page.id]

    def put_page(self, page: Page) -> Page:
        """Put a new or changed page into the state, and return it."""
        state = self.state
        pages = state.pages.set(page.id, page)
        if self.changed:
            amend(state, "pages", pages)
        else:  # as `update`, without its keywords: this runs once for each event
            self.state = replace(state, now=self.now, sequence=state.sequence + 1, pages=pages)
            self.changed = True
        return page

    def page_of(self, session_id: SessionId | None) -> Page | None:
        """Return the page that a session belongs to; None if it has no page."""
        attachment = None if session_id is None else self.state.sessions.get(session_id)
        return None if attachment is None else self.page(attachment.page_id)

    def process_of(self, page: Page, frame_id: str) -> SessionId | None:
        """Return the session of the renderer process that a frame is in; None if it has no session now."""
        seen: set[str] = set()
        frame = page.frames.get(frame_id)
        while frame is not None and frame.id not in seen:
            if frame.oopif:
                return frame.session_id if frame.session_id in self.state.sessions else None
            seen.add(frame.id)
            frame = None if frame.parent_id is None else page.frames.get(frame.parent_id)
        return page.session_id

    def set_adrift(self, frame_id: str, page_id: TargetId) -> bool:
        """Note a frame that lost its session without an event about its end. False: too many are noted."""
        adrift = self.state.adrift
        if len(adrift) >= self.state.limits.sessions_kept:
            return False
        self.update(adrift=adrift.set(TargetId(frame_id), page_id))
        return True

    def count(self, what: str, number: int = 1) -> None:
        totals = self.state.totals
        self.update(totals=totals.set(what, totals.get(what, 0) + number))

    # ── effects ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def emit(self, effect: Effect) -> None:
        self.effects.append(effect)

    def send(
        self,
        session_id: SessionId | None,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        purpose: str,
        page_id: TargetId | None = None,
        dialog_id: str = "",
        call_id: str = "",
        request_id: int = 0,
        extension: str = "",
        tag: str = "",
    ) -> int:
        """Send a command and return its ticket; the rule for `purpose` processes its end."""
        number = self.put_ticket(
            Ticket(
                purpose=purpose,
                session_id=session_id,
                since=self.at,
                page_id=page_id,
                dialog_id=dialog_id,
                call_id=call_id,
                request_id=request_id,
                extension=extension,
                tag=tag,
            )
        )
        bounded = purpose in ("call", "extension")
        self.emit(Send(ticket=number, session_id=session_id, method=method, params=params, bounded=bounded))
        return number

    def put_ticket(self, ticket: Ticket) -> int:
        """Keep the ticket of a command that is about to be sent; return its number."""
        number = self.state.last_ticket + 1
        self.update(
            last_ticket=number,
            tickets=self.state.tickets.set(number, ticket),
            link=replace(self.state.link, last_sent=self.now),
        )
        return number

    def take_ticket(self, number: int) -> Ticket | None:
        """Remove the ticket of a command that ended; None if it was removed before."""
        ticket = self.state.tickets.get(number)
        if ticket is not None:
            self.update(tickets=self.state.tickets.delete(number))
        return ticket

    def forget(self, number: int) -> None:
        """Abandon the command with this ticket: its reply is ignored."""
        if self.take_ticket(number) is not None:
            self.emit(Forget(ticket=number))

    def resume(self, session_id: SessionId) -> None:
        """Resume the target of a session, as the last thing that this input causes for it."""
        self.last = (*self.last, Resume(session_id=session_id))

    def publish(self, change: Change) -> None:
        self.effects.append(Publish(change=change))

    def note(self, level: Literal["debug", "info", "warning"], text: str, **fields: Any) -> None:
        self.emit(Note(level=level, text=text, fields={"generation": self.state.generation, **fields}))

    def warn(self, page: Page, text: str, **fields: Any) -> None:
        """Log a warning about a page, each text once; it repeats at the level of debugging."""
        page = self.current(page)
        level: Literal["debug", "warning"] = "debug" if text in page.noted else "warning"
        if level == "warning":
            self.put_page(replace(page, noted=page.noted | {text}))
        self.note(level, text, page=page.id[:8], **fields)

    def answer(self, request_id: int | None, value: Any = None, *, error: Exception | None = None) -> None:
        """Answer a request; None stands for one that was answered before."""
        if request_id is not None:
            self.emit(Answer(request_id=request_id, value=value, error=error))

    # ── deadlines ────────────────────────────────────────────────────────────────────────────────────────────────────

    def schedule(self, key: Key, seconds: float, why: str) -> float:
        """Schedule a deadline in so many seconds, in place of an earlier one of this key; return its moment."""
        return self.schedule_at(key, self.now + (seconds if seconds >= 0 else 0.0), why)

    def schedule_at(self, key: Key, at: float, why: str) -> float:
        """Schedule a deadline at a moment; one that is not later than now becomes the next moment after it."""
        if not at > self.now:
            at = math.nextafter(self.now, math.inf)
        state = self.state
        before = state.deadline_of.get(key)
        deadlines = state.deadlines if before is None else without(state.deadlines, before, key)
        self.update(deadlines=added(deadlines, (at, key, why)), deadline_of=state.deadline_of.set(key, at))
        return at

    def cancel(self, key: Key) -> None:
        state = self.state
        at = state.deadline_of.get(key)
        if at is not None:
            self.update(deadlines=without(state.deadlines, at, key), deadline_of=state.deadline_of.delete(key))

    def due(self) -> Key | None:
        """Remove the first deadline that is due and return its key; None if none is due."""
        deadlines = self.state.deadlines
        if not deadlines or deadlines[0][0][0] > self.now:
            return None
        _, key, _ = deadlines[0][0]
        self.cancel(key)
        return key


RequestRules = dict[type, Callable[[Transition, RequestReceived, Any], None]]
"""The rules of a module: class of a request → rule."""
