"""Requests that clients of the fake hold in Fetch: the truth, and what their answers cause."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cdp_core.testing import FakeBrowser, Script
from cdp_core.testing.fake.client_end import ClientEnd
from cdp_core.testing.steps import AddFrame, Console, Crash, Request

SHOP = "https://shop.example/"


class Client:
    """A client that waits for each answer."""

    def __init__(self, fake: FakeBrowser) -> None:
        self.end: ClientEnd = fake.connect()
        self.messages: list[dict[str, Any]] = []
        self._ids = 0

    def send(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any] | None:
        self._ids += 1
        message = {"id": self._ids, "method": method, "params": params}
        self.end.receive(json.dumps(message | ({"sessionId": session} if session else {})).encode())
        self.read()
        found = [each for each in self.messages if each.get("id") == self._ids]
        return found[0].get("result", found[0].get("error")) if found else None

    def read(self) -> None:
        self.messages += map(json.loads, self.end.drain())

    def events(self, method: str) -> list[dict[str, Any]]:
        return [each["params"] for each in self.messages if each.get("method") == method]

    def attach(self) -> str:
        [page] = (self.send("Target.getTargets") or {})["targetInfos"]
        session = (self.send("Target.attachToTarget", targetId=page["targetId"], flatten=True) or {})["sessionId"]
        for domain in ("Page", "Runtime"):
            self.send(f"{domain}.enable", session)
        return str(session)

    def lines(self) -> list[str]:
        return [each["args"][0]["value"] for each in self.events("Runtime.consoleAPICalled")]


def test_the_truth_lists_a_held_request_with_its_client() -> None:
    fake = FakeBrowser()
    client = Client(fake)
    session = client.attach()
    client.send("Fetch.enable", session, patterns=[{"resourceType": "Document"}])
    assert client.send("Page.navigate", session, url=SHOP) is None
    [held] = fake.truth().paused_requests
    [paused] = client.events("Fetch.requestPaused")
    assert (held.client, held.session, held.url, held.answered) == (1, session, SHOP, False)
    assert (held.request_id, held.frame) == (paused["requestId"], paused["frameId"])
    client.send("Fetch.continueRequest", session, requestId=held.request_id)
    assert fake.truth().paused_requests == ()
    assert client.events("Page.frameNavigated")[-1]["frame"]["url"] == SHOP


def test_a_lost_client_holds_no_request() -> None:
    fake = FakeBrowser()
    client, other = Client(fake), Client(fake)
    session = client.attach()
    other.send("Fetch.enable")
    client.send("Page.navigate", session, url=SHOP)
    assert len(fake.truth().paused_requests) == 1
    other.end.lost()
    client.read()
    assert client.events("Page.frameNavigated")[-1]["frame"]["url"] == SHOP


@pytest.mark.parametrize("sync", [False, True])
def test_a_script_receives_the_response_of_the_client(sync: bool) -> None:
    fake = FakeBrowser(Script(pages={SHOP: (Request(f"{SHOP}it", sync=sync), Console("on"))}))
    client = Client(fake)
    session = client.attach()
    client.send("Fetch.enable", session, patterns=[{"resourceType": "XHR"}])
    client.send("Page.navigate", session, url=SHOP)
    assert client.lines() == ([] if sync else ["on"])
    assert bool(fake.truth().blocked) is sync
    assert (client.send("Runtime.evaluate", session, expression="1") is None) is sync
    [held] = fake.truth().paused_requests
    client.send("Fetch.fulfillRequest", session, requestId=held.request_id, responseCode=201, body="aGk=")
    assert client.lines() == (["201 hi", "on"] if sync else ["on", "201 hi"])
    assert fake.truth().blocked == ()


def test_a_crashed_process_waits_for_no_request() -> None:
    fake = FakeBrowser(Script(pages={SHOP: (AddFrame("ad", f"{SHOP}ad"), Request(f"{SHOP}it", sync=True))}))
    client = Client(fake)
    session = client.attach()
    client.send("Fetch.enable", session, patterns=[{"resourceType": "XHR"}])
    client.send("Page.navigate", session, url=SHOP)
    fake.play(Crash())
    assert (fake.truth().paused_requests, fake.truth().blocked) == ((), ())
    client.send("Fetch.disable", session)
    client.send("Page.navigate", session, url=f"{SHOP}next")
    assert client.send("Runtime.evaluate", session, expression="1") is not None


@pytest.mark.parametrize(
    ("pattern", "url", "paused"),
    [
        ("*", SHOP, True),
        ("", SHOP, False),
        ("*.example/", SHOP, True),
        ("*?shop*", SHOP, True),
        ("*\\?", SHOP, False),
        (f"{SHOP}?", SHOP, True),
    ],
)
def test_a_url_pattern_selects_the_paused_requests(pattern: str, url: str, paused: bool) -> None:
    fake = FakeBrowser()
    client = Client(fake)
    session = client.attach()
    client.send("Fetch.enable", session, patterns=[{"urlPattern": pattern}])
    assert (client.send("Page.navigate", session, url=url) is None) is paused


def test_the_favicon_is_requested_if_a_client_intercepts_it() -> None:
    fake = FakeBrowser()
    client = Client(fake)
    session = client.attach()
    client.send("Page.navigate", session, url=SHOP)
    assert fake.truth().paused_requests == ()
    client.send("Fetch.enable", session, patterns=[{"urlPattern": "*.ico"}])
    client.send("Page.navigate", session, url=SHOP)
    [held] = fake.truth().paused_requests
    assert held.url == f"{SHOP}favicon.ico"
    assert client.events("Page.frameNavigated")[-1]["frame"]["url"] == SHOP
