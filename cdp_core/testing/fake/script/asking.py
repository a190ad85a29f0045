"""Requests that scripts make with XMLHttpRequest, for themselves or instead of opening a dialog.

The document's policies are checked first (policies.py), then Fetch interceptors pause the request (fetching.py), then
it goes to the network. A synchronous request blocks its whole renderer process until the response. The script
never gets the response if its document is left or its process is gone (fact 33).
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
"""Called with the text of the response, None for a failure, and with the status."""


def request_later(world: World, frame: Frame, url: str, on_response: OnResponse) -> None:
    """Make an asynchronous request once the script has ended."""
    resource, document = _resource(frame, url, None), frame.document
    world.soon(
        partial(_ask, world, resource, partial(_deliver_response, world, resource, document, on_response), sync=False)
    )


def request_and_wait(world: World, frame: Frame, url: str, on_response: OnResponse) -> None:
    """Make a synchronous request once the frame's renderer is free; it stops the renderer meanwhile."""
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
    """Make a synchronous request instead of opening a dialog.

    `call` is the dialog's type, message and default; `failed` is called with the exception that the script throws.
    """
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
    """Pass the response on if the document that made the request still exists."""
    frame = resource.frame
    target = frame.target
    gone = frame.document != document or frame.id not in world.frames or target.closed or target.crashed
    if not gone and not frame.left:
        on_response(fetching.text_of(resource, response), response.status)
