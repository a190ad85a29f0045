"""One navigation on its way: how its wish and its beginning are told, and what its answer means for the frame."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import attrs

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.model.fetching import ResourceResponse
from cdp_core.testing.fake.model.history import Entry
from cdp_core.testing.fake.model.parts import Frame, Target
from cdp_core.testing.fake.world import World

RELOADS: Final = ("reload", "reloadBypassingCache")
"""Kinds of navigation that leave the history as it is."""


@attrs.frozen(eq=False)
class Navigation:
    """One that is on its way."""

    frame: Frame
    target: Target
    """The one that the frame had when it began."""
    url: str
    loader: str
    kind: str
    transition: str = "typed"
    """How the history calls it."""
    replace_entry: bool = False
    """In the place of the entry of the document that asks."""
    entry: Entry | None = None
    """Where it goes in the history, if it does."""
    by_script: bool = False
    new_entry: bool = False
    """A script of another process asks for it: it is a place in the history of its own, wherever it goes."""

    @property
    def started_params(self) -> Json:
        """How its beginning is told."""
        return {"frameId": self.frame.id, "url": self.url, "loaderId": self.loader, "navigationType": self.kind}


def referrer_of(frame: Frame, reason: str) -> str:
    """The address of the document whose script asks."""
    if reason and frame.parent is not None:
        return frame.parent.url
    if frame.target.opener is not None and not frame.loader:
        return frame.target.opener.url
    return frame.url if reason else ""


def is_same_renderer_request(frame: Frame, *, by_itself: bool) -> bool:
    """Whether the script that asks for it is in the frame's own process."""
    return by_itself or frame.target is above(frame)


def emit_requested(world: World, frame: Frame, url: str, reason: str, *, own: bool) -> None:
    """A script asks for it, of its own frame or of one inside."""
    if own:
        emit_scheduled(world, frame, url, reason)
    requested = {"frameId": frame.id, "reason": reason, "url": url, "disposition": "currentTab"}
    target = frame.target if own else above(frame)
    world.emit_to(target, "Page", "Page.frameRequestedNavigation", requested, frame)


def emit_scheduled(world: World, frame: Frame, url: str, reason: str) -> None:
    """It is to be as soon as the script lets it."""
    scheduled = {"frameId": frame.id, "delay": 0, "reason": reason, "url": url}
    world.emit_to(frame.target, "Page", "Page.frameScheduledNavigation", scheduled, frame)


def emit_started_by_script(world: World, navigation: Navigation, *, own: bool) -> None:
    """It begins; of a target's own frame only when the script there is over."""
    if own and navigation.frame is navigation.target.frame:
        world.soon(partial(emit_started, world, navigation))
    else:
        emit_started(world, navigation)
    if own:
        emit_cleared(world, navigation.frame)


def emit_cleared(world: World, frame: Frame) -> None:
    """It is no wish any more."""
    world.emit_to(frame.target, "Page", "Page.frameClearedScheduledNavigation", {"frameId": frame.id}, frame)


def emit_started(world: World, navigation: Navigation) -> None:
    """It begins."""
    world.emit_to(navigation.target, "Page", "Page.frameStartedNavigating", navigation.started_params, navigation.frame)
    world.emit_to(
        navigation.target, "Page", "Page.frameStartedLoading", {"frameId": navigation.frame.id}, navigation.frame
    )


def above(frame: Frame) -> Target:
    """Where a frame's own element is: what is asked of a frame is told there."""
    return frame.target if frame.parent is None else frame.parent.target


def failure_by(response: ResourceResponse) -> str | None:
    """By what a navigation fails that was answered so; the browser stays where it is where that is ERR_ABORTED."""
    if response.status in (204, 205):
        return "net::ERR_ABORTED"
    if response.status >= 400 and response.body == b"":
        return "net::ERR_HTTP_RESPONSE_CODE_FAILURE"
    return response.failure


def type_of(response: ResourceResponse) -> str:
    """The type of what a client made up; what it does not say is guessed from the body, as browsers do."""
    if response.body is None:
        return ""
    content_type = response.header("Content-Type")
    if content_type is not None:
        return content_type.partition(";")[0].strip()
    return "text/html" if response.body.lstrip().startswith(b"<") else "text/plain"


def has_no_script(_frame: Frame, done: Callable[[], None]) -> None:
    """The script tells what documents of the network do, and nothing of those that a client made."""
    done()
