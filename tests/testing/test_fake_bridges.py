"""Dialog functions that a client's init script replaces: the request, and the result of the call.

Facts 10, 27, 30 to 34.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from cdp_core.testing import FakeBrowser, Script
from cdp_core.testing.steps import AddFrame, Console, Dialog, Override, Served

PLAIN, SECURE, MAGIC = "http://shop.example/", "https://shop.example/", "://bridge.invalid/"
SOURCE = "window.confirm = …; // bridge"
QUERY = "?kind={type}&message={message}&d={default}"
REPLY = base64.b64encode(b'{"accept": true, "text": "Ada"}').decode()
TRIED = "try { confirm('sure?') } catch (x) { 'threw ' + x.name }"


class Bridge:
    """A client with its init script in every document of the page; it answers the requests of that script."""

    def __init__(self, *, scheme: str = "https", **script: Any) -> None:
        overrides = {"// bridge": Override(f"{scheme}{MAGIC}{QUERY}")}
        self.fake = FakeBrowser(Script(overrides=overrides, **script))
        self.end = self.fake.connect()
        self.messages: list[dict[str, Any]] = []
        self._ids = 0
        [page] = self.send("Target.getTargets")["targetInfos"]
        self.session = self.send("Target.attachToTarget", "", targetId=page["targetId"], flatten=True)["sessionId"]
        self.send("Page.enable")
        self.send("Runtime.enable")
        self.send("Page.addScriptToEvaluateOnNewDocument", source=SOURCE)
        self.send("Fetch.enable", patterns=[{"urlPattern": f"*{MAGIC}*"}])

    def send(self, method: str, session: str | None = None, **params: Any) -> Any:
        """Return the result or the error; None while the command is not answered."""
        self._ids += 1
        target_session = getattr(self, "session", "") if session is None else session
        message = {"id": self._ids, "method": method, "params": params}
        self.end.receive(json.dumps(message | ({"sessionId": target_session} if target_session else {})).encode())
        return self.answer(self._ids)

    def answer(self, number: int) -> Any:
        self.messages += map(json.loads, self.end.drain())
        found = [each for each in self.messages if each.get("id") == number]
        return found[0].get("result", found[0].get("error")) if found else None

    def evaluate(self, expression: str, **params: Any) -> tuple[int, Any]:
        answer = self.send("Runtime.evaluate", expression=expression, **params)
        return self._ids, answer

    def events(self, method: str) -> list[dict[str, Any]]:
        return [each["params"] for each in self.messages if each.get("method") == method]

    def fulfil(self) -> None:
        [held] = self.fake.truth().paused_requests
        self.send(
            "Fetch.fulfillRequest",
            requestId=held.request_id,
            responseCode=200,
            responseHeaders=[{"name": "Access-Control-Allow-Origin", "value": "*"}],
            body=REPLY,
        )


@pytest.mark.parametrize(
    ("expression", "query", "result"),
    [
        ("alert('a')", "?kind=alert&message=a&d=", {"type": "undefined"}),
        ("confirm('a b&c')", "?kind=confirm&message=a%20b%26c&d=", {"type": "boolean", "value": True}),
        ("prompt('p','d')", "?kind=prompt&message=p&d=d", {"type": "string", "value": "Ada"}),
        (r"confirm('a\ud800b')", "?kind=confirm&message=a%EF%BF%BDb&d=", {"type": "boolean", "value": True}),
    ],
)
def test_a_replaced_dialog_function_sends_a_request_to_the_client(
    expression: str, query: str, result: dict[str, Any]
) -> None:
    client = Bridge()
    client.send("Page.navigate", url=PLAIN)
    number, answer = client.evaluate(expression, returnByValue=True)
    assert answer is None
    assert [each["request"]["url"] for each in client.events("Fetch.requestPaused")] == [f"https{MAGIC}{query}"]
    assert client.send("Page.getFrameTree") is None, "the renderer process waits"
    client.fulfil()
    assert client.answer(number) == {"result": result}
    assert client.events("Page.javascriptDialogOpening") == []


@pytest.mark.parametrize(
    ("scheme", "page", "served", "bypass", "requested"),
    [
        ("http", PLAIN, Served(), False, True),
        ("http", SECURE, Served(), False, False),
        ("https", SECURE, Served(), False, True),
        ("http", PLAIN, Served("default-src 'self'"), False, False),
        ("https", SECURE, Served("connect-src 'none'"), False, False),
        ("https", SECURE, Served("connect-src 'none'"), True, True),
        ("https", SECURE, Served("connect-src https:; default-src 'none'"), False, True),
        ("https", SECURE, Served("connect-src bridge.invalid"), False, True),
        ("https", SECURE, Served("connect-src https://other.example"), False, False),
        ("https", PLAIN, Served("default-src *"), False, True),
        ("https", SECURE, Served("connect-src 'self'"), False, False),
        ("http", SECURE, Served("upgrade-insecure-requests"), False, True),
        ("https", PLAIN, Served(permissions="sync-xhr=()"), True, False),
    ],
)
def test_the_policies_of_a_document_decide_whether_the_request_is_sent(
    scheme: str, page: str, served: Served, bypass: bool, requested: bool
) -> None:
    client = Bridge(scheme=scheme, served={page: served})
    if bypass:
        client.send("Page.setBypassCSP", enabled=True)
    client.send("Page.navigate", url=page)
    _, answer = client.evaluate(TRIED)
    assert bool(client.events("Fetch.requestPaused")) is requested
    thrown = {"result": {"type": "string", "value": "threw NetworkError"}}
    assert answer == (None if requested else thrown)


def test_csp_is_bypassed_only_in_later_documents() -> None:
    client = Bridge(served={SECURE: Served("connect-src 'none'")})
    client.send("Page.navigate", url=SECURE)
    client.send("Page.setBypassCSP", enabled=True)
    assert client.evaluate(TRIED)[1]["result"]["value"] == "threw NetworkError"
    client.send("Page.navigate", url=SECURE)
    assert client.evaluate(TRIED)[1] is None


def test_an_uncaught_error_is_in_the_exception_details() -> None:
    client = Bridge(scheme="http")
    client.send("Page.navigate", url=SECURE)
    answer = client.evaluate("prompt('p')")[1]
    assert (answer["result"]["subtype"], answer["result"]["className"]) == ("error", "DOMException")
    assert answer["exceptionDetails"]["exception"]["description"].startswith(
        "NetworkError: Failed to execute 'send' on 'XMLHttpRequest': Failed to load 'http://bridge.invalid/?kind=prompt"
    )


def test_an_uncaught_error_ends_the_script_of_the_document() -> None:
    steps = (Console("before"), Dialog("confirm", "sure?"), Console("after"))
    client = Bridge(scheme="http", pages={SECURE: steps, PLAIN: steps})
    client.send("Page.navigate", url=SECURE)
    [lost] = client.events("Runtime.exceptionThrown")
    assert lost["exceptionDetails"]["text"] == "Uncaught"
    assert [each["args"][0]["value"] for each in client.events("Runtime.consoleAPICalled")] == ["before"]
    assert client.events("Page.loadEventFired")
    client.send("Page.navigate", url=PLAIN)
    client.fulfil()
    texts = [each["args"][0]["value"] for each in client.events("Runtime.consoleAPICalled")]
    assert texts == ["before", "before", "after"]


def test_an_out_of_process_frame_needs_its_own_init_script() -> None:
    client = Bridge(pages={PLAIN: (AddFrame("ad", "http://ad.example/"),)})
    client.send("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)
    client.send("Page.navigate", url=PLAIN)
    frame_session = client.events("Target.attachedToTarget")[-1]["sessionId"]
    client.send("Runtime.evaluate", frame_session, expression="confirm('native')")
    assert [each["message"] for each in client.events("Page.javascriptDialogOpening")] == ["native"]
    client.send("Page.handleJavaScriptDialog", accept=True)
    client.send("Page.addScriptToEvaluateOnNewDocument", frame_session, source=SOURCE, runImmediately=True)
    answer = client.send("Runtime.evaluate", frame_session, expression=TRIED)
    assert answer["result"]["value"] == "threw NetworkError", "the Fetch of the parent session does not see the request"
    client.send("Fetch.enable", frame_session)
    assert client.send("Runtime.evaluate", frame_session, expression=TRIED) is None
    assert len(client.events("Fetch.requestPaused")) == 1


def test_removing_the_init_script_restores_dialogs() -> None:
    client = Bridge()
    client.send("Page.removeScriptToEvaluateOnNewDocument", identifier="1")
    client.send("Page.addScriptToEvaluateOnNewDocument", source=SOURCE, worldName="aside")
    client.send("Page.navigate", url=PLAIN)
    assert client.evaluate("alert('native')")[1] is None
    assert client.events("Page.javascriptDialogOpening")


def test_a_request_longer_than_two_mebibytes_fails() -> None:
    client = Bridge()
    client.send("Page.navigate", url=PLAIN)
    assert (
        client.evaluate("try { confirm('x'.repeat(1<<21)) } catch (e) { e.name }")[1]["result"]["value"]
        == "NetworkError"
    )
    assert client.evaluate("confirm('x'.repeat(1<<20))")[1] is None
