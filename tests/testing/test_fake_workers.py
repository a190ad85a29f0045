"""Workers, pages rendered in advance and discarded tabs, without any browser: who is told, who waits, what ends with what.

That Chromium does the same is told in `live/conformance/test_workers.py` and `test_prerender.py`.
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


class Talk:
    """One client that says one thing after the other."""

    def __init__(self, *timeline: Step) -> None:
        self.fake = FakeBrowser(Script(pages=PAGES, timeline=timeline))
        self.end = self.fake.connect()
        self.told: list[Json] = []
        self._ids = 0
        self.page = self.fake.truth().pages[0]

    def send(self, method: str, params: Json | None = None, on: str | None = None) -> Json:
        """A command; its answer, or nothing where there is none yet."""
        self._ids += 1
        to = {} if on is None else {"sessionId": on}
        self.end.receive(json.dumps({"id": self._ids, "method": method, "params": params or {}, **to}).encode())
        self.listen()
        found = [each for each in self.told if each.get("id") == self._ids]
        return {} if not found else found[0].get("result") or found[0]

    def listen(self) -> list[Json]:
        """What is new."""
        new = [json.loads(payload) for payload in self.end.drain()]
        self.told += new
        return new

    def play(self, *steps: Step) -> list[Json]:
        """What comes of steps."""
        self.fake.play(*steps)
        return self.listen()

    def attach(self, target: str = "") -> str:
        """A session."""
        asked = {"targetId": target or self.page, "flatten": True}
        return str(self.send("Target.attachToTarget", asked)["sessionId"])

    def auto_attach(self, on: str | None = None, *, wait: bool = False, only: str = "") -> None:
        """On it."""
        chosen = {"filter": [{"type": only}]} if only else {}
        asked = {"autoAttach": True, "waitForDebuggerOnStart": wait, "flatten": True, **chosen}
        self.send("Target.setAutoAttach", asked, on)

    def at(self, url: str = SHOP) -> str:
        """A session on the page, which is there."""
        session = self.attach()
        self.send("Page.enable", on=session)
        self.send("Page.navigate", {"url": url}, session)
        return session

    def sessions(self, kind: str) -> list[tuple[str | None, str]]:
        """Those that were opened on targets of a type, each after the one that was told."""
        return [
            (each.get("sessionId"), each["params"]["sessionId"])
            for each in self.told
            if each.get("method") == "Target.attachedToTarget" and each["params"]["targetInfo"]["type"] == kind
        ]

    def workers(self) -> list[tuple[str, bool]]:
        """The truth: what they are called, and whether they run."""
        return [(each.label or "", each.started) for each in self.fake.truth().workers]


def events(told: list[Json]) -> Iterator[str]:
    return (each["method"] for each in told if "method" in each)


# ── dedicated ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_worker_that_waits_is_there_answers_and_has_not_run() -> None:
    talk = Talk()
    page = talk.at()
    talk.auto_attach(page, wait=True)
    talk.play(Worker("w", "/w.js"))
    [(above, session)] = talk.sessions("worker")
    assert above == page
    assert talk.workers() == [("w", False)]
    assert talk.send("Runtime.evaluate", {"expression": "1+1"}, session)["result"]["value"] == 2
    assert list(events(talk.play(Console("nobody there", frame="w")))) == []
    talk.send("Runtime.enable", on=session)
    before = len(talk.told)
    talk.send("Runtime.runIfWaitingForDebugger", on=session)
    said = [each for each in talk.told[before:] if each.get("sessionId") == session]
    assert list(events(said)) == ["Runtime.consoleAPICalled", "Inspector.workerScriptLoaded"]
    assert "id" in said[0]
    assert talk.workers() == [("w", True)]


def test_its_lines_are_kept_for_who_comes_later() -> None:
    talk = Talk()
    talk.at()
    talk.play(Worker("w", "/bad.js"), Wait(1), Console("later", frame="w"))
    talk.fake.advance(1)
    session = talk.attach(talk.fake.truth().workers[0].id)
    assert list(events(talk.listen())) == []  # it was told that the script is loaded, before the answer was read
    before = len(talk.told)
    talk.send("Runtime.enable", on=session)
    told = list(events(talk.told[before:]))
    assert told == ["Runtime.executionContextCreated", "Runtime.exceptionThrown", "Runtime.consoleAPICalled"]
    context = next(each["params"]["context"] for each in talk.told[before:] if "context" in each.get("params", {}))
    assert context["origin"] == "https://shop.example/bad.js"
    assert "auxData" not in context
    assert talk.fake.truth().dialogs == ()


@pytest.mark.parametrize("ending", [EndWorker("w"), Navigate("https://pay.example/"), Close(), Crash()])
def test_a_worker_ends_with_a_word_or_with_its_document(ending: Step) -> None:
    talk = Talk()
    page = talk.at()
    talk.auto_attach(page)
    talk.play(AddFrame("inner", SHOP), Worker("w", "/w.js", frame="inner"))
    [(_, session)] = talk.sessions("worker")
    told = talk.play(ending)
    ended = [each["params"]["sessionId"] for each in told if each.get("method") == "Target.detachedFromTarget"]
    assert ended[:1] == [session]
    assert talk.play(EndWorker("w"), Console("gone", frame="w")) == []


def test_a_worker_of_a_frame_that_is_removed_is_gone() -> None:
    talk = Talk()
    talk.at()
    talk.play(AddFrame("inner", SHOP), Worker("w", "/w.js", frame="inner"), Worker("v", "/w.js"))
    assert talk.workers() == [("w", True), ("v", True)]
    talk.play(RemoveFrame("inner"))
    assert talk.workers() == [("v", True)]


def test_nobody_closes_a_dedicated_worker_by_command() -> None:
    talk = Talk()
    talk.at()
    talk.play(Worker("w", "/w.js"))
    refused = talk.send("Target.closeTarget", {"targetId": talk.fake.truth().workers[0].id})
    assert refused["error"] == {"code": -32602, "message": "Specified target doesn't support closing"}
    assert talk.workers() == [("w", True)]


# ── shared, and service workers ──────────────────────────────────────────────────────────────────────────────────────


def test_a_shared_worker_is_one_for_its_pages_and_goes_with_the_last() -> None:
    talk = Talk()
    talk.auto_attach(only="shared_worker")
    talk.at()
    talk.send("Target.createTarget", {"url": SHOP})
    talk.play(Worker("s", "/w.js", kind="shared"), Worker("t", "/w.js", "page 2", kind="shared"))
    assert talk.workers() == [("s", True)]
    [(above, session)] = talk.sessions("shared_worker")
    assert above is None
    talk.play(Close("page 2"))
    assert talk.workers() == [("s", True)]
    told = talk.play(Close())
    assert [each["method"] for each in told if each.get("sessionId") == session] == ["Inspector.targetCrashed"]
    assert talk.workers() == []


def test_a_service_worker_outlives_its_pages_and_is_told_twice() -> None:
    talk = Talk()
    talk.auto_attach(only="service_worker")
    page = talk.at()
    talk.auto_attach(page)
    talk.play(Worker("w", "/w.js", kind="service"), Worker("again", "/w.js", kind="service"))
    assert [above for above, _ in talk.sessions("service_worker")] == [None, page]
    talk.send("Page.navigate", {"url": "https://pay.example/"}, page)
    talk.send("Page.navigate", {"url": "https://shop.example/2"}, page)
    assert [above for above, _ in talk.sessions("service_worker")] == [None, page, page]
    talk.play(Close())
    assert talk.workers() == [("w", True)]
    (_, session), *_ = talk.sessions("service_worker")
    assert talk.send("Runtime.evaluate", {"expression": "location.href"}, session)["result"]["value"].endswith("w.js")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_service_worker_is_silent_until_who_watches_its_page_lets_it_run(order: tuple[int, int]) -> None:
    talk = Talk()
    talk.auto_attach(only="service_worker", wait=True)
    talk.auto_attach(talk.at(), wait=True)
    talk.play(Worker("w", "/w.js", kind="service"))
    sessions = [session for _, session in talk.sessions("service_worker")]
    assert talk.send("Runtime.evaluate", {"expression": "1"}, sessions[0]) == {}
    for place in order:
        assert talk.workers() == [("w", order[0] == 1 and place == 0)]
        talk.send("Runtime.runIfWaitingForDebugger", on=sessions[place])
    assert talk.workers() == [("w", True)]


def test_a_service_worker_that_is_stopped_is_silent_and_stays_while_somebody_is_attached() -> None:
    talk = Talk()
    page = talk.at()
    talk.auto_attach(page)
    talk.play(Worker("w", "/w.js", kind="service"))
    [(_, session)] = talk.sessions("service_worker")
    worker = talk.fake.truth().workers[0].id
    assert talk.send("Target.closeTarget", {"targetId": worker}) == {"success": True}
    assert talk.send("Runtime.evaluate", {"expression": "1"}, session) == {}
    assert talk.fake.truth().crashed == (worker,)
    talk.send("Page.navigate", {"url": "https://shop.example/2"}, page)
    assert talk.workers() == []
    talk.play(Worker("w2", "/w.js", kind="service"))
    assert talk.workers() == [("w2", True)]


def test_what_is_no_kind_of_worker_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="kind must be one of dedicated, shared, service, not 'audio'"):
        Worker("w", kind="audio")


# ── rendered in advance ──────────────────────────────────────────────────────────────────────────────────────────────


def through_its_tab(*, wait: bool = False) -> tuple[Talk, str, str]:
    """The tab's session and the page's."""
    talk = Talk()
    tab = talk.send("Target.createTarget", {"url": SHOP, "forTab": True})["targetId"]
    above = talk.attach(tab)
    talk.auto_attach(above, wait=wait)
    return talk, above, talk.sessions("page")[0][1]


def test_it_takes_the_place_of_its_page_which_goes_on_under_its_name() -> None:
    talk, tab, page = through_its_tab()
    talk.play(Prerender("next", "/next", "page 2"))
    [(_, session)] = talk.sessions("page")[1:]
    assert talk.send("Runtime.evaluate", {"expression": "document.prerendering"}, session)["result"]["value"] is True
    assert talk.send("Runtime.evaluate", {"expression": "confirm('x')"}, session)["result"]["value"] is False
    [(old, new)] = talk.fake.truth().in_advance
    told = talk.play(Navigate("https://shop.example/next", "page 2"))
    assert [each["params"] for each in told if each["method"] == "Target.detachedFromTarget"] == [
        {"sessionId": page, "targetId": old}
    ]
    assert [each["sessionId"] for each in told if each["method"] == "Target.detachedFromTarget"] == [tab]
    truth = talk.fake.truth()
    assert old not in truth.pages
    assert new in truth.pages
    assert truth.in_advance == ()
    assert {each.label for each in truth.frames} == {"main", "page 2"}
    assert truth.dialogs == ()
    assert talk.send("Runtime.evaluate", {"expression": "1"}, page)["error"]["code"] == -32001
    talk.play(Dialog("alert", "now", frame="page 2"))
    assert len(talk.fake.truth().dialogs) == 1


@pytest.mark.parametrize("ending", [Navigate("https://shop.example/2", "page 2"), Close("page 2"), Crash("page 2")])
@pytest.mark.parametrize("wait", [False, True])
def test_nobody_went_there(ending: Step, wait: bool) -> None:
    talk, _, _ = through_its_tab(wait=wait)
    talk.play(Prerender("next", "/next", "page 2"))
    [(_, new)] = talk.fake.truth().in_advance
    told = talk.play(ending)
    ended = [each["params"]["targetId"] for each in told if each["method"] == "Target.detachedFromTarget"]
    assert new in ended
    assert new not in talk.fake.truth().pages
    assert talk.fake.paused() == ()


def test_one_that_waits_is_gone_to_when_it_may_run() -> None:
    talk, _, page = through_its_tab(wait=True)
    talk.play(Prerender("next", "/next", "page 2"))
    [(_, session)] = talk.sessions("page")[1:]
    assert talk.send("Page.getFrameTree", on=session) == {}
    talk.play(Navigate("https://shop.example/next", "page 2"))
    assert talk.send("Runtime.evaluate", {"expression": "1"}, page) != {}
    talk.send("Runtime.runIfWaitingForDebugger", on=session)
    assert talk.fake.truth().in_advance == ()
    assert talk.send("Page.getFrameTree", on=session)["frameTree"]["frame"]["url"].endswith("/next")
    assert talk.send("Runtime.evaluate", {"expression": "1"}, page)["error"]["code"] == -32001


@pytest.mark.parametrize("url", ["/next", "https://pay.example/"])
def test_there_is_none_of_another_origin_nor_for_who_is_attached_to_the_page(url: str) -> None:
    talk, _, _ = through_its_tab()
    if url == "/next":
        talk.attach(talk.fake.truth().pages[1])
    talk.play(Prerender("next", url, "page 2"))
    assert talk.fake.truth().in_advance == ()
    there = talk.fake.truth().pages
    talk.play(Navigate("https://shop.example/next", "page 2"))
    assert talk.fake.truth().pages == there


def test_a_command_that_goes_there_goes_there_itself() -> None:
    talk, _, page = through_its_tab()
    talk.play(Prerender("next", "/next", "page 2"))
    [(old, new)] = talk.fake.truth().in_advance
    talk.send("Page.navigate", {"url": "https://shop.example/next"}, page)
    assert old in talk.fake.truth().pages
    assert new not in talk.fake.truth().pages
    assert talk.fake.truth().dialogs != ()


# ── discarded ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("wait", [False, True])
def test_a_discarded_tab_is_another_target_and_silent(wait: bool) -> None:
    talk = Talk()
    talk.auto_attach(only="page", wait=wait)
    [(_, session)] = talk.sessions("page")
    talk.send("Page.navigate", {"url": SHOP}, session)
    talk.play(AddFrame("inner", "https://pay.example/"), Worker("w", "/w.js"))
    told = talk.play(Discard(), Console("nobody is there"), Discard())
    new = talk.sessions("page")[-1][1]
    attached = [each["params"] for each in told if each["method"] == "Target.attachedToTarget"]
    assert [each["waitingForDebugger"] for each in attached] == [wait]
    truth = talk.fake.truth()
    assert truth.discarded == truth.pages != (talk.page,)
    assert [(each.label, each.url, each.silent) for each in truth.frames] == [("main", SHOP, True)]
    assert truth.workers == ()
    assert talk.send("Runtime.evaluate", {"expression": "1"}, session)["error"]["code"] == -32001
    assert talk.send("Runtime.enable", on=new) == {}
    assert talk.send("Target.getTargetInfo", on=new)["targetInfo"]["url"] == SHOP
    talk.send("Runtime.runIfWaitingForDebugger", on=new)
    talk.send("Target.activateTarget", {"targetId": truth.pages[0]})
    assert talk.fake.truth().discarded == ()
    assert talk.send("Runtime.evaluate", {"expression": "location.href"}, new)["result"]["value"] == SHOP
    assert "Runtime.executionContextCreated" in events([each for each in talk.told if each.get("sessionId") == new])


def test_a_discarded_tab_closes() -> None:
    talk = Talk()
    talk.at()
    talk.play(Discard(), Close())
    assert talk.fake.truth().pages == ()
    assert talk.fake.truth().frames == ()


# ── laws ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(script=scripts(), profile=st.sampled_from(PROFILES), seed=st.integers(0, 2**32))
def test_a_worker_has_its_document_and_nothing_has_a_target_that_is_gone(
    script: Script, profile: Any, seed: int
) -> None:
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
