"""A supervisor as projects write one for themselves: `websockets`, json, and dicts of dataclasses.

It does the work of Hermes's supervisor: frames in a dict, dialogs with a watchdog and the last 20 that ended, a ring
of 50 console lines with their first four arguments joined, all under a lock, since another thread takes the snapshot.
Hermes has one supervisor per page; this one has many pages, so it keeps the recent dialogs and lines for each
session.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from fake_messages import page_id
from job import Job

from adapters import hermes_like

LOOP = hermes_like.LOOP
WATCHDOG = 300.0
RECENT, LINES, SHOWN = 20, 50, 30


@dataclass(frozen=True)
class Frame:
    frame_id: str
    url: str
    origin: str
    parent_frame_id: str | None
    is_oopif: bool
    session_id: str | None
    name: str = ""


@dataclass
class Dialog:
    id: str
    type: str
    message: str
    default_prompt: str
    opened_at: float
    session_id: str | None
    frame_id: str | None = None
    closed_by: str = ""
    closed_at: float | None = None


@dataclass(frozen=True)
class Line:
    ts: float
    level: str
    text: str
    url: str = ""


class Client(hermes_like.Client):
    async def open(self, job: Job) -> None:
        self._lock = threading.Lock()
        self._frames: dict[str, Frame] = {}
        self._pending_dialogs: dict[str, Dialog] = {}
        self._recent: defaultdict[str | None, list[Dialog]] = defaultdict(list)
        self._watchdogs: dict[str, asyncio.TimerHandle] = {}
        self._console: defaultdict[str | None, list[Line]] = defaultdict(list)
        self._dialogs = 0
        job.targets = [page_id(i) for i in range(job.sessions)]
        await super().open(job)

    def watch(self) -> None:
        self._handlers = {
            "Page.javascriptDialogOpening": self._on_dialog_opening,
            "Page.javascriptDialogClosed": self._on_dialog_closed,
            "Page.frameAttached": self._on_frame_attached,
            "Page.frameNavigated": self._on_frame_navigated,
            "Page.frameDetached": self._on_frame_detached,
            "Runtime.consoleAPICalled": self._on_console,
        }
        for target_id, session in zip(map(page_id, range(len(self._sessions))), self._sessions, strict=True):
            self._frames[target_id] = Frame(target_id, "about:blank", "", None, is_oopif=False, session_id=session)

    def known(self) -> Mapping[str, int]:
        shown = self.snapshot()
        return {
            "frames": len(self._frames),
            "pending": len(shown["pending_dialogs"]),
            "dialogs": self._dialogs,
            "lines": max(len(lines[-LINES:]) for lines in self._console.values()),
        }

    def snapshot(self) -> dict[str, Any]:
        with self._lock:
            return {
                "pending_dialogs": [asdict(each) for each in self._pending_dialogs.values()],
                "recent_dialogs": [asdict(each) for recent in self._recent.values() for each in recent[-RECENT:]],
                "frames": [asdict(each) for each in list(self._frames.values())[:SHOWN]],
                "console_errors": [
                    asdict(each) for lines in self._console.values() for each in lines[-LINES:] if each.level == "error"
                ],
            }

    def _on_dialog_opening(self, params: dict[str, Any], session: str | None) -> None:
        self._dialogs += 1
        dialog = Dialog(
            id=f"d-{self._dialogs}",
            type=str(params.get("type") or ""),
            message=str(params.get("message") or ""),
            default_prompt=str(params.get("defaultPrompt") or ""),
            opened_at=time.time(),
            session_id=session,
            frame_id=params.get("frameId"),
        )
        with self._lock:
            self._pending_dialogs[dialog.id] = dialog
        watchdog = asyncio.get_running_loop().call_later(WATCHDOG, self._overdue, dialog.id)
        self._watchdogs[dialog.id] = watchdog

    def _overdue(self, dialog_id: str) -> None:
        self._archive(dialog_id, "watchdog")

    def _on_dialog_closed(self, _params: dict[str, Any], session: str | None) -> None:
        ended = [each.id for each in self._pending_dialogs.values() if each.session_id == session]
        if ended:
            self._archive(ended[0], "remote")

    def _archive(self, dialog_id: str, closed_by: str) -> None:
        self._watchdogs.pop(dialog_id).cancel()
        with self._lock:
            dialog = self._pending_dialogs.pop(dialog_id)
            dialog.closed_by, dialog.closed_at = closed_by, time.time()
            recent = self._recent[dialog.session_id]
            recent.append(dialog)
            if len(recent) > 2 * RECENT:
                del recent[:-RECENT]

    def _on_frame_attached(self, params: dict[str, Any], session: str | None) -> None:
        frame_id = params.get("frameId")
        if frame_id:
            with self._lock:
                self._frames[frame_id] = Frame(
                    frame_id, "", "", params.get("parentFrameId"), is_oopif=False, session_id=session
                )

    def _on_frame_navigated(self, params: dict[str, Any], session: str | None) -> None:
        shown = params.get("frame") or {}
        frame_id = shown.get("id")
        if not frame_id:
            return
        with self._lock:
            known = self._frames.get(frame_id)
            frame = Frame(
                frame_id,
                str(shown.get("url") or ""),
                str(shown.get("securityOrigin") or shown.get("origin") or ""),
                shown.get("parentId") or (known.parent_frame_id if known else None),
                is_oopif=known.is_oopif if known else False,
                session_id=known.session_id if known else session,
                name=str(shown.get("name") or (known.name if known else "")),
            )
            self._frames[frame_id] = frame

    def _on_frame_detached(self, params: dict[str, Any], _session: str | None) -> None:
        frame_id = params.get("frameId")
        if not frame_id or params.get("reason") == "swap":
            return
        with self._lock:
            known = self._frames.get(frame_id)
            if known is not None and known.is_oopif and known.session_id:
                self._frames[frame_id] = replace(known, parent_frame_id=None)
                return
            self._frames.pop(frame_id, None)

    def _on_console(self, params: dict[str, Any], session: str | None) -> None:
        parts = [
            str(argument.get("value") or argument.get("description") or "")
            for argument in (params.get("args") or [])[:4]
            if isinstance(argument, dict)
        ]
        stack = params.get("stackTrace") or {}
        frames = stack.get("callFrames") or []
        url = str(frames[0].get("url") or "") if frames and isinstance(frames[0], dict) else ""
        with self._lock:
            lines = self._console[session]
            lines.append(Line(time.time(), str(params.get("type") or "log"), " ".join(parts), url))
            if len(lines) > 2 * LINES:
                del lines[:-LINES]
