"""The commands of the Fetch domain, on the root session and on page sessions (facts 29, 30)."""

from __future__ import annotations

import base64
import re
from http import HTTPStatus
from typing import Final

import attrs

from cdp_core.sansio.messages import Json
from cdp_core.testing.fake.commands.call import FRAMES, LATER, ROOT, Call, modelled
from cdp_core.testing.fake.model import fetching
from cdp_core.testing.fake.model.addresses import spelled
from cdp_core.testing.fake.model.dispatch_errors import Refused
from cdp_core.testing.fake.model.fetching import FAILURES, Interceptor, Pattern, Pause, ResourceResponse

FRAMES_AND_ROOT = FRAMES | ROOT
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
STATUS_CODES: Final = frozenset(int(each) for each in HTTPStatus)
"""HTTP statuses with a standard phrase."""
RESOURCE_TYPES = frozenset(
    (
        *("Document", "Stylesheet", "Image", "Media", "Font", "Script", "TextTrack", "XHR", "Fetch", "Prefetch"),
        *("EventSource", "WebSocket", "Manifest", "SignedExchange", "Ping", "CSPViolationReport", "Preflight"),
        *("FedCM", "Other"),
    )
)


@modelled("Fetch.enable", FRAMES_AND_ROOT)
def _enable(call: Call) -> Json:
    given: list[Json] = call.params.get("patterns") or [{}]
    session = call.session
    if session.interceptor is None:  # it stays enabled even if the patterns are refused
        session.interceptor = Interceptor(session, call.world.documents)
        fetching.reset_route(call.world, session)
    session.interceptor.patterns = tuple(map(_pattern, given))
    return {}


def _pattern(given: Json) -> Pattern:
    kind, stage = given.get("resourceType"), given.get("requestStage", "Request")
    if kind is not None and kind not in RESOURCE_TYPES:
        raise Refused(-32602, f"Unknown resource type in fetch filter: '{kind}'")
    if stage not in ("Request", "Response"):
        raise Refused(-32602, f"Unsupported request stage '{stage}'")
    return Pattern(url=given.get("urlPattern", "*"), kind=kind, response=stage == "Response")


@modelled("Fetch.disable", FRAMES_AND_ROOT)
def _disable(call: Call) -> Json:
    call.answer({"result": {}})
    fetching.leave(call.world, call.session)
    return LATER


@modelled("Fetch.continueRequest", FRAMES_AND_ROOT)
def _continue_request(call: Call) -> Json:
    for each in call.params.get("headers", []):
        if not _TOKEN.fullmatch(each["name"]):
            raise Refused(-32602, f"Invalid header: {each['name']}")
    _check_body(_find_pause(call))
    pause = _take_pause(call)
    if call.params.get("interceptResponse"):
        pause.request.intercept_response(pause.position)
    call.answer({"result": {}})
    invalid_url = "url" in call.params and spelled(call.params["url"]) is None
    if invalid_url or call.params.get("method") == "":
        pause.end(ResourceResponse(failure="net::ERR_FAILED", headers=()))
    else:
        pause.resume()
    return LATER


def _check_body(pause: Pause) -> None:
    """Check that the body was not taken as a stream. Raises Refused."""
    if pause.stream:
        raise Refused(-32602, "Unable to continue request as is after body is taken")


@modelled("Fetch.continueResponse", FRAMES_AND_ROOT)
def _continue_response(call: Call) -> Json:
    given = [name in call.params for name in ("responseCode", "responseHeaders")]
    if any(given) and not all(given) and call.session.interceptor is not None:
        raise Refused(-32000, "Cannot override only status or headers, both should be provided")
    if all(given):
        _interceptor(call)
        _check_status(call)
    _check_body(_find_pause(call))
    pause = _take_pause(call)
    if all(given) and pause.response is not None:
        headers = tuple((each["name"], each["value"]) for each in call.params["responseHeaders"])
        pause.response = attrs.evolve(pause.response, status=call.params["responseCode"], headers=headers)
    call.answer({"result": {}})
    pause.resume()
    return LATER


@modelled("Fetch.continueWithAuth", FRAMES_AND_ROOT)
def _continue_with_auth(call: Call) -> Json:
    _interceptor(call)
    if call.params["authChallengeResponse"]["response"] not in ("Default", "CancelAuth", "ProvideCredentials"):
        raise Refused(-32602, "Unrecognized authChallengeResponse")
    pause = _find_pause(call)
    pause.broken = True  # no request of the fake needs authentication
    raise Refused(-32602, "authChallengeResponse not expected.")


@modelled("Fetch.takeResponseBodyAsStream", FRAMES_AND_ROOT)
def _take_body(call: Call) -> Json:
    pause = _find_pause(call)
    if pause.response is None:
        raise Refused(-32000, "Can only get response body on HeadersReceived pattern matched requests.")
    if pause.stream:
        raise Refused(-32000, "Can only get response body on requests captured after headers received.")
    call.world.fetch_streams += 1
    pause.stream = str(call.world.fetch_streams)
    return {"stream": pause.stream}


@modelled("Fetch.failRequest", FRAMES_AND_ROOT)
def _fail(call: Call) -> Json:
    failure = FAILURES.get(call.params["errorReason"])
    _interceptor(call)
    if failure is None:
        raise Refused(-32602, "Unknown errorReason")
    pause = _take_pause(call)
    call.answer({"result": {}})
    pause.end(ResourceResponse(failure=failure, headers=()))
    return LATER


@modelled("Fetch.fulfillRequest", FRAMES_AND_ROOT)
def _fulfill(call: Call) -> Json:
    _interceptor(call)
    status = call.params["responseCode"]
    _check_status(call)
    if "binaryResponseHeaders" in call.params and "responseHeaders" in call.params:
        raise Refused(-32602, "Only one of responseHeaders or binaryHeaders may be present")
    given = call.params.get("responseHeaders", [])
    headers = tuple((each["name"], each["value"]) for each in given)
    body = base64.b64decode(call.params.get("body", ""))
    pause = _take_pause(call)
    call.answer({"result": {}})
    pause.end(ResourceResponse(status=status, headers=headers, body=body))
    return LATER


@modelled("Fetch.getResponseBody", FRAMES_AND_ROOT)
def _get_response_body(call: Call) -> Json:
    pause = _find_pause(call)
    if pause.response is None:
        raise Refused(-32000, "Can only get response body on HeadersReceived pattern matched requests.")
    return fetching.body_of(pause.response)


def _check_status(call: Call) -> None:
    """Check that a status without a phrase has a standard phrase. Raises Refused."""
    if not call.params.get("responsePhrase") and call.params["responseCode"] not in STATUS_CODES:
        raise Refused(-32602, "Invalid http status code or phrase")


def _interceptor(call: Call) -> Interceptor:
    if call.session.interceptor is None:
        raise Refused(-32000, "Fetch domain is not enabled")
    return call.session.interceptor


def _find_pause(call: Call) -> Pause:
    pause = _interceptor(call).paused.get(call.params["requestId"])
    if pause is None:
        raise Refused(-32602, "Invalid InterceptionId.")
    if pause.broken:
        raise Refused(-32000, "Invalid state for continueInterceptedRequest")
    return pause


def _take_pause(call: Call) -> Pause:
    pause = _find_pause(call)
    del _interceptor(call).paused[call.params["requestId"]]
    return pause
