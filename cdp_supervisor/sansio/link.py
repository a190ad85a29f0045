"""The phases of the link: up, down, reconnecting, given up.

This module does not know the messages that a link carries.

A command is never sent twice: a command that was open when the link broke ends with the link, and its caller decides
what to do (docs/cdp/a-command-is-sent-once.md). A link that does not answer is treated as down
(docs/cdp/a-quiet-link-gets-a-keepalive-command.md). After a reconnect the supervisor reads from the browser which
targets exist, and assumes nothing about them (docs/cdp/another-browser-behind-the-address-is-reported.md).
"""

from __future__ import annotations

from typing import Final

from immutables import Map

from cdp_core.sansio.messages import Refusal
from cdp_core.sansio.outcomes import Loss
from cdp_core.sansio.structs import replace
from cdp_supervisor.errors import SupervisorStopped
from cdp_supervisor.sansio import calls, changes, effects, pages, recovery
from cdp_supervisor.sansio.inputs import LinkDown, LinkUp
from cdp_supervisor.sansio.transition import Transition

HALF_OPEN: Final = 2
"""Consecutive keepalive commands without a reply after which a link counts as down."""


def link_up(transition: Transition, up: LinkUp) -> None:
    """Start on a new link: discover targets, auto-attach, list the targets, and begin the keepalive."""
    old = transition.state.link
    if old.phase in ("up", "stopped", "gave_up"):
        return
    ids_known = bool(old.browser_id and up.browser_id)
    other = ids_known and old.browser_id != up.browser_id
    transition.update(
        link=replace(
            old,
            phase="up",
            reason="",
            since=transition.at,
            owned=up.owned,
            browser_id=up.browser_id or old.browser_id,
            browser_changed=old.browser_changed or other,
            browser_ids_known=ids_known,
            listed=False,
            unsupported="",
            pages_before=transition.state.last_page,
            unanswered=0,
        )
    )
    transition.note("info", "link up")
    if other:
        transition.note("warning", "another browser is behind the link; the pages of the previous browser are gone")
    transition.emit(effects.Discover())
    if not transition.state.adopting and not transition.state.scope.sharing:
        transition.emit(effects.AutoAttach())
    transition.send(None, "Target.getTargets", purpose="targets")
    _keep_alive(transition)
    transition.publish(changes.LinkChanged(phase="up", generation=transition.state.generation, reason=""))


def link_down(transition: Transition, down: LinkDown) -> None:
    """End everything that depends on the link, then schedule a redial or give up."""
    link = transition.state.link
    if link.phase in ("down", "stopped", "gave_up"):
        return
    transition.cancel(("keepalive", ""))
    transition.cancel(("titles", ""))
    _end_tickets(transition, down.reason)
    pages.link_lost(transition)
    failures = link.failures + 1
    budget = transition.state.reconnect.budget
    over = down.final or not link.owned or failures > budget
    phase = "gave_up" if over else "down"
    transition.update(
        link=replace(link, phase=phase, reason=down.reason, since=transition.at, failures=failures, listed=False)
    )
    transition.publish(changes.LinkChanged(phase=phase, generation=transition.state.generation, reason=down.reason))
    if over:
        why = "link_not_owned" if not link.owned else "gave_up"
        transition.note(
            "warning", "link down; the supervisor does not reconnect", reason=down.reason, failures=failures
        )
        calls.end_all(transition, lambda: SupervisorStopped(why))
    else:
        wait = transition.state.reconnect.wait_before(failures, down.jitter)
        transition.schedule(("redial", ""), wait, f"the link is down ({down.reason})")
        if failures == 1:
            transition.note("warning", "link down", reason=down.reason)


def redial(transition: Transition) -> None:
    """Have the event source dial a link of the next generation."""
    if transition.state.link.phase != "down":
        return
    generation = transition.state.generation + 1
    transition.update(
        generation=generation, link=replace(transition.state.link, phase="connecting", since=transition.at)
    )
    transition.emit(effects.Dial(generation=generation))


def keepalive_due(transition: Transition) -> None:
    """Send a keepalive command if the link was quiet, or end the link if earlier ones got no reply.

    Some services end a quiet connection, and a dead peer does not report its end.
    """
    link, period = transition.state.link, transition.state.keepalive
    if link.phase != "up" or period is None:
        return
    if link.unanswered >= HALF_OPEN:
        transition.note("warning", "the browser stopped answering keepalive commands", unanswered=link.unanswered)
        transition.emit(effects.Disconnect(reason="half_open"))
    elif link.unanswered or transition.now - link.last_sent >= period:
        transition.send(None, "Browser.getVersion", purpose="keepalive")
        transition.update(link=replace(transition.state.link, unanswered=link.unanswered + 1))
    _keep_alive(transition)


def unsupported(transition: Transition, refusal: Refusal) -> None:
    """End a link on which `Target.getTargets` was refused: a supervisor needs the list of targets."""
    why = f"Target.getTargets was refused (code {refusal.code})"
    transition.note("warning", "the endpoint cannot be supervised", why=why)
    transition.update(link=replace(transition.state.link, unsupported=why))
    if not transition.state.adopting:
        transition.emit(effects.Disconnect(reason="unsupported"))


def alive(transition: Transition) -> None:
    """Reset the count of unanswered keepalive commands: the browser sent a reply."""
    if transition.state.link.unanswered:
        transition.update(link=replace(transition.state.link, unanswered=0))


def _keep_alive(transition: Transition) -> None:
    if transition.state.keepalive is not None:
        quiet = transition.now - transition.state.link.last_sent
        left = transition.state.keepalive - quiet if quiet < transition.state.keepalive else transition.state.keepalive
        transition.schedule(("keepalive", ""), left, "the link is quiet")


def _end_tickets(transition: Transition, reason: str) -> None:
    """End every open command with the link, each once."""
    detail = "The link to the browser ended; the snapshot shows whether the supervisor reconnects."
    loss = Loss(kind="connection", reason=reason, detail=detail)
    tickets = transition.state.tickets
    transition.update(tickets=Map())
    for number, ticket in sorted(tickets.items()):
        if ticket.purpose == "call":
            calls.call_ended(transition, ticket, number, loss)
        elif ticket.purpose == "remedy":
            recovery.remedy_ended(transition, ticket, number, loss)
        elif ticket.purpose == "proof":
            recovery.proof_ended(transition, ticket, number, loss)
