"""A supervisor at a real browser, and beside it a connection of its own that reads what is true there.

A `Stage` is one test's: a browser context, a supervisor, and `raw`, a connection that is never listened on unless a test
does so. What the supervisor says of frames is compared with what `raw` reads from every target at that moment, so that
neither a ghost nor a frame that was missed can hide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import trio

from cdp_core import BrowserSession, CommandRefused, PageSession
from cdp_supervisor import BlockedByDialog, FrameView, PageView, Reconnect, Snapshot, Supervisor

PATIENCE = 20.0
"""Seconds in which what is to become true has become true, on a machine that is busy with something else."""
STEP = 0.02
SOON = Reconnect(first=0.1, most=0.3, budget=8)

Frames = dict[str, tuple[str | None, str, bool]]
"""By id: the parent, the address, and whether it is out of process."""


@attrs.define(kw_only=True, eq=False)
class Stage:
    """See the module."""

    sup: Supervisor
    raw: BrowserSession
    context: str
    shell: bool

    async def open(self, url: str = "about:blank") -> str:
        """A page of this test's own, when it has loaded, and the supervisor has read it; a dialog may stop it."""
        made = await self.raw.send("Target.createTarget", {"url": url, "browserContextId": self.context})
        target = str(made["targetId"])
        await loaded(self.sup, target, url)
        return target

    async def until(self, condition: Callable[[Snapshot], object]) -> Snapshot:
        """The first snapshot of which it is true."""
        with trio.move_on_after(PATIENCE):
            return await self.sup.wait_for(lambda snapshot: bool(condition(snapshot)))
        raise AssertionError(f"it did not come about: {self.sup.snapshot().to_dict(full=True)}")

    def page(self, target: str) -> PageView:
        """The page as it is now."""
        page = self.sup.snapshot().page(target)
        assert page is not None
        return page

    async def start(self, target: str, expression: str, **params: Any) -> Any:
        """Begin a script that may be stopped, over the other connection."""
        session = await self.attach(target)
        reply = session.send_nowait("Runtime.evaluate", {"expression": expression, "returnByValue": True, **params})
        reply.on_end()  # nobody need wait for it
        return reply

    async def attach(self, target: str) -> PageSession:
        """A session of the other connection."""
        return await self.raw.targets.attach(target)

    async def far_frame(self, target: str) -> FrameView:
        """The one frame of a page that is out of process, when it has loaded."""

        def found(snapshot: Snapshot) -> list[FrameView]:
            page = snapshot.page(target)
            frames = () if page is None else page.frames()
            return [each for each in frames if each.is_oopif and each.url.startswith("http") and each.session_id]

        (frame,) = found(await self.until(found))
        return frame

    async def dialog(self, *, of: str | None = None) -> Any:
        """The one dialog that is pending, when it is."""
        found = await self.until(lambda s: [each for each in s.pending_dialogs if of in (None, each.target_id)])
        (dialog,) = [each for each in found.pending_dialogs if of in (None, each.target_id)]
        return dialog

    async def ended(self, dialog_id: str) -> Any:
        """A dialog that is over."""
        found = await self.until(lambda s: any(each.id == dialog_id for each in s.recent_dialogs))
        return next(each for each in found.recent_dialogs if each.id == dialog_id)

    async def agree(self, target: str) -> Frames:
        """The frames of a page, when what is told of them is what the browser has."""
        truth: Frames = {}
        told: Frames = {}
        with trio.move_on_after(PATIENCE):
            while True:
                before = told
                truth = await self.true_frames(target)
                told = frames_of(self.page(target))
                if truth == told == before:  # twice the same: nothing is on its way
                    return told
                await trio.sleep(STEP)
        raise AssertionError(f"true: {truth}\ntold: {told}")

    async def true_frames(self, target: str) -> Frames:
        """The frames of a page, read anew from every target of its tree."""
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
            return False  # it went while it was read; the next round says so
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
    """Until a page has been read, and has loaded this; a dialog may stop it."""
    with trio.fail_after(PATIENCE):
        await sup.wait_for(lambda s: (page := s.page(target)) is not None and not page.stale and page.url == url)
        while True:
            try:
                shown = await sup.evaluate("[document.readyState, location.href]", target_id=target)
            except CommandRefused:
                continue  # its navigation came in between
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
    """What is told of a page's frames."""
    return {each.frame_id: (each.parent_frame_id, each.url, each.is_oopif) for each in page.frames()}
