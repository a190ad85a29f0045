"""One navigation: the events of its request and its start, and what its response means for the frame."""

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
"""Kinds of navigation that do not change the history."""


@attrs.frozen(eq=False)
class Navigation:
    """A navigation that has begun and is not committed yet."""

    frame: Frame
    target: Target
    url: str
    loader: str
    kind: str
    transition: str = "typed"
    replace_entry: bool = False
    entry: Entry | None = None
    """The history entry that it goes to; None for a new document."""
    by_script: bool = False
    new_entry: bool = False
    """A script of another process asked for it: it adds a history entry even if the URL stays the same."""

    @property
    def started_params(self) -> Json:
        return {"frameId": self.frame.id, "url": self.url, "loaderId": self.loader, "navigationType": self.kind}


def referrer_of(frame: Frame, reason: str) -> str:
    """Return the URL of the document that started the navigation by a script; "" for a command."""
    if reason and frame.parent is not None:
        return frame.parent.url
    if frame.target.opener is not None and not frame.loader:
        return frame.target.opener.url
    return frame.url if reason else ""


def is_same_renderer_request(frame: Frame, *, by_itself: bool) -> bool:
    """Return whether the script that starts the navigation runs on the frame's own target."""
    return by_itself or frame.target is above(frame)


def emit_requested(world: World, frame: Frame, url: str, reason: str, *, own: bool) -> None:
    if own:
        emit_scheduled(world, frame, url, reason)
    requested = {"frameId": frame.id, "reason": reason, "url": url, "disposition": "currentTab"}
    target = frame.target if own else above(frame)
    world.emit_to(target, "Page", "Page.frameRequestedNavigation", requested, frame)


def emit_scheduled(world: World, frame: Frame, url: str, reason: str) -> None:
    """Emit `Page.frameScheduledNavigation`: the navigation begins when the script lets it."""
    scheduled = {"frameId": frame.id, "delay": 0, "reason": reason, "url": url}
    world.emit_to(frame.target, "Page", "Page.frameScheduledNavigation", scheduled, frame)


def emit_started_by_script(world: World, navigation: Navigation, *, own: bool) -> None:
    """Emit the start of a script's navigation; for a target's top frame, only when the script has ended."""
    if own and navigation.frame is navigation.target.frame:
        world.soon(partial(emit_started, world, navigation))
    else:
        emit_started(world, navigation)
    if own:
        emit_cleared(world, navigation.frame)


def emit_cleared(world: World, frame: Frame) -> None:
    world.emit_to(frame.target, "Page", "Page.frameClearedScheduledNavigation", {"frameId": frame.id}, frame)


def emit_started(world: World, navigation: Navigation) -> None:
    world.emit_to(navigation.target, "Page", "Page.frameStartedNavigating", navigation.started_params, navigation.frame)
    world.emit_to(
        navigation.target, "Page", "Page.frameStartedLoading", {"frameId": navigation.frame.id}, navigation.frame
    )


def above(frame: Frame) -> Target:
    """Return the target with the frame's element, on which requests to navigate the frame are reported."""
    return frame.target if frame.parent is None else frame.parent.target


def failure_by(response: ResourceResponse) -> str | None:
    """Return the error with which a response fails its navigation, if any.

    With `net::ERR_ABORTED` the frame keeps its document.
    """
    if response.status in (204, 205):
        return "net::ERR_ABORTED"
    if response.status >= 400 and response.body == b"":
        return "net::ERR_HTTP_RESPONSE_CODE_FAILURE"
    return response.failure


def type_of(response: ResourceResponse) -> str:
    """Return the MIME type of a response that a client made, guessed from the body if no header names it."""
    if response.body is None:
        return ""
    content_type = response.header("Content-Type")
    if content_type is not None:
        return content_type.partition(";")[0].strip()
    return "text/html" if response.body.lstrip().startswith(b"<") else "text/plain"


def has_no_script(_frame: Frame, done: Callable[[], None]) -> None:
    """Load a document without steps: a fake's script has none for documents that a client made."""
    done()
