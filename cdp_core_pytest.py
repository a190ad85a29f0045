"""The pytest plugin of `cdp_core.testing`: a fake browser for a test, and its address for any client.

    @pytest.mark.fake_script(Script(pages={"https://shop.example/": (Dialog("confirm", "Sure?"),)}))
    def test_mine(fake_browser_url: str, fake_browser: FakeBrowser) -> None:
        my_client(fake_browser_url).open("https://shop.example/")
        assert not fake_browser.truth().blocked

`fake_browser` alone is a browser in memory, for `FakeTransport` or without an event loop. If the same test uses
`fake_browser_url`, it is the browser at that address, in a thread of its own, and each call to it runs in that
thread. The marker takes a `Script`, or its JSON, and two more arguments of `FakeBrowser` by name: `profile`, `seed`.

Each test has its own browser; nothing starts that no test requests. pytest imports this module in every run if the
distribution is installed: it imports pytest and nothing else, and is outside the packages, since the import of a
module of a package imports the package first.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from cdp_core.testing.endpoint import FakeEndpoint
    from cdp_core.testing.fake.browser import FakeBrowser

__all__ = ["fake_browser", "fake_browser_endpoint", "fake_browser_url", "pytest_configure"]


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker `fake_script`."""
    config.addinivalue_line(
        "markers", "fake_script(script, **options): what the pages of the test's fake browser do (cdp_core.testing)"
    )


@pytest.fixture
def fake_browser(request: pytest.FixtureRequest) -> FakeBrowser:
    """A fake browser; if the test uses its address too, the browser at that address."""
    served = {"fake_browser_endpoint", "fake_browser_url"}
    if served.isdisjoint(request.fixturenames):
        return _make(request)
    endpoint: FakeEndpoint = request.getfixturevalue("fake_browser_endpoint")
    return endpoint.fake


@pytest.fixture
def fake_browser_endpoint(request: pytest.FixtureRequest) -> Generator[FakeEndpoint, None, None]:
    """A fake browser at a real address, in a thread of its own."""
    from cdp_core.testing.thread import start_fake_browser  # noqa: PLC0415 - imports stay cheap

    with start_fake_browser(_make(request)) as endpoint:
        yield endpoint


@pytest.fixture
def fake_browser_url(fake_browser_endpoint: FakeEndpoint) -> str:
    """The ws:// address of the test's fake browser."""
    return fake_browser_endpoint.ws_url


def _make(request: pytest.FixtureRequest) -> FakeBrowser:
    from cdp_core.testing.fake.browser import FakeBrowser  # noqa: PLC0415 - imports stay cheap
    from cdp_core.testing.steps import Script  # noqa: PLC0415 - imports stay cheap

    marker = request.node.get_closest_marker("fake_script")
    if marker is None:
        return FakeBrowser()
    if len(marker.args) > 1 or marker.kwargs.keys() - {"profile", "seed"}:
        raise pytest.UsageError("The marker fake_script takes a script, and profile= and seed= by name.")
    script: Any = marker.args[0] if marker.args else None
    if script is not None and not isinstance(script, Script):
        script = Script.from_json(script)
    return FakeBrowser(script, **marker.kwargs)
