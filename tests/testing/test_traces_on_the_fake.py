"""The fake replays the recorded traces: from the client's side and the pages' acts comes the browser's side.

Every trace is replayed. Those of `NOT_COVERED` must deviate, or they are covered by now and leave the table; what a trace
that is in no table deviates in is shown, since nobody has told yet what its pages do.

A comparison that could not fail would prove nothing: what the fake says is spoilt on purpose, message by message, and
each time that is seen.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.fake_replay import pages, replay

Json = dict[str, Any]
TRACES = Path(__file__).parents[1] / "traces"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that wants a `trace` is run for each."""
    if "trace" in metafunc.fixturenames:
        paths = sorted(TRACES.glob("*.jsonl"))
        metafunc.parametrize("trace", paths, ids=[path.stem for path in paths])


def test_the_fake_says_what_chromium_said(trace: Path) -> None:
    deviations = replayed(trace).deviations
    why = pages.NOT_COVERED.get(trace.stem)
    if why is not None:
        sys.stdout.write(f"not covered: {why}\n")  # shown by `pytest -rP`
        assert deviations, "the fake covers this trace by now: it leaves NOT_COVERED"
    elif trace.stem not in pages.ACTS and deviations:
        pytest.xfail(f"what its pages do is not told in fake_replay/pages.py; then {deviations[0]}")
    assert why is not None or not deviations, "\n".join(deviations)


def test_what_is_not_covered_is_there_and_is_little() -> None:
    there = {path.stem for path in TRACES.glob("*.jsonl")}
    assert pages.NOT_COVERED.keys() | pages.ACTS.keys() <= there
    assert len(pages.NOT_COVERED) <= 3


def replayed(trace: Path, spoil: Spoil | None = None) -> Any:
    profile = "headless-shell" if trace.stem.startswith("hs_") else "headless-new"
    acts = pages.ACTS.get(trace.stem, replay.Acts())
    made = replay.Replay(trace, acts, pages.COMMON, profile=profile)
    if spoil is not None:
        made.records = spoil(made.records)
    made.run()
    return made


# ── the comparison can fail ──────────────────────────────────────────────────────────────────────────────────────────

Spoil = Callable[[list[Json]], list[Json]]


def said(records: list[Json], method: str) -> int:
    """Where the browser says an event first."""
    return next(
        place
        for place, each in enumerate(records)
        if each["dir"] == "in" and isinstance(each["msg"], dict) and each["msg"].get("method") == method
    )


def without(method: str) -> Spoil:
    return lambda records: [each for place, each in enumerate(records) if place != said(records, method)]


def twice(method: str) -> Spoil:
    def spoil(records: list[Json]) -> list[Json]:
        place = said(records, method)
        return [*records[:place], records[place], *records[place:]]

    return spoil


def before(method: str, other: str) -> Spoil:
    def spoil(records: list[Json]) -> list[Json]:
        place, there = said(records, method), said(records, other)
        assert there < place
        left = [*records[:place], *records[place + 1 :]]
        return [*left[:there], records[place], *left[there:]]

    return spoil


def answered(records: list[Json], number: int) -> int:
    """Where the browser answers a command."""
    return next(place for place, each in enumerate(records) if each["dir"] == "in" and each["msg"].get("id") == number)


def answered_before(number: int, other: str | int) -> Spoil:
    def spoil(records: list[Json]) -> list[Json]:
        place = answered(records, number)
        there = said(records, other) if isinstance(other, str) else answered(records, other)
        assert there < place
        left = [*records[:place], *records[place + 1 :]]
        return [*left[:there], records[place], *left[there:]]

    return spoil


def answered_with(number: int, result: Json) -> Spoil:
    """Another result, or one where there was none."""

    def spoil(records: list[Json]) -> list[Json]:
        sent = next(
            place for place, each in enumerate(records) if each["dir"] == "out" and each["msg"].get("id") == number
        )
        asked = records[sent]
        reply = {"id": number, "result": result, "sessionId": asked["msg"].get("sessionId")}
        there = [place for place, each in enumerate(records) if each["dir"] == "in" and each["msg"].get("id") == number]
        place = there[-1] if there else sent + 1
        rest = records[place + 1 :] if there else records[place:]
        return [*records[:place], {**asked, "dir": "in", "msg": reply}, *rest]

    return spoil


def changed(method: str, **members: Any) -> Spoil:
    def spoil(records: list[Json]) -> list[Json]:
        place = said(records, method)
        made = json.loads(json.dumps(records[place]))
        made["msg"]["params"].update(members)
        return [*records[:place], made, *records[place + 1 :]]

    return spoil


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("dialog_basic", without("Page.javascriptDialogClosed")),
        ("dialog_basic", twice("Page.javascriptDialogOpening")),
        ("dialog_basic", changed("Page.javascriptDialogOpening", message="another")),
        ("dialog_basic", before("Page.javascriptDialogClosed", "Page.javascriptDialogOpening")),
        ("dialog_basic", answered_before(6, "Page.javascriptDialogClosed")),
        ("dialog_basic", answered_before(6, 7)),
        ("dialog_basic", answered_before(4, "Runtime.executionContextCreated")),
        ("frames_promote", without("Page.frameDetached")),
        ("frames_promote", before("Page.frameDetached", "Target.attachedToTarget")),
        ("frames_promote", changed("Page.frameDetached", reason="remove")),
        ("frames_oopif_removed", without("Target.targetDestroyed")),
        ("frames_oopif_removed", before("Target.targetDestroyed", "Target.detachedFromTarget")),
        ("hermes_frames_many", without("Page.frameAttached")),
        ("session_parent_detach", twice("Target.detachedFromTarget")),
        ("wire_browser_close", without("Inspector.detached")),
        ("bridge_http_ok", without("Fetch.requestPaused")),
        ("bridge_http_ok", changed("Fetch.requestPaused", resourceType="Fetch")),
        ("bridge_http_ok", answered_before(8, "Fetch.requestPaused")),
        ("bridge_csp_blocked", answered_with(8, {"result": {"type": "string", "value": "d"}})),
        ("bridge_pending_lost", answered_with(9, {"result": {"type": "boolean", "value": False}})),
        ("dialog_wedge_recovery", without("Page.javascriptDialogClosed")),
        ("dialog_wedge_recovery", answered_with(48, {})),
        ("hermes_first_page_only", without("Page.windowOpen")),
        ("targets_discover_overlap", before("Target.targetDestroyed", "Target.detachedFromTarget")),
        ("targets_workers", without("Inspector.workerScriptLoaded")),
        ("targets_workers", before("Runtime.consoleAPICalled", "Target.attachedToTarget")),
        ("wire_ids", answered_with(600, {"result": {"type": "string", "value": "b"}})),
        ("wire_nonflatten", changed("Target.receivedMessageFromTarget", message='{"id":1,"result":{}}')),
    ],
)
def test_what_chromium_did_not_say_is_seen(name: str, spoil: Spoil) -> None:
    assert not replayed(TRACES / f"{name}.jsonl").deviations
    assert replayed(TRACES / f"{name}.jsonl", spoil).deviations
