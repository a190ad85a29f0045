"""Tools for testing CDP clients: a fake browser, five ways to reach it, and scripts for its pages.

    with start_fake_browser(FakeBrowser(Script(timeline=(steps.Dialog("alert", "Hello"),)))) as endpoint:
        ...  # any client, at endpoint.ws_url

In the same thread without an event loop: `FakeBrowser.connect()`. Under trio: `FakeTransport`, `serve_fake_browser`. For
other programs: `start_fake_browser`, and `python -m cdp_core.testing serve`, over a port or a pipe. `check_transport` is
the conformance test for a transport of your own.

`Pump` runs clients without sockets under a `Schedule` or a seed; `faults` has the faults to inject; `hunt` searches for
laws that a client breaks, and `python -m cdp_core.testing fuzz` does so for programs. `cdp_core.testing.strategies` makes
scripts, schedules and faults for Hypothesis; importing this package imports neither Hypothesis nor pytest.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cdp_core.testing import faults, schedules, steps
    from cdp_core.testing.endpoint import FakeEndpoint, serve_fake_browser
    from cdp_core.testing.fake.browser import FakeBrowser
    from cdp_core.testing.fake.client_end import ClientEnd
    from cdp_core.testing.fake.truth import Truth
    from cdp_core.testing.fuzz.search import Example, Find, hunt
    from cdp_core.testing.judge.laws import Complaint
    from cdp_core.testing.schedules import Schedule
    from cdp_core.testing.simulation import DeliveryOrder, Pump, Run
    from cdp_core.testing.steps import Answer, Script
    from cdp_core.testing.thread import start_fake_browser
    from cdp_core.testing.transport import FakeTransport
    from cdp_core.testing.transport_check import TransportPair, check_transport

__all__ = [
    "Answer",
    "ClientEnd",
    "Complaint",
    "DeliveryOrder",
    "Example",
    "FakeBrowser",
    "FakeEndpoint",
    "FakeTransport",
    "Find",
    "Pump",
    "Run",
    "Schedule",
    "Script",
    "TransportPair",
    "Truth",
    "check_transport",
    "faults",
    "hunt",
    "schedules",
    "serve_fake_browser",
    "start_fake_browser",
    "steps",
]

_MODULE_OF = {
    "Answer": "steps",
    "ClientEnd": "fake.client_end",
    "Complaint": "judge.laws",
    "DeliveryOrder": "simulation",
    "Example": "fuzz.search",
    "FakeBrowser": "fake.browser",
    "FakeEndpoint": "endpoint",
    "FakeTransport": "transport",
    "Find": "fuzz.search",
    "Pump": "simulation",
    "Run": "simulation",
    "Schedule": "schedules",
    "Script": "steps",
    "TransportPair": "transport_check",
    "Truth": "fake.truth",
    "check_transport": "transport_check",
    "hunt": "fuzz.search",
    "serve_fake_browser": "endpoint",
    "start_fake_browser": "thread",
}
"""The module of each public name, imported at the first use of the name: most importers need only a few of them."""

_MODULES = ("faults", "schedules", "steps", "strategies")
"""Modules that are public as a whole; importing `strategies` without Hypothesis raises an error that names the extra."""


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"cdp_core.testing.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"cdp_core.testing.{_MODULE_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return __all__
