"""The Chrome DevTools Protocol over trio: one link, its sessions, its targets, its events.

Start with `open_browser_session`. The names below are the whole public surface. Each is defined in exactly one
module, and an event passes these modules in this order: `transports.websocket.fast` → `sansio.router` → `link` →
`subscriptions`.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cdp_core._version import __version__
from cdp_core.browser_session import BrowserSession, open_browser_session, open_pipe_session
from cdp_core.discovery import Address
from cdp_core.errors import (
    BindingDrift,
    CdpError,
    CdpWarning,
    CommandRefused,
    ConnectionLost,
    DiscoveryError,
    Gone,
    InvalidArgument,
    LaunchFailed,
    LocalProtocolError,
    MissingField,
    NavigationBlocked,
    NavigationFailed,
    NavigationTimedOut,
    RemoteProtocolError,
    SessionGone,
    SubscriberLagged,
    TapFailed,
    TargetCrashed,
    TargetGone,
)
from cdp_core.expectations import Expectation
from cdp_core.fetching import FetchClaim, PausedRequest
from cdp_core.link import Batches, LinkStatistics, Tap
from cdp_core.replies import PendingReply
from cdp_core.sansio.load_state import LoadState
from cdp_core.sansio.messages import (
    BrowserContextId,
    CommandId,
    Event,
    Json,
    Malformed,
    Payload,
    Refusal,
    Result,
    SessionId,
    TargetId,
    TypedCommand,
    TypedEvent,
)
from cdp_core.sansio.navigation import Navigation
from cdp_core.sansio.outcomes import Loss
from cdp_core.sansio.router import Anomaly, CommandDone, Output, Router, RouterStatistics, SessionClosed, SessionOpened
from cdp_core.sansio.target_table import TargetChanged, TargetCreated, TargetDestroyed, TargetInfo
from cdp_core.session import SessionStatistics
from cdp_core.subscriptions import Missed, Received, Subscription, SubscriptionStatistics
from cdp_core.target_session import PageSession
from cdp_core.targets import Arm, BridgeStatistics, TargetBridge
from cdp_core.transports import DirectTransport, Transport

if TYPE_CHECKING:
    from cdp_core.bindings._values import Command
    from cdp_core.launching import open_chromium
    from cdp_core.sansio.trace import (
        LinkRecord,
        MarkRecord,
        MessageRecord,
        OtherRecord,
        TraceHeader,
        TraceRecord,
    )
    from cdp_core.sansio.trace_reading import TraceDecoder
    from cdp_core.tracing.file import TraceStatistics, TraceWriter, read_trace
    from cdp_core.tracing.replayed import RecordedTransport
    from cdp_core.tracing.tee import TeeTransport
    from cdp_core.transports.memory import MemoryStatistics, MemoryTransport, memory_pair
    from cdp_core.transports.pipe import PipeStatistics
    from cdp_core.transports.websocket.connection import WebSocketStatistics

__all__ = [
    "Address",
    "Anomaly",
    "Arm",
    "Batches",
    "BindingDrift",
    "BridgeStatistics",
    "BrowserContextId",
    "BrowserSession",
    "CdpError",
    "CdpWarning",
    "Command",
    "CommandDone",
    "CommandId",
    "CommandRefused",
    "ConnectionLost",
    "DirectTransport",
    "DiscoveryError",
    "Event",
    "Expectation",
    "FetchClaim",
    "Gone",
    "InvalidArgument",
    "Json",
    "LaunchFailed",
    "LinkRecord",
    "LinkStatistics",
    "LoadState",
    "LocalProtocolError",
    "Loss",
    "Malformed",
    "MarkRecord",
    "MemoryStatistics",
    "MemoryTransport",
    "MessageRecord",
    "Missed",
    "MissingField",
    "Navigation",
    "NavigationBlocked",
    "NavigationFailed",
    "NavigationTimedOut",
    "OtherRecord",
    "Output",
    "PageSession",
    "PausedRequest",
    "Payload",
    "PendingReply",
    "PipeStatistics",
    "Received",
    "RecordedTransport",
    "Refusal",
    "RemoteProtocolError",
    "Result",
    "Router",
    "RouterStatistics",
    "SessionClosed",
    "SessionGone",
    "SessionId",
    "SessionOpened",
    "SessionStatistics",
    "SubscriberLagged",
    "Subscription",
    "SubscriptionStatistics",
    "Tap",
    "TapFailed",
    "TargetBridge",
    "TargetChanged",
    "TargetCrashed",
    "TargetCreated",
    "TargetDestroyed",
    "TargetGone",
    "TargetId",
    "TargetInfo",
    "TeeTransport",
    "TraceDecoder",
    "TraceHeader",
    "TraceRecord",
    "TraceStatistics",
    "TraceWriter",
    "Transport",
    "TypedCommand",
    "TypedEvent",
    "WebSocketStatistics",
    "__version__",
    "memory_pair",
    "open_browser_session",
    "open_chromium",
    "open_pipe_session",
    "read_trace",
]

logging.getLogger("cdp_core").addHandler(logging.NullHandler())

_LAZY = {
    "Command": "cdp_core.bindings._values",
    "LinkRecord": "cdp_core.sansio.trace",
    "MarkRecord": "cdp_core.sansio.trace",
    "MemoryStatistics": "cdp_core.transports.memory",
    "MemoryTransport": "cdp_core.transports.memory",
    "MessageRecord": "cdp_core.sansio.trace",
    "OtherRecord": "cdp_core.sansio.trace",
    "PipeStatistics": "cdp_core.transports.pipe",
    "RecordedTransport": "cdp_core.tracing.replayed",
    "TeeTransport": "cdp_core.tracing.tee",
    "TraceDecoder": "cdp_core.sansio.trace_reading",
    "TraceHeader": "cdp_core.sansio.trace",
    "TraceRecord": "cdp_core.sansio.trace",
    "TraceStatistics": "cdp_core.tracing.file",
    "TraceWriter": "cdp_core.tracing.file",
    "WebSocketStatistics": "cdp_core.transports.websocket.connection",
    "memory_pair": "cdp_core.transports.memory",
    "open_chromium": "cdp_core.launching",
    "read_trace": "cdp_core.tracing.file",
}
"""Names that most programs never use; the first access imports their module."""


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(module), name)
    return value


def __dir__() -> list[str]:
    return __all__
