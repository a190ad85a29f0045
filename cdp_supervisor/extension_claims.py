"""The Fetch claims of extensions, on the claims of the link; pauses come back as inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import attrs

from cdp_core.errors import CdpError, Gone, InvalidArgument, LocalProtocolError
from cdp_core.sansio.fetch_claims import Claimed, FetchClaims
from cdp_core.sansio.messages import Event, Refusal
from cdp_core.sansio.outcomes import Outcome, Waiter
from cdp_supervisor.sansio.effects import AnswerFetch, ClaimFetch
from cdp_supervisor.sansio.inputs import FetchEnded, FetchExpired, FetchPaused

NOT_OURS: Final = (
    "The commands of the other client on this connection are not seen, so a claim could undo its use of Fetch; "
    "if it never uses Fetch, pass fetch='ours'."
)

Feed = Callable[..., None]
"""Feeds an input of this class with these fields, and with the moment and the generation of now."""


class ExtensionClaims:
    """The claims of the extensions of one supervisor."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._claims: dict[tuple[str, str], tuple[_Claimant, Claimed]] = {}

    def claim(self, effect: ClaimFetch, claims_of_link: Callable[[], FetchClaims]) -> None:
        """Claim requests, or report why not."""
        self.release(effect.extension, effect.key)
        claimant = _Claimant(self, effect.extension, effect.key)
        try:
            name = f"extension {effect.extension}"
            claimed = claims_of_link().claim(
                effect.session_id, effect.patterns, auth=effect.auth, name=name, claimant=claimant, waiter=claimant
            )
            self._claims[effect.extension, effect.key] = claimant, claimed
        except CdpError as error:
            self.feed(FetchEnded, claimant, reason=str(error), unsent=True)

    def answer(self, effect: AnswerFetch, waiter: Waiter) -> None:
        """Answer a request; `waiter` gets the outcome. Raises CdpError if nothing was sent."""
        _claimant, claimed = self._claims.get((effect.extension, effect.key), (None, None))
        if claimed is None:
            raise InvalidArgument(f"The extension {effect.extension} has no claim {effect.key[:64]!r}; claim first.")
        if not claimed.answer(effect.method, effect.params, waiter):
            raise LocalProtocolError("The request was passed on to another claim.", reason="passed_on")

    def release(self, extension: str, key: str) -> None:
        """Release a claim of an extension; the empty key: all of them."""
        for each in tuple(self._claims):
            if each[0] == extension and key in ("", each[1]):
                self._claims.pop(each)[1].release()

    def release_all(self) -> None:
        """Release every claim, before the link is released."""
        claims, self._claims = self._claims, {}
        for _claimant, claimed in claims.values():
            claimed.release()

    def feed(self, kind: Any, claimant: _Claimant, **fields: Any) -> None:
        """Feed an input of one claim; forget the claim if that is its end."""
        if kind is FetchEnded:
            self._claims.pop((claimant.extension, claimant.key), None)
        self._feed(kind, extension=claimant.extension, key=claimant.key, **fields)

    def refused(self, claimant: _Claimant) -> None:
        """End a claim that the browser refused, unless it was released since."""
        current, claimed = self._claims.get((claimant.extension, claimant.key), (None, None))
        if current is claimant and claimed is not None:
            claimed.release()
            self.feed(FetchEnded, claimant, reason="the browser refused it")


@attrs.frozen(eq=False)
class _Claimant:
    """The user of one claim, and the waiter of its `Fetch.enable`."""

    _claims: ExtensionClaims
    extension: str
    key: str

    def take(self, event: Event, /) -> bool:
        self._claims.feed(FetchPaused, self, event=event)
        return True

    def expired(self, request_id: str, /) -> None:
        self._claims.feed(FetchExpired, self, request_id=request_id)

    def ended(self, error: Callable[[], Gone], /) -> None:
        self._claims.feed(FetchEnded, self, reason=error().reason)

    def settle(self, outcome: Outcome, /) -> None:
        if isinstance(outcome, Refusal):
            self._claims.refused(self)
