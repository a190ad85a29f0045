"""Tools for those who test against the protocol: a fake browser, five ways to reach it, and scripts for what it does.

    with start_fake_browser(FakeBrowser(Script(timeline=(steps.Dialog("alert", "Hello"),)))) as endpoint:
        ...  # any client, at endpoint.ws_url

In the same thread without a loop: `FakeBrowser.connect()`. Under trio: `FakeTransport`, `serve_fake_browser`. For anything
else: `start_fake_browser`, and `python -m cdp_core.testing serve`, over a port or a pipe. `check_transport` is the
conformance test for a transport of your own. Nothing here imports pytest or Hypothesis.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cdp_core.testing import steps
    from cdp_core.testing.fake.browser import ClientEnd, FakeBrowser
    from cdp_core.testing.fake.truth import Truth
    from cdp_core.testing.fake_transport import FakeTransport
    from cdp_core.testing.serving import FakeEndpoint, serve_fake_browser
    from cdp_core.testing.steps import Answer, Script
    from cdp_core.testing.threads import start_fake_browser
    from cdp_core.testing.transport_check import TransportPair, check_transport

__all__ = [
    "Answer",
    "ClientEnd",
    "FakeBrowser",
    "FakeEndpoint",
    "FakeTransport",
    "Script",
    "TransportPair",
    "Truth",
    "check_transport",
    "serve_fake_browser",
    "start_fake_browser",
    "steps",
]

_HOMES = {
    "Answer": "steps",
    "ClientEnd": "fake.browser",
    "FakeBrowser": "fake.browser",
    "FakeEndpoint": "serving",
    "FakeTransport": "fake_transport",
    "Script": "steps",
    "TransportPair": "transport_check",
    "Truth": "fake.truth",
    "check_transport": "transport_check",
    "serve_fake_browser": "serving",
    "start_fake_browser": "threads",
}
"""Where each name comes from when it is first used: who imports this package may want one thing of it."""


def __getattr__(name: str) -> Any:
    if name == "steps":
        return import_module("cdp_core.testing.steps")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"cdp_core.testing.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return __all__
