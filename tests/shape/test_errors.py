"""Every error: it can be copied and pickled, is one or two sentences, and shows no page text."""

from __future__ import annotations

import inspect
import json
import re
import sys
import traceback
from collections.abc import Callable
from typing import Any

import pytest

import cdp_core
from cdp_core import errors
from cdp_core.errors import CdpError
from cdp_core.nurseries import add_note
from cdp_core.sansio.outcomes import Loss
from support.error_copies import TRIPS

SECRET = "p4yl0ad"
FIELDS: dict[str, dict[str, Any]] = {
    "CdpError": {},
    "LocalProtocolError": {"reason": "too_big"},
    "InvalidArgument": {"reason": "argument"},
    "RemoteProtocolError": {"close_code": 1009, "command_id": 7},
    "CommandRefused": {
        "code": -32000,
        "message": "Not attached",
        "data": "in detail",
        "method": "Page.close",
        "session_id": "S",
    },
    "Gone": {"reason": "closed"},
    "ConnectionLost": {"reason": "peer_closed", "close_code": 1006},
    "SessionGone": {"reason": "detached", "session_id": "S", "target_id": "T"},
    "TargetGone": {"reason": "unknown_target", "target_id": "T"},
    "TargetCrashed": {"reason": "crashed", "session_id": "S", "target_id": None},
    "NavigationFailed": {"reason": "download"},
    "NavigationTimedOut": {"reason": "timeout"},
    "NavigationBlocked": {"type": "alert", "phase": "loading"},
    "SubscriberLagged": {"missed": 3, "capacity": 2, "max_bytes": None},
    "DiscoveryError": {"address": "http://127.0.0.1:1", "stage": "tcp", "status": None, "answered": "silence"},
    "LaunchFailed": {"reason": "exited", "exit_code": 1, "stderr": "Running as root"},
    "BindingDrift": {"item": "Page.Frame", "field": "url"},
    "MissingField": {"item": "Page.Frame", "field": "url"},
    "TapFailed": {"tap": "record"},
}
"""The arguments of each error."""
TREE = {
    "CdpError": ("Exception",),
    "LocalProtocolError": ("CdpError",),
    "InvalidArgument": ("LocalProtocolError", "ValueError"),
    "RemoteProtocolError": ("CdpError",),
    "CommandRefused": ("CdpError",),
    "Gone": ("CdpError",),
    "ConnectionLost": ("Gone", "ConnectionError"),
    "SessionGone": ("Gone",),
    "TargetGone": ("Gone",),
    "TargetCrashed": ("Gone",),
    "NavigationFailed": ("CdpError",),
    "NavigationTimedOut": ("NavigationFailed", "TimeoutError"),
    "NavigationBlocked": ("CdpError",),
    "SubscriberLagged": ("CdpError",),
    "DiscoveryError": ("CdpError", "ConnectionError"),
    "LaunchFailed": ("CdpError", "ConnectionError"),
    "BindingDrift": ("CdpError",),
    "MissingField": ("BindingDrift", "AttributeError"),
    "TapFailed": ("CdpError",),
}
SENTENCE = "Something ended; begin again."
MAKES_ITS_SENTENCE = {"CommandRefused", "SubscriberLagged", "TapFailed"}


def made(name: str) -> CdpError:
    kind: Callable[..., CdpError] = getattr(errors, name)
    fields = FIELDS[name]
    if name == "TapFailed":
        return kind(fields["tap"])
    return kind(**fields) if name in MAKES_ITS_SENTENCE else kind(SENTENCE, **fields)


def fields_of(error: BaseException) -> dict[str, Any]:
    return {name: value for name, value in vars(error).items() if name not in ("__notes__", "_resume")}


def test_this_file_knows_every_error() -> None:
    classes = {
        name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, Exception)
    } - {"CdpWarning"}
    assert classes == set(TREE) == set(FIELDS)
    assert classes <= set(cdp_core.__all__)


def test_every_error_is_in_the_tree() -> None:
    for module in [module for name, module in sys.modules.items() if name.startswith("cdp_core")]:
        for name, value in vars(module).items():
            if inspect.isclass(value) and issubclass(value, BaseException) and value.__module__ == module.__name__:
                assert issubclass(value, (CdpError, Warning)) or not in_all(module, name), f"{module.__name__}.{name}"


def in_all(module: Any, name: str) -> bool:
    """Return True if the error is public; one that is translated before it reaches a caller is not."""
    return name in getattr(cdp_core, "__all__", ())


@pytest.mark.parametrize(("name", "bases"), TREE.items())
def test_each_error_has_its_documented_bases(name: str, bases: tuple[str, ...]) -> None:
    assert tuple(base.__name__ for base in getattr(errors, name).__bases__) == bases


def test_the_docstring_lists_the_tree() -> None:
    assert errors.__doc__ is not None
    first_level = {name for name, bases in TREE.items() if bases[0] == "CdpError"}
    assert set(re.findall(r"^\* `(\w+)`", errors.__doc__, re.MULTILINE)) == first_level
    for name, bases in TREE.items():  # a caller that catches the builtin must be able to read that it works
        builtin = bases[1] if len(bases) > 1 else None
        found_text = re.search(r"also a builtin `(\w+)`", inspect.getdoc(getattr(errors, name)) or "")
        assert (found_text and found_text[1]) == builtin


@pytest.mark.parametrize("name", FIELDS)
def test_an_error_carries_its_fields(name: str) -> None:
    assert fields_of(made(name)) == FIELDS[name]


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("trip", TRIPS)
def test_an_error_can_be_copied_and_pickled(name: str, trip: str) -> None:
    error = made(name)
    add_note(error, "seen while the page was open")
    error.mine = ["an attribute of its user"]  # type: ignore[attr-defined]
    arrived = TRIPS[trip](error)
    assert type(arrived) is type(error)
    assert arrived is not error
    assert (str(arrived), repr(arrived), arrived.args) == (str(error), repr(error), error.args)
    assert vars(arrived) == vars(error)
    add_note(arrived, "a note of the copy")
    assert error.__notes__ == ["seen while the page was open"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", FIELDS)
def test_an_error_is_one_or_two_sentences(name: str) -> None:
    assert_sentences(str(made(name)))


def assert_sentences(text: str) -> None:
    assert re.fullmatch(r"[\w\"'`].*[.?!]", text, re.DOTALL), text  # it may begin with a name of the caller
    assert "\n" not in text
    assert not re.search(r"[.?!]{2}|\s[.?!,;]", text), text
    assert 1 <= len(re.findall(r"[.?!](?=\s+[A-Z]|$)", text)) <= 2, text


@pytest.mark.parametrize("kind", ["connection", "session", "crash"])
def test_each_raise_of_a_loss_is_a_new_exception(kind: str) -> None:
    loss = Loss(kind=kind, reason="detached", detail="It ended; attach again.", session_id="S", target_id="T")
    raised = loss.error()
    for _time in range(50):
        with pytest.raises(errors.Gone) as caught:
            raise loss.error()
        assert caught.value is not raised
        assert len(traceback.extract_tb(caught.value.__traceback__)) == 1
    assert (
        type(raised).__name__
        == {"connection": "ConnectionLost", "session": "SessionGone", "crash": "TargetCrashed"}[kind]
    )
    assert_sentences(str(raised))


def refused_locally() -> list[CdpError]:
    """Errors that the engine itself raises for input that contains a secret."""
    router = cdp_core.Router()
    caught: list[CdpError] = []
    for method, params, session in (
        ("Page.navigate", {"url": {SECRET}}, None),
        ("Page.navigate", {"url": float("nan"), "referrer": SECRET}, None),
        ("Page.navigate", SECRET, None),
        ("Page.navigate", {"url": SECRET, "list": [object()]}, None),
        ("Page.navigate", {"url": SECRET}, "unknown"),
        ("", {"url": SECRET}, None),
    ):
        with pytest.raises(CdpError) as error:
            router.command(method, params, session)  # type: ignore[arg-type]
        caught.append(error.value)
    for raw in (b'"%s"', b'{"%s":', b'["%s"]'):
        event = cdp_core.Event(method="Page.x", raw=raw % SECRET.encode())  # type: ignore[arg-type]
        with pytest.raises(CdpError) as error:
            event.params  # noqa: B018 - reading it is the test
        caught.append(error.value)
    return caught


def test_an_error_shows_no_payload() -> None:
    for error in refused_locally():
        shown = f"{error!s} {error!r} {vars(error)!r}"
        assert SECRET not in shown, shown
        assert_sentences(str(error))
        assert error.__cause__ is None or SECRET not in repr(error.__cause__)


def test_a_refusal_shows_method_code_and_session() -> None:
    error = made("CommandRefused")
    assert "Page.close" in str(error)
    assert "-32000" in str(error)
    assert "session S " in str(error)
    long = errors.CommandRefused(code=-1, message="x" * 999, data="y" * 999, method="A.a", session_id="0123456789")
    assert len(str(long)) < 600
    assert "session 01234567 was" in str(long)
    assert len(long.message) == 999
    bare = errors.CommandRefused(code=-1, message="No", data=None, method="Page.close", session_id=None)
    assert_sentences(str(bare))
    assert "None" not in str(bare)


def test_a_subscriber_that_exceeds_its_bytes_gets_advice_on_bytes() -> None:
    by_count = errors.SubscriberLagged(missed=1, capacity=7)
    by_bytes = errors.SubscriberLagged(missed=1, capacity=7, max_bytes=512)
    assert "7 places" in str(by_count)
    assert "larger capacity" in str(by_count)
    assert "512 bytes" in str(by_bytes)
    assert "larger max_bytes" in str(by_bytes)
    assert "places" not in str(by_bytes)
    assert_sentences(str(by_bytes))


def test_a_protocol_error_of_the_peer_is_the_cause_of_the_loss() -> None:
    loss = Loss(kind="connection", reason="protocol_error", detail="It was binary; look.", close_code=1003)
    causes = [loss.error().__cause__ for _time in range(2)]
    assert causes[0] is not causes[1]
    for cause in causes:
        assert isinstance(cause, errors.RemoteProtocolError)
        assert (str(cause), cause.close_code) == ("It was binary; look.", 1003)
    assert Loss(kind="connection", reason="closed", detail="It was closed here.").error().__cause__ is None


ODD = [SECRET, f"{SECRET}.x y", f"Page.{SECRET * 20}", f"Page.x\n{SECRET}", "." * 5 + SECRET, f"{SECRET}.a.b"]


@pytest.mark.parametrize("odd", ODD)
def test_malformed_names_of_the_peer_are_not_shown(odd: str) -> None:
    """Names of events, types and ids come from the peer too: shown only if well-formed, and cut."""

    def attach(session: str, target: str, kind: str) -> bytes:
        info = {"targetId": target, "type": kind}
        return json.dumps(
            {"method": "Target.attachedToTarget", "params": {"sessionId": session, "targetInfo": info}}
        ).encode()

    router = cdp_core.Router()
    odd_id = " " + odd
    outputs = [
        *router.receive(json.dumps({"method": odd, "params": {}, "sessionId": odd_id}).encode()),
        *router.receive(json.dumps({"method": odd, "params": {}, "sessionId": "x" * 10_000}).encode()),
        *router.receive(attach(odd_id, odd_id, odd)),
    ]
    router.command("A.a", None, cdp_core.SessionId(odd_id))
    outputs += router.receive(attach(odd_id, odd_id, odd))
    outputs += router.receive(json.dumps({"method": "Inspector.targetCrashed", "sessionId": odd_id}).encode())
    outputs += router.receive(
        json.dumps({"method": "Target.detachedFromTarget", "params": {"sessionId": odd_id}}).encode()
    )
    anomalies = [output for output in outputs if isinstance(output, cdp_core.Anomaly)]
    losses = [output.loss for output in outputs if isinstance(output, cdp_core.SessionClosed)]
    losses += [output.outcome for output in outputs if isinstance(output, cdp_core.CommandDone)]
    assert (len(anomalies), len(losses)) == (3, 2)
    with pytest.raises(CdpError) as unreadable:
        cdp_core.Event(method=odd, raw=b"[]").params  # type: ignore[arg-type]  # noqa: B018
    for text in (*(each.detail for each in anomalies), *(str(loss.error()) for loss in losses), str(unreadable.value)):
        assert SECRET not in text
        assert len(text) < 300
        assert "\n" not in text
    assert all(len(each.session_id or "") <= 64 for each in anomalies)
    assert all(len(output.target_type) <= 64 for output in outputs if isinstance(output, cdp_core.SessionOpened))


def test_well_formed_names_of_the_peer_are_shown() -> None:
    router = cdp_core.Router()
    [anomaly] = router.receive(b'{"method":"Network.requestWillBeSentExtraInfo","params":{},"sessionId":"A1"}')
    assert isinstance(anomaly, cdp_core.Anomaly)
    assert "Network.requestWillBeSentExtraInfo" in anomaly.detail
