"""Workers, prerendered pages and discarded tabs in the fake: their events, pauses and ends.

`live/conformance/test_workers.py` and `test_prerender.py` compare the same with Chromium.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdp_core.errors import InvalidArgument
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.fake.world import PROFILES
from cdp_core.testing.simulation import Pump
from cdp_core.testing.steps import (
    AddFrame,
    Close,
    Console,
    Crash,
    Dialog,
    Discard,
    EndWorker,
    Navigate,
    Prerender,
    RemoveFrame,
    Script,
    ScriptError,
    Step,
    Wait,
    Worker,
)
from cdp_core.testing.strategies import scripts
from support import naive_client

Json = dict[str, Any]
SHOP = "https://shop.example/"
PAGES = {
    "https://shop.example/w.js": (Console("first"),),
    "https://shop.example/bad.js": (ScriptError("boom"), Dialog("alert", "no such thing")),
    "https://shop.example/next": (Dialog("alert", "nobody is asked"), Console("next")),
}


class Client:
    """A client of a fake with this timeline; it sends one command at a time."""

    def __init__(self, *timeline: Step) -> None:
        self.fake = FakeBrowser(Script(pages=PAGES, timeline=timeline))
        self.end = self.fake.connect()
        self.messages: list[Json] = []
        self._ids = 0
        self.page = self.fake.truth().pages[0]

    def send(self, method: str, params: Json | None = None, on: str | None = None) -> Json:
        """Send a command; return its result or its whole reply, or {} while it is not answered."""
        self._ids += 1
        to = {} if on is None else {"sessionId": on}
        self.end.receive(json.dumps({"id": self._ids, "method": method, "params": params or {}, **to}).encode())
        self.read()
        found = [each for each in self.messages if each.get("id") == self._ids]
        return {} if not found else found[0].get("result") or found[0]

    def read(self) -> list[Json]:
        """Return the new messages."""
        new = [json.loads(payload) for payload in self.end.drain()]
        self.messages += new
        return new

    def play(self, *steps: Step) -> list[Json]:
        """Play steps; return the new messages."""
        self.fake.play(*steps)
        return self.read()

    def attach(self, target: str = "") -> str:
        """Return a new session on a target, by default the page."""
        arguments = {"targetId": target or self.page, "flatten": True}
        return str(self.send("Target.attachToTarget", arguments)["sessionId"])

    def auto_attach(self, on: str | None = None, *, wait: bool = False, only: str = "") -> None:
        """Switch on auto-attach on a session; None is the root session."""
        chosen = {"filter": [{"type": only}]} if only else {}
        arguments = {"autoAttach": True, "waitForDebuggerOnStart": wait, "flatten": True, **chosen}
        self.send("Target.setAutoAttach", arguments, on)

    def open_page(self, url: str = SHOP) -> str:
        """Attach to the page, navigate it to `url`, and return the session."""
        session = self.attach()
        self.send("Page.enable", on=session)
        self.send("Page.navigate", {"url": url}, session)
        return session

    def sessions(self, kind: str) -> list[tuple[str | None, str]]:
        """Return the sessions on targets of a type, each as (parent session, session)."""
        return [
            (each.get("sessionId"), each["params"]["sessionId"])
            for each in self.messages
            if each.get("method") == "Target.attachedToTarget" and each["params"]["targetInfo"]["type"] == kind
        ]

    def workers(self) -> list[tuple[str, bool]]:
        """Return the workers of the truth, each as (label, started)."""
        return [(each.label or "", each.started) for each in self.fake.truth().workers]


def events(messages: list[Json]) -> Iterator[str]:
    return (each["method"] for each in messages if "method" in each)


# ── dedicated workers ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_paused_worker_exists_and_answers_but_does_not_run() -> None:
    client = Client()
    page = client.open_page()
    client.auto_attach(page, wait=True)
    client.play(Worker("w", "/w.js"))
    [(parent, session)] = client.sessions("worker")
    assert parent == page
    assert client.workers() == [("w", False)]
    assert client.send("Runtime.evaluate", {"expression": "1+1"}, session)["result"]["value"] == 2
    assert list(events(client.play(Console("nobody there", frame="w")))) == []
    client.send("Runtime.enable", on=session)
    before = len(client.messages)
    client.send("Runtime.runIfWaitingForDebugger", on=session)
    of_session = [each for each in client.messages[before:] if each.get("sessionId") == session]
    assert list(events(of_session)) == ["Runtime.consoleAPICalled", "Inspector.workerScriptLoaded"]
    assert "id" in of_session[0]
    assert client.workers() == [("w", True)]


def test_console_lines_of_a_worker_are_kept_for_later_sessions() -> None:
    client = Client()
    client.open_page()
    client.play(Worker("w", "/bad.js"), Wait(1), Console("later", frame="w"))
    client.fake.advance(1)
    session = client.attach(client.fake.truth().workers[0].id)
    assert list(events(client.read())) == []  # the event that its script is loaded was read with the reply
    before = len(client.messages)
    client.send("Runtime.enable", on=session)
    messages = list(events(client.messages[before:]))
    assert messages == ["Runtime.executionContextCreated", "Runtime.exceptionThrown", "Runtime.consoleAPICalled"]
    context = next(
        each["params"]["context"] for each in client.messages[before:] if "context" in each.get("params", {})
    )
    assert context["origin"] == "https://shop.example/bad.js"
    assert "auxData" not in context
    assert client.fake.truth().dialogs == ()


@pytest.mark.parametrize("ending", [EndWorker("w"), Navigate("https://pay.example/"), Close(), Crash()])
def test_a_worker_ends_by_a_step_or_with_its_document(ending: Step) -> None:
    client = Client()
    page = client.open_page()
    client.auto_attach(page)
    client.play(AddFrame("inner", SHOP), Worker("w", "/w.js", frame="inner"))
    [(_, session)] = client.sessions("worker")
    messages = client.play(ending)
    ended = [each["params"]["sessionId"] for each in messages if each.get("method") == "Target.detachedFromTarget"]
    assert ended[:1] == [session]
    assert client.play(EndWorker("w"), Console("gone", frame="w")) == []


def test_removing_a_frame_ends_its_workers() -> None:
    client = Client()
    client.open_page()
    client.play(AddFrame("inner", SHOP), Worker("w", "/w.js", frame="inner"), Worker("v", "/w.js"))
    assert client.workers() == [("w", True), ("v", True)]
    client.play(RemoveFrame("inner"))
    assert client.workers() == [("v", True)]


def test_close_target_refuses_a_dedicated_worker() -> None:
    client = Client()
    client.open_page()
    client.play(Worker("w", "/w.js"))
    refused = client.send("Target.closeTarget", {"targetId": client.fake.truth().workers[0].id})
    assert refused["error"] == {"code": -32602, "message": "Specified target doesn't support closing"}
    assert client.workers() == [("w", True)]


# ── shared and service workers ───────────────────────────────────────────────────────────────────────────────────────


def test_a_shared_worker_is_shared_by_its_pages_and_ends_with_the_last() -> None:
    client = Client()
    client.auto_attach(only="shared_worker")
    client.open_page()
    client.send("Target.createTarget", {"url": SHOP})
    client.play(Worker("s", "/w.js", kind="shared"), Worker("t", "/w.js", "page 2", kind="shared"))
    assert client.workers() == [("s", True)]
    [(parent, session)] = client.sessions("shared_worker")
    assert parent is None
    client.play(Close("page 2"))
    assert client.workers() == [("s", True)]
    messages = client.play(Close())
    assert [each["method"] for each in messages if each.get("sessionId") == session] == ["Inspector.targetCrashed"]
    assert client.workers() == []


def test_a_service_worker_outlives_its_pages_and_is_attached_twice() -> None:
    client = Client()
    client.auto_attach(only="service_worker")
    page = client.open_page()
    client.auto_attach(page)
    client.play(Worker("w", "/w.js", kind="service"), Worker("again", "/w.js", kind="service"))
    assert [parent for parent, _ in client.sessions("service_worker")] == [None, page]
    client.send("Page.navigate", {"url": "https://pay.example/"}, page)
    client.send("Page.navigate", {"url": "https://shop.example/2"}, page)
    assert [parent for parent, _ in client.sessions("service_worker")] == [None, page, page]
    client.play(Close())
    assert client.workers() == [("w", True)]
    (_, session), *_ = client.sessions("service_worker")
    assert client.send("Runtime.evaluate", {"expression": "location.href"}, session)["result"]["value"].endswith("w.js")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_service_worker_is_silent_until_the_session_of_its_page_resumes_it(order: tuple[int, int]) -> None:
    client = Client()
    client.auto_attach(only="service_worker", wait=True)
    client.auto_attach(client.open_page(), wait=True)
    client.play(Worker("w", "/w.js", kind="service"))
    sessions = [session for _, session in client.sessions("service_worker")]
    assert client.send("Runtime.evaluate", {"expression": "1"}, sessions[0]) == {}
    for place in order:
        assert client.workers() == [("w", order[0] == 1 and place == 0)]
        client.send("Runtime.runIfWaitingForDebugger", on=sessions[place])
    assert client.workers() == [("w", True)]


def test_a_stopped_service_worker_is_silent_and_stays_while_a_session_is_attached() -> None:
    client = Client()
    page = client.open_page()
    client.auto_attach(page)
    client.play(Worker("w", "/w.js", kind="service"))
    [(_, session)] = client.sessions("service_worker")
    worker = client.fake.truth().workers[0].id
    assert client.send("Target.closeTarget", {"targetId": worker}) == {"success": True}
    assert client.send("Runtime.evaluate", {"expression": "1"}, session) == {}
    assert client.fake.truth().crashed == (worker,)
    client.send("Page.navigate", {"url": "https://shop.example/2"}, page)
    assert client.workers() == []
    client.play(Worker("w2", "/w.js", kind="service"))
    assert client.workers() == [("w2", True)]


def test_an_unknown_kind_of_worker_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="kind must be one of dedicated, shared, service, not 'audio'"):
        Worker("w", kind="audio")


# ── prerendered pages ────────────────────────────────────────────────────────────────────────────────────────────────


def through_its_tab(*, wait: bool = False) -> tuple[Client, str, str]:
    """Return a client with its sessions on a tab and on the page of the tab."""
    client = Client()
    tab = client.send("Target.createTarget", {"url": SHOP, "forTab": True})["targetId"]
    parent = client.attach(tab)
    client.auto_attach(parent, wait=wait)
    return client, parent, client.sessions("page")[0][1]


def test_an_activated_prerender_replaces_its_page_and_takes_its_label() -> None:
    client, tab, page = through_its_tab()
    client.play(Prerender("next", "/next", "page 2"))
    [(_, session)] = client.sessions("page")[1:]
    assert client.send("Runtime.evaluate", {"expression": "document.prerendering"}, session)["result"]["value"] is True
    assert client.send("Runtime.evaluate", {"expression": "confirm('x')"}, session)["result"]["value"] is False
    [(old, new)] = client.fake.truth().in_advance
    messages = client.play(Navigate("https://shop.example/next", "page 2"))
    assert [each["params"] for each in messages if each["method"] == "Target.detachedFromTarget"] == [
        {"sessionId": page, "targetId": old}
    ]
    assert [each["sessionId"] for each in messages if each["method"] == "Target.detachedFromTarget"] == [tab]
    truth = client.fake.truth()
    assert old not in truth.pages
    assert new in truth.pages
    assert truth.in_advance == ()
    assert {each.label for each in truth.frames} == {"main", "page 2"}
    assert truth.dialogs == ()
    assert client.send("Runtime.evaluate", {"expression": "1"}, page)["error"]["code"] == -32001
    client.play(Dialog("alert", "now", frame="page 2"))
    assert len(client.fake.truth().dialogs) == 1


@pytest.mark.parametrize("ending", [Navigate("https://shop.example/2", "page 2"), Close("page 2"), Crash("page 2")])
@pytest.mark.parametrize("wait", [False, True])
def test_a_prerender_that_is_not_activated_is_dropped(ending: Step, wait: bool) -> None:
    client, _, _ = through_its_tab(wait=wait)
    client.play(Prerender("next", "/next", "page 2"))
    [(_, new)] = client.fake.truth().in_advance
    messages = client.play(ending)
    ended = [each["params"]["targetId"] for each in messages if each["method"] == "Target.detachedFromTarget"]
    assert new in ended
    assert new not in client.fake.truth().pages
    assert client.fake.paused() == ()


def test_a_paused_prerender_is_activated_when_it_is_resumed() -> None:
    client, _, page = through_its_tab(wait=True)
    client.play(Prerender("next", "/next", "page 2"))
    [(_, session)] = client.sessions("page")[1:]
    assert client.send("Page.getFrameTree", on=session) == {}
    client.play(Navigate("https://shop.example/next", "page 2"))
    assert client.send("Runtime.evaluate", {"expression": "1"}, page) != {}
    client.send("Runtime.runIfWaitingForDebugger", on=session)
    assert client.fake.truth().in_advance == ()
    assert client.send("Page.getFrameTree", on=session)["frameTree"]["frame"]["url"].endswith("/next")
    assert client.send("Runtime.evaluate", {"expression": "1"}, page)["error"]["code"] == -32001


@pytest.mark.parametrize("url", ["/next", "https://pay.example/"])
def test_a_page_is_not_prerendered_across_origins_or_under_a_direct_session(url: str) -> None:
    client, _, _ = through_its_tab()
    if url == "/next":
        client.attach(client.fake.truth().pages[1])
    client.play(Prerender("next", url, "page 2"))
    assert client.fake.truth().in_advance == ()
    pages = client.fake.truth().pages
    client.play(Navigate("https://shop.example/next", "page 2"))
    assert client.fake.truth().pages == pages


def test_page_navigate_loads_the_url_instead_of_activating_the_prerender() -> None:
    client, _, page = through_its_tab()
    client.play(Prerender("next", "/next", "page 2"))
    [(old, new)] = client.fake.truth().in_advance
    client.send("Page.navigate", {"url": "https://shop.example/next"}, page)
    assert old in client.fake.truth().pages
    assert new not in client.fake.truth().pages
    assert client.fake.truth().dialogs != ()


# ── discarded tabs ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("wait", [False, True])
def test_a_discarded_tab_is_a_new_target_without_answers(wait: bool) -> None:
    client = Client()
    client.auto_attach(only="page", wait=wait)
    [(_, session)] = client.sessions("page")
    client.send("Page.navigate", {"url": SHOP}, session)
    client.play(AddFrame("inner", "https://pay.example/"), Worker("w", "/w.js"))
    messages = client.play(Discard(), Console("nobody is there"), Discard())
    new = client.sessions("page")[-1][1]
    attached = [each["params"] for each in messages if each["method"] == "Target.attachedToTarget"]
    assert [each["waitingForDebugger"] for each in attached] == [wait]
    truth = client.fake.truth()
    assert truth.discarded == truth.pages != (client.page,)
    assert [(each.label, each.url, each.silent) for each in truth.frames] == [("main", SHOP, True)]
    assert truth.workers == ()
    assert client.send("Runtime.evaluate", {"expression": "1"}, session)["error"]["code"] == -32001
    assert client.send("Runtime.enable", on=new) == {}
    assert client.send("Target.getTargetInfo", on=new)["targetInfo"]["url"] == SHOP
    client.send("Runtime.runIfWaitingForDebugger", on=new)
    client.send("Target.activateTarget", {"targetId": truth.pages[0]})
    assert client.fake.truth().discarded == ()
    assert client.send("Runtime.evaluate", {"expression": "location.href"}, new)["result"]["value"] == SHOP
    assert "Runtime.executionContextCreated" in events(
        [each for each in client.messages if each.get("sessionId") == new]
    )


def test_a_discarded_tab_can_be_closed() -> None:
    client = Client()
    client.open_page()
    client.play(Discard(), Close())
    assert client.fake.truth().pages == ()
    assert client.fake.truth().frames == ()


# ── laws ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(script=scripts(), profile=st.sampled_from(PROFILES), seed=st.integers(0, 2**32))
def test_dedicated_workers_have_a_frame_and_every_target_exists(script: Script, profile: Any, seed: int) -> None:
    fake = FakeBrowser(script, profile=profile, seed=seed)
    run = Pump(fake, [naive_client.NaiveClient(script.answers)], seed=seed).run()
    truth = fake.truth()
    targets = {target for target, _, _ in truth.targets}
    assert run.quiet
    assert {frame.target for frame in truth.frames} <= targets
    assert {worker.id for worker in truth.workers} <= targets
    for worker in truth.workers:
        assert (worker.frame is None) == (worker.type != "worker")
    closing = [Close(f.label) for f in truth.frames if f.parent is None and f.label is not None]
    for step in closing:
        fake.play(step)
    if len(closing) == len(truth.pages):
        assert {each.type for each in fake.truth().workers} <= {"service_worker"}
