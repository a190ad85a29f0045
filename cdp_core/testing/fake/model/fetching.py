"""Requests, and the interceptors that may hold them: `Fetch` as Chromium has it.

A request goes through the interceptors of its target's sessions, from the session that was attached last to the
first, then through those of root sessions (facts 29, 32). An interceptor that pauses it holds it until its client
answers; only then does the next one receive it. The response goes through them in the opposite direction.

    request  ──▶ session attached last ──▶ … first ──▶ root sessions ──▶ network
                 └ paused (requestStage Request): continue, fulfil (the response starts here), fail (so does the failure)
    response ◀── … ◀── paused again if a pattern has requestStage Response ◀──

An interceptor on a page's session sees the requests of the page's own target. A frame out of process has another
target (fact 30), and the target that a frame belonged to before requests its document. An interceptor on a root
session sees each request for a document at once. It sees the requests that a document makes only if it existed when
the route of these was set: when the document came, or when a session of its target enabled or disabled Fetch.

`Fetch.disable`, a detach or the end of a connection releases the paused requests (fact 34). After a document is left
its requests can still be answered, although nothing waits for them; after a page is closed they cannot (fact 33).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

import attrs

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.model import dialogs
from cdp_core.testing.fake.model.addresses import failure_of, is_trustworthy, origin_of
from cdp_core.testing.fake.model.parts import Frame, Renderer, Session, Target
from cdp_core.testing.fake.world import World

FAILURES: Final = {
    "Failed": "net::ERR_FAILED",
    "Aborted": "net::ERR_ABORTED",
    "TimedOut": "net::ERR_TIMED_OUT",
    "AccessDenied": "net::ERR_ACCESS_DENIED",
    "ConnectionClosed": "net::ERR_CONNECTION_CLOSED",
    "ConnectionReset": "net::ERR_CONNECTION_RESET",
    "ConnectionRefused": "net::ERR_CONNECTION_REFUSED",
    "ConnectionAborted": "net::ERR_CONNECTION_ABORTED",
    "ConnectionFailed": "net::ERR_CONNECTION_FAILED",
    "NameNotResolved": "net::ERR_NAME_NOT_RESOLVED",
    "InternetDisconnected": "net::ERR_INTERNET_DISCONNECTED",
    "AddressUnreachable": "net::ERR_ADDRESS_UNREACHABLE",
    "BlockedByClient": "net::ERR_BLOCKED_BY_CLIENT",
    "BlockedByResponse": "net::ERR_BLOCKED_BY_RESPONSE",
}
REASONS: Final = {error: reason for reason, error in FAILURES.items()}
ACCEPTED: Final = {
    "Document": "text/html,application/xhtml+xml,application/xml;q=0.9,image/jxl,image/avif,image/webp,image/apng,*/*;"
    "q=0.8,application/signed-exchange;v=b3;q=0.7",
    "Other": "image/jxl,image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8",
}
USER_AGENT: Final = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/156.0.0.0 Safari/537.36"
)
CLIENT_HINTS: Final = (
    ("sec-ch-ua", '"Not:A-Brand";v="8", "Chromium";v="156"'),
    ("sec-ch-ua-mobile", "?0"),
    ("sec-ch-ua-platform", '"Linux"'),
)
FROM_THE_NETWORK: Final = (
    ("Content-Type", "text/html; charset=utf-8"),
    ("Cache-Control", "no-cache"),
    ("Content-Length", "0"),
)


# ── requests and responses ───────────────────────────────────────────────────────────────────────────────────────────


@attrs.frozen(eq=False, kw_only=True)
class ResourceRequest:
    """One request: a document for a frame, or something that a document loads."""

    url: str
    kind: str
    """Document, XHR or Other."""
    frame: Frame
    target: Target
    referrer: str = ""
    priority: str = "VeryHigh"
    stops: Renderer | None = None
    """The process whose script waits for it."""

    def to(self, url: str) -> ResourceRequest:
        return self if url == self.url else attrs.evolve(self, url=url)

    def shown(self) -> Json:
        address, found, fragment = self.url.partition("#")
        return {
            "url": address,
            **({"urlFragment": f"#{fragment}"} if found else {}),
            "method": "GET",
            "headers": dict(self._headers()),
            "initialPriority": self.priority,
            "referrerPolicy": "strict-origin-when-cross-origin",
        }

    def _headers(self) -> Iterable[tuple[str, str]]:
        yield "Accept", ACCEPTED.get(self.kind, "*/*")
        own, there = origin_of(self.referrer), origin_of(self.url)
        if own not in ("://", there) and self.kind == "XHR":
            yield "Origin", own
        if own != "://" and not (own.startswith("https:") and there.startswith("http:")):
            yield "Referer", self.referrer.partition("#")[0] if own == there else f"{own}/"
        if self.kind == "Document":
            yield "Upgrade-Insecure-Requests", "1"
        yield "User-Agent", USER_AGENT
        if is_trustworthy(self.url):
            yield from CLIENT_HINTS


@attrs.frozen(kw_only=True)
class ResourceResponse:
    """The outcome of a request: a failure by its name, or a response.

    The body is None if the network gave the response.
    """

    failure: str | None = None
    status: int = 200
    headers: tuple[tuple[str, str], ...] = FROM_THE_NETWORK
    body: bytes | None = None

    def header(self, name: str) -> str | None:
        return next((value for each, value in self.headers if each.lower() == name.lower()), None)


# ── interceptors ─────────────────────────────────────────────────────────────────────────────────────────────────────


@attrs.frozen(kw_only=True)
class Pattern:
    """What an interceptor pauses.

    `*` matches any text, `?` at most one character, and a backslash takes the next of them literally.
    """

    url: str = "*"
    kind: str | None = None
    response: bool = False

    def fits(self, resource: ResourceRequest) -> bool:
        if self.kind is not None and self.kind != resource.kind:
            return False
        return _expression(self.url).fullmatch(resource.url.partition("#")[0]) is not None


@lru_cache(maxsize=256)
def _expression(pattern: str) -> re.Pattern[str]:
    kinds = {"*": ".*", "?": ".?"}
    signs = re.findall(r"\\[*?\\]|.", pattern, re.DOTALL)
    return re.compile("".join(kinds.get(sign) or re.escape(sign[-1]) for sign in signs), re.DOTALL)


@attrs.define(eq=False)
class Interceptor:
    """A session that has Fetch enabled."""

    session: Session
    since: int
    """When Fetch was enabled, by the count of documents."""
    patterns: tuple[Pattern, ...] = ()
    paused: dict[str, Pause] = attrs.Factory(dict["str", "Pause"])

    def wants(self, resource: ResourceRequest, *, response: bool) -> bool:
        return any(pattern.response is response and pattern.fits(resource) for pattern in self.patterns)


def interceptors_for(world: World, resource: ResourceRequest) -> list[Interceptor]:
    """Return the interceptors that a request goes through, in order."""
    own = [session.interceptor for session in reversed(resource.target.sessions)]
    late = [each for each in (root.interceptor for root in world.roots()) if each is not None]
    if resource.kind != "Document":
        late = [each for each in late if each.since < resource.frame.route_set_at]
    return [*(each for each in own if each is not None), *late]


# ── the way of a request ─────────────────────────────────────────────────────────────────────────────────────────────


@attrs.define(eq=False)
class Pause:
    """One request that one interceptor holds."""

    request: InterceptedRequest
    position: int
    """The index of the interceptor in the request's chain."""
    response: ResourceResponse | None
    """The response, if it is held at the response stage."""
    broken: bool = False
    """A client answered it as a request for authentication, which it is not: nothing can answer it any more."""
    stream: str = ""
    """The name of the stream that a client took its body as."""

    def resume(self) -> None:
        if self.response is None:
            self.request.send(self.position + 1)
        else:
            self.request.bring(self.position - 1, self.response)

    def end(self, response: ResourceResponse) -> None:
        self.request.bring(self.position - 1, response)


class InterceptedRequest:
    """One request on its way through the interceptors."""

    def __init__(self, world: World, resource: ResourceRequest, done: Callable[[ResourceResponse], None]) -> None:
        self.world = world
        self.resource = resource
        self._done = done
        self._chain = interceptors_for(world, resource)
        self._names: dict[int, str] = {}
        self._intercept_response: set[int] = set()
        self._network = ""
        self.over = False

    def send(self, position: int = 0) -> None:
        """Send the request on, beginning with this interceptor."""
        for number, each in enumerate(self._chain[position:], position):
            self.world.fetch_jobs += 1
            self._names[number] = f"interception-job-{self.world.fetch_jobs}.0"
            if each.session.interceptor is each and each.wants(self.resource, response=False):
                self._pause(number, None)
                return
        self.bring(len(self._chain) - 1, ResourceResponse(failure=failure_of(self.resource.url)))

    def bring(self, position: int, response: ResourceResponse) -> None:
        """Pass the response back, beginning with this interceptor."""
        for number in range(position, -1, -1):
            each = self._chain[number]
            asked_for = number in self._intercept_response or each.wants(self.resource, response=True)
            if each.session.interceptor is each and asked_for:
                self._pause(number, response)
                return
        if not self.over:
            self.over = True
            self._done(response)

    def intercept_response(self, position: int) -> None:
        self._intercept_response.add(position)

    def drop(self) -> None:
        """Give the request up: nothing waits for it, and no client can answer it."""
        self.over = True
        for each in self._chain:
            each.paused = {name: pause for name, pause in each.paused.items() if pause.request is not self}

    def _pause(self, position: int, response: ResourceResponse | None) -> None:
        each, name = self._chain[position], self._names[position]
        each.paused[name] = Pause(self, position, response)
        resource = self.resource
        params: Json = {
            "requestId": name,
            "request": resource.shown(),
            "frameId": resource.frame.id,
            "resourceType": resource.kind,
            **({} if response is None else _shown(response)),
            **self._network_id(),
        }
        self.world.emit(each.session, "Fetch.requestPaused", params, resource.frame)

    def _network_id(self) -> Json:
        """Return its id in the Network domain, if a session of its target has that enabled."""
        resource = self.resource
        if not any("Network" in session.domains for session in resource.target.sessions):
            return {}
        if resource.kind == "Document":
            return {"networkId": resource.frame.navigating or resource.frame.loader}
        if not self._network:
            resource.frame.renderer.requests += 1
            self._network = f"{1000 + resource.frame.renderer.number}.{resource.frame.renderer.requests}"
        return {"networkId": self._network}


def _shown(response: ResourceResponse) -> Json:
    if response.failure is not None:
        return {"responseErrorReason": REASONS.get(response.failure, "Failed")}
    return {
        "responseStatusCode": response.status,
        "responseStatusText": "OK" if response.status == 200 else "",
        "responseHeaders": [{"name": name, "value": value} for name, value in response.headers],
    }


def reset_route(world: World, session: Session) -> None:
    """Set the route of a target's requests again: one of its sessions enabled or disabled Fetch."""
    world.documents += 1
    for frame in world.frames.values():
        if frame.target is session.target:
            frame.route_set_at = world.documents


def ask(world: World, resource: ResourceRequest, done: Callable[[ResourceResponse], None]) -> None:
    """Request a resource; `done` gets the response, at once if no interceptor pauses it."""
    request = InterceptedRequest(world, resource, done)
    world.requests.append(request)
    request.send()
    world.requests = [each for each in world.requests if not each.over]


def drop(world: World, frame: Frame) -> None:
    """Give up the request for the document that a frame was navigating to."""
    for request in world.requests:
        if request.resource.frame is frame and request.resource.kind == "Document":
            request.drop()


def cancel_requests(world: World, target: Target) -> None:
    """Give up the requests of a target whose process or document has ended."""
    for request in world.requests:
        resource = request.resource
        if resource.target is target or resource.frame.target is target:
            request.drop()
            if resource.stops is not None and resource.stops.resource is resource:
                resource.stops.resource = None
                dialogs.resume(resource.stops)


def leave(world: World, session: Session) -> None:
    """Disable Fetch for a session; the requests that it held go on (fact 34)."""
    interceptor, session.interceptor = session.interceptor, None
    if interceptor is not None:
        reset_route(world, session)
        paused, interceptor.paused = interceptor.paused, {}
        for pause in paused.values():
            pause.resume()


def text_of(resource: ResourceRequest, response: ResourceResponse) -> str | None:
    """Return the text that a script gets; None if it gets none.

    It gets none after a failure, or if the response of another origin does not allow it.
    """
    allowed = response.header("Access-Control-Allow-Origin")
    own = origin_of(resource.frame.url)
    if response.failure is not None or (origin_of(resource.url) != own and allowed not in ("*", own)):
        return None
    return (response.body or b"").decode("utf-8", "replace")


def body_of(response: ResourceResponse) -> Json:
    return {"body": base64.b64encode(response.body or b"").decode(), "base64Encoded": True}
