"""Extensions: which inputs they receive, what they may return, and what they show."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from cdp_core.errors import InvalidArgument, LocalProtocolError
from cdp_core.sansio.messages import Event
from cdp_core.sansio.structs import Raw, replace
from cdp_supervisor.sansio import extensions
from cdp_supervisor.sansio.deadlines import added, entries
from cdp_supervisor.sansio.effects import (
    Answer,
    AnswerFetch,
    ClaimFetch,
    Dial,
    Effect,
    Note,
    OpenDialog,
    Release,
    ReleaseFetch,
    Send,
)
from cdp_supervisor.sansio.extensions import MAX_UNSENT
from cdp_supervisor.sansio.inputs import (
    BrowserEvent,
    DialogAnswered,
    FetchEnded,
    FetchExpired,
    FetchPaused,
    Input,
    NotSent,
    Replied,
    Stopping,
    TimePassed,
)
from cdp_supervisor.sansio.requests import AskExtension, Stop
from cdp_supervisor.sansio.transition import Transition
from cdp_supervisor.sansio.wanted_effects import MAX_SENDS, NAMES
from support import folded_machine
from support.folded_machine import LOG, Rule, SampleExtension, on_a_page

OTHER = f"it returned something other than {NAMES}"


def returning(*effects: Any, on: type[Input] = BrowserEvent) -> Rule:
    return lambda state, received: (state, effects if type(received) is on else ())


def send(**changed: Any) -> Any:
    return Send(**{"ticket": 0, "session_id": None, "method": "Log.clear", **changed})


def note(**changed: Any) -> Any:
    return Note(**{"level": "info", "text": "seen", **changed})


def raising(_state: Any, _input: Input) -> Any:
    raise KeyError("no")


def extension_state(fold: Any, place: int = 0) -> Any:
    return fold.state.extensions[place].state


def test_an_extension_receives_its_events_with_their_page_and_all_other_inputs() -> None:
    extension = SampleExtension(events={LOG, "Page.frameAttached"})
    fold = on_a_page(extensions=(extension,))
    before = len(extension_state(fold))
    fold.event(LOG, on="s-P")
    fold.event(LOG)
    fold.event("Page.frameAttached", on="s-P", frameId="A", parentFrameId="P")
    fold.event("Page.frameAttached", frameId="B")
    fold.event("Page.frameDetached", on="s-P", frameId="A")
    fold.passes(0.1)
    received = extension_state(fold)[before:]
    assert [getattr(each, "page", "-") for each in received] == ["P", None, "P", None, "-"]
    assert fold.shown().extensions["example"] == {"fed": len(extension_state(fold))}


def test_each_extension_receives_only_its_own_events() -> None:
    fold = on_a_page(extensions=(SampleExtension(events={LOG}), SampleExtension(events={"X.y"}, name="other")))
    before = [len(extension_state(fold, 0)), len(extension_state(fold, 1))]
    fold.event(LOG, on="s-P")
    assert [len(extension_state(fold, 0)), len(extension_state(fold, 1))] == [before[0] + 1, before[1]]


def test_an_event_makes_a_new_state_only_if_an_extension_changes_its_state() -> None:
    fold = on_a_page(extensions=(SampleExtension(lambda state, _input: (state, ()), events={LOG}),))
    before = fold.state
    fold.event(LOG, on="s-P")
    assert fold.state is before
    fold.now = 0.5
    fold.event(LOG, on="s-P")
    assert (fold.state.sequence, fold.state.now) == (before.sequence, 0.5)
    keeps = on_a_page(extensions=(SampleExtension(events={LOG}),))
    before = keeps.state
    keeps.event(LOG, on="s-P")
    assert keeps.state.sequence == before.sequence + 1
    assert keeps.state.pages is before.pages


def test_an_event_that_only_extensions_use_still_runs_due_deadlines() -> None:
    fold = on_a_page(extensions=(SampleExtension(events={LOG}),))
    fold.now = 3.0
    fold.event(LOG, on="s-P")
    assert fold.health() == "blocked"


def test_extensions_receive_no_event_of_an_older_link() -> None:
    fold = on_a_page(extensions=(SampleExtension(events={LOG}),))
    before = extension_state(fold)
    fold.feed(BrowserEvent(at=fold.at, generation=0, event=folded_machine.event_of(LOG, {}, "s-P")))
    assert extension_state(fold) is before
    assert fold.count("inputs_of_older_links") == 1


def test_a_page_that_is_already_filled_in_is_kept() -> None:
    """A replayed event may contain its page."""
    fold = on_a_page(extensions=(SampleExtension(events={LOG}),))
    fold.feed(BrowserEvent(at=fold.at, generation=1, event=folded_machine.event_of(LOG, {}, "s-P"), page="P"))
    assert extension_state(fold)[-1].page == "P"


def test_an_extension_may_send_and_note_and_receives_no_end_of_its_commands() -> None:
    send = Send(ticket=7, session_id=None, method="Log.clear")
    note = Note(level="info", text="seen")
    fold = on_a_page(extensions=(SampleExtension(returning(send, note), events={LOG}),))
    tickets = fold.state.tickets
    fold.event(LOG, on="s-P")
    assert fold.last == (replace(send, ticket=0, bounded=True), note)
    assert fold.state.tickets is tickets


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (raising, "it raised KeyError"),
        (returning(Dial(generation=9)), OTHER),
        (returning(Answer(request_id=1)), OTHER),
        (returning(*[Send(ticket=0, session_id=None, method="Log.clear")] * 9), "it sent 9 commands for one input"),
        (lambda _state, _input: None, "it raised TypeError"),
        (lambda state, _input: (state, 5), "it raised TypeError"),
        (returning(None), OTHER),
        (returning(note(level="fatal")), "the level of the Note that it returned is invalid"),
        (returning(note(level=[])), "the level of the Note that it returned is invalid"),
        (returning(note(text=None)), "the text of the Note that it returned is invalid"),
        (returning(note(fields=[1])), "the fields of the Note that it returned is invalid"),
        (returning(send(session_id=5)), "the session_id of the Send that it returned is invalid"),
        (returning(send(method="")), "the method of the Send that it returned is invalid"),
        (returning(send(method=None)), "the method of the Send that it returned is invalid"),
        (returning(send(method=5)), "the method of the Send that it returned is invalid"),
        (returning(send(params={"a": object()})), "it sent Log.clear with params that are not JSON"),
        (returning(send(params={"a": math.nan})), "it sent Log.clear with params that are not JSON"),
        (returning(send(params=5)), "it sent Log.clear with params that are not JSON"),
        (returning(send(method="x" * 99, params=5)), f"it sent {'x' * 64} with params that are not JSON"),
        (returning(send(), note(), send(method="")), "the method of the Send that it returned is invalid"),
    ],
    ids=lambda each: each[:60] if isinstance(each, str) else "",
)
def test_an_extension_that_breaks_a_rule_is_disabled_and_nothing_else_changes(rule: Rule, why: str) -> None:
    fold = on_a_page(
        extensions=(SampleExtension(_for_events_only(rule), events={LOG}), SampleExtension(name="other", events={LOG}))
    )
    before = len(extension_state(fold, 1))
    fold.event(LOG, on="s-P")
    assert fold.state.extensions[0].off == why
    assert fold.count("machines_switched_off") == 1
    assert "an extension was disabled" in fold.notes()
    assert not [each for each in fold.last if not isinstance(each, Note)]
    assert len(extension_state(fold, 1)) == before + 1
    assert fold.shown().extensions["example"] == {"off": why}
    fold.event(LOG, on="s-P").passes(0.1)
    assert fold.count("machines_switched_off") == 1


def _for_events_only(rule: Rule) -> Rule:
    """Return a rule that is applied to events only: any other input changes nothing."""

    def guarded(state: Any, input: Input) -> Any:
        return rule(state, input) if isinstance(input, BrowserEvent) else (state, ())

    return guarded


def test_a_disabled_extension_receives_nothing() -> None:
    received: list[Input] = []

    def once(state: Any, input: Input) -> Any:
        if isinstance(input, BrowserEvent):
            received.append(input)
            raise KeyError
        return state, ()

    fold = on_a_page(extensions=(SampleExtension(once, events={LOG}),))
    fold.event(LOG, on="s-P")
    received.clear()
    fold.event(LOG, on="s-P")
    fold.now = 3.0  # a deadline is due: not the short path
    fold.event(LOG, on="s-P")
    assert not received


@pytest.mark.parametrize(
    "effect", [send(session_id="s-P"), send(params={"a": [1, None]}), note(level="debug"), note(fields={"a": object()})]
)
def test_a_valid_effect_is_performed(effect: Any) -> None:
    fold = on_a_page(extensions=(SampleExtension(returning(effect), events={LOG}),))
    fold.event(LOG, on="s-P")
    assert fold.last == (replace(effect, bounded=True) if isinstance(effect, Send) else effect,)
    assert not fold.state.extensions[0].off


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf, True, "soon", 10**400], ids=lambda odd: str(odd)[:9])
def test_an_extension_with_an_invalid_deadline_is_disabled(odd: Any) -> None:
    extension = SampleExtension(wants=2.0)
    fold = on_a_page(extensions=(extension,))
    extension.wants = odd
    fold.passes(0.1)
    assert fold.state.extensions[0].off == "its deadline is not a finite number"
    assert "extension example scheduled it" not in fold.deadline_reasons()


def test_an_extension_may_send_eight_commands_for_one_input() -> None:
    sends = [Send(ticket=0, session_id=None, method="Log.clear")] * 8
    fold = on_a_page(extensions=(SampleExtension(returning(*sends), events={LOG}),))
    fold.event(LOG, on="s-P")
    assert len(fold.last) == 8
    assert not fold.state.extensions[0].off


def test_only_the_extension_with_the_due_deadline_receives_the_time() -> None:
    extension = SampleExtension(wants=2.0)
    fold = on_a_page(extensions=(extension, SampleExtension(name="other")))
    assert "extension example scheduled it" in fold.deadline_reasons()
    others = len(extension_state(fold, 1))
    extension.rule = functools.partial(_end_schedule, extension)
    fold.now = 2.0
    fold.event("Page.frameAttached", on="s-P", frameId="A", parentFrameId="P")
    assert type(extension_state(fold)[-1]) is TimePassed
    assert extension_state(fold)[-1].at.mono == 2.0
    assert "extension example scheduled it" not in fold.deadline_reasons()
    assert len(extension_state(fold, 1)) == others


def _end_schedule(extension: SampleExtension, state: Any, input: Input) -> tuple[Any, Iterable[Effect]]:
    """Keep the input, and schedule no other deadline."""
    extension.wants = None
    return (*state, input), ()


def test_an_extension_may_move_or_cancel_its_deadline() -> None:
    extension = SampleExtension(wants=2.0)
    fold = on_a_page(extensions=(extension,))

    def deadlines() -> list[float]:
        return [at for at, _, why in tuple(entries(fold.state.deadlines)) if "extension" in why]

    fold.passes(0.1)
    assert deadlines() == [2.0]
    extension.wants = 1.5
    fold.passes(0.1)
    assert deadlines() == [1.5]
    extension.wants = None
    fold.passes(0.1)
    assert deadlines() == []


def test_an_event_on_the_short_path_may_set_a_deadline_too() -> None:
    extension = SampleExtension(events={LOG})
    fold = on_a_page(extensions=(extension,))
    extension.wants = 2.0
    fold.event(LOG, on="s-P")
    assert "extension example scheduled it" in fold.deadline_reasons()


def test_a_deadline_in_the_past_does_not_repeat_for_ever() -> None:
    """Each deadline is later than every time seen so far, so a step ends."""
    fold = on_a_page(extensions=(SampleExtension(wants=0.0),))
    fold.passes(0.1)
    assert next(iter(entries(fold.state.deadlines)))[0] > 0.1


def test_the_deadline_of_a_disabled_extension_is_not_run() -> None:
    extension = SampleExtension(wants=2.0)
    fold = on_a_page(extensions=(extension,))
    extension.rule = raising
    fold.passes(0.1)
    assert "extension example scheduled it" not in fold.deadline_reasons()
    key = (("extension", "example"), 5.0)
    fold.state = replace(
        fold.state,
        deadlines=added(fold.state.deadlines, (key[1], key[0], "as if scheduled before")),
        deadline_of=fold.state.deadline_of.set(*key),
    )
    fold.passes(10.0)
    assert fold.count("machines_switched_off") == 1


def test_an_extension_that_folds_receives_several_events_at_once() -> None:
    keeper, other = folded_machine.Keeper(), folded_machine.Keeper(name="other", events={LOG, "X.y"})
    fold = on_a_page(extensions=(keeper, other))
    after = extensions.fold(
        fold.state, [*folded_machine.lines(fold, "a"), *folded_machine.lines(fold, "b", method="X.y")]
    )
    assert after is not None
    assert [each.state for each in after.extensions] == [("a",), ("a", "b")]
    assert after.sequence == fold.state.sequence + 2


@pytest.mark.parametrize("text", ["fatal", "x"])
def test_events_are_not_folded_at_once_if_an_extension_fails_or_does_not_fold(text: str) -> None:
    more = () if text == "fatal" else (SampleExtension(events={LOG}),)
    fold = on_a_page(extensions=(folded_machine.Keeper(), *more))
    assert extensions.fold(fold.state, folded_machine.lines(fold, text)) is None


def test_events_that_no_extension_keeps_make_no_new_state() -> None:
    fold = on_a_page(
        extensions=(folded_machine.Keeper(ignores="x"), folded_machine.Keeper(name="idle", events={"Z.z"}))
    )
    assert extensions.fold(fold.state, folded_machine.lines(fold, "x")) is fold.state


# ── replies to commands of extensions ────────────────────────────────────────────────────────────────────────────────


def on_events(*effects: Any) -> Rule:
    return _for_events_only(lambda state, received: ((*state, received), effects))


def collecting(state: Any, received: Any) -> Any:
    return (*state, received), ()


def tagged(tag: str = "a", **changed: Any) -> Any:
    return send(reply_to=tag, **changed)


def replies(fold: Any, place: int = 0) -> list[Any]:
    return [each for each in extension_state(fold, place) if isinstance(each, Replied)]


def test_an_extension_gets_the_end_of_a_command_with_a_tag() -> None:
    fold = on_a_page(
        extensions=(
            SampleExtension(
                lambda state, got: ((*state, got), (tagged(),) if type(got) is BrowserEvent else ()), events={LOG}
            ),
            SampleExtension(collecting, name="other"),
        )
    )
    fold.event(LOG, on="s-P")
    assert fold.last[-1] == send(ticket=fold.state.last_ticket, bounded=True)
    fold.reply("Log.clear", {"done": True})
    (reply,) = replies(fold)
    assert (reply.tag, reply.outcome.value) == ("a", {"done": True})
    assert replies(fold, 1) == []
    assert not fold.state.tickets.get(fold.state.last_ticket)


@pytest.mark.parametrize("odd", [5, None, ["a"], "x" * 1001])
def test_a_tag_is_a_short_text(odd: Any) -> None:
    fold = on_a_page(extensions=(SampleExtension(_for_events_only(returning(tagged(odd))), events={LOG}),))
    fold.event(LOG, on="s-P")
    assert fold.state.extensions[0].off == "the reply_to of the Send that it returned is invalid"


def test_an_extension_that_sends_again_on_each_failure_is_disabled() -> None:
    """A command that cannot be sent ends at once: answering it with another one would never end."""

    def stubborn(state: Any, got: Any) -> Any:
        return state, (tagged(session_id="gone"),) if type(got) in (BrowserEvent, Replied) else ()

    fold = on_a_page(extensions=(SampleExtension(stubborn, events={LOG}),))
    fold.event(LOG, on="s-P")
    for _number in range(MAX_UNSENT):
        assert not fold.state.extensions[0].off
        fold.ends(fold.state.last_ticket, NotSent(error=KeyError()))
    fold.ends(fold.state.last_ticket, NotSent(error=KeyError()))
    assert fold.state.extensions[0].off == "it went on sending after 32 commands that could not be sent"
    fold.ends(fold.state.last_ticket, NotSent(error=KeyError()))


def test_a_reply_in_between_resets_the_count_of_failures() -> None:
    def stubborn(state: Any, got: Any) -> Any:
        return state, (tagged(),) if type(got) in (BrowserEvent, Replied) else ()

    fold = on_a_page(extensions=(SampleExtension(stubborn, events={LOG}),))
    fold.event(LOG, on="s-P")
    for number in range(100):
        if number % 30:
            fold.ends(fold.state.last_ticket, NotSent(error=KeyError()))
        else:
            fold.reply("Log.clear")
    assert not fold.state.extensions[0].off


def test_a_disabled_extension_gets_no_reply() -> None:
    def once(state: Any, got: Any) -> Any:
        if type(got) is Replied:
            raise AssertionError
        if got.event.params.get("x"):
            raise KeyError
        return state, (tagged(),)

    fold = on_a_page(extensions=(SampleExtension(_for_events_only(once), events={LOG}),))
    fold.event(LOG, on="s-P").event(LOG, on="s-P", x=1)
    fold.reply("Log.clear")
    assert fold.state.extensions[0].off == "it raised KeyError"


# ── pages of root-level events ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("frame_id", "page"), [("P", "P"), ("F", "P"), ("Q", "Q"), ("gone", None), (5, None), (None, None)]
)
def test_a_root_level_event_belongs_to_the_page_of_the_frame_that_it_names(frame_id: Any, page: Any) -> None:
    fold = folded_machine.with_tree("F", extensions=(SampleExtension(events={"Fetch.requestPaused"}),))
    fold.attach("Q")
    fold.event("Fetch.requestPaused", frameId=frame_id)
    assert extension_state(fold)[-1].page == page


def test_a_root_level_event_with_unreadable_params_belongs_to_no_page() -> None:
    fold = on_a_page(extensions=(SampleExtension(events={LOG}),))
    fold.feed(BrowserEvent(at=fold.at, generation=1, event=Event(method=LOG, raw=Raw(b"[1"))))
    assert extension_state(fold)[-1].page is None


# ── the stop ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def at_stop(*effects: Any) -> Rule:
    return lambda state, got: ((*state, got), effects if type(got) is Stopping else ())


def released(fold: Any) -> bool:
    return any(isinstance(each, Release) for each in fold.orders)


def test_an_extension_may_send_before_the_link_is_released_and_the_stop_waits_for_its_reply() -> None:
    fold = on_a_page(extensions=(SampleExtension(at_stop(tagged())),))
    fold.ask(Stop())
    assert fold.sent("Log.clear")
    assert not released(fold)
    fold.reply("Log.clear")
    assert released(fold)
    assert fold.state.link.phase == "stopped"


def test_a_reply_may_cause_further_commands_before_the_release() -> None:
    def two(state: Any, got: Any) -> Any:
        if type(got) is Stopping:
            return state, (tagged("first"),)
        return state, (tagged("second", method="Log.disable"),) if getattr(got, "tag", "") == "first" else ()

    fold = on_a_page(extensions=(SampleExtension(two),))
    fold.ask(Stop())
    fold.reply("Log.clear")
    assert not released(fold)
    fold.reply("Log.disable")
    assert released(fold)


def test_the_stop_waits_one_second_for_an_extension() -> None:
    fold = on_a_page(extensions=(SampleExtension(at_stop(tagged())),))
    fold.ask(Stop())
    fold.passes(0.9)
    assert not released(fold)
    fold.passes(0.2)
    assert released(fold)


def test_a_stop_does_not_wait_for_commands_without_a_tag() -> None:
    fold = on_a_page(extensions=(SampleExtension(at_stop(send())),))
    fold.ask(Stop())
    assert released(fold)
    sends = [each for each in fold.last if isinstance(each, (Send, Release))]
    assert [type(each) for each in sends[-2:]] == [Send, Release]


def test_an_extension_that_never_ends_sending_at_the_stop_is_disabled() -> None:
    def endless(state: Any, got: Any) -> Any:
        return state, tuple(tagged(str(each)) for each in range(8)) if type(got) in (Stopping, Replied) else ()

    fold = on_a_page(extensions=(SampleExtension(endless),))
    fold.ask(Stop())
    for _number in range(3):
        fold.ends(fold.state.last_ticket, folded_machine.result_of({}))
    assert not fold.state.extensions[0].off
    fold.ends(fold.state.last_ticket, folded_machine.result_of({}))
    assert fold.state.extensions[0].off == "it sent 40 commands after Stopping"
    fold.passes(1.1)
    assert released(fold)


def test_no_extension_hears_of_a_stop_while_the_link_is_down() -> None:
    fold = on_a_page(extensions=(SampleExtension(at_stop(tagged())),)).down()
    fold.ask(Stop())
    assert not any(isinstance(each, Stopping) for each in extension_state(fold))


# ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class Answering(SampleExtension):
    """An extension that answers each question with `reply`, which may be an exception to raise."""

    reply: Any = ({"ok": True}, ())

    def answer(self, state: Any, question: Any) -> Any:
        if isinstance(self.reply, Exception):
            raise self.reply
        value, effects = self.reply
        return (*state, question), value, effects


def asked(reply: Any, name: str = "example") -> Any:
    extension = Answering()
    extension.reply = reply
    fold = on_a_page(extensions=(extension, SampleExtension(name="silent")))
    fold.ask(AskExtension(extension=name, question={"mode": "on"}))
    return fold, fold.answers[fold.asked]


def test_an_extension_answers_a_question_and_may_send() -> None:
    fold, answer = asked(({"ok": True}, (send(),)))
    assert (answer.value, answer.error) == ({"ok": True}, None)
    assert {"mode": "on"} in extension_state(fold)
    assert fold.sent("Log.clear")


def test_a_question_that_the_extension_refuses_changes_nothing() -> None:
    fold, answer = asked(InvalidArgument("mode must be on or off."))
    assert str(answer.error) == "mode must be on or off."
    assert not fold.state.extensions[0].off


@pytest.mark.parametrize(
    ("reply", "off"),
    [
        (KeyError("secret"), "its answer raised KeyError"),
        (({"ok": True}, (5,)), OTHER),
        (({"ok": True}, 5), "its answer raised TypeError"),
        (({"ok": {1}}, ()), "its answer raised InvalidArgument"),
        ((5, ()), "its answer raised InvalidArgument"),
    ],
)
def test_an_extension_whose_answer_fails_is_disabled_and_the_caller_gets_an_error(reply: Any, off: str) -> None:
    fold, answer = asked(reply)
    assert fold.state.extensions[0].off == off
    assert off in str(answer.error)
    assert "secret" not in str(answer.error)


@pytest.mark.parametrize("value", [{"a": object()}, {"a": math.nan}, [1], None])
def test_an_answer_must_be_a_json_object(value: Any) -> None:
    _fold, answer = asked((value, ()))
    assert isinstance(answer.error, InvalidArgument)


@pytest.mark.parametrize(
    ("name", "why"), [("nobody", "'nobody' does not exist"), ("silent", "'silent' takes no requests")]
)
def test_an_extension_that_takes_no_requests_is_named_with_those_that_do(name: str, why: str) -> None:
    _fold, answer = asked(({}, ()), name)
    assert why in str(answer.error)
    assert "extensions that take requests: example" in str(answer.error)


# ── an extension that raises in each of its functions ────────────────────────────────────────────────────────────────


class Raising(Answering):
    """An extension that raises in one of its functions."""

    def __init__(self, where: str) -> None:
        super().__init__(events={LOG})

        def fails(*_given: Any) -> Any:
            raise KeyError(where)

        setattr(self, where, fails)


@pytest.mark.parametrize("where", ["initial", "step", "next_deadline", "view", "answer"])
def test_an_extension_that_raises_is_off_and_the_others_go_on(where: str) -> None:
    beside = SampleExtension(events={LOG}, name="beside")
    fold = on_a_page(extensions=(Raising(where), beside))
    fold.event(LOG, on="s-P")
    fold.ask(AskExtension(extension="example", question={}))
    shown = fold.shown().extensions
    named = "it" if where in ("step", "next_deadline") else f"its {where}"
    assert shown["example"] == {"off": f"{named} raised KeyError"}
    assert any(isinstance(each, BrowserEvent) for each in extension_state(fold, 1))
    if where != "view":
        assert isinstance(fold.answers[fold.asked].error, InvalidArgument)


def test_an_extension_with_effects_without_end_is_disabled() -> None:
    def endless(state: Any, got: Any) -> Any:
        return state, itertools.repeat(note()) if type(got) is BrowserEvent else ()

    fold = on_a_page(extensions=(SampleExtension(endless, events={LOG}),))
    fold.event(LOG, on="s-P")
    assert fold.state.extensions[0].off == f"it wanted more than {extensions.MAX_WANTED} effects for one input"


class Claiming(SampleExtension):
    """An extension that claims, and claims again at each end."""

    def __init__(self, **changed: Any) -> None:
        super().__init__(self.claims, events={LOG})
        self.claim = ClaimFetch(**{"key": "k", "session_id": None, "patterns": ({"urlPattern": "*"},), **changed})

    def claims(self, state: Any, got: Any) -> Any:
        return state, (self.claim,) if isinstance(got, (BrowserEvent, FetchEnded)) else ()


def test_an_extension_that_claims_again_whenever_it_cannot_is_disabled() -> None:
    fold = on_a_page(extensions=(Claiming(),))
    fold.event(LOG, on="s-P")
    for _again in range(MAX_UNSENT + 1):
        assert not fold.state.extensions[0].off
        assert ClaimFetch in {type(each) for each in fold.last}
        fold.feed(FetchEnded(at=fold.at, generation=1, extension="example", key="k", reason="gone", unsent=True))
    assert "went on sending" in fold.state.extensions[0].off
    assert ReleaseFetch(extension="example") in fold.last


def test_ends_of_claims_that_were_made_do_not_count() -> None:
    fold = on_a_page(extensions=(Claiming(),))
    for _again in range(2 * MAX_UNSENT):
        fold.feed(FetchEnded(at=fold.at, generation=1, extension="example", key="k", reason="detached"))
    assert not fold.state.extensions[0].off


class Hostile(Mapping[str, Any]):
    """A mapping that raises when it is read."""

    def __getitem__(self, _name: str) -> Any:
        raise KeyError

    def __iter__(self) -> Any:
        raise KeyError

    def __len__(self) -> int:
        return 1


def nested() -> Any:
    inside: dict[str, Any] = {}
    inside["urlPattern"] = inside
    return inside


@pytest.mark.parametrize("pattern", [Hostile(), nested(), "*"])
def test_patterns_that_cannot_be_copied_disable_the_extension(pattern: Any) -> None:
    fold = on_a_page(extensions=(Claiming(patterns=(pattern,)),))
    fold.event(LOG, on="s-P")
    assert fold.state.extensions[0].off.startswith("it raised ")


def test_a_request_that_is_passed_on_to_another_claim_is_no_failure() -> None:
    fold = on_a_page(
        extensions=(
            SampleExtension(
                lambda state, got: ((*state, got), (tagged(),) if type(got) is BrowserEvent else ()), events={LOG}
            ),
        )
    )
    passed_on = NotSent(error=LocalProtocolError("It was passed on.", reason="passed_on"))
    for _again in range(2 * MAX_UNSENT):
        fold.event(LOG, on="s-P")
        fold.ends(fold.state.last_ticket, passed_on)
    assert not fold.state.extensions[0].off


def test_at_the_stop_claims_are_released_whatever_the_link_is() -> None:
    for adopting, down in ((False, False), (True, False), (False, True)):
        fold = on_a_page(extensions=(Claiming(),), adopting=adopting)
        fold.event(LOG, on="s-P")
        if down:
            fold.down()
        fold.ask(Stop())
        assert [each for each in fold.last if isinstance(each, ReleaseFetch)] == [ReleaseFetch(extension="example")]


def test_an_event_of_the_root_session_with_an_odd_frame_has_no_page() -> None:
    fold = on_a_page(extensions=(SampleExtension(events={LOG}),))
    for odd in (["P"], {"P": 1}, 5, None, "unknown"):
        fold.event(LOG, frameId=odd)
        assert extension_state(fold)[-1].page is None
    fold.event(LOG, frameId="P")
    assert extension_state(fold)[-1].page == "P"


@pytest.mark.parametrize(("tag", "tickets"), [("", 0), ("a", 1)])
def test_an_answer_to_a_request_has_a_ticket_only_for_a_reply(tag: str, tickets: int) -> None:
    wanted = AnswerFetch(key="k", method="Fetch.failRequest", params={"requestId": "r"}, reply_to=tag)
    fold = on_a_page(extensions=(SampleExtension(returning(wanted), events={LOG}),))
    before = fold.state.last_ticket
    fold.event(LOG, on="s-P")
    assert fold.last == (replace(wanted, extension="example", ticket=tickets and before + 1),)
    assert fold.state.last_ticket == before + tickets


def test_claims_get_the_name_of_their_extension() -> None:
    claim, release = ClaimFetch(key="k", session_id=None, patterns=({},)), ReleaseFetch(key="k")
    fold = on_a_page(extensions=(SampleExtension(returning(claim, release), events={LOG}),))
    fold.event(LOG, on="s-P")
    assert fold.last == (replace(claim, extension="example"), replace(release, extension="example"))
    assert not claim.auth


def test_dialogs_of_an_extension_are_over_when_it_is_disabled() -> None:
    opening = OpenDialog(key="k", page_id="P", frame_id="P", via="request", type="alert")

    def once(state: Any, got: Any) -> Any:
        if type(got) is not BrowserEvent:
            return state, ()
        return (*state, got), (opening,) if not state else (None,)

    fold = on_a_page(extensions=(SampleExtension(once, events={LOG}),))
    fold.event(LOG, on="s-P")
    fold.opening(type="alert")
    fold.event(LOG, on="s-P")
    assert fold.state.extensions[0].off == OTHER
    assert [each.via for each in fold.pending()] == ["native"]


def test_the_answer_to_its_dialog_is_fed_to_an_extension_unless_it_is_disabled() -> None:
    fold = on_a_page(extensions=(SampleExtension(events={LOG}),))
    transition = Transition(fold.state, fold.at, fold.now)
    answer = DialogAnswered(at=fold.at, generation=1, key="k", accept=True)
    extensions.feed_named(transition, "example", answer)
    assert transition.state.extensions[0].state[-1] is answer
    extensions.disable(transition, "example", "enough")
    extensions.disable(transition, "unknown", "enough")
    extensions.feed_named(transition, "example", answer)
    assert transition.state.extensions[0].off == "enough"


def test_pauses_and_ends_of_claims_are_fed_to_their_extension_alone() -> None:
    fold = on_a_page(extensions=(SampleExtension(), SampleExtension(name="other")))
    event = folded_machine.event_of("Fetch.requestPaused", {"requestId": "r", "frameId": "P"}, None)
    fold.feed(FetchPaused(at=fold.at, generation=1, extension="example", key="k", event=event))
    fold.feed(FetchExpired(at=fold.at, generation=1, extension="example", key="k", request_id="r"))
    fold.feed(FetchEnded(at=fold.at, generation=1, extension="example", key="k", reason="detached"))
    paused, expired, ended = extension_state(fold)[-3:]
    assert (paused.page, expired.request_id, ended.reason) == ("P", "r", "detached")
    assert not any(isinstance(each, (FetchPaused, FetchExpired, FetchEnded)) for each in extension_state(fold, 1))
    assert fold.count("requests_expired") == 1
    assert any("left a request paused" in each for each in fold.notes())


@pytest.mark.parametrize(("sends", "off"), [(MAX_SENDS, ""), (MAX_SENDS + 1, "it sent 9 commands for one input")])
def test_the_number_of_commands_for_one_input_is_limited(sends: int, off: str) -> None:
    fold = on_a_page(extensions=(SampleExtension(returning(*[send()] * sends), events={LOG}),))
    fold.event(LOG, on="s-P")
    assert fold.state.extensions[0].off == off
    assert sum(isinstance(each, Send) for each in fold.last) == (0 if off else sends)


def test_an_extension_that_only_collects_gets_no_stopping() -> None:
    fold = on_a_page(extensions=(folded_machine.Keeper(), SampleExtension(name="other")))
    fold.ask(Stop())
    assert fold.state.extensions[0].state == ()
    assert Stopping in {type(each) for each in extension_state(fold, 1)}
