"""A demonstration of the engine on the fake browser; it prints every message.

A shop's page loads with two frames. One frame runs in a process of its own, and the engine attaches to it before its
first instruction. Then the page's script opens a dialog and stops until the dialog is answered
(docs/cdp/closed-precedes-reply.md). Then the link breaks during a command, which ends with the reason. The fake
browser behaves as Chromium does, so these are the messages of a real link.
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

PrintLine = Callable[[str], None]


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - a demo prints


async def run_demo(print_line: PrintLine = _print) -> None:
    """Run the demo and print one line per message."""
    fake = FakeBrowser(SCRIPT)
    print_line("An engine and a fake browser, connected in memory. → to the browser, ← from the browser.\n")
    async with open_browser_session(_ShownTransport(fake, print_line)) as browser:
        print_line("── attach to the open page, and to every new page and frame before its first instruction")
        async with browser.targets.auto_attach(arm=lambda _session: [page.enable()], capacity=8) as sessions:
            tab = await sessions.receive()
            await _show_frames(tab, sessions, print_line)
            await _answer_dialog(tab, print_line)
            await _break_link(fake, tab, print_line)
            counts = browser.statistics().router
    anomalies = sum(counts.anomalies.values())
    print_line(f"\nDone: {counts.commands} commands, {counts.in_flight} still in flight, {anomalies} anomalies.")


async def _show_frames(tab: PageSession, sessions: Subscription[PageSession], print_line: PrintLine) -> None:
    print_line("── load a page with two frames; the frame of another site gets a session of its own")
    with tab.expect(page.LoadEventFired) as loaded:
        await tab.send(page.navigate(url=SHOP))
        await loaded.wait()
    payment = await sessions.receive()
    for session in (tab, payment):
        print_line(f"   the frames of the {session.target_type}:")
        _print_frame_events((await session.send(page.get_frame_tree())).frame_tree, 1, print_line)


def _print_frame_events(tree: page.FrameTree, depth: int, print_line: PrintLine) -> None:
    print_line(f"   {'  ' * depth}frame {tree.frame.id[:8]}  {tree.frame.url}")
    for child in tree.child_frames or ():
        _print_frame_events(child, depth + 1, print_line)


async def _answer_dialog(tab: PageSession, print_line: PrintLine) -> None:
    print_line("── a script opens a prompt; the page is blocked until the prompt is answered")
    with tab.subscribe(page.JavascriptDialogOpening, page.JavascriptDialogClosed, capacity=8) as dialogs:
        blocked = tab.send_nowait(runtime.evaluate(expression=CHECKOUT))
        opening = await dialogs.receive()
        assert isinstance(opening, page.JavascriptDialogOpening)
        print_line(f"   seen: a {opening.type} with the message {opening.message!r}")
        await tab.send(page.handle_java_script_dialog(accept=True, prompt_text="Ada"))
        closed = await dialogs.receive()
        assert isinstance(closed, page.JavascriptDialogClosed)
        print_line(f"   answered: {closed.user_input!r}; the closed event came before the reply")
        print_line(f"   the script continues and returns {(await blocked.wait()).result.value!r}")


async def _break_link(fake: FakeBrowser, tab: PageSession, print_line: PrintLine) -> None:
    print_line("── the script opens another prompt, and the link breaks before the answer")
    with tab.expect(page.JavascriptDialogOpening) as opening:
        blocked = tab.send_nowait(runtime.evaluate(expression=CHECKOUT))
        await opening.wait()
    fake.cut()
    try:
        await blocked.wait()
    except ConnectionLost as lost:
        print_line(f"   the command ended: {lost}")


class _ShownTransport(FakeTransport):
    """A transport to the fake browser that prints each message."""

    def __init__(self, fake: FakeBrowser, print_line: PrintLine) -> None:
        super().__init__(fake)
        self._print_line = print_line

    async def receive(self) -> Sequence[bytes]:
        batch = await super().receive()
        for text in batch:
            self._show("←", text)
        return batch

    def send_now(self, text: bytes, /) -> bool:
        self._show("→", text)
        return super().send_now(text)

    def _show(self, arrow: str, text: bytes) -> None:
        line = text.decode()
        self._print_line(f" {arrow} {line if len(line) <= WIDTH else line[: WIDTH - 1] + '…'}")
