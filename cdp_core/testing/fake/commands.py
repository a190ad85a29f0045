"""What a fake browser understands: one function for each command, and who carries it out.

A command of the browser's own process is answered at once, whatever the page does. One of the renderer waits while a
dialog stops that renderer (fact 15), and for ever where it crashed (fact 49) or its session ended (fact 55). The two are
different streams of replies (fact 56).

A method that is not here is refused as Chromium refuses one that it has never heard of, and counted: `unmodelled`.
Parameters are checked against the protocol before anything happens, with Chromium's own words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import attrs

from cdp_core.sansio.wire import Json
from cdp_core.testing.fake import dialogs, frames, targets
from cdp_core.testing.fake.dispatch_errors import Refused, Shape, check_params
from cdp_core.testing.fake.evaluate import by_reference, evaluate
from cdp_core.testing.fake.player import Player
from cdp_core.testing.fake.shapes import params_of
from cdp_core.testing.fake.world import AutoAttach, Context, Session, Target, World, failure_of

__all__ = ["COMMANDS", "LATER", "Call", "Modelled", "find"]

ANSWERED_BY_RENDERER: Final = frozenset(("Target.setAutoAttach",))
"""Carried out by the browser, and answered when the renderer has been asked (fact 15)."""
LATER: Final[Json] = {}
"""In place of a result: the command answers by itself, or never."""

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

    @property
    def target(self) -> Target:
        """The target of the session."""
        assert self.session.target is not None
        return self.session.target

    def named_target(self) -> Target:
        """The target of `targetId`. Raises Refused."""
        target = self.world.targets.get(self.params.get("targetId", ""))
        if target is None:
            raise Refused(-32602, "No target with given id found")
        return target

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
    parks: bool
    """Whether it waits while a dialog stops the renderer."""
    fields: Mapping[str, tuple[Shape, bool]]

    def check(self, params: Any) -> Json:
        """The params. Raises Refused."""
        return check_params(params, self.fields)


COMMANDS: Final[dict[str, Modelled]] = {}


def find(method: str, session: Session) -> Modelled:
    """The command, where the session's target has it. Raises Refused."""
    command = COMMANDS.get(method)
    kind = "browser" if session.target is None else session.target.type
    if command is None or kind not in command.where:
        raise Refused(-32601, f"'{method}' wasn't found")
    return command


def _modelled(
    method: str, where: frozenset[str], *, by_renderer: bool = False, parks: bool | None = None
) -> Callable[[Callable[[Call], Json]], Callable[[Call], Json]]:
    def register(run: Callable[[Call], Json]) -> Callable[[Call], Json]:
        waits = by_renderer if parks is None else parks
        COMMANDS[method] = Modelled(run, where, by_renderer, waits, params_of(method))
        return run

    return register


# ── the browser ──────────────────────────────────────────────────────────────────────────────────────────────────────


@_modelled("Browser.getVersion", ANYWHERE)
def _get_version(call: Call) -> Json:
    shell = "HeadlessChrome" if call.world.profile == "headless-shell" else "Chrome"
    return {
        "protocolVersion": "1.3",
        "product": f"{shell}/156.0.8078.79",
        "revision": "@a21ce95c24ce3964416f09ae1862f53f319eb4d0",
        "userAgent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
        "HeadlessChrome/156.0.0.0 Safari/537.36",
        "jsVersion": "15.6.75.27",
    }


@_modelled("Browser.close", ANYWHERE)
def _close_browser(call: Call) -> Json:
    call.answer({"result": {}})
    call.close_browser()
    return LATER


# ── targets ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@_modelled("Target.getTargets", ANYWHERE)
def _get_targets(call: Call) -> Json:
    chosen = call.params.get("filter", targets.ALL_BUT_TABS)
    shown = [target.info() for target in call.world.targets.values() if targets.matches(chosen, target.type)]
    return {"targetInfos": shown}


@_modelled("Target.getTargetInfo", ANYWHERE)
def _get_target_info(call: Call) -> Json:
    if "targetId" not in call.params:
        if call.session.target is None:
            shown: Json = {"targetId": call.world.uuid, "type": "browser", "title": "", "url": "", "attached": True}
            return {"targetInfo": {**shown, "canAccessOpener": False}}
        return {"targetInfo": call.target.info()}
    return {"targetInfo": call.named_target().info()}


@_modelled("Target.setDiscoverTargets", ANYWHERE)
def _set_discover(call: Call) -> Json:
    if call.params["discover"]:
        targets.discover(call.world, call.session)
    elif call.session in call.world.discoverers:
        call.world.discoverers.remove(call.session)
    return {}


@_modelled("Target.setAutoAttach", ANYWHERE)
def _set_auto_attach(call: Call) -> Json:
    # The browser attaches at once, and the answer waits for the renderer (fact 15).
    session = call.session
    if session.target is None and not call.params.get("flatten"):
        raise Refused(-32602, "Only flatten protocol is supported with browser level auto-attach")
    if not call.params["autoAttach"]:
        session.auto_attach = None
        for child in [each for each in session.client.sessions.values() if each.parent is session and each.automatic]:
            targets.detach(call.world, child)
        return {}
    chosen = tuple(call.params.get("filter") or targets.ALL_BUT_TABS)
    session.auto_attach = AutoAttach(wait=call.params["waitForDebuggerOnStart"], filter=chosen)
    targets.auto_attach_existing(call.world, session)
    if session.target is None:
        return {}
    if not session.target.crashed:
        dialogs.when_free(session.target, lambda: call.answer({"result": {}}))
    return LATER


@_modelled("Target.attachToTarget", ANYWHERE)
def _attach_to_target(call: Call) -> Json:
    session = targets.attach(call.world, call.named_target(), call.session)
    return {"sessionId": session.id}


@_modelled("Target.detachFromTarget", ANYWHERE)
def _detach_from_target(call: Call) -> Json:
    wanted, named = call.params.get("sessionId"), call.params.get("targetId")
    if wanted is None and named is None:
        raise Refused(-32602, "Session id must be specified")
    own = [each for each in call.session.client.sessions.values() if each.parent is call.session]
    if wanted is None:
        session = next((each for each in own if each.target is not None and each.target.id == named), None)
    else:
        session = next((each for each in own if each.id == wanted), None)
    if session is None:
        raise Refused(-32602, "No session with given id" if wanted else "No session for given target id")
    targets.detach(call.world, session)
    return {}


@_modelled("Target.createTarget", ANYWHERE)
def _create_target(call: Call) -> Json:
    context = _context_of(call)
    url = call.params["url"] or "about:blank"
    target = call.player.open_page(f"page {len(call.player.labels) + 1}", url, context=context)
    return {"targetId": target.id}


def _context_of(call: Call) -> Context:
    wanted = call.params.get("browserContextId")
    if wanted is None:
        return call.world.default_context
    if wanted not in call.world.contexts:
        raise Refused(-32000, f"Failed to find browser context with id {wanted}")
    return call.world.contexts[wanted]


@_modelled("Target.closeTarget", ANYWHERE)
def _close_target(call: Call) -> Json:
    target = call.named_target()
    if target.crashed or target.dialogs:  # otherwise the renderer is heard first
        targets.close(call.world, target)
        return {"success": True}
    call.answer({"result": {"success": True}})
    targets.close(call.world, target)
    return LATER


@_modelled("Target.activateTarget", ANYWHERE)
def _activate_target(call: Call) -> Json:
    call.named_target()
    return {}


@_modelled("Target.createBrowserContext", ANYWHERE)
def _create_context(call: Call) -> Json:
    call.demand_root()
    owner = call.session.client if call.params.get("disposeOnDetach") else None
    return {"browserContextId": call.world.new_context(owner).id}


@_modelled("Target.getBrowserContexts", ANYWHERE)
def _get_contexts(call: Call) -> Json:
    call.demand_root()
    default = call.world.default_context
    others = [context.id for context in call.world.contexts.values() if context is not default]
    return {"browserContextIds": others, "defaultBrowserContextId": default.id}


@_modelled("Target.disposeBrowserContext", ANYWHERE)
def _dispose_context(call: Call) -> Json:
    call.demand_root()
    context = call.world.contexts.get(call.params["browserContextId"])
    if context is None or context is call.world.default_context:
        raise Refused(-32000, f"Failed to find context with id {call.params['browserContextId']}")
    dispose(call.world, context)
    return {}


def dispose(world: World, context: Context) -> None:
    """A context ends, with its pages."""
    for target in [each for each in world.pages() if each.context is context]:
        targets.close(world, target)
    del world.contexts[context.id]


# ── pages ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@_modelled("Page.enable", FRAMES, by_renderer=True, parks=False)
def _page_enable(call: Call) -> Json:
    # The browser tells of its part at once, and the answer waits for the renderer (facts 15, 18).
    frame = call.target.frame
    if frame is not None and frame.begun is not None and call.target.held and "Page" not in call.session.domains:
        call.world.emit(call.session, "Page.frameStartedNavigating", frame.begun, frame)
    call.session.domains.add("Page")
    dialogs.when_free(call.target, lambda: call.answer({"result": {}}))
    return LATER


@_modelled("Page.disable", FRAMES, by_renderer=True)
def _page_disable(call: Call) -> Json:
    call.session.domains.discard("Page")
    return {}


@_modelled("Page.navigate", FRAMES)
def _page_navigate(call: Call) -> Json:
    frame = call.world.frames.get(call.params.get("frameId", "")) or call.target.frame
    if frame is None or ("frameId" in call.params and frame.id != call.params["frameId"]):
        raise Refused(-32000, "No frame with given id found")
    url = _spelled(call.params["url"])
    base, _, fragment = url.partition("#")
    if fragment and base == frame.url.partition("#")[0]:
        within: Json = {"frameId": frame.id, "isDownload": False}
        frames.navigate_within(call.world, frame, url, lambda: call.answer({"result": within}))
        return LATER
    # The reply precedes what the navigation commits (fact 56), so it is said in between.
    frames.navigate(
        call.world,
        frame,
        url,
        call.player.loaded,
        started=lambda made: call.answer({"result": _navigated(frame.id, made, failure_of(url))}),
    )
    return LATER


def _spelled(url: str) -> str:
    """A URL as a browser writes it. Raises Refused for what is none."""
    scheme, found, rest = url.partition(":")
    if not found or not scheme.replace("-", "").replace("+", "").isalnum():
        raise Refused(-32000, "Cannot navigate to invalid URL")
    bare = scheme in ("http", "https") and rest.startswith("//") and "/" not in rest[2:]
    return f"{url}/" if bare and not {"?", "#"} & set(rest) else url


def _navigated(frame_id: str, loader: str, failure: str | None) -> Json:
    why: Json = {} if failure is None else {"errorText": failure}
    return {"frameId": frame_id, "loaderId": loader, **why, "isDownload": False}


@_modelled("Page.reload", FRAMES)
def _page_reload(call: Call) -> Json:
    call.demand_top()
    frame = call.target.frame
    assert frame is not None
    started = partial(call.answer, {"result": {}})
    frames.navigate(call.world, frame, frame.url, call.player.loaded, kind="reload", started=lambda _loader: started())
    return LATER


@_modelled("Page.bringToFront", FRAMES)
def _bring_to_front(call: Call) -> Json:
    call.demand_top()
    return {}


@_modelled("Page.stopLoading", FRAMES)
def _stop_loading(_call: Call) -> Json:
    return {}


@_modelled("Page.close", FRAMES)
def _page_close(call: Call) -> Json:
    call.demand_top()
    call.answer({"result": {}})
    targets.close(call.world, call.target)
    return LATER


@_modelled("Page.crash", FRAMES, by_renderer=True, parks=False)
def _page_crash(call: Call) -> Json:
    targets.crash(call.world, call.target)
    return LATER


@_modelled("Page.getFrameTree", FRAMES, by_renderer=True)
def _get_frame_tree(call: Call) -> Json:
    assert call.target.frame is not None
    return {"frameTree": frames.tree(call.target.frame)}


@_modelled("Page.handleJavaScriptDialog", FRAMES)
def _handle_dialog(call: Call) -> Json:
    dialogs.answer(
        call.world,
        call.session,
        accept=call.params["accept"],
        text=call.params.get("promptText", ""),
        answered=lambda: call.answer({"result": {}}),
    )
    return LATER


@_modelled("Page.addScriptToEvaluateOnNewDocument", FRAMES, by_renderer=True)
def _add_script(call: Call) -> Json:
    identifier = str(len(call.session.scripts) + 1)
    call.session.scripts[identifier] = call.params["source"]
    return {"identifier": identifier}


@_modelled("Page.removeScriptToEvaluateOnNewDocument", FRAMES, by_renderer=True)
def _remove_script(call: Call) -> Json:
    if call.session.scripts.pop(call.params["identifier"], None) is None:
        raise Refused(-32000, "Script not found")
    return {}


# ── scripts ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@_modelled("Runtime.enable", SCRIPTED, by_renderer=True)
def _runtime_enable(call: Call) -> Json:
    if "Runtime" not in call.session.domains:
        call.session.domains.add("Runtime")
        for context in frames.announce_contexts(call.world, call.target):
            call.world.emit(call.session, "Runtime.executionContextCreated", {"context": context}, call.target.frame)
        for method, params in call.target.said:
            call.world.emit(call.session, method, params, call.target.frame)
    return {}


@_modelled("Runtime.disable", SCRIPTED, by_renderer=True)
def _runtime_disable(call: Call) -> Json:
    call.session.domains.discard("Runtime")
    return {}


@_modelled("Runtime.runIfWaitingForDebugger", SCRIPTED, by_renderer=True)
def _run_if_waiting(call: Call) -> Json:
    targets.run(call.target, call.session)
    return {}


@_modelled("Runtime.evaluate", SCRIPTED, by_renderer=True)
def _evaluate(call: Call) -> Json:
    frame = call.target.frame
    wanted = call.params.get("contextId")
    if frame is not None and wanted is not None:
        frame = next((each for each in frame.subtree() if each.target is call.target and each.context == wanted), None)
        if frame is None:
            raise Refused(-32000, "Cannot find context with specified id")
    if frame is None:
        return {"result": {"type": "undefined"}}
    expression = call.params["expression"]
    if call.params.get("awaitPromise") and _NEVER.fullmatch(expression):
        return LATER
    by_value = bool(call.params.get("returnByValue"))
    understood = evaluate(
        call.player,
        frame,
        expression,
        lambda value: call.answer({"result": {"result": value if by_value else by_reference(call.world, value)}}),
        user_gesture=bool(call.params.get("userGesture")),
    )
    if not understood:
        call.world.unmodelled["an expression of Runtime.evaluate"] += 1
    return LATER


_NEVER: Final = re.compile(r"\s*new Promise\(\(\) => (?:0|\{\})\)\s*;?\s*")
"""What every test writes for a command that is not answered."""


@_modelled("Inspector.enable", FRAMES, by_renderer=True)
def _inspector_enable(call: Call) -> Json:
    call.session.domains.add("Inspector")
    return {}


def _switch(domain: str) -> None:
    """A domain that can be switched on and off, and of which nothing else is modelled."""

    def enable(call: Call) -> Json:
        call.session.domains.add(domain)
        return {"debuggerId": call.world.ids.unique("debugger")} if domain == "Debugger" else {}

    def disable(call: Call) -> Json:
        call.session.domains.discard(domain)
        return {}

    _modelled(f"{domain}.enable", FRAMES, by_renderer=True)(enable)
    _modelled(f"{domain}.disable", FRAMES, by_renderer=True)(disable)


for _domain in ("Accessibility", "CSS", "DOM", "Debugger", "Log", "Network", "Overlay", "Performance", "Security"):
    _switch(_domain)
