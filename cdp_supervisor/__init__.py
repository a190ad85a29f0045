"""A supervisor for whole browsers over the Chrome DevTools Protocol, on the engine `cdp_core`.

Begin with `open_supervisor`, or, on another event loop or a connection of your own, with `SupervisorEngine`. Both drive
the state machine in `sansio`; to read the code, begin with `sansio/step.py`.
"""

import logging

from cdp_supervisor.driver import Connect
from cdp_supervisor.engine import Moment, SupervisorEngine
from cdp_supervisor.errors import (
    AmbiguousDialog,
    AmbiguousTarget,
    BlockedByDialog,
    CallTimedOut,
    DialogAnswerRefused,
    DialogUnanswerable,
    FrameSharesProcess,
    InvalidPolicy,
    NoPendingDialog,
    PageFrozen,
    ScriptFailed,
    SupervisorError,
    SupervisorStopped,
    UnknownCall,
    UnknownDialog,
    UnknownFrame,
    UnknownTarget,
    UnsupportedBackend,
)
from cdp_supervisor.opening import open_supervisor
from cdp_supervisor.recording import replay
from cdp_supervisor.sansio import requests
from cdp_supervisor.sansio.changes import (
    Change,
    DialogClosed,
    DialogOpened,
    FrameAdded,
    FrameNavigated,
    FrameRemoved,
    LinkChanged,
    PageCrashed,
    PageGone,
    PageOpened,
)
from cdp_supervisor.sansio.dialog_view import DialogView
from cdp_supervisor.sansio.effects import Note, Send
from cdp_supervisor.sansio.extensions import AnsweringExtension, Extension, FoldingExtension
from cdp_supervisor.sansio.health import Health
from cdp_supervisor.sansio.inputs import BrowserEvent, Instant, Replied, Stopping, TimePassed
from cdp_supervisor.sansio.options import DialogPolicy, DialogType, Limits, Policy, Reconnect, Scope
from cdp_supervisor.sansio.requests import *  # noqa: F403 - its list names every request
from cdp_supervisor.sansio.state import Deadline
from cdp_supervisor.sansio.stopping import StopReport
from cdp_supervisor.sansio.view import FrameView, LinkView, PageView, SessionView, Snapshot
from cdp_supervisor.supervisor import BlockedCall, Supervisor

__all__ = [
    "AmbiguousDialog",
    "AmbiguousTarget",
    "AnsweringExtension",
    "BlockedByDialog",
    "BlockedCall",
    "BrowserEvent",
    "CallTimedOut",
    "Change",
    "Connect",
    "Deadline",
    "DialogAnswerRefused",
    "DialogClosed",
    "DialogOpened",
    "DialogPolicy",
    "DialogType",
    "DialogUnanswerable",
    "DialogView",
    "Extension",
    "FoldingExtension",
    "FrameAdded",
    "FrameNavigated",
    "FrameRemoved",
    "FrameSharesProcess",
    "FrameView",
    "Health",
    "Instant",
    "InvalidPolicy",
    "Limits",
    "LinkChanged",
    "LinkView",
    "Moment",
    "NoPendingDialog",
    "Note",
    "PageCrashed",
    "PageFrozen",
    "PageGone",
    "PageOpened",
    "PageView",
    "Policy",
    "Reconnect",
    "Replied",
    "Scope",
    "ScriptFailed",
    "Send",
    "SessionView",
    "Snapshot",
    "StopReport",
    "Stopping",
    "Supervisor",
    "SupervisorEngine",
    "SupervisorError",
    "SupervisorStopped",
    "TimePassed",
    "UnknownCall",
    "UnknownDialog",
    "UnknownFrame",
    "UnknownTarget",
    "UnsupportedBackend",
    "open_supervisor",
    "replay",
]
__all__ += requests.__all__

logging.getLogger("cdp_supervisor").addHandler(logging.NullHandler())
