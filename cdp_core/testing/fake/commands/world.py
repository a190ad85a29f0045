"""The commands that run scripts in documents: in the main world or an isolated one, current or new.

`Runtime.evaluate` and its relatives run in the current document, init scripts in new ones.
"""

from __future__ import annotations

import re
from typing import Any, Final

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.commands.call import FRAMES, LATER, SCRIPTED, Call, modelled
from cdp_core.testing.fake.model import contexts
from cdp_core.testing.fake.model.dispatch_errors import Refused
from cdp_core.testing.fake.model.parts import Frame
from cdp_core.testing.fake.navigation import lifecycle
from cdp_core.testing.fake.script import thrown
from cdp_core.testing.fake.script.endings import ending_of
from cdp_core.testing.fake.script.evaluate import by_reference
from cdp_core.testing.fake.script.functions import MISSING, call_function, made_object, run_expression
from cdp_core.testing.fake.script.injected import override_in

_NEVER: Final = re.compile(r"\s*new Promise\(\(\) => (?:0|\{\})\)\s*;?\s*")
"""The usual expression of tests for a command that never gets a reply."""


# ── the current document ─────────────────────────────────────────────────────────────────────────────────────────────


@modelled("Runtime.evaluate", SCRIPTED, by_renderer=True)
def _evaluate(call: Call) -> Json:
    if "contextId" in call.params and "uniqueContextId" in call.params:
        raise Refused(-32602, "contextId and uniqueContextId are mutually exclusive")
    expression = call.params["expression"]
    frame, context = _find_place(call, "contextId")
    if call.params.get("awaitPromise") and _NEVER.fullmatch(expression):
        return LATER
    known = expression in call.player.script.answers
    awaited = bool(call.params.get("awaitPromise"))
    ending = None if known else ending_of(call.world, frame, context, expression, awaited=awaited)
    if ending is not None:
        return ending
    made = made_object(expression)
    if made is not None and expression not in call.player.script.answers:
        _answer_object(call, frame, context, made)
        return LATER
    understood = run_expression(
        call.player,
        frame,
        expression,
        lambda value: _answer(call, frame, context, value),
        user_gesture=bool(call.params.get("userGesture")),
    )
    if not understood:
        call.world.unmodelled["an expression of Runtime.evaluate"] += 1
    return LATER


@modelled("Runtime.callFunctionOn", SCRIPTED, by_renderer=True)
def _call_function(call: Call) -> Json:
    places = [name for name in ("objectId", "executionContextId", "uniqueContextId") if name in call.params]
    if len(places) > 1:
        raise Refused(-32602, "ObjectId, executionContextId and uniqueContextId must mutually exclude each other")
    if not places:
        raise Refused(-32602, "Either objectId or executionContextId or uniqueContextId must be specified")
    frame, context = _find_place(call, "executionContextId")
    arguments = [_argument(call, given, context) for given in call.params.get("arguments", [])]
    understood = call_function(
        call.player,
        frame,
        call.params["functionDeclaration"],
        arguments,
        lambda value: _answer(call, frame, context, value),
        user_gesture=bool(call.params.get("userGesture")),
    )
    if not understood:
        call.world.unmodelled["a function of Runtime.callFunctionOn"] += 1
    return LATER


def _find_place(call: Call, plain: str) -> tuple[Frame, int]:
    """Return the frame and the execution context that a command names, or the target's. Raises Refused."""
    params, target = call.params, call.target
    if "objectId" in params:
        frame, context, _ = contexts.kept_object(target, params["objectId"])
        return frame, context
    if "uniqueContextId" in params:
        return contexts.find_unique(target, params["uniqueContextId"])
    if plain in params:
        return contexts.find(target, params[plain]), params[plain]
    own = target.frame or target.scope
    assert own is not None
    return own, contexts.main_of(call.world, own)


def _argument(call: Call, given: Json, context: int) -> Any:
    """Return the value of an argument. Raises Refused."""
    if "objectId" not in given:
        return given.get("value", MISSING)
    try:
        _, own, kept = contexts.kept_object(call.target, given["objectId"])
    except Refused as refused:
        if refused.message != contexts.NO_CONTEXT:
            raise
        own, kept = 0, {}
    if own != context:
        raise Refused(-32000, "Argument should belong to the same JavaScript world as target object")
    return kept.get("value", MISSING)


def _answer(call: Call, frame: Frame, context: int, value: Json) -> None:
    if thrown.is_thrown(value):
        call.answer({"result": thrown.exception_result(call.world, frame, context, value)})
        return
    shown = None if call.params.get("returnByValue") else by_reference(value)
    if shown is None:
        call.answer({"result": {"result": value}})
    else:
        object_id = contexts.keep_object(call.world, frame, context, value)
        call.answer({"result": {"result": {**shown, "objectId": object_id}}})


def _answer_object(call: Call, frame: Frame, context: int, made: Json) -> None:
    if call.params.get("returnByValue"):
        call.answer({"result": {"result": {"type": "object", "value": {}}}})
    else:
        object_id = contexts.keep_object(call.world, frame, context, made)
        call.answer({"result": {"result": {**made, "objectId": object_id}}})


@modelled("Runtime.releaseObject", SCRIPTED, by_renderer=True)
def _release_object(call: Call) -> Json:
    contexts.release_object(call.target, call.params["objectId"])
    return {}


@modelled("Runtime.releaseObjectGroup", SCRIPTED, by_renderer=True)
def _release_object_group(_call: Call) -> Json:
    return {}


# ── isolated worlds and new documents ────────────────────────────────────────────────────────────────────────────────


@modelled("Page.createIsolatedWorld", FRAMES, by_renderer=True)
def _create_isolated_world(call: Call) -> Json:
    frame, target = call.world.frames.get(call.params["frameId"]), call.target
    if frame is None or not (frame.target is target or frame is target.frame):
        raise Refused(-32602, "No frame for given id found")

    def make() -> None:
        made = contexts.isolated_world(call.world, frame, call.params.get("worldName", ""))
        call.answer({"result": {"executionContextId": made.id}})

    if frame.target is target:
        make()
    else:  # the frame waits for its renderer process
        target.when_run.append(make)
    return LATER


@modelled("Page.addScriptToEvaluateOnNewDocument", FRAMES, by_renderer=True)
def _add_script(call: Call) -> Json:
    session, target = call.session, call.target
    session.scripts_added += 1
    identifier = str(session.scripts_added)
    session.scripts[identifier] = call.params.get("worldName", "")
    override = override_in(call.player.script, call.params)
    if override is not None:
        session.overrides[identifier] = override
    # In a popup that waits to run, an init script runs at once.
    if call.params.get("runImmediately") or (target.held and target.opener is not None):
        for frame in target.frame.subtree() if target.frame is not None else ():
            if frame.target is target and session.scripts[identifier]:
                contexts.isolated_world(call.world, frame, session.scripts[identifier])
            elif frame.target is target and override is not None:
                contexts.run_script(frame, override)
    return {"identifier": identifier}


@modelled("Page.removeScriptToEvaluateOnNewDocument", FRAMES, by_renderer=True)
def _remove_script(call: Call) -> Json:
    if call.session.scripts.pop(call.params["identifier"], None) is None:
        raise Refused(-32000, "Script not found")
    call.session.overrides.pop(call.params["identifier"], None)
    return {}


@modelled("Page.setBypassCSP", FRAMES, by_renderer=True)
def _set_bypass_csp(call: Call) -> Json:
    call.session.bypasses_csp = call.params["enabled"]  # applies to new documents (fact 27)
    return {}


@modelled("Page.setLifecycleEventsEnabled", FRAMES, by_renderer=True)
def _set_lifecycle_events(call: Call) -> Json:
    if call.params["enabled"]:
        lifecycle.enable(call.world, call.session, call.target)
    else:
        lifecycle.disable(call.session)
    return {}
