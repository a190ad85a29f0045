"""Every event source writes the same messages, also with an extension that sends.

Over generated scripts and orders of delivery: the trio driver, `SupervisorEngine` on the pure pump, and the functions
alone write the same texts at each happening, ids included, from the first link to the end of the stop. On a borrowed link
each session gets the same commands.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import assume, given, settings

from cdp_core.link import Link
from cdp_core.sansio.messages import Result
from cdp_core.testing.steps import Script
from cdp_core.testing.strategies import scripts
from cdp_supervisor import BrowserEvent, Policy, Reconnect, Replied, Send, Stopping
from cdp_supervisor.driver import Driver
from cdp_supervisor.sansio.effects import AnswerFetch, ClaimFetch, ReleaseFetch, Resume
from cdp_supervisor.sansio.inputs import FetchEnded, FetchExpired, FetchPaused, SessionOpened
from support import event_sources
from support.drawn_requests import ASKS, POLICY, PROFILE, SEED

FEWER = settings(max_examples=max(settings().max_examples // 2, 1))


MOST = 40


class Sender:
    """An extension that sends at attach, at navigations, after replies, and at the stop.

    It claims the documents of each session; of three requests it answers one, passes one on, and leaves one paused.
    """

    name = "sender"
    events = frozenset(("Target.attachedToTarget", "Page.frameNavigated", "Runtime.executionContextCreated"))

    def initial(self) -> int:
        return 0

    def step(self, state: int, input: Any) -> Any:
        if state > MOST:
            return state, ()
        if isinstance(input, SessionOpened):
            script = {"source": f"// {state}"}
            claim = ClaimFetch(
                key=input.session_id, session_id=input.session_id, patterns=({"resourceType": "Document"},)
            )
            added = self.send(input.session_id, "Page.addScriptToEvaluateOnNewDocument", script, "script")
            return state + 1, (added, claim)
        if isinstance(input, FetchPaused) and state % 3:
            params = {"requestId": input.event.params["requestId"], **({"method": "GET"} if state % 3 == 1 else {})}
            return state + 1, (AnswerFetch(key=input.key, method="Fetch.continueRequest", params=params),)
        if isinstance(input, (FetchPaused, FetchEnded)):
            return state + 1, ()
        if isinstance(input, FetchExpired):
            return state + 1, (ReleaseFetch(key=input.key),)
        if isinstance(input, BrowserEvent) and input.event.method == "Target.attachedToTarget":
            return state + 1, (self.send(input.event.params["sessionId"], "Runtime.addBinding", {"name": f"b{state}"}),)
        if isinstance(input, BrowserEvent):
            expression = {"expression": f"'{state}'"}
            return state + 1, (self.send(input.event.session_id, "Runtime.evaluate", expression, "evaluation"),)
        if isinstance(input, Replied) and input.tag == "script" and isinstance(input.outcome, Result):
            return state + 1, (self.send(None, "Browser.getVersion", None, "version"),)
        if isinstance(input, Stopping):
            return state + 1, (self.send(None, "Browser.getVersion", None, "script"),)
        return state, ()

    def send(self, session_id: Any, method: str, params: Any, tag: str = "") -> Send:
        return Send(ticket=0, session_id=session_id, method=method, params=params, reply_to=tag)

    def next_deadline(self, state: int) -> None:
        return None

    def view(self, state: int) -> Any:
        return {"sent": state}


def options_of(policy: Any) -> dict[str, Any]:
    return {"policy": Policy(policy), "reconnect": Reconnect(budget=1_000)}


@FEWER
@given(script=scripts(), profile=PROFILE, policy=POLICY, asks=ASKS, seed=SEED)
def test_every_event_source_writes_the_same_messages(
    script: Script, profile: str, policy: Any, asks: Any, seed: int
) -> None:
    options = options_of(policy)
    recorded = event_sources.record_run(script, profile=profile, asks=asks, extensions=[Sender()], seed=seed, **options)
    by_functions = event_sources.written_by_functions(recorded, [Sender()], **options)
    assert_same(recorded, recorded.written, by_functions)
    by_driver = event_sources.written_by_driver(recorded, [Sender()], **options)
    assert_same(recorded, recorded.written, by_driver)


def assert_same(recorded: Any, wanted: Any, found: Any) -> None:
    for number, (happening, one, other) in enumerate(zip(recorded.happenings, wanted, found, strict=True)):
        assert one == other, f"at happening {number} of {len(wanted)}: {happening}"


def test_the_law_sees_an_extension_that_sends_after_the_resume(monkeypatch: pytest.MonkeyPatch) -> None:
    law = test_every_event_source_writes_the_same_messages.hypothesis.inner_test  # type: ignore[attr-defined]
    given = {"script": Script(), "profile": "headless-new", "policy": "must_respond", "asks": [], "seed": 0}
    law(**given)
    share, command = Driver.share, Link.command
    kept: list[Any] = []

    def keep(self: Any, method: str, *rest: Any, **options: Any) -> Any:
        if method == "Runtime.addBinding":
            kept.append((self, method, *rest))
            return 0
        return command(self, method, *rest, **options)

    def resume_first(self: Driver, effect: Any) -> None:
        share(self, effect)
        while kept and isinstance(effect, Resume):
            command(*kept.pop())

    monkeypatch.setattr(Link, "command", keep)
    monkeypatch.setattr(Driver, "share", resume_first)
    with pytest.raises(AssertionError, match="at happening"):
        law(**given)


# ── on a borrowed link ───────────────────────────────────────────────────────────────────────────────────────────────


def by_session(written: Iterable[Sequence[bytes]]) -> dict[Any, list[Any]]:
    """Return the commands of each session in order, without their ids."""
    found: dict[Any, list[Any]] = defaultdict(list)
    for texts in written:
        for text in texts:
            message = json.loads(text)
            found[message.get("sessionId")].append((message["method"], message.get("params")))
    return dict(found)


@FEWER
@given(script=scripts(), profile=PROFILE, policy=POLICY, asks=ASKS, seed=SEED)
def test_on_a_borrowed_link_each_session_gets_the_same_commands(
    script: Script, profile: str, policy: Any, asks: Any, seed: int
) -> None:
    options = options_of(policy)
    recorded = event_sources.record_run(script, profile=profile, asks=asks, extensions=[Sender()], seed=seed, **options)
    assume(not any(each.kind == "down" for each in recorded.happenings))  # a borrowed link is not dialled again
    borrowed = event_sources.written_by_driver(recorded, [Sender()], borrowed=True, **options)
    assert by_session(borrowed) == by_session(recorded.written)
