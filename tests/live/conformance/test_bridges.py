"""Replaced dialogs, sessions that are not flat, repeated ids, hidden pages, and early crashes."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from cdp_core.testing.steps import Dialog, Override, Popup

pytestmark = pytest.mark.chromium

BRIDGE = """(() => {
  const ask = (kind, message, d) => {
    const x = new XMLHttpRequest();
    x.open('GET', 'https://bridge.invalid/?kind=' + kind + '&message=' + encodeURIComponent(message) + '&d=' + d, false);
    x.send();
    return JSON.parse(x.responseText);
  };
  window.alert = message => { ask('alert', message, ''); };
  window.confirm = message => ask('confirm', message, '').accept;
  window.prompt = (message, d) => { const r = ask('prompt', message, d); return r.accept ? r.text : null; };
})()"""
OVERRIDE = Override("https://bridge.invalid/?kind={type}&message={message}&d={default}")
ANSWER = {
    "responseCode": 200,
    "responseHeaders": [{"name": "Access-Control-Allow-Origin", "value": "*"}],
    "body": base64.b64encode(b'{"accept": true, "text": "Ada"}').decode(),
}


def open_page_with_replaced_dialogs(scenario: Any) -> None:
    scenario.overrides["bridge.invalid"] = OVERRIDE
    scenario.page("/main")
    scenario.open("p", enable=("Page", "Runtime"))
    scenario.send("Page.addScriptToEvaluateOnNewDocument", {"source": BRIDGE}, on="p")
    scenario.send("Fetch.enable", {"patterns": [{"urlPattern": "*bridge.invalid*"}]}, on="p")
    scenario.go("{a}/main", on="p")


async def test_a_replaced_dialog_requests_its_answer_and_waits(scenario: Any) -> None:
    open_page_with_replaced_dialogs(scenario)
    for expression in ("alert('a b')", "confirm('c&d')", "prompt('p','d')"):
        scenario.evaluate(expression, on="p", wait=False, returnByValue=True)
        scenario.expect("Fetch.requestPaused", on="p", save={"id.r": "params.requestId"})
        scenario.evaluate("1", on="p", wait=False)
        scenario.settle()
        scenario.send("Fetch.fulfillRequest", {"requestId": "$id.r", **ANSWER}, on="p")
        scenario.settle()
    await scenario.conforms()


async def test_a_replaced_dialog_throws_when_its_request_fails(scenario: Any) -> None:
    open_page_with_replaced_dialogs(scenario)
    scenario.evaluate("try { confirm('x') } catch (e) { 'threw ' + e.name }", on="p", wait=False)
    scenario.expect("Fetch.requestPaused", on="p", save={"id.r": "params.requestId"})
    scenario.send("Fetch.failRequest", {"requestId": "$id.r", "errorReason": "Aborted"}, on="p")
    scenario.settle()
    scenario.send("Fetch.disable", on="p")
    scenario.evaluate("try { confirm('x') } catch (e) { 'threw ' + e.name }", on="p")
    await scenario.conforms()


async def test_a_session_that_is_not_flat(scenario: Any) -> None:
    scenario.open("p", enable=())
    scenario.send("Target.attachToTarget", {"targetId": "$target.p"}, save={"session.n": "sessionId"})
    for inside in (
        json.dumps({"id": 1, "method": "Runtime.evaluate", "params": {"expression": "1+1"}}),
        json.dumps({"id": 2, "method": "Nope.nope"}),
        json.dumps({"id": 3, "method": "Browser.getVersion", "sessionId": "x"}),
        "{bad",
    ):
        scenario.send("Target.sendMessageToTarget", {"sessionId": "$session.n", "message": inside})
        scenario.settle()
    command = json.dumps({"id": 4, "method": "Runtime.evaluate", "params": {"expression": "2"}})
    for named in ({}, {"sessionId": "unknown"}, {"targetId": "unknown"}, {"sessionId": "$session.p"}):
        scenario.send("Target.sendMessageToTarget", {"message": command, **named})
    scenario.send("Target.sendMessageToTarget", {"message": command, "targetId": "$target.p"})
    scenario.send("Target.detachFromTarget", {"targetId": "$target.p"})
    scenario.evaluate("1", on="n")
    scenario.send("Target.detachFromTarget", {"sessionId": "$session.n"})
    await scenario.conforms()


async def test_a_command_with_a_repeated_id_is_executed_again_in_later_documents(scenario: Any) -> None:
    scenario.page("/main")
    scenario.page("/next")
    scenario.open("p", "{a}/main")
    scenario.evaluate("alert('blocks')", on="p", wait=False)
    scenario.expect("Page.javascriptDialogOpening", on="p")
    for value in ("1", "2", "3"):
        scenario.send("Runtime.evaluate", {"expression": value}, on="p", id=500, wait=False)
    scenario.settle()
    scenario.send("Page.handleJavaScriptDialog", {"accept": True}, on="p")
    scenario.settle()
    for url in ("{b}/next", "{a}/main", "{b}/main"):
        scenario.go(url, on="p")
    await scenario.conforms()


async def test_hiding_a_page_closes_its_dialog(scenario: Any) -> None:
    scenario.page("/main")
    scenario.page("/ask", Dialog("confirm", "sure?"))
    scenario.open("p", "{a}/main")
    scenario.send("Target.activateTarget", {"targetId": "$target.p"})
    scenario.act(Popup("q", "{a}/ask"), on="p")
    scenario.evaluate("1", on="p", wait=False)
    scenario.settle()
    scenario.send("Target.createTarget", {"url": "about:blank", "background": True})
    scenario.settle()
    scenario.send("Target.activateTarget", {"targetId": "$target.p"})
    scenario.settle()
    await scenario.conforms()


async def test_a_crash_on_a_session_that_the_renderer_does_not_know(scenario: Any) -> None:
    scenario.page("/main")
    scenario.open("p", "{a}/main", enable=())
    scenario.evaluate("alert('unseen')", on="p", wait=False)
    scenario.settle()
    scenario.attach("late", "p")
    scenario.send("Page.crash", on="late", wait=False)
    scenario.send("Runtime.terminateExecution", on="late", wait=False)
    scenario.settle()
    scenario.send("Runtime.terminateExecution", on="p", wait=False)
    scenario.send("Page.crash", on="p", wait=False)
    scenario.settle()
    await scenario.conforms()
