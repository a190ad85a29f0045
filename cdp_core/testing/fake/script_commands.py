"""The commands about scripts, and the domains of which nothing but their switch is modelled."""

from __future__ import annotations

from cdp_core.sansio.wire import Json
from cdp_core.testing.fake import contexts, dialogs, sessions
from cdp_core.testing.fake.call import ANYWHERE, FIRST, FRAMES, LATER, SCRIPTED, Call, modelled


@modelled("Runtime.enable", SCRIPTED, by_renderer=True)
def _runtime_enable(call: Call) -> Json:
    if "Runtime" not in call.session.domains:
        call.session.domains.add("Runtime")
        for context in contexts.all_of(call.world, call.target):
            call.world.emit(call.session, "Runtime.executionContextCreated", {"context": context}, call.target.frame)
        for method, params in call.target.said:
            call.world.emit(call.session, method, params, call.target.frame)
    return {}


@modelled("Runtime.disable", SCRIPTED, by_renderer=True)
def _runtime_disable(call: Call) -> Json:
    call.session.domains.discard("Runtime")
    return {}


@modelled("Runtime.runIfWaitingForDebugger", ANYWHERE, by_renderer=True, parks=False)
def _run_if_waiting(call: Call) -> Json:
    if call.session.target is None:
        return {}
    if call.target.renderer.absent:  # that there will be a process may depend on it
        dialogs.when_free(call.target, lambda: call.answer({"result": {}}))
        sessions.run(call.target, call.session)
    else:
        dialogs.when_free(call.target, lambda: _let_run(call))
    return LATER


def _let_run(call: Call) -> None:
    sessions.run(call.target, call.session)
    call.answer({"result": {}})


@modelled("Runtime.terminateExecution", SCRIPTED, by_renderer=True, parks=FIRST)
def _terminate(_call: Call) -> Json:
    return {}  # a script that waits is not interrupted by it, and there is no other one that takes its time


@modelled("Inspector.enable", FRAMES | {"shared_worker", "service_worker"}, by_renderer=True, parks=False)
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

    modelled(f"{domain}.enable", FRAMES, by_renderer=True)(enable)
    modelled(f"{domain}.disable", FRAMES, by_renderer=True)(disable)


for _domain in ("Accessibility", "CSS", "DOM", "Debugger", "Log", "Network", "Overlay", "Performance", "Security"):
    _switch(_domain)
