"""Counted leases of domains on one session.

`enable` is sent with the first holder and `disable` with the last. Neither is waited for: on a session whose page is
blocked by a dialog both are answered only afterwards (fact 15), and what the page answers later stands behind them
anyway. Not so what the browser answers by itself: a `Page.navigate` to another process overtakes an `enable` that is not
answered yet, and the events of its load are lost; who waits for these first sends an `enable` of their own, and waits.
An `enable` that was asked of a process that is gone was not done, and is asked again of the one in its place
(docs/cdp/a-crash-ends-no-session.md); any other refusal is counted and logged, since nobody hears it.
`Page.disable` is put off while a dialog of this session is open: a browser without a native handler would dismiss the
dialog (fact 24), and one with a native handler would leave it up with nobody able to answer.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Final, Protocol

from trio.lowlevel import checkpoint

from cdp_core.errors import Gone, InvalidArgument, LocalProtocolError
from cdp_core.replies import PendingReply
from cdp_core.sansio.messages import Event, Refusal
from cdp_core.sansio.router import Loss, Outcome
from cdp_core.subscriptions import Sink

_DOMAIN = "[A-Z][A-Za-z0-9]*"
OPENING, CLOSED = "Page.javascriptDialogOpening", "Page.javascriptDialogClosed"
PROCESS_GONE_MESSAGES: Final = frozenset({"Target crashed", "Inspected target navigated or closed"})
"""What is said of a command whose process is gone, when there is another one (facts 49, 55)."""
TRIES: Final = 3
"""How often an `enable` is asked again, for a peer that says so each time."""


class LeaseSession(Protocol):
    """What leases need of their session."""

    def send_nowait(self, command: str, params: None = None, /) -> PendingReply[Any]:
        """See Session."""
        ...

    def listen(self, methods: tuple[str, ...], sink: Sink, /) -> None:
        """See Session."""
        ...


class Leases:
    """Who holds which domain of a session enabled; `report` is told of a refusal that nobody hears."""

    def __init__(self, session: LeaseSession, report: Callable[[str, Refusal], None]) -> None:
        self._session = session
        self._report = report
        self._holders: dict[str, int] = {}
        self._open_dialogs = 0
        self._watching = self._disable_later = False

    @asynccontextmanager
    async def hold(self, domains: tuple[str, ...]) -> AsyncGenerator[None, None]:
        """For the block."""
        domains = _check(domains)
        await checkpoint()
        release = self.take(domains)
        try:
            yield
        finally:
            release()

    def take(self, domains: tuple[str, ...]) -> Callable[[], None]:
        """From now on, until what is returned is called."""
        domains = _check(domains)
        taken: list[str] = []

        def release() -> None:
            while taken:
                self._release(taken.pop())

        try:
            for domain in domains:
                self._take(domain)
                taken.append(domain)
        except BaseException:
            release()
            raise
        return release

    def counts(self) -> Mapping[str, int]:
        """Holders by domain."""
        return dict(self._holders)

    def _take(self, domain: str) -> None:
        if domain in self._holders:
            self._holders[domain] += 1
            return
        if domain == "Page":
            self._watch_dialogs()
        if not (domain == "Page" and self._disable_later):
            self._enable(domain, TRIES)
        self._disable_later = False if domain == "Page" else self._disable_later
        self._holders[domain] = 1

    def _enable(self, domain: str, tries: int) -> None:
        self._session.send_nowait(f"{domain}.enable").on_end(partial(self._answered, domain, tries))

    def _answered(self, domain: str, tries: int, outcome: Outcome) -> None:
        if tries and domain in self._holders and _is_undone(outcome):
            with suppress(Gone, LocalProtocolError):
                self._enable(domain, tries - 1)
                return
        if isinstance(outcome, Refusal):
            self._report(f"{domain}.enable", outcome)

    def _release(self, domain: str) -> None:
        self._holders[domain] -= 1
        if self._holders[domain]:
            return
        del self._holders[domain]
        if domain == "Page" and self._open_dialogs:
            self._disable_later = True
        else:
            self._disable(domain)

    def _disable(self, domain: str) -> None:
        with suppress(Gone, LocalProtocolError):  # the session has ended, and its domains with it
            self._session.send_nowait(f"{domain}.disable").on_end()

    def _watch_dialogs(self) -> None:
        if not self._watching:
            self._watching = True
            self._session.listen((OPENING, CLOSED), self)

    # ── the sink for dialogs ─────────────────────────────────────────────────────────────────────────────────────────

    def push(self, event: Event, _at: float, /) -> None:
        """See Sink."""
        if event.method == OPENING:
            self._open_dialogs += 1
            return
        self._open_dialogs = max(self._open_dialogs - 1, 0)
        if self._disable_later and not self._open_dialogs:
            self._disable_later = False
            self._disable("Page")

    def end(self, _error: Callable[[], BaseException], /) -> None:
        """See Sink."""
        self._open_dialogs = 0
        self._disable_later = False


def _is_undone(outcome: Outcome) -> bool:
    """Whether the process that was asked is gone, and its page may get another one."""
    if isinstance(outcome, Loss):
        return outcome.kind == "crash"
    return isinstance(outcome, Refusal) and outcome.message in PROCESS_GONE_MESSAGES


def _check(domains: tuple[str, ...]) -> tuple[str, ...]:
    """The names as plain strings; a browser would only refuse what is no domain, and nobody waits for that refusal."""
    if not domains:
        raise InvalidArgument("Name the domains to enable, as in enabled('Page', 'Network').")
    for domain in domains:
        if not isinstance(domain, str) or re.fullmatch(_DOMAIN, domain) is None:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidArgument(f"{domain!r} is no domain's name; it is written as in 'Page'.")
    return tuple(str.__str__(domain) for domain in domains)
