"""Measures two walks through the packages: which functions run for one event and for one call.

A walk is the list of Python calls into `cdp_core` and `cdp_supervisor` (without `cdp_core.testing`) from the arrival
of bytes to the result that the caller sees. The supervisor runs over a real WebSocket to a fake browser in another
thread, so that no frame of the fake is counted.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import attrs
import trio

import cdp_core
from cdp_core.testing import FakeBrowser, start_fake_browser
from cdp_core.testing.steps import Dialog
from cdp_supervisor import Supervisor, open_supervisor

ROOT = Path(cdp_core.__file__).parents[1]
PACKAGES = ("cdp_core", "cdp_supervisor")
INLINED = ("<listcomp>", "<dictcomp>", "<setcomp>")
"""Not calls from Python 3.12 on, so not counted on an older one."""


@attrs.frozen
class Walk:
    """The calls of one walk, each as (file, function), in the order in which they began."""

    calls: tuple[tuple[str, str], ...]

    @property
    def files(self) -> tuple[str, ...]:
        """Each file once, in the order of the first call into it."""
        return tuple(dict.fromkeys(file for file, _ in self.calls))

    @property
    def changes(self) -> int:
        """The number of calls that are in another file than the call before them."""
        return sum(one[0] != other[0] for one, other in zip(self.calls, self.calls[1:], strict=False))

    def __str__(self) -> str:
        return f"{len(self.calls)} calls, {len(self.files)} files, {self.changes} changes of file"


@contextmanager
def recorded() -> Iterator[list[tuple[str, str]]]:
    """Record the calls of this thread for the block."""
    calls: list[tuple[str, str]] = []

    def on_call(frame: FrameType, event: str, _arg: object) -> None:
        if event != "call" or frame.f_code.co_name in INLINED:
            return
        file = frame.f_code.co_filename
        if not file.startswith(str(ROOT)):
            return
        name = Path(file).relative_to(ROOT)
        if name.parts[0] in PACKAGES and "testing" not in name.parts:
            calls.append((str(name), frame.f_code.co_name))

    sys.setprofile(on_call)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def walk_of_a_dialog() -> Walk:
    """Record the walk from the bytes of a `Page.javascriptDialogOpening` to the snapshot with the dialog."""

    async def act(supervisor: Supervisor, play: Callable[..., Any]) -> Walk:
        for _warm in range(2):
            await opened(supervisor, play)
            await supervisor.respond_to_dialog("accept")
        with recorded() as calls:
            await opened(supervisor, play)
        walk = Walk(tuple(calls))
        await supervisor.respond_to_dialog("accept")
        return walk

    async def opened(supervisor: Supervisor, play: Callable[..., Any]) -> None:
        await trio.to_thread.run_sync(play, Dialog("alert", "Hello"))
        await trio.sleep(0.2)
        assert supervisor.snapshot().pending_dialogs

    return run(act)


def walk_of_an_evaluation() -> Walk:
    """Record the walk of `await supervisor.evaluate("1+1")`, to the browser and back."""

    async def act(supervisor: Supervisor, _play: Callable[..., Any]) -> Walk:
        for _warm in range(3):
            await supervisor.evaluate("1+1")
        with recorded() as calls:
            await supervisor.evaluate("1+1")
        return Walk(tuple(calls))

    return run(act)


def run(act: Callable[[Supervisor, Callable[..., Any]], Awaitable[Walk]]) -> Walk:
    """Run `act` on a supervisor after its setup."""
    fake = FakeBrowser()
    with start_fake_browser(fake) as endpoint:

        async def main() -> Walk:
            async with open_supervisor(endpoint.ws_url, keepalive=None) as supervisor:
                await trio.sleep(0.2)
                return await act(supervisor, endpoint.fake.play)

        return trio.run(main)
