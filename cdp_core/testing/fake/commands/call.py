"""One command that is being carried out, and the table of those that are understood.

A command of the browser's own process is answered at once, whatever the page does. One of the renderer waits while a
dialog stops that renderer (fact 15), and for ever where it crashed (fact 49) or its session ended (fact 55). The two are
different streams of replies (fact 56).

Parameters are checked against the protocol before anything happens, with Chromium's own words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, Literal

import attrs

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.commands.shapes import chromium_has, params_of
from cdp_core.testing.fake.model import contexts, tabs
from cdp_core.testing.fake.model.dispatch_errors import Refused, Shape, check_params
from cdp_core.testing.fake.model.parts import Session, Target
from cdp_core.testing.fake.player import Player
from cdp_core.testing.fake.world import World

ANSWERED_BY_RENDERER: Final = frozenset(("Target.setAutoAttach",))
"""Carried out by the browser, and answered when the renderer has been asked (fact 15)."""
BEGUN_BY_BROWSER: Final = frozenset(("Page.enable",))
"""The browser does its part of it also where the renderer is dead."""
LATER: Final[Json] = {}
"""In place of a result: the command answers by itself, or never."""

FIRST: Final = "first"
"""Of a renderer that is stopped: it comes to this before the commands that wait already."""
FRAMES: Final = frozenset(("page", "iframe"))
SCRIPTED: Final = frozenset(("page", "iframe", "worker", "service_worker", "shared_worker"))
ROOT: Final = frozenset(("browser",))
ANYWHERE: Final = SCRIPTED | ROOT


@attrs.frozen(eq=False)
class Call:
    """One command that is being carried out."""

    world: World
    player: Player
    session: Session
    params: Json
    answer: Callable[[Json], None]
    """With `{"result": …}` or `{"error": …}`."""
    close_browser: Callable[[], None]
    receive: Callable[[Session, str], None]
    """A message for a session that is not flat."""

    @property
    def target(self) -> Target:
        """The target of the session."""
        assert self.session.target is not None
        return self.session.target

    def named_target(self) -> Target:
        """The target of `targetId`. Raises Refused."""
        target = tabs.found(self.world, self.params.get("targetId", ""))
        if target is None:
            raise Refused(-32602, "No target with given id found")
        return target

    def has_context(self, number: int) -> bool:
        """Whether the target has an execution context of that id."""
        try:
            contexts.find(self.target, number)
        except Refused:
            return False
        return True

    def demand_root(self) -> None:
        """What only the browser's own session may do. Raises Refused."""
        if self.session.target is not None:
            raise Refused(-32000, "Not allowed")

    def demand_top(self) -> None:
        """What only a page can do, an iframe out of process refuses. Raises Refused."""
        if self.target.type != "page":
            raise Refused(-32000, "Command can only be executed on top-level targets")


@attrs.frozen(eq=False)
class Modelled:
    """How a method is carried out: by whom, and on which kinds of target."""

    run: Callable[[Call], Json]
    where: frozenset[str]
    by_renderer: bool
    parks: bool | Literal["first"]
    """Whether it waits while a dialog stops the renderer, and whether before what waits already."""
    fields: Mapping[str, tuple[Shape, bool]]

    def check(self, params: Any) -> Json:
        """The params. Raises Refused."""
        return check_params(params, self.fields)


COMMANDS: Final[dict[str, Modelled]] = {}


def find(method: str, session: Session) -> Modelled:
    """The command, where the session's target has it. Raises Refused."""
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


@lru_cache(maxsize=1024)
def _unmodelled(method: str) -> Modelled:
    """A command that Chromium has: its parameters are checked, and then it is refused, and counted."""

    def refuse(call: Call) -> Json:
        call.world.unmodelled[method] += 1
        raise Refused(-32601, f"'{method}' wasn't found")

    return Modelled(refuse, ANYWHERE, by_renderer=False, parks=False, fields=params_of(method))


def modelled(
    method: str, where: frozenset[str], *, by_renderer: bool = False, parks: bool | Literal["first"] | None = None
) -> Callable[[Callable[[Call], Json]], Callable[[Call], Json]]:
    """Put a function into the table, as what a method does; `parks` is whether it waits for a stopped renderer."""

    def register(run: Callable[[Call], Json]) -> Callable[[Call], Json]:
        waits = by_renderer if parks is None else parks
        COMMANDS[method] = Modelled(run, where, by_renderer, waits, params_of(method))
        return run

    return register
