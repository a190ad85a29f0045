"""The commands of the browser process: version and close, targets, sessions and browser contexts."""

from __future__ import annotations

from functools import partial
from typing import Final

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.commands.call import ANYWHERE, FRAMES, LATER, Call, modelled
from cdp_core.testing.fake.commands.shapes import enum_of
from cdp_core.testing.fake.model import dialogs, sessions, tabs, targets, unloading, windows, workers
from cdp_core.testing.fake.model.addresses import spelled
from cdp_core.testing.fake.model.dispatch_errors import Refused
from cdp_core.testing.fake.model.parts import AutoAttach, Context, Session
from cdp_core.testing.fake.navigation import frames
from cdp_core.testing.fake.world import World

_BOUNDS: Final = frozenset(("left", "top", "width", "height"))


# ── the browser ──────────────────────────────────────────────────────────────────────────────────────────────────────


@modelled("Browser.getVersion", ANYWHERE)
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


@modelled("Browser.close", ANYWHERE)
def _close_browser(call: Call) -> Json:
    call.answer({"result": {}})
    call.close_browser()
    return LATER


# ── targets ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@modelled("Target.getTargets", ANYWHERE)
def _get_targets(call: Call) -> Json:
    discovers = call.session.discovers if call.session in call.world.discoverers else sessions.ALL_BUT_TABS
    chosen = call.params.get("filter", discovers)
    every = (*call.world.tabs.values(), *call.world.targets.values())
    listed = (target for target in every if not sessions.is_cached(call.world, target))
    return {"targetInfos": [target.info() for target in listed if sessions.filter_allows(chosen, target.type)]}


@modelled("Target.getTargetInfo", ANYWHERE)
def _get_target_info(call: Call) -> Json:
    if "targetId" not in call.params:
        if call.session.target is None:
            return {"targetInfo": tabs.browser_info(call.world, call.session)}
        return {"targetInfo": call.target.info()}
    return {"targetInfo": call.named_target().info()}


@modelled("Target.setDiscoverTargets", ANYWHERE)
def _set_discover(call: Call) -> Json:
    if call.params["discover"]:
        sessions.discover(call.world, call.session, call.params.get("filter", sessions.ALL_BUT_TABS))
    elif "filter" in call.params:
        raise Refused(-32602, "Filter should not be present with `discover` is off")
    elif call.session in call.world.discoverers:
        call.world.discoverers.remove(call.session)
    return {}


@modelled("Target.setAutoAttach", ANYWHERE)
def _set_auto_attach(call: Call) -> Json:
    # The browser process attaches at once, and the reply waits for the renderer (fact 15).
    session = call.session
    if session.target is None and not call.params.get("flatten"):
        raise Refused(-32602, "Only flatten protocol is supported with browser level auto-attach")
    if not call.params["autoAttach"] and call.params.get("filter"):
        raise Refused(-32602, "Target filter should be empty when disabling auto-attach")
    if not call.params["autoAttach"]:
        session.auto_attach = None
        for child in [each for each in session.children if each.auto_attached]:
            sessions.detach(call.world, child)
        return {}
    chosen = tuple(call.params.get("filter", sessions.ALL_BUT_TABS))
    if session.target is None and sessions.filter_allows(chosen, "tab") and sessions.filter_allows(chosen, "page"):
        raise Refused(
            -32602,
            'Filter should not simultaneously allow "tab" and "page", page targets are attached via tab targets',
        )
    call.world.logical_time += 1
    since = call.world.logical_time
    session.auto_attach = AutoAttach(wait=call.params["waitForDebuggerOnStart"], filter=chosen, since=since)
    sessions.auto_attach_existing(call.world, session)
    if session.target is None or session.target.crashed:
        return {}
    # The current renderer answers it, even while a navigation is on its way.
    dialogs.when_unblocked(session.target.frame or session.target, lambda: call.answer({"result": {}}))
    return LATER


@modelled("Target.attachToTarget", ANYWHERE)
def _attach_to_target(call: Call) -> Json:
    session = sessions.attach(call.world, call.named_target(), call.session, flat=bool(call.params.get("flatten")))
    return {"sessionId": session.id}


@modelled("Target.sendMessageToTarget", ANYWHERE)
def _send_message(call: Call) -> Json:
    session = _named_session(call)
    if session.flat:
        raise Refused(
            -32000, "When using flat protocol, messages are routed to the target via the sessionId attribute."
        )
    # Replies of the browser process to the message precede the reply to this command.
    call.receive(session, call.params["message"])
    return {}


@modelled("Target.attachToBrowserTarget", ANYWHERE)
def _attach_to_browser(call: Call) -> Json:
    call.demand_root()
    return {"sessionId": sessions.attach_to_browser(call.world, call.session).id}


@modelled("Target.detachFromTarget", ANYWHERE)
def _detach_from_target(call: Call) -> Json:
    sessions.detach(call.world, _named_session(call))
    return {}


@modelled("Target.exposeDevToolsProtocol", ANYWHERE)
def _expose_protocol(call: Call) -> Json:
    if call.session.target is not None:
        raise Refused(-32602, "Not allowed")
    call.named_target()  # no script of the fake uses the binding
    return {}


@modelled("Target.autoAttachRelated", ANYWHERE)
def _auto_attach_related(call: Call) -> Json:
    if call.session.target is not None:
        raise Refused(-32000, "Target.autoAttachRelated is only supported on the Browser target")
    call.named_target()
    call.world.unmodelled["Target.autoAttachRelated"] += 1
    raise Refused(-32601, "'Target.autoAttachRelated' wasn't found")


@modelled("Target.setRemoteLocations", ANYWHERE)
def _set_remote_locations(_call: Call) -> Json:
    return {}


def _named_session(call: Call) -> Session:
    """Return the child session of this one that a command names. Raises Refused."""
    wanted, named = call.params.get("sessionId"), call.params.get("targetId")
    if wanted is None and named is None:
        raise Refused(-32602, "Session id must be specified")
    own = call.session.children
    if wanted is None:
        found = [each for each in own if each.target is not None and each.target.id == named]
    else:
        found = [each for each in (call.session.client.sessions.get(wanted),) if each is not None and each in own]
    if not found:
        raise Refused(-32602, "No session for given target id" if wanted is None else "No session with given id")
    if len(found) > 1:
        raise Refused(-32000, "Multiple sessions attached, specify id.")
    return found[0]


@modelled("Target.createTarget", ANYWHERE)
def _create_target(call: Call) -> Json:
    context = _context_of(call)
    if call.world.profile == "headless-new":
        _check_window(call.params)
    url = spelled(call.params["url"]) or "about:blank"
    behind = bool(call.params.get("background"))
    target = call.player.open_page(f"page {len(call.player.labels) + 1}", url, context=context, behind=behind)
    if url == "about:blank" and target.frame is not None:
        target.frame.adopts_site = True
    if call.params.get("forTab") and target.tab is not None:
        return {"targetId": target.tab.id}
    return {"targetId": target.id}


def _check_window(given: Json) -> None:
    """Check that only a new window is given a position or a state. Raises Refused."""
    own = bool(given.get("newWindow"))
    if _BOUNDS & given.keys() and not own:
        raise Refused(-32602, "Target position can only be set for new windows")
    if "windowState" in given and not own:
        raise Refused(-32602, "Target window state can only be set for new windows")
    if "windowState" in given and given["windowState"] not in enum_of("Browser", "WindowState"):
        raise Refused(-32602, f"Invalid target window state: {given['windowState']}")


def _context_of(call: Call) -> Context:
    wanted = call.params.get("browserContextId")
    if wanted is None:
        return call.world.default_context
    if wanted not in call.world.contexts:
        raise Refused(-32000, f"Failed to find browser context with id {wanted}")
    return call.world.contexts[wanted]


@modelled("Target.closeTarget", ANYWHERE)
def _close_target(call: Call) -> Json:
    target = call.named_target()
    target = target.tab_of or target.prerender_of or target
    if target.type == "worker":
        raise Refused(-32602, "Specified target doesn't support closing")
    if target.type == "service_worker":
        workers.stop(call.world, target)
        return {"success": True}
    if target.type == "shared_worker":
        workers.close(call.world, target)
        return {"success": True}
    if (
        target.crashed or target.renderer.absent or (target.dialogs and not unloading.before_unload_dialog(target))
    ):  # otherwise the close waits until the renderer is unblocked
        targets.close(call.world, target)
        return {"success": True}
    call.answer({"result": {"success": True}})
    dialogs.when_unblocked(target.frame or target, lambda: targets.close(call.world, target))
    return LATER


@modelled("Target.activateTarget", ANYWHERE)
def _activate_target(call: Call) -> Json:
    target = call.named_target()
    target = target.tab_of or target
    if target.type in FRAMES:
        windows.bring(call.world, target)
    if target.renderer.absent and target.tab is not None and target.frame is not None and not target.is_navigating:
        frames.navigate(call.world, target.frame, target.frame.url, call.player.loaded, kind="restore")
    return {}


@modelled("Target.createBrowserContext", ANYWHERE)
def _create_context(call: Call) -> Json:
    call.demand_root()
    for origin in call.params.get("originsWithUniversalNetworkAccess", []):
        if spelled(origin) is None:
            raise Refused(-32602, f"Invalid origin {origin}")
    owner = call.session.client if call.params.get("disposeOnDetach") else None
    return {"browserContextId": call.world.new_context(owner).id}


@modelled("Target.getBrowserContexts", ANYWHERE)
def _get_contexts(call: Call) -> Json:
    call.demand_root()
    default = call.world.default_context
    others = [context.id for context in call.world.contexts.values() if context is not default]
    return {"browserContextIds": others, "defaultBrowserContextId": default.id}


@modelled("Target.disposeBrowserContext", ANYWHERE)
def _dispose_context(call: Call) -> Json:
    call.demand_root()
    context = call.world.contexts.get(call.params["browserContextId"])
    if context is None or context is call.world.default_context:
        raise Refused(-32000, f"Failed to find context with id {call.params['browserContextId']}")
    dispose(call.world, context)
    return {}


def dispose(world: World, context: Context) -> None:
    """Dispose a browser context: close its pages and workers."""
    targets.close_together(world, [each for each in world.pages() if each.context is context])
    del world.contexts[context.id]
    for worker in [each for each in world.workers.values() if each.context is context and not each.crashed]:
        world.soon(partial(targets.close_worker, world, worker, ended=False))
