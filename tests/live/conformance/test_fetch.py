"""Requests that a client holds (facts 29 to 34)."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.testing.steps import AddFrame, Console, Navigate, Popup, RemoveFrame, Request

pytestmark = pytest.mark.chromium

DOCUMENTS = [{"resourceType": "Document"}]
REQUESTS = [{"resourceType": "XHR"}]
UNKNOWN = {"requestId": "unknown"}


def hold(scenario: Any, on: str, patterns: list[dict[str, Any]], *, client: str = "A") -> None:
    scenario.send("Fetch.enable", {"patterns": patterns}, on=on, client=client)


def held(scenario: Any, label: str, on: str = "p", **where: Any) -> None:
    scenario.expect("Fetch.requestPaused", where, on=on, save={f"request.{label}": "params.requestId"})
    scenario.settle()


def decide(scenario: Any, how: str, label: str, on: str = "p", **params: Any) -> None:
    scenario.send(f"Fetch.{how}", {"requestId": f"$request.{label}", **params}, on=on)
    scenario.settle()


def set_off(scenario: Any, url: str, on: str = "p") -> None:
    scenario.send("Page.navigate", {"url": url}, on=on, wait=False)


@pytest.mark.parametrize("on", ["browser", "p"])
async def test_refusals(scenario: Any, on: str) -> None:
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


async def test_a_document_goes_on(scenario: Any) -> None:
    scenario.page("/main", Console("it came"))
    scenario.open("p", enable=["Page", "Runtime"])
    scenario.open("q")
    hold(scenario, "p", DOCUMENTS)
    set_off(scenario, "{a}/main")
    held(scenario, "main")
    decide(scenario, "continueRequest", "main", on="q")
    decide(scenario, "continueRequest", "main", on="browser")
    decide(scenario, "getResponseBody", "main")
    decide(scenario, "continueRequest", "main")
    decide(scenario, "continueRequest", "main")
    await scenario.conforms()


@pytest.mark.parametrize("reason", ["Failed", "Aborted", "NameNotResolved", "BlockedByClient"])
async def test_a_document_fails(scenario: Any, reason: str) -> None:
    scenario.open("p", "{a}/before", enable=["Page", "Runtime"])
    hold(scenario, "p", DOCUMENTS)
    set_off(scenario, "{a}/main")
    held(scenario, "main")
    decide(scenario, "failRequest", "main", errorReason=reason)
    scenario.send("Page.getFrameTree", on="p")
    await scenario.conforms()


@pytest.mark.parametrize(
    ("status", "kind", "body"),
    [(200, "text/html", "aGk="), (200, "", "PGI+aGk="), (200, "text/plain", "aGk="), (404, "", ""), (204, "", "")],
)
async def test_a_document_is_made(scenario: Any, status: int, kind: str, body: str) -> None:
    scenario.page("/main", Console("never said"))
    scenario.open("p", "{a}/before", enable=["Page", "Runtime"])
    hold(scenario, "p", DOCUMENTS)
    set_off(scenario, "{a}/main")
    held(scenario, "main")
    headers = [{"name": "Content-Type", "value": kind}] if kind else []
    decide(scenario, "fulfillRequest", "main", responseCode=status, responseHeaders=headers, body=body)
    scenario.send("Page.getFrameTree", on="p")
    await scenario.conforms()


@pytest.mark.parametrize("how", ["Fetch.disable", "Target.detachFromTarget"])
async def test_what_was_held_is_let_go(scenario: Any, how: str) -> None:
    scenario.open("p", "{a}/before")
    scenario.attach("again", "p")
    hold(scenario, "again", DOCUMENTS)
    set_off(scenario, "{a}/main")
    held(scenario, "main", on="again")
    if how == "Fetch.disable":
        scenario.send(how, on="again")
    else:
        scenario.send(how, {"sessionId": "$session.again"})
    scenario.settle()
    hold(scenario, "p", DOCUMENTS)
    decide(scenario, "continueRequest", "main")
    await scenario.conforms()


async def test_its_client_leaves(scenario: Any) -> None:
    scenario.open("p", "{a}/before")
    scenario.connect("B")
    hold(scenario, "browser", DOCUMENTS, client="B")
    set_off(scenario, "{a}/main")
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
async def test_patterns(scenario: Any, part: int) -> None:
    scenario.open("p")
    for number, (pattern, url, fits) in enumerate(PATTERNS[part::2]):
        hold(scenario, "p", [{"urlPattern": pattern, "resourceType": "Document"}])
        set_off(scenario, url)
        if fits:
            held(scenario, str(number))
            decide(scenario, "continueRequest", str(number))
        scenario.settle()
    await scenario.conforms()


async def test_the_root_holds_every_page(scenario: Any) -> None:
    scenario.page("/main", AddFrame("other", "{b}/other"))
    scenario.open("p", "{a}/before")
    scenario.open("q")
    hold(scenario, "browser", DOCUMENTS)
    set_off(scenario, "{a}/main")
    held(scenario, "main", on="browser")
    decide(scenario, "continueRequest", "main", on="browser")
    held(scenario, "other", on="browser")
    set_off(scenario, "{b}/q", on="q")
    held(scenario, "q", on="browser")
    decide(scenario, "continueRequest", "q", on="browser")
    decide(scenario, "continueRequest", "other", on="browser")
    await scenario.conforms()


async def test_the_root_holds_new_pages(scenario: Any) -> None:
    scenario.open("p", "{a}/before")
    scenario.send("Target.setDiscoverTargets", {"discover": True})
    hold(scenario, "browser", DOCUMENTS)
    scenario.send("Target.createTarget", {"url": "{a}/new"}, save={"target.new": "targetId"})
    held(scenario, "new", on="browser")
    decide(scenario, "continueRequest", "new", on="browser")
    scenario.act(Popup("popup", "{a}/popup"), on="p")
    held(scenario, "popup", on="browser")
    decide(scenario, "failRequest", "popup", on="browser", errorReason="Failed")
    await scenario.conforms()


async def test_a_page_holds_its_own(scenario: Any) -> None:
    scenario.open("p", "{a}/before")
    scenario.open("q")
    hold(scenario, "p", DOCUMENTS)
    scenario.act(AddFrame("same", "{a}/same"), on="p")
    held(scenario, "same")
    decide(scenario, "continueRequest", "same")
    scenario.act(AddFrame("other", "{b}/other"), on="p")
    held(scenario, "other")
    scenario.go("{a}/q", on="q")
    decide(scenario, "continueRequest", "other")
    await scenario.conforms()


async def test_an_oopif_holds_its_own(scenario: Any) -> None:
    scenario.page("/main", AddFrame("other", "{b}/other"))
    scenario.open("p")
    scenario.auto_attach(on="p", wait=True)
    scenario.send("Page.navigate", {"url": "{a}/main"}, on="p")
    scenario.expect("Target.attachedToTarget", on="p", save={"session.other": "params.sessionId"})
    for domain in ("Page", "Runtime"):
        scenario.send(f"{domain}.enable", on="other", wait=False)
    scenario.send("Runtime.runIfWaitingForDebugger", on="other")
    scenario.settle()
    hold(scenario, "p", [{"resourceType": "Document"}, {"resourceType": "XHR"}])
    scenario.act(Request("{b}/mine.txt"), on="other")
    hold(scenario, "other", REQUESTS)
    scenario.act(Request("{b}/mine.txt"), on="other")
    held(scenario, "mine", on="other")
    scenario.act(RemoveFrame("other"), on="p")
    decide(scenario, "continueRequest", "mine", on="other")
    await scenario.conforms()


@pytest.mark.parametrize("how", ["continueRequest", "failRequest", "fulfillRequest"])
@pytest.mark.parametrize("sync", [False, True])
async def test_a_request_of_a_script(scenario: Any, sync: bool, how: str) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    hold(scenario, "p", REQUESTS)
    scenario.act(Request("{a}/it.txt", sync=sync), Console("on"), on="p", wait=False)
    held(scenario, "it")
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
async def test_a_request_to_another_origin(scenario: Any, allowed: bool) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    hold(scenario, "p", REQUESTS)
    scenario.act(Request("{b}/it.txt"), on="p")
    held(scenario, "it")
    headers = [{"name": "Access-Control-Allow-Origin", "value": "*"}] if allowed else []
    decide(scenario, "fulfillRequest", "it", responseCode=200, responseHeaders=headers, body="aGk=")
    scenario.act(Request("{b}/it.txt"), on="p")
    held(scenario, "again")
    decide(scenario, "continueRequest", "again")
    await scenario.conforms()


@pytest.mark.parametrize("where", ["{a}/next", "{b}/next"])
async def test_a_page_leaves_while_its_script_waits(scenario: Any, where: str) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    hold(scenario, "p", REQUESTS)
    scenario.act(Request("{a}/it.txt", sync=True), Console("never"), on="p", wait=False)
    held(scenario, "it")
    scenario.send("Page.getFrameTree", on="p", wait=False)
    scenario.settle()
    set_off(scenario, where)
    scenario.settle()
    decide(scenario, "fulfillRequest", "it", responseCode=200)
    await scenario.conforms()


async def test_a_page_leaves_and_its_request_stays(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    hold(scenario, "p", REQUESTS)
    scenario.act(Request("{a}/it.txt"), on="p")
    held(scenario, "it")
    scenario.go("{a}/next", on="p")
    decide(scenario, "continueRequest", "it")
    await scenario.conforms()


async def test_two_sessions_one_after_the_other(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    scenario.attach("later", "p")
    hold(scenario, "later", REQUESTS)
    hold(scenario, "p", REQUESTS)
    scenario.act(Request("{a}/one.txt"), on="p")
    held(scenario, "late", on="later")
    decide(scenario, "continueRequest", "late", on="later")
    held(scenario, "early")
    decide(scenario, "fulfillRequest", "early", responseCode=200, body="aGk=")
    scenario.act(Request("{a}/two.txt"), on="p")
    held(scenario, "two", on="later")
    decide(scenario, "failRequest", "two", on="later", errorReason="Failed")
    await scenario.conforms()


async def test_two_clients_one_after_the_other(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    scenario.connect("B")
    scenario.attach("b", "p", client="B")
    hold(scenario, "p", DOCUMENTS)
    hold(scenario, "b", DOCUMENTS, client="B")
    set_off(scenario, "{a}/next")
    scenario.expect("Fetch.requestPaused", on="b", client="B", save={"request.b": "params.requestId"})
    scenario.settle()
    scenario.send("Fetch.continueRequest", {"requestId": "$request.b"}, on="b", client="B")
    held(scenario, "a")
    decide(scenario, "continueRequest", "a")
    await scenario.conforms()


async def test_the_root_comes_last_and_late(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    hold(scenario, "p", [*DOCUMENTS, *REQUESTS])
    hold(scenario, "browser", [*DOCUMENTS, *REQUESTS])
    scenario.act(Request("{a}/one.txt"), on="p")
    held(scenario, "one")
    decide(scenario, "continueRequest", "one")  # the root came after this document
    set_off(scenario, "{a}/next")
    held(scenario, "next")
    decide(scenario, "continueRequest", "next")
    held(scenario, "next again", on="browser")
    decide(scenario, "continueRequest", "next again", on="browser")
    scenario.act(Request("{a}/two.txt"), on="p")
    held(scenario, "two")
    decide(scenario, "continueRequest", "two")
    held(scenario, "two again", on="browser")
    decide(scenario, "continueRequest", "two again", on="browser")
    await scenario.conforms()


async def test_a_page_brings_its_document_to_the_root(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    hold(scenario, "browser", REQUESTS)
    scenario.act(Request("{a}/unheard.txt"), on="p")
    hold(scenario, "p", REQUESTS)
    scenario.act(Request("{a}/one.txt"), on="p")
    held(scenario, "one")
    decide(scenario, "continueRequest", "one")
    held(scenario, "one again", on="browser")
    decide(scenario, "continueRequest", "one again", on="browser")
    await scenario.conforms()


async def test_another_navigation_in_its_place(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    hold(scenario, "p", DOCUMENTS)
    set_off(scenario, "{a}/one")
    held(scenario, "one")
    set_off(scenario, "{a}/two")
    held(scenario, "two")
    decide(scenario, "continueRequest", "one")
    decide(scenario, "continueRequest", "two")
    await scenario.conforms()


async def test_loading_is_stopped(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    hold(scenario, "p", DOCUMENTS)
    set_off(scenario, "{a}/one")
    held(scenario, "one")
    scenario.send("Page.stopLoading", on="p")
    decide(scenario, "continueRequest", "one")
    await scenario.conforms()


async def test_navigated_by_script_and_reloaded(scenario: Any) -> None:
    scenario.open("p", "{a}/main")
    hold(scenario, "p", DOCUMENTS)
    scenario.act(Navigate("{a}/one"), on="p")
    held(scenario, "one")
    decide(scenario, "continueRequest", "one")
    scenario.send("Page.reload", on="p", wait=False)
    held(scenario, "again")
    decide(scenario, "failRequest", "again", errorReason="TimedOut")
    await scenario.conforms()


async def test_the_page_closes(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Inspector"])
    hold(scenario, "browser", DOCUMENTS)
    set_off(scenario, "{a}/one")
    held(scenario, "one", on="browser")
    scenario.send("Target.closeTarget", {"targetId": "$target.p"})
    scenario.settle()
    decide(scenario, "continueRequest", "one", on="browser")
    await scenario.conforms()


async def test_the_way_back(scenario: Any) -> None:
    scenario.open("p", "{a}/main", enable=["Page", "Runtime"])
    hold(scenario, "p", [{"resourceType": "XHR", "requestStage": "Response"}])
    scenario.act(Request("{a}/it.txt"), on="p")
    held(scenario, "it")
    decide(scenario, "getResponseBody", "it")
    decide(scenario, "fulfillRequest", "it", responseCode=202, body="aGk=")
    hold(scenario, "p", REQUESTS)
    scenario.act(Request("{a}/both.txt"), on="p")
    held(scenario, "both")
    decide(scenario, "continueRequest", "both", interceptResponse=True)
    held(scenario, "back")
    decide(scenario, "continueResponse", "back")
    await scenario.conforms()
