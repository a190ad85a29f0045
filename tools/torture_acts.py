"""The acts of tools/torture.py: what its callers do to the pages of one browser, and what they check.

An act owns its page, so that a caller removes no frame under its dialog. Other callers send calls to that page too. An
act after which a dialog may open while a document is being replaced is dangerous: a cut of the link in that moment ends
the browser (fact 62), so it runs inside `danger`, which a cut closes first.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

import attrs
import trio
from gate import Gate

from cdp_core import CommandRefused, Missed
from cdp_supervisor import BlockedByDialog, DialogClosed, DialogOpened, Policy

TIMEOUT = 5.0
"""Seconds of a call: a page that a dialog of another page blocks answers only after that dialog."""
GRACE = 5.0
"""Seconds after its timeout in which a call must have ended."""
FREE = 30.0
"""Seconds in which a page must be free after an act, on a busy machine."""
BATCH = 5
"""Frames that one act adds, moves and removes."""
LEGAL = frozenset(
    (
        *("value", "BlockedByDialog", "CallTimedOut", "PageFrozen", "CommandRefused", "ConnectionLost"),
        *("TargetCrashed", "TargetGone", "SessionGone", "UnknownTarget", "UnknownFrame"),
        *("UnknownDialog", "NoPendingDialog", "DialogUnanswerable", "DialogAnswerRefused"),
        *("RemedyFailed", "RemedyRefused", "ScriptFailed"),
    )
)
"""The ends that a call may have.

`RemedyRefused` is the InvalidArgument of a page that needs no remedy any more, `ScriptFailed` the end of a script that
adds frames to a document without a body.
"""
POLICIES = (
    Policy(),
    Policy(),
    Policy({"alert": "auto_accept"}),
    Policy({"alert": "auto_accept", "confirm": "auto_accept", "prompt": "auto_dismiss"}),
)
"""If a policy answers a confirm it accepts it, and if it answers a prompt it dismisses it."""
REMEDIES = ("same_document", "navigate", "reload", "close")


@attrs.define(kw_only=True, eq=False)
class Page:
    """A page, its place in the list, and the lock of the act that owns it."""

    number: int
    target: str = ""
    acts: list[str] = attrs.field(factory=list)
    lock: trio.Lock = attrs.field(factory=trio.Lock)


@attrs.define(kw_only=True, eq=False)
class Figures:
    """What has happened so far."""

    dialogs: Counter[str] = attrs.field(factory=Counter)
    frames: int = 0
    acts: Counter[str] = attrs.field(factory=Counter)
    ends: Counter[str] = attrs.field(factory=Counter)
    closed_by: Counter[str] = attrs.field(factory=Counter)
    remedies: Counter[str] = attrs.field(factory=Counter)
    crashes: int = 0
    frozen: int = 0
    reopened: int = 0
    late: int = 0
    """Remedies after which the dialog was still pending for a moment."""
    checked: int = 0
    lies: list[str] = attrs.field(factory=list)
    endless: list[str] = attrs.field(factory=list)
    unexpected: list[str] = attrs.field(factory=list)
    not_freed: list[str] = attrs.field(factory=list)


@attrs.define(kw_only=True, eq=False)
class Acts:
    """The acts of all callers on the pages of one browser, with their figures."""

    stage: Any
    served: int
    random: random.Random
    pages: list[Page]
    figures: Figures = attrs.field(factory=Figures)
    danger: Gate = attrs.field(factory=Gate)
    quiet: Gate = attrs.field(factory=Gate)
    ended: dict[str, Any] = attrs.field(factory=dict)
    opened: set[str] = attrs.field(factory=set)
    _number: int = 0

    @property
    def sup(self) -> Any:
        return self.stage.sup

    def address(self, page: Page, *, far: bool = False, body: str = "", **query: object) -> str:
        """Return the address of a document; `far` is another site, which no other page uses."""
        host = f"p{page.number}.localhost" if far else "127.0.0.1"
        more = "".join(f"&{name}={value}" for name, value in query.items())
        return f"http://{host}:{self.served}/?html={quote(body or '<p>')}{more}"

    def base(self, page: Page) -> str:
        frames = f"<iframe src='{self.address(page, far=True)}'></iframe><iframe src='{self.address(page)}'></iframe>"
        return self.address(page, body=f"<body>{page.number}{frames}", cache="no-store")

    # ── calls ────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def end(self, name: str, act: Callable[[], Awaitable[Any]], *, timeout: float = TIMEOUT) -> Any:  # noqa: ASYNC109 - passed on
        """Return the result of a call, or the error that ended it; count its end."""
        with trio.move_on_after(timeout + GRACE):
            try:
                result = await act()
            except Exception as error:
                kind = type(error).__name__
                if kind == "InvalidArgument" and name == "recover":
                    kind = "RemedyRefused"
                self.figures.ends[kind] += 1
                if kind not in LEGAL:
                    self.figures.unexpected.append(f"{name}: {error!r}")
                return error
            self.figures.ends["value"] += 1
            return result
        self.figures.endless.append(name)
        return TimeoutError(name)

    async def evaluate(self, page: Page, expression: str, *, timeout: float = TIMEOUT, **more: Any) -> Any:  # noqa: ASYNC109 - passed on
        where = {} if more.keys() & {"frame_id", "target_id"} else {"target_id": page.target}

        async def act() -> Any:
            return await self.sup.evaluate(expression, timeout=timeout, **where, **more)

        return await self.end("evaluate", act, timeout=timeout)

    async def call(self, method: str, params: Any, timeout: float = TIMEOUT, **where: Any) -> Any:  # noqa: ASYNC109 - passed on
        return await self.end(method, lambda: self.sup.call(method, params, timeout=timeout, **where), timeout=timeout)

    async def settles(self, condition: Callable[[Any], object], seconds: float = 5.0) -> bool:
        """Return True once a snapshot satisfies the condition, False if none does in time."""
        with trio.move_on_after(seconds):
            await self.sup.wait_for(lambda found: bool(condition(found)))
            return True
        return False

    # ── the history ──────────────────────────────────────────────────────────────────────────────────────────────────

    async def record(self, *, task_status: Any = trio.TASK_STATUS_IGNORED) -> None:
        """Keep each dialog that opened and that ended."""
        with self.sup.changes(DialogOpened, DialogClosed, capacity=8192) as changes:
            task_status.started()
            async for change in changes:
                assert not isinstance(change, Missed), "the recorder of the torture is too slow"
                found = self.sup.snapshot()
                known = {each.id: each for each in (*found.pending_dialogs, *found.recent_dialogs)}
                dialog = known.get(change.dialog_id)
                if isinstance(change, DialogOpened):
                    self.opened.add(change.dialog_id)
                    label = "" if dialog is None else dialog.message.partition(":")[0] or dialog.type
                    self.figures.dialogs[label] += 1
                else:
                    if change.dialog_id in self.ended:
                        self.figures.lies.append(f"{change.dialog_id} ended twice")
                    self.ended[change.dialog_id] = change
                    self.figures.closed_by[f"{change.closed_by} ({change.reason})"] += 1

    def check(self, what: str, dialog_id: str, value: Any, answered: tuple[str, str | None] | None) -> None:
        """Compare what the page got with who closed its dialog."""
        ended = self.ended.get(dialog_id)
        if ended is None:
            return
        self.figures.checked += 1
        kind = what.partition("(")[0]
        if ended.closed_by == "agent":
            action, text = answered or ("nothing", None)
            right = {"alert": None, "confirm": action == "accept"}.get(kind, text if action == "accept" else None)
            is_true = answered is not None and value == right
        elif ended.closed_by == "auto_policy":
            is_true = value == {"confirm": True}.get(kind)
        else:  # our answer may have arrived although the link was cut before its reply
            is_true = not value or ended.reason == "unconfirmed"
        if not is_true:
            self.figures.lies.append(f"{what}: {ended.closed_by} ({ended.reason}), {answered}, the page got {value!r}")

    async def page_value(self, target: str, number: int) -> Any:
        """Return what a dialog returned, as the page wrote it down; LookupError if the page has no such note."""
        with trio.move_on_after(TIMEOUT):
            try:
                session = await self.stage.raw.targets.attach(target)
                found = await session.send(
                    "Runtime.evaluate",
                    {"expression": f"globalThis.answers?.[{number}]", "returnByValue": True},
                )
            except Exception as error:
                return LookupError(repr(error))
            return found["result"].get("value", LookupError("not written down"))
        return LookupError("no answer")

    # ── dialogs ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def dialog(self, label: str) -> tuple[int, str, str, str | None]:
        """Return the number, the script, the call and the text of the answer of a new dialog."""
        self._number += 1
        kind = self.random.choice(("alert", "confirm", "prompt"))
        made = f"{kind}('{label}:{self._number}')"
        script = f"(globalThis.answers ??= {{}})[{self._number}] = {made} ?? null"
        return self._number, script, made, f"text {self._number}" if kind == "prompt" else None

    async def answer(self, dialog_id: str, text: str | None = None) -> tuple[Any, tuple[str, str | None]]:
        """Answer a dialog; return the end of the call and the answer."""
        action = self.random.choice(("accept", "dismiss"))
        text = text if action == "accept" else None

        async def act() -> Any:
            return await self.sup.respond_to_dialog(action, prompt_text=text, dialog_id=dialog_id)

        return await self.end("respond_to_dialog", act, timeout=10.0), (action, text)

    async def ask(self, page: Page, label: str, *, truth: str = "", **where: Any) -> None:
        """Open a dialog by a script, answer it, and compare the history with what the page got."""
        number, script, made, text = self.dialog(label)
        value = await self.evaluate(page, script, **where)
        if not isinstance(value, BlockedByDialog):
            if not isinstance(value, Exception):
                dialog_id = self.id_of(f"{label}:{number}")
                self.check(made, dialog_id, value, None)
            return
        if value.call is None:  # a dialog was open before, so the script was not sent
            return
        found = self.sup.snapshot().pending_dialogs
        dialog_id = next((each.id for each in found if each.message == f"{label}:{number}"), "")
        if not dialog_id:  # a policy, a cut or another dialog was faster
            dialog_id = self.id_of(f"{label}:{number}")
        answered = None
        if dialog_id and dialog_id not in self.ended:
            await trio.sleep(self.random.choice((0, 0, 0, 0.05, 0.3)))
            ended, answered = await self.answer(dialog_id, text)
            if getattr(ended, "closed_by", "agent") != "agent" and not isinstance(ended, Exception):
                self.figures.lies.append(f"{made}: respond_to_dialog returned {ended.closed_by}")
        call = value.call
        value = await self.end("BlockedCall.wait", lambda: call.wait(timeout=TIMEOUT))
        if isinstance(value, Exception):
            await self.free(page)
            value = await self.page_value(truth or str(where.get("frame_id", page.target)), number)
        if not isinstance(value, Exception):
            await self.settles(lambda _: dialog_id in self.ended, 1.0)
            self.check(made, dialog_id, value, answered)

    def id_of(self, message: str) -> str:
        """Return the id of the last dialog with this message."""
        found = self.sup.snapshot()
        views = (*found.pending_dialogs, *found.recent_dialogs)
        return next((each.id for each in views if each.message == message), "")

    async def in_page(self, page: Page) -> None:
        await self.ask(page, "main")

    async def in_frame(self, page: Page) -> None:
        frame = await self.far_frame(page)
        if frame:
            await self.ask(page, "oopif", frame_id=frame)

    async def in_two_documents(self, page: Page) -> None:
        """Open a dialog of an OOPIF, then one of its page: one of them cannot be answered (fact 3)."""
        frame = await self.far_frame(page)
        if not frame:
            return
        await self.evaluate(page, self.dialog("superseded")[1], frame_id=frame)
        _, script, _, _ = self.dialog("superseding")
        await self.stage.start(page.target, script)
        await self.settles(lambda s: any(each.why for each in s.pending_dialogs if each.target_id == page.target), 1.0)

    async def far_frame(self, page: Page) -> str:
        """Return the OOPIF that the page has from its start, once it is there."""
        await self.reset(page)
        view = self.sup.snapshot().page(page.target)
        far = [each for each in (view.frames() if view else ()) if each.is_oopif and each.session_id and each.url]
        return str(far[0].frame_id) if far else ""

    async def in_popup(self, page: Page) -> None:
        """Open a popup, then a dialog of it or in it, and close it."""
        opened = await self.evaluate(page, "globalThis.popup = open('about:blank'); 0", user_gesture=True)
        if isinstance(opened, Exception):
            return

        def popups(found: Any) -> list[str]:
            return [each.target_id for each in found.pages if each.opener_id == page.target and not each.stale]

        await self.settles(popups)
        for target in popups(self.sup.snapshot())[:1]:
            if self.random.random() < 0.5:
                await self.ask(page, "popup", truth=target, target_id=target)
            else:
                _, script, made, _ = self.dialog("popup")
                await self.evaluate(page, script.replace(made, f"popup.{made}"), timeout=2.0)
        await self.close_popups(page)

    async def close_popups(self, page: Page) -> None:
        """Close the popups of a page over the raw connection, also while the supervisor's link is down."""
        listed = (await self.stage.raw.send("Target.getTargets"))["targetInfos"]
        for each in listed:
            if each.get("openerId") == page.target:
                await self.stage.raw.send("Target.closeTarget", {"targetId": each["targetId"]})
                await self.settles(lambda s, target=each["targetId"]: s.active and s.page(target) is None)

    async def at_pagehide(self, page: Page) -> None:
        """Open a dialog in `pagehide` of a navigation in the same site, which cannot be answered (fact 22)."""
        _, script, _, _ = self.dialog("pagehide")
        async with self.danger.shared():
            await self.reset(page)
            url = self.address(page, body="<p>next")
            if isinstance(await self.evaluate(page, f"onpagehide = () => {{ {script} }}; 0"), Exception):
                return
            await self.call("Page.navigate", {"url": url}, target_id=page.target, when_blocked="wait")
            await self.leave(page, url)

    async def amid_navigation(self, page: Page) -> None:
        """Open a dialog shortly before a navigation begins, or while it is in flight."""
        _, script, _, _ = self.dialog("navigation")
        async with self.danger.shared():
            await self.reset(page)
            url = self.address(page, body="<p>slow", after=0.3)
            wait = self.random.randrange(30)
            if isinstance(await self.evaluate(page, f"setTimeout(() => {{ {script} }}, {wait}); 0"), Exception):
                return
            await trio.sleep(self.random.uniform(0, 0.03))
            await self.call("Page.navigate", {"url": url}, target_id=page.target, when_blocked="wait")
            await self.leave(page, url)

    async def leave(self, page: Page, url: str) -> None:
        """Wait until a dialog keeps the page or it has left, answer the dialog, and free the page."""
        await self.settles(
            lambda s: (view := s.page(page.target)) is None or bool(view.pending_dialogs) or view.url == url
        )
        view = self.sup.snapshot().page(page.target)
        for dialog in view.pending_dialogs if view else ():
            await self.answer(dialog.id)
        await self.free(page)

    async def before_unload(self, page: Page) -> None:
        """Open a `beforeunload` dialog by a navigation; its answer decides about the navigation (fact 21)."""
        await self.reset(page)
        keep = "onbeforeunload = event => { event.preventDefault(); event.returnValue = 'x' }; 0"
        if isinstance(await self.evaluate(page, keep, user_gesture=True), Exception):
            return
        url = self.address(page, body="<p>left")
        blocked = await self.call("Page.navigate", {"url": url}, target_id=page.target)
        if isinstance(blocked, BlockedByDialog) and blocked.call is not None:
            ended, (action, _) = await self.answer(blocked.dialogs[0])
            result = await self.end("BlockedCall.wait", lambda: blocked.call.wait(timeout=TIMEOUT))
            if isinstance(result, dict) and getattr(ended, "closed_by", "") == "agent":
                self.figures.checked += 1
                if (result.get("errorText") is None) != (action == "accept"):
                    self.figures.lies.append(f"beforeunload: {action}, {result}")
        await self.free(page)
        await self.evaluate(page, "onbeforeunload = null; 0")

    # ── frames, crashes, scripts without an end ──────────────────────────────────────────────────────────────────────

    async def change_frames(self, page: Page) -> None:
        """Add frames, move them to another site, and remove them; no dialog is open in one."""
        near, far = self.address(page, body="near"), self.address(page, far=True, body="far")
        urls = [near, far]
        self.random.shuffle(urls)
        added = (
            f"for (let i = 0; i < {BATCH}; i++) {{ const f = document.createElement('iframe'); f.className = 'added';"
            f" f.src = {urls!r}[i % 2] + '&t0'; document.body.append(f) }} 0"
        )
        each = "document.querySelectorAll('.added').forEach((f, i) =>"
        for script, mark in ((added, "&t0"), (f"{each} {{ f.src = {urls!r}[(i + 1) % 2] + '&t1' }}); 0", "&t1")):
            if isinstance(await self.evaluate(page, script), Exception):
                break
            self.figures.frames += BATCH
            await self.settles(
                lambda s, mark=mark: (
                    (view := s.page(page.target)) is None
                    or sum(frame.url.endswith(mark) for frame in view.frames()) >= BATCH
                )
            )
        for _ in range(3):
            await self.free(page)
            if not isinstance(await self.evaluate(page, f"{each} f.remove()); 0"), Exception):
                self.figures.frames += BATCH
                return

    async def crash(self, page: Page) -> None:
        await self.call("Page.crash", {}, target_id=page.target)
        if await self.settles(lambda s: (view := s.page(page.target)) is None or view.health.state == "crashed"):
            self.figures.crashes += 1
        await self.free(page)

    async def freeze(self, page: Page) -> None:
        self.figures.frozen += 1
        loop = "{ const end = Date.now() + 1500; while (Date.now() < end); } 0"
        await self.evaluate(page, loop, timeout=0.7)
        await self.free(page)

    async def call_another_page(self) -> None:
        """Send calls to a page that another act may own."""
        page = self.random.choice(self.pages)
        value = await self.evaluate(page, "1 + 1")
        if not isinstance(value, Exception) and value != 2:
            self.figures.unexpected.append(f"1 + 1 is {value!r}")
        await self.call("Page.getNavigationHistory", {}, target_id=page.target)

    # ── freeing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def reset(self, page: Page) -> None:
        """Load the first document of a page again, if it shows another one or lost its frames."""
        base = self.base(page)

        def is_base(found: Any) -> bool:
            view = found.page(page.target)
            frames = () if view is None else [each for each in view.frames() if each.is_oopif and each.session_id]
            return view is None or (view.url.partition("#")[0] == base and any(each.url for each in frames))

        for _ in range(3):
            await self.free(page)
            if is_base(self.sup.snapshot()):
                return
            await self.call("Page.navigate", {"url": base}, target_id=page.target)
            await self.settles(is_base)

    async def free(self, page: Page) -> None:
        """Free a page, with the remedies in their order; open another one if it is gone."""
        tried = 0
        with trio.move_on_after(FREE):
            while True:
                found = await self.sup.wait_for(lambda s: s.active)
                view = found.page(page.target)
                if view is None:
                    await self.open(page)
                elif answerable := [each for each in self.stopping(found, page) if each.answerable]:
                    await self.answer(answerable[0].id)
                elif named := [each for each in self.stopping(found, page) if each.why]:
                    dialog = named[0]
                    ended = await self.recover(dialog.target_id, dialog.remedies[tried % len(dialog.remedies)])
                    pending = any(each.id == dialog.id for each in self.sup.snapshot().pending_dialogs)
                    self.figures.late += pending
                    # The page may answer before the end of a dialog that another process of it shows.
                    wait = 0.1 if isinstance(ended, BlockedByDialog) else 2.0
                    has_ended = await self.settles(lambda _, it=dialog.id: it in self.ended, wait)
                    tried += not has_ended and not isinstance(ended, BlockedByDialog)
                elif view.health.state == "ok" and not view.stale:
                    return
                elif view.health.state == "crashed":
                    await self.call("Page.reload", {}, target_id=page.target)
                elif view.health.state in ("blocked", "frame_blocked"):
                    await self.recover(page.target, REMEDIES[tried % 4])
                    tried += 1
                await trio.sleep(0.02)
        view = self.sup.snapshot().page(page.target)
        truth = await self.page_value(page.target, 0)
        shown = view and (view.url[-40:], view.pending_url[-40:], view.session_id, view.stale, view.health)
        self.figures.not_freed.append(f"{time.time():.3f}: {page.target} {page.acts[-5:]} {shown}, raw: {truth!r}")

    def stopping(self, found: Any, page: Page) -> list[Any]:
        """Return the dialogs that stop a page: its own, and those of popups that share its process (fact 16)."""
        popups = {each.target_id for each in found.pages if each.opener_id == page.target}
        return [each for each in found.pending_dialogs if each.target_id in {page.target, *popups}]

    async def recover(self, target: str, remedy: Any) -> Any:
        self.figures.remedies[remedy] += 1
        return await self.end("recover", lambda: self.sup.recover(target, remedy), timeout=12.0)

    async def open(self, page: Page) -> None:
        """Open a page, also in place of one that was closed."""
        self.figures.reopened += bool(page.target)
        params = {"url": self.base(page), "browserContextId": self.stage.context}
        page.target = str((await self.stage.raw.send("Target.createTarget", params))["targetId"])
        await self.settles(lambda s: (view := s.page(page.target)) is not None and not view.stale, 20.0)

    async def can_cut(self) -> bool:
        """True if no page would end the browser at a cut of the link (facts 62, 63)."""
        found = self.sup.snapshot()
        if any(each.health.state == "fragile" for each in found.pages):
            return False
        for dialog in found.pending_dialogs:
            if dialog.why == "page_inactive":
                return False
            with trio.move_on_after(TIMEOUT) as bound:
                try:
                    session = await self.stage.raw.targets.attach(dialog.target_id)
                    await session.send("Page.getNavigationHistory")
                except CommandRefused:
                    return False  # the page is not active, and no answer has shown that yet
                except Exception:
                    continue  # the page has just gone
            if bound.cancelled_caught:
                return False
        return True
