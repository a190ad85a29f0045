"""What scripts ask for by XMLHttpRequest, for themselves or in the place of a dialog.

A document's policies come first (policies.py), then those who have a say (fetching.py), then the network. A script that
waits for the answer holds its whole process meanwhile; one whose document is left, or whose process has gone, never gets
it (fact 33).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from urllib.parse import urljoin

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.model import dialogs, fetching, policies
from cdp_core.testing.fake.model.fetching import Answered, Asked
from cdp_core.testing.fake.model.parts import Frame, Renderer
from cdp_core.testing.fake.script import overrides, thrown
from cdp_core.testing.fake.world import World
from cdp_core.testing.steps import Override

Brought = Callable[[str | None, int], None]
"""Told the text that came, None for a failure, and the status."""


def ask_later(world: World, frame: Frame, url: str, brought: Brought) -> None:
    """Ask for something when the script is over."""
    asked, document = _asked(frame, url, None), frame.document
    world.soon(partial(_ask, world, asked, partial(_bring, world, asked, document, brought), sync=False))


def wait_for(world: World, frame: Frame, url: str, brought: Brought) -> None:
    """Ask for something, as soon as the frame's renderer is free, and stop it until that came."""
    document, renderer = frame.document, frame.renderer
    asked = _asked(frame, url, renderer)

    def answered(came: Answered) -> None:
        renderer.asked = None
        _bring(world, asked, document, brought, came)
        dialogs.go_on(renderer)

    def stop() -> None:
        renderer.asked = asked
        _ask(world, asked, answered, sync=True)

    dialogs.when_free(frame, stop)


def ask_instead(
    world: World,
    frame: Frame,
    override: Override,
    call: tuple[str, str, str],
    finish: Callable[[bool, str], None],
    failed: Callable[[Json], None],
) -> None:
    """In the place of a dialog: `call` is its type, its message and its default; `failed` is told what is thrown."""
    url = overrides.address_of(override, *call)

    def brought(text: str | None, _status: int) -> None:
        if text is None:
            failed(thrown.network_error(url))
        else:
            finish(*overrides.answer_in(override, text))

    wait_for(world, frame, url, brought)


def _asked(frame: Frame, url: str, stops: Renderer | None) -> Asked:
    return Asked(
        url=urljoin(frame.url, url),
        kind="XHR",
        frame=frame,
        target=frame.target,
        referrer=frame.url,
        priority="High" if stops is None else "VeryHigh",
        stops=stops,
    )


def _ask(world: World, asked: Asked, answered: Callable[[Answered], None], *, sync: bool) -> None:
    url = policies.allowed(asked.frame, asked.url, sync=sync)
    if url is None:
        answered(Answered(failure="net::ERR_BLOCKED_BY_CLIENT"))
    else:
        fetching.ask(world, asked.to(url), answered)


def _bring(world: World, asked: Asked, document: int, brought: Brought, came: Answered) -> None:
    """Where the document that asked for it is still there."""
    frame = asked.frame
    target = frame.target
    gone = frame.document != document or frame.id not in world.frames or target.closed or target.crashed
    if not gone and not frame.left:
        brought(fetching.text_of(asked, came), came.status)
