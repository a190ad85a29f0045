"""Counted leases of CDP domains on one session.

The first holder of a domain sends `enable`, the last one sends `disable`. Neither waits for the reply: while a dialog
blocks the session's page, both are answered only afterwards (fact 15), and everything that the page answers later is
queued behind them anyway. Commands that the browser process answers are an exception: a `Page.navigate` to another
process overtakes an unanswered `enable`, and the events of its load are lost. A caller that needs these events first
sends an `enable` of its own and waits for its reply.

An `enable` that was sent to a renderer process that is gone had no effect, and is sent again to the process that
replaces it (docs/cdp/a-crash-ends-no-session.md). Any other refusal is counted and logged, since no caller waits for
it.

`Page.disable` is delayed while a dialog of this session is open: a browser without a native dialog handler would
dismiss the dialog (fact 24), and a browser with one would leave it open with no session able to answer it.
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
from cdp_core.sansio.outcomes import Loss, Outcome
from cdp_core.subscriptions import Sink

_DOMAIN = "[A-Z][A-Za-z0-9]*"
OPENING, CLOSED = "Page.javascriptDialogOpening", "Page.javascriptDialogClosed"
PROCESS_GONE_MESSAGES: Final = frozenset({"Target crashed", "Inspected target navigated or closed"})
"""Error messages of a command whose process is gone and was replaced by another one (facts 49, 55)."""
TRIES: Final = 3
"""How often an `enable` is sent again, if the peer answers each time that the process is gone."""


class LeaseSession(Protocol):
    """The methods of a session that leases use."""

    def send_nowait(self, command: str, params: None = None, /, *, bounded: bool = True) -> PendingReply[Any]: ...

    def listen(self, methods: tuple[str, ...], sink: Sink, /) -> None: ...


class Leases:
    """The domains of one session that are enabled, with the number of holders of each.

    `report` is called with each refusal that no caller waits for.
    """

    def __init__(self, session: LeaseSession, report: Callable[[str, Refusal], None]) -> None:
        self._session = session
        self._report = report
        self._holders: dict[str, int] = {}
        self._open_dialogs = 0
        self._watching = self._disable_later = False

    @asynccontextmanager
    async def hold(self, domains: tuple[str, ...]) -> AsyncGenerator[None, None]:
        domains = _check(domains)
        await checkpoint()
        release = self.take(domains)
        try:
            yield
        finally:
            release()

    def take(self, domains: tuple[str, ...], tries: int = TRIES) -> Callable[[], None]:
        """Hold domains enabled until the returned function is called."""
        domains = _check(domains)
        taken: list[str] = []

        def release() -> None:
            while taken:
                self._release(taken.pop())

        try:
            for domain in domains:
                self._take(domain, tries)
                taken.append(domain)
        except BaseException:
            release()
            raise
        return release

    def counts(self) -> Mapping[str, int]:
        """Return the number of holders of each domain."""
        return dict(self._holders)

    def _take(self, domain: str, tries: int) -> None:
        if domain in self._holders:
            self._holders[domain] += 1
            return
        if domain == "Page":
            self._watch_dialogs()
        if not (domain == "Page" and self._disable_later):
            self._enable(domain, tries)
        self._disable_later = False if domain == "Page" else self._disable_later
        self._holders[domain] = 1

    def _enable(self, domain: str, tries: int) -> None:
        self._session.send_nowait(f"{domain}.enable", bounded=False).on_end(partial(self._answered, domain, tries))

    def _answered(self, domain: str, tries: int, outcome: Outcome) -> None:
        if tries and domain in self._holders and _renderer_is_gone(outcome):
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
        # The session has ended, and its domains with it; or other code disabled Fetch, which is claimed since.
        with suppress(Gone, LocalProtocolError):
            self._session.send_nowait(f"{domain}.disable").on_end()

    def _watch_dialogs(self) -> None:
        if not self._watching:
            self._watching = True
            self._session.listen((OPENING, CLOSED), self)

    # ── the sink for dialogs ─────────────────────────────────────────────────────────────────────────────────────────

    def push(self, event: Event, _at: float, /) -> None:
        if event.method == OPENING:
            self._open_dialogs += 1
            return
        self._open_dialogs = max(self._open_dialogs - 1, 0)
        if self._disable_later and not self._open_dialogs:
            self._disable_later = False
            self._disable("Page")

    def end(self, _error: Callable[[], BaseException], /) -> None:
        self._open_dialogs = 0
        self._disable_later = False


def _renderer_is_gone(outcome: Outcome) -> bool:
    """Return True if the command's renderer process is gone and its page may get another one."""
    if isinstance(outcome, Loss):
        return outcome.kind == "crash"
    return isinstance(outcome, Refusal) and outcome.message in PROCESS_GONE_MESSAGES


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
