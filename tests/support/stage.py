"""A supervisor on a real browser, with a second connection that reads the truth from the browser.

Each test has its own `Stage`: a browser context, a supervisor, and `raw`, a connection that receives no events unless
a test enables them. The frames of the supervisor are compared with those that `raw` reads from every target at that
moment, so that both an invented and a missed frame show.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import trio

from cdp_core import BrowserSession, CommandRefused, PageSession
from cdp_supervisor import BlockedByDialog, FrameView, PageView, Reconnect, Snapshot, Supervisor

PATIENCE = 20.0
"""Seconds within which an expected state must be reached, even on a busy computer."""
STEP = 0.02
SOON = Reconnect(first=0.1, most=0.3, budget=8)

Frames = dict[str, tuple[str | None, str, bool]]
"""Frame id → its parent, its URL, and True if it is out of process."""


@attrs.define(kw_only=True, eq=False)
class Stage:
    """The supervisor, the raw connection and the browser context of one test."""

    sup: Supervisor
    raw: BrowserSession
    context: str
    shell: bool

    async def open(self, url: str = "about:blank") -> str:
        """Open a page and wait until it has loaded, or a dialog blocks it, and the supervisor has read it."""
        made = await self.raw.send("Target.createTarget", {"url": url, "browserContextId": self.context})
        target = str(made["targetId"])
        await loaded(self.sup, target, url)
        return target

    async def until(self, condition: Callable[[Snapshot], object]) -> Snapshot:
        """Return the first snapshot for which the condition is true."""
        with trio.move_on_after(PATIENCE):
            return await self.sup.wait_for(lambda snapshot: bool(condition(snapshot)))
        raise AssertionError(f"the condition did not become true: {self.sup.snapshot().to_dict(full=True)}")

    def page(self, target: str) -> PageView:
        """Return the page in the current snapshot."""
        page = self.sup.snapshot().page(target)
        assert page is not None
        return page

    async def start(self, target: str, expression: str, **params: Any) -> Any:
        """Start a script that a dialog may block, over the raw connection; return its pending reply."""
        session = await self.attach(target)
        reply = session.send_nowait("Runtime.evaluate", {"expression": expression, "returnByValue": True, **params})
        reply.on_end()  # a test need not await it
        return reply

    async def attach(self, target: str) -> PageSession:
        """Return a session of the raw connection."""
        return await self.raw.targets.attach(target)

    async def far_frame(self, target: str) -> FrameView:
        """Return the only out-of-process frame of a page, once it has loaded."""

        def found(snapshot: Snapshot) -> list[FrameView]:
            page = snapshot.page(target)
            frames = () if page is None else page.frames()
            return [each for each in frames if each.is_oopif and each.url.startswith("http") and each.session_id]

        (frame,) = found(await self.until(found))
        return frame

    async def dialog(self, *, of: str | None = None) -> Any:
        """Return the only pending dialog, once one is pending."""
        found = await self.until(lambda s: [each for each in s.pending_dialogs if of in (None, each.target_id)])
        (dialog,) = [each for each in found.pending_dialogs if of in (None, each.target_id)]
        return dialog

    async def ended(self, dialog_id: str) -> Any:
        """Return a dialog once it is over."""
        found = await self.until(lambda s: any(each.id == dialog_id for each in s.recent_dialogs))
        return next(each for each in found.recent_dialogs if each.id == dialog_id)

    async def agree(self, target: str) -> Frames:
        """Return the frames of a page, once the snapshot has the same frames as the browser."""
        truth: Frames = {}
        shown: Frames = {}
        with trio.move_on_after(PATIENCE):
            while True:
                before = shown
                truth = await self.true_frames(target)
                shown = frames_of(self.page(target))
                if truth == shown == before:  # the same twice, so no message is on its way
                    return shown
                await trio.sleep(STEP)
        raise AssertionError(f"true: {truth}\nshown: {shown}")

    async def true_frames(self, target: str) -> Frames:
        """Return the frames of a page, read from every target of its tree."""
        found: Frames = {}
        listed = (await self.raw.send("Target.getTargets"))["targetInfos"]
        parents = {each["targetId"]: each.get("parentFrameId") for each in listed if each["type"] == "iframe"}
        await self._read_target(target, None, found)
        more = True
        while more:
            more = False
            for child, parent in parents.items():
                if parent in found and child not in found:
                    more = await self._read_target(child, parent, found) or more
        return found

    async def _read_target(self, target: str, parent: str | None, found: Frames) -> bool:
        try:
            session = await self.raw.targets.attach(target, fresh=True)
        except Exception:
            return False  # the target went away; the next round reads the tree without it
        try:
            with trio.fail_after(PATIENCE):
                tree = (await session.send("Page.getFrameTree"))["frameTree"]
            _collect(tree, parent, found, oopif=parent is not None)
        except Exception:
            return False
        finally:
            await session.detach()
        return True


async def loaded(sup: Supervisor, target: str, url: str) -> None:
    """Wait until the supervisor has read a page and the page has loaded this URL, or a dialog blocks it."""
    with trio.fail_after(PATIENCE):
        await sup.wait_for(lambda s: (page := s.page(target)) is not None and not page.stale and page.url == url)
        while True:
            try:
                shown = await sup.evaluate("[document.readyState, location.href]", target_id=target)
            except CommandRefused:
                continue  # the navigation ended the evaluation
            except BlockedByDialog:
                return
            if shown == ["complete", url]:
                return
            await trio.sleep(STEP)


def _collect(tree: Any, parent: str | None, found: Frames, *, oopif: bool) -> None:
    frame = tree["frame"]
    found[frame["id"]] = (parent, frame["url"] + frame.get("urlFragment", ""), oopif)
    for child in tree.get("childFrames", ()):
        _collect(child, frame["id"], found, oopif=False)


def frames_of(page: PageView) -> Frames:
    """Return the frames of a page in the snapshot."""
    return {each.frame_id: (each.parent_frame_id, each.url, each.is_oopif) for each in page.frames()}
