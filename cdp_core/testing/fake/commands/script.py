"""The commands about scripts, and the domains of which only `enable` and `disable` are modelled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.commands.call import ANYWHERE, FIRST, FRAMES, LATER, ROOT, SCRIPTED, Call, modelled
from cdp_core.testing.fake.model import contexts, dialogs, sessions
from cdp_core.testing.fake.model.dispatch_errors import Refused
from cdp_core.testing.fake.script import injected


@modelled("Runtime.enable", SCRIPTED, by_renderer=True)
def _runtime_enable(call: Call) -> Json:
    if "Runtime" not in call.session.domains:
        found = contexts.all_of(call.world, call.target)
        call.session.domains.add("Runtime")
        for context in found:
            call.world.emit(call.session, "Runtime.executionContextCreated", {"context": context}, call.target.frame)
        for method, params in call.target.runtime_events:
            call.world.emit(call.session, method, params, call.target.frame)
    return {}


@modelled("Runtime.disable", SCRIPTED, by_renderer=True)
def _runtime_disable(call: Call) -> Json:
    call.session.domains.discard("Runtime")
    return {}


@modelled("Runtime.addBinding", SCRIPTED, by_renderer=True)
def _add_binding(call: Call) -> Json:
    number = call.params.get("executionContextId")
    if number is not None and "executionContextName" in call.params:
        raise Refused(-32602, "executionContextName is mutually exclusive with executionContextId")
    if number is not None and not call.has_context(number):
        raise Refused(-32602, "Cannot find execution context with given executionContextId")
    if "executionContextName" not in call.params:
        injected.bind(call.session, call.params["name"])
    return {}


@modelled("Runtime.removeBinding", SCRIPTED, by_renderer=True)
def _remove_binding(call: Call) -> Json:
    call.session.bindings.discard(call.params["name"])
    return {}


@modelled("Runtime.runIfWaitingForDebugger", ANYWHERE, by_renderer=True, parks=False)
def _run_if_waiting(call: Call) -> Json:
    if call.session.target is None:
        return {}
    call.session.lets_run = True
    if call.target.renderer.absent:  # the renderer process may start because of this command
        dialogs.when_unblocked(call.target, lambda: call.answer({"result": {}}))
        sessions.run(call.target, call.session)
    else:
        dialogs.when_unblocked(call.target, lambda: _let_run(call))
    return LATER


def _let_run(call: Call) -> None:
    sessions.run(call.target, call.session)
    call.answer({"result": {}})


@modelled("Runtime.terminateExecution", SCRIPTED, by_renderer=True, parks=FIRST)
def _terminate(_call: Call) -> Json:
    return {}  # it does not interrupt a waiting script, and no other script takes time


@modelled("Inspector.enable", FRAMES | {"shared_worker", "service_worker"}, by_renderer=True, parks=False)
def _inspector_enable(call: Call) -> Json:
    call.session.domains.add("Inspector")
    if call.target.crashed and not call.session.saw_crash:  # fact 69
        call.session.saw_crash = True
        call.world.emit(call.session, "Inspector.targetCrashed", {}, call.target)
    return {}


@modelled("Inspector.disable", FRAMES | {"shared_worker", "service_worker"}, by_renderer=True, parks=False)
def _inspector_disable(call: Call) -> Json:
    call.session.domains.discard("Inspector")
    return {}


Check = Callable[[Call], None]


def _switch(domain: str, check_enable: Check, check_disable: Check) -> None:
    """Register the `enable` and `disable` commands of a domain of which nothing else is modelled."""

    def enable(call: Call) -> Json:
        check_enable(call)
        call.session.domains.add(domain)
        if domain == "CSS":  # Chromium reads every document first
            call.world.soon(lambda: call.answer({"result": {}}))
            return LATER
        return {"debuggerId": call.world.ids.unique("debugger")} if domain == "Debugger" else {}

    def disable(call: Call) -> Json:
        check_disable(call)
        call.session.domains.discard(domain)
        return {}

    by_renderer = domain != "Security"
    where = FRAMES if by_renderer else FRAMES | ROOT
    modelled(f"{domain}.enable", where, by_renderer=by_renderer)(enable)
    modelled(f"{domain}.disable", where, by_renderer=by_renderer)(disable)


def _check_nothing(_call: Call) -> None:
    pass


def _demand_dom(message: str) -> Check:
    def check(call: Call) -> None:
        if "DOM" not in call.session.domains:
            raise Refused(-32000, message)

    return check


def _check_buffers(call: Call) -> None:
    if call.params.get("enableDurableMessages") and "maxTotalBufferSize" not in call.params:
        raise Refused(-32602, "maxTotalBufferSize is required with enableDurableMessages")


def _check_time(call: Call) -> None:
    """Check the time domain, which a session cannot change while Performance is enabled. Raises Refused."""
    wanted = call.params.get("timeDomain", "timeTicks")
    time_domain = call.session.time_domain
    if "timeDomain" in call.params and "Performance" in call.session.domains and time_domain != wanted:
        raise Refused(-32000, "Cannot change time domain while performance metrics collection is enabled.")
    if wanted not in ("timeTicks", "threadTicks"):
        raise Refused(-32000, "Invalid time domain specification.")
    call.session.time_domain = wanted if "Performance" not in call.session.domains else time_domain


ENABLE_CHECKS: Final[dict[str, Check]] = {
    "CSS": _demand_dom("DOM agent needs to be enabled first."),
    "Network": _check_buffers,
    "Overlay": _demand_dom("DOM should be enabled first"),
    "Performance": _check_time,
}
DISABLE_CHECKS: Final[dict[str, Check]] = {"DOM": _demand_dom("DOM agent hasn't been enabled")}
for _domain in ("Accessibility", "CSS", "DOM", "Debugger", "Log", "Network", "Overlay", "Performance", "Security"):
    _switch(_domain, ENABLE_CHECKS.get(_domain, _check_nothing), DISABLE_CHECKS.get(_domain, _check_nothing))
