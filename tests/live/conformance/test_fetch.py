"""Requests paused in Fetch (facts 29 to 34)."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.testing.steps import AddFrame, Console, Navigate, Popup, RemoveFrame, Request

pytestmark = pytest.mark.chromium

DOCUMENTS = [{"resourceType": "Document"}]
REQUESTS = [{"resourceType": "XHR"}]
UNKNOWN = {"requestId": "unknown"}


def enable_fetch(scenario: Any, on: str, patterns: list[dict[str, Any]], *, client: str = "A") -> None:
    scenario.send("Fetch.enable", {"patterns": patterns}, on=on, client=client)


def expect_paused(scenario: Any, label: str, on: str = "p", **where: Any) -> None:
    scenario.expect("Fetch.requestPaused", where, on=on, save={f"request.{label}": "params.requestId"})
    scenario.settle()


def decide(scenario: Any, how: str, label: str, on: str = "p", **params: Any) -> None:
    scenario.send(f"Fetch.{how}", {"requestId": f"$request.{label}", **params}, on=on)
    scenario.settle()


def start_navigation(scenario: Any, url: str, on: str = "p") -> None:
    scenario.send("Page.navigate", {"url": url}, on=on, wait=False)


@pytest.mark.parametrize("on", ["browser", "p"])
async def test_refused_commands(scenario: Any, on: str) -> None:
    scenario.open("p")
    fulfilled = {**UNKNOWN, "responseCode": 200}
    for method, params in [
        ("continueRequest", UNKNOWN),
        ("failRequest", {**UNKNOWN, "errorReason": "Failed"}),
        ("failRequest", {**UNKNOWN, "errorReason": "Nope"}),
        ("fulfillRequest", fulfilled),
        ("fulfillRequest", {**fulfilled, "responseCode": 7}),
        ("disable", {}),
        ("enable", {"patterns": [{"urlPattern": 5}]}),
        ("enable", {"patterns": [{"resourceType": "Nope"}]}),
        ("enable", {"patterns": [{"requestStage": "Nope"}]}),
        ("getResponseBody", UNKNOWN),
        ("enable", {"patterns": []}),
        ("continueRequest", UNKNOWN),
        ("continueResponse", UNKNOWN),
        ("failRequest", {**UNKNOWN, "errorReason": "Failed"}),
        ("failRequest", {**UNKNOWN, "errorReason": "Nope"}),
        ("fulfillRequest", fulfilled),
        ("fulfillRequest", {**fulfilled, "responseCode": 7}),
        ("fulfillRequest", {**fulfilled, "body": "###"}),
        ("fulfillRequest", {**fulfilled, "body": 5}),
        ("getResponseBody", UNKNOWN),
        ("continueRequest", {}),
        ("disable", {}),
        ("continueRequest", UNKNOWN),
    ]:
        scenario.send(f"Fetch.{method}", params, on=on)
    await scenario.conforms()


async def test_a_paused_document_continues(scenario: Any) -> None:
    scenario.page("/main", Console("it came"))
    scenario.open("p", enable=["Page", "Runtime"])
    scenario.open("q")
    enable_fetch(scenario, "p", DOCUMENTS)
    start_navigation(scenario, "{a}/main")
    expect_paused(scenario, "main")
    decide(scenario, "continueRequest", "main", on="q")
    decide(scenario, "continueRequest", "main", on="browser")
    decide(scenario, "getResponseBody", "main")
    decide(scenario, "continueRequest", "main")
    decide(scenario, "continueRequest", "main")
    await scenario.conforms()


@pytest.mark.parametrize("reason", ["Failed", "Aborted", "NameNotResolved", "BlockedByClient"])
async def test_a_paused_document_fails(scenario: Any, reason: str) -> None:
    scenario.open("p", "{a}/before", enable=["Page", "Runtime"])
    enable_fetch(scenario, "p", DOCUMENTS)
    start_navigation(scenario, "{a}/main")
    expect_paused(scenario, "main")
    decide(scenario, "failRequest", "main", errorReason=reason)
    scenario.send("Page.getFrameTree", on="p")
    await scenario.conforms()


@pytest.mark.parametrize(
    ("status", "kind", "body"),
    [(200, "text/html", "aGk="), (200, "", "PGI+aGk="), (200, "text/plain", "aGk="), (404, "", ""), (204, "", "")],
)
async def test_a_paused_document_is_fulfilled(scenario: Any, status: int, kind: str, body: str) -> None:
    scenario.page("/main", Console("never said"))
    scenario.open("p", "{a}/before", enable=["Page", "Runtime"])
    enable_fetch(scenario, "p", DOCUMENTS)
    start_navigation(scenario, "{a}/main")
    expect_paused(scenario, "main")
    headers = [{"name": "Content-Type", "value": kind}] if kind else []
    decide(scenario, "fulfillRequest", "main", responseCode=status, responseHeaders=headers, body=body)
    scenario.send("Page.getFrameTree", on="p")
    await scenario.conforms()


@pytest.mark.parametrize("how", ["Fetch.disable", "Target.detachFromTarget"])
async def test_disabling_or_detaching_releases_paused_requests(scenario: Any, how: str) -> None:
    scenario.open("p", "{a}/before")
    scenario.attach("again", "p")
    enable_fetch(scenario, "again", DOCUMENTS)
    start_navigation(scenario, "{a}/main")
    expect_paused(scenario, "main", on="again")
    if how == "Fetch.disable":
        scenario.send(how, on="again")
    else:
        scenario.send(how, {"sessionId": "$session.again"})
    scenario.settle()
    enable_fetch(scenario, "p", DOCUMENTS)
    decide(scenario, "continueRequest", "main")
    await scenario.conforms()


async def test_a_client_leaves_with_a_paused_request(scenario: Any) -> None:
    scenario.open("p", "{a}/before")
    scenario.connect("B")
    enable_fetch(scenario, "browser", DOCUMENTS, client="B")
    start_navigation(scenario, "{a}/main")
    scenario.expect("Fetch.requestPaused", client="B")
    scenario.leave("B")
    scenario.settle()
    await scenario.conforms()


PATTERNS = [
    ("{a}/one", "{a}/one", True),
    ("{a}/ONE", "{a}/one", False),
    ("*/b.html", "{a}/bxhtml", False),
    ("*/c\\?d", "{a}/c?d", True),
    ("*/e?", "{a}/e", True),
    ("*/f?", "{a}/fgh", False),
    ("", "{a}/g", False),
    ("*/h*j", "{a}/hij#k", True),
]


@pytest.mark.parametrize("part", range(2))
async def test_url_patterns(scenario: Any, part: int) -> None:
    scenario.open("p")
    for number, (pattern, url, matches) in enumerate(PATTERNS[part::2]):
        enable_fetch(scenario, "p", [{"urlPattern": pattern, "resourceType": "Document"}])
        start_navigation(scenario, url)
        if matches:
            expect_paused(scenario, str(number))
            decide(scenario, "continueRequest", str(number))
        scenario.settle()
    await scenario.conforms()


async def test_the_root_session_pauses_requests_of_every_page(scenario: Any) -> None:
    scenario.page("/main", AddFrame("other", "{b}/other"))
    scenario.open("p", "{a}/before")
    scenario.open("q")
    enable_fetch(scenario, "browser", DOCUMENTS)
    start_navigation(scenario, "{a}/main")
    expect_paused(scenario, "main", on="browser")
    decide(scenario, "continueRequest", "main", on="browser")
    expect_paused(scenario, "other", on="browser")
    start_navigation(scenario, "{b}/q", on="q")
    expect_paused(scenario, "q", on="browser")
    decide(scenario, "continueRequest", "q", on="browser")
    decide(scenario, "continueRequest", "other", on="browser")
    await scenario.conforms()


async def test_the_root_session_pauses_requests_of_new_pages(scenario: Any) -> None:
    scenario.open("p", "{a}/before")
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    enable_fetch(scenario, "browser", DOCUMENTS)
    scenario.send("Target.createTarget", {"url": "{a}/new"}, save={"target.new": "targetId"})
    expect_paused(scenario, "new", on="browser")
    decide(scenario, "continueRequest", "new", on="browser")
    scenario.act(Popup("popup", "{a}/popup"), on="p")
    expect_paused(scenario, "popup", on="browser")
    decide(scenario, "failRequest", "popup", on="browser", errorReason="Failed")
    await scenario.conforms()


async def test_a_page_session_pauses_requests_of_its_own_page(scenario: Any) -> None:
    scenario.open("p", "{a}/before")
    scenario.open("q")
    enable_fetch(scenario, "p", DOCUMENTS)
    scenario.act(AddFrame("same", "{a}/same"), on="p")
    expect_paused(scenario, "same")
    decide(scenario, "continueRequest", "same")
    scenario.act(AddFrame("other", "{b}/other"), on="p")
    expect_paused(scenario, "other")
    scenario.go("{a}/q", on="q")
    decide(scenario, "continueRequest", "other")
    await scenario.conforms()


async def test_an_oopif_session_pauses_requests_of_its_own_frame(scenario: Any) -> None:
    scenario.page("/main", AddFrame("other", "{b}/other"))
    scenario.open("p")
    scenario.auto_attach(on="p", wait=True)
    scenario.send("Page.navigate", {"url": "{a}/main"}, on="p")
    scenario.expect("Target.attachedToTarget", on="p", save={"session.other": "params.sessionId"})
    for domain in ("Page", "Runtime"):
        scenario.send(f"{domain}.enable", on="other", wait=False)
    scenario.send("Runtime.runIfWaitingForDebugger", on="other")
    scenario.settle()
    enable_fetch(scenario, "p", [{"resourceType": "Document"}, {"resourceType": "XHR"}])
    scenario.act(Request("{b}/mine.txt"), on="other")
    enable_fetch(scenario, "other", REQUESTS)
    scenario.act(Request("{b}/mine.txt"), on="other")
    expect_paused(scenario, "mine", on="other")
    scenario.act(RemoveFrame("other"), on="p")
    decide(scenario, "continueRequest", "mine", on="other")
    await scenario.conforms()


@pytest.mark.parametrize("how", ["continueRequest", "failRequest", "fulfillRequest"])
@pytest.mark.parametrize("sync", [False, True])
async def test_a_paused_request_of_a_script(scenario: Any, sync: bool, how: str) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    enable_fetch(scenario, "p", REQUESTS)
    scenario.act(Request("{a}/it.txt", sync=sync), Console("on"), on="p", wait=False)
    expect_paused(scenario, "it")
    scenario.evaluate("1+1", on="p", wait=False)
    scenario.send("Target.getTargetInfo", on="p")
    params = {
        "continueRequest": {},
        "failRequest": {"errorReason": "Aborted"},
        "fulfillRequest": {"responseCode": 201, "body": "aGk="},
    }
    decide(scenario, how, "it", **params[how])
    await scenario.conforms()


@pytest.mark.parametrize("allowed", [False, True])
async def test_a_paused_request_to_another_origin(scenario: Any, allowed: bool) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    enable_fetch(scenario, "p", REQUESTS)
    scenario.act(Request("{b}/it.txt"), on="p")
    expect_paused(scenario, "it")
    headers = [{"name": "Access-Control-Allow-Origin", "value": "*"}] if allowed else []
    decide(scenario, "fulfillRequest", "it", responseCode=200, responseHeaders=headers, body="aGk=")
    scenario.act(Request("{b}/it.txt"), on="p")
    expect_paused(scenario, "again")
    decide(scenario, "continueRequest", "again")
    await scenario.conforms()


@pytest.mark.parametrize("where", ["{a}/next", "{b}/next"])
async def test_a_page_is_left_while_its_script_waits_for_a_paused_request(scenario: Any, where: str) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    enable_fetch(scenario, "p", REQUESTS)
    scenario.act(Request("{a}/it.txt", sync=True), Console("never"), on="p", wait=False)
    expect_paused(scenario, "it")
    scenario.send("Page.getFrameTree", on="p", wait=False)
    scenario.settle()
    start_navigation(scenario, where)
    scenario.settle()
    decide(scenario, "fulfillRequest", "it", responseCode=200)
    await scenario.conforms()


async def test_a_page_is_left_and_its_request_stays_paused(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    enable_fetch(scenario, "p", REQUESTS)
    scenario.act(Request("{a}/it.txt"), on="p")
    expect_paused(scenario, "it")
    scenario.go("{a}/next", on="p")
    decide(scenario, "continueRequest", "it")
    await scenario.conforms()


async def test_two_sessions_pause_a_request_in_turn(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    scenario.attach("later", "p")
    enable_fetch(scenario, "later", REQUESTS)
    enable_fetch(scenario, "p", REQUESTS)
    scenario.act(Request("{a}/one.txt"), on="p")
    expect_paused(scenario, "late", on="later")
    decide(scenario, "continueRequest", "late", on="later")
    expect_paused(scenario, "early")
    decide(scenario, "fulfillRequest", "early", responseCode=200, body="aGk=")
    scenario.act(Request("{a}/two.txt"), on="p")
    expect_paused(scenario, "two", on="later")
    decide(scenario, "failRequest", "two", on="later", errorReason="Failed")
    await scenario.conforms()


async def test_two_clients_pause_a_document_in_turn(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    scenario.connect("B")
    scenario.attach("b", "p", client="B")
    enable_fetch(scenario, "p", DOCUMENTS)
    enable_fetch(scenario, "b", DOCUMENTS, client="B")
    start_navigation(scenario, "{a}/next")
    scenario.expect("Fetch.requestPaused", on="b", client="B", save={"request.b": "params.requestId"})
    scenario.settle()
    scenario.send("Fetch.continueRequest", {"requestId": "$request.b"}, on="b", client="B")
    expect_paused(scenario, "a")
    decide(scenario, "continueRequest", "a")
    await scenario.conforms()


async def test_the_root_session_pauses_last_and_only_in_later_documents(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    enable_fetch(scenario, "p", [*DOCUMENTS, *REQUESTS])
    enable_fetch(scenario, "browser", [*DOCUMENTS, *REQUESTS])
    scenario.act(Request("{a}/one.txt"), on="p")
    expect_paused(scenario, "one")
    decide(scenario, "continueRequest", "one")  # the root session enabled Fetch after this document loaded
    start_navigation(scenario, "{a}/next")
    expect_paused(scenario, "next")
    decide(scenario, "continueRequest", "next")
    expect_paused(scenario, "next again", on="browser")
    decide(scenario, "continueRequest", "next again", on="browser")
    scenario.act(Request("{a}/two.txt"), on="p")
    expect_paused(scenario, "two")
    decide(scenario, "continueRequest", "two")
    expect_paused(scenario, "two again", on="browser")
    decide(scenario, "continueRequest", "two again", on="browser")
    await scenario.conforms()


async def test_fetch_on_a_page_session_adds_its_document_to_the_root_session(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    enable_fetch(scenario, "browser", REQUESTS)
    scenario.act(Request("{a}/unheard.txt"), on="p")
    enable_fetch(scenario, "p", REQUESTS)
    scenario.act(Request("{a}/one.txt"), on="p")
    expect_paused(scenario, "one")
    decide(scenario, "continueRequest", "one")
    expect_paused(scenario, "one again", on="browser")
    decide(scenario, "continueRequest", "one again", on="browser")
    await scenario.conforms()


async def test_another_navigation_replaces_a_paused_one(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    enable_fetch(scenario, "p", DOCUMENTS)
    start_navigation(scenario, "{a}/one")
    expect_paused(scenario, "one")
    start_navigation(scenario, "{a}/two")
    expect_paused(scenario, "two")
    decide(scenario, "continueRequest", "one")
    decide(scenario, "continueRequest", "two")
    await scenario.conforms()


async def test_stop_loading_with_a_paused_document(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    enable_fetch(scenario, "p", DOCUMENTS)
    start_navigation(scenario, "{a}/one")
    expect_paused(scenario, "one")
    scenario.send("Page.stopLoading", on="p")
    decide(scenario, "continueRequest", "one")
    await scenario.conforms()


async def test_paused_documents_of_a_script_navigation_and_a_reload(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    enable_fetch(scenario, "p", DOCUMENTS)
    scenario.act(Navigate("{a}/one"), on="p")
    expect_paused(scenario, "one")
    decide(scenario, "continueRequest", "one")
    scenario.send("Page.reload", on="p", wait=False)
    expect_paused(scenario, "again")
    decide(scenario, "failRequest", "again", errorReason="TimedOut")
    await scenario.conforms()


async def test_a_page_closes_with_a_paused_document(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Inspector"])
    enable_fetch(scenario, "browser", DOCUMENTS)
    start_navigation(scenario, "{a}/one")
    expect_paused(scenario, "one", on="browser")
    scenario.send("Target.closeTarget", {"targetId": "$target.p"})
    scenario.settle()
    decide(scenario, "continueRequest", "one", on="browser")
    await scenario.conforms()


async def test_requests_paused_at_the_response_stage(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    enable_fetch(scenario, "p", [{"resourceType": "XHR", "requestStage": "Response"}])
    scenario.act(Request("{a}/it.txt"), on="p")
    expect_paused(scenario, "it")
    decide(scenario, "getResponseBody", "it")
    decide(scenario, "fulfillRequest", "it", responseCode=202, body="aGk=")
    enable_fetch(scenario, "p", REQUESTS)
    scenario.act(Request("{a}/both.txt"), on="p")
    expect_paused(scenario, "both")
    decide(scenario, "continueRequest", "both", interceptResponse=True)
    expect_paused(scenario, "back")
    decide(scenario, "continueResponse", "back")
    await scenario.conforms()
