"""A `SupervisorEngine` on the connection of an asyncio client: cdp-use, over one socket for both."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cdp_core.testing import FakeBrowser

SHOP = "https://shop.example/"
HERE = Path(__file__).parent


def test_client_and_engine_see_each_event_once_and_only_their_own_replies(
    fake: FakeBrowser, clients_python: Callable[..., str], run: Callable[..., Any]
) -> None:
    python = clients_python("cdp_use", "msgspec", "immutables")
    done = run([python, str(HERE / "riding_engine.py"), fake.ws_url, SHOP])  # type: ignore[attr-defined]
    assert json.loads(done.stdout) == {
        "closed_by": "agent",
        "paid": "paid",
        "frames": ["https://pay.example/", f"{SHOP}frames", f"{SHOP}near"],
        "sum": 3,
        "evaluated": 12,
        "typed": 4,
        "events_alike": True,
        "dialogs": 1,
        "ids_unique": True,
        "kept_are_ours": True,
        "given_are_theirs": True,
        "unexpected": 0,
    }
    # The last auto-attach on a connection wins: the engine sends none, and detaches from nothing.
    ours = [each.method for each in fake.commands if each.id >= 1_000_000]
    assert ours
    assert not {"Target.setAutoAttach", "Target.detachFromTarget"} & set(ours)
    assert [each.method for each in fake.commands].count("Page.handleJavaScriptDialog") == 1
    assert len({each.client for each in fake.commands}) == 1
    assert fake.statistics().malformed == 0
