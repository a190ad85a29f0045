"""More paused requests: patterns, decisions, and several sessions that pause the same request."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.testing.steps import AddFrame, Request

pytestmark = pytest.mark.chromium

PAUSED = "Fetch.requestPaused"


def enable_fetch(scenario: Any, patterns: Any = None, *, on: str = "p", client: str = "A", **params: Any) -> None:
    given = {} if patterns is None else {"patterns": patterns}
    scenario.send("Fetch.enable", {**given, **params}, on=on, client=client)


def expect_paused(scenario: Any, name: str = "r", *, on: str = "p", client: str = "A") -> dict[str, str]:
    scenario.expect(PAUSED, on=on, client=client, save={f"request.{name}": "params.requestId"})
    return {"requestId": f"$request.{name}"}


PATTERNS: dict[str, Any] = {
    "all": [{}],
    "star": [{"urlPattern": "*"}],
    "path": [{"urlPattern": "*/inner.txt"}],
    "question": [{"urlPattern": "*/inner.tx?"}],
    "other": [{"urlPattern": "*/nothing"}],
    "kind": [{"resourceType": "Document"}],
    "other kind": [{"resourceType": "XHR"}],
    "back": [{"requestStage": "Response"}],
    "both": [{"requestStage": "Request"}, {"requestStage": "Response"}],
    "escaped": [{"urlPattern": "*\\\\?*"}],
}


@pytest.mark.parametrize("name", PATTERNS)
async def test_requests_that_a_pattern_pauses(scenario: Any, name: str) -> None:
    scenario.open("p")
    enable_fetch(scenario, PATTERNS[name])
    scenario.send("Page.navigate", {"url": "{a}/inner.txt"}, on="p", wait=False)
    scenario.settle()
    scenario.send("Fetch.disable", on="p")
    scenario.settle()
    await scenario.conforms()


REASONS = ("Failed", "Aborted", "TimedOut", "AccessDenied", "ConnectionRefused", "NameNotResolved", "BlockedByClient")


@pytest.mark.parametrize("reason", REASONS)
async def test_a_paused_document_fails_for_a_reason(scenario: Any, reason: str) -> None:
    scenario.page("/inner")
    scenario.open("p", "{a}/inner")
    enable_fetch(scenario)
    scenario.send("Page.navigate", {"url": "{a}/other"}, on="p", wait=False)
    scenario.send("Fetch.failRequest", {**expect_paused(scenario), "errorReason": reason}, on="p")
    scenario.settle()
    await scenario.conforms()


async def test_paused_documents_of_frames(scenario: Any) -> None:
    scenario.page("/holder", AddFrame("f", "{a}/inner"), AddFrame("g", "{b}/inner"))
    scenario.page("/inner")
    scenario.open("p")
    enable_fetch(scenario, [{"urlPattern": "*/inner"}])
    scenario.send("Page.navigate", {"url": "{a}/holder"}, on="p")
    first = expect_paused(scenario, "one")
    second = expect_paused(scenario, "two")
    scenario.settle()
    scenario.send("Fetch.continueRequest", first, on="p")
    scenario.settle()
    scenario.send("Fetch.fulfillRequest", {**second, "responseCode": 200, "body": "PGh0bWw+"}, on="p")
    scenario.settle()
    await scenario.conforms()


async def test_a_request_continues_with_another_url(scenario: Any) -> None:
    scenario.page("/inner")
    scenario.open("p")
    enable_fetch(scenario)
    scenario.send("Page.navigate", {"url": "{a}/inner"}, on="p", wait=False)
    scenario.send("Fetch.continueRequest", {**expect_paused(scenario), "url": "{a}/inner?another"}, on="p")
    scenario.settle()
    scenario.evaluate("location.href", on="p")
    await scenario.conforms()


async def test_one_of_two_clients_that_pause_a_document_leaves(scenario: Any) -> None:
    scenario.page("/inner")
    scenario.open("p")
    enable_fetch(scenario)
    scenario.connect("B")
    scenario.attach("q", "p", client="B")
    enable_fetch(scenario, on="q", client="B")
    scenario.send("Page.navigate", {"url": "{a}/inner"}, on="p", wait=False)
    scenario.expect(PAUSED, on="q", client="B")
    scenario.settle()
    scenario.leave("B")
    scenario.send("Fetch.continueRequest", expect_paused(scenario), on="p")
    scenario.settle()
    await scenario.conforms()


async def test_patterns_change_while_a_document_is_paused(scenario: Any) -> None:
    scenario.page("/inner")
    scenario.open("p")
    enable_fetch(scenario)
    scenario.send("Page.navigate", {"url": "{a}/inner"}, on="p", wait=False)
    request = expect_paused(scenario)
    enable_fetch(scenario, [{"urlPattern": "*/nothing"}])
    scenario.send("Fetch.continueRequest", request, on="p")
    scenario.settle()
    scenario.go("{a}/inner?more", on="p")
    await scenario.conforms()


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
async def test_a_request_of_a_script_is_fulfilled(scenario: Any, sync: bool) -> None:
    scenario.page("/inner")
    scenario.open("p", "{a}/inner", enable=("Page", "Runtime"))
    enable_fetch(scenario, [{"urlPattern": "*/asked"}])
    scenario.act(Request("{a}/asked", sync=sync), on="p", wait=False)
    request = expect_paused(scenario)
    scenario.settle()
    scenario.send("Fetch.getResponseBody", request, on="p")
    made = {
        "responseCode": 201,
        "body": "aGVsbG8=",
        "responseHeaders": [{"name": "Content-Type", "value": "text/plain"}],
    }
    scenario.send("Fetch.fulfillRequest", {**request, **made}, on="p")
    scenario.settle()
    scenario.send("Fetch.fulfillRequest", {**request, **made}, on="p")
    await scenario.conforms()


async def test_the_root_and_a_page_session_pause_the_same_document(scenario: Any) -> None:
    scenario.page("/inner")
    scenario.open("p")
    enable_fetch(scenario)
    enable_fetch(scenario, on="browser")
    scenario.send("Page.navigate", {"url": "{a}/inner"}, on="p", wait=False)
    request = expect_paused(scenario)
    scenario.settle()
    scenario.send("Fetch.continueRequest", request, on="p")
    again = expect_paused(scenario, "again", on="browser")
    scenario.send("Fetch.continueRequest", again, on="p")
    scenario.send("Fetch.continueRequest", again)
    scenario.settle()
    await scenario.conforms()


async def test_requests_with_handled_authentication(scenario: Any) -> None:
    scenario.page("/inner")
    scenario.open("p")
    enable_fetch(scenario, handleAuthRequests=True)
    scenario.send("Page.navigate", {"url": "{a}/inner"}, on="p", wait=False)
    request = expect_paused(scenario)
    scenario.send("Fetch.continueWithAuth", {**request, "authChallengeResponse": {"response": "zzz"}}, on="p")
    scenario.send("Fetch.continueRequest", request, on="p")
    scenario.settle()
    scenario.send("Fetch.continueWithAuth", {**request, "authChallengeResponse": {"response": "Default"}}, on="p")
    await scenario.conforms()


async def test_requests_for_the_icon_of_a_site(scenario: Any) -> None:
    scenario.page("/inner")
    scenario.page("/other")
    scenario.open("p")
    enable_fetch(scenario)
    for url in ("{a}/inner", "{a}/other", "{b}/inner"):
        scenario.send("Page.navigate", {"url": url}, on="p", wait=False)
        scenario.send("Fetch.continueRequest", expect_paused(scenario), on="p")
        scenario.send("Fetch.continueRequest", expect_paused(scenario), on="p")
        scenario.settle()
    scenario.send("Page.reload", on="p", wait=False)
    scenario.send("Fetch.failRequest", {**expect_paused(scenario), "errorReason": "Failed"}, on="p")
    scenario.settle()
    await scenario.conforms()
