"""Replay the recorded traces: the client's side and the pages' acts must give the browser's side.

Every trace is replayed. A trace of `NOT_COVERED` must deviate; one that does not is covered and leaves the table. A trace
that is in no table shows its first deviation as an expected failure, since no table describes what its pages do.

A comparison that cannot fail proves nothing: further tests change the recorded messages of the browser one by one, and
each change must be detected.
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
    """Run a test that takes a `trace` once per trace."""
    if "trace" in metafunc.fixturenames:
        paths = sorted(TRACES.glob("*.jsonl"))
        metafunc.parametrize("trace", paths, ids=[path.stem for path in paths])


def test_the_fake_sends_what_chromium_sent(trace: Path) -> None:
    deviations = replayed(trace).deviations
    reason = pages.NOT_COVERED.get(trace.stem)
    if reason is not None:
        sys.stdout.write(f"not covered: {reason}\n")  # shown by `pytest -rP`
        assert deviations, "the fake covers this trace: remove it from NOT_COVERED"
    elif trace.stem not in pages.ACTS and deviations:
        pytest.xfail(f"fake_replay/pages.py does not describe what its pages do; first deviation: {deviations[0]}")
    assert reason is not None or not deviations, "\n".join(deviations)


def test_the_tables_name_existing_traces_and_few_are_not_covered() -> None:
    existing = {path.stem for path in TRACES.glob("*.jsonl")}
    assert pages.NOT_COVERED.keys() | pages.ACTS.keys() <= existing
    assert len(pages.NOT_COVERED) <= 3


def replayed(trace: Path, change: Change | None = None) -> Any:
    profile = "headless-shell" if trace.stem.startswith("hs_") else "headless-new"
    acts = pages.ACTS.get(trace.stem, replay.Acts())
    made = replay.Replay(trace, acts, pages.COMMON, profile=profile)
    if change is not None:
        made.records = change(made.records)
    made.run()
    return made


# ── the comparison can fail ──────────────────────────────────────────────────────────────────────────────────────────

Change = Callable[[list[Json]], list[Json]]


def event_index(records: list[Json], method: str) -> int:
    """Return the index of the first event of this method."""
    return next(
        index
        for index, each in enumerate(records)
        if each["dir"] == "in" and isinstance(each["msg"], dict) and each["msg"].get("method") == method
    )


def without(method: str) -> Change:
    return lambda records: [each for index, each in enumerate(records) if index != event_index(records, method)]


def twice(method: str) -> Change:
    def change(records: list[Json]) -> list[Json]:
        index = event_index(records, method)
        return [*records[:index], records[index], *records[index:]]

    return change


def before(method: str, other: str) -> Change:
    def change(records: list[Json]) -> list[Json]:
        index, earlier = event_index(records, method), event_index(records, other)
        assert earlier < index
        left = [*records[:index], *records[index + 1 :]]
        return [*left[:earlier], records[index], *left[earlier:]]

    return change


def reply_index(records: list[Json], number: int) -> int:
    """Return the index of the reply to a command."""
    return next(index for index, each in enumerate(records) if each["dir"] == "in" and each["msg"].get("id") == number)


def answered_before(number: int, other: str | int) -> Change:
    def change(records: list[Json]) -> list[Json]:
        index = reply_index(records, number)
        earlier = event_index(records, other) if isinstance(other, str) else reply_index(records, other)
        assert earlier < index
        left = [*records[:index], *records[index + 1 :]]
        return [*left[:earlier], records[index], *left[earlier:]]

    return change


def answered_with(number: int, result: Json) -> Change:
    """Replace the result of a command, or add a reply to a command that has none."""

    def change(records: list[Json]) -> list[Json]:
        sent = next(
            index for index, each in enumerate(records) if each["dir"] == "out" and each["msg"].get("id") == number
        )
        asked = records[sent]
        reply = {"id": number, "result": result, "sessionId": asked["msg"].get("sessionId")}
        replies = [
            index for index, each in enumerate(records) if each["dir"] == "in" and each["msg"].get("id") == number
        ]
        index = replies[-1] if replies else sent + 1
        rest = records[index + 1 :] if replies else records[index:]
        return [*records[:index], {**asked, "dir": "in", "msg": reply}, *rest]

    return change


def changed(method: str, **members: Any) -> Change:
    def change(records: list[Json]) -> list[Json]:
        index = event_index(records, method)
        made = json.loads(json.dumps(records[index]))
        made["msg"]["params"].update(members)
        return [*records[:index], made, *records[index + 1 :]]

    return change


@pytest.mark.parametrize(
    ("name", "change"),
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
def test_a_change_of_the_recorded_messages_is_detected(name: str, change: Change) -> None:
    assert not replayed(TRACES / f"{name}.jsonl").deviations
    assert replayed(TRACES / f"{name}.jsonl", change).deviations
