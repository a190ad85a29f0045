"""Requests that are held, once more: patterns, what becomes of what is held, and several that hold."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.testing.steps import AddFrame, Request

pytestmark = pytest.mark.chromium

PAUSED = "Fetch.requestPaused"


def hold(scenario: Any, patterns: Any = None, *, on: str = "p", client: str = "A", **params: Any) -> None:
    given = {} if patterns is None else {"patterns": patterns}
    scenario.send("Fetch.enable", {**given, **params}, on=on, client=client)


def taken(scenario: Any, name: str = "r", *, on: str = "p", client: str = "A") -> dict[str, str]:
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
async def test_what_a_pattern_holds(scenario: Any, name: str) -> None:
    scenario.open("p")
    hold(scenario, PATTERNS[name])
    scenario.send("Page.navigate", {"url": "{a}/inner.txt"}, on="p", wait=False)
    scenario.settle()
    scenario.send("Fetch.disable", on="p")
    scenario.settle()
    await scenario.conforms()


REASONS = ("Failed", "Aborted", "TimedOut", "AccessDenied", "ConnectionRefused", "NameNotResolved", "BlockedByClient")


@pytest.mark.parametrize("reason", REASONS)
async def test_a_document_fails_for_a_reason(scenario: Any, reason: str) -> None:
    scenario.page("/inner")
    scenario.open("p", "{a}/inner")
    hold(scenario)
    scenario.send("Page.navigate", {"url": "{a}/other"}, on="p", wait=False)
    scenario.send("Fetch.failRequest", {**taken(scenario), "errorReason": reason}, on="p")
    scenario.settle()
    await scenario.conforms()


async def test_a_frame_is_held_and_let_go(scenario: Any) -> None:
    scenario.page("/holder", AddFrame("f", "{a}/inner"), AddFrame("g", "{b}/inner"))
    scenario.page("/inner")
    scenario.open("p")
    hold(scenario, [{"urlPattern": "*/inner"}])
    scenario.send("Page.navigate", {"url": "{a}/holder"}, on="p")
    first = taken(scenario, "one")
    second = taken(scenario, "two")
    scenario.settle()
    scenario.send("Fetch.continueRequest", first, on="p")
    scenario.settle()
    scenario.send("Fetch.fulfillRequest", {**second, "responseCode": 200, "body": "PGh0bWw+"}, on="p")
    scenario.settle()
    await scenario.conforms()


async def test_another_address_in_its_place(scenario: Any) -> None:
    scenario.page("/inner")
    scenario.open("p")
    hold(scenario)
    scenario.send("Page.navigate", {"url": "{a}/inner"}, on="p", wait=False)
    scenario.send("Fetch.continueRequest", {**taken(scenario), "url": "{a}/inner?another"}, on="p")
    scenario.settle()
    scenario.evaluate("location.href", on="p")
    await scenario.conforms()


async def test_held_by_two_clients_and_one_leaves(scenario: Any) -> None:
    scenario.page("/inner")
    scenario.open("p")
    hold(scenario)
    scenario.connect("B")
    scenario.attach("q", "p", client="B")
    hold(scenario, on="q", client="B")
    scenario.send("Page.navigate", {"url": "{a}/inner"}, on="p", wait=False)
    scenario.expect(PAUSED, on="q", client="B")
    scenario.settle()
    scenario.leave("B")
    scenario.send("Fetch.continueRequest", taken(scenario), on="p")
    scenario.settle()
    await scenario.conforms()


async def test_patterns_are_changed_while_it_is_held(scenario: Any) -> None:
    scenario.page("/inner")
    scenario.open("p")
    hold(scenario)
    scenario.send("Page.navigate", {"url": "{a}/inner"}, on="p", wait=False)
    asked = taken(scenario)
    hold(scenario, [{"urlPattern": "*/nothing"}])
    scenario.send("Fetch.continueRequest", asked, on="p")
    scenario.settle()
    scenario.go("{a}/inner?more", on="p")
    await scenario.conforms()


@pytest.mark.parametrize("sync", [False, True], ids=["later", "waiting"])
async def test_a_request_of_a_script_is_answered(scenario: Any, sync: bool) -> None:
    scenario.page("/inner")
    scenario.open("p", "{a}/inner", enable=("Page", "Runtime"))
    hold(scenario, [{"urlPattern": "*/asked"}])
    scenario.act(Request("{a}/asked", sync=sync), on="p", wait=False)
    asked = taken(scenario)
    scenario.settle()
    scenario.send("Fetch.getResponseBody", asked, on="p")
    made = {
        "responseCode": 201,
        "body": "aGVsbG8=",
        "responseHeaders": [{"name": "Content-Type", "value": "text/plain"}],
    }
    scenario.send("Fetch.fulfillRequest", {**asked, **made}, on="p")
    scenario.settle()
    scenario.send("Fetch.fulfillRequest", {**asked, **made}, on="p")
    await scenario.conforms()


async def test_the_root_and_a_page_hold_the_same(scenario: Any) -> None:
    scenario.page("/inner")
    scenario.open("p")
    hold(scenario)
    hold(scenario, on="browser")
    scenario.send("Page.navigate", {"url": "{a}/inner"}, on="p", wait=False)
    asked = taken(scenario)
    scenario.settle()
    scenario.send("Fetch.continueRequest", asked, on="p")
    again = taken(scenario, "again", on="browser")
    scenario.send("Fetch.continueRequest", again, on="p")
    scenario.send("Fetch.continueRequest", again)
    scenario.settle()
    await scenario.conforms()


async def test_passwords_are_asked_about(scenario: Any) -> None:
    scenario.page("/inner")
    scenario.open("p")
    hold(scenario, handleAuthRequests=True)
    scenario.send("Page.navigate", {"url": "{a}/inner"}, on="p", wait=False)
    asked = taken(scenario)
    scenario.send("Fetch.continueWithAuth", {**asked, "authChallengeResponse": {"response": "zzz"}}, on="p")
    scenario.send("Fetch.continueRequest", asked, on="p")
    scenario.settle()
    scenario.send("Fetch.continueWithAuth", {**asked, "authChallengeResponse": {"response": "Default"}}, on="p")
    await scenario.conforms()


async def test_the_picture_of_a_site_is_asked_for(scenario: Any) -> None:
    scenario.page("/inner")
    scenario.page("/other")
    scenario.open("p")
    hold(scenario)
    for url in ("{a}/inner", "{a}/other", "{b}/inner"):
        scenario.send("Page.navigate", {"url": url}, on="p", wait=False)
        scenario.send("Fetch.continueRequest", taken(scenario), on="p")
        scenario.send("Fetch.continueRequest", taken(scenario), on="p")
        scenario.settle()
    scenario.send("Page.reload", on="p", wait=False)
    scenario.send("Fetch.failRequest", {**taken(scenario), "errorReason": "Failed"}, on="p")
    scenario.settle()
    await scenario.conforms()
