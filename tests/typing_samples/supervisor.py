"""The types that the checkers must infer for the supervisor; never run.

One line per overload. A line that must be an error carries `# type: ignore[code]`: both checkers report it if the
error, and with it the comment, is not needed any more.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdp_core import Address, BrowserSession, Json, Missed, PageSession, Subscription, Transport
from cdp_core.bindings import page, runtime
from cdp_supervisor import (
    Change,
    DialogOpened,
    DialogView,
    Evaluate,
    FrameView,
    Health,
    Instant,
    Note,
    PageGone,
    PageView,
    Policy,
    Scope,
    Send,
    Snapshot,
    StopReport,
    Supervisor,
    SupervisorEngine,
    TypedCall,
    open_supervisor,
    replay,
)
from cdp_supervisor.sansio.inputs import ExtensionInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import assert_type  # noqa: TC004 - this module is never run


async def opening(browser: BrowserSession, transport: Transport) -> None:
    async def dial() -> Address | Transport:
        return transport

    _manager: AbstractAsyncContextManager[Supervisor] = open_supervisor("ws://127.0.0.1:9222/devtools/browser/x")
    async with open_supervisor(dial, policy=Policy.unattended(), scope=Scope.targets("T")) as supervisor:
        assert_type(supervisor, Supervisor)
        assert_type(supervisor.stop_report, StopReport | None)
    async with open_supervisor(browser, trace=Path("t.jsonl"), keepalive=None) as borrowed:
        assert_type(borrowed.browser, BrowserSession)

    open_supervisor(42)  # type: ignore[arg-type]
    open_supervisor("ws://127.0.0.1:1", policy="auto_accept")  # type: ignore[arg-type]
    Policy("never")  # type: ignore[arg-type]
    Policy({"confirm": "auto_accept", "alarm": "auto_accept"})  # type: ignore[dict-item]


async def calling(supervisor: Supervisor) -> None:
    assert_type(await supervisor.call(page.navigate(url="about:blank")), page.NavigateResult)
    assert_type(await supervisor.call(page.enable(), target_id="T"), None)
    assert_type(await supervisor.call(runtime.evaluate(expression="1"), frame_id="F"), runtime.EvaluateResult)
    assert_type(await supervisor.call("Page.navigate", {"url": "about:blank"}), Json)
    assert_type(await supervisor.call("Page.enable", session_id="S", timeout=None, when_blocked="wait"), Json)
    assert_type(await supervisor.evaluate("1"), Any)

    await supervisor.call(page.enable(), {"url": "about:blank"})  # type: ignore[call-overload]
    await supervisor.call(method="Page.enable")  # type: ignore[call-overload]
    await supervisor.call("Page.enable", when_blocked="perhaps")  # type: ignore[call-overload]
    await supervisor.call(42)  # type: ignore[call-overload]


async def listening(supervisor: Supervisor) -> None:
    assert_type(supervisor.changes(), Subscription[Change | Missed])
    assert_type(supervisor.changes(capacity=1), Subscription[Change | Missed])
    assert_type(supervisor.changes(DialogOpened), Subscription[DialogOpened | Missed])
    with supervisor.changes(PageGone) as gone:
        async for change in gone:
            _reason = change.reason  # type: ignore[union-attr]
            if not isinstance(change, Missed):
                assert_type(change.reason, str)

    supervisor.changes(DialogView)  # type: ignore[type-var]
    supervisor.changes(DialogOpened, 5)  # type: ignore[call-overload]


async def looking(supervisor: Supervisor) -> None:
    found = await supervisor.wait_for(lambda snapshot: snapshot.active)
    assert_type(found, Snapshot)
    assert_type(found.page("T"), PageView | None)
    assert_type(found.pending_dialogs, tuple[DialogView, ...])
    assert_type(found.pages[0].tree, FrameView | None)
    assert_type(found.to_dict(full=True), Json)
    assert_type(supervisor.health(), Health)
    assert_type(supervisor.session(frame_id="F"), PageSession)
    assert_type(await supervisor.respond_to_dialog("accept", prompt_text="x"), DialogView)
    assert_type(await supervisor.recover("T", "same_document"), None)

    await supervisor.respond_to_dialog("ignore")  # type: ignore[arg-type]
    await supervisor.recover("T", "wait")  # type: ignore[arg-type]
    await supervisor.wait_for(lambda snapshot: snapshot.nothing)  # type: ignore[attr-defined]
    found.pages = ()  # type: ignore[misc]


class Counting:
    """An extension of the embedder."""

    name = "counting"
    events = frozenset({"Page.loadEventFired"})

    def initial(self) -> int:
        return 0

    def step(self, state: int, _input: ExtensionInput, /) -> tuple[int, tuple[Send | Note, ...]]:
        return state + 1, ()

    def next_deadline(self, _state: int, /) -> float | None:
        return None

    def view(self, state: int, /) -> Json:
        return {"count": state}


def replaying() -> None:
    snapshots: Iterator[Snapshot] = replay("t.jsonl", until=2.5, extensions=[Counting()])
    assert_type(next(snapshots), Snapshot)
    engine = SupervisorEngine(sessions="adopt", extensions=[Counting()])
    assert_type(engine.outgoing(), list[str])
    assert_type(engine.receive("{}", 0.0), bool)
    assert_type(engine.receive(b"{}", Instant(mono=0.0)), bool)
    assert_type(engine.request(TypedCall(command=page.navigate(url="about:blank")), 0.0), int)
    assert_type(engine.request(Evaluate(expression="1", frame_id="F"), 0.0), int)

    engine.receive({"id": 1}, 0.0)  # type: ignore[arg-type]
    engine.request(page.enable(), 0.0)  # type: ignore[arg-type]
    TypedCall(command="Page.enable")  # type: ignore[arg-type]
    Evaluate(expression=1)  # type: ignore[arg-type]
    SupervisorEngine(sessions="borrow")  # type: ignore[arg-type]
    SupervisorEngine(extensions=[object()])  # type: ignore[list-item]
