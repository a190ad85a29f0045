"""The link: its effects when it comes up and goes down, reconnecting, giving up, and keepalive."""

from __future__ import annotations

from typing import Any

import pytest
from immutables import Map

from cdp_core.errors import ConnectionLost
from cdp_core.sansio.messages import Refusal, SessionId, TargetId
from cdp_core.sansio.structs import replace
from cdp_supervisor.errors import SupervisorStopped
from cdp_supervisor.sansio import link
from cdp_supervisor.sansio.changes import LinkChanged
from cdp_supervisor.sansio.deadlines import entries
from cdp_supervisor.sansio.effects import Answer, AutoAttach, Dial, Disconnect, Discover, Note, Publish, Send
from cdp_supervisor.sansio.inputs import Instant, LinkDown, LinkUp
from cdp_supervisor.sansio.options import Reconnect
from cdp_supervisor.sansio.requests import Recover
from cdp_supervisor.sansio.state import Attachment, CallRecord, LinkState, Page, State, Ticket, initial_state
from cdp_supervisor.sansio.transition import Transition
from support import folded_machine

T, S = TargetId("T"), SessionId("S")


def moment(mono: float) -> Instant:
    return Instant(mono=mono, wall=1_000.0 + mono)


def transition_at(mono: float, state: State | None = None, **changed: Any) -> Transition:
    before = initial_state() if state is None else state
    return Transition(replace(before, **changed) if changed else before, moment(mono), mono)


def up_at(mono: float, state: State | None = None, *, browser: str | None = None, **changed: Any) -> Transition:
    transition = transition_at(mono, state, **changed)
    link.link_up(transition, LinkUp(at=transition.at, generation=transition.state.generation, browser_id=browser))
    return transition


def down_at(mono: float, state: State, **how: Any) -> Transition:
    transition = transition_at(mono, state)
    fields = {"reason": "closed", "jitter": 1.0, **how}
    link.link_down(transition, LinkDown(at=transition.at, generation=state.generation, **fields))
    return transition


def redialled_at(mono: float, state: State) -> Transition:
    transition = transition_at(mono, state)
    link.redial(transition)
    return transition


def effects_of(transition: Transition, kind: Any) -> list[Any]:
    return [each for each in transition.effects if isinstance(each, kind)]


def published_link_changes(transition: Transition) -> list[LinkChanged]:
    return [each.change for each in effects_of(transition, Publish)]


def with_calls(state: State) -> State:
    """Add an open call, a call that a dialog blocks, a remedy, and a tree request without a caller."""
    call_fields = [(1, "c-1", 11), (2, "c-2", None)]
    records = {
        name: CallRecord(
            id=name,
            number=number,
            method="Runtime.evaluate",
            session_id=S,
            page_id=T,
            since=moment(1.0),
            ticket=number,
            request_id=request_id,
            raises=True,
        )
        for number, name, request_id in call_fields
    }
    tickets = {
        **{n: Ticket(purpose="call", session_id=S, since=moment(1.0), call_id=each) for n, each, _ in call_fields},
        3: Ticket(purpose="remedy", session_id=S, since=moment(1.0), request_id=13),
        4: Ticket(purpose="tree", session_id=S, since=moment(1.0), page_id=T),
    }
    return replace(state, calls=Map(records), tickets=Map(tickets), last_ticket=4)


# ── up ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_new_link_discovers_targets_before_it_requests_their_list() -> None:
    """Else a target that is created between the two would be missed."""
    transition = up_at(3.0)
    effects = [each for each in transition.effects if not isinstance(each, (Note, Publish))]
    assert effects == [
        Discover(),
        AutoAttach(),
        Send(ticket=1, session_id=None, method="Target.getTargets"),
    ]
    assert transition.state.tickets[1].purpose == "targets"
    assert published_link_changes(transition) == [LinkChanged(phase="up", generation=1, reason="")]


def test_an_adopting_supervisor_does_not_auto_attach() -> None:
    transition = up_at(3.0, adopting=True)
    assert effects_of(transition, AutoAttach) == []
    assert effects_of(transition, Discover) == [Discover()]


def test_a_link_that_is_up_has_its_moment_its_browser_and_its_ownership() -> None:
    before = replace(initial_state(), last_page=7, link=LinkState(phase="connecting", failures=2, unanswered=2))
    transition = transition_at(3.0, before)
    link.link_up(transition, LinkUp(at=transition.at, generation=1, browser_id="B", owned=False))
    now = transition.state.link
    assert (now.phase, now.reason, now.since, now.owned, now.browser_id) == ("up", "", moment(3.0), False, "B")
    assert (now.unanswered, now.listed, now.pages_before) == (0, False, 7)
    assert now.failures == 2  # a link counts as a failure until its targets are listed


@pytest.mark.parametrize("phase", ["up", "stopped", "gave_up"])
def test_a_link_that_comes_up_unexpectedly_changes_nothing(phase: str) -> None:
    transition = transition_at(3.0, link=LinkState(phase=phase))
    before = transition.state
    link.link_up(transition, LinkUp(at=transition.at, generation=1))
    assert (transition.state, transition.effects) == (before, [])


@pytest.mark.parametrize(
    ("old", "new", "changed"), [("B", "C", True), ("B", "B", False), (None, "C", False), ("B", None, False)]
)
def test_another_browser_is_detected_if_both_addresses_contain_an_id(
    old: str | None, new: str | None, changed: bool
) -> None:
    transition = up_at(3.0, browser=new, link=LinkState(browser_id=old))
    assert transition.state.link.browser_changed is changed
    noted = [each.text for each in effects_of(transition, Note)]
    assert ("another browser is behind the link; the pages of the previous browser are gone" in noted) is changed
    assert transition.state.link.browser_ids_known is (old is not None and new is not None)
    assert transition.state.link.browser_id == (new or old)  # an address without an id keeps the known one


def test_a_changed_browser_stays_marked_as_changed() -> None:
    transition = up_at(3.0, browser="C", link=LinkState(browser_id="C", browser_changed=True))
    assert transition.state.link.browser_changed


# ── an endpoint that is not a browser ─────────────────────────────────────────────────────────────────────────────────


def refused_at(mono: float, **changed: Any) -> Transition:
    transition = transition_at(mono, up_at(3.0, **changed).state)
    link.unsupported(transition, Refusal(id=1, code=-32601, message="text of the peer"))
    return transition


def test_a_peer_that_refuses_to_list_its_targets_is_disconnected() -> None:
    transition = refused_at(4.0)
    assert transition.state.link.unsupported == "Target.getTargets was refused (code -32601)"
    assert effects_of(transition, Disconnect) == [Disconnect(reason="unsupported")]
    (note,) = effects_of(transition, Note)
    assert "cannot be supervised" in note.text
    assert "text of the peer" not in str(note)


def test_an_adopting_supervisor_does_not_disconnect() -> None:
    transition = refused_at(4.0, adopting=True)
    assert transition.state.link.unsupported
    assert effects_of(transition, Disconnect) == []


# ── down ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_lost_link_is_dialled_again_after_a_wait() -> None:
    state = up_at(3.0).state
    transition = down_at(5.0, replace(state, link=replace(state.link, listed=True)))
    now = transition.state.link
    assert not now.listed  # the targets of the next link are not listed yet
    assert (now.phase, now.reason, now.since, now.failures) == ("down", "closed", moment(5.0), 1)
    assert tuple(entries(transition.state.deadlines)) == (
        (5.5, ("redial", ""), "the link is down (closed)"),
    )  # and no keepalive
    assert published_link_changes(transition) == [LinkChanged(phase="down", generation=1, reason="closed")]
    assert effects_of(transition, (Send, Dial)) == []


@pytest.mark.parametrize("phase", ["down", "stopped", "gave_up"])
def test_a_link_is_lost_once(phase: str) -> None:
    state = replace(with_calls(initial_state()), link=LinkState(phase=phase))
    transition = down_at(5.0, state)
    assert (transition.state, transition.effects) == (state, [])


def test_a_command_is_never_sent_twice() -> None:
    """An open command ends with its link, once; its caller decides whether to repeat it."""
    transition = down_at(5.0, with_calls(up_at(3.0).state), reason="reset")
    assert effects_of(transition, Send) == []
    assert len(transition.state.tickets) == 0
    answers = {each.request_id: each.error for each in effects_of(transition, Answer)}
    assert set(answers) == {11, 13}
    assert len(effects_of(transition, Answer)) == 2
    for error in answers.values():
        assert isinstance(error, ConnectionLost)
        assert error.reason == "reset"
    _, kept = transition.state.calls["c-2"].ended or (None, None)
    assert isinstance(kept, ConnectionLost)  # for the caller that got `BlockedByDialog` and may await the end
    assert list(transition.state.calls) == ["c-2"]


def test_sessions_end_with_their_link_and_pages_stay_for_the_next() -> None:
    attached = Attachment(session_id=S, target_id=T, type="page", parent=None, page_id=T, primary=True)
    state = replace(
        up_at(3.0).state,
        pages=Map({T: Page(id=T, number=1, session_id=S, stale=False)}),
        sessions=Map({S: attached}),
        page_of=Map({S: T}),
        primary_on=Map({T: S}),
    )
    after = down_at(5.0, state).state
    assert len(after.sessions) == len(after.page_of) == len(after.primary_on) == 0
    assert (after.pages[T].session_id, after.pages[T].stale) == (None, True)


def test_each_failure_waits_longer_and_an_outage_is_logged_only_at_its_beginning_and_end() -> None:
    """The log has one line when the outage begins, and one when the link is given up."""
    state, now = initial_state(reconnect=Reconnect(first=1.0, factor=2.0, most=3.0, budget=4)), 10.0
    waits, lines = [], []
    for _ in range(4):
        transition = down_at(now, state)
        waits.append(next(iter(entries(transition.state.deadlines)))[0] - now)
        lines.append([each.level for each in effects_of(transition, Note)])
        now = next(iter(entries(transition.state.deadlines)))[0]
        state = redialled_at(now, transition.state).state
    assert (waits, lines) == ([1.0, 2.0, 3.0, 3.0], [["warning"], [], [], []])
    last = down_at(now, state)
    assert (last.state.link.phase, last.state.link.failures) == ("gave_up", 5)
    assert effects_of(last, Note) == [
        Note(
            level="warning",
            text="link down; the supervisor does not reconnect",
            fields={"generation": 5, "reason": "closed", "failures": 5},
        )
    ]


@pytest.mark.parametrize(
    ("owned", "final", "budget", "reason"),
    [(True, True, 5, "gave_up"), (True, False, 0, "gave_up"), (False, False, 5, "link_not_owned")],
)
def test_a_link_that_is_given_up_is_not_dialled_and_open_requests_get_an_error(
    owned: bool, final: bool, budget: int, reason: str
) -> None:
    """401 and the like are final; a link that is not owned is not dialled again."""
    state = with_calls(initial_state(reconnect=Reconnect(budget=budget)))
    broken = replace(state.calls["c-1"], id="c-9", ticket=9, request_id=19)  # its ticket is gone already
    state = replace(state, calls=state.calls.set("c-9", broken), link=LinkState(phase="up", owned=owned))
    transition = down_at(5.0, state, final=final)
    assert transition.state.link.phase == "gave_up"
    assert (tuple(entries(transition.state.deadlines)), effects_of(transition, Dial)) == ((), [])
    assert published_link_changes(transition) == [LinkChanged(phase="gave_up", generation=1, reason="closed")]
    answers = {each.request_id: each.error for each in effects_of(transition, Answer)}
    assert isinstance(answers[11], ConnectionLost)  # its command was open
    assert isinstance(answers[19], SupervisorStopped)
    assert answers[19].reason == reason


# ── reconnecting ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_redial_starts_a_new_generation() -> None:
    """The generation identifies late inputs of the old link."""
    transition = redialled_at(9.0, down_at(5.0, up_at(3.0).state).state)
    assert (transition.state.generation, transition.state.link.phase, transition.state.link.since) == (
        2,
        "connecting",
        moment(9.0),
    )
    assert transition.effects == [Dial(generation=2)]


@pytest.mark.parametrize("phase", ["connecting", "up", "stopped", "gave_up"])
def test_only_a_link_that_is_down_is_dialled(phase: str) -> None:
    transition = transition_at(9.0, link=LinkState(phase=phase))
    before = transition.state
    link.redial(transition)
    assert (transition.state, transition.effects) == (before, [])


def test_a_new_link_repeats_discovery_auto_attach_and_the_list_of_targets() -> None:
    down = down_at(5.0, up_at(3.0).state)
    transition = up_at(10.0, redialled_at(9.0, down.state).state)
    assert [type(each) for each in transition.effects if not isinstance(each, (Note, Publish))] == [
        Discover,
        AutoAttach,
        Send,
    ]
    assert published_link_changes(transition) == [LinkChanged(phase="up", generation=2, reason="")]


# ── keepalive ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def keepalive_due_at(mono: float, state: State, **changed: Any) -> Transition:
    """Return the transition of a keepalive deadline that is due at this moment."""
    transition = transition_at(mono, state)
    transition.cancel(("keepalive", ""))
    if changed:
        transition.update(link=replace(transition.state.link, **changed))
    link.keepalive_due(transition)
    return transition


def test_the_keepalive_is_due_a_minute_after_the_last_command() -> None:
    state = up_at(3.0).state
    assert tuple(entries(state.deadlines)) == ((63.0, ("keepalive", ""), "the link is quiet"),)


def test_a_link_with_a_recent_command_gets_no_keepalive() -> None:
    """The next check is a minute after the last command, not after this check."""
    transition = keepalive_due_at(63.0, up_at(3.0).state, last_sent=50.0)
    assert transition.effects == []
    assert tuple(entries(transition.state.deadlines)) == ((110.0, ("keepalive", ""), "the link is quiet"),)


def test_a_quiet_link_gets_a_keepalive_command() -> None:
    transition = keepalive_due_at(63.0, up_at(3.0).state)
    [sent] = transition.effects
    assert (sent.method, sent.session_id, transition.state.tickets[sent.ticket].purpose) == (
        "Browser.getVersion",
        None,
        "keepalive",
    )
    assert transition.state.link.unanswered == 1
    assert tuple(entries(transition.state.deadlines)) == ((123.0, ("keepalive", ""), "the link is quiet"),)


def test_a_missing_keepalive_reply_is_requested_again_whatever_else_was_sent() -> None:
    """Commands sent into a dead link do not show that it is alive."""
    transition = keepalive_due_at(63.0, up_at(3.0).state, last_sent=62.0, unanswered=1)
    assert [each.method for each in effects_of(transition, Send)] == ["Browser.getVersion"]
    assert transition.state.link.unanswered == 2


def test_two_missing_keepalive_replies_end_the_link() -> None:
    transition = keepalive_due_at(63.0, up_at(3.0).state, unanswered=2)
    assert (effects_of(transition, Disconnect), effects_of(transition, Send)) == ([Disconnect(reason="half_open")], [])
    assert [each.level for each in effects_of(transition, Note)] == ["warning"]
    assert transition.state.link.phase == "up"  # until the event source reports its end
    assert tuple(entries(transition.state.deadlines)) == ((123.0, ("keepalive", ""), "the link is quiet"),)


@pytest.mark.parametrize("unanswered", [0, 1, 2])
def test_any_reply_shows_that_the_link_is_alive(unanswered: int) -> None:
    transition = transition_at(64.0, up_at(3.0).state, link=LinkState(phase="up", unanswered=unanswered))
    link.alive(transition)
    assert transition.state.link.unanswered == 0
    next_check = keepalive_due_at(65.0, transition.state, last_sent=3.0)
    assert next_check.state.link.unanswered == 1


def test_a_reply_on_a_link_without_a_missing_reply_changes_nothing() -> None:
    """This is the case for nearly every message."""
    transition = transition_at(64.0, link=LinkState(phase="up"))
    before = transition.state
    link.alive(transition)
    assert transition.state is before


@pytest.mark.parametrize("phase", ["connecting", "down", "stopped", "gave_up"])
def test_only_a_link_that_is_up_gets_a_keepalive(phase: str) -> None:
    transition = keepalive_due_at(63.0, up_at(3.0).state, phase=phase, unanswered=2)
    assert (transition.effects, tuple(entries(transition.state.deadlines))) == ([], ())


def test_without_a_keepalive_a_link_may_be_quiet_for_ever() -> None:
    state = up_at(3.0, initial_state(keepalive=None)).state
    assert tuple(entries(state.deadlines)) == ()
    transition = keepalive_due_at(9_000.0, state, unanswered=2)
    assert (transition.effects, tuple(entries(transition.state.deadlines))) == ([], ())


def test_the_proof_of_a_remedy_ends_with_the_link() -> None:
    fold = folded_machine.on_a_page().passes(3.0)
    request_id = fold.ask(Recover(target_id="P", remedy="reload"))
    fold.reply("Page.reload").down()
    assert isinstance(fold.answers[request_id].error, ConnectionLost)
