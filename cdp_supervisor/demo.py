"""The demo: the supervisor at work on the embedded fake browser, in plain text and a few seconds.

A shop opens, with a frame of another site; its script opens a dialog, which is answered; it opens another one, and
the link breaks while this dialog is open. The link comes back, the dialog is now unanswerable and shown with its
remedies, one of them frees the page, and the supervisor ends with nothing left behind.
"""

from __future__ import annotations

from collections.abc import Callable

import trio

from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.steps import AddFrame, Answer, Console, Dialog, Script
from cdp_core.testing.transport import FakeTransport
from cdp_supervisor.errors import BlockedByDialog
from cdp_supervisor.opening import open_supervisor
from cdp_supervisor.sansio.view import PageView, Snapshot
from cdp_supervisor.supervisor import Supervisor
from cdp_supervisor.watching import print_changes

SHOP = "https://shop.example/"
CHECKOUT = "checkout()"
SCRIPT = Script(
    pages={SHOP: (AddFrame("news", "https://shop.example/news"), AddFrame("payment", "https://pay.example/form"))},
    answers={CHECKOUT: Answer("paid", (Dialog("prompt", "Your name?", "guest"), Console("thank you")))},
)

SETTLE_SECONDS = 0.05
"""Seconds in which the lines of `print_changes` are printed before the next line of the demo."""

PrintLine = Callable[[str], None]


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - a demo prints


async def run_demo(print_line: PrintLine = _print) -> None:
    """Run the demo from the first page to the end of the supervisor."""
    fake = FakeBrowser(SCRIPT)

    async def dial() -> FakeTransport:
        return FakeTransport(fake)

    print_line("A supervisor and a fake browser in memory. Lines with a dot are changes that the supervisor reports.\n")
    async with open_supervisor(dial) as supervisor, trio.open_nursery() as nursery:
        await nursery.start(print_changes, supervisor, print_line)
        await _open_shop(supervisor, print_line)
        await _answer(supervisor, print_line)
        await _break_link(supervisor, fake, print_line)
        nursery.cancel_scope.cancel()
    report = supervisor.stop_report
    left = "nothing" if report is None or not report.left else "; ".join(report.left)
    counts = fake.statistics()
    fake.assert_clean()
    print_line(f"\nDone: {counts.received} commands, {counts.delivered} messages of the browser; left behind: {left}.")


async def _open_shop(supervisor: Supervisor, print_line: PrintLine) -> None:
    print_line(
        "── a page opens a shop, with a frame of its own site and a frame of another site, which gets its own process"
    )
    await supervisor.call("Page.navigate", {"url": SHOP})
    found = await supervisor.wait_for(_complete)
    await trio.sleep(SETTLE_SECONDS)
    _show(found.pages[0], print_line)


async def _answer(supervisor: Supervisor, print_line: PrintLine) -> None:
    print_line("── a script opens a dialog, which stops the page; the call that ran the script gets an error at once")
    try:
        await supervisor.evaluate(CHECKOUT)
    except BlockedByDialog as blocked:
        await trio.sleep(SETTLE_SECONDS)
        print_line(f"   {blocked}")
        answered = await supervisor.respond_to_dialog("accept", prompt_text="Ada")
        await trio.sleep(SETTLE_SECONDS)
        print_line(
            f"   answered: closed by {answered.closed_by}, the call has come back with {await blocked.call.wait()!r}"
        )


async def _break_link(supervisor: Supervisor, fake: FakeBrowser, print_line: PrintLine) -> None:
    print_line("── the script opens another dialog, and the link is cut while the dialog is open")
    try:
        await supervisor.evaluate(CHECKOUT)
    except BlockedByDialog:
        await trio.sleep(SETTLE_SECONDS)
        fake.cut()
    back = await supervisor.wait_for(lambda found: found.active and found.link.generation > 1 and _attached(found))
    await trio.sleep(SETTLE_SECONDS)
    [dialog] = back.pending_dialogs
    print_line(f"   the page is still stopped: {back.pages[0].health.why}")
    print_line(f"   remedies: {', '.join(dialog.remedies)}; the first one keeps the document")
    await supervisor.recover(dialog.target_id, "same_document")
    freed = await supervisor.wait_for(lambda found: not found.pending_dialogs and _complete(found))
    await trio.sleep(SETTLE_SECONDS)
    past = freed.recent_dialogs[-1]
    print_line(f"   freed: dialog {past.id} was closed by {past.closed_by} ({past.reason}); the frames are read again")
    _show(freed.pages[0], print_line)


def _complete(found: Snapshot) -> bool:
    page = found.pages[0]
    return page.frame_count == 3 and not page.stale and all(frame.url.startswith("https:") for frame in page.frames())


def _attached(found: Snapshot) -> bool:
    return bool(found.pages) and found.pages[0].session_id is not None


def _show(page: PageView, print_line: PrintLine) -> None:
    for frame in page.frames():
        depth = 1 if frame.parent_frame_id is None else 2
        own = "  (its own process)" if frame.is_oopif else ""
        print_line(f"   {'  ' * depth}frame {frame.frame_id[:8]}  {frame.url}{own}")
