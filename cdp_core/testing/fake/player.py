"""The player of scripts: it carries out steps, each something that a page does.

A dialog stops the script that raised it, and the steps after it run when it is gone. So the player takes the steps
one by one, and passes the rest on as a continuation. The modules that it calls know which events the browser sends
for a step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from urllib.parse import urljoin

from cdp_core.errors import InvalidArgument
from cdp_core.sansio.messages import Json
from cdp_core.testing import steps as kinds
from cdp_core.testing.fake.model import contexts, dialogs, targets, unloading, workers
from cdp_core.testing.fake.model.addresses import resolve_url
from cdp_core.testing.fake.model.parts import Frame, PausedSteps, Target
from cdp_core.testing.fake.navigation import frames, leaving, moves, prerenders, traversals
from cdp_core.testing.fake.script import asking, thrown
from cdp_core.testing.fake.script.calculating import number_text
from cdp_core.testing.fake.world import World

Done = Callable[[], None]


def nothing() -> None:
    """Do nothing, as the continuation after a last step."""


class GoneError(Exception):
    """What a step is about no longer exists; the step does nothing."""


class Player:
    """The pages of one browser, which act as its script describes."""

    def __init__(self, world: World, script: kinds.Script, cut: Callable[[], None]) -> None:
        self.world = world
        self.script = script
        world.latency = lambda url: served.seconds if (served := self.script.served.get(url)) is not None else 0
        self.labels: dict[str, Frame] = {}
        self.workers: dict[str, Target] = {}
        world.on_documents_left = partial(workers.leave, world)
        world.on_page_replaced = self._rename
        # The labels of everything that exists, existed or may still appear.
        self._known_labels = kinds.labels_made(script.steps())
        self._cut = cut
        self._actions: dict[type[Any], Callable[[Any, Frame | None], None]] = {
            kinds.AddFrame: self._add_frame,
            kinds.PushState: lambda step, here: moves.push_state(world, self._running(step.frame, here), step.url),
            kinds.Go: self._go,
            kinds.RemoveFrame: lambda step, here: self._remove(self._inside(step.label, here)),
            kinds.MoveFrame: self._move_frame,
            kinds.Console: lambda step, here: self.console(
                self.script_frame(step.frame, here), step.type, [step.text * step.times]
            ),
            kinds.ScriptError: self._script_error,
            kinds.Request: self._request,
            kinds.Popup: self._popup,
            kinds.Worker: self._worker,
            kinds.EndWorker: self._end_worker,
            kinds.Prerender: self._prerender,
            kinds.Discard: lambda step, here: leaving.discard(world, self.frame(step.page, here).target.page),
            kinds.Crash: lambda step, here: targets.crash(world, self._running(step.page, here).target),
            kinds.Close: self._close,
            kinds.Cut: lambda _step, _here: self._cut(),
        }

    def add_script(self, script: kinds.Script) -> None:
        """Add the documents, answers and servers of a further script."""
        self.script = self.script.merged(script)
        self._known_labels.update(kinds.labels_made(script.steps()))

    def play(
        self,
        steps: Sequence[kinds.Step],
        *,
        here: Frame | None = None,
        document: int | None = None,
        done: Done = nothing,
        wait_for_navigation: bool = True,
    ) -> None:
        """Play the steps in order, and call `done` after the last.

        The script belongs to a document of the frame `here`: the one numbered `document`, or the present one. A
        document's script runs without a pause, except before a step in a frame that is still navigating to its
        document, and it ends with its document. Without a document each step is completed, and if a page's scripts
        are stopped, its step waits until they run.
        """
        if here is not None and document is None:
            document = here.document
        play = partial(self.play, here=here, document=document, done=done)
        for number, step in enumerate(steps):
            again = partial(play, steps[number:])
            if self._must_wait(step, again) if here is None else self._is_document_left(here, document, again, done):
                return
            if here is not None and wait_for_navigation and self._is_navigating(step):
                self.world.soon(partial(again, wait_for_navigation=False))
                return
            wait_for_navigation = True
            rest = partial(play, steps[number + 1 :])
            self._known_labels.update(kinds.labels_made((step,)))
            if isinstance(step, kinds.Wait):
                self.world.after(step.seconds, rest)
                return
            try:
                if self._adds_unload_listener(step, here):
                    continue
                if self._blocks_script(step, here, rest, done):
                    return
                self._actions[type(step)](step, here)
                if isinstance(step, kinds.Popup) and waits_for_popup(step, self.labels[step.label].target):
                    self.labels[step.label].target.when_run.append(partial(self.world.soon, rest))
                    return
            except GoneError:
                continue
        done()

    def _blocks_script(self, step: kinds.Step, here: Frame | None, rest: Done, done: Done) -> bool:
        """Start a step that its script waits for and return True; return False for any other step."""
        if isinstance(step, (kinds.Navigate, kinds.NavigateFrame)):
            self._navigate(step, here, rest)
        elif isinstance(step, kinds.Dialog):
            frame = self._running(step.frame, here)
            finish, failed = partial(_go_on, rest), partial(self._throw, frame, done)
            self.dialog(frame, step.type, step.message, step.default_prompt, finish, failed)
        elif isinstance(step, kinds.Request) and step.sync:
            frame = self._running(step.frame, here)
            asking.request_and_wait(self.world, frame, step.url, partial(self._log_response, step, frame, rest))
        else:
            return False
        return True

    def _must_wait(self, step: kinds.Step, resume: Done) -> bool:
        """Return whether a step has to wait, because its page may not run yet or a dialog stops it."""
        self.world.run_soon()
        if isinstance(step, (kinds.Close, kinds.Crash)):
            return False
        used = [self.labels[label] for label in sorted(kinds.labels_used((step,))) if label in self.labels]
        for frame in used:
            if frame.target.page.held:
                frame.target.page.when_run.append(partial(self.world.soon, resume))
                return True
            if frame.renderer.stopped and not frame.renderer.absent:
                frame.renderer.parked.append(PausedSteps(resume))
                return True
        return False

    def _is_document_left(self, here: Frame, document: int | None, resume: Done, done: Done) -> bool:
        """Return whether a script's document is no longer shown: the script ends, or waits for its return."""
        if here.document == document and self.world.frames.get(here.id) is here:
            return False
        for entry in here.target.page.history.cached:
            cached_document = entry.cached_document
            if cached_document is None:
                continue
            inside = (below for child in cached_document.children for below in child.subtree())
            if cached_document.document == document or any(
                each is here and each.document == document for each in inside
            ):
                cached_document.paused_steps.append(resume)
                return True
        if here.document == document:  # the frame was removed; each step looks for its own subject
            return False
        done()
        return True

    def _is_navigating(self, step: kinds.Step) -> bool:
        named = (getattr(step, name, kinds.MAIN) for name in ("frame", "parent", "opener"))
        return any(label in self.labels and self.labels[label].navigating for label in named if label != kinds.MAIN)

    # ── labels ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def frame(self, label: str, here: Frame | None = None) -> Frame:
        """Return the frame with this label; in a document's own script `main` is the document's frame.

        Raises GoneError if the frame does not exist now, since a client may have closed it or its parent, and
        InvalidArgument if no step has ever named it.
        """
        frame = here if here is not None and label == kinds.MAIN else self.labels.get(label)
        if label in self.workers and frame is None:
            raise GoneError(label)  # a worker has no document to do that in
        if frame is not None and frame.renderer.absent and frame.target.type == "page":
            raise GoneError(label)  # nor has a page without a process
        if frame is not None and self.world.frames.get(frame.id) is frame:
            return frame
        if frame is not None or label in self._known_labels:
            raise GoneError(label)
        known = ", ".join(label for label, each in self.labels.items() if each.id in self.world.frames)
        raise InvalidArgument(f"The script has no frame {label!r} now; it has {known or 'none'}.")

    def _running(self, label: str, here: Frame | None = None) -> Frame:
        """Return the same if its renderer process has not crashed. Raises as `frame` does."""
        frame = self.frame(label, here)
        if frame.target.crashed:
            raise GoneError(label)
        return frame

    def _inside(self, label: str, here: Frame | None) -> Frame:
        """Return a frame that its parent's script acts on; its own process may have crashed.

        Raises as `frame` does.
        """
        frame = self.frame(label, here)
        if (frame.parent or frame).target.crashed:
            raise GoneError(label)
        return frame

    def script_frame(self, label: str, here: Frame | None = None) -> Frame:
        """Return the frame with this label, or the scope of the worker. Raises as `frame` does."""
        worker = self.workers.get(label)
        scope = worker.scope if worker is not None else here if label == kinds.MAIN else None
        if scope is None or scope is not scope.target.scope:
            return self._running(label, here)
        target = scope.target
        if target.closed or target.crashed or target.held or target.id not in self.world.targets:
            raise GoneError(label)
        return scope

    def label_of(self, frame: Frame) -> str | None:
        return next((label for label, each in self.labels.items() if each is frame), None)

    # ── page actions ─────────────────────────────────────────────────────────────────────────────────────────────────

    def navigate(self, frame: Frame, url: str) -> None:
        frames.navigate(self.world, frame, url, self.loaded)

    def loaded(self, frame: Frame, done: Done) -> None:
        """Run a document's own script, found by its URL or by the URL without the fragment."""
        pages, url = self.script.pages, frame.url
        frame.settings.served = self.script.served.get(url)
        self.play(pages.get(url, pages.get(url.partition("#")[0], ())), here=frame, done=done)

    def open_page(self, label: str, url: str, **options: Any) -> Target:
        target = targets.create_page(self.world, options.pop("context", self.world.default_context), url, **options)
        assert target.frame is not None
        self.labels[label] = target.frame
        frames.open_document(self.world, target.frame, url, self.loaded)
        return target

    def console(self, frame: Frame, kind: str, values: Sequence[Any]) -> None:
        """Write to the console; without values, do nothing."""
        if not values:
            return
        params: Json = {
            "type": kind,
            "args": [remote_object(value) for value in values],
            "executionContextId": frame.context,
            "timestamp": 1.7e12 + self.world.now * 1000,
            "stackTrace": {
                "callFrames": [
                    {"functionName": "", "scriptId": "3", "url": frame.url, "lineNumber": 0, "columnNumber": 8}
                ]
            },
        }
        self.world.emit_runtime_event(frame.target, "Runtime.consoleAPICalled", params, frame)

    def dialog(
        self,
        frame: Frame,
        kind: str,
        message: str,
        default: str,
        finish: Callable[[bool, str], None],
        failed: Callable[[Json], None],
    ) -> None:
        """Raise a dialog as soon as the frame's renderer is free, or run the client's override of it.

        `failed` is called with the value that the override threw.
        """
        if frame.target.page.subtype == "prerender":
            finish(False, "")
            return
        override = frame.settings.override
        if override is not None and kind != "beforeunload":
            asking.request_instead_of_dialog(self.world, frame, override, (kind, message, default), finish, failed)
            return
        document = frame.document

        def ask() -> None:
            if frame.document == document:  # otherwise the document was left while its dialog waited
                dialogs.raise_dialog(self.world, frame, kind, message, default, finish)

        dialogs.when_unblocked(frame, ask)

    def _request(self, step: kinds.Request, here: Frame | None) -> None:
        frame = self._running(step.frame, here)
        asking.request_later(self.world, frame, step.url, partial(self._log_response, step, frame, nothing))

    def _log_response(self, step: kinds.Request, frame: Frame, rest: Done, text: str | None, status: int) -> None:
        """Write the outcome of a request to the console."""
        if not step.quiet:
            self.console(frame, "log", ["failed" if text is None else f"{status} {text}"])
        rest()

    def _throw(self, frame: Frame, done: Done, value: Json) -> None:
        """End a document's script with the exception that it threw."""
        details = {**thrown.details_of(self.world, frame, frame.context, value), "executionContextId": frame.context}
        params: Json = {"timestamp": 1.7e12 + self.world.now * 1000, "exceptionDetails": details}
        self.world.emit_runtime_event(frame.target, "Runtime.exceptionThrown", params, frame)
        done()

    def _add_frame(self, step: kinds.AddFrame, here: Frame | None) -> None:
        parent = self._running(step.parent, here)

        def loaded(frame: Frame, done: Done) -> None:
            self.labels[step.label] = frame
            self.loaded(frame, done)

        url = resolve_url(contexts.document_url(parent), step.url) if step.url else "about:blank"
        self.labels[step.label] = frames.add_frame(self.world, parent, url, step.label, loaded)

    def _navigate(self, step: kinds.Navigate | kinds.NavigateFrame, here: Frame | None, rest: Done) -> None:
        if isinstance(step, kinds.NavigateFrame):
            frame = self._inside(step.label, here)
            url = frame.src = resolve_url(contexts.document_url(frame.parent or frame), step.url)
        else:
            frame = self.frame(step.page, here)
            url = resolve_url(frame.url, step.url)
        by_itself = isinstance(step, kinds.Navigate)
        frames.navigate_by_script(self.world, frame, url, self.loaded, rest, by_itself=by_itself)

    def go_to(self, frame: Frame, url: str, reason: str, done: Done, *, replace_entry: bool = False) -> None:
        """Navigate or reload as a script does; the script goes on when no beforeunload dialog objects."""
        again = reason == "reload"
        frames.navigate_by_script(
            self.world,
            frame,
            frame.url if again else resolve_url(frame.url, url),
            self.loaded,
            done,
            reason=reason,
            replace_entry=replace_entry,
            by_itself=True,
        )

    def _adds_unload_listener(self, step: kinds.Step, here: Frame | None) -> bool:
        """Add a listener if the step is for the moment when its document is left; return whether it is."""
        if not isinstance(step, (kinds.Dialog, kinds.Console)):
            return False
        if isinstance(step, kinds.Dialog) and (step.at or step.type == "beforeunload"):
            unloading.listen_with_dialog(
                self._running(step.frame, here), step.at, step.type, step.message, step.default_prompt
            )
            return True
        if isinstance(step, kinds.Console) and step.at:
            frame = self._running(step.frame, here)
            unloading.listen(frame, step.at, partial(self.console, frame, step.type, [step.text * step.times]))
            return True
        return False

    def _go(self, step: kinds.Go, here: Frame | None) -> None:
        self.go(self.frame(step.page, here), step.delta)

    def go(self, frame: Frame, delta: int) -> None:
        """Go through the history of a page as a script does; nothing happens beyond its ends."""
        entry = frame.target.page.history.by(delta)
        if entry is not None:
            traversals.go(self.world, frame.target.page, entry, self.loaded)

    def _remove(self, frame: Frame) -> None:
        if frame.parent is None:
            raise InvalidArgument("A page's own frame cannot be removed; close the page.")
        frames.remove_frame(self.world, frame)

    def _move_frame(self, step: kinds.MoveFrame, here: Frame | None) -> None:
        frame = self._inside(step.label, here)
        parent, url = frame.parent, frame.src
        self._remove(frame)
        assert parent is not None
        self.labels[step.label] = frames.add_frame(self.world, parent, url, frame.name, self.loaded)

    def _script_error(self, step: kinds.ScriptError, here: Frame | None) -> None:
        frame = self.script_frame(step.frame, here)
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
        if frame is frame.target.scope and not any("Runtime" in session.domains for session in frame.target.sessions):
            details = params["exceptionDetails"]  # a worker adds these only if a session has Runtime enabled
            del details["stackTrace"], details["exception"]["preview"]
        self.world.emit_runtime_event(frame.target, "Runtime.exceptionThrown", params, frame)

    def _popup(self, step: kinds.Popup, here: Frame | None) -> None:
        self.popup(self._running(step.opener, here), step.url, label=step.label, noopener=step.noopener)

    def emit_window_open(self, opener: Frame, url: str, *, noopener: bool = False, user_gesture: bool) -> None:
        """Send `Page.windowOpen` for a window that a script wants, whether or not it gets one."""
        features = ["menubar", "toolbar", "status", "scrollbars", "resizable", *(["noopener"] if noopener else [])]
        params = {"url": url, "windowName": "_blank", "windowFeatures": features, "userGesture": user_gesture}
        self.world.emit_to(opener.target, "Page", "Page.windowOpen", params, opener)

    def popup(self, opener: Frame, url: str, *, label: str | None = None, noopener: bool = False) -> Target:
        """Open a window as a script does."""
        url = resolve_url(contexts.document_url(opener), url)
        self.emit_window_open(opener, url, noopener=noopener, user_gesture=True)
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
        frame = self._running(step.frame, here)
        self.workers[step.label] = workers.start(self.world, frame, step.kind, step.url, self.loaded)

    def _prerender(self, step: kinds.Prerender, here: Frame | None) -> None:
        frame = self._running(step.page, here)
        made = prerenders.begin(self.world, frame, urljoin(contexts.document_url(frame), step.url), self.loaded)
        if made is not None:
            self.labels[step.label] = made

    def _rename(self, old: Frame, new: Frame) -> None:
        """Give the labels of a replaced page to the page that replaces it."""
        for label in [label for label, frame in self.labels.items() if frame is old]:
            self.labels[label] = new

    def _close(self, step: kinds.Close, here: Frame | None) -> None:
        named = self.labels.get(step.page)
        discarded = here is None and named is not None and named.renderer.absent and named.target.page.tab is not None
        frame = named if named is not None and discarded else self.frame(step.page, here)
        targets.close(self.world, frame.target.page)

    def _end_worker(self, step: kinds.EndWorker, _here: Frame | None) -> None:
        target = self.workers.get(step.label)
        if target is None or target.id not in self.world.targets or target.closed:
            raise GoneError(step.label)
        self.world.soon(partial(workers.close, self.world, target))


def waits_for_popup(step: kinds.Popup, target: Target) -> bool:
    """Return whether the script that opened a window must wait until that window may run (fact 7)."""
    return bool(target.held) and not step.noopener


def remote_object(value: Any) -> Json:
    """Return a value as a CDP remote object, by value."""
    if value is None:
        return {"type": "object", "subtype": "null", "value": None}
    if isinstance(value, bool):
        return {"type": "boolean", "value": value}
    if isinstance(value, (int, float)):
        return {
            "type": "number",
            "value": value,
            "description": number_text(float(value)),
        }
    if isinstance(value, str):
        return {"type": "string", "value": value}
    return {"type": "object", "value": value}


def _go_on(rest: Done, _accepted: bool, _text: str) -> None:
    rest()
