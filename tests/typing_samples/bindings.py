"""The types that the checkers must infer for the typed bindings; never run.

A line that must be an error carries `# type: ignore[code]`, or `# pyright: ignore[rule]` if only pyright has the rule:
both checkers report it if the error, and with it the comment, is not needed any more.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import attrs

from cdp_core import (
    BrowserContextId,
    BrowserSession,
    Command,
    Event,
    Expectation,
    Json,
    Missed,
    PageSession,
    PendingReply,
    Received,
    SessionId,
    Subscription,
    TargetId,
    TypedCommand,
)
from cdp_core.bindings import (
    NULL,
    DriftReport,
    EventValue,
    Value,
    accessibility,
    browser,
    css,
    debugger,
    dom,
    drift,
    emulation,
    fetch,
    from_json,
    network,
    page,
    parse_command,
    parse_event,
    parse_result,
    profiler,
    replace,
    runtime,
    target,
    to_json,
)

if TYPE_CHECKING:
    from typing_extensions import assert_type  # noqa: TC004 - this module is never run


# ── commands ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def sending(session: PageSession, root: BrowserSession) -> None:
    assert_type(page.navigate(url="https://example.org"), Command[page.NavigateResult])
    assert_type(await session.send(page.navigate(url="https://example.org")), page.NavigateResult)
    assert_type(await root.send(browser.get_version()), browser.GetVersionResult)
    assert_type(session.send_nowait(page.get_frame_tree()), PendingReply[page.GetFrameTreeResult])
    assert_type(await session.send_nowait(page.get_frame_tree()).wait(), page.GetFrameTreeResult)
    assert_type(session.send_nowait(page.enable()), PendingReply[None])
    assert_type(page.enable(), Command[None])
    assert_type(await session.send(page.enable()), None)
    assert_type(await session.send("Page.navigate", {"url": "https://example.org"}), Json)
    _typed: TypedCommand[page.NavigateResult] = page.navigate(url="https://example.org")
    _either: Command[page.NavigateResult | None] = page.navigate(url="https://example.org")  # covariant
    assert_type(page.enable().to_params(), Json)

    _nothing: Json = await session.send(page.enable())  # type: ignore[arg-type]
    await session.send(page.navigate(url="https://example.org"), {})  # type: ignore[call-overload]
    await session.send(page.navigate)  # type: ignore[call-overload]
    await session.send(page.FrameNavigated)  # type: ignore[call-overload]
    _wrong: Command[page.ReloadResult]  # type: ignore[name-defined]
    _other: Command[page.NavigateResult] = page.get_frame_tree()  # type: ignore[assignment]


async def parameters(frame: page.FrameId, node: dom.NodeId, text: str) -> None:
    page.navigate(url=text, frame_id=frame, transition_type="typed", referrer_policy=page.ReferrerPolicy.ORIGIN)
    page.navigate(url=text, frame_id=None)
    network.get_cookies(urls=[text])
    network.get_cookies(urls=(text,))
    fetch.enable(patterns=[fetch.RequestPattern(url_pattern="*", request_stage=fetch.RequestStage.RESPONSE)])
    runtime.call_function_on(function_declaration=text, arguments=[runtime.CallArgument(value={"any": [1, None]})])
    runtime.call_function_on(function_declaration=text, arguments=[runtime.CallArgument(value=NULL)])
    emulation.set_geolocation_override(latitude=1, longitude=1.5)
    target.create_target(url=text, browser_context_id=BrowserContextId(text))
    target.attach_to_target(target_id=TargetId(text), flatten=True)

    page.navigate(url=text, frameId=frame)  # type: ignore[call-arg]
    page.navigate(adress=text)  # type: ignore[call-arg]
    page.navigate(text)  # type: ignore[call-arg]
    page.navigate()  # type: ignore[call-arg]
    page.navigate(url=7)  # type: ignore[arg-type]
    page.navigate(url=None)  # type: ignore[arg-type]
    page.navigate(url=text, frame_id=text)  # type: ignore[arg-type]
    page.navigate(url=text, frame_id=network.LoaderId(text))  # type: ignore[arg-type]
    page.navigate(url=text, transition_type="walked")  # type: ignore[arg-type]
    page.navigate(url=text, transition_type=text)  # type: ignore[arg-type]
    page.navigate(url=text, transition_type=page.DialogType.ALERT)  # type: ignore[arg-type]
    dom.query_selector(node_id=7, selector=text)  # type: ignore[arg-type]
    dom.query_selector(node_id=dom.BackendNodeId(7), selector=text)  # type: ignore[arg-type]
    dom.query_selector(node_id=node)  # type: ignore[call-arg]
    fetch.enable(patterns=[{"urlPattern": "*"}])  # type: ignore[list-item]
    network.get_cookies(urls=[7])  # type: ignore[list-item]
    target.attach_to_target(target_id=text)  # type: ignore[arg-type]
    page.enable(quickly=True)  # type: ignore[call-arg]
    page.naviagte(url=text)  # type: ignore[attr-defined]
    page.clear_geolocation_override()  # pyright: ignore[reportDeprecated]


# ── events ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def subscribing(session: PageSession, root: BrowserSession) -> None:
    assert_type(session.subscribe(page.LoadEventFired, capacity=1), Subscription[page.LoadEventFired])
    assert_type(session.subscribe_latest(page.LoadEventFired, capacity=1), Subscription[page.LoadEventFired | Missed])
    assert_type(
        session.subscribe(page.LoadEventFired, page.FrameNavigated, capacity=1),
        Subscription[page.LoadEventFired | page.FrameNavigated],
    )
    assert_type(
        session.subscribe_latest(page.LoadEventFired, page.FrameNavigated, capacity=1),
        Subscription[page.LoadEventFired | page.FrameNavigated | Missed],
    )
    assert_type(
        session.subscribe(page.LoadEventFired, page.FrameNavigated, runtime.ConsoleAPICalled, capacity=1),
        Subscription[page.LoadEventFired | page.FrameNavigated | runtime.ConsoleAPICalled],
    )
    assert_type(
        session.subscribe_latest(page.LoadEventFired, page.FrameNavigated, runtime.ConsoleAPICalled, capacity=1),
        Subscription[Any | Missed],
    )
    assert_type(session.expect(page.LoadEventFired), Expectation[page.LoadEventFired])
    assert_type(await root.expect(target.TargetCreated).wait(), target.TargetCreated)
    assert_type(
        root.subscribe_all(page.LoadEventFired, page.FrameNavigated, capacity=1),
        Subscription[Received[page.LoadEventFired | page.FrameNavigated]],
    )
    assert_type(
        root.subscribe_all_latest(page.LoadEventFired, capacity=1),
        Subscription[Received[page.LoadEventFired] | Missed],
    )

    session.subscribe(page.Frame, capacity=1)  # type: ignore[type-var]
    session.subscribe(page.navigate, capacity=1)  # type: ignore[call-overload]
    session.subscribe(page.LoadEventFired)  # type: ignore[call-overload]
    session.expect(page.NavigateResult)  # type: ignore[type-var]
    session.subscribe(page.LoadEvent, capacity=1)  # type: ignore[attr-defined]


def picking(session: PageSession) -> None:
    def is_error(called: runtime.ConsoleAPICalled) -> bool:
        return called.type is runtime.ConsoleAPICalledType.ERROR

    def is_loud(fired: page.LoadEventFired | runtime.ConsoleAPICalled) -> bool:
        return isinstance(fired, page.LoadEventFired) or len(fired.args) > 1

    session.subscribe(runtime.ConsoleAPICalled, capacity=1, where=is_error)
    session.subscribe(runtime.ConsoleAPICalled, page.LoadEventFired, capacity=1, where=is_loud)
    session.expect(runtime.ConsoleAPICalled, where=lambda called: called.args[0].preview)
    session.expect("Runtime.consoleAPICalled", where=lambda event: event.params["args"])

    session.subscribe(page.LoadEventFired, capacity=1, where=is_error)  # type: ignore[arg-type]
    session.expect(page.LoadEventFired, where=is_error)  # type: ignore[arg-type]
    session.expect(page.LoadEventFired, where=lambda fired: fired.url)  # type: ignore[attr-defined]


async def consuming(session: PageSession) -> None:
    with session.subscribe(page.JavascriptDialogOpening, page.JavascriptDialogClosed, capacity=8) as dialogs:
        async for dialog in dialogs:
            match dialog:
                case page.JavascriptDialogOpening(type=page.DialogType.PROMPT, message=message):
                    assert_type(message, str)
                    assert_type(dialog.default_prompt, str | None)
                case page.JavascriptDialogOpening():
                    assert_type(dialog, page.JavascriptDialogOpening)
                case page.JavascriptDialogClosed(result=accepted):
                    assert_type(accepted, bool)
                    _message = dialog.message  # type: ignore[attr-defined]


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def fields(sent: network.RequestWillBeSent, document: dom.Node, pause: debugger.Paused) -> None:
    assert_type(sent.request_id, network.RequestId)
    assert_type(sent.loader_id, network.LoaderId)
    assert_type(sent.frame_id, page.FrameId | None)  # out of another domain
    assert_type(sent.timestamp, network.MonotonicTime)
    assert_type(sent.type, network.ResourceType | None)
    assert_type(sent.request, network.Request)
    assert_type(sent.request.headers, dict[str, Any])
    assert_type(sent.redirect_response, network.Response | None)
    assert_type(sent.initiator.stack, runtime.StackTrace | None)
    assert_type(sent.extra, Mapping[str, Any])
    assert_type(document.children, tuple[dom.Node, ...] | None)  # recursive
    assert_type(document.content_document, dom.Node | None)
    assert_type(document.attributes, tuple[str, ...] | None)
    assert_type(pause.call_frames[0].scope_chain[0].type, debugger.ScopeType)
    assert_type(pause.call_frames[0].this, runtime.RemoteObject)
    assert_type(pause.call_frames[0].this.value, Any)
    if document.children is not None:
        for child in document.children:
            assert_type(child.node_id, dom.NodeId)
    number: int = document.node_id
    text: str = sent.request_id
    seconds: float = sent.timestamp

    _unknown = sent.requestId  # type: ignore[attr-defined]
    _first = document.children[0]  # type: ignore[index]
    sent.request_id = network.RequestId("x")  # type: ignore[misc]
    document.children = ()  # type: ignore[misc]
    _frame: page.FrameId = sent.frame_id  # type: ignore[assignment]
    _list: list[dom.Node] = document.children or ()  # type: ignore[assignment]
    document.attributes.append("x")  # type: ignore[union-attr]
    del number, text, seconds


def ids(info: target.TargetInfo, session: PageSession, version: browser.GetVersionResult) -> None:
    assert_type(info.target_id, TargetId)
    assert_type(info.target_id, target.TargetID)
    assert_type(info.browser_context_id, BrowserContextId | None)
    assert_type(target.SessionID("x"), SessionId)
    target.get_target_info(target_id=session.target_id)
    _known: dict[TargetId, str] = {info.target_id: version.product}
    _same = info.target_id == session.target_id

    _one: TargetId = "x"  # type: ignore[assignment]
    _two: dom.NodeId = dom.BackendNodeId(1)  # type: ignore[assignment]
    _three: page.FrameId = network.LoaderId("x")  # type: ignore[assignment]
    _four = dom.NodeId("x")  # type: ignore[arg-type]


def enumerations(dialog: page.JavascriptDialogOpening) -> None:
    assert_type(dialog.type, page.DialogType)
    assert_type(dialog.type.known, bool)
    assert_type(page.DialogType.ALERT, page.DialogType)
    assert_type(page.DialogType.members(), tuple[page.DialogType, ...])
    assert_type(page.DialogType("toast"), page.DialogType)
    text: str = dialog.type
    _same = dialog.type == "alert" or dialog.type is page.DialogType.CONFIRM

    _none = page.DialogType.TOAST  # type: ignore[attr-defined]
    _literal: Literal["alert"] = dialog.type  # type: ignore[assignment]
    _member: page.DialogType = "alert"  # type: ignore[assignment]
    _other: network.ResourceType = dialog.type  # type: ignore[assignment]
    del text


def building(frame: page.FrameId) -> None:
    point = page.Viewport(x=1, y=2, width=3.5, height=4, scale=1)
    assert_type(attrs.evolve(point, x=5), page.Viewport)
    node = accessibility.AXValue(type=accessibility.AXValueType.STRING, value="x")
    assert_type(node.related_nodes, tuple[accessibility.AXRelatedNode, ...] | None)
    rule = css.CSSProperty(name="color", value="red", longhand_properties=(css.CSSProperty(name="a", value="b"),))
    assert_type(rule.important, bool | None)
    _value: Value = point
    assert_type(page.FrameResized(), page.FrameResized)
    _event: EventValue = page.FrameResized()

    opening = page.JavascriptDialogOpening(
        url="", frame_id=frame, message="", type="alert", has_browser_handler=True, default_prompt=None
    )
    assert_type(opening.type, page.DialogType)
    assert_type(attrs.evolve(opening, type="confirm"), page.JavascriptDialogOpening)
    assert_type(replace(opening, type="confirm"), page.JavascriptDialogOpening)
    pattern = fetch.RequestPattern(request_stage="Request", resource_type=network.ResourceType.XHR)
    assert_type(pattern.request_stage, fetch.RequestStage | None)
    assert_type(fetch.RequestPattern(), fetch.RequestPattern)

    page.JavascriptDialogOpening(url="", frame_id=frame, message="", type="toast", has_browser_handler=True)  # type: ignore[arg-type]
    page.JavascriptDialogOpening(url="", frame_id=frame, message="", has_browser_handler=True)  # type: ignore[call-arg]
    fetch.RequestPattern("*")  # type: ignore[call-arg]
    opening.type = page.DialogType.ALERT  # type: ignore[misc]
    page.Viewport(1, 2, 3, 4, 1)  # type: ignore[call-arg]
    page.Viewport(x=1, y=2, width=3, height=4)  # type: ignore[call-arg]
    page.Viewport(x="1", y=2, width=3, height=4, scale=1)  # type: ignore[arg-type]
    page.Viewport(x=1, y=2, width=3, height=4, scale=1, depth=1)  # type: ignore[call-arg]
    _number = point == 3  # type: ignore[comparison-overlap]
    _other = point == rule  # type: ignore[comparison-overlap]
    point.x += 1  # type: ignore[misc]
    css.CSSProperty(name="a", value="b", longhand_properties=[])  # type: ignore[arg-type]
    profiler.ScriptCoverage(script_id="1", url="", functions=())  # type: ignore[arg-type]
    page.FrameStoppedLoading(frame_id=str(frame))  # type: ignore[arg-type]
    _wrong: EventValue = point  # type: ignore[assignment]


def converting(raw: Json, event: Event) -> None:
    assert_type(from_json(page.Frame, raw), page.Frame)
    assert_type(from_json(page.FrameNavigated, raw), page.FrameNavigated)
    assert_type(from_json(page.NavigateResult, raw), page.NavigateResult)
    assert_type(from_json(page.DialogType, "alert"), page.DialogType)
    assert_type(from_json(page.FrameId, "F"), Any)
    assert_type(to_json(page.FrameResized()), Any)
    assert_type(parse_event(event), EventValue | Event)
    assert_type(parse_command("Page.navigate", raw), Command[Any] | None)
    assert_type(parse_result("Page.navigate", raw), Value | Json | None)
    assert_type(drift(), DriftReport)

    _event = from_json(page.Frame, raw).loaded  # type: ignore[attr-defined]
    from_json(page.Frame)  # type: ignore[call-overload]
    parse_event(raw)  # type: ignore[arg-type]
