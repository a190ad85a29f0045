"""Plays steps: each is something a page does, told by the modules that know what a browser says of it.

A dialog stops the script that raised it: the steps after it come when it is gone. So steps are played one by one, and the
rest is handed on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from urllib.parse import urljoin

import attrs

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.wire import Json
from cdp_core.testing import steps as kinds
from cdp_core.testing.fake import dialogs, fetching, frames, moves, targets, traversals
from cdp_core.testing.fake.fetching import Answered, Asked
from cdp_core.testing.fake.parts import Frame, Target
from cdp_core.testing.fake.world import World

__all__ = ["Player"]

Done = Callable[[], None]


def nothing() -> None:
    """No more to do."""


class GoneError(Exception):
    """What a step is about has gone meanwhile; the step does nothing."""


class Player:
    """The pages of one browser, as its script tells them."""

    def __init__(self, world: World, script: kinds.Script, cut: Callable[[], None]) -> None:
        self.world = world
        self.script = script
        self.labels: dict[str, Frame] = {}
        self.workers: dict[str, Target] = {}
        self._given = kinds.labels_given(script.steps())
        """Labels of things that may be there, or may have been."""
        self._cut = cut
        self._acts: dict[type[Any], Callable[[Any, Frame | None], None]] = {
            kinds.Navigate: self._navigate,
            kinds.AddFrame: self._add_frame,
            kinds.NavigateFrame: self._navigate_frame,
            kinds.PushState: lambda step, here: moves.push_state(world, self.frame(step.frame, here), step.url),
            kinds.Go: self._go,
            kinds.RemoveFrame: lambda step, here: self._remove(self.frame(step.label, here)),
            kinds.MoveFrame: self._move_frame,
            kinds.Console: lambda step, here: self.console(
                self.frame(step.frame, here), step.type, [step.text * step.times]
            ),
            kinds.ScriptError: self._script_error,
            kinds.Request: lambda step, here: self.request(self.frame(step.frame, here), step.url),
            kinds.Popup: self._popup,
            kinds.Worker: self._worker,
            kinds.Crash: lambda step, here: targets.crash(world, self.frame(step.page, here).target.page),
            kinds.Close: lambda step, here: targets.close(world, self.frame(step.page, here).target.page),
            kinds.Cut: lambda _step, _here: self._cut(),
        }

    def play(
        self, steps: Sequence[kinds.Step], *, here: Frame | None = None, done: Done = nothing, patient: bool = True
    ) -> None:
        """One after the other; `done` when the last is over. `here` is whose document's script it is.

        A document's script runs without a pause, but for a step in a frame that is still on its way to its document.
        Without a document each step comes to its end, and one of a page whose scripts stand still waits until they run.
        """
        for number, step in enumerate(steps):
            if here is None:
                self.world.do_soon()
                if self._waits(step, partial(self.play, steps[number:], done=done)):
                    return
            elif patient and self._is_on_its_way(step):
                self.world.soon(partial(self.play, steps[number:], here=here, done=done, patient=False))
                return
            patient = True
            rest = partial(self.play, steps[number + 1 :], here=here, done=done)
            self._given.update(kinds.labels_given((step,)))
            if isinstance(step, kinds.Wait):
                self.world.after(step.seconds, rest)
                return
            try:
                if isinstance(step, kinds.Dialog):
                    frame = self.frame(step.frame, here)
                    self.dialog(frame, step.type, step.message, step.default_prompt, partial(_go_on, rest))
                    return
                if isinstance(step, kinds.Request) and step.sync:
                    self.wait_for(self.frame(step.frame, here), step.url, rest)
                    return
                self._acts[type(step)](step, here)
                if isinstance(step, kinds.Popup) and stalled(step, self.labels[step.label].target):
                    self.labels[step.label].target.when_run.append(partial(self.world.soon, rest))
                    return
            except GoneError:
                continue
        done()

    def _waits(self, step: kinds.Step, go_on: Done) -> bool:
        """Whether what a script is to do has to wait: its page may not run yet, or a dialog stops it."""
        if isinstance(step, (kinds.Close, kinds.Crash)):
            return False
        there = [self.labels[label] for label in sorted(kinds.labels_used((step,))) if label in self.labels]
        for frame in there:
            if frame.target.page.held:
                frame.target.page.when_run.append(partial(self.world.soon, go_on))
                return True
            if frame.renderer.stopped:
                frame.renderer.parked.append(go_on)
                return True
        return False

    def _is_on_its_way(self, step: kinds.Step) -> bool:
        named = (getattr(step, name, kinds.MAIN) for name in ("frame", "parent", "opener"))
        return any(label in self.labels and self.labels[label].navigating for label in named if label != kinds.MAIN)

    # ── what things are called ───────────────────────────────────────────────────────────────────────────────────────

    def frame(self, label: str, here: Frame | None = None) -> Frame:
        """The frame of that label; a document's own script calls its own frame `main`.

        Raises GoneError for one that is not there now, since a client may have closed it or what it was to be in, and
        InvalidArgument for one that no step has ever named.
        """
        frame = here if here is not None and label == kinds.MAIN else self.labels.get(label)
        if frame is not None and self.world.frames.get(frame.id) is frame:
            return frame
        if frame is not None or label in self._given:
            raise GoneError(label)
        known = ", ".join(label for label, each in self.labels.items() if each.id in self.world.frames)
        raise InvalidArgument(f"The script has no frame {label!r} now; it has {known or 'none'}.")

    def label_of(self, frame: Frame) -> str | None:
        """What the script calls a frame."""
        return next((label for label, each in self.labels.items() if each is frame), None)

    # ── what pages do ────────────────────────────────────────────────────────────────────────────────────────────────

    def navigate(self, frame: Frame, url: str) -> None:
        """Go to a document, whose own script then runs."""
        frames.navigate(self.world, frame, url, self.loaded)

    def loaded(self, frame: Frame, done: Done) -> None:
        """A document's own script; it is the same at every place in the document."""
        pages, url = self.script.pages, frame.url
        self.play(pages.get(url, pages.get(url.partition("#")[0], ())), here=frame, done=done)

    def open_page(self, label: str, url: str, **options: Any) -> Target:
        """A page under a label."""
        target = targets.create_page(self.world, options.pop("context", self.world.default_context), url, **options)
        assert target.frame is not None
        self.labels[label] = target.frame
        frames.open_document(self.world, target.frame, url, self.loaded)
        return target

    def console(self, frame: Frame, kind: str, values: Sequence[Any]) -> None:
        """Write to the console; a call without anything to write does nothing."""
        if not values:
            return
        params: Json = {
            "type": kind,
            "args": [remote(value) for value in values],
            "executionContextId": frame.context,
            "timestamp": 1.7e12 + self.world.now * 1000,
            "stackTrace": {
                "callFrames": [
                    {"functionName": "", "scriptId": "3", "url": frame.url, "lineNumber": 0, "columnNumber": 8}
                ]
            },
        }
        self.world.remember(frame.target, "Runtime.consoleAPICalled", params, frame)

    def dialog(self, frame: Frame, kind: str, message: str, default: str, finish: Callable[[bool, str], None]) -> None:
        """Raise a dialog, as soon as the frame's renderer is free."""
        dialogs.when_free(frame, lambda: void(dialogs.raise_dialog(self.world, frame, kind, message, default, finish)))

    def request(self, frame: Frame, url: str) -> None:
        """Ask for something when the script is over; what came is written to the console."""
        asked = self._asked(frame, url, "High")
        document = frame.document
        self.world.soon(partial(fetching.ask, self.world, asked, lambda came: void(self._came(asked, document, came))))

    def wait_for(self, frame: Frame, url: str, go_on: Done) -> None:
        """Ask for something, as soon as the frame's renderer is free, and stop it until that came."""
        document, renderer = frame.document, frame.renderer
        asked = attrs.evolve(self._asked(frame, url, "VeryHigh"), stops=renderer)

        def answered(came: Answered) -> None:
            renderer.asked = None
            if self._came(asked, document, came):
                go_on()
            dialogs.go_on(renderer)

        def stop() -> None:
            renderer.asked = asked
            fetching.ask(self.world, asked, answered)

        dialogs.when_free(frame, stop)

    def _asked(self, frame: Frame, url: str, priority: str) -> Asked:
        address = urljoin(frame.url, url)
        return Asked(url=address, kind="XHR", frame=frame, target=frame.target, referrer=frame.url, priority=priority)

    def _came(self, asked: Asked, document: int, came: Answered) -> bool:
        """Write it to the console, where the document that asked for it is still there; that is the answer."""
        frame = asked.frame
        target = frame.target
        if frame.document != document or frame.id not in self.world.frames or target.closed or target.crashed:
            return False
        if frame.left:
            return False
        text = fetching.text_of(asked, came)
        self.console(frame, "log", ["failed" if text is None else f"{came.status} {text}"])
        return True

    def _add_frame(self, step: kinds.AddFrame, here: Frame | None) -> None:
        parent = self.frame(step.parent, here)

        def loaded(frame: Frame, done: Done) -> None:
            self.labels[step.label] = frame
            self.loaded(frame, done)

        self.labels[step.label] = frames.add_frame(self.world, parent, step.url, step.label, loaded)

    def _navigate(self, step: kinds.Navigate, here: Frame | None) -> None:
        frame = self.frame(step.page, here)
        frames.navigate(self.world, frame, step.url, self.loaded, reason="scriptInitiated")

    def _navigate_frame(self, step: kinds.NavigateFrame, here: Frame | None) -> None:
        frame = self.frame(step.label, here)
        frame.source = step.url
        frames.navigate(self.world, frame, step.url, self.loaded, reason="scriptInitiated")

    def _go(self, step: kinds.Go, here: Frame | None) -> None:
        self.go(self.frame(step.page, here), step.delta)

    def go(self, frame: Frame, delta: int) -> None:
        """A script goes through the history of its page; nothing happens where that ends before."""
        entry = frame.target.page.history.by(delta)
        if entry is not None:
            traversals.go(self.world, frame.target.page, entry, self.loaded)

    def _remove(self, frame: Frame) -> None:
        if frame.parent is None:
            raise InvalidArgument("A page's own frame cannot be removed; close the page.")
        frames.remove_frame(self.world, frame)

    def _move_frame(self, step: kinds.MoveFrame, here: Frame | None) -> None:
        frame = self.frame(step.label, here)
        parent, url = frame.parent, frame.source
        self._remove(frame)
        assert parent is not None
        self.labels[step.label] = frames.add_frame(self.world, parent, url, frame.name, self.loaded)

    def _script_error(self, step: kinds.ScriptError, here: Frame | None) -> None:
        frame = self.frame(step.frame, here)
        stack = f"Error: {step.message}\n    at {frame.url}:1:36"
        call = {"functionName": "", "scriptId": "3", "url": frame.url, "lineNumber": 0, "columnNumber": 35}
        params: Json = {
            "timestamp": 1.7e12 + self.world.now * 1000,
            "exceptionDetails": {
                "exceptionId": 1,
                "text": "Uncaught",
                "lineNumber": 0,
                "columnNumber": 35,
                "scriptId": "3",
                "url": frame.url,
                "stackTrace": {"callFrames": [call]},
                "exception": {
                    "type": "object",
                    "subtype": "error",
                    "className": "Error",
                    "description": stack,
                    "objectId": self.world.ids.unique("object"),
                    "preview": {
                        "type": "object",
                        "subtype": "error",
                        "description": stack,
                        "overflow": False,
                        "properties": [
                            {"name": "stack", "type": "string", "value": stack},
                            {"name": "message", "type": "string", "value": step.message},
                        ],
                    },
                },
                "executionContextId": frame.context,
            },
        }
        self.world.remember(frame.target, "Runtime.exceptionThrown", params, frame)

    def _popup(self, step: kinds.Popup, here: Frame | None) -> None:
        self.popup(self.frame(step.opener, here), step.url, label=step.label, noopener=step.noopener)

    def ask_for_window(self, opener: Frame, url: str, *, noopener: bool = False, user_gesture: bool) -> None:
        """Tell that a script wants a window, whether or not it gets one."""
        features = ["menubar", "toolbar", "status", "scrollbars", "resizable", *(["noopener"] if noopener else [])]
        said = {"url": url, "windowName": "_blank", "windowFeatures": features, "userGesture": user_gesture}
        self.world.emit_to(opener.target, "Page", "Page.windowOpen", said, opener)

    def popup(self, opener: Frame, url: str, *, label: str | None = None, noopener: bool = False) -> Target:
        """A script opens a window."""
        self.ask_for_window(opener, url, noopener=noopener, user_gesture=True)
        target = targets.create_page(
            self.world, opener.target.context, "", opener=opener, can_access_opener=not noopener
        )
        frame = target.frame
        assert frame is not None
        self.labels[label or f"popup {len(self.labels)}"] = frame

        def load() -> None:
            why = "" if noopener else "other"
            frames.navigate(self.world, frame, url, self.loaded, reason=why, transition="link")

        if target.held and not noopener:
            target.when_run.append(partial(self.world.soon, load))
        else:
            load()
        return target

    def _worker(self, step: kinds.Worker, here: Frame | None) -> None:
        frame = self.frame(step.frame, here)
        target = Target(
            self.world.ids.new("target"),
            "worker",
            frame.target.context,
            self.world.new_renderer(),
            url=step.url,
            title=step.url,
            parent_frame=frame,
        )
        targets.create_related(self.world, target, frame.target)
        self.workers[step.label] = target


def stalled(step: kinds.Popup, target: Target) -> bool:
    """Whether the script that opened a window has to wait until it may run (fact 7)."""
    return bool(target.held) and not step.noopener


def remote(value: Any) -> Json:
    """A value as a remote object, by value."""
    if value is None:
        return {"type": "object", "subtype": "null", "value": None}
    if isinstance(value, bool):
        return {"type": "boolean", "value": value}
    if isinstance(value, (int, float)):
        return {
            "type": "number",
            "value": value,
            "description": f"{value:g}" if isinstance(value, float) else str(value),
        }
    if isinstance(value, str):
        return {"type": "string", "value": value}
    return {"type": "object", "value": value}


def _go_on(rest: Done, _accepted: bool, _text: str) -> None:
    rest()


def void(_value: object) -> None:
    """For a call whose answer nobody needs."""
