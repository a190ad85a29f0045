"""Requests, and who has a say in them: `Fetch`, as Chromium has it.

A request goes through the interceptors of its target's sessions, the session that was attached last first, then through
those of root sessions (facts 29, 32); one that pauses it holds it until its client answers, and only then the next one
hears of it. An answer comes back through them the other way.

    asked ──▶ session attached last ──▶ … first ──▶ root sessions ──▶ network
              └ paused (requestStage Request): continue, fulfil (comes back from here), fail (so does that)
    done  ◀── … ◀── paused again where a pattern has requestStage Response ◀──

What an interceptor of a page sees is what the page's own target asks for: that of a frame out of process is another one
(fact 30), and the document of a frame is asked for where the frame was before. One of a root session sees documents at
once, and what a document asks for only if it was there when the way of that was laid: when the document came, or when a
session of its target got or gave up its say.

`Fetch.disable`, a detach, the end of a connection let go what was paused (fact 34). A document that is left makes its
requests answerable still, though nobody waits; a page that closes does not (fact 33).
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


# ── what is asked for, and what comes ────────────────────────────────────────────────────────────────────────────────


@attrs.frozen(eq=False, kw_only=True)
class ResourceRequest:
    """One request: a document for a frame, or something that a document wants."""

    url: str
    kind: str
    """Document, XHR or Other."""
    frame: Frame
    target: Target
    referrer: str = ""
    """The address of the document that asks."""
    priority: str = "VeryHigh"
    stops: Renderer | None = None
    """The process whose script waits for it."""

    def to(self, url: str) -> ResourceRequest:
        """The same, of another address."""
        return self if url == self.url else attrs.evolve(self, url=url)

    def shown(self) -> Json:
        """As events show it."""
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
    """What came of a request: a failure by its name, or an answer; the body is none where the network gave it."""

    failure: str | None = None
    status: int = 200
    headers: tuple[tuple[str, str], ...] = FROM_THE_NETWORK
    body: bytes | None = None

    def header(self, name: str) -> str | None:
        """The first header of that name."""
        return next((value for each, value in self.headers if each.lower() == name.lower()), None)


# ── who has a say ────────────────────────────────────────────────────────────────────────────────────────────────────


@attrs.frozen(kw_only=True)
class Pattern:
    """What is to be paused: `*` is anything, `?` at most one sign, and a backslash takes either for itself."""

    url: str = "*"
    kind: str | None = None
    response: bool = False

    def fits(self, resource: ResourceRequest) -> bool:
        """Whether a request is meant."""
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
    """When it came, counted as documents are."""
    patterns: tuple[Pattern, ...] = ()
    paused: dict[str, Pause] = attrs.Factory(dict["str", "Pause"])

    def wants(self, resource: ResourceRequest, *, response: bool) -> bool:
        """Whether it pauses that request on its way there, or back."""
        return any(pattern.response is response and pattern.fits(resource) for pattern in self.patterns)


def interceptors_for(world: World, resource: ResourceRequest) -> list[Interceptor]:
    """Those that a request goes through."""
    own = [session.interceptor for session in reversed(resource.target.sessions)]
    late = [each for each in (root.interceptor for root in world.roots()) if each is not None]
    if resource.kind != "Document":
        late = [each for each in late if each.since < resource.frame.route_set_at]
    return [*(each for each in own if each is not None), *late]


# ── on the way ───────────────────────────────────────────────────────────────────────────────────────────────────────


@attrs.define(eq=False)
class Pause:
    """One request that one interceptor holds."""

    request: InterceptedRequest
    position: int
    """Which interceptor of the chain it is."""
    response: ResourceResponse | None
    """What has come back, where it is held on the way back."""
    broken: bool = False
    """It was answered as what asks for a password, which it does not: it can be answered by nothing any more."""
    stream: str = ""
    """Its body was taken as a stream of that name."""

    def resume(self) -> None:
        """As if nobody had held it."""
        if self.response is None:
            self.request.send(self.position + 1)
        else:
            self.request.bring(self.position - 1, self.response)

    def end(self, response: ResourceResponse) -> None:
        """With this answer in place of what would come."""
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
        """On its way there, at this interceptor."""
        for number, each in enumerate(self._chain[position:], position):
            self.world.fetch_jobs += 1
            self._names[number] = f"interception-job-{self.world.fetch_jobs}.0"
            if each.session.interceptor is each and each.wants(self.resource, response=False):
                self._pause(number, None)
                return
        self.bring(len(self._chain) - 1, ResourceResponse(failure=failure_of(self.resource.url)))

    def bring(self, position: int, response: ResourceResponse) -> None:
        """On its way back, at this interceptor."""
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
        """This interceptor wants to see the answer, too."""
        self._intercept_response.add(position)

    def drop(self) -> None:
        """Nobody waits for it any more, and nobody can answer it."""
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
        """What the Network domain calls it, where somebody has that enabled."""
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
    """A session of a target begins or ceases to have a say: the way of its documents' requests is laid anew."""
    world.documents += 1
    for frame in world.frames.values():
        if frame.target is session.target:
            frame.route_set_at = world.documents


def ask(world: World, resource: ResourceRequest, done: Callable[[ResourceResponse], None]) -> None:
    """Ask for something; `done` is told what came, at once where nobody has a say."""
    request = InterceptedRequest(world, resource, done)
    world.requests.append(request)
    request.send()
    world.requests = [each for each in world.requests if not each.over]


def drop(world: World, frame: Frame) -> None:
    """The document that a frame was on its way to is not wanted any more."""
    for request in world.requests:
        if request.resource.frame is frame and request.resource.kind == "Document":
            request.drop()


def cancel_requests(world: World, target: Target) -> None:
    """The process of a target has ended, or its document, with what it asked for."""
    for request in world.requests:
        resource = request.resource
        if resource.target is target or resource.frame.target is target:
            request.drop()
            if resource.stops is not None and resource.stops.resource is resource:
                resource.stops.resource = None
                dialogs.resume(resource.stops)


def leave(world: World, session: Session) -> None:
    """A session has no say any more: what it held goes on (fact 34)."""
    interceptor, session.interceptor = session.interceptor, None
    if interceptor is not None:
        reset_route(world, session)
        paused, interceptor.paused = interceptor.paused, {}
        for pause in paused.values():
            pause.resume()


def text_of(resource: ResourceRequest, response: ResourceResponse) -> str | None:
    """The text that a script gets; None where it gets none, be it that another origin's answer does not allow it."""
    allowed = response.header("Access-Control-Allow-Origin")
    own = origin_of(resource.frame.url)
    if response.failure is not None or (origin_of(resource.url) != own and allowed not in ("*", own)):
        return None
    return (response.body or b"").decode("utf-8", "replace")


def body_of(response: ResourceResponse) -> Json:
    """A body as a result shows it."""
    return {"body": base64.b64encode(response.body or b"").decode(), "base64Encoded": True}
