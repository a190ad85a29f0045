"""Unknown events are counted when they arrive over a link, with or without a subscriber."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import trio

from cdp_core import BrowserSession, Event, link, memory_pair, open_browser_session
from cdp_core.bindings import drift, forget_drift, page, parse_event, register, strict
from cdp_core.bindings._catalog import has_event
from cdp_core.bindings._version import EVENTS, MODULES
from cdp_core.errors import BindingDrift

UNKNOWN_EVENT = {"method": "Page.dreamed", "params": {"a": 1}}
EVENT_OF_UNKNOWN_DOMAIN = {"method": "Stranger.came", "params": {}}
KNOWN_EVENT = {"method": "Page.loadEventFired", "params": {"timestamp": 1.5}}


@pytest.fixture(autouse=True)
def no_drift_and_no_known_methods() -> Iterator[None]:
    forget_drift()
    known_methods = set(link.known_methods)
    link.known_methods.clear()
    yield
    link.known_methods.clear()
    link.known_methods |= known_methods
    forget_drift()


async def receive(*messages: dict[str, Any], listen: Any = None) -> list[Any]:
    """Send the messages over a link; return what `listen` collected once all have arrived."""
    near, far = memory_pair()
    seen: list[Any] = []
    with trio.fail_after(5):
        async with open_browser_session(near) as session:
            if listen is not None:
                listen(session, seen)
            with session.expect("Test.over") as over:
                await far.send(
                    [json.dumps(each).encode() for each in (*messages, {"method": "Test.over", "params": {}})]
                )
                await over.wait()
    return seen


def counted() -> dict[str, int]:
    counts = dict(drift().unknown_items)
    assert counts.pop("Test.over") >= 1
    assert not any((drift().unknown_fields, drift().missing_fields, drift().other_types, drift().unknown_members))
    return counts


async def test_unknown_events_are_counted_without_a_listener() -> None:
    await receive(
        UNKNOWN_EVENT,
        EVENT_OF_UNKNOWN_DOMAIN,
        KNOWN_EVENT,
        UNKNOWN_EVENT,
        {**EVENT_OF_UNKNOWN_DOMAIN, "method": "Page.LoadEventFired"},
    )
    assert counted() == {"Page.dreamed": 2, "Stranger.came": 1, "Page.LoadEventFired": 1}


async def test_counts_add_up_over_several_links() -> None:
    await receive(UNKNOWN_EVENT)
    await receive(UNKNOWN_EVENT, UNKNOWN_EVENT)
    assert counted() == {"Page.dreamed": 3}


async def test_an_event_is_counted_once_however_many_listeners_parse_it() -> None:
    def listen(session: BrowserSession, seen: list[Any]) -> None:
        session._link.add_tap(lambda output: seen.append(parse_event(output)) if isinstance(output, Event) else None)
        session.subscribe("Page.dreamed", capacity=5)

    seen = await receive(UNKNOWN_EVENT, KNOWN_EVENT, UNKNOWN_EVENT, listen=listen)
    assert [type(each) for each in seen[:3]] == [Event, page.LoadEventFired, Event]
    assert counted() == {"Page.dreamed": 2}, "once per arrived event, however often it was parsed"


async def test_strict_mode_raises_in_the_parsing_code_and_not_in_the_reader_task() -> None:
    def listen(session: BrowserSession, seen: list[Any]) -> None:
        seen.append(session.expect("Page.dreamed"))

    with strict():
        (expected,) = await receive(UNKNOWN_EVENT, listen=listen)
        event = await expected.wait()
        with pytest.raises(BindingDrift):
            parse_event(event)
    assert counted() == {"Page.dreamed": 1}


async def test_after_forget_drift_an_unknown_event_is_counted_when_it_is_parsed() -> None:
    await receive(UNKNOWN_EVENT)
    forget_drift()
    parse_event(Event(method="Page.dreamed"))
    assert drift().unknown_items == {"Page.dreamed": 1}


async def test_a_vendor_s_events_are_known_once_it_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import ModuleType

    from cdp_core.bindings import _catalog
    from cdp_core.bindings._domain import Domain

    monkeypatch.setattr(_catalog, "_registered", {})
    module: Any = ModuleType("bindings_test_example")
    events = {"came": ("",)}
    module.DOMAIN = Domain(module.__name__, "Stranger", "", names={}, enums={}, objects={}, commands={}, events=events)
    await receive(EVENT_OF_UNKNOWN_DOMAIN)
    register(module)
    await receive(EVENT_OF_UNKNOWN_DOMAIN, {"method": "Stranger.went", "params": {}})
    assert counted() == {"Stranger.came": 1, "Stranger.went": 1}


async def test_the_number_of_counted_names_is_bounded() -> None:
    invented = [{"method": f"Page.m{number}" + "x" * 200, "params": {}} for number in range(2000)]
    await receive(*invented)
    assert not {method for method in link.known_methods if method.startswith("Page.m")}
    assert len(drift().unknown_items) <= 1001
    assert drift().total == 2001


def test_the_known_events_are_those_of_the_tables() -> None:
    from cdp_core.bindings._catalog import domain_named

    tables = [domain.table for name in MODULES if (domain := domain_named(name)) is not None]
    assert {f"{table.name}.{event}" for table in tables for event in table.events} == EVENTS
    assert has_event("Page.loadEventFired")
    assert not has_event("Page.dreamed")
    assert not has_event("")


def test_counting_imports_no_domain_and_includes_earlier_events() -> None:
    program = """
import json, sys, trio
from cdp_core import memory_pair, open_browser_session
assert "cdp_core.bindings" not in sys.modules
async def receive(*methods):
    near, far = memory_pair()
    async with open_browser_session(near) as session:
        with session.expect(methods[-1]) as last:
            await far.send([json.dumps({"method": each, "params": {}}).encode() for each in methods])
            await last.wait()
trio.run(receive, "Page.dreamed", "Page.dreamed", "Page.loadEventFired")
assert "cdp_core.bindings" not in sys.modules
from cdp_core.bindings import drift
assert drift().unknown_items == {"Page.dreamed": 1}, drift()
trio.run(receive, "Page.dreamed", "Stranger.came", "Page.loadEventFired")
assert drift().unknown_items == {"Page.dreamed": 2, "Stranger.came": 1}, drift()
assert not {"cdp_core.bindings.page", "cdp_core.bindings.network"} & set(sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")
