"""Typed commands, events and types of the protocol: one module for each domain.

    from cdp_core.bindings import page

    await session.send(page.navigate(url="https://example.com"))        # → page.NavigateResult
    async with session.subscribe(page.LoadEventFired, capacity=16) ...  # → page.LoadEventFired

The classes and functions of a domain are created at their first use. Optional parameters that are not given are not
sent. A browser that is newer or older than the bindings loses no message: the differences are counted, see `drift()`,
and `python -m cdp_core.bindings diff` lists them in advance. The raw names still work: `session.send("Page.navigate",
{"url": …})` returns dicts.
"""

from cdp_core.bindings import _arrivals
from cdp_core.bindings._catalog import domain_names, register
from cdp_core.bindings._codec import from_json, parse_command, parse_event, parse_result
from cdp_core.bindings._drift import DriftReport, drift, forget_drift, strict
from cdp_core.bindings._shapes import to_json
from cdp_core.bindings._values import NULL, Command, EnumValue, EventValue, Value, replace
from cdp_core.bindings._version import PROTOCOL

__all__ = [
    "NULL",
    "PROTOCOL",
    "Command",
    "DriftReport",
    "EnumValue",
    "EventValue",
    "Value",
    "domain_names",
    "drift",
    "forget_drift",
    "from_json",
    "parse_command",
    "parse_event",
    "parse_result",
    "register",
    "replace",
    "strict",
    "to_json",
]

_arrivals.install()
