"""A second client that connected earlier: it saw a dialog open, and ours receives only the end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.judge.observation import judge
from cdp_core.testing.second_client import add_second_client
from cdp_core.testing.simulation import Pump
from cdp_core.testing.steps import Close, Dialog, Navigate, Script, Wait

SHOP = "https://shop.example/"


class Late:
    """A client that attaches to the first page and records the messages that it receives."""

    def __init__(self, page: str) -> None:
        self._page = page
        self.received: list[Any] = []

    def start(self) -> list[bytes]:
        return [
            json.dumps(
                {"id": 1, "method": "Target.attachToTarget", "params": {"targetId": self._page, "flatten": True}}
            ).encode()
        ]

    def receive(self, payload: bytes) -> list[bytes]:
        message = json.loads(payload)
        self.received.append(message.get("method", message.get("id")))
        if message.get("method") != "Target.attachedToTarget":
            return []
        return [json.dumps({"id": 2, "method": "Page.enable", "sessionId": message["params"]["sessionId"]}).encode()]


@pytest.mark.parametrize("profile", ["headless-new", "headless-shell"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_client_that_attaches_during_a_dialog_receives_only_its_end(seed: int, profile: Any) -> None:
    fake = FakeBrowser(
        Script(timeline=(Wait(1), Dialog("confirm", "Sure?"), Wait(1), Dialog("alert", "Hi"))), profile=profile
    )
    pump = Pump(fake, [], seed=seed)
    asks = add_second_client(pump)
    assert [dialog.open for dialog in fake.truth().dialogs] == [True]
    late = Late(fake.truth().pages[0])
    number = pump.join(late).number
    pump.ask(asks)
    assert pump.run().quiet
    ends = [each for each in late.received if str(each).startswith("Page.javascriptDialog")]
    assert ends == [f"Page.javascriptDialog{each}" for each in ("Closed", "Opening", "Closed")]
    assert late.received.index(2) > late.received.index("Page.javascriptDialogClosed"), (
        "its Page.enable waits for the end of the dialog"
    )
    assert [dialog.closed_by for dialog in fake.truth().dialogs] == [1, 1]
    assert judge(fake, client=number) == ()


@pytest.mark.parametrize("step", [Close(), Navigate(SHOP)])
def test_the_second_client_breaks_no_law_whatever_its_page_does(step: Any) -> None:
    for seed in range(8):
        fake = FakeBrowser(Script(timeline=(Wait(1), Dialog(), Wait(1), step, Wait(1), Dialog("confirm", "b"))))
        pump = Pump(fake, [], seed=seed, edges="causal", interrupt=True)
        pump.ask(add_second_client(pump))
        assert pump.run().quiet
        assert judge(fake) == ()


def test_the_second_client_leaves_no_dialog_open_however_late_it_is() -> None:
    dialogs = [step for text in "abcdefghi" for step in (Wait(1), Dialog("confirm", text))]
    for seed in range(8):
        pump = Pump(FakeBrowser(Script(timeline=tuple(dialogs))), [], seed=seed, interrupt=True)
        pump.ask(add_second_client(pump))
        assert pump.run().quiet
        assert len(pump.fake.truth().dialogs) == 9
        assert judge(pump.fake) == ()


def test_no_second_client_is_added_without_a_page() -> None:
    pump = Pump(FakeBrowser(Script(timeline=(Close(),))), [], seed=1)
    assert add_second_client(pump) == []
    assert pump.ends == ()
