"""The initial state; and a state is a value: a new one shares all unchanged parts with the old one."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from cdp_core.sansio.load_state import LoadState
from cdp_core.sansio.messages import SessionId, TargetId
from cdp_core.sansio.structs import replace
from cdp_supervisor.errors import InvalidPolicy
from cdp_supervisor.sansio.console import ConsoleRing
from cdp_supervisor.sansio.deadlines import entries
from cdp_supervisor.sansio.options import Limits, Policy, Reconnect, Scope
from cdp_supervisor.sansio.state import (
    NOWHEN,
    Attachment,
    CallRecord,
    Deadline,
    Dialog,
    Frame,
    HostedExtension,
    LinkState,
    Page,
    State,
    Ticket,
    initial_state,
)
from support.folded_machine import SampleExtension

T, S = TargetId("T"), SessionId("S")


class Named(ConsoleRing):
    """An extension with another name."""

    def __init__(self, name: str) -> None:
        self.name = name


REQUIRED: dict[type, dict[str, Any]] = {
    LinkState: {},
    Page: {"id": T, "number": 1},
    Frame: {"id": "F", "number": 1, "parent_id": None, "session_id": S},
    Dialog: {
        "id": "d-1",
        "number": 1,
        "target_id": T,
        "frame_id": "T",
        "session_id": S,
        "type": "alert",
        "message": "",
        "default_prompt": "",
        "native": True,
        "opened": NOWHEN,
        "generation": 1,
    },
    Attachment: {
        "session_id": S,
        "target_id": T,
        "type": "page",
        "parent": None,
        "page_id": T,
        "primary": True,
    },
    Ticket: {"purpose": "tree", "session_id": S, "since": NOWHEN},
    CallRecord: {
        "id": "c-1",
        "number": 1,
        "method": "Page.enable",
        "session_id": S,
        "page_id": T,
        "since": NOWHEN,
        "ticket": 1,
        "request_id": 1,
        "raises": True,
    },
    HostedExtension: {"extension": ConsoleRing(), "state": None},
}
RECORDS: list[Any] = [initial_state(), *(kind(**given) for kind, given in REQUIRED.items())]


def test_the_initial_state_is_empty_and_waits_for_a_link() -> None:
    state = initial_state()
    assert (state.link.phase, state.generation, state.sequence, state.now) == ("connecting", 1, 0, 0.0)
    for name in ("pages", "sessions", "page_of", "primary_on", "also_on", "adrift", "dialog_on", "tickets", "calls"):
        assert len(getattr(state, name)) == 0, name
    assert (tuple(entries(state.deadlines)), state.departed, state.ended_calls, state.extensions) == ((), (), (), ())
    assert (state.focus, state.page_gone, state.stopping) == (None, None, None)


def test_by_default_the_whole_browser_is_supervised_with_the_default_options() -> None:
    state = initial_state()
    assert (state.policy, state.scope, state.reconnect, state.limits) == (Policy(), Scope(), Reconnect(), Limits())
    assert (state.keepalive, state.adopting) == (60.0, False)


def test_the_given_options_are_in_the_state() -> None:
    given: dict[str, Any] = {
        "policy": Policy("auto_accept"),
        "scope": Scope.targets("T"),
        "reconnect": Reconnect.never(),
        "limits": Limits(pages_kept=1),
        "keepalive": None,
        "adopting": True,
    }
    state = initial_state(**given)
    assert {name: getattr(state, name) for name in given} == given


@pytest.mark.parametrize(
    ("name", "wrong", "kind"),
    [
        ("policy", "auto_accept", "Policy"),
        ("policy", {"alert": "auto_accept"}, "Policy"),
        ("scope", "T", "Scope"),
        ("reconnect", 5, "Reconnect"),
        ("reconnect", False, "Reconnect"),
        ("limits", {}, "Limits"),
    ],
)
def test_an_option_of_a_wrong_type_is_refused_by_its_name(name: str, wrong: Any, kind: str) -> None:
    with pytest.raises(InvalidPolicy, match=f"{name} must be a {kind}, not {type(wrong).__name__}"):
        initial_state(**{name: wrong})


@pytest.mark.parametrize(
    "wrong", [0, -1.0, float("nan"), float("inf"), True, "60", 10**400], ids=lambda odd: str(odd)[:9]
)
def test_the_keepalive_must_be_a_positive_number_of_seconds_or_none(wrong: Any) -> None:
    with pytest.raises(InvalidPolicy, match="keepalive must be a positive number of seconds, or None for never, not"):
        initial_state(keepalive=wrong)
    assert [initial_state(keepalive=each).keepalive for each in (None, 1, 0.5)] == [None, 1, 0.5]


def test_a_class_is_not_an_extension() -> None:
    with pytest.raises(InvalidPolicy, match=r"give an instance of it, ConsoleRing\(\)"):
        initial_state(extensions=(ConsoleRing,))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("lacks", "value"),
    [
        ("initial", None),
        ("step", 5),
        ("next_deadline", None),
        ("view", "view"),
        ("name", None),
        ("name", b"console"),
        ("events", None),
        ("events", "Log.entryAdded"),
        ("events", ["Log.entryAdded"]),
        ("events", frozenset({5})),
    ],
)
def test_an_extension_that_lacks_a_member_is_refused_with_its_name(lacks: str, value: Any) -> None:
    extension: Any = Named("whole")
    setattr(extension, lacks, value)
    what = "events (a frozenset of methods)" if lacks == "events" else lacks
    with pytest.raises(InvalidPolicy) as raised:
        initial_state(extensions=(extension,))
    assert str(raised.value) == f"Named is not an extension: it lacks {what}."


@pytest.mark.parametrize("odd", [None, "console", 5, object()])
def test_a_value_that_is_not_an_extension_is_refused(odd: Any) -> None:
    with pytest.raises(InvalidPolicy, match="is not an extension: it lacks"):
        initial_state(extensions=(odd,))


def test_each_extension_begins_with_its_initial_state() -> None:
    state = initial_state(extensions=(Named("b"), Named("a")))
    assert [each.extension.name for each in state.extensions] == ["b", "a"]  # fed in the order given
    for each in state.extensions:
        assert (each.state, each.off, each.timed) == (each.extension.initial(), "", False)


def test_two_extensions_with_the_same_name_are_refused() -> None:
    """The snapshot shows each extension under its name."""
    with pytest.raises(InvalidPolicy, match="Two extensions have the same name; the names are a, b, b"):
        initial_state(extensions=(Named("b"), Named("a"), Named("b")))


NONEMPTY_DEFAULTS: dict[type, dict[str, Any]] = {
    LinkState: {"phase": "connecting", "since": NOWHEN, "owned": True},
    Frame: {"load": LoadState()},
    Page: {"stale": True, "early_load": LoadState(), "requested": ("", False)},
    Dialog: {"phase": "open", "via": "native", "closed": NOWHEN},
    State: {"generation": 1, "link": LinkState()},
}


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_fields_that_are_not_given_are_empty(record: Any) -> None:
    """The exceptions are in `NONEMPTY_DEFAULTS`."""
    kind = type(record)
    given = set(REQUIRED.get(kind, ())) | (
        {"policy", "scope", "reconnect", "keepalive", "limits"} & set(kind.__annotations__)
    )
    defaults = {name: getattr(record, name) for name in kind.__annotations__ if name not in given}
    assert {name: value for name, value in defaults.items() if value or value is NOWHEN} == NONEMPTY_DEFAULTS.get(
        kind, {}
    )


def test_a_change_of_one_page_shares_the_others() -> None:
    """The ten-thousandth page costs no more than the tenth."""
    first, second = Page(id=T, number=1), Page(id=TargetId("U"), number=2)
    before = replace(initial_state(), pages=initial_state().pages.set(first.id, first).set(second.id, second))
    after = replace(before, pages=before.pages.set(T, replace(first, title="new")))
    assert (before.pages[T].title, after.pages[T].title) == ("", "new")
    assert after.pages[second.id] is before.pages[second.id]
    assert after.sessions is before.sessions


def test_the_maps_of_a_state_are_immutable() -> None:
    with pytest.raises(TypeError):
        initial_state().pages[T] = Page(id=T, number=1)  # type: ignore[index]
    assert initial_state() == initial_state()


def test_a_deadline_is_a_value_with_a_moment_and_a_reason() -> None:
    deadline = Deadline(at=3.0, why="the link is quiet")
    assert deadline == Deadline(at=3.0, why="the link is quiet")
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        deadline.at = 4.0  # type: ignore[misc]


def test_an_extension_that_raises_at_its_first_state_is_disabled_from_the_start() -> None:
    class Broken(SampleExtension):
        def initial(self) -> Any:
            raise KeyError("secret")

    [hosted] = initial_state(extensions=(Broken(),)).extensions
    assert (hosted.off, hosted.state) == ("its initial raised KeyError", None)
