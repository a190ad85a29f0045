"""Events that the bindings do not know are counted when they arrive over a link, whoever listens, or nobody."""

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

DREAMED = {"method": "Page.dreamed", "params": {"a": 1}}
STRANGER = {"method": "Stranger.came", "params": {}}
LOADED = {"method": "Page.loadEventFired", "params": {"timestamp": 1.5}}


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    forget_drift()
    known_methods = set(link.known_methods)
    link.known_methods.clear()
    yield
    link.known_methods.clear()
    link.known_methods |= known_methods
    forget_drift()


async def receive(*messages: dict[str, Any], listen: Any = None) -> list[Any]:
    """What `listen(session)` made of the messages; all of them have arrived."""
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


async def test_with_no_listener() -> None:
    await receive(DREAMED, STRANGER, LOADED, DREAMED, {**STRANGER, "method": "Page.LoadEventFired"})
    assert counted() == {"Page.dreamed": 2, "Stranger.came": 1, "Page.LoadEventFired": 1}


async def test_over_several_links() -> None:
    await receive(DREAMED)
    await receive(DREAMED, DREAMED)
    assert counted() == {"Page.dreamed": 3}


async def test_with_a_raw_listener_and_with_one_that_parses() -> None:
    def listen(session: BrowserSession, seen: list[Any]) -> None:
        session._link.add_tap(lambda output: seen.append(parse_event(output)) if isinstance(output, Event) else None)
        session.subscribe("Page.dreamed", capacity=5)

    seen = await receive(DREAMED, LOADED, DREAMED, listen=listen)
    assert [type(each) for each in seen[:3]] == [Event, page.LoadEventFired, Event]
    assert counted() == {"Page.dreamed": 2}, "once for each that came, however often it was parsed"


async def test_strict_mode_raises_where_it_is_read_and_not_in_the_reader() -> None:
    def listen(session: BrowserSession, seen: list[Any]) -> None:
        seen.append(session.expect("Page.dreamed"))

    with strict():
        (expected,) = await receive(DREAMED, listen=listen)
        event = await expected.wait()
        with pytest.raises(BindingDrift):
            parse_event(event)
    assert counted() == {"Page.dreamed": 1}


async def test_one_that_nobody_tells_of_any_more_is_counted_where_it_is_parsed() -> None:
    await receive(DREAMED)
    forget_drift()
    parse_event(Event(method="Page.dreamed"))
    assert drift().unknown_items == {"Page.dreamed": 1}


async def test_a_vendor_s_events_are_known_when_it_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import ModuleType

    from cdp_core.bindings import _catalog
    from cdp_core.bindings._domain import Domain

    monkeypatch.setattr(_catalog, "_registered", {})
    module: Any = ModuleType("bindings_test_stranger")
    events = {"came": ("",)}
    module.DOMAIN = Domain(module.__name__, "Stranger", "", names={}, enums={}, objects={}, commands={}, events=events)
    await receive(STRANGER)
    register(module)
    await receive(STRANGER, {"method": "Stranger.went", "params": {}})
    assert counted() == {"Stranger.came": 1, "Stranger.went": 1}


async def test_what_a_peer_makes_up_is_bounded() -> None:
    made_up = [{"method": f"Page.m{number}" + "x" * 200, "params": {}} for number in range(2000)]
    await receive(*made_up)
    assert not {method for method in link.known_methods if method.startswith("Page.m")}
    assert len(drift().unknown_items) <= 1001
    assert drift().total == 2001


def test_the_known_ones_are_those_of_the_tables() -> None:
    from cdp_core.bindings._catalog import domain_named

    tables = [domain.table for name in MODULES if (domain := domain_named(name)) is not None]
    assert {f"{table.name}.{event}" for table in tables for event in table.events} == EVENTS
    assert has_event("Page.loadEventFired")
    assert not has_event("Page.dreamed")
    assert not has_event("")


def test_no_domain_is_imported_for_it_and_what_came_before_the_bindings_is_told() -> None:
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
