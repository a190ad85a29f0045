"""Events that come without the `enable` of their domain, on a real Chromium."""

from __future__ import annotations

from typing import Any

import pytest

from cdp_core.silence import DOMAINS_WITHOUT_ENABLE, WITHOUT_ENABLE

pytestmark = pytest.mark.chromium

ACTS = {
    "Runtime.bindingCalled": [
        ("Runtime.addBinding", {"name": "binding"}),
        ("Runtime.evaluate", {"expression": "binding('x')"}),
    ],
    "HeapProfiler.addHeapSnapshotChunk": [("HeapProfiler.takeHeapSnapshot", {})],
    "HeapProfiler.reportHeapSnapshotProgress": [("HeapProfiler.takeHeapSnapshot", {"reportProgress": True})],
    "Page.lifecycleEvent": [("Page.setLifecycleEventsEnabled", {"enabled": True})],
    "Page.screencastVisibilityChanged": [("Page.startScreencast", {"format": "jpeg"})],
    "DOM.childNodeInserted": [
        ("DOM.getDocument", {"depth": -1}),
        ("Runtime.evaluate", {"expression": "document.body.append('x')"}),
    ],
}


@pytest.mark.parametrize("event", ACTS)
async def test_an_event_comes_without_the_enable_of_its_domain(new_page: Any, event: str) -> None:
    """Fact 96."""
    assert event in WITHOUT_ENABLE or event.startswith(DOMAINS_WITHOUT_ENABLE)
    page = await new_page()
    with page.expect(event) as expected:
        for method, params in ACTS[event]:
            await page.send(method, params)
        await expected.wait()
