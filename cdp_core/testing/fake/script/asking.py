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
from cdp_core.testing.fake.model.fetching import ResourceRequest, ResourceResponse
from cdp_core.testing.fake.model.parts import Frame, Renderer
from cdp_core.testing.fake.script import injected, thrown
from cdp_core.testing.fake.world import World
from cdp_core.testing.steps import Override

OnResponse = Callable[[str | None, int], None]
"""Told the text that came, None for a failure, and the status."""


def request_later(world: World, frame: Frame, url: str, on_response: OnResponse) -> None:
    """Ask for something when the script is over."""
    resource, document = _resource(frame, url, None), frame.document
    world.soon(
        partial(_ask, world, resource, partial(_deliver_response, world, resource, document, on_response), sync=False)
    )


def request_and_wait(world: World, frame: Frame, url: str, on_response: OnResponse) -> None:
    """Ask for something, as soon as the frame's renderer is free, and stop it until that came."""
    document, renderer = frame.document, frame.renderer
    resource = _resource(frame, url, renderer)

    def answered(response: ResourceResponse) -> None:
        renderer.resource = None
        _deliver_response(world, resource, document, on_response, response)
        dialogs.resume(renderer)

    def stop() -> None:
        renderer.resource = resource
        _ask(world, resource, answered, sync=True)

    dialogs.when_unblocked(frame, stop)


def request_instead_of_dialog(
    world: World,
    frame: Frame,
    override: Override,
    call: tuple[str, str, str],
    finish: Callable[[bool, str], None],
    failed: Callable[[Json], None],
) -> None:
    """In the place of a dialog: `call` is its type, its message and its default; `failed` is told what is thrown."""
    url = injected.address_of(override, *call)

    def on_response(text: str | None, _status: int) -> None:
        if text is None:
            failed(thrown.network_error(url))
        else:
            finish(*injected.answer_in(override, text))

    request_and_wait(world, frame, url, on_response)


def _resource(frame: Frame, url: str, stops: Renderer | None) -> ResourceRequest:
    return ResourceRequest(
        url=urljoin(frame.url, url),
        kind="XHR",
        frame=frame,
        target=frame.target,
        referrer=frame.url,
        priority="High" if stops is None else "VeryHigh",
        stops=stops,
    )


def _ask(world: World, resource: ResourceRequest, answered: Callable[[ResourceResponse], None], *, sync: bool) -> None:
    url = policies.allowed_url(resource.frame, resource.url, sync=sync)
    if url is None:
        answered(ResourceResponse(failure="net::ERR_BLOCKED_BY_CLIENT"))
    else:
        fetching.ask(world, resource.to(url), answered)


def _deliver_response(
    world: World, resource: ResourceRequest, document: int, on_response: OnResponse, response: ResourceResponse
) -> None:
    """Where the document that asked for it is still there."""
    frame = resource.frame
    target = frame.target
    gone = frame.document != document or frame.id not in world.frames or target.closed or target.crashed
    if not gone and not frame.left:
        on_response(fetching.text_of(resource, response), response.status)
