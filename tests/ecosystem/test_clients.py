"""Puppeteer, Playwright and cdp-use, unchanged, visit the fake's shop, and each observes the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cdp_core.testing import FakeBrowser

SHOP = "https://shop.example/"
EXPECTED = {
    "pages": ["about:blank"],
    "new": "about:blank",
    "sum": 3,
    "argument": 7,
    "href": SHOP,
    "total": 12,
    "items": [{"name": "tea", "price": 12}],
    "console": [["log", "welcome"], ["warning", "careful"], ["log", "all answered"]],
    "errors": ["broken"],
    "dialogs": [
        ["alert", "Hello", ""],
        ["confirm", "Sure?", ""],
        ["prompt", "Name?", "nobody"],
        ["confirm", "Pay 12?", ""],
    ],
    "paid": "paid",
    "frames": ["https://pay.example/", f"{SHOP}frames", f"{SHOP}near"],
    "in_frame": "https://pay.example/",
    "popup": f"{SHOP}help",
    "left": ["about:blank"],
}


@pytest.mark.parametrize("client", ["cdp_use", "playwright", "puppeteer"])
def test_a_client_observes_the_whole_shop_and_leaves_nothing(
    client: str, fake: FakeBrowser, observe: Callable[[str, str], dict[str, Any]]
) -> None:
    assert observe(client, fake.ws_url) == EXPECTED  # type: ignore[attr-defined]
    fake.assert_clean()
    truth = fake.truth()
    assert [(dialog.type, dialog.accepted, dialog.closed_by) for dialog in truth.dialogs] == [
        ("alert", True, 1),
        ("confirm", False, 1),
        ("prompt", True, 1),
        ("confirm", True, 1),
    ]
    assert [frame.url for frame in truth.frames] == ["about:blank"]
    assert len(truth.pages) == 1
    assert (truth.sessions, truth.blocked, truth.crashed) == ((), (), ())
    # The fake knew every command; no client waited for a command without an answer.
    statistics = fake.statistics()
    assert (dict(statistics.unmodelled), statistics.malformed) == ({}, 0)
