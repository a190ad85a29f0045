"""Counted leases of CDP domains on one session.

The first holder of a domain sends `enable`, the last one sends `disable`, unless the embedder enabled the domain with a
command of its own. `hold` waits for the replies before its block
begins, because commands that the browser process answers overtake an `enable`: a `Page.navigate` to another process
loses the events of its load (docs/cdp/an-enable-is-awaited-before-its-block.md). It waits no longer than the page can
answer: a dialog that opens (fact 15) begins the block at once, and so does the end of `wait`, with a CdpWarning.

An `enable` that was sent to a renderer process that is gone had no effect. It is sent again to the process that
replaces it (docs/cdp/a-crash-ends-no-session.md): at once if the browser refused it, and after a crash at
`Inspector.targetReloadedAfterCrash`. Any other refusal that no caller waits for is counted and logged.

`Page.disable` is delayed while a dialog of this session is open: a browser without a native dialog handler would
dismiss the dialog (fact 24), and a browser with one would leave it open with no session able to answer it.
"""

from __future__ import annotations

import math
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Final, Protocol

import attrs
import trio
from trio.lowlevel import checkpoint

from cdp_core.errors import Gone, InvalidArgument, LocalProtocolError, TargetCrashed
from cdp_core.replies import PendingReply
from cdp_core.sansio.arguments import check_timeout
from cdp_core.sansio.domains import LIFECYCLE_EVENTS, Domains, switch
from cdp_core.sansio.messages import Event, Refusal, Result, SessionId
from cdp_core.sansio.outcomes import Failure, Loss, Outcome, failure_of
from cdp_core.sansio.redaction import shown_id
from cdp_core.subscriptions import Sink
from cdp_core.warnings_shown import warn

_DOMAIN = f"[A-Z][A-Za-z0-9]*|{re.escape(LIFECYCLE_EVENTS)}"
OPENING, CLOSED = "Page.javascriptDialogOpening", "Page.javascriptDialogClosed"
RELOADED: Final = "Inspector.targetReloadedAfterCrash"
PROCESS_GONE_MESSAGES: Final = frozenset({"Target crashed", "Inspected target navigated or closed"})
"""Error messages of a command whose process is gone and was replaced by another one (facts 49, 55)."""
TRIES: Final = 3
"""How often an `enable` is sent again, if the peer answers each time that the process is gone."""
WAIT: Final = 5.0
"""Seconds that `hold` waits for replies: longer than a document needs to commit or a script to return, usually."""


class LeaseSession(Protocol):
    """The methods of a session that leases use."""

    def _start(
        self, command: str, params: Mapping[str, Any] | None, *, joined: bool, leased: bool
    ) -> PendingReply[Any]: ...

    def listen(self, methods: tuple[str, ...], sink: Sink, /) -> None: ...


@attrs.define(eq=False)
class _Lease:
    """A leased domain: its holders, how its `enable` ended, and how many callers wait for that."""

    holders: int = 0
    outcome: Outcome | None = None
    waiting: int = 0

    @property
    def failed(self) -> bool:
        return not isinstance(self.outcome, (Result, type(None)))


class Leases:
    """The domains of one session that are enabled, with the number of holders of each.

    `report` is called with each refusal that no caller waits for.
    """

    def __init__(
        self,
        session: LeaseSession,
        session_id: SessionId | None,
        report: Callable[[str, Refusal], None],
        domains: Domains,
    ) -> None:
        self._session = session
        self._session_id = session_id
        self._report = report
        self._domains = domains
        self._leases: dict[str, _Lease] = {}
        # The domains whose `enable` or `disable` a crash has cost, with the tries that are left.
        self._lost: dict[str, int] = {}
        self._open_dialogs = 0
        self._listening = self._disable_later = False
        self._changed = trio.Event()

    @asynccontextmanager
    async def hold(self, domains: tuple[str, ...], wait: float | None) -> AsyncGenerator[None, None]:
        domains = _check(domains)
        if wait:
            check_timeout("wait", wait)
        await checkpoint()
        release = self.take(domains)
        try:
            if wait != 0:
                await self._wait(domains, math.inf if wait is None else wait)
            yield
        finally:
            release()

    def take(self, domains: tuple[str, ...], tries: int = TRIES, *, after_crash: bool = False) -> Callable[[], None]:
        """Hold domains enabled until the returned function is called.

        With `after_crash` a crashed page is no error: they are enabled after its reload.
        """
        domains = _check(domains)
        taken: list[str] = []

        def release() -> None:
            while taken:
                self._release(taken.pop())

        try:
            for domain in domains:
                self._take(domain, tries, after_crash=after_crash)
                taken.append(domain)
        except BaseException:
            release()
            raise
        return release

    def counts(self) -> Mapping[str, int]:
        """Return the number of holders of each domain."""
        return {domain: lease.holders for domain, lease in self._leases.items() if lease.holders}

    async def answered(self, domains: tuple[str, ...], seconds: float) -> Mapping[str, Failure]:
        """Wait for the reply to every `enable`, and return the failures.

        The wait also ends when one fails, when a dialog opens, or when the time is over.
        """
        leases = [self._leases[domain] for domain in domains]
        for lease in leases:
            lease.waiting += 1
        try:
            with trio.move_on_after(seconds):
                while not (self._open_dialogs or any(lease.failed for lease in leases)) and any(
                    lease.outcome is None for lease in leases
                ):
                    await self._changed.wait()
        finally:
            for lease in leases:
                lease.waiting -= 1
        return {
            domain: lease.outcome
            for domain, lease in zip(domains, leases, strict=True)
            if lease.outcome is not None and not isinstance(lease.outcome, Result)
        }

    async def _wait(self, domains: tuple[str, ...], seconds: float) -> None:
        """Wait for the replies. Raises how an `enable` failed, and warns of those that are missing."""
        for domain, failure in (await self.answered(domains, seconds)).items():
            raise failure_of(failure, f"{domain}.enable", self._session_id)
        silent = ", ".join(f"{domain}.enable" for domain in domains if self._leases[domain].outcome is None)
        if silent and not self._open_dialogs:
            warn(
                f"{silent} on session {shown_id(self._session_id)} has no reply after {seconds:g} s: a dialog may have "
                "opened before this session was attached, a navigation may be in flight, or a script may be busy. The "
                "events of a Page.navigate that is sent now may be lost; give a longer wait, or wait=None."
            )

    def _take(self, domain: str, tries: int, *, after_crash: bool) -> None:
        lease = self._leases.get(domain)
        if lease is None or lease.failed:
            self._listen()
            lease = _Lease() if lease is None else lease
            try:
                self._enable(domain, lease, tries)
            except TargetCrashed:
                if not after_crash:
                    raise
                self._lost[domain] = tries
            self._leases[domain] = lease
        if domain == "Page":
            self._disable_later = False
        lease.holders += 1

    def _switch(self, domain: str, *, on: bool) -> PendingReply[Any]:
        return self._session._start(*switch(domain, on=on), joined=True, leased=True)

    def _enable(self, domain: str, lease: _Lease, tries: int) -> None:
        reply = self._switch(domain, on=True)
        lease.outcome = None
        reply.on_end(partial(self._answered, domain, lease, tries))

    def _answered(self, domain: str, lease: _Lease, tries: int, outcome: Outcome) -> None:
        if tries and self._leases.get(domain) is lease:
            if isinstance(outcome, Refusal) and outcome.message in PROCESS_GONE_MESSAGES:
                with suppress(Gone, LocalProtocolError):
                    self._enable(domain, lease, tries - 1)
                    return
            if isinstance(outcome, Loss) and outcome.kind == "crash":
                self._lost[domain] = tries - 1
        lease.outcome = outcome
        self._wake()
        if isinstance(outcome, Refusal) and not lease.waiting:
            self._report(f"{domain}.enable", outcome)

    def _release(self, domain: str) -> None:
        lease = self._leases[domain]
        lease.holders -= 1
        if lease.holders:
            return
        if domain == "Page" and self._open_dialogs:
            self._disable_later = True
        else:
            self._disable(domain)

    def _disable(self, domain: str) -> None:
        lease = self._leases.pop(domain)
        if isinstance(lease.outcome, Refusal) or self._domains.is_raw(self._session_id, domain):
            return
        try:
            self._switch(domain, on=False).on_end()
        except TargetCrashed:  # the next renderer process begins with the domains that were enabled
            self._lost[domain] = 0
        except (Gone, LocalProtocolError):
            pass  # the session has ended, and its domains with it; or other code disabled Fetch, which is claimed since

    def _listen(self) -> None:
        if not self._listening:
            self._session.listen((OPENING, CLOSED, RELOADED), self)
            self._listening = True

    def _wake(self) -> None:
        changed, self._changed = self._changed, trio.Event()
        changed.set()

    # ── the sink for dialogs and reloads ─────────────────────────────────────────────────────────────────────────────

    def push(self, event: Event, _at: float, /) -> None:
        if event.method == RELOADED:
            self._reloaded()
        elif event.method == OPENING:
            self._open_dialogs += 1
            self._wake()
        else:
            self._open_dialogs = max(self._open_dialogs - 1, 0)
            if self._disable_later and not self._open_dialogs:
                self._disable_later = False
                self._disable("Page")

    def _reloaded(self) -> None:
        """Send to the new renderer process what the crash has cost."""
        lost, self._lost = self._lost, {}
        for domain, tries in lost.items():
            lease = self._leases.get(domain)
            with suppress(Gone, LocalProtocolError):
                if lease is None:
                    self._switch(domain, on=False).on_end()
                else:
                    self._enable(domain, lease, tries)

    def end(self, _error: Callable[[], BaseException], /) -> None:
        self._open_dialogs = 0
        self._disable_later = False
        self._wake()


def _check(domains: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names as plain strings, or raise InvalidArgument.

    The browser would refuse an unknown domain too, but no caller waits for that refusal.
    """
    if not domains:
        raise InvalidArgument("Name the domains to enable, as in enabled('Page', 'Network').")
    for domain in domains:
        if not isinstance(domain, str) or re.fullmatch(_DOMAIN, domain) is None:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidArgument(f"{domain!r} is not the name of a domain; write it as in 'Page'.")
    return tuple(str.__str__(domain) for domain in domains)
