"""Dialogs that a client's own script has replaced: who is asked, and what becomes of the call (facts 10, 27, 30 to 34)."""

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
    """A client that has its script in every document of the page, and answers what that asks."""

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
        """The result or the error; None while there is none."""
        self._ids += 1
        own = getattr(self, "session", "") if session is None else session
        message = {"id": self._ids, "method": method, "params": params}
        self.end.receive(json.dumps(message | ({"sessionId": own} if own else {})).encode())
        return self.answer(self._ids)

    def answer(self, number: int) -> Any:
        self.messages += map(json.loads, self.end.drain())
        found = [each for each in self.messages if each.get("id") == number]
        return found[0].get("result", found[0].get("error")) if found else None

    def ask(self, expression: str, **params: Any) -> tuple[int, Any]:
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
    ("expression", "asked", "brought"),
    [
        ("alert('a')", "?kind=alert&message=a&d=", {"type": "undefined"}),
        ("confirm('a b&c')", "?kind=confirm&message=a%20b%26c&d=", {"type": "boolean", "value": True}),
        ("prompt('p','d')", "?kind=prompt&message=p&d=d", {"type": "string", "value": "Ada"}),
        (r"confirm('a\ud800b')", "?kind=confirm&message=a%EF%BF%BDb&d=", {"type": "boolean", "value": True}),
    ],
)
def test_who_put_a_script_in_its_place_is_asked(expression: str, asked: str, brought: dict[str, Any]) -> None:
    client = Bridge()
    client.send("Page.navigate", url=PLAIN)
    number, answer = client.ask(expression, returnByValue=True)
    assert answer is None
    assert [each["request"]["url"] for each in client.events("Fetch.requestPaused")] == [f"https{MAGIC}{asked}"]
    assert client.send("Page.getFrameTree") is None, "its process waits"
    client.fulfil()
    assert client.answer(number) == {"result": brought}
    assert client.events("Page.javascriptDialogOpening") == []


@pytest.mark.parametrize(
    ("scheme", "page", "served", "bypass", "asks"),
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
def test_a_documents_policies_come_first(scheme: str, page: str, served: Served, bypass: bool, asks: bool) -> None:
    client = Bridge(scheme=scheme, served={page: served})
    if bypass:
        client.send("Page.setBypassCSP", enabled=True)
    client.send("Page.navigate", url=page)
    _, answer = client.ask(TRIED)
    assert bool(client.events("Fetch.requestPaused")) is asks
    thrown = {"result": {"type": "string", "value": "threw NetworkError"}}
    assert answer == (None if asks else thrown)


def test_csp_is_bypassed_in_documents_to_come_only() -> None:
    client = Bridge(served={SECURE: Served("connect-src 'none'")})
    client.send("Page.navigate", url=SECURE)
    client.send("Page.setBypassCSP", enabled=True)
    assert client.ask(TRIED)[1]["result"]["value"] == "threw NetworkError"
    client.send("Page.navigate", url=SECURE)
    assert client.ask(TRIED)[1] is None


def test_what_nobody_catches_is_shown() -> None:
    client = Bridge(scheme="http")
    client.send("Page.navigate", url=SECURE)
    answer = client.ask("prompt('p')")[1]
    assert (answer["result"]["subtype"], answer["result"]["className"]) == ("error", "DOMException")
    assert answer["exceptionDetails"]["exception"]["description"].startswith(
        "NetworkError: Failed to execute 'send' on 'XMLHttpRequest': Failed to load 'http://bridge.invalid/?kind=prompt"
    )


def test_a_documents_own_script_ends_by_what_it_does_not_catch() -> None:
    steps = (Console("before"), Dialog("confirm", "sure?"), Console("after"))
    client = Bridge(scheme="http", pages={SECURE: steps, PLAIN: steps})
    client.send("Page.navigate", url=SECURE)
    [lost] = client.events("Runtime.exceptionThrown")
    assert lost["exceptionDetails"]["text"] == "Uncaught"
    assert [each["args"][0]["value"] for each in client.events("Runtime.consoleAPICalled")] == ["before"]
    assert client.events("Page.loadEventFired")
    client.send("Page.navigate", url=PLAIN)
    client.fulfil()
    told = [each["args"][0]["value"] for each in client.events("Runtime.consoleAPICalled")]
    assert told == ["before", "before", "after"]


def test_a_frame_of_its_own_process_needs_a_script_of_its_own() -> None:
    client = Bridge(pages={PLAIN: (AddFrame("ad", "http://ad.example/"),)})
    client.send("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)
    client.send("Page.navigate", url=PLAIN)
    inside = client.events("Target.attachedToTarget")[-1]["sessionId"]
    client.send("Runtime.evaluate", inside, expression="confirm('native')")
    assert [each["message"] for each in client.events("Page.javascriptDialogOpening")] == ["native"]
    client.send("Page.handleJavaScriptDialog", accept=True)
    client.send("Page.addScriptToEvaluateOnNewDocument", inside, source=SOURCE, runImmediately=True)
    answer = client.send("Runtime.evaluate", inside, expression=TRIED)
    assert answer["result"]["value"] == "threw NetworkError", "the Fetch of the session above does not see it"
    client.send("Fetch.enable", inside)
    assert client.send("Runtime.evaluate", inside, expression=TRIED) is None
    assert len(client.events("Fetch.requestPaused")) == 1


def test_who_gives_up_its_script_has_dialogs_again() -> None:
    client = Bridge()
    client.send("Page.removeScriptToEvaluateOnNewDocument", identifier="1")
    client.send("Page.addScriptToEvaluateOnNewDocument", source=SOURCE, worldName="aside")
    client.send("Page.navigate", url=PLAIN)
    assert client.ask("alert('native')")[1] is None
    assert client.events("Page.javascriptDialogOpening")


def test_nothing_longer_than_two_mebibytes_is_asked() -> None:
    client = Bridge()
    client.send("Page.navigate", url=PLAIN)
    assert client.ask("try { confirm('x'.repeat(1<<21)) } catch (e) { e.name }")[1]["result"]["value"] == "NetworkError"
    assert client.ask("confirm('x'.repeat(1<<20))")[1] is None
