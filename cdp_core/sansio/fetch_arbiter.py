"""Fetch on one session, shared: the owner of each paused request, and what the browser is sent.

A claim names patterns; the browser gets their union in one `Fetch.enable`, since a second one replaces the first without
an event (fact 81). The laws:

* Each paused request has at most one owner: the first claim, in the order of claiming, whose pattern matches. `continue`
  passes it to the next such claim, and to the browser after the last one.
* Nothing is left paused: a pause that no claim matches, and one that is unanswered for `PATIENCE` seconds, are continued
  and counted; one whose owner is gone goes to the next claim.
* An answer ends a pause once the browser took it. A refused one leaves the request paused, so its owner keeps it, and
  the time limit continues it.
* A claim acts only on the pauses that it owns. A challenge without an owner gets the browser's default; the arbiter
  never cancels one.
* At a release, what the claim holds goes on first, then the browser gets the smaller list; `Fetch.disable` comes last,
  since it would fail a navigation that waits for authentication (fact 82).

The arbiter knows no transport and no clock: its methods return orders, and take the time where they need it.
`fetch_claims.py` performs them for all sessions of a connection.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, Literal

from cdp_core.errors import InvalidArgument, RemoteProtocolError
from cdp_core.sansio.arguments import plain_object
from cdp_core.sansio.messages import Event, Json, Refusal, is_object
from cdp_core.sansio.outcomes import Outcome
from cdp_core.sansio.structs import Struct

PATIENCE: Final = 10.0
"""Seconds that a claim may hold a request; a page that waits longer looks broken, and blocks its navigation."""
SWITCHES: Final = frozenset(("Fetch.enable", "Fetch.disable"))
"""The commands that replace or end what every claim of the session relies on."""
TAKE_BODY: Final = "Fetch.takeResponseBodyAsStream"
WATCHED: Final = SWITCHES | {TAKE_BODY}
"""The commands of other code that the arbiter has to know."""
PAUSED, CHALLENGED = "Fetch.requestPaused", "Fetch.authRequired"
PAUSES: Final = frozenset((PAUSED, CHALLENGED))
GONE: Final = "Invalid InterceptionId."
"""Error message for a request that the browser no longer holds: its page navigated, or another client answered it."""
PATTERN: Final = frozenset(("urlPattern", "resourceType", "requestStage"))
STAGES: Final = ("Request", "Response")
ANSWERS: Final = frozenset(
    ("Fetch.continueRequest", "Fetch.continueResponse", "Fetch.failRequest", "Fetch.fulfillRequest")
)
"""The commands that end a pause; the first two may also pass it on."""


class Send(Struct, frozen=True, kw_only=True, gc=False):
    """Send a command on the session; if it answers a request, report its end to `FetchArbiter.answered`."""

    method: str
    params: Json
    answers: str = ""


class Give(Struct, frozen=True, kw_only=True, gc=False):
    """Give a paused request, or a challenge, to a claim: the event of the pause."""

    claim: int
    event: Event


class Expired(Struct, frozen=True, kw_only=True, gc=False):
    """A claim did not answer in time; its request was continued."""

    claim: int
    request_id: str


Order = Send | Give | Expired


class Claim(Struct, frozen=True, kw_only=True):
    """One user of Fetch on the session."""

    number: int
    name: str
    patterns: tuple[Json, ...]
    auth: bool


Phase = Literal["held", "answering", "continuing"]
"""Held by its owner; or its answer, or our own continue, is not confirmed yet."""


class _Pause:
    """A request that the browser holds."""

    __slots__ = ("asked_by", "auth", "body_taken", "event", "owner", "params", "phase", "since")

    def __init__(self, event: Event, params: Json) -> None:
        self.event = event
        self.params = params
        self.auth = event.method == CHALLENGED
        self.owner = 0
        self.since = 0.0
        self.phase: Phase = "held"
        self.body_taken = False
        self.asked_by = 0


class FetchArbiter:
    """The claims and the paused requests of one session."""

    def __init__(self) -> None:
        self._claims: dict[int, Claim] = {}
        self._pauses: dict[str, _Pause] = {}
        # The pauses in the phase `held`, in the order in which they expire.
        self._held: dict[str, _Pause] = {}
        # Request → the claim that continued it with `interceptResponse`, and so gets its response.
        self._responses: dict[str, int] = {}
        self._last = 0
        # Times that other code enabled Fetch since it last disabled it.
        self._raw_enables = 0

    # ── commands of other code ───────────────────────────────────────────────────────────────────────────────────────

    def check_command(self, method: str, params: Mapping[str, Any] | None = None) -> Callable[[Outcome], None]:
        """Note a command of other code, one of WATCHED; return the function that takes its outcome.

        While a claim exists, SWITCHES raise InvalidArgument.
        """
        if method == TAKE_BODY:
            pause = self._pauses.get(str((params or {}).get("requestId")))
            if pause is not None:
                pause.body_taken = True
            return lambda outcome: self._body_ended(pause, outcome)
        if self._claims:
            names = ", ".join(sorted({claim.name for claim in self._claims.values()}))
            raise InvalidArgument(
                f"{method} was not sent: it would undo the Fetch claims of this session ({names}); to intercept "
                "requests use claim_fetch(patterns=…), and to end interception end these claims."
            )
        self._raw_enables = self._raw_enables + 1 if method == "Fetch.enable" else 0
        return self._enable_ended if method == "Fetch.enable" else lambda _outcome: None

    def _enable_ended(self, outcome: Outcome) -> None:
        """A refused `Fetch.enable` enabled nothing."""
        if isinstance(outcome, Refusal):
            self._raw_enables = max(self._raw_enables - 1, 0)

    @staticmethod
    def _body_ended(pause: _Pause | None, outcome: Outcome) -> None:
        if pause is not None and isinstance(outcome, Refusal):
            pause.body_taken = False

    # ── claims ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def claim(self, patterns: Iterable[Mapping[str, Any]], *, auth: bool, name: str) -> tuple[int, tuple[Order, ...]]:
        """Add a claim; return its number and the orders. Raises InvalidArgument."""
        if self._raw_enables:
            raise InvalidArgument(
                "Fetch is enabled on this session already, by Fetch.enable or enabled('Fetch'); end that, then use "
                "claim_fetch(patterns=…) for both uses."
            )
        checked = tuple(_checked(each) for each in patterns)
        if not checked:
            raise InvalidArgument("A claim needs at least one pattern, such as {'urlPattern': '*'}.")
        if auth and all(each.get("requestStage") == "Response" for each in checked):
            raise InvalidArgument(
                "A claim with auth needs a pattern of the stage Request: no challenge comes otherwise."
            )
        self._last += 1
        self._claims[self._last] = Claim(number=self._last, name=name, patterns=checked, auth=auth)
        return self._last, (self._enable(),)

    def release(self, number: int, at: float) -> tuple[Order, ...]:
        """Remove a claim: pass on what it holds, then enable the rest, or disable Fetch. Idempotent."""
        if number not in self._claims:
            return ()
        del self._claims[number]
        orders: list[Order] = []
        for request_id, pause in tuple(self._pauses.items()):
            if pause.owner == number and pause.phase == "held":
                orders += self._pass_on(request_id, at)
            elif pause.phase == "answering" and not self._claims:
                # The answer may be refused; if it is not, this is refused, which harms nothing.
                orders.append(self._continue(request_id))
        orders.append(self._enable() if self._claims else Send(method="Fetch.disable", params={}))
        return tuple(orders)

    # ── events ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def paused(self, event: Event, at: float) -> tuple[Order, ...]:
        """Assign the request of a `Fetch.requestPaused`, or the challenge of a `Fetch.authRequired`."""
        if not self._claims:
            return ()  # of other code, or of a claim that is over: `Fetch.disable` continues it
        try:
            params = event.params
        except RemoteProtocolError:
            return ()
        request_id = params.get("requestId")
        if not isinstance(request_id, str):
            return ()
        self._held.pop(request_id, None)
        pause = self._pauses[request_id] = _Pause(event, params)
        pause.asked_by = self._responses.pop(request_id, 0)
        return self._pass_on(request_id, at)

    # ── answers ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def answer(self, number: int, method: str, params: Mapping[str, Any], at: float) -> tuple[Order, ...]:
        """Answer a pause for its owner; a bare continue passes it on. Raises InvalidArgument."""
        plain = plain_object(params)
        request_id = str(plain.get("requestId"))
        pause = self._pauses.get(request_id)
        if pause is None or pause.owner != number or pause.phase != "held":
            raise InvalidArgument(
                f"{method} was not sent: this claim holds no request {request_id[:64]!r}; it was answered, continued "
                "after its time limit, or has ended."
            )
        if pause.auth:
            if method != "Fetch.continueWithAuth":
                raise InvalidArgument(f"{method} does not answer a challenge; use Fetch.continueWithAuth.")
            response = plain.get("authChallengeResponse")
            if is_object(response) and response.get("response") == "Default":
                return self._pass_on(request_id, at)
        elif method not in ANSWERS:
            raise InvalidArgument(f"{method} does not answer a request; use one of: {', '.join(sorted(ANSWERS))}.")
        elif method in ("Fetch.continueRequest", "Fetch.continueResponse") and len(plain) == 1:
            return self._pass_on(request_id, at)
        pause.phase = "answering"
        del self._held[request_id]
        if plain.get("interceptResponse") is True:
            self._responses[request_id] = number
        return (Send(method=method, params=plain, answers=request_id),)

    def pass_on(self, number: int, request_id: str, at: float) -> tuple[Order, ...]:
        """Pass a pause on for its owner, to the next claim or to the browser. Nothing to do if it is over."""
        pause = self._pauses.get(request_id)
        if pause is None or pause.owner != number or pause.phase != "held":
            return ()
        return self._pass_on(request_id, at)

    def answered(self, request_id: str, outcome: Outcome, at: float) -> tuple[Order, ...]:
        """Note the end of a `Send` that answers a request: a refused one leaves the request paused."""
        pause = self._pauses.get(request_id)
        if pause is None or pause.phase == "held":
            return ()
        if pause.phase == "continuing" or not isinstance(outcome, Refusal) or outcome.message == GONE:
            del self._pauses[request_id]
            return ()
        if pause.owner not in self._claims:
            return self._pass_on(request_id, at)
        self._hold(request_id, pause, at)
        return ()

    # ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def next_deadline(self) -> float | None:
        """Return when the first held request expires."""
        return next((pause.since + PATIENCE for pause in self._held.values()), None)

    def due(self, at: float) -> tuple[Order, ...]:
        """Continue the requests that their owners held for too long."""
        orders: list[Order] = []
        for request_id, pause in tuple(self._held.items()):
            if pause.since + PATIENCE > at:
                break
            orders += (Expired(claim=pause.owner, request_id=request_id), self._continue(request_id))
        return tuple(orders)

    # ── one request ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _pass_on(self, request_id: str, at: float) -> tuple[Order, ...]:
        """Give a pause to the next claim that matches, or continue it."""
        pause = self._pauses[request_id]
        for claim in self._claims.values():
            if claim.number <= pause.owner or (pause.auth and not claim.auth):
                continue
            if claim.number == pause.asked_by or _matches(claim, pause):
                pause.owner = claim.number
                self._hold(request_id, pause, at)
                return (Give(claim=claim.number, event=pause.event),)
        return (self._continue(request_id),)

    def _hold(self, request_id: str, pause: _Pause, at: float) -> None:
        """Keep a pause for its owner; the order of `_held` is that of the time limits."""
        self._held.pop(request_id, None)
        self._held[request_id] = pause
        pause.phase, pause.since = "held", at

    def _continue(self, request_id: str) -> Send:
        """Leave a pause to the browser; fail one whose body was taken, which a continue would hang."""
        pause = self._pauses[request_id]
        pause.phase = "continuing"
        self._held.pop(request_id, None)
        params: Json = {"requestId": request_id}
        if pause.auth:
            params["authChallengeResponse"] = {"response": "Default"}
            return Send(method="Fetch.continueWithAuth", params=params, answers=request_id)
        if pause.body_taken:
            return Send(method="Fetch.failRequest", params={**params, "errorReason": "Aborted"}, answers=request_id)
        return Send(method="Fetch.continueRequest", params=params, answers=request_id)

    def _enable(self) -> Send:
        union: list[Json] = []
        for claim in self._claims.values():
            union += [each for each in claim.patterns if each not in union]
        auth = any(claim.auth for claim in self._claims.values())
        return Send(method="Fetch.enable", params={"patterns": union, **({"handleAuthRequests": True} if auth else {})})


def _checked(pattern: Mapping[str, Any]) -> Json:
    plain = plain_object(pattern)
    unknown = sorted(plain.keys() - PATTERN)
    if unknown or not all(isinstance(value, str) for value in plain.values()):
        what = f"has no field {unknown[0][:64]!r}" if unknown else "has texts only"
        raise InvalidArgument(f"A pattern of Fetch {what}; its fields are {', '.join(sorted(PATTERN))}.")
    if plain.get("requestStage", "Request") not in STAGES:
        raise InvalidArgument(f"requestStage must be one of {', '.join(STAGES)}.")
    return plain


def _matches(claim: Claim, pause: _Pause) -> bool:
    params = pause.params
    request = params.get("request")
    url = str(request.get("url")) if is_object(request) else ""
    response = "responseStatusCode" in params or "responseErrorReason" in params
    stage = "Response" if response and not pause.auth else "Request"
    return any(
        each.get("requestStage", "Request") == stage
        and each.get("resourceType", params.get("resourceType")) == params.get("resourceType")
        and _matches_url(each.get("urlPattern", "*"), url)
        for each in claim.patterns
    )


def _matches_url(pattern: str, url: str) -> bool:
    """True if a URL matches: `*` is any text, `?` one character or none, a backslash escapes (fact 91).

    A set of places in the pattern is followed through the URL: the cost is linear, whatever the page's URL is.
    """
    length, stars, optional, taken = _parsed(pattern)
    reached, anything = _skipped(1, optional), optional & ~stars
    for character in url:
        reached = _skipped((reached & (taken.get(character, 0) | anything)) << 1 | reached & stars, optional)
    return bool(reached >> length)


@lru_cache(maxsize=256)
def _parsed(pattern: str) -> tuple[int, int, int, dict[str, int]]:
    """Return a pattern's length and, as bits, the places of stars, optional parts and characters."""
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    stars = optional = 0
    taken: dict[str, int] = {}
    for place, part in enumerate(parts):
        stars |= (part == "*") << place
        optional |= (part in ("*", "?")) << place
        if part not in ("*", "?"):
            taken[part[-1]] = taken.get(part[-1], 0) | 1 << place
    return len(parts), stars, optional, taken


def _skipped(reached: int, optional: int) -> int:
    """Add the places behind those parts of a pattern that may match nothing."""
    while (more := reached | (reached & optional) << 1) != reached:
        reached = more
    return reached
