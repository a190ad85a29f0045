"""One command that is being executed, and the table of the modelled commands.

A command that the browser process handles is answered at once, whatever the page does. A command that the renderer
handles waits while a dialog stops that renderer (fact 15), and for ever if the renderer crashed (fact 49) or the
session ended (fact 55). The two kinds of replies are separate streams (fact 56).

Parameters are checked against the protocol before a command has any effect, with Chromium's error messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, Literal

import attrs

from cdp_core.sansio.crash_table import ANSWERED
from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.commands.shapes import chromium_has, params_of
from cdp_core.testing.fake.model import contexts, tabs
from cdp_core.testing.fake.model.dispatch_errors import Refused, Shape, check_params
from cdp_core.testing.fake.model.parts import Session, Target
from cdp_core.testing.fake.player import Player
from cdp_core.testing.fake.world import World

ANSWERED_BY_RENDERER: Final = frozenset(("Target.setAutoAttach",))
"""Executed by the browser process, and answered once the renderer has answered (fact 15)."""
BEGUN_BY_BROWSER: Final = frozenset(("Page.enable",))
"""The browser process does its part even if the renderer crashed, and answers later."""
LATER: Final[Json] = {}
"""Returned instead of a result: the command calls `Call.answer` later, or never."""

FIRST: Final = "first"
"""A value of `parks`: the stopped renderer executes this before the commands that already wait."""
FRAMES: Final = frozenset(("page", "iframe"))
SCRIPTED: Final = frozenset(("page", "iframe", "worker", "service_worker", "shared_worker"))
ROOT: Final = frozenset(("browser",))
ANYWHERE: Final = SCRIPTED | ROOT


@attrs.frozen(eq=False)
class Call:
    """One command that is being executed."""

    world: World
    player: Player
    session: Session
    params: Json
    answer: Callable[[Json], None]
    """Replies with `{"result": …}` or `{"error": …}`."""
    close_browser: Callable[[], None]
    receive: Callable[[Session, str], None]
    """Passes a message to a session that is not flat."""

    @property
    def target(self) -> Target:
        """The session's target; not for a session on the browser, which has none."""
        assert self.session.target is not None
        return self.session.target

    def named_target(self) -> Target:
        """Return the target that `targetId` names. Raises Refused."""
        target = tabs.found(self.world, self.params.get("targetId", ""))
        if target is None:
            raise Refused(-32602, "No target with given id found")
        return target

    def has_context(self, number: int) -> bool:
        try:
            contexts.find(self.target, number)
        except Refused:
            return False
        return True

    def demand_root(self) -> None:
        """Check that the session is on the browser, not on a target. Raises Refused."""
        if self.session.target is not None:
            raise Refused(-32000, "Not allowed")

    def demand_top(self) -> None:
        """Check that the target is a page, not an iframe out of process. Raises Refused."""
        if self.target.type != "page":
            raise Refused(-32000, "Command can only be executed on top-level targets")


@attrs.frozen(eq=False)
class Modelled:
    """How a method is executed: by which process, and on which types of target."""

    run: Callable[[Call], Json]
    where: frozenset[str]
    by_renderer: bool
    parks: bool | Literal["first"]
    """Whether it waits while a dialog stops the renderer; `FIRST`: ahead of the commands that already wait."""
    fields: Mapping[str, tuple[Shape, bool]]

    def check(self, params: Any) -> Json:
        """Return the params if they fit the protocol. Raises Refused."""
        return check_params(params, self.fields)


COMMANDS: Final[dict[str, Modelled]] = {}


def find(method: str, session: Session) -> Modelled:
    """Return a method's command if the session's target takes it. Raises Refused."""
    command = COMMANDS.get(method)
    kind = "browser" if session.target is None else session.target.type
    if kind == "tab":
        has = method.startswith("Target.") or method == "Runtime.runIfWaitingForDebugger"
    else:
        has = command is not None and kind in command.where
    if command is None and chromium_has(method, kind):
        return _unmodelled(method)
    if command is None or not has:
        raise Refused(-32601, f"'{method}' wasn't found")
    return command


def is_answered_after_crash(target: Target, method: str) -> bool:
    """True if the browser process does this command, or its part of it, on a crashed target (fact 74)."""
    return method in BEGUN_BY_BROWSER or (target.type == "page" and method in ANSWERED)


@lru_cache(maxsize=1024)
def _unmodelled(method: str) -> Modelled:
    """Return a command for a method of Chromium that the fake does not model: refused and counted."""

    def refuse(call: Call) -> Json:
        call.world.unmodelled[method] += 1
        raise Refused(-32601, f"'{method}' wasn't found")

    return Modelled(refuse, ANYWHERE, by_renderer=False, parks=False, fields=params_of(method))


def modelled(
    method: str, where: frozenset[str], *, by_renderer: bool = False, parks: bool | Literal["first"] | None = None
) -> Callable[[Callable[[Call], Json]], Callable[[Call], Json]]:
    """Register a function as the command of a method.

    `parks` is whether it waits for a stopped renderer; by default, a command of the renderer does.
    """

    def register(run: Callable[[Call], Json]) -> Callable[[Call], Json]:
        waits = by_renderer if parks is None else parks
        COMMANDS[method] = Modelled(run, where, by_renderer, waits, params_of(method))
        return run

    return register
