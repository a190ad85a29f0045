"""One step in the making: the state so far, and the effects so far.

`step` is a pure function from a state and an input to a state and effects. Inside it the rules of one input follow each
other, and a `Turn` is what they hand on: it is made in `step`, it ends there, and nobody else ever sees it.

Laws kept here, for all rules: every deadline is later than all that was seen; an ask is answered once; a ticket is taken
once; what is kept stays within its limit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

from cdp_core.sansio.messages import SessionId, TargetId
from cdp_core.sansio.structs import amend, replace
from cdp_supervisor.sansio import effects
from cdp_supervisor.sansio.changes import Change
from cdp_supervisor.sansio.deadlines import added, without
from cdp_supervisor.sansio.inputs import Instant
from cdp_supervisor.sansio.state import Page, State, Ticket


def moment_after(now: float, seconds: float) -> float:
    """A moment that is really later than now, however large the one and small the other."""
    at = now + seconds
    return at if at > now else math.nextafter(now, math.inf)


class Transition:
    """See the module."""

    __slots__ = ("_is_new_state", "at", "effects", "extensions", "now", "state")

    def __init__(self, state: State, at: Instant) -> None:
        self.state = state
        self._is_new_state = False
        """Whether the state was made in this step: nobody else has seen it, and it is written in place."""
        self.at = at
        self.now = at.mono
        """The latest moment."""
        self.extensions = state.extensions
        """As they are now. In the state they stand from the end of the step on."""
        self.effects: list[effects.Effect] = []

    # ── the state ────────────────────────────────────────────────────────────────────────────────────────────────────

    def result(self, before: State) -> State:
        """The state that this step makes: the one before it where nothing has changed."""
        if self.extensions is not before.extensions:
            self.update(extensions=self.extensions)
        if self._is_new_state:
            return self.state
        return before if self.now == before.now else replace(before, now=self.now)

    def update(self, **changed: Any) -> None:
        """Change the state."""
        state = self.state
        if not self._is_new_state:
            self.state = replace(state, now=self.now, sequence=state.sequence + 1, **changed)
            self._is_new_state = True
            return
        for name, value in changed.items():
            amend(state, name, value)

    def page(self, target_id: TargetId | None) -> Page | None:
        """A page by its id."""
        return None if target_id is None else self.state.pages.get(target_id)

    def put_page(self, page: Page) -> Page:
        """A page has changed."""
        state = self.state
        pages = state.pages.set(page.id, page)
        if self._is_new_state:
            amend(state, "pages", pages)
        else:  # as `put`, without its keywords: this is done once for each event
            self.state = replace(state, now=self.now, sequence=state.sequence + 1, pages=pages)
            self._is_new_state = True
        return page

    def page_of(self, session_id: SessionId | None) -> Page | None:
        """The page that a session belongs to."""
        attachment = None if session_id is None else self.state.sessions.get(session_id)
        return None if attachment is None else self.page(attachment.page_id)

    def process_of(self, page: Page, frame_id: str) -> SessionId | None:
        """The session of the process that a frame is in; None where it has no session now."""
        seen: set[str] = set()
        frame = page.frames.get(frame_id)
        while frame is not None and frame.id not in seen:
            if frame.oopif:
                return frame.session_id if frame.session_id in self.state.sessions else None
            seen.add(frame.id)
            frame = None if frame.parent_id is None else page.frames.get(frame.parent_id)
        return page.session_id

    def set_adrift(self, frame_id: str, page_id: TargetId) -> bool:
        """A frame has no session, and nothing was said of its end. False where too many are known so already."""
        adrift = self.state.adrift
        if len(adrift) >= self.state.limits.sessions_kept:
            return False
        self.update(adrift=adrift.set(TargetId(frame_id), page_id))
        return True

    def count(self, what: str, number: int = 1) -> None:
        """Count something for the statistics."""
        totals = self.state.totals
        self.update(totals=totals.set(what, totals.get(what, 0) + number))

    # ── orders ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def emit(self, effect: effects.Effect) -> None:
        """Have something done."""
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
    ) -> int:
        """Send a command; its end is the business of `purpose`."""
        number = self.state.last_ticket + 1
        ticket = Ticket(
            purpose=purpose, session_id=session_id, since=self.at, page_id=page_id, dialog_id=dialog_id, call_id=call_id
        )
        self.update(
            last_ticket=number,
            tickets=self.state.tickets.set(number, ticket),
            link=replace(self.state.link, last_sent=self.now),
        )
        self.emit(effects.Send(ticket=number, session_id=session_id, method=method, params=params))
        return number

    def take_ticket(self, number: int) -> Ticket | None:
        """What was sent under this number has ended."""
        ticket = self.state.tickets.get(number)
        if ticket is not None:
            self.update(tickets=self.state.tickets.delete(number))
        return ticket

    def forget(self, number: int) -> None:
        """Nobody waits for it any more."""
        if self.take_ticket(number) is not None:
            self.emit(effects.Forget(ticket=number))

    def publish(self, change: Change) -> None:
        """Something changed that somebody may want to hear of."""
        self.effects.append(effects.Publish(change=change))

    def note(self, level: Literal["debug", "info", "warning"], text: str, **fields: Any) -> None:
        """A line for the log."""
        self.emit(effects.Note(level=level, text=text, fields={"generation": self.state.generation, **fields}))

    def answer(self, request_id: int | None, value: Any = None, *, error: Exception | None = None) -> None:
        """Answer an ask; None is one whose asker was told already."""
        if request_id is not None:
            self.emit(effects.Answer(request_id=request_id, value=value, error=error))

    # ── deadlines ────────────────────────────────────────────────────────────────────────────────────────────────────

    def schedule(self, key: str, seconds: float, why: str) -> float:
        """Come back in so many seconds; what was to be done under this key before is not. The answer is the moment."""
        at = moment_after(self.now, seconds if seconds >= 0 else 0.0)
        state = self.state
        before = state.deadline_of.get(key)
        deadlines = state.deadlines if before is None else without(state.deadlines, before, key)
        self.update(deadlines=added(deadlines, (at, key, why)), deadline_of=state.deadline_of.set(key, at))
        return at

    def cancel(self, key: str) -> None:
        """There is nothing to come back for."""
        state = self.state
        at = state.deadline_of.get(key)
        if at is not None:
            self.update(deadlines=without(state.deadlines, at, key), deadline_of=state.deadline_of.delete(key))

    def due(self) -> str | None:
        """The key of a deadline that has come, which is taken out; None where none has."""
        deadlines = self.state.deadlines
        if not deadlines or deadlines[0][0][0] > self.now:
            return None
        _, key, _ = deadlines[0][0]
        self.cancel(key)
        return key
