"""Fetch on one session, shared: the owner of each paused request, and what the browser is sent.

A claim names patterns; the browser gets their union in one `Fetch.enable`, since a second one replaces the first without
an event (fact 81). The laws:

* Each paused request has at most one owner: the first claim, in the order of claiming, whose pattern matches. `continue`
  passes it to the next such claim, and to the browser after the last one.
* Nothing is left paused: a pause that no claim matches, one whose owner is gone, and one that is unanswered for
  `PATIENCE` seconds are continued, and counted.
* A claim acts only on the pauses that it owns. Nobody's authentication is cancelled for another: without an owner the
  challenge gets the browser's default.
* At a release, what the claim holds goes on first, then the browser gets the smaller list; `Fetch.disable` comes last,
  since it would fail a navigation that waits for authentication (fact 82).

The arbiter knows no transport and no clock: its methods return orders, and take the time where they need it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.arguments import plain_object
from cdp_core.sansio.messages import Json, is_object
from cdp_core.sansio.structs import Struct

PATIENCE: Final = 10.0
"""Seconds that a claim may hold a request; a page that waits longer looks broken, and blocks its navigation."""
SWITCHES: Final = frozenset(("Fetch.enable", "Fetch.disable"))
"""The commands that replace or end what every claim of the session relies on."""
PATTERN: Final = frozenset(("urlPattern", "resourceType", "requestStage"))
STAGES: Final = ("Request", "Response")
ANSWERS: Final = frozenset(
    ("Fetch.continueRequest", "Fetch.continueResponse", "Fetch.failRequest", "Fetch.fulfillRequest")
)
"""The commands that end a pause; the first two may also pass it on."""


class Send(Struct, frozen=True, kw_only=True, gc=False):
    """Send a command on the session."""

    method: str
    params: Json


class Give(Struct, frozen=True, kw_only=True, gc=False):
    """Give a paused request, or a challenge, to a claim: the params of its event."""

    claim: int
    params: Json
    auth: bool


class Expired(Struct, frozen=True, kw_only=True, gc=False):
    """A claim did not answer in time; its request was continued."""

    claim: int
    name: str


Order = Send | Give | Expired


class Claim(Struct, frozen=True, kw_only=True):
    """One user of Fetch on the session."""

    number: int
    name: str
    patterns: tuple[Json, ...]
    auth: bool


class _Pause:
    """A request that the browser holds."""

    __slots__ = ("auth", "owner", "params", "since")

    def __init__(self, params: Json, *, auth: bool) -> None:
        self.params = params
        self.auth = auth
        self.owner = 0
        self.since = 0.0


class FetchArbiter:
    """The claims and the paused requests of one session."""

    def __init__(self) -> None:
        self._claims: dict[int, Claim] = {}
        self._pauses: dict[str, _Pause] = {}
        self._last = 0
        self._enabled_raw = False
        self.unclaimed = 0
        """Requests that no claim matched."""
        self.expired = 0
        """Requests that their owner did not answer in time."""

    # ── commands of other code ───────────────────────────────────────────────────────────────────────────────────────

    def check_command(self, method: str) -> None:
        """Note a `Fetch.enable` or `Fetch.disable` of other code. Raises InvalidArgument while a claim exists."""
        if self._claims:
            names = ", ".join(sorted({claim.name for claim in self._claims.values()}))
            raise InvalidArgument(
                f"{method} would undo the Fetch claims of this session ({names}); use claim_fetch(patterns=…), which "
                "shares Fetch."
            )
        self._enabled_raw = method == "Fetch.enable"

    # ── claims ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def claim(self, patterns: Iterable[Mapping[str, Any]], *, auth: bool, name: str) -> tuple[int, tuple[Order, ...]]:
        """Add a claim; return its number and the orders. Raises InvalidArgument."""
        if self._enabled_raw:
            raise InvalidArgument(
                "Fetch is enabled on this session with Fetch.enable; send Fetch.disable, then use "
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

    def release(self, number: int) -> tuple[Order, ...]:
        """Remove a claim: pass on what it holds, then enable the rest, or disable Fetch. Idempotent."""
        if number not in self._claims:
            return ()
        orders: list[Order] = []
        held = [request_id for request_id, pause in self._pauses.items() if pause.owner == number]
        for request_id in held:
            orders += self._pass_on(request_id, self._pauses[request_id].since)
        del self._claims[number]
        orders.append(self._enable() if self._claims else Send(method="Fetch.disable", params={}))
        return tuple(orders)

    # ── events ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def paused(self, params: Json, at: float) -> tuple[Order, ...]:
        """Assign the request of a `Fetch.requestPaused`; without a claim on the session it is of other code."""
        return self._assign(params, at, auth=False)

    def auth_required(self, params: Json, at: float) -> tuple[Order, ...]:
        """Assign the challenge of a `Fetch.authRequired`."""
        return self._assign(params, at, auth=True)

    def _assign(self, params: Json, at: float, *, auth: bool) -> tuple[Order, ...]:
        request_id = params.get("requestId")
        if not isinstance(request_id, str) or (self._enabled_raw and not self._claims):
            return ()
        self._pauses[request_id] = _Pause(params, auth=auth)
        orders = self._pass_on(request_id, at)
        if request_id not in self._pauses:
            self.unclaimed += 1
        return orders

    # ── answers ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def answer(self, number: int, method: str, params: Mapping[str, Any], at: float) -> tuple[Order, ...]:
        """Answer a pause for its owner; a bare continue passes it on. Raises InvalidArgument."""
        plain = plain_object(params)
        request_id = str(plain.get("requestId"))
        pause = self._pauses.get(request_id)
        if pause is None or pause.owner != number:
            raise InvalidArgument(
                f"{method}: this claim holds no request {request_id[:64]!r}; it was answered or has ended."
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
        del self._pauses[request_id]
        return (Send(method=method, params=plain),)

    def gone(self, request_id: str) -> None:
        """Forget a request that the browser no longer holds: its answer was refused."""
        self._pauses.pop(request_id, None)

    # ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def next_deadline(self) -> float | None:
        """Return when the first held request expires."""
        return min((pause.since + PATIENCE for pause in self._pauses.values()), default=None)

    def due(self, at: float) -> tuple[Order, ...]:
        """Continue the requests that their owners held for too long."""
        orders: list[Order] = []
        late = [request_id for request_id, pause in self._pauses.items() if pause.since + PATIENCE <= at]
        for request_id in late:
            claim = self._claims[self._pauses[request_id].owner]
            self.expired += 1
            orders.append(Expired(claim=claim.number, name=claim.name))
            orders += self._pass_on(request_id, at)
        return tuple(orders)

    # ── one request ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _pass_on(self, request_id: str, at: float) -> tuple[Order, ...]:
        """Give a pause to the next claim that matches, or continue it."""
        pause = self._pauses[request_id]
        for claim in self._claims.values():
            if claim.number > pause.owner and (claim.auth or not pause.auth) and _matches(claim, pause):
                pause.owner, pause.since = claim.number, at
                return (Give(claim=claim.number, params=pause.params, auth=pause.auth),)
        del self._pauses[request_id]
        if pause.auth:
            default: Json = {"response": "Default"}
            return (
                Send(
                    method="Fetch.continueWithAuth", params={"requestId": request_id, "authChallengeResponse": default}
                ),
            )
        return (Send(method="Fetch.continueRequest", params={"requestId": request_id}),)

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
    """True if a URL matches a pattern of Fetch: `*` any text, `?` one character, a backslash escapes."""
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    expression = "".join(".*" if each == "*" else "." if each == "?" else re.escape(each[-1]) for each in parts)
    return re.fullmatch(expression, url, re.DOTALL) is not None
