"""The Fetch claims of one connection: performs the orders of the arbiters, one for each session.

Two users of it exist: a link on trio, and an engine whose caller moves the bytes. Both pass it every command of Fetch
that other code sends, every pause, the end of each session, and the time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, Protocol

from cdp_core.errors import CdpError, Gone
from cdp_core.sansio.fetch_arbiter import Expired, FetchArbiter, Give, Order, Send
from cdp_core.sansio.messages import CommandId, Event, Refusal, SessionId
from cdp_core.sansio.outcomes import Outcome, Waiter

NOT_SENT: Final = Refusal(id=CommandId(0), code=0, message="it was not sent")
"""The outcome of a command of ours that could not be sent: what it answers is still paused."""


class Claimant(Protocol):
    """The user of one claim."""

    def take(self, event: Event, /) -> bool:
        """Take a paused request; False: it cannot, so the request is passed on."""
        ...

    def expired(self, request_id: str, /) -> None:
        """Note that a request was continued, since it was not answered in time."""

    def ended(self, error: Callable[[], Gone], /) -> None:
        """Note that the session has ended, and the claim with it; `error` makes the reason."""


class SendCommand(Protocol):
    """Sends a command of the claims. Raises CdpError if the session has ended."""

    def __call__(
        self, method: str, params: Mapping[str, Any] | None, session_id: SessionId | None, waiter: Waiter, /
    ) -> object: ...


class Claimed:
    """One claim on one session: its user answers and releases with it."""

    def __init__(self, session: _SessionClaims, number: int) -> None:
        self._session = session
        self._number = number

    def answer(self, method: str, params: Mapping[str, Any], waiter: Waiter | None = None) -> bool:
        """Answer a request that this claim holds. True: a command is sent, and `waiter` gets its outcome.

        Raises InvalidArgument if the claim holds no such request, or the command answers none.
        """
        session = self._session
        orders = session.arbiter.answer(self._number, method, params, session.now())
        session.perform(orders, waiter)
        return any(isinstance(order, Send) for order in orders)

    def pass_on(self, request_id: str) -> None:
        """Pass a request on, unchanged; nothing happens if it is over."""
        self._session.perform(self._session.arbiter.pass_on(self._number, request_id, self._session.now()))

    def release(self) -> None:
        """End the claim: what it holds is passed on. Idempotent."""
        self._session.claimants.pop(self._number, None)
        self._session.perform(self._session.arbiter.release(self._number, self._session.now()))


class FetchClaims:
    """The claims on every session of one connection."""

    def __init__(self, send: SendCommand, now: Callable[[], float]) -> None:
        self.send = send
        self.now = now
        # Requests that no claim matched, on all sessions so far.
        self.unclaimed = 0
        # Requests that their owners did not answer in time.
        self.expired = 0
        self._sessions: dict[SessionId | None, _SessionClaims] = {}
        self._used = False
        # Called before the first claim: from then on, call `paused` and `due`.
        self.on_first_claim: Callable[[], None] = lambda: None
        # Called when `next_deadline` may have become earlier.
        self.on_deadline: Callable[[], None] = lambda: None

    def check_command(
        self, session_id: SessionId | None, method: str, params: Mapping[str, Any] | None, waiter: Waiter
    ) -> Waiter:
        """Check a command of other code, one of WATCHED; return the waiter to send it with.

        Raises InvalidArgument for `Fetch.enable` and `Fetch.disable` while a claim exists on the session.
        """
        session = self._session(session_id)
        return _Then(session.arbiter.check_command(method, params), waiter)

    def claim(
        self,
        session_id: SessionId | None,
        patterns: Iterable[Mapping[str, Any]],
        *,
        auth: bool,
        name: str,
        claimant: Claimant,
        waiter: Waiter,
    ) -> Claimed:
        """Add a claim; `waiter` gets the outcome of `Fetch.enable`.

        Raises InvalidArgument, or CdpError if the session has ended; then no claim was added.
        """
        if not self._used:
            self._used = True
            self.on_first_claim()
        session = self._session(session_id)
        number, orders = session.arbiter.claim(patterns, auth=auth, name=name)
        session.claimants[number] = claimant
        try:
            session.perform(orders, waiter)
        except BaseException:
            session.forget(number)
            raise
        return Claimed(session, number)

    def paused(self, event: Event) -> None:
        """Assign a paused request, or a challenge, to its owner."""
        session = self._sessions.get(event.session_id)
        if session is not None:
            orders = session.arbiter.paused(event, self.now())
            self.unclaimed += any(isinstance(order, Send) for order in orders)
            session.perform(orders)

    def session_closed(self, session_id: SessionId | None, error: Callable[[], Gone]) -> None:
        """End the claims of a session that ended; the browser holds none of its requests any more."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            session.end(error)

    def link_lost(self, error: Callable[[], Gone]) -> None:
        """End every claim."""
        for session_id in tuple(self._sessions):
            self.session_closed(session_id, error)

    def next_deadline(self) -> float | None:
        """Return when `due` has to be called; None: not at all."""
        deadlines = [session.arbiter.next_deadline() for session in self._sessions.values()]
        return min((each for each in deadlines if each is not None), default=None)

    def due(self) -> None:
        """Continue the requests that were not answered in time."""
        for session in tuple(self._sessions.values()):
            session.perform(session.arbiter.due(self.now()))

    def _session(self, session_id: SessionId | None) -> _SessionClaims:
        session = self._sessions.get(session_id)
        if session is None:
            session = self._sessions[session_id] = _SessionClaims(session_id, self)
        return session


class _SessionClaims:
    """The arbiter of one session, and the users of its claims."""

    def __init__(self, session_id: SessionId | None, claims: FetchClaims) -> None:
        self.arbiter = FetchArbiter()
        self.claimants: dict[int, Claimant] = {}
        self.now = claims.now
        self._session_id = session_id
        self._claims = claims

    def perform(self, orders: Iterable[Order], waiter: Waiter | None = None) -> None:
        """Perform orders, and those that follow from them; with a waiter, raise if a command cannot be sent."""
        waiting, failure = deque(orders), None
        while waiting:
            order = waiting.popleft()
            if isinstance(order, Give):
                claimant = self.claimants.get(order.claim)
                if claimant is None or not claimant.take(order.event):
                    request_id = str(order.event.params.get("requestId"))
                    waiting += self.arbiter.pass_on(order.claim, request_id, self.now())
            elif isinstance(order, Expired):
                self._claims.expired += 1
                claimant = self.claimants.get(order.claim)
                if claimant is not None:
                    claimant.expired(order.request_id)
            else:
                then = _Then(partial(self._answered, order), waiter)
                try:
                    self._claims.send(order.method, order.params, self._session_id, then)
                except CdpError as error:  # it is too big, or its session has just ended
                    failure = error
                    waiting += self.arbiter.answered(order.answers, NOT_SENT, self.now())
        self._claims.on_deadline()
        if failure is not None and waiter is not None:
            raise failure

    def _answered(self, sent: Send, outcome: Outcome) -> None:
        self.perform(self.arbiter.answered(sent.answers, outcome, self.now()))

    def forget(self, number: int) -> None:
        """Take back a claim of which the browser was sent nothing."""
        self.claimants.pop(number, None)
        self.arbiter.release(number, self.now())

    def end(self, error: Callable[[], Gone]) -> None:
        claimants, self.claimants = self.claimants, {}
        self.arbiter = FetchArbiter()
        for claimant in claimants.values():
            claimant.ended(error)


class _Then:
    """A waiter that calls a function with the outcome, and passes it on."""

    __slots__ = ("_act", "_waiter")

    def __init__(self, act: Callable[[Outcome], None], waiter: Waiter | None) -> None:
        self._act = act
        self._waiter = waiter

    def settle(self, outcome: Outcome, /) -> None:
        self._act(outcome)
        if self._waiter is not None:
            self._waiter.settle(outcome)
