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
    NavigationBlockedByDialog,
    NoPendingDialog,
    PageFrozen,
    RemedyFailed,
    ScriptFailed,
    SupervisorError,
    SupervisorStopped,
    UnknownCall,
    UnknownDialog,
    UnknownFrame,
    UnknownTarget,
    UnsupportedBackend,
    WouldEndBrowser,
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
from cdp_supervisor.sansio.effects import AnswerFetch, ClaimFetch, EndDialog, Note, OpenDialog, ReleaseFetch, Send
from cdp_supervisor.sansio.extensions import AnsweringExtension, Extension, FoldingExtension
from cdp_supervisor.sansio.health import Health
from cdp_supervisor.sansio.inputs import (
    BrowserEvent,
    DialogAnswered,
    FetchEnded,
    FetchExpired,
    FetchPaused,
    Instant,
    LinkDown,
    LinkUp,
    Replied,
    SessionClosed,
    SessionOpened,
    Stopping,
    TimePassed,
)
from cdp_supervisor.sansio.options import DialogPolicy, DialogType, Limits, Policy, Reconnect, Scope
from cdp_supervisor.sansio.requests import *  # noqa: F403 - its list names every request
from cdp_supervisor.sansio.state import Deadline
from cdp_supervisor.sansio.stopping import StopReport
from cdp_supervisor.sansio.view import FrameView, LinkView, PageView, SessionView, Snapshot
from cdp_supervisor.supervisor import BlockedCall, Supervisor

__all__ = [
    "AmbiguousDialog",
    "AmbiguousTarget",
    "AnswerFetch",
    "AnsweringExtension",
    "BlockedByDialog",
    "BlockedCall",
    "BrowserEvent",
    "CallTimedOut",
    "Change",
    "ClaimFetch",
    "Connect",
    "Deadline",
    "DialogAnswerRefused",
    "DialogAnswered",
    "DialogClosed",
    "DialogOpened",
    "DialogPolicy",
    "DialogType",
    "DialogUnanswerable",
    "DialogView",
    "EndDialog",
    "Extension",
    "FetchEnded",
    "FetchExpired",
    "FetchPaused",
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
    "LinkDown",
    "LinkUp",
    "LinkView",
    "Moment",
    "NavigationBlockedByDialog",
    "NoPendingDialog",
    "Note",
    "OpenDialog",
    "PageCrashed",
    "PageFrozen",
    "PageGone",
    "PageOpened",
    "PageView",
    "Policy",
    "Reconnect",
    "ReleaseFetch",
    "RemedyFailed",
    "Replied",
    "Scope",
    "ScriptFailed",
    "Send",
    "SessionClosed",
    "SessionOpened",
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
    "WouldEndBrowser",
    "open_supervisor",
    "replay",
]
__all__ += requests.__all__

logging.getLogger("cdp_supervisor").addHandler(logging.NullHandler())
