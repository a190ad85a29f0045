"""The engine at work on the embedded fake browser, with every message shown, and no browser anywhere.

A shop's page loads with two frames, one of them in a process of its own, which the engine attaches to before its first
instruction; then its script asks something, and stops until it is answered (docs/cdp/closed-precedes-reply.md); then the
link breaks under a command, which ends and says why. The fake behaves as Chromium does, so what you see is what goes
over a real link.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cdp_core.bindings import page, runtime
from cdp_core.browser_session import open_browser_session
from cdp_core.errors import ConnectionLost
from cdp_core.subscriptions import Subscription
from cdp_core.target_session import PageSession
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.steps import AddFrame, Answer, Console, Dialog, Script
from cdp_core.testing.transport import FakeTransport

SHOP = "https://shop.example/"
CHECKOUT = "checkout()"
SCRIPT = Script(
    pages={SHOP: (AddFrame("news", "https://shop.example/news"), AddFrame("payment", "https://pay.example/form"))},
    answers={CHECKOUT: Answer("paid", (Dialog("prompt", "Your name?", "guest"), Console("thank you")))},
)
WIDTH = 150

Say = Callable[[str], None]


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - telling is what a demo is for


async def run_demo(say: Say = _print) -> None:
    """Tell the whole story, one line for each message."""
    fake = FakeBrowser(SCRIPT)
    say("An engine and a fake browser, connected in memory. → goes to the browser, ← comes from it.\n")
    async with open_browser_session(_ShownTransport(fake, say)) as browser:
        say("── watch every page and frame from its first instruction; the page that is open already is attached to")
        async with browser.targets.auto_attach(arm=lambda _session: [page.enable()], capacity=8) as sessions:
            tab = await sessions.receive()
            await _show_frames(tab, sessions, say)
            await _answer_dialog(tab, say)
            await _break_link(fake, tab, say)
            counts = browser.statistics().router
    odd = sum(counts.anomalies.values())
    say(f"\nDone: {counts.commands} commands, {counts.in_flight} without an end, {odd} messages that fit nowhere.")


async def _show_frames(tab: PageSession, sessions: Subscription[PageSession], say: Say) -> None:
    say("── load a page with two frames, one of them of another site: it comes as a session of its own")
    with tab.expect(page.LoadEventFired) as loaded:
        await tab.send(page.navigate(url=SHOP))
        await loaded.wait()
    payment = await sessions.receive()
    for session in (tab, payment):
        say(f"   the frames of the {session.target_type}:")
        _tell_frames((await session.send(page.get_frame_tree())).frame_tree, 1, say)


def _tell_frames(tree: page.FrameTree, depth: int, say: Say) -> None:
    say(f"   {'  ' * depth}frame {tree.frame.id[:8]}  {tree.frame.url}")
    for child in tree.child_frames or ():
        _tell_frames(child, depth + 1, say)


async def _answer_dialog(tab: PageSession, say: Say) -> None:
    say("── a script asks something; the page is blocked until it is answered")
    with tab.subscribe(page.JavascriptDialogOpening, page.JavascriptDialogClosed, capacity=8) as dialogs:
        blocked = tab.send_nowait(runtime.evaluate(expression=CHECKOUT))
        opening = await dialogs.receive()
        assert isinstance(opening, page.JavascriptDialogOpening)
        say(f"   seen: a {opening.type} that says {opening.message!r}")
        await tab.send(page.handle_java_script_dialog(accept=True, prompt_text="Ada"))
        closed = await dialogs.receive()
        assert isinstance(closed, page.JavascriptDialogClosed)
        say(f"   answered: {closed.user_input!r}; the closed event came before the reply")
        say(f"   and the script goes on, with {(await blocked.wait()).result.value!r}")


async def _break_link(fake: FakeBrowser, tab: PageSession, say: Say) -> None:
    say("── it asks again, and the link breaks meanwhile")
    with tab.expect(page.JavascriptDialogOpening) as opening:
        blocked = tab.send_nowait(runtime.evaluate(expression=CHECKOUT))
        await opening.wait()
    fake.cut()
    try:
        await blocked.wait()
    except ConnectionLost as lost:
        say(f"   the command ended: {lost}")


class _ShownTransport(FakeTransport):
    """Shows what passes."""

    def __init__(self, fake: FakeBrowser, say: Say) -> None:
        super().__init__(fake)
        self._say = say

    async def receive(self) -> Sequence[bytes]:
        """See Transport."""
        batch = await super().receive()
        for text in batch:
            self._show("←", text)
        return batch

    def send_now(self, text: bytes, /) -> bool:
        """See DirectTransport."""
        self._show("→", text)
        return super().send_now(text)

    def _show(self, arrow: str, text: bytes) -> None:
        line = text.decode()
        self._say(f" {arrow} {line if len(line) <= WIDTH else line[: WIDTH - 1] + '…'}")
