"""`browser.targets`: list, await, attach once, and auto-attach before a target's first instruction.

The scripted browser answers `Target.*` as Chromium does (facts 38-52): the events of a command precede its reply, the
start of discovery announces the existing targets, a detached parent session ends its children without events.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from cdp_core import (
    BrowserContextId,
    BrowserSession,
    CdpWarning,
    CommandRefused,
    ConnectionLost,
    InvalidArgument,
    Json,
    PageSession,
    RemoteProtocolError,
    Result,
    SessionGone,
    SessionId,
    TargetChanged,
    TargetCreated,
    TargetDestroyed,
    TargetGone,
    TargetId,
)

RESUME, RECURSION = "Runtime.runIfWaitingForDebugger", "Target.setAutoAttach"


class ArmError(Exception):
    """Raised by an `arm` or a `where`."""


class Targets:
    """Chromium's side of the `Target` domain; methods in `mute` get no reply until `unmute`."""

    def __init__(self, peer: Any, *targets: str) -> None:
        self.peer = peer
        self.targets: dict[str, Json] = {}
        self.sessions: dict[str, str] = {}
        self.mute: set[str] = set()
        self.muted: list[tuple[Json, Json | None]] = []
        self._numbers = itertools.count(1)
        for name in (
            *("setDiscoverTargets", "createTarget", "closeTarget", "attachToTarget", "detachFromTarget"),
            *("setAutoAttach", "createBrowserContext", "disposeBrowserContext"),
        ):
            peer.rules[f"Target.{name}"] = getattr(self, f"_{name}")
        for target in targets:
            self.appear(target)

    def appear(self, target: str, kind: str = "page", **info: str) -> None:
        self.targets[target] = {"targetId": target, "type": kind, "title": "", "url": "u:" + target, **info}
        if self.peer.of("Target.setDiscoverTargets"):
            self.peer.event("Target.targetCreated", {"targetInfo": self.targets[target]})

    def vanish(self, target: str) -> None:
        del self.targets[target]
        for session in [session for session, of in self.sessions.items() if of == target]:
            self.end(session)
        self.peer.event("Target.targetDestroyed", {"targetId": target})

    def attach(self, target: str, *, waiting: bool = False, parent: str | None = None) -> str:
        session = f"S{next(self._numbers)}"
        self.sessions[session] = target
        info = self.targets[target]
        self.peer.attached(session, target, info["type"], parent, waiting=waiting)
        return session

    def end(self, session: str, parent: str | None = None) -> None:
        if self.sessions.pop(session, None) is not None:
            self.peer.detached(session, parent)

    def unmute(self) -> None:
        muted, self.muted = self.muted, []
        for command, result in muted:
            self.peer.reply(command, result)

    def answer(self, command: Json, result: Json | None = None) -> None:
        if command["method"] in self.mute:
            self.muted.append((command, result))
        else:
            self.peer.reply(command, result)

    def _setDiscoverTargets(self, command: Json) -> None:  # noqa: N802 - CDP's names
        for info in self.targets.values():
            self.peer.event("Target.targetCreated", {"targetInfo": info})
        self.answer(command)

    def _createTarget(self, command: Json) -> None:  # noqa: N802
        target = f"new-{len(self.targets)}"
        self.appear(target, url=command["params"]["url"])
        self.answer(command, {"targetId": target})

    def _closeTarget(self, command: Json) -> None:  # noqa: N802
        if self._known(command):
            self.answer(command, {"success": True})
            self.vanish(command["params"]["targetId"])

    def _attachToTarget(self, command: Json) -> None:  # noqa: N802
        assert command["params"]["flatten"] is True
        if self._known(command):
            self.answer(command, {"sessionId": self.attach(command["params"]["targetId"])})

    def _detachFromTarget(self, command: Json) -> None:  # noqa: N802
        if command["method"] in self.mute:
            self.muted.append((command, None))
            return
        self.end(command["params"]["sessionId"], command.get("sessionId"))
        self.answer(command)

    def _setAutoAttach(self, command: Json) -> None:  # noqa: N802
        if "sessionId" not in command and command["params"]["autoAttach"]:
            for target in self.targets:
                self.attach(target)
        self.answer(command)

    def _createBrowserContext(self, command: Json) -> None:  # noqa: N802
        self.answer(command, {"browserContextId": "C1"})

    def _disposeBrowserContext(self, command: Json) -> None:  # noqa: N802
        self.answer(command)

    def _known(self, command: Json) -> bool:
        known = command["params"]["targetId"] in self.targets
        if not known:
            self.peer.refuse(command, -32602, "No target with given id found")
        return known


def ids(targets: Any) -> list[str]:
    return [target.target_id for target in targets]


# ── listing and discovery ────────────────────────────────────────────────────────────────────────────────────────────


async def test_list_starts_discovery_once(peer: Any) -> None:
    chromium = Targets(peer, "T1", "T2")
    chromium.appear("W1", "worker")
    async with peer.open() as browser:
        assert not peer.commands  # no command is sent before the first use
        assert ids(await browser.targets.list()) == ["T1", "T2"]
        assert ids(await browser.targets.list(type="worker")) == ["W1"]
        chromium.vanish("T1")
        chromium.appear("T3")
        await wait_all_tasks_blocked()
        assert ids(await browser.targets.list(type=None)) == ["T2", "W1", "T3"]
        assert peer.methods() == ["Target.setDiscoverTargets"]
        assert {"type": "browser_ui", "exclude": True} in peer.commands[0]["params"]["filter"]  # fact 46
        statistics = browser.targets.statistics()
        assert (statistics.discovering, statistics.targets) == (True, 3)
    with pytest.raises(ConnectionLost):
        await browser.targets.list()


async def test_a_refused_discovery_raises(peer: Any) -> None:
    peer.rules["Target.setDiscoverTargets"] = peer.refuse
    async with peer.open() as browser:
        for _ in range(2):
            with pytest.raises(CommandRefused):
                await browser.targets.list()


@pytest.mark.parametrize("gone", [False, True])
async def test_every_waiter_for_a_target_gets_the_refusal_of_discovery(peer: Any, gone: bool) -> None:
    """Each waiter gets an error of its own; the next use sends the command again, and it may succeed."""
    targets = Targets(peer, "T1")
    works = peer.rules["Target.setDiscoverTargets"]
    peer.rules["Target.setDiscoverTargets"] = lambda _command: None
    async with peer.open() as browser:
        subscription = browser.targets.subscribe(capacity=1)
        expectation = browser.targets.expect_new()
        errors: list[BaseException] = []

        async def fails(wait: Any) -> None:
            with pytest.raises((CommandRefused, ConnectionLost)) as caught:
                await wait()
            errors.append(caught.value)

        async with trio.open_nursery() as nursery:
            waits = (browser.targets.wait_new, browser.targets.list, subscription.receive, expectation.wait)
            for wait in waits:
                nursery.start_soon(fails, wait)
            await wait_all_tasks_blocked()
            assert len(peer.of("Target.setDiscoverTargets")) == 1
            if gone:
                await peer.hang_up()
            else:
                peer.refuse(peer.commands[0], -32000, "Not allowed")
        assert {type(error) for error in errors} == {ConnectionLost if gone else CommandRefused}
        assert len({id(error) for error in errors}) == len(errors)
        assert not browser.targets.statistics().discovering
        if gone:
            return
        assert all(isinstance(error, CommandRefused) and error.method.endswith("DiscoverTargets") for error in errors)
        peer.rules["Target.setDiscoverTargets"] = works
        with browser.targets.expect_new() as again:
            assert ids(await browser.targets.list()) == ["T1"]
            targets.appear("T2")
            assert (await again.wait()).target_id == "T2"


async def test_invalid_arguments_send_nothing(peer: Any) -> None:
    async with peer.open() as browser:
        for subscribe in (browser.targets.subscribe, browser.targets.subscribe_latest):
            with pytest.raises(InvalidArgument):
                subscribe(0)
        for options in ({"types": "page", "capacity": 1}, {"arm": 5, "capacity": 1}, {"capacity": "1"}):
            with pytest.raises(InvalidArgument):
                async with browser.targets.auto_attach(**options):
                    pytest.fail("the block was entered")
        await wait_all_tasks_blocked()
    assert not peer.commands


async def test_targets_that_exist_are_not_announced_as_new(peer: Any) -> None:
    chromium = Targets(peer, "T1")
    async with peer.open() as browser:
        subscription = browser.targets.subscribe(capacity=9)
        expectation = browser.targets.expect_new()
        chromium.appear("T2")
        assert (await expectation.wait()).target_id == "T2"
        peer.event("Target.targetInfoChanged", {"targetInfo": chromium.targets["T1"] | {"title": "t"}})
        chromium.vanish("T2")
        changes = [await subscription.receive() for _ in range(3)]
        assert [type(change) for change in changes] == [TargetCreated, TargetChanged, TargetDestroyed]
        assert ids(change.target for change in changes) == ["T2", "T1", "T2"]
        subscription.close()
        chromium.appear("T3")
        await wait_all_tasks_blocked()
        with pytest.raises(trio.ClosedResourceError):
            subscription.receive_nowait()


async def test_expect_new_is_armed_before_the_act(peer: Any) -> None:
    Targets(peer, "T1")
    async with peer.open() as browser:
        with browser.targets.expect_new(lambda target: target.url == "u:mine") as expectation:
            await browser.send("Target.createTarget", {"url": "u:other"})
            await browser.send("Target.createTarget", {"url": "u:mine"})
        assert (await expectation.wait()).url == "u:mine"


async def test_a_where_that_raises_ends_only_its_expect_new(peer: Any) -> None:
    def pick(_target: object) -> bool:
        raise ArmError

    chromium = Targets(peer)
    async with peer.open() as browser:
        expectation, other = browser.targets.expect_new(pick), browser.targets.expect_new()
        chromium.appear("T1")
        with pytest.raises(ArmError):
            await expectation.wait()
        assert (await other.wait()).target_id == "T1"


async def test_wait_new_returns_the_first_matching_target(peer: Any) -> None:
    chromium = Targets(peer, "T1")
    found: list[str] = []
    async with peer.open() as browser, trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _() -> None:
            found.append((await browser.targets.wait_new(lambda target: target.type == "worker")).target_id)

        await wait_all_tasks_blocked()
        chromium.appear("T2")
        chromium.appear("W1", "worker")
    assert found == ["W1"]


# ── attaching ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_attach_is_shared_and_counted(peer: Any) -> None:
    chromium = Targets(peer, "T1")
    async with peer.open() as browser:
        one = await browser.targets.attach("T1")
        assert await browser.targets.attach("T1") is one
        await one.detach()
        assert one.open
        await one.detach()
        assert not one.open
        assert peer.methods() == ["Target.attachToTarget", "Target.detachFromTarget"]
        two = await browser.targets.attach("T1")
        assert two is not one
        assert list(chromium.sessions) == [two.session_id]


async def test_concurrent_attaches_share_one_session(peer: Any) -> None:
    chromium = Targets(peer, "T1")
    chromium.mute.add("Target.attachToTarget")
    sessions: list[PageSession] = []
    async with peer.open() as browser:

        async def attach() -> None:
            sessions.append(await browser.targets.attach("T1"))

        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(attach)
            await wait_all_tasks_blocked()
            chromium.unmute()
        assert len(peer.commands) == 1
        assert len({id(session) for session in sessions}) == 1
        assert sessions[0].holders == 5
        assert not browser.targets._locks


async def test_a_fresh_session_is_not_shared(peer: Any) -> None:
    Targets(peer, "T1")
    async with peer.open() as browser:
        shared = await browser.targets.attach("T1")
        fresh = await browser.targets.attach("T1", fresh=True)
        assert fresh is not shared
        assert await browser.targets.attach("T1") is shared
        await fresh.detach()
        assert (fresh.open, shared.open) == (False, True)


async def test_attach_does_not_reuse_a_fresh_session(peer: Any) -> None:
    Targets(peer, "T1")
    async with peer.open() as browser:
        fresh = await browser.targets.attach("T1", fresh=True)
        assert await browser.targets.attach("T1") is not fresh


async def test_attach_does_not_reuse_a_session_that_is_being_detached(peer: Any) -> None:
    chromium = Targets(peer, "T1")
    async with peer.open() as browser, trio.open_nursery() as nursery:
        one = await browser.targets.attach("T1")
        chromium.mute.add("Target.detachFromTarget")
        nursery.start_soon(one.detach)
        await peer.wait_for_command("Target.detachFromTarget")
        two = await browser.targets.attach("T1")
        chromium.end(one.session_id)
        chromium.unmute()
        await wait_all_tasks_blocked()
        assert (one.open, two.open) == (False, True)


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("announced", [True, False])
async def test_a_cancelled_attach_leaves_no_session(peer: Any, announced: bool, fresh: bool) -> None:
    chromium = Targets(peer, "T1")
    chromium.mute.add("Target.attachToTarget")
    if not announced:
        peer.rules["Target.attachToTarget"] = lambda _command: None
    async with peer.open() as browser:
        with trio.move_on_after(0.01) as scope:
            await browser.targets.attach("T1", fresh=fresh)
        assert scope.cancelled_caught
        if not announced:
            peer.reply(peer.of("Target.attachToTarget")[0], {"sessionId": chromium.attach("T1")})
        chromium.unmute()
        await wait_all_tasks_blocked()
        assert not chromium.sessions
        assert not browser.sessions
        assert browser.statistics().router.in_flight == 0
        assert not browser.targets._locks
        assert not browser.targets._attaching._under_way


async def test_a_cancelled_attach_leaves_a_concurrent_one_its_session(peer: Any) -> None:
    """The remaining attach gets an open session."""
    chromium = Targets(peer, "T1")
    chromium.mute.add("Target.attachToTarget")
    scope, sessions = trio.CancelScope(), []
    async with peer.open() as browser:
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def _() -> None:
                with scope:
                    await browser.targets.attach("T1")

            await wait_all_tasks_blocked()

            @nursery.start_soon
            async def _() -> None:
                sessions.append(await browser.targets.attach("T1"))

            await wait_all_tasks_blocked()
            scope.cancel()
            await wait_all_tasks_blocked()
            chromium.unmute()
        await wait_all_tasks_blocked()
        assert sessions[0].open
        assert list(chromium.sessions) == [sessions[0].session_id]


async def test_an_unknown_target_raises_target_gone(peer: Any) -> None:
    Targets(peer, "T1")
    async with peer.open() as browser:
        for call in (browser.targets.attach, browser.targets.close):
            with pytest.raises(TargetGone) as caught:
                await call("NOWHERE-AT-ALL")
            assert caught.value.target_id == "NOWHERE-AT-ALL"
            assert isinstance(caught.value.__cause__, CommandRefused)
        assert not browser.targets._locks


async def test_other_refusals_raise_command_refused(peer: Any) -> None:
    Targets(peer, "T1")
    peer.rules["Target.attachToTarget"] = peer.rules["Target.closeTarget"] = lambda command: peer.refuse(
        command, -32000, "Not allowed"
    )
    async with peer.open() as browser:
        for call in (browser.targets.attach, browser.targets.close):
            with pytest.raises(CommandRefused):
                await call("T1")


async def test_a_session_that_ends_before_attach_returns_raises_session_gone(peer: Any) -> None:
    chromium = Targets(peer, "T1")

    def attach_and_crash(command: Json) -> None:
        session = chromium.attach("T1")
        chromium.end(session)
        peer.reply(command, {"sessionId": session})

    peer.rules["Target.attachToTarget"] = attach_and_crash
    async with peer.open() as browser:
        for fresh in (False, True):
            with pytest.raises(SessionGone):
                await browser.targets.attach("T1", fresh=fresh)


@pytest.mark.parametrize("result", [{}, {"sessionId": 7, "targetId": 7, "browserContextId": 7}])
async def test_a_reply_without_the_expected_id_raises(peer: Any, result: Json) -> None:
    Targets(peer, "T1")
    for method in ("attachToTarget", "createTarget", "createBrowserContext"):
        peer.rules[f"Target.{method}"] = lambda command: peer.reply(command, result)
    async with peer.open() as browser:
        for call in (lambda: browser.targets.attach("T1"), lambda: browser.targets.create("about:blank")):
            with pytest.raises(RemoteProtocolError):
                await call()
        with pytest.raises(RemoteProtocolError):
            async with browser.targets.open_context():
                pass


def history(*urls: str) -> Json:
    return {"currentIndex": len(urls) - 1, "entries": [{"url": url} for url in urls]}


async def test_create_returns_when_about_blank_has_loaded(peer: Any, autojump_clock: MockClock) -> None:
    """Fact 65: until then a navigation can be lost."""
    Targets(peer)
    answers = iter([{}, history(""), history("", ""), history("", "about:blank")])

    def answer(command: Json) -> None:
        found = next(answers)
        if found:
            peer.reply(command, found)
        else:
            peer.refuse(command, -32000, "Not attached to an active page")

    peer.rules["Page.getNavigationHistory"] = answer
    async with peer.open() as browser:
        page = await browser.targets.create("about:blank")
        assert page.open
        assert not list(answers)


@pytest.mark.parametrize(
    "result", [{}, {"entries": [], "currentIndex": 0}, {"entries": [7], "currentIndex": 0}, history("u:1")]
)
async def test_create_does_not_wait_for_a_browser_that_cannot_tell(peer: Any, result: Json) -> None:
    Targets(peer)
    peer.rules["Page.getNavigationHistory"] = lambda command: peer.reply(command, result)
    async with peer.open() as browser:
        await browser.targets.create("about:blank")
        peer.rules["Page.getNavigationHistory"] = lambda command: peer.refuse(command, -32601, "not found")
        await browser.targets.create("")
        assert len(peer.of("Page.getNavigationHistory")) == 2


async def test_create_waits_five_seconds_for_about_blank_and_warns(peer: Any, autojump_clock: MockClock) -> None:
    Targets(peer)
    peer.rules["Page.getNavigationHistory"] = lambda command: peer.reply(command, history(""))
    async with peer.open() as browser:
        begun = trio.current_time()
        with pytest.warns(CdpWarning, match=r"page new-0 has not loaded about:blank after 5 s") as shown:
            await browser.targets.create("about:blank")
        assert shown[0].filename == __file__
        assert trio.current_time() == pytest.approx(begun + 5.0)


async def test_create_with_an_address_waits_for_the_attach_only(peer: Any) -> None:
    Targets(peer)
    async with peer.open() as browser:
        await browser.targets.create("https://shop.example/", new_window=True)
        assert peer.of("Target.createTarget")[0]["params"] == {
            "url": "https://shop.example/",
            "background": True,
            "newWindow": True,
        }
        assert not peer.of("Page.getNavigationHistory")


@pytest.mark.parametrize("mute", ["Target.createTarget", "Target.attachToTarget", "Page.getNavigationHistory"])
async def test_a_page_whose_creation_is_cancelled_is_closed(peer: Any, mute: str) -> None:
    chromium = Targets(peer)
    chromium.mute.add(mute)
    peer.rules.setdefault("Page.getNavigationHistory", lambda _command: None)
    async with peer.open() as browser:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:

                @nursery.start_soon
                async def create() -> None:
                    await browser.targets.create("about:blank")

                await peer.wait_for_command(mute)
                await wait_all_tasks_blocked()
                scope.cancel()
        chromium.unmute()
        await peer.wait_for_command("Target.closeTarget")
        assert peer.of("Target.closeTarget")[0]["params"] == {"targetId": "new-0"}


async def test_a_page_whose_attach_fails_is_closed(peer: Any) -> None:
    Targets(peer)
    peer.rules["Target.attachToTarget"] = lambda command: peer.refuse(command, -32000, "not now")
    async with peer.open() as browser:
        with pytest.raises(CommandRefused, match="not now"):
            await browser.targets.create("about:blank")
        await peer.wait_for_command("Target.closeTarget")


async def test_create_refuses_what_is_no_address(peer: Any) -> None:
    async with peer.open() as browser:
        with pytest.raises(InvalidArgument, match=r"url must be a string such as 'about:blank', not a bytes"):
            await browser.targets.create(b"about:blank")  # type: ignore[arg-type]
        assert not peer.commands


async def test_create_attaches_to_the_page_and_close_ends_its_session(peer: Any) -> None:
    chromium = Targets(peer)
    peer.rules["Page.getNavigationHistory"] = peer.reply
    async with peer.open() as browser:
        page = await browser.targets.create("about:blank")
        assert page.target_id in chromium.targets
        await browser.targets.create("about:blank", background=False, context=BrowserContextId("C1"))
        assert [command["params"] for command in peer.of("Target.createTarget")] == [
            {"url": "about:blank", "background": True},
            {"url": "about:blank", "background": False, "browserContextId": "C1"},
        ]
        await browser.targets.close(page.target_id)
        await wait_all_tasks_blocked()
        assert not page.open


# ── contexts ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("end", ["normal", "exception", "cancel", "refused", "link"])
async def test_a_context_is_disposed_however_its_block_ends(peer: Any, end: str) -> None:
    Targets(peer)
    if end == "refused":
        peer.rules["Target.disposeBrowserContext"] = peer.refuse
    async with peer.open() as browser:
        with trio.CancelScope() as scope:
            try:
                async with browser.targets.open_context(proxy_server="p:1") as context:
                    assert context == "C1"
                    if end == "exception":
                        raise KeyError
                    if end == "cancel":
                        scope.cancel()
                        await trio.sleep_forever()
                    if end == "link":
                        await peer.hang_up()
                        await browser.wait_closed()
            except KeyError:
                assert end == "exception"
        disposed = [command["params"] for command in peer.of("Target.disposeBrowserContext")]
        assert disposed == ([] if end == "link" else [{"browserContextId": "C1"}])
    assert peer.commands[0]["params"] == {"disposeOnDetach": True, "proxyServer": "p:1"}


async def test_the_disposal_of_a_context_is_awaited_for_two_seconds_at_most(
    peer: Any, autojump_clock: MockClock
) -> None:
    chromium = Targets(peer)
    chromium.mute.add("Target.disposeBrowserContext")
    async with peer.open() as browser:
        async with browser.targets.open_context():
            start = trio.current_time()
        assert trio.current_time() - start == pytest.approx(2.0)
        assert browser.statistics().router.in_flight == 0


# ── auto-attach ──────────────────────────────────────────────────────────────────────────────────────────────────────


def writes_to(peer: Any, session: str) -> list[list[str]]:
    """Return the writes that hold commands for a session, each as the list of their methods."""
    writes = ([each["method"] for each in write if each.get("sessionId") == session] for write in peer.writes)
    return [write for write in writes if write]


async def received(subscription: Any, count: int) -> list[Any]:
    with trio.fail_after(5):
        return [(await subscription.receive()).target_id for _ in range(count)]


async def test_arm_recursion_and_resume_go_out_in_one_write_without_waiting(peer: Any) -> None:
    """The peer answers only the root session: a dialog may leave all other commands unanswered (fact 15)."""
    chromium = Targets(peer)

    class Typed:
        method = "Page.setLifecycleEventsEnabled"

        def to_params(self) -> Json:
            return {"enabled": True}

        def parse(self, result: Result, /) -> None:
            raise AssertionError

    def arm(session: PageSession) -> list[Any]:
        assert session.waiting_for_debugger
        return ["Page.enable", ("Network.enable", {"n": 1}), Typed()]

    async with peer.open() as browser, browser.targets.auto_attach(arm=arm, capacity=9) as pages:
        chromium.mute |= {RECURSION}
        chromium.appear("T1")
        session = chromium.attach("T1", waiting=True)
        page = await pages.receive()
        assert page.session_id == session
        await peer.wait_for_command(RESUME)
        methods = ["Page.enable", "Network.enable", Typed.method, RECURSION, RESUME]
        assert writes_to(peer, session) == [methods]
        assert not page.waiting_for_debugger
        recursion = peer.of(RECURSION)[1]["params"]
        assert recursion == peer.of(RECURSION)[0]["params"]
        assert {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}.items() <= recursion.items()


async def test_a_target_announced_as_running_is_resumed_too(peer: Any) -> None:
    """Otherwise a popup that was announced as running blocks its opener (fact 7)."""
    chromium = Targets(peer)
    async with peer.open() as browser, browser.targets.auto_attach(capacity=9):
        chromium.appear("T1")
        session = chromium.attach("T1", waiting=False)
        await peer.wait_for_command(RESUME)
        assert writes_to(peer, session) == [[RECURSION, RESUME]]


async def test_existing_and_nested_targets_are_delivered(peer: Any) -> None:
    chromium = Targets(peer, "T1")
    async with peer.open() as browser, browser.targets.auto_attach(capacity=9) as pages:
        assert await received(pages, 1) == ["T1"]
        chromium.appear("F1", "iframe")
        chromium.appear("F2", "iframe")
        outer = chromium.attach("F1", waiting=True, parent="S1")
        inner = chromium.attach("F2", waiting=True, parent=outer)
        assert await received(pages, 2) == ["F1", "F2"]
        await peer.wait_for_command(RESUME, 3)
        assert writes_to(peer, inner) == [[RECURSION, RESUME]]


async def test_targets_of_other_types_are_resumed_without_arming(peer: Any) -> None:
    chromium = Targets(peer)
    armed: list[str] = []

    def arm(session: PageSession) -> list[str]:
        armed.append(session.target_type)
        return ["Page.enable"]

    async with peer.open() as browser, browser.targets.auto_attach(types=["page"], arm=arm, capacity=9) as pages:
        chromium.appear("W1", "worker")
        chromium.appear("T1")
        worker, page = chromium.attach("W1", waiting=True), chromium.attach("T1", waiting=True)
        assert await received(pages, 1) == ["T1"]
        await peer.wait_for_command(RESUME, 2)
        assert writes_to(peer, worker) == [[RECURSION, RESUME]]
        assert writes_to(peer, page) == [["Page.enable", RECURSION, RESUME]]
        assert armed == ["page"]


async def test_an_arm_that_raises_ends_only_its_own_holder(peer: Any) -> None:
    chromium = Targets(peer)

    def arm(_session: PageSession) -> Any:
        yield "Page.enable"
        raise ArmError

    async with (
        peer.open() as browser,
        browser.targets.auto_attach(arm=arm, capacity=9) as mine,
        browser.targets.auto_attach(arm=lambda _session: ["Network.enable"], capacity=9) as other,
    ):
        chromium.appear("T1")
        session = chromium.attach("T1", waiting=True)
        with pytest.raises(ArmError):
            await mine.receive()
        assert await received(other, 1) == ["T1"]
        await peer.wait_for_command(RESUME)
        assert writes_to(peer, session) == [["Page.enable", "Network.enable", RECURSION, RESUME]]
        assert browser.statistics().closed is None


async def test_a_second_holder_gets_existing_and_later_targets(peer: Any) -> None:
    chromium = Targets(peer, "T1")
    async with peer.open() as browser:
        async with browser.targets.auto_attach(capacity=9) as one:
            assert await received(one, 1) == ["T1"]
            async with browser.targets.auto_attach(arm=lambda _session: ["Page.enable"], capacity=9) as two:
                assert browser.targets.statistics().auto_attach_holders == 2
                assert await received(two, 1) == ["T1"]
                chromium.appear("T2")
                chromium.attach("T2")
                assert await received(one, 1) == await received(two, 1) == ["T2"]
                await peer.wait_for_command("Page.enable", 2)
            assert not [each for each in peer.of(RECURSION) if not each["params"]["autoAttach"]]
            with pytest.raises(trio.ClosedResourceError):
                await two.receive()
            chromium.appear("T3")
            chromium.attach("T3")
            assert await received(one, 1) == ["T3"]
        await wait_all_tasks_blocked()
        (end,) = (each for each in peer.of(RECURSION) if not each["params"]["autoAttach"])
        assert "sessionId" not in end
        assert browser.targets.statistics().auto_attach_holders == 0


async def test_auto_attach_keeps_one_session_per_target(peer: Any) -> None:
    """On a target that is attached already, the browser opens a second session.

    The second session is resumed and ended, and the first one is armed.
    """
    chromium = Targets(peer, "T1")
    async with peer.open() as browser:
        mine = await browser.targets.attach("T1")
        async with browser.targets.auto_attach(arm=lambda _session: ["Page.enable"], capacity=9) as pages:
            assert await pages.receive() is mine
            await peer.wait_for_command("Target.detachFromTarget")
            await wait_all_tasks_blocked()
            assert list(chromium.sessions) == list(browser.sessions) == [mine.session_id]
            assert writes_to(peer, "S2") == [[RESUME]]
            assert writes_to(peer, mine.session_id) == [["Page.enable", RECURSION, RESUME]]
            assert browser.targets.statistics().duplicates_ended == 1
        await wait_all_tasks_blocked()
        assert mine.open  # it was attached explicitly, and belongs to its holder
        assert peer.of(RECURSION)[-1]["sessionId"] == mine.session_id
        assert not peer.of(RECURSION)[-1]["params"]["autoAttach"]
        await mine.detach()
        assert not mine.open


async def test_a_nested_duplicate_is_ended_through_its_parent(peer: Any) -> None:
    chromium = Targets(peer, "T1")
    async with peer.open() as browser, browser.targets.auto_attach(capacity=9):
        chromium.appear("SW", "service_worker")
        chromium.attach("SW")
        nested = chromium.attach("SW", parent="S1")  # service workers are announced twice (fact 48)
        command = await peer.wait_for_command("Target.detachFromTarget")
        assert (command["params"], command["sessionId"]) == ({"sessionId": nested}, "S1")


async def test_attach_within_auto_attach_reuses_its_session(peer: Any) -> None:
    chromium = Targets(peer, "T1")
    async with peer.open() as browser, browser.targets.auto_attach(capacity=9) as pages:
        page = await pages.receive()
        assert await browser.targets.attach("T1") is page
        await page.detach()
        assert page.open  # sessions of auto-attach belong to the bridge
        fresh = await browser.targets.attach("T1", fresh=True)
        assert browser.targets.statistics().duplicates_ended == 0
        assert fresh.open
        chromium.targets["T2"] = {"targetId": "T2", "type": "page"}  # attached explicitly, not by auto-attach
        own = await browser.targets.attach("T2")
        assert await pages.receive() is own
        await own.detach()
        assert not own.open


async def test_a_refused_auto_attach_raises(peer: Any) -> None:
    Targets(peer)
    peer.rules[RECURSION] = peer.refuse
    async with peer.open() as browser:
        with pytest.raises(CommandRefused):
            async with browser.targets.auto_attach(capacity=9):
                pass
        assert browser.targets.statistics().auto_attach_holders == 0


async def test_every_holder_gets_the_refusal_of_auto_attach(peer: Any) -> None:
    """This includes holders that came while the command was in flight; the next one sends it again."""
    Targets(peer, "T1")
    works = peer.rules["Target.setAutoAttach"]
    peer.rules["Target.setAutoAttach"] = lambda _command: None
    async with peer.open() as browser:
        errors: list[BaseException] = []

        async def fails() -> None:
            with pytest.raises(CommandRefused) as caught:
                async with browser.targets.auto_attach(capacity=1):
                    pytest.fail("the block was entered")
            errors.append(caught.value)

        release = browser.targets.hold_auto_attach()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fails)
            nursery.start_soon(fails)
            await wait_all_tasks_blocked()
            peer.refuse(peer.commands[0], -32000, "Not allowed")
        assert len(errors) == 2
        assert browser.targets.statistics().auto_attach_holders == 0
        release()
        await wait_all_tasks_blocked()
        assert peer.methods() == ["Target.setAutoAttach"]  # auto-attach is off, so it is not disabled
        peer.rules["Target.setAutoAttach"] = works
        async with browser.targets.auto_attach(capacity=1) as sessions:
            assert (await sessions.receive()).target_id == "T1"


async def test_a_late_refusal_does_not_reach_later_holders(peer: Any) -> None:
    """The first holder left before the refusal and disabled auto-attach; the second enabled it again."""
    Targets(peer, "T1")
    works = peer.rules["Target.setAutoAttach"]
    peer.rules["Target.setAutoAttach"] = lambda _command: None
    async with peer.open() as browser:
        browser.targets.hold_auto_attach()()
        await wait_all_tasks_blocked()
        peer.rules["Target.setAutoAttach"] = works
        async with browser.targets.auto_attach(capacity=1) as sessions:
            peer.refuse(peer.commands[0], -32000, "Not allowed")
            await wait_all_tasks_blocked()
            assert (await sessions.receive()).target_id == "T1"
            assert browser.targets.statistics().auto_attach_holders == 1


async def test_an_auto_attach_cancelled_before_its_reply_is_disabled(peer: Any) -> None:
    chromium = Targets(peer)
    chromium.mute.add(RECURSION)
    async with peer.open() as browser:
        with trio.move_on_after(0.01):
            async with browser.targets.auto_attach(capacity=9):
                pass
        await wait_all_tasks_blocked()
        assert [each["params"]["autoAttach"] for each in peer.of(RECURSION)] == [True, False]
        assert browser.targets.statistics().auto_attach_holders == 0
        chromium.unmute()
        chromium.appear("T1")
        chromium.attach("T1")
        await wait_all_tasks_blocked()
        assert not peer.of(RESUME)


async def test_auto_attach_may_be_used_again(peer: Any) -> None:
    chromium = Targets(peer, "T1")
    async with peer.open() as browser:
        for _ in range(2):
            async with browser.targets.auto_attach(capacity=9) as pages:
                assert await received(pages, 1) == ["T1"]
            for session in list(chromium.sessions):
                chromium.end(session)
            await wait_all_tasks_blocked()


async def test_the_end_of_the_link_ends_every_wait_on_the_bridge(peer: Any) -> None:
    Targets(peer)
    async with peer.open() as browser, browser.targets.auto_attach(capacity=9) as pages:
        subscription, expectation = browser.targets.subscribe(capacity=9), browser.targets.expect_new()
        await browser.targets.list()
        await peer.hang_up()
        for call in (pages.receive, subscription.receive, expectation.wait, browser.targets.list):
            with pytest.raises(ConnectionLost):
                await call()
        with pytest.raises(ConnectionLost):
            async with browser.targets.auto_attach(capacity=9):
                pass


async def test_a_full_outbox_does_not_end_the_link_or_leave_a_target_paused(peer: Any) -> None:
    """The commands of the bridge are bounded by the number of targets, and exempt from the callers' bound."""
    chromium = Targets(peer)
    async with peer.open() as browser, browser.targets.auto_attach(capacity=9) as pages:
        peer.stalled = True
        for _ in range(4):
            browser.send_nowait("A.a", {"text": "x" * (17 * 2**20)})
        chromium.appear("T1")
        chromium.attach("T1", waiting=True)
        assert await received(pages, 1) == ["T1"]
        assert browser.statistics().closed is None
        peer.flow()
        await peer.wait_for_command(RESUME)
    peer.commands.clear()


async def test_odd_announcements_do_no_harm(peer: Any) -> None:
    chromium = Targets(peer, "T1")
    async with peer.open() as browser, browser.targets.auto_attach(capacity=9) as pages:
        assert await received(pages, 1) == ["T1"]
        subscription = browser.targets.subscribe(capacity=9)
        peer.attached("S1", "T1")  # open already
        peer.event("Target.attachedToTarget", {"sessionId": "S9"})
        peer.event("Target.targetCreated", {"targetInfo": {}})
        peer.event("Target.targetCreated", {})
        peer.event("Target.targetDestroyed", {"targetId": "unknown"})
        peer.event("Target.targetDestroyed", {"targetId": []})
        await wait_all_tasks_blocked()
        with pytest.raises(trio.WouldBlock):
            subscription.receive_nowait()
        assert browser.statistics().closed is None
        assert list(browser.sessions) == ["S1"]
        chromium.appear("T2")
        assert (await subscription.receive()).target.target_id == "T2"


async def test_the_end_of_a_session_ends_its_nested_sessions(peer: Any) -> None:
    chromium = Targets(peer, "T1")
    async with peer.open() as browser, browser.targets.auto_attach(capacity=9) as pages:
        page = await pages.receive()
        chromium.appear("F1", "iframe")
        chromium.attach("F1", parent=page.session_id)
        frame = await pages.receive()
        chromium.end(page.session_id)
        await wait_all_tasks_blocked()
        assert not frame.open
        assert not browser.sessions


async def assert_attach_accepts_ids(browser: BrowserSession) -> None:
    assert await browser.targets.attach(TargetId("T1")) is browser.sessions[SessionId("S1")]


async def test_ids_may_be_plain_strings(peer: Any) -> None:
    Targets(peer, "T1")
    async with peer.open() as browser:
        await browser.targets.attach("T1")
        await assert_attach_accepts_ids(browser)
