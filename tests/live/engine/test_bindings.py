"""The typed bindings against a real Chromium: typed and raw readings agree, and nothing is unknown.

`both` calls a command as a value and by its name, and compares three ways: the typed result, written back, is exactly
the JSON that arrived; a second, raw call gives the same result except for fields that change on repetition (named
`volatile`, and compared by their shape); and every field has the type that the bindings promise. `hear` does so for
events. Each message is read twice, straight from its bytes, which must fit exactly, and from decoded JSON, to equal
values.

`browser` also reads every event of every test, requested or not. A Chromium of the version that the bindings were made
from must show no drift at all (docs/cdp/drift-is-counted-not-raised.md); for another version the drift is printed.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from cdp_core import BrowserContextId, BrowserSession, CommandDone, CommandRefused, Event, Output, PageSession, Result
from cdp_core.bindings import (
    NULL,
    PROTOCOL,
    Command,
    EventValue,
    Value,
    accessibility,
    animation,
    audits,
    cache_storage,
    css,
    debugger,
    dom,
    dom_debugger,
    dom_snapshot,
    dom_storage,
    drift,
    emulation,
    fetch,
    forget_drift,
    from_json,
    heap_profiler,
    indexed_db,
    io,
    layer_tree,
    log,
    memory,
    network,
    overlay,
    parse_event,
    parse_result,
    performance,
    profiler,
    runtime,
    schema,
    security,
    service_worker,
    storage,
    system_info,
    target,
    to_json,
    tracing,
    web_authn,
)
from cdp_core.bindings import browser as browser_domain
from cdp_core.bindings import input as input_domain
from cdp_core.bindings import page as page_domain
from cdp_core.bindings.__main__ import main as bindings_main
from cdp_core.bindings._catalog import domain_named
from cdp_core.bindings._values import Loose, source_of

Evaluate = Callable[..., Awaitable[Any]]
Load = Callable[[PageSession, str], Awaitable[None]]
NewPage = Callable[..., Awaitable[PageSession]]
Pages = Callable[..., str]
Both = Callable[..., Awaitable[Any]]
Hear = Callable[..., AbstractAsyncContextManager[Callable[[], Awaitable[Any]]]]

OF_VERSION = 156
"""The version of Chromium whose protocol the bindings describe."""

RICH = """<!doctype html><title>rich</title><style>h1 { color: red; animation: 9s move infinite }
@keyframes move { to { transform: translateX(9px) } } @media (min-width: 1px) { .one { margin: 2px } }</style>
<h1 class="one two" id="head" title="tip">Head</h1><p style="width: 50px">text <b>bold</b></p>
<button aria-label="press" onclick="void 0">go</button><input value="typed" id="field">
<div id="grid" style="display: grid; width: 90px; grid-template-columns: 1fr 1fr"><i>1</i><i>2</i></div>
<iframe srcdoc="<p>inner" name="child"></iframe><template><hr></template><svg width="9" height="9"><g/></svg>
<script>globalThis.add = function add(a, b) { return a + b }; class Own {}; let lexical = 1; localStorage.kept = 'x';
head.attachShadow({mode: 'open'}).innerHTML = '<slot></slot>'</script>"""


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def exact(value: Any) -> str:
    """JSON that distinguishes 1, 1.0 and true."""
    return json.dumps(value, sort_keys=True)


def shape(value: Any) -> Any:
    """The kind of this JSON value: compared for values that differ between two calls."""
    if isinstance(value, dict):
        return {key: shape(each) for key, each in value.items()}
    if isinstance(value, list):
        return sorted({exact(shape(each)) for each in value})
    return "number" if type(value) in (int, float) else type(value).__name__


def settled(value: Any, volatile: Collection[str]) -> Any:
    """The value, with only the shape of every volatile field; `"*"` means all fields."""
    if "*" in volatile:
        return shape(value)
    if isinstance(value, dict):
        return {key: shape(each) if key in volatile else settled(each, volatile) for key, each in value.items()}
    return [settled(each, volatile) for each in value] if isinstance(value, list) else value


PLAIN: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "num": (int, float),
    "bool": (bool,),
    "obj": (dict,),
    "any": (str, int, float, bool, dict, list),
}


def assert_fields(value: Value) -> None:
    """Assert that every field can be read and has the type of the protocol's table, at any depth."""
    spec = type(value).__cdp_spec__
    for name, field in spec.by_name.items():
        shown = getattr(value, name)
        if shown is None:
            assert not field.required or field.type == "any", (value, name)
        else:
            assert_shown(shown, field.type, spec.item.partition(".")[0], f"{spec.item}.{name}")


def assert_shown(shown: Any, kind: str, domain: str, place: str) -> None:
    owner, _, name = kind.rpartition(".")
    own = domain_named(owner.strip("[") or domain)
    assert own is not None, place
    table = own.table
    if kind.startswith("["):
        assert type(shown) is tuple, (place, shown)
        for each in shown:
            assert_shown(each, kind[1:-1], domain, place)
    elif kind in PLAIN:
        assert type(shown) in PLAIN[kind], (place, shown)
    elif name in table.names:
        assert_shown(shown, table.names[name][1], table.name, place)
    elif name in table.enums:
        assert type(shown) is own.get(name), (place, shown)
        assert shown.known or drift().unknown_members, (place, shown)
    else:
        assert type(shown) is own.get(name), (place, shown)
        assert_fields(shown)


def assert_event(typed: Any, event: Event) -> None:
    """Assert that the typed event equals the raw one, written back, and read from JSON instead of bytes."""
    assert_decoder(typed, event, event.params)
    assert isinstance(typed, EventValue), f"{event.method} is not known"
    assert typed.__cdp_method__ == event.method
    assert exact(to_json(typed)) == exact(event.params)
    assert_fields(typed)
    again = from_json(type(typed), event.params)
    assert again == typed
    assert exact(to_json(again)) == exact(event.params)


def assert_decoder(typed: Value, message: Event | Result, fields: Any) -> None:
    """Assert that the value was read straight from the bytes, or that the misfit was counted as drift.

    The fast decoder does not accept a lone surrogate.
    """
    try:
        json.dumps(fields, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return
    if type(message) in (Event, Result):  # a large message is decoded at once, and so has another type
        assert type(source_of(typed)) is not Loose or drift(), f"{type(typed).__qualname__} does not fit: {fields}"


# ── fixtures ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def way() -> str:
    """A message does not depend on the way to connect: the other ways are covered by test_engine."""
    return "fast"


@pytest.fixture
async def browser(browser: BrowserSession) -> AsyncIterator[BrowserSession]:
    """The link; afterwards the bindings must have found nothing unknown on it."""
    forget_drift()
    events: list[Event] = []
    with browser.tap(lambda output: events.append(output) if isinstance(output, Event) else None):
        yield browser
        product = (await browser.send("Browser.getVersion"))["product"]
    for event in events:
        typed = parse_event(event)
        if isinstance(typed, EventValue):
            assert exact(to_json(typed)) == exact(event.params), event.method
            assert_decoder(typed, event, event.params)
    report = drift()
    forget_drift()
    reported = f"{product} and the bindings of {PROTOCOL} disagree: {report}"
    if major(product) == OF_VERSION:
        assert not report, reported
    elif report:
        sys.stdout.write(f"{reported}\n")


def major(product: str) -> int:
    found = re.search(r"/(\d+)\.", product)
    assert found is not None, product
    return int(found[1])


@pytest.fixture
def both(browser: BrowserSession) -> Both:
    """A function that calls a command typed and raw, compares, and returns the typed result."""

    async def compared(
        session: PageSession | BrowserSession,
        command: Command[Any],
        method: str,
        params: dict[str, Any] | None = None,
        *,
        volatile: Collection[str] = (),
    ) -> Any:
        assert (command.method, command.to_params()) == (method, params or {})
        ends: dict[int, Output] = {}
        with browser.tap(lambda output: ends.update({output.id: output}) if isinstance(output, CommandDone) else None):
            reply = session.send_nowait(command)
            typed = await reply.wait()
        done = ends[reply.id]
        assert isinstance(done, CommandDone)
        assert isinstance(done.outcome, Result)
        came = done.outcome.value
        written = {} if typed is None else to_json(typed)
        assert exact(written) == exact(came)
        assert parse_result(method, came) == typed
        raw = await session.send(method, params)
        assert exact(settled(written, volatile)) == exact(settled(raw, volatile))
        if typed is not None:
            assert type(typed).__name__.lower() == method.partition(".")[2].lower() + "result"
            assert_decoder(typed, done.outcome, came)
            assert_fields(typed)
        return typed

    return compared


@pytest.fixture
def hear() -> Hear:
    """A block that listens to an event typed and raw.

    Its argument waits for the typed event and compares it with the raw one: the first for which `where` returns true, given the raw
    event.
    """

    @asynccontextmanager
    async def hearing(
        session: PageSession | BrowserSession, kind: type[EventValue], where: Callable[[Event], object] | None = None
    ) -> AsyncIterator[Callable[[], Awaitable[Any]]]:
        with (
            session.subscribe(kind, capacity=1000) as typed,
            session.subscribe(kind.__cdp_method__, capacity=1000) as raw,
        ):

            async def next_one() -> Any:
                while True:
                    value, event = await typed.receive(), await raw.receive()
                    assert_event(value, event)
                    if where is None or where(event):
                        return value

            yield next_one

    return hearing


@pytest.fixture
async def page(new_page: NewPage) -> PageSession:
    return await new_page(RICH)


pytestmark = pytest.mark.chromium


# ── commands ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_commands_of_the_browser(
    browser: BrowserSession, page: PageSession, context: BrowserContextId, both: Both
) -> None:
    version = await both(browser, browser_domain.get_version(), "Browser.getVersion")
    assert version.protocol_version == "1.3"
    window = await both(
        browser,
        browser_domain.get_window_for_target(target_id=page.target_id),
        "Browser.getWindowForTarget",
        {"targetId": page.target_id},
    )
    assert window.bounds.window_state is browser_domain.WindowState.NORMAL
    bounds = await both(
        browser,
        browser_domain.get_window_bounds(window_id=window.window_id),
        "Browser.getWindowBounds",
        {"windowId": window.window_id},
    )
    assert bounds.bounds == window.bounds
    await both(
        browser,
        browser_domain.get_histograms(query="Memory"),
        "Browser.getHistograms",
        {"query": "Memory"},
        volatile="*",
    )
    await both(
        browser,
        browser_domain.set_download_behavior(behavior="deny", browser_context_id=context),
        "Browser.setDownloadBehavior",
        {"behavior": "deny", "browserContextId": context},
    )
    listed = await both(  # targets of the browser's own interface appear and disappear
        browser,
        target.get_targets(filter=[target.FilterEntry(type="page")]),
        "Target.getTargets",
        {"filter": [{"type": "page"}]},
        volatile={"title", "url"},
    )
    assert page.target_id in [info.target_id for info in listed.target_infos]
    info = await both(
        browser, target.get_target_info(target_id=page.target_id), "Target.getTargetInfo", {"targetId": page.target_id}
    )
    assert info.target_info.browser_context_id == context
    contexts = await both(browser, target.get_browser_contexts(), "Target.getBrowserContexts")
    assert context in contexts.browser_context_ids
    some = {"discover": True, "filter": [{"type": "page"}, {"exclude": True}]}
    filtered = (target.FilterEntry(type="page"), target.FilterEntry(exclude=True))
    await both(browser, target.set_discover_targets(discover=True, filter=filtered), "Target.setDiscoverTargets", some)
    await both(browser, system_info.get_info(), "SystemInfo.getInfo")
    processes = await both(browser, system_info.get_process_info(), "SystemInfo.getProcessInfo", volatile={"cpuTime"})
    assert "browser" in [process.type for process in processes.process_info]
    domains = await both(page, schema.get_domains(), "Schema.getDomains")
    assert "Runtime" in [domain.name for domain in domains.domains]


async def test_commands_of_a_page(page: PageSession, both: Both) -> None:
    await both(page, page_domain.enable(), "Page.enable")
    tree = (await both(page, page_domain.get_frame_tree(), "Page.getFrameTree")).frame_tree
    (child,) = tree.child_frames
    assert (child.frame.parent_id, child.frame.name) == (tree.frame.id, "child")
    assert tree.frame.secure_context_type is page_domain.SecureContextType.SECURE_LOCALHOST
    history = await both(page, page_domain.get_navigation_history(), "Page.getNavigationHistory")
    assert history.entries[history.current_index].transition_type.known
    await both(page, page_domain.get_layout_metrics(), "Page.getLayoutMetrics")
    await both(page, page_domain.get_resource_tree(), "Page.getResourceTree")
    url = tree.frame.url
    source = await both(
        page,
        page_domain.get_resource_content(frame_id=tree.frame.id, url=url),
        "Page.getResourceContent",
        {"frameId": tree.frame.id, "url": url},
    )
    assert source.content == RICH
    await both(
        page,
        page_domain.search_in_resource(frame_id=tree.frame.id, url=url, query="HEAD", case_sensitive=False),
        "Page.searchInResource",
        {"frameId": tree.frame.id, "url": url, "query": "HEAD", "caseSensitive": False},
    )
    await both(page, page_domain.get_app_manifest(), "Page.getAppManifest")
    await both(page, page_domain.get_installability_errors(), "Page.getInstallabilityErrors")
    await both(
        page,
        page_domain.get_permissions_policy_state(frame_id=tree.frame.id),
        "Page.getPermissionsPolicyState",
        {"frameId": tree.frame.id},
    )
    await both(
        page,
        page_domain.create_isolated_world(frame_id=tree.frame.id, world_name="w"),
        "Page.createIsolatedWorld",
        {"frameId": tree.frame.id, "worldName": "w"},
        volatile="*",
    )
    clip = page_domain.Viewport(x=0, y=0, width=8, height=8, scale=1)
    shot = await both(
        page,
        page_domain.capture_screenshot(format="png", clip=clip),
        "Page.captureScreenshot",
        {"format": "png", "clip": {"x": 0, "y": 0, "width": 8, "height": 8, "scale": 1}},
        volatile="*",
    )
    assert shot.data.startswith("iVBOR")
    await both(page, page_domain.capture_snapshot(), "Page.captureSnapshot", volatile="*")
    await both(
        page,
        page_domain.add_script_to_evaluate_on_new_document(source="0"),
        "Page.addScriptToEvaluateOnNewDocument",
        {"source": "0"},
        volatile="*",
    )


async def test_commands_of_the_script(page: PageSession, both: Both) -> None:
    evaluated = await both(
        page,
        runtime.evaluate(expression="({a: 1.5, b: [null, -0], c: add})", generate_preview=True, object_group="own"),
        "Runtime.evaluate",
        {"expression": "({a: 1.5, b: [null, -0], c: add})", "generatePreview": True, "objectGroup": "own"},
        volatile={"objectId"},
    )
    assert evaluated.result.preview.properties[1].subtype is runtime.PropertyPreviewSubtype.ARRAY
    thrown = await both(
        page,
        runtime.evaluate(expression="(() => { throw new TypeError('no') })()"),
        "Runtime.evaluate",
        {"expression": "(() => { throw new TypeError('no') })()"},
        volatile={"objectId", "exceptionId", "scriptId"},
    )
    assert thrown.exception_details.exception.class_name == "TypeError"
    holder = evaluated.result.object_id
    properties = await both(
        page,
        runtime.get_properties(object_id=holder, own_properties=True),
        "Runtime.getProperties",
        {"objectId": holder, "ownProperties": True},
        volatile={"objectId"},
    )
    assert [each.name for each in properties.result][:3] == ["a", "b", "c"]
    called = await both(
        page,
        runtime.call_function_on(
            function_declaration="function (...given) { return [this.a, ...given] }",
            object_id=holder,
            arguments=[runtime.CallArgument(value="x"), runtime.CallArgument(unserializable_value="-0")],
            return_by_value=True,
        ),
        "Runtime.callFunctionOn",
        {
            "functionDeclaration": "function (...given) { return [this.a, ...given] }",
            "objectId": holder,
            "arguments": [{"value": "x"}, {"unserializableValue": "-0"}],
            "returnByValue": True,
        },
    )
    assert called.result.value == [1.5, "x", 0]
    deep = runtime.SerializationOptions(serialization="deep", max_depth=3)
    await both(
        page,
        runtime.evaluate(expression="new Map([[1, {a: [2n]}]])", serialization_options=deep),
        "Runtime.evaluate",
        {"expression": "new Map([[1, {a: [2n]}]])", "serializationOptions": {"serialization": "deep", "maxDepth": 3}},
        volatile={"objectId"},
    )
    names = await both(page, runtime.global_lexical_scope_names(), "Runtime.globalLexicalScopeNames")
    assert set(names.names) == {"Own", "lexical"}
    await both(page, runtime.get_heap_usage(), "Runtime.getHeapUsage", volatile="*")
    await both(page, runtime.get_isolate_id(), "Runtime.getIsolateId")
    await both(
        page, runtime.release_object_group(object_group="own"), "Runtime.releaseObjectGroup", {"objectGroup": "own"}
    )


async def test_an_explicit_null_is_not_an_absent_argument(page: PageSession, both: Both) -> None:
    answers = {}
    for argument, raw in ((runtime.CallArgument(value=NULL), {"value": None}), (runtime.CallArgument(), {})):
        me = (await page.send(runtime.evaluate(expression="globalThis"))).result.object_id
        assert me is not None
        answer = await both(
            page,
            runtime.call_function_on(
                function_declaration="function (given) { return given }", object_id=me, arguments=[argument]
            ),
            "Runtime.callFunctionOn",
            {"functionDeclaration": "function (given) { return given }", "objectId": me, "arguments": [raw]},
        )
        answers[exact(raw)] = (answer.result.type, answer.result.subtype, to_json(answer.result))
    assert answers == {
        '{"value": null}': ("object", "null", {"type": "object", "subtype": "null", "value": None}),
        "{}": ("undefined", None, {"type": "undefined"}),
    }


async def test_commands_of_the_document(page: PageSession, both: Both) -> None:
    await page.send(dom.enable())
    document = (
        await both(
            page,
            dom.get_document(depth=-1, pierce=True),
            "DOM.getDocument",
            {"depth": -1, "pierce": True},
            volatile={"nodeId", "parentId"},
        )
    ).root
    assert document.children[1].children[0].local_name == "head"
    assert type(document.children[1].children[0].children[0]) is dom.Node
    # A document that is requested again has new node ids; it is not requested again from here on.
    root = (await page.send(dom.get_document())).root.node_id
    found = await both(
        page, dom.query_selector(node_id=root, selector="p"), "DOM.querySelector", {"nodeId": root, "selector": "p"}
    )
    all_found = await both(
        page,
        dom.query_selector_all(node_id=root, selector="i"),
        "DOM.querySelectorAll",
        {"nodeId": root, "selector": "i"},
    )
    assert len(all_found.node_ids) == 2
    one = {"nodeId": found.node_id}
    described = await both(page, dom.describe_node(node_id=found.node_id), "DOM.describeNode", one)
    assert described.node.attributes == ("style", "width: 50px")
    outer = await both(page, dom.get_outer_html(node_id=found.node_id), "DOM.getOuterHTML", one)
    assert outer.outer_html == '<p style="width: 50px">text <b>bold</b></p>'
    await both(page, dom.get_attributes(node_id=found.node_id), "DOM.getAttributes", one)
    box = (await both(page, dom.get_box_model(node_id=found.node_id), "DOM.getBoxModel", one)).model
    assert (box.width, len(box.content)) == (50, 8)
    await both(page, dom.get_content_quads(node_id=found.node_id), "DOM.getContentQuads", one)
    await both(
        page,
        dom.get_node_for_location(x=int(box.content[0]) + 1, y=int(box.content[1]) + 1),
        "DOM.getNodeForLocation",
        {"x": int(box.content[0]) + 1, "y": int(box.content[1]) + 1},
    )
    resolved = await both(page, dom.resolve_node(node_id=found.node_id), "DOM.resolveNode", one, volatile={"objectId"})
    assert resolved.object.subtype is runtime.RemoteObjectSubtype.NODE
    held = {"objectId": resolved.object.object_id}
    await both(page, dom.request_node(object_id=resolved.object.object_id), "DOM.requestNode", held)
    search = await both(page, dom.perform_search(query="b"), "DOM.performSearch", {"query": "b"}, volatile={"searchId"})
    await both(
        page,
        dom.get_search_results(search_id=search.search_id, from_index=0, to_index=1),
        "DOM.getSearchResults",
        {"searchId": search.search_id, "fromIndex": 0, "toIndex": 1},
    )
    await both(
        page,
        dom.set_attribute_value(node_id=found.node_id, name="lang", value="de"),
        "DOM.setAttributeValue",
        {"nodeId": found.node_id, "name": "lang", "value": "de"},
    )
    button = (await page.send(runtime.evaluate(expression="document.querySelector('button')"))).result.object_id
    assert button is not None
    listeners = await both(
        page,
        dom_debugger.get_event_listeners(object_id=button),
        "DOMDebugger.getEventListeners",
        {"objectId": button},
        volatile={"objectId"},
    )
    assert [each.type for each in listeners.listeners] == ["click"]
    await both(
        page,
        dom_snapshot.capture_snapshot(computed_styles=["color"], include_paint_order=True, include_dom_rects=True),
        "DOMSnapshot.captureSnapshot",
        {"computedStyles": ["color"], "includePaintOrder": True, "includeDOMRects": True},
        volatile={"bounds", "clientRects", "offsetRects", "scrollRects"},  # an animation runs there
    )


async def test_commands_of_the_style(page: PageSession, both: Both) -> None:
    await page.send(dom.enable())
    root = (await page.send(dom.get_document())).root.node_id
    head = (await page.send(dom.query_selector(node_id=root, selector="h1"))).node_id
    one = {"nodeId": head}
    sheet = page.expect(css.StyleSheetAdded)
    await both(page, css.enable(), "CSS.enable")
    computed = await both(
        page, css.get_computed_style_for_node(node_id=head), "CSS.getComputedStyleForNode", one, volatile={"value"}
    )
    assert ("color", "rgb(255, 0, 0)") in [(each.name, each.value) for each in computed.computed_style]
    matched = await both(page, css.get_matched_styles_for_node(node_id=head), "CSS.getMatchedStylesForNode", one)
    rules = {each.rule.selector_list.text: each.rule for each in matched.matched_css_rules}
    assert rules["h1"].origin in css.StyleSheetOrigin.members()
    assert matched.css_keyframes_rules[0].animation_name.text == "move"
    await both(page, css.get_inline_styles_for_node(node_id=head), "CSS.getInlineStylesForNode", one)
    await both(page, css.get_platform_fonts_for_node(node_id=head), "CSS.getPlatformFontsForNode", one)
    await both(page, css.get_background_colors(node_id=head), "CSS.getBackgroundColors", one)
    await both(page, css.get_media_queries(), "CSS.getMediaQueries")
    style_sheet = (await sheet.wait()).header.style_sheet_id
    text = await both(
        page,
        css.get_style_sheet_text(style_sheet_id=style_sheet),
        "CSS.getStyleSheetText",
        {"styleSheetId": style_sheet},
    )
    assert "h1 { color: red" in text.text
    await both(
        page,
        css.collect_class_names(style_sheet_id=style_sheet),
        "CSS.collectClassNames",
        {"styleSheetId": style_sheet},
    )


async def test_commands_of_the_network(
    browser: BrowserSession, context: BrowserContextId, page: PageSession, pages: Pages, both: Both, load: Load
) -> None:
    url = pages("fetched")
    await both(page, network.enable(max_post_data_size=100), "Network.enable", {"maxPostDataSize": 100})
    cookie = {"name": "c", "value": "v", "url": url, "sameSite": "Lax", "expires": 4_000_000_000.0}
    await both(
        page,
        network.set_cookie(
            name="c", value="v", url=url, same_site="Lax", expires=network.TimeSinceEpoch(4_000_000_000.0)
        ),
        "Network.setCookie",
        cookie,
    )
    cookies = await both(page, network.get_cookies(urls=(url,)), "Network.getCookies", {"urls": [url]})
    assert cookies.cookies[0].same_site is network.CookieSameSite.LAX
    with (
        page.expect(network.RequestWillBeSent, where=lambda request: request.document_url == url) as sent,
        page.subscribe(network.LoadingFinished, capacity=100) as finished,
    ):
        await load(page, url)
        request = (await sent.wait()).request_id
        while (await finished.receive()).request_id != request:
            pass
    body = await both(
        page, network.get_response_body(request_id=request), "Network.getResponseBody", {"requestId": request}
    )
    assert (body.body, body.base64_encoded) == ("fetched", False)
    frame = (await page.send(page_domain.get_frame_tree())).frame_tree.frame.id
    loaded = await both(
        page,
        network.load_network_resource(
            frame_id=frame,
            url=url,
            options=network.LoadNetworkResourceOptions(disable_cache=True, include_credentials=False),
        ),
        "Network.loadNetworkResource",
        {"frameId": frame, "url": url, "options": {"disableCache": True, "includeCredentials": False}},
        volatile={"stream", "Date", "date"},
    )
    stream = loaded.resource.stream
    read = await page.send(io.read(handle=stream, size=100))
    assert (read.data, read.eof, read.base64_encoded) == ("fetched", False, False)
    await both(page, io.read(handle=stream), "IO.read", {"handle": stream})
    await page.send(io.close(handle=stream))
    await both(page, network.get_security_isolation_status(), "Network.getSecurityIsolationStatus")
    stored = await both(
        browser, storage.get_cookies(browser_context_id=context), "Storage.getCookies", {"browserContextId": context}
    )
    assert [each.name for each in stored.cookies] == ["c"]
    origin = url.partition("/?")[0]
    await both(page, storage.get_usage_and_quota(origin=origin), "Storage.getUsageAndQuota", {"origin": origin})
    key = (
        await both(page, storage.get_storage_key(frame_id=frame), "Storage.getStorageKey", {"frameId": frame})
    ).storage_key
    await both(
        page,
        dom_storage.get_dom_storage_items(storage_id=dom_storage.StorageId(storage_key=key, is_local_storage=True)),
        "DOMStorage.getDOMStorageItems",
        {"storageId": {"storageKey": key, "isLocalStorage": True}},
    )
    await both(
        page, indexed_db.request_database_names(storage_key=key), "IndexedDB.requestDatabaseNames", {"storageKey": key}
    )
    await both(
        page, cache_storage.request_cache_names(storage_key=key), "CacheStorage.requestCacheNames", {"storageKey": key}
    )
    pattern = fetch.RequestPattern(url_pattern="*never*", request_stage="Response")
    await both(
        page,
        fetch.enable(patterns=[pattern]),
        "Fetch.enable",
        {"patterns": [{"urlPattern": "*never*", "requestStage": "Response"}]},
    )
    await both(page, fetch.disable(), "Fetch.disable")
    await both(page, security.enable(), "Security.enable")
    await both(page, service_worker.enable(), "ServiceWorker.enable")


async def test_commands_of_the_debugger_and_the_profilers(page: PageSession, evaluate: Evaluate, both: Both) -> None:
    parsed = page.expect(debugger.ScriptParsed, where=lambda script: script.length > 50)
    enabled = await both(page, debugger.enable(), "Debugger.enable")
    assert enabled.debugger_id
    script = await parsed.wait()
    source = await both(
        page,
        debugger.get_script_source(script_id=script.script_id),
        "Debugger.getScriptSource",
        {"scriptId": script.script_id},
    )
    assert source.script_source.startswith("globalThis.add")
    start = debugger.Location(script_id=script.script_id, line_number=script.start_line)
    possible = await both(
        page,
        debugger.get_possible_breakpoints(start=start),
        "Debugger.getPossibleBreakpoints",
        {"start": {"scriptId": script.script_id, "lineNumber": script.start_line}},
    )
    assert {place.type for place in possible.locations} >= {"return", None}
    await both(
        page,
        debugger.search_in_content(script_id=script.script_id, query="add"),
        "Debugger.searchInContent",
        {"scriptId": script.script_id, "query": "add"},
    )
    await both(
        page, debugger.set_async_call_stack_depth(max_depth=4), "Debugger.setAsyncCallStackDepth", {"maxDepth": 4}
    )
    await page.send(debugger.disable())

    await both(page, profiler.enable(), "Profiler.enable")
    await both(
        page,
        profiler.start_precise_coverage(call_count=True, detailed=True),
        "Profiler.startPreciseCoverage",
        {"callCount": True, "detailed": True},
        volatile="*",
    )
    await evaluate(page, "add(1, 2)")
    assert_fields(await page.send(profiler.take_precise_coverage()))  # a coverage that was taken is not returned again
    await page.send(profiler.stop_precise_coverage())
    await both(page, profiler.get_best_effort_coverage(), "Profiler.getBestEffortCoverage", volatile="*")
    await page.send(profiler.start())
    await evaluate(page, "for (let i = 0; i < 1e6; i++) add(i, i)")
    profile = (await page.send(profiler.stop())).profile
    assert_fields(profile)
    assert profile.nodes[0].call_frame.function_name == "(root)"
    assert profile.samples is not None
    await page.send(heap_profiler.start_sampling(sampling_interval=1000.0))
    await evaluate(page, "globalThis.big = Array(1e5).fill('x')")
    heap = await both(page, heap_profiler.get_sampling_profile(), "HeapProfiler.getSamplingProfile", volatile="*")
    assert heap.profile.head.children is not None
    await page.send(heap_profiler.stop_sampling())


async def test_commands_of_rendering_and_measurement(page: PageSession, both: Both) -> None:
    await both(
        page,
        emulation.set_device_metrics_override(
            width=640,
            height=480,
            device_scale_factor=1,
            mobile=False,
            screen_orientation=emulation.ScreenOrientation(type="landscapePrimary", angle=0),
        ),
        "Emulation.setDeviceMetricsOverride",
        {
            "width": 640,
            "height": 480,
            "deviceScaleFactor": 1,
            "mobile": False,
            "screenOrientation": {"type": "landscapePrimary", "angle": 0},
        },
    )
    await both(
        page,
        emulation.set_emulated_media(features=[emulation.MediaFeature(name="prefers-color-scheme", value="dark")]),
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": "dark"}]},
    )
    await both(page, emulation.get_screen_infos(), "Emulation.getScreenInfos")
    await page.send(dom.enable())
    root = (await page.send(dom.get_document())).root.node_id
    grid = (await page.send(dom.query_selector(node_id=root, selector="#grid"))).node_id
    await both(page, overlay.enable(), "Overlay.enable")
    await both(
        page,
        overlay.get_highlight_object_for_test(node_id=grid, include_style=True),
        "Overlay.getHighlightObjectForTest",
        {"nodeId": grid, "includeStyle": True},
    )
    await both(
        page,
        overlay.get_grid_highlight_objects_for_test(node_ids=[grid]),
        "Overlay.getGridHighlightObjectsForTest",
        {"nodeIds": [grid]},
    )
    blue = {"r": 0, "g": 0, "b": 255, "a": 0.5}
    config = overlay.HighlightConfig(show_info=True, content_color=dom.RGBA(r=0, g=0, b=255, a=0.5), color_format="hex")
    await both(
        page,
        overlay.highlight_node(highlight_config=config, node_id=grid),
        "Overlay.highlightNode",
        {"highlightConfig": {"showInfo": True, "contentColor": blue, "colorFormat": "hex"}, "nodeId": grid},
    )
    await both(page, animation.enable(), "Animation.enable")
    await both(page, animation.get_playback_rate(), "Animation.getPlaybackRate")
    await both(page, layer_tree.enable(), "LayerTree.enable")
    await both(page, layer_tree.disable(), "LayerTree.disable")
    await both(
        page,
        input_domain.dispatch_mouse_event(type="mouseMoved", x=5, y=5.5),
        "Input.dispatchMouseEvent",
        {"type": "mouseMoved", "x": 5, "y": 5.5},
    )
    await both(page, input_domain.insert_text(text="é\ud800"), "Input.insertText", {"text": "é\ud800"})
    await both(page, accessibility.enable(), "Accessibility.enable")
    await both(page, accessibility.get_root_ax_node(), "Accessibility.getRootAXNode", volatile={"nodeId", "childIds"})
    tree = await both(
        page, accessibility.get_full_ax_tree(depth=3), "Accessibility.getFullAXTree", {"depth": 3}, volatile="*"
    )
    names = [node.role.value for node in tree.nodes if node.role is not None]
    assert names[0] == "RootWebArea"
    await both(
        page,
        accessibility.query_ax_tree(node_id=root, role="button"),
        "Accessibility.queryAXTree",
        {"nodeId": root, "role": "button"},
        volatile={"nodeId", "parentId"},
    )
    await both(page, log.enable(), "Log.enable")
    await both(page, memory.get_dom_counters(), "Memory.getDOMCounters", volatile="*")
    await both(page, memory.get_browser_sampling_profile(), "Memory.getBrowserSamplingProfile", volatile="*")
    await both(page, performance.enable(time_domain="timeTicks"), "Performance.enable", {"timeDomain": "timeTicks"})
    metrics = await both(page, performance.get_metrics(), "Performance.getMetrics", volatile={"value"})
    assert "JSHeapUsedSize" in [metric.name for metric in metrics.metrics]
    await both(page, audits.enable(), "Audits.enable")
    await both(page, web_authn.enable(), "WebAuthn.enable")
    options = web_authn.VirtualAuthenticatorOptions(
        protocol="ctap2", transport=web_authn.AuthenticatorTransport.INTERNAL, has_resident_key=True
    )
    added = await page.send(web_authn.add_virtual_authenticator(options=options))
    await both(
        page,
        web_authn.get_credentials(authenticator_id=added.authenticator_id),
        "WebAuthn.getCredentials",
        {"authenticatorId": added.authenticator_id},
    )


async def test_commands_of_tracing(browser: BrowserSession, both: Both, hear: Hear) -> None:
    # The categories that the process has met so far, in any order, maybe none: hence no comparison of two calls.
    assert_fields(await browser.send(tracing.get_categories()))
    wanted = tracing.TraceConfig(included_categories=("devtools.timeline",), record_mode="recordUntilFull")
    async with hear(browser, tracing.TracingComplete) as complete:
        await browser.send(tracing.start(trace_config=wanted, transfer_mode="ReturnAsStream"))
        await browser.send(tracing.end())
        ended = await complete()
    assert not ended.data_loss_occurred
    assert ended.stream_compression is tracing.StreamCompression.NONE
    first = await browser.send(io.read(handle=ended.stream, size=20))
    assert first.data.startswith("{")
    await browser.send(io.close(handle=ended.stream))


@pytest.mark.parametrize(
    ("command", "raw"),
    [
        (page_domain.navigate(url="no address"), {"url": "no address"}),
        (runtime.get_properties(object_id=runtime.RemoteObjectId("none")), {"objectId": "none"}),
        (dom.describe_node(node_id=dom.NodeId(987654)), {"nodeId": 987654}),
    ],
    ids=["url", "object", "node"],
)
async def test_a_refusal_is_the_same_typed_and_raw(
    page: PageSession, command: Command[Any], raw: dict[str, Any]
) -> None:
    with pytest.raises(CommandRefused) as typed:
        await page.send(command)
    with pytest.raises(CommandRefused) as plain:
        await page.send(command.method, raw)
    with pytest.raises(CommandRefused) as later:
        await page.send_nowait(command).wait()
    for refused in (typed.value, later.value):
        assert (refused.code, refused.message, refused.data, refused.method, refused.session_id) == (
            plain.value.code,
            plain.value.message,
            plain.value.data,
            plain.value.method,
            plain.value.session_id,
        )


# ── events ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_events_of_a_navigation(page: PageSession, pages: Pages, hear: Hear) -> None:
    url = pages("<title>next</title>there")
    async with (
        page.enabled("Page", "Network"),
        hear(page, page_domain.LoadEventFired) as loaded,
        hear(page, page_domain.FrameNavigated) as navigated,
        hear(page, network.RequestWillBeSent, lambda event: event.params["documentURL"] == url) as requested,
        hear(page, network.ResponseReceived, lambda event: event.params["response"]["url"] == url) as received,
        hear(page, network.LoadingFinished) as finished,
    ):
        await page.send(page_domain.enable())
        went = await page.send(page_domain.navigate(url=url))
        assert went.error_text is None
        assert (await loaded()).timestamp > 0
        frame = (await navigated()).frame
        assert (frame.id, frame.loader_id, frame.url) == (went.frame_id, went.loader_id, url)
        request = await requested()
        assert (request.type, request.request.method) == (network.ResourceType.DOCUMENT, "GET")
        assert request.initiator.type is network.InitiatorType.OTHER
        response = await received()
        assert (response.response.status, response.response.mime_type) == (200, "text/html")
        assert response.response.timing.request_time > 0
        assert response.response.headers["Content-Type"] == "text/html; charset=utf-8"
        assert response.request_id == request.request_id
        while (await finished()).request_id != request.request_id:
            pass


async def test_events_of_the_console(page: PageSession, evaluate: Evaluate, hear: Hear) -> None:
    async with (
        page.enabled("Runtime"),
        hear(page, runtime.ConsoleAPICalled) as called,
        hear(page, runtime.ExceptionThrown) as thrown,
    ):
        await evaluate(page, "console.warn('é\\ud800', 1n, {deep: {er: [1, new Map([[1, 2]])]}}, undefined, NaN, add)")
        reported = await called()
        assert reported.type is runtime.ConsoleAPICalledType.WARNING
        text, big, nested, nothing, nan, function = reported.args
        assert (text.value, big.unserializable_value, nan.unserializable_value) == ("é\ud800", "1n", "NaN")
        assert (nothing.type, function.class_name) == (runtime.RemoteObjectType.UNDEFINED, "Function")
        assert nested.preview.properties[0].name == "deep"
        assert reported.stack_trace.call_frames[0].line_number == 0
        await evaluate(page, "console.log(null), setTimeout(() => { throw new RangeError('far') })")
        assert (await called()).args[0].subtype is runtime.RemoteObjectSubtype.NULL
        details = (await thrown()).exception_details
        assert details.exception.description.startswith("RangeError: far")


@pytest.mark.parametrize("accept", [True, False])
async def test_events_of_a_dialog(page: PageSession, hear: Hear, accept: bool) -> None:
    async with (
        page.enabled("Page"),
        hear(page, page_domain.JavascriptDialogOpening) as opening,
        hear(page, page_domain.JavascriptDialogClosed) as closed,
    ):
        asked = page.send_nowait(runtime.evaluate(expression="prompt('name?', 'none')"))
        dialog = await opening()
        match dialog:
            case page_domain.JavascriptDialogOpening(type=page_domain.DialogType.PROMPT, message=message):
                assert (message, dialog.default_prompt) == ("name?", "none")
            case _:
                pytest.fail(repr(dialog))
        assert dialog.frame_id == page.target_id
        await page.send(page_domain.handle_java_script_dialog(accept=accept, prompt_text="Ada"))
        ended = await closed()
        assert (ended.result, ended.user_input) == (accept, "Ada")
        answer = (await asked.wait()).result
        assert answer.value == ("Ada" if accept else None)


async def test_events_of_targets(browser: BrowserSession, context: BrowserContextId, pages: Pages, hear: Hear) -> None:
    def is_ours(event: Event) -> object:
        info = event.params["targetInfo"]
        return info["type"] == "page" and info.get("browserContextId") == context

    async with (
        hear(browser, target.TargetCreated, is_ours) as created,
        hear(browser, target.TargetInfoChanged, is_ours) as changed,
        hear(browser, target.TargetDestroyed) as destroyed,
    ):
        await browser.send(target.set_discover_targets(discover=True))
        made = await browser.send(target.create_target(url=pages("new"), browser_context_id=context))
        info = (await created()).target_info
        assert (info.target_id, info.type, info.browser_context_id) == (made.target_id, "page", context)
        assert (await changed()).target_info.target_id == made.target_id
        attached = await browser.send(target.attach_to_target(target_id=made.target_id, flatten=True))
        session = browser.sessions[attached.session_id]
        assert (await session.send(runtime.evaluate(expression="6 * 7"))).result.value == 42
        await browser.send(target.close_target(target_id=made.target_id))
        assert (await destroyed()).target_id == made.target_id


async def test_events_of_the_document_and_the_debugger(page: PageSession, evaluate: Evaluate, hear: Hear) -> None:
    async with hear(page, debugger.ScriptParsed, lambda event: event.params["url"] == "own.js") as parsed:
        await page.send(debugger.enable())
        await evaluate(page, "0 //# sourceURL=own.js")
        script = await parsed()
        assert script.script_language is debugger.ScriptLanguage.JAVA_SCRIPT
        assert script.execution_context_aux_data["isDefault"] is True
    async with hear(page, debugger.Paused) as paused, hear(page, debugger.Resumed) as resumed:
        stopped = page.send_nowait(runtime.evaluate(expression="(function inner(a) { debugger; return a })(7)"))
        pause = await paused()
        assert [frame.function_name for frame in pause.call_frames] == ["inner", ""]
        assert pause.reason is debugger.PausedReason.OTHER
        assert pause.call_frames[0].scope_chain[0].type is debugger.ScopeType.LOCAL
        await page.send(debugger.resume())
        await resumed()
        assert (await stopped.wait()).result.value == 7
        await page.send(debugger.disable())
    await page.send(dom.enable())
    await page.send(dom.get_document(depth=-1))
    async with (
        hear(page, dom.AttributeModified) as modified,
        hear(page, dom.ChildNodeInserted) as inserted,
        hear(page, dom.ChildNodeRemoved) as removed,
    ):
        await evaluate(page, "head.setAttribute('lang', 'de'), head.after(document.createElement('hr'))")
        change = await modified()
        assert (change.name, change.value) == ("lang", "de")
        node = (await inserted()).node
        assert node.local_name == "hr"
        await evaluate(page, "document.querySelector('hr').remove()")
        assert (await removed()).node_id == node.node_id


async def test_a_request_is_paused_and_answered_typed(page: PageSession, evaluate: Evaluate, hear: Hear) -> None:
    await page.send(fetch.enable(patterns=(fetch.RequestPattern(url_pattern="*/held"),)))
    async with hear(page, fetch.RequestPaused) as paused:
        asked = page.send_nowait(
            runtime.evaluate(
                expression="fetch('/held', {method: 'POST', body: 'é'}).then(r => r.text())", await_promise=True
            )
        )
        held = await paused()
        assert (held.request.method, held.request.has_post_data) == ("POST", True)
        await page.send(
            fetch.fulfill_request(
                request_id=held.request_id,
                response_code=200,
                response_headers=[fetch.HeaderEntry(name="Content-Type", value="text/plain")],
                body="b3Vycw==",
            )
        )
        assert (await asked.wait()).result.value == "ours"
    await page.send(fetch.disable())


async def test_every_event_of_a_busy_page_is_known(
    browser: BrowserSession, new_page: NewPage, pages: Pages, load: Load, evaluate: Evaluate
) -> None:
    """`browser` checks every event afterwards; this test makes the page send many kinds."""
    page = await new_page("first")
    counts: Counter[str] = Counter()
    async with page.enabled("Page"):
        with browser.tap(lambda output: counts.update([output.method]) if isinstance(output, Event) else None):
            await cause_many_events(page, browser, pages, load, evaluate)
    assert len(counts) >= 30, counts
    assert {name.partition(".")[0] for name in counts} >= {"Page", "Runtime", "Network", "Debugger", "DOM", "CSS"}


async def cause_many_events(
    page: PageSession, browser: BrowserSession, pages: Pages, load: Load, evaluate: Evaluate
) -> None:
    for command in (
        page_domain.set_lifecycle_events_enabled(enabled=True),
        runtime.enable(),
        network.enable(),
        debugger.enable(),
        dom.enable(),
        css.enable(),
        log.enable(),
        security.enable(),
        audits.enable(),
        animation.enable(),
        layer_tree.enable(),
        accessibility.enable(),
        service_worker.enable(),
        dom_storage.enable(),
        overlay.enable(),
    ):
        await page.send(command)
    await page.send(network.set_attach_debug_stack(enabled=True))
    await page.send(target.set_auto_attach(auto_attach=True, wait_for_debugger_on_start=False, flatten=True))
    other = pages("<script>console.log([1, {a: 2}])</script>elsewhere", "localhost")
    source = (
        f"{RICH}<iframe src='{other}'></iframe><img src='/?html=img'><link rel=stylesheet href='/?html=b{{}}'>"
        "<script>new Worker(URL.createObjectURL(new Blob(['postMessage(1)']))).onmessage = () => done();"
        "globalThis.worked = new Promise(resolve => globalThis.done = resolve)</script>"
    )
    await load(page, pages(source))
    for child in [session for session in browser.sessions.values() if session.parent == page.session_id]:
        await child.send(runtime.enable())
        await child.send(network.enable())
        await child.send(debugger.enable())
    await page.send(dom.get_document(depth=-1, pierce=True))
    await evaluate(
        page,
        "worked.then(() => { sessionStorage.a = 'b'; document.cookie = 'k=v'; history.pushState({}, '', '#x');"
        " head.classList.add('three'); console.table([[1]]); console.error(new Error('e'));"
        " return fetch('/?html=more').then(r => r.text()) })",
    )
    with page.expect(page_domain.LoadEventFired) as loaded:
        await page.send(page_domain.reload(ignore_cache=True))
    await loaded.wait()
    await evaluate(page, "worked")


# ── the description ──────────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_browsers_own_description_is_compared(
    browser: BrowserSession, shared_chromium: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    product = (await browser.send(browser_domain.get_version())).product
    address = f"http://127.0.0.1:{shared_chromium.port}"
    code = await trio.to_thread.run_sync(bindings_main, ["diff", address])
    reported, complaint = capsys.readouterr()
    with capsys.disabled():
        sys.stdout.write(f"\n{product}:\n{reported}{complaint}")
    assert code in (0, 1), complaint
    *differences, summary = reported.splitlines()
    assert re.fullmatch(rf"{len(differences) or 'no'} differences? between .+ \(\+\) and .+ \(-\)", summary)
    assert bool(differences) == bool(code)
    if major(product) == OF_VERSION:
        assert code == 0


def test_enough_commands_are_compared() -> None:
    """Counted in the source: the promise is 40 commands of 15 domains."""
    called = set(re.findall(r'\n?\s"([A-Z]\w+\.\w+)",?', Path(__file__).read_text()))
    assert len(called) >= 40
    assert len({name.partition(".")[0] for name in called}) >= 15
