"""Extensions that claim requests: on an own link, beside the embedder's claims, under an engine."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import trio
import trio.testing

from cdp_core import InvalidArgument, open_browser_session
from cdp_core.sansio.structs import replace
from cdp_core.testing import FakeBrowser
from cdp_supervisor import AskExtension, Stop, SupervisorEngine, open_supervisor
from cdp_supervisor.sansio.effects import AnswerFetch, ClaimFetch, ReleaseFetch, Send
from cdp_supervisor.sansio.inputs import (
    FetchEnded,
    FetchExpired,
    FetchPaused,
    NotSent,
    Replied,
    SessionOpened,
    Stopping,
)
from support.driven_engine import drive
from support.shop import SHOP

DOCUMENTS = ({"resourceType": "Document"},)


class Guard:
    """An extension that claims the documents of each session, and does with a pause what `rule` returns."""

    name = "guard"
    events: frozenset[str] = frozenset()

    def __init__(self, rule: Callable[[Any], tuple[Any, ...]] = lambda _fed: (), **claim: Any) -> None:
        self.rule = rule
        self.claim = {"patterns": DOCUMENTS, **claim}
        self.heard: list[Any] = []

    def initial(self) -> int:
        return 0

    def step(self, state: int, input: Any) -> Any:
        if isinstance(input, SessionOpened) and input.target_type == "page":
            return state, (ClaimFetch(key="documents", session_id=input.session_id, **self.claim),)
        if isinstance(input, (FetchPaused, FetchExpired, FetchEnded, Replied, Stopping)):
            self.heard.append(input)
            return state + 1, self.rule(input)
        return state, ()

    def next_deadline(self, _state: int) -> None:
        return None

    def view(self, state: int) -> Any:
        return {"heard": state}

    def kinds(self) -> list[type]:
        return [type(each) for each in self.heard]


def answering(command: str, **params: Any) -> Callable[[Any], tuple[Any, ...]]:
    """A rule that answers each pause with this command."""

    def rule(input: Any) -> tuple[Any, ...]:
        if not isinstance(input, FetchPaused):
            return ()
        given = {"requestId": input.event.params["requestId"], **params}
        return (AnswerFetch(key=input.key, method=command, params=given, reply_to="answer"),)

    return rule


def fetched(site: Any) -> list[str]:
    return [each.method for each in site.fake.commands if each.method.startswith("Fetch.")]


async def test_an_extension_answers_the_requests_of_its_claim(site: Any, bounded: trio.abc.Clock) -> None:
    guard = Guard(answering("Fetch.continueRequest", method="GET"))
    async with open_supervisor(site.dial, extensions=[guard]) as supervisor:
        await site.shop(supervisor)
        paused, replied = guard.heard[:2]
        assert paused.event.params["request"]["url"] == SHOP
        assert paused.page == supervisor.snapshot().pages[0].target_id
        assert (replied.tag, replied.outcome.value) == ("answer", {})
    assert site.fake.truth().paused_requests == ()
    assert fetched(site)[-1] == "Fetch.disable"


async def test_the_claim_is_made_before_the_target_is_resumed(site: Any, bounded: trio.abc.Clock) -> None:
    async with open_supervisor(site.dial, extensions=[Guard()]):
        page = [each for each in site.fake.commands if each.session_id is not None]
        methods = [each.method for each in page]
        assert methods.index("Fetch.enable") < methods.index("Runtime.runIfWaitingForDebugger")


async def test_a_request_that_an_extension_never_answers_is_continued_counted_and_noted(
    site: Any, bounded: trio.abc.Clock, caplog: pytest.LogCaptureFixture
) -> None:
    guard = Guard()
    async with open_supervisor(site.dial, extensions=[guard]) as supervisor:
        begun = trio.current_time()
        await site.shop(supervisor)
        assert trio.current_time() - begun >= 10.0
        assert guard.kinds()[:2] == [FetchPaused, FetchExpired]
        assert guard.heard[1].request_id == guard.heard[0].event.params["requestId"]
        assert supervisor.statistics()["requests_expired"] >= 1
    assert "an extension left a request paused for 10 seconds, so it was continued" in caplog.text
    assert "extension=guard key=documents" in caplog.text


async def test_an_extension_that_raises_at_a_pause_releases_its_claims(site: Any, bounded: trio.abc.Clock) -> None:
    def rule(input: Any) -> tuple[Any, ...]:
        raise KeyError(input)

    guard = Guard(rule)
    async with open_supervisor(site.dial, extensions=[guard]) as supervisor:
        begun = trio.current_time()
        await site.shop(supervisor)
        assert trio.current_time() - begun < 5.0
        assert supervisor.snapshot().extensions["guard"] == {"off": "it raised KeyError"}
        assert fetched(site) == ["Fetch.enable", "Fetch.continueRequest", "Fetch.disable"]


async def test_an_extension_releases_its_claim(site: Any, bounded: trio.abc.Clock) -> None:
    guard = Guard(lambda fed: (ReleaseFetch(key=fed.key),) if isinstance(fed, FetchPaused) else ())
    async with open_supervisor(site.dial, extensions=[guard]) as supervisor:
        await site.shop(supervisor)
        assert fetched(site) == ["Fetch.enable", "Fetch.continueRequest", "Fetch.disable"]
        await supervisor.call("Fetch.enable")
        await supervisor.call("Fetch.disable")


async def test_a_new_claim_of_the_same_key_replaces_the_old_one(site: Any, bounded: trio.abc.Clock) -> None:
    def rule(input: Any) -> tuple[Any, ...]:
        if not isinstance(input, FetchPaused):
            return ()
        nothing = ({"urlPattern": "https://nothing.example/"},)
        return (ClaimFetch(key=input.key, session_id=input.event.session_id, patterns=nothing),)

    guard = Guard(rule)
    async with open_supervisor(site.dial, extensions=[guard]) as supervisor:
        await site.shop(supervisor)
        assert guard.kinds() == [FetchPaused]
        await supervisor.evaluate("1 + 1")


async def test_a_claim_that_was_replaced_before_the_browser_refused_it_does_not_end_the_new_one(
    site: Any, bounded: trio.abc.Clock
) -> None:
    class Twice(Guard):
        def step(self, state: int, input: Any) -> Any:
            state, wanted = super().step(state, input)
            if wanted and isinstance(wanted[0], ClaimFetch):
                wrong = replace(wanted[0], patterns=({"resourceType": "Nothing"},))
                return state, (wrong, *wanted)
            return state, wanted

    guard = Twice(answering("Fetch.continueRequest", method="GET"))
    async with open_supervisor(site.dial, extensions=[guard]) as supervisor:
        await site.shop(supervisor)
        assert FetchEnded not in guard.kinds()
        assert FetchPaused in guard.kinds()


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        ({"patterns": ()}, "A claim needs at least one pattern"),
        ({"patterns": ({"url": "*"},)}, "has no field 'url'"),
        ({"patterns": ({"resourceType": "Nothing"},)}, "the browser refused it"),
    ],
)
async def test_an_extension_gets_the_reason_why_its_claim_was_refused(
    site: Any, bounded: trio.abc.Clock, claim: Any, why: str
) -> None:
    guard = Guard(**claim)
    async with open_supervisor(site.dial, extensions=[guard]) as supervisor:
        await site.shop(supervisor)
        assert guard.kinds() == [FetchEnded]
        assert why in guard.heard[0].reason
        await supervisor.call("Fetch.enable")


async def test_a_claim_ends_with_its_session(site: Any, bounded: trio.abc.Clock) -> None:
    guard = Guard(answering("Fetch.continueRequest"))
    async with open_supervisor(site.dial, extensions=[guard]) as supervisor:
        await site.shop(supervisor)
        await supervisor.call("Page.close")
        await supervisor.wait_for(lambda snapshot: not snapshot.pages)
        [ended] = [each for each in guard.heard if isinstance(each, FetchEnded)]
        assert ended.key == "documents"


async def test_a_claim_ends_with_the_link_and_the_next_link_gets_it_anew(site: Any, bounded: trio.abc.Clock) -> None:
    guard = Guard(answering("Fetch.continueRequest"))
    async with open_supervisor(site.dial, extensions=[guard]) as supervisor:
        site.fake.cut()
        await supervisor.wait_for(
            lambda now: now.link.generation == 2 and any(page.session_id and not page.stale for page in now.pages)
        )
        await site.shop(supervisor)
        assert FetchEnded in guard.kinds()
        assert len(site.sent("Fetch.enable")) == 2


@pytest.mark.parametrize(
    ("key", "why"), [("nothing", "has no claim 'nothing'; claim first"), ("documents", "holds no request 'nothing'")]
)
async def test_an_answer_to_a_request_that_is_not_held_comes_back(
    site: Any, bounded: trio.abc.Clock, key: str, why: str
) -> None:
    wrong = AnswerFetch(key=key, method="Fetch.failRequest", params={"requestId": "nothing"}, reply_to="answer")
    guard = Guard(lambda fed: (wrong,) if isinstance(fed, FetchPaused) else ())
    async with open_supervisor(site.dial, extensions=[guard]) as supervisor:
        await site.shop(supervisor)
        outcome = next(each for each in guard.heard if isinstance(each, Replied)).outcome
        assert isinstance(outcome, NotSent)
        assert why in str(outcome.error)


async def test_on_a_session_with_a_claim_calls_and_extensions_do_not_switch_fetch(
    site: Any, bounded: trio.abc.Clock
) -> None:
    def rule(input: Any) -> tuple[Any, ...]:
        if not isinstance(input, FetchPaused):
            return ()
        return (
            Send(ticket=0, session_id=input.event.session_id, method="Fetch.disable", reply_to="raw"),
            ReleaseFetch(),
        )

    guard = Guard(rule)
    async with open_supervisor(site.dial, extensions=[guard]) as supervisor:
        with pytest.raises(InvalidArgument, match=r"\(extension guard\); to intercept requests use claim_fetch"):
            await supervisor.call("Fetch.enable")
        await site.shop(supervisor)
        refused = next(each for each in guard.heard if isinstance(each, Replied)).outcome
        assert "use claim_fetch" in str(refused.error)


async def test_the_embedder_and_an_extension_share_fetch(site: Any, bounded: trio.abc.Clock) -> None:
    guard = Guard(answering("Fetch.continueRequest"))
    async with (
        open_browser_session(await site.dial()) as browser,
        open_supervisor(browser, extensions=[guard]) as supervisor,
    ):
        [page] = [each for each in browser.sessions.values() if each.target_type == "page"]
        async with page.claim_fetch(patterns=DOCUMENTS, name="mine") as claim, trio.open_nursery() as nursery:
            nursery.start_soon(site.shop, supervisor)
            paused = await claim.receive()
            assert guard.heard[0].event.params == paused.params
            await trio.testing.wait_all_tasks_blocked()
            reply = next(each for each in guard.heard if isinstance(each, Replied))
            assert "passed on to another claim" in str(reply.outcome.error)
            await paused.answer("Fetch.continueRequest")
    assert site.fake.truth().paused_requests == ()


async def test_at_the_stop_the_claims_are_released_before_the_link(site: Any, bounded: trio.abc.Clock) -> None:
    guard = Guard()
    async with open_supervisor(site.dial, extensions=[guard]) as supervisor:
        [page] = supervisor.snapshot().pages
        supervisor.browser.sessions[page.session_id].send_nowait("Page.navigate", {"url": SHOP}).on_end()
        await trio.testing.wait_all_tasks_blocked()
        assert guard.kinds() == [FetchPaused]
    methods = [each.method for each in site.fake.commands]
    assert fetched(site) == ["Fetch.enable", "Fetch.continueRequest", "Fetch.disable"]
    assert methods.index("Fetch.disable") < len(methods) - 1 - methods[::-1].index("Target.setAutoAttach")
    assert guard.kinds()[1] is Stopping


async def test_a_supervisor_that_gave_up_leaves_no_claim_on_a_borrowed_link(site: Any, bounded: trio.abc.Clock) -> None:
    guard = Guard()
    async with open_browser_session(await site.dial()) as browser:
        async with open_supervisor(browser, extensions=[guard]) as supervisor:
            supervisor._driver.disconnect("half_open")
            await trio.testing.wait_all_tasks_blocked()
        [page] = [each for each in browser.sessions.values() if each.target_type == "page"] or [None]
        assert fetched(site)[-1] == "Fetch.disable"
        if page is not None:
            await page.send("Fetch.enable")


async def test_an_extension_that_claims_again_at_each_end_does_not_hang_the_reader(
    site: Any, bounded: trio.abc.Clock
) -> None:
    class Again(Guard):
        def step(self, state: int, input: Any) -> Any:
            if isinstance(input, (SessionOpened, FetchEnded)):
                self.heard.append(input)
                return state, (ClaimFetch(key="documents", session_id=None, patterns=({"url": "*"},)),)
            return state, ()

    async with open_supervisor(site.dial, extensions=[Again()]) as supervisor:
        await site.shop(supervisor)
        assert "went on sending" in supervisor.snapshot().extensions["guard"]["off"]


# ── under an engine that shares a connection ─────────────────────────────────────────────────────────────────────────


def adopting(guard: Guard, **options: Any) -> list[Any]:
    """Run an adopting engine until it has followed one session; return the methods that it sent."""
    fake = FakeBrowser()
    end = fake.connect()
    engine = SupervisorEngine(sessions="adopt", extensions=[guard], first_command_id=1_000, **options)
    engine.link_up(0.0)
    (target,) = fake.truth().pages
    attach = {"id": 1, "method": "Target.attachToTarget", "params": {"targetId": target, "flatten": True}}
    end.receive(json.dumps(attach).encode())
    sent: list[Any] = []
    for _round in range(5):
        for payload in end.drain():
            engine.receive(payload, 0.0)
        for text in engine.outgoing():
            sent.append(json.loads(text)["method"])
            end.receive(text.encode())
    return sent


def test_an_adopting_engine_refuses_claims_unless_fetch_is_ours() -> None:
    guard = Guard()
    assert "Fetch.enable" not in adopting(guard)
    [ended] = guard.heard
    assert "if it never uses Fetch, pass fetch='ours'" in ended.reason
    guard = Guard()
    assert "Fetch.enable" in adopting(guard, fetch="ours")
    assert guard.heard == []


def test_an_adopting_engine_releases_its_claims_at_the_stop() -> None:
    fake = FakeBrowser()
    end = fake.connect()
    engine = SupervisorEngine(sessions="adopt", extensions=[Guard()], first_command_id=1_000, fetch="ours")
    engine.link_up(0.0)
    (target,) = fake.truth().pages
    attach = {"id": 1, "method": "Target.attachToTarget", "params": {"targetId": target, "flatten": True}}
    end.receive(json.dumps(attach).encode())
    drive(engine, end)
    engine.request(Stop(), 0.0)
    drive(engine, end)
    engine.time_passed(5.0)
    drive(engine, end, 5.0)
    assert [each.method for each in fake.commands if each.method.startswith("Fetch.")] == [
        "Fetch.enable",
        "Fetch.disable",
    ]


def test_before_the_first_link_nothing_is_written() -> None:
    class Early(Guard):
        def answer(self, state: int, _question: Any) -> Any:
            claim = ClaimFetch(key="early", session_id=None, patterns=DOCUMENTS)
            send = Send(ticket=0, session_id=None, method="Browser.getVersion", reply_to="early")
            return state, {}, (send, claim)

    guard = Early()
    engine = SupervisorEngine(extensions=[guard])
    engine.request(AskExtension(extension="guard", question={}), 0.0)
    assert engine.outgoing() == []
    replied = next(each for each in guard.heard if isinstance(each, Replied))
    ended = next(each for each in guard.heard if isinstance(each, FetchEnded))
    assert isinstance(replied.outcome, NotSent)
    assert (ended.unsent, ended.reason) == (True, "The link is down.")


def test_an_engine_of_its_own_may_leave_fetch_to_other_code() -> None:
    with pytest.raises(InvalidArgument, match="fetch must be 'ours', 'other' or None, not 'mine'"):
        SupervisorEngine(fetch="mine")  # type: ignore[arg-type]


def test_an_engine_needs_the_time_for_a_request_that_is_held() -> None:
    fake = FakeBrowser()
    end = fake.connect()
    guard = Guard()
    engine = SupervisorEngine(extensions=[guard], keepalive=None)
    engine.link_up(0.0)
    drive(engine, end)
    [page] = engine.snapshot().pages
    assert engine.next_deadline() is None
    navigate = {"id": 9_000, "method": "Page.navigate", "params": {"url": SHOP}, "sessionId": page.session_id}
    end.receive(json.dumps(navigate).encode())
    drive(engine, end)
    deadline = engine.next_deadline()
    assert deadline is not None
    assert (deadline.at, deadline.why) == (10.0, "a request must not stay paused")
    engine.time_passed(deadline.at)
    drive(engine, end, 10.0)
    assert fake.truth().paused_requests == ()
    assert guard.kinds() == [FetchPaused, FetchExpired]
    assert any("left a request paused" in note.text for note in engine.notes())
