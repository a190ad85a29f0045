"""The link: up, down, dialled again, given up. What it carries is told elsewhere.

A command is never sent twice: what was under way when a link broke ends with it, and its caller decides
(docs/cdp/a-command-is-sent-once.md). A link that does not answer is as good as down (docs/cdp/a-quiet-link-gets-a-keepalive-command.md).
What is found behind a new link is read from the browser, not hoped for
(docs/cdp/another-browser-behind-the-address-is-reported.md).
"""

from __future__ import annotations

from typing import Final

from immutables import Map

from cdp_core.sansio.messages import Refusal
from cdp_core.sansio.router import Loss
from cdp_core.sansio.structs import replace
from cdp_supervisor.errors import SupervisorStopped
from cdp_supervisor.sansio import calls, changes, effects, pages, recovery
from cdp_supervisor.sansio.inputs import LinkDown, LinkUp
from cdp_supervisor.sansio.transition import Turn

__all__ = ["alive", "keepalive_due", "link_down", "link_up", "redial", "unsupported"]

HALF_OPEN: Final = 2
"""Keepalives in a row without an answer, after which a link counts as down."""


def link_up(turn: Turn, up: LinkUp) -> None:
    """There is a link."""
    old = turn.state.link
    if old.phase in ("up", "stopped", "gave_up"):
        return
    told = bool(old.browser_id and up.browser_id)
    other = told and old.browser_id != up.browser_id
    turn.put(
        link=replace(
            old,
            phase="up",
            reason="",
            since=turn.at,
            owned=up.owned,
            browser_id=up.browser_id or old.browser_id,
            browser_changed=old.browser_changed or other,
            browser_told=told,
            listed=False,
            unsupported="",
            pages_before=turn.state.last_page,
            unanswered=0,
        )
    )
    turn.note("info", "link up")
    if other:
        turn.note("warning", "another browser is behind the link: the pages of before are gone")
    turn.order(effects.Discover())
    if not turn.state.adopting:
        turn.order(effects.AutoAttach())
    turn.send(None, "Target.getTargets", purpose="targets")
    _keep_alive(turn)
    turn.tell(changes.LinkChanged(phase="up", epoch=turn.state.epoch, reason=""))


def link_down(turn: Turn, down: LinkDown) -> None:
    """There is none any more, or none could be made."""
    link = turn.state.link
    if link.phase in ("down", "stopped", "gave_up"):
        return
    turn.calm("keepalive")
    _end_tickets(turn, down.reason)
    pages.link_lost(turn)
    failures = link.failures + 1
    budget = turn.state.reconnect.budget
    over = down.final or not link.owned or failures > budget
    phase = "gave_up" if over else "down"
    turn.put(link=replace(link, phase=phase, reason=down.reason, since=turn.at, failures=failures, listed=False))
    turn.tell(changes.LinkChanged(phase=phase, epoch=turn.state.epoch, reason=down.reason))
    if over:
        why = "link_not_owned" if not link.owned else "gave_up"
        turn.note("warning", "link down, and not dialled again", reason=down.reason, failures=failures)
        calls.end_all(turn, lambda: SupervisorStopped(why))
    else:
        wait = turn.state.reconnect.wait_before(failures, down.jitter)
        turn.wake("redial", wait, f"the link is down ({down.reason})")
        if failures == 1:
            turn.note("warning", "link down", reason=down.reason)


def redial(turn: Turn) -> None:
    """It is time to try again."""
    if turn.state.link.phase != "down":
        return
    epoch = turn.state.epoch + 1
    turn.put(epoch=epoch, link=replace(turn.state.link, phase="connecting", since=turn.at))
    turn.order(effects.Dial(epoch=epoch))


def keepalive_due(turn: Turn) -> None:
    """Nothing was sent for a while: some services end a link that is quiet, and a dead one says nothing."""
    link, period = turn.state.link, turn.state.keepalive
    if link.phase != "up" or period is None:
        return
    if link.unanswered >= HALF_OPEN:
        turn.note("warning", "the browser does not answer any more", unanswered=link.unanswered)
        turn.order(effects.Disconnect(reason="half_open"))
    elif link.unanswered or turn.now - link.last_sent >= period:
        turn.send(None, "Browser.getVersion", purpose="keepalive")
        turn.put(link=replace(turn.state.link, unanswered=link.unanswered + 1))
    _keep_alive(turn)


def unsupported(turn: Turn, refusal: Refusal) -> None:
    """What answers there is no browser: it does not say which targets it has."""
    why = f"Target.getTargets was refused (code {refusal.code})"
    turn.note("warning", "what answers there cannot be supervised", why=why)
    turn.put(link=replace(turn.state.link, unsupported=why))
    if not turn.state.adopting:
        turn.order(effects.Disconnect(reason="unsupported"))


def alive(turn: Turn) -> None:
    """The browser answered something."""
    if turn.state.link.unanswered:
        turn.put(link=replace(turn.state.link, unanswered=0))


def _keep_alive(turn: Turn) -> None:
    if turn.state.keepalive is not None:
        quiet = turn.now - turn.state.link.last_sent
        left = turn.state.keepalive - quiet if quiet < turn.state.keepalive else turn.state.keepalive
        turn.wake("keepalive", left, "the link is quiet")


def _end_tickets(turn: Turn, reason: str) -> None:
    """Whatever was under way ends with the link, once."""
    loss = Loss(kind="connection", reason=reason, detail="The link to the browser ended; it is dialled again.")
    tickets = turn.state.tickets
    turn.put(tickets=Map())
    for number, ticket in sorted(tickets.items()):
        if ticket.purpose == "call":
            calls.call_ended(turn, ticket, loss)
        elif ticket.purpose == "cure":
            recovery.cure_ended(turn, ticket, number, loss)
