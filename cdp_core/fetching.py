"""Claims on Fetch: several parts of a program intercept requests, and none undoes another.

    async with page.claim_fetch(patterns=[{"urlPattern": "https://shop.example/*"}]) as claim:
        async for paused in claim:
            await paused.answer("Fetch.fulfillRequest", {"responseCode": 204})

The rules are those of `sansio/fetch_arbiter.py`: a request belongs to the first claim that matches it, a bare continue
passes it to the next one, and no request stays paused (docs/cdp/fetch-is-shared-by-claims.md).
"""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import trio
from trio.lowlevel import checkpoint

from cdp_core.errors import Gone
from cdp_core.link import Link
from cdp_core.replies import PendingReply
from cdp_core.sansio.arguments import typed_params
from cdp_core.sansio.fetch_arbiter import CHALLENGED, PATIENCE, PAUSED
from cdp_core.sansio.messages import Event, Json, SessionId, TypedCommand
from cdp_core.subscriptions import Subscription

if TYPE_CHECKING:
    from cdp_core.sansio.fetch_claims import Claimed

log = logging.getLogger("cdp_core.fetching")

CAPACITY: Final = 1_000
"""Requests that may wait for the user of a claim; the next ones are passed on."""


class PausedRequest:
    """A request that a claim holds: answer it, or pass it on, within ten seconds."""

    def __init__(self, claim: FetchClaim, event: Event) -> None:
        self._claim = claim
        self._event = event

    @property
    def params(self) -> Json:
        """The params of the event: `requestId`, `request`, `resourceType`, ..."""
        return self._event.params

    @property
    def is_challenge(self) -> bool:
        """True if a server or proxy asks for credentials (`Fetch.authRequired`)."""
        return self._event.method == CHALLENGED

    async def answer(self, command: TypedCommand[Any] | str, params: Mapping[str, Any] | None = None, /) -> None:
        """Answer with a command of Fetch; `requestId` is filled in.

        A continue without other params passes the request to the next claim that matches it. Raises CommandRefused if
        the browser refuses the answer; unless the request is over, it is then still held. Raises InvalidArgument if
        this claim does not hold the request any more.
        """
        await checkpoint()
        if not isinstance(command, str):
            params = typed_params(command, params)
        method = command if isinstance(command, str) else command.method
        await self._claim._answer(method, {"requestId": self.params["requestId"], **(params or {})})

    def pass_on(self) -> None:
        """Pass the request to the next claim that matches, or to the browser; no effect if it is over."""
        self._claim._pass_on(str(self.params["requestId"]))


class FetchClaim:
    """The paused requests of one claim, as an async iterator."""

    def __init__(self, link: Link[Any], session_id: SessionId | None, name: str, capacity: int) -> None:
        self._link = link
        self._session_id = session_id
        self._name = name
        self._waiting: Subscription[Event] = Subscription(capacity=capacity, max_bytes=sys.maxsize)
        self._capacity = capacity
        self._claimed: Claimed | None = None
        self.expired_count = 0
        """Requests that were continued because they were not answered in time."""
        self.overflow_count = 0
        """Requests that were passed on because too many waited already."""

    def __aiter__(self) -> FetchClaim:
        return self

    async def receive(self) -> PausedRequest:
        """Wait for the next paused request. Raises the error of the session or link when that ends."""
        return PausedRequest(self, await self._waiting.receive())

    __anext__ = receive

    async def _answer(self, method: str, params: Json) -> None:
        assert self._claimed is not None
        reply: PendingReply[Json] = PendingReply(self._link, method, self._session_id, None)
        if self._claimed.answer(method, params, reply):
            await reply.wait()

    def _pass_on(self, request_id: str) -> None:
        assert self._claimed is not None
        self._claimed.pass_on(request_id)

    # ── the claimant ─────────────────────────────────────────────────────────────────────────────────────────────────

    def take(self, event: Event, /) -> bool:
        """Queue a request for the user; False if too many wait."""
        if self._waiting.waiting >= self._capacity:
            self.overflow_count += 1
            return False
        self._waiting.push(event)
        return True

    def expired(self, _request_id: str, /) -> None:
        """Count and log a request that was continued for its user."""
        self.expired_count += 1
        log.warning("the claim %r left a request paused for %g seconds, so it was continued", self._name, PATIENCE)

    def ended(self, error: Callable[[], Gone], /) -> None:
        """End the iteration with the reason."""
        self._waiting.end(error)


class _Pauses:
    """The sink for paused requests on every session of a link."""

    def __init__(self, link: Link[Any]) -> None:
        self._link = link
        self._changed = trio.Event()

    def push(self, event: Event, _at: float, /) -> None:
        self._link.fetch.paused(event)

    def end(self, _error: Callable[[], BaseException], /) -> None:
        """The link ends the claims itself."""

    async def keep_time(self) -> None:
        """Continue the requests that are not answered in time."""
        while True:
            self._changed = trio.Event()
            deadline = self._link.fetch.next_deadline()
            with trio.move_on_at(math.inf if deadline is None else deadline):
                await self._changed.wait()
            self._link.fetch.due()

    def deadline_changed(self) -> None:
        self._changed.set()


def listen_for_pauses(link: Link[Any], nursery: trio.Nursery) -> None:
    """Pass the pauses of a link to its claims from now on, and keep their time."""
    pauses = _Pauses(link)
    link.fetch.on_deadline = pauses.deadline_changed
    link.all_sessions.add((PAUSED, CHALLENGED), pauses)
    nursery.start_soon(pauses.keep_time)


@asynccontextmanager
async def hold_claim(
    link: Link[Any],
    session_id: SessionId | None,
    patterns: Iterable[Mapping[str, Any]],
    *,
    auth: bool,
    name: str,
    capacity: int,
) -> AsyncGenerator[FetchClaim, None]:
    """Hold a claim on a session for the block."""
    await checkpoint()
    claim = FetchClaim(link, session_id, name, capacity)
    enabled: PendingReply[Json] = PendingReply(link, "Fetch.enable", session_id, None)
    claim._claimed = link.fetch.claim(session_id, patterns, auth=auth, name=name, claimant=claim, waiter=enabled)
    try:
        await enabled.wait()
        yield claim
    finally:
        claim._claimed.release()
        claim._waiting.close()
