"""Every error of the supervisor: it can be pickled, is one or two sentences, and shows no page text."""

from __future__ import annotations

import inspect
import pickle
import re
from collections.abc import Callable

import pytest

import cdp_supervisor
from cdp_core import CdpError, NavigationBlocked
from cdp_supervisor import errors
from cdp_supervisor.sansio.health import Health
from support.error_copies import TRIPS

SECRET = "p4yl0ad"
HEALTH = Health(state="blocked", why="it does not answer", since=1.5)
MADE: dict[str, Callable[[], CdpError]] = {
    "AmbiguousDialog": lambda: errors.AmbiguousDialog(["d-1", "d-2"]),
    "AmbiguousTarget": lambda: errors.AmbiguousTarget(f"T{number}" for number in range(30)),
    "BlockedByDialog": lambda: errors.BlockedByDialog(["d-1"], method="Page.enable"),
    "CallTimedOut": lambda: errors.CallTimedOut("Page.enable", waited=3.0, health=HEALTH),
    "DialogAnswerRefused": lambda: errors.DialogAnswerRefused("d-1", reason="another answer is under way", code=-32602),
    "DialogUnanswerable": lambda: errors.DialogUnanswerable("d-1", why="orphaned", remedies=["navigate", "close"]),
    "FrameSharesProcess": lambda: errors.FrameSharesProcess("F", method="Page.enable", hint="try again"),
    "InvalidPolicy": lambda: errors.InvalidPolicy("'never' is not a dialog policy", valid=["auto_accept"]),
    "NoPendingDialog": errors.NoPendingDialog,
    "NavigationBlockedByDialog": lambda: errors.NavigationBlockedByDialog(
        ("d-1",), method="Page.navigate", type="beforeunload", phase="leaving"
    ),
    "RemedyFailed": lambda: errors.RemedyFailed("T", remedy="reload", remedies=("close",)),
    "WouldEndBrowser": lambda: errors.WouldEndBrowser("T", method="Page.reload"),
    "PageFrozen": lambda: errors.PageFrozen("T", since=1.0, why="it does not answer"),
    "ScriptFailed": lambda: errors.ScriptFailed(name="TypeError", text=SECRET, line=3, column=4),
    "SupervisorStopped": lambda: errors.SupervisorStopped("gave_up"),
    "UnknownCall": lambda: errors.UnknownCall("c-7"),
    "UnknownDialog": lambda: errors.UnknownDialog("d-9", known=[]),
    "UnknownFrame": lambda: errors.UnknownFrame("F", known=["G"]),
    "UnknownTarget": lambda: errors.UnknownTarget("T", known=["U"]),
    "UnsupportedBackend": lambda: errors.UnsupportedBackend("it has no targets"),
}
BASES: dict[str, tuple[type, ...]] = {"NavigationBlockedByDialog": (errors.BlockedByDialog, NavigationBlocked)}
BUILTIN = {"CallTimedOut": TimeoutError, "InvalidPolicy": ValueError}


def test_this_file_knows_every_error() -> None:
    ours = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, Exception) and value.__module__ == errors.__name__
    }
    assert ours == {*MADE, "SupervisorError"}
    assert ours <= set(cdp_supervisor.__all__)


@pytest.mark.parametrize("name", MADE)
def test_an_error_is_in_the_tree(name: str) -> None:
    kind = getattr(errors, name)
    bases = BASES.get(name, (errors.SupervisorError, *filter(None, [BUILTIN.get(name)])))
    assert kind.__bases__ == bases
    found_text = re.search(r"also a builtin `(\w+)`", inspect.getdoc(kind) or "")
    assert (found_text and found_text[1]) == (BUILTIN[name].__name__ if name in BUILTIN else None)


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("trip", TRIPS)
def test_an_error_can_be_copied_and_pickled(name: str, trip: str) -> None:
    error = MADE[name]()
    arrived = TRIPS[trip](error)
    assert type(arrived) is type(error)
    assert (str(arrived), repr(arrived), arrived.args) == (str(error), repr(error), error.args)
    assert vars(arrived) == vars(error)


def test_a_handle_cannot_be_pickled() -> None:
    error = errors.BlockedByDialog(["d-1"], method="Page.enable", call=object())
    arrived: errors.BlockedByDialog = pickle.loads(pickle.dumps(error))
    assert arrived.call is None
    assert (arrived.dialogs, arrived.method, str(arrived)) == (error.dialogs, error.method, str(error))
    assert error.call is not None


@pytest.mark.parametrize("name", MADE)
def test_an_error_is_one_or_two_sentences(name: str) -> None:
    text = str(MADE[name]())
    assert "\n" not in text
    assert re.fullmatch(r"[\w\"'].*[^.]\.", text), text
    assert not re.search(r"[.?!]{2}|\s[.?!,;]|None|\[\]", text), text
    assert len(re.findall(r"\.(?=\s+[A-Z]|$)", text)) == 1, text


@pytest.mark.parametrize("name", MADE)
def test_page_text_is_not_shown(name: str) -> None:
    error = MADE[name]()
    assert SECRET not in f"{error!s} {error!r} {error.args!r}"


def test_a_long_list_is_cut() -> None:
    assert str(MADE["AmbiguousTarget"]()).endswith("T11 and 18 more.")


def test_a_timeout_shows_its_reason_or_the_health_of_the_page() -> None:
    """The reason known for the call itself comes before the health of its page."""
    timeout = errors.CallTimedOut("Page.enable", waited=3.0, health=HEALTH, why="its page answers other commands")
    assert timeout.why == "its page answers other commands"
    assert str(timeout) == "Page.enable was not answered within 3 s: its page answers other commands."
    assert str(MADE["CallTimedOut"]()) == "Page.enable was not answered within 3 s: it does not answer."
    gone = errors.CallTimedOut("Page.enable", waited=3.0, health=None)
    assert str(gone) == "Page.enable was not answered within 3 s: its page is gone."
