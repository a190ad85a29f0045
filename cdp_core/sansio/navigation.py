"""One navigation, from the events of its page's session and the reply to its `Page.navigate`.

The reply names the document by its loaderId, and only events of that document count (fact 79): a commit is its
`Page.frameNavigated`, or a lifecycle event, which the browser sends again to a session that asks late. The reply comes
before the commit. A reply with `net::ERR_ABORTED` does not say why: an answer without a document shows its status
first, and another navigation or the end of loading follows the reply.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

from cdp_core.sansio import load_state
from cdp_core.sansio.load_state import EVENTS, LIFECYCLE, ORDER, SAME_DOCUMENT, LoadState, Phase
from cdp_core.sansio.messages import Json, is_object
from cdp_core.sansio.structs import Struct

WaitUntil = Literal["load", "domcontentloaded", "commit", "networkidle"]
STATES: Final[tuple[str, ...]] = get_args(WaitUntil)
PHASES: Final[dict[str, Phase]] = {"commit": "loading", "domcontentloaded": "interactive", "load": "complete"}
OPENING, CLOSED = "Page.javascriptDialogOpening", "Page.javascriptDialogClosed"
RESPONSE: Final = "Network.responseReceived"
WATCHED: Final = ("Page.frameNavigated", *EVENTS, OPENING, CLOSED, RESPONSE)
"""The events of a `NavigationProgress`."""
EMPTY: Final = (204, 205)
"""Statuses of answers that bring no document."""
ABORTED: Final = "net::ERR_ABORTED"
COMMIT: Final = frozenset(("commit", *LIFECYCLE))
"""Lifecycle events that follow the commit of their document."""
REASONS: Final[dict[str, str]] = {
    "download": "it became a download; listen for Browser.downloadWillBegin",
    "no_document": "the server answered without a document, and the old one stays; send the request with a script",
    "superseded": "another navigation replaced it; wait for that one, or navigate again",
    "stopped": "loading ended before its document came, because it was stopped, a dialog kept the old document, or such "
    "an address has no document; navigate again",
}


class Navigation(Struct, frozen=True, kw_only=True):
    """A navigation that came as far as was asked: its document, and the HTTP status of the answer.

    `status` is None if there was no answer over HTTP. A navigation within the document has no `loader_id`.
    """

    url: str
    status: int | None = None
    loader_id: str = ""
    same_document: bool = False


class DocumentProgress:
    """How far the document has loaded that a frame shows, whichever that is."""

    def __init__(self, frame_id: str, wait_until: str) -> None:
        self.load = LoadState()
        self.done = False
        self.reason = ""
        self.dialog = ""  # the type of the dialog that is open
        self._frame_id = frame_id
        self._wait_until = wait_until
        self._early: dict[str, LoadState] = {}

    def event(self, method: str, params: Json, at: float) -> None:
        """Apply one of WATCHED."""
        if method in (OPENING, CLOSED):
            self.dialog = str(params.get("type")) if method == OPENING else ""
        elif not self._is_of_another_frame(params) and method != RESPONSE:
            self._apply(method, params, at)
            self._settle()

    def listed(self, loader: str) -> None:
        """Apply the reply to `Page.getFrameTree`; the lifecycle events before it were of this document."""
        if loader != self.load.loader:
            self.load = self._early.get(loader, LoadState(loader=loader))
        self._early.clear()
        self._settle()

    @property
    def is_ending(self) -> bool:
        """True if no document seems to come any more."""
        return False

    @property
    def dialog_phase(self) -> str:
        """Where an open dialog belongs: to the page that is left, or to the one that is loading."""
        return "loading"

    def state(self) -> str:
        """Describe how far it came."""
        if self.dialog:
            return f"a dialog ({self.dialog}) is open; answer it with Page.handleJavaScriptDialog"
        return f"its document is {self.load.phase}, and its network is {'idle' if self.load.network_idle else 'busy'}"

    def _is_of_another_frame(self, params: Json) -> bool:
        frame = params.get("frame")
        return bool(params.get("frameId", frame.get("id") if is_object(frame) else self._frame_id) != self._frame_id)

    def _apply(self, method: str, params: Json, at: float) -> None:
        if method == "Page.lifecycleEvent":
            loader, name = str(params.get("loaderId")), str(params.get("name"))
            if self._has_committed(loader, name):
                self.load = LoadState(loader=loader, phase="loading")
            elif not self.load.loader:
                early = self._early.get(loader, LoadState(loader=loader))
                self._early = {loader: load_state.lifecycle(early, loader, name)}
        self.load = load_state.applied(self.load, method, params, at)

    def _has_committed(self, loader: str, name: str) -> bool:
        """True if a lifecycle event tells of a new document; the first one of a document tells of its commit."""
        return self.load.loader not in ("", loader) and name == "init"

    def _settle(self) -> None:
        self.done = self.done or self._has_loaded()

    def _has_loaded(self) -> bool:
        if not self.load.loader:
            return False
        if self._wait_until == "networkidle":
            return self.load.network_idle
        return ORDER.index(self.load.phase) >= ORDER.index(PHASES[self._wait_until])


class NavigationProgress(DocumentProgress):
    """How far one navigation has come; `done` or `reason` (why it failed) is set at its end."""

    def __init__(self, frame_id: str, wait_until: str, url: str) -> None:
        super().__init__(frame_id, wait_until)
        self._url = url
        self._loader: str | None = None  # None: not answered; empty: a navigation within the document
        self._aborted = self._begun = False
        self._status: tuple[str, int] | None = None

    def event(self, method: str, params: Json, at: float) -> None:
        """Apply one of WATCHED."""
        if method == RESPONSE and not self._is_of_another_frame(params):
            self._responded(params)
        super().event(method, params, at)

    def replied(self, result: Json) -> None:
        """Apply the reply to `Page.navigate`."""
        loader, error = result.get("loaderId", ""), result.get("errorText")
        self._loader = loader if isinstance(loader, str) else ""
        if not isinstance(error, str):
            self._settle()
        elif result.get("isDownload"):
            self.reason = "download"
        elif error != ABORTED:
            self.reason = error[:64]
        elif self._status is not None and self._status[0] == loader and self._status[1] in EMPTY:
            self.reason = "no_document"
        elif loader and self.load.navigating_to not in ("", loader):  # none: a beforeunload dialog was dismissed
            self.reason = "superseded"
        else:
            self._aborted = True

    def give_up(self) -> None:
        """Note that nothing came after the signs of an end."""
        self.reason = self.reason or "stopped"

    @property
    def is_ending(self) -> bool:
        return self._aborted or (self._begun and self._loader not in (self.load.loader, self.load.navigating_to))

    @property
    def dialog_phase(self) -> str:
        return "loading" if self._is_shown() else "leaving"

    def result(self) -> Navigation:
        """Return the navigation that is done."""
        loader = self._loader or ""
        status = self._status[1] if self._status is not None and self._status[0] == loader else None
        return Navigation(url=self._url, status=status, loader_id=loader, same_document=not loader)

    def failure(self) -> str:
        """Describe why it failed, and what to do."""
        return REASONS.get(self.reason, f"its document could not be loaded ({self.reason}); check the address")

    def state(self) -> str:
        if not self.dialog and not self._is_shown():
            return "the server has not answered; wait longer, or end the navigation with Page.stopLoading"
        return super().state()

    def _is_shown(self) -> bool:
        return bool(self._loader) and self.load.loader == self._loader

    def _responded(self, params: Json) -> None:
        response, loader = params.get("response"), params.get("loaderId")
        if isinstance(loader, str) and params.get("requestId") == loader and is_object(response):
            status = response.get("status")
            if isinstance(status, int):
                self._status = (loader, status)

    def _apply(self, method: str, params: Json, at: float) -> None:
        super()._apply(method, params, at)
        if not self._aborted:
            return
        if method == "Page.frameStoppedLoading":
            self.give_up()
        elif method == "Page.frameStartedNavigating" and params.get("navigationType") not in SAME_DOCUMENT:
            self.reason = self.reason or "superseded"

    def _has_committed(self, loader: str, name: str) -> bool:
        """True for our own document; its `Page.frameNavigated` may have come before Page was enabled."""
        return loader == self._loader != self.load.loader and name in COMMIT

    def _settle(self) -> None:
        if self._loader is None or self.done or self.reason:
            return
        load = self.load
        self._begun = self._begun or self._loader in (load.loader, load.navigating_to)
        self.done = not self._aborted and (self._loader == "" or (self._is_shown() and self._has_loaded()))
        if not self.done and self._begun and load.loader not in ("", self._loader):
            self.reason = "" if load.navigating_to == self._loader and not self._aborted else "superseded"
