"""Sessions that are not flat, ids used twice, pages behind others, documents that take their time: what the fake makes of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cdp_core.testing import FakeBrowser, Script
from cdp_core.testing.steps import AddFrame, Answer, Dialog, Override, Popup, Served, Wait

SHOP, PAY = "https://shop.example/", "https://pay.example/"


class Client:
    """What it says, and what it hears."""

    def __init__(self, fake: FakeBrowser) -> None:
        self.end = fake.connect()
        self._ids = 0

    def send(self, method: str, session: str | None = None, *, id: int | None = None, **params: Any) -> list[Any]:
        self._ids += 1
        message = {"id": self._ids if id is None else id, "method": method, "params": params}
        self.end.receive(json.dumps(message | ({"sessionId": session} if session else {})).encode())
        return self.heard()

    def heard(self) -> list[Any]:
        return [json.loads(each) for each in self.end.drain()]

    def page(self) -> str:
        target: str = self.send("Target.getTargets")[-1]["result"]["targetInfos"][0]["targetId"]
        return target

    def attach(self, *, flatten: bool = True, **named: Any) -> str:
        named = named or {"targetId": self.page()}
        session: str = self.send("Target.attachToTarget", **named, flatten=flatten)[-1]["result"]["sessionId"]
        return session

    def wrap(self, session: str, method: str, *, within: str = "", number: int = 1, **params: Any) -> list[Any]:
        inside = json.dumps({"id": number, "method": method, "params": params})
        return self.send("Target.sendMessageToTarget", within or None, sessionId=session, message=inside)


def inside(message: Any) -> Any:
    """What was wrapped in it, and on which session."""
    assert message["method"] == "Target.receivedMessageFromTarget"
    return {**json.loads(message["params"]["message"]), "on": message["params"]["sessionId"]}


# ── not flat ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_said_on_a_session_that_is_not_flat_is_wrapped() -> None:
    client = Client(FakeBrowser())
    session = client.attach(flatten=False)
    outer, inner = client.wrap(session, "Runtime.evaluate", expression="1+1")
    assert outer["result"] == {}
    assert inside(inner)["result"]["result"]["value"] == 2
    assert inside(inner)["on"] == session
    inner, outer = client.wrap(session, "Target.getTargetInfo")  # the browser's own process answers that
    assert inside(inner)["result"]["targetInfo"]["targetId"] == inner["params"]["targetId"]
    [refused] = client.send("Runtime.evaluate", session, expression="1")
    assert (refused["error"]["code"], "sessionId" in refused) == (-32001, False)


def test_sessions_below_one_that_is_not_flat_are_wrapped_twice() -> None:
    client = Client(FakeBrowser(Script(pages={SHOP: (AddFrame("ad", PAY),)})))
    session = client.attach(flatten=False)
    client.wrap(session, "Page.navigate", url=SHOP)
    attached, *_ = client.wrap(session, "Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False)
    below = inside(attached)["params"]["sessionId"]
    message = json.dumps({"id": 7, "method": "Runtime.evaluate", "params": {"expression": "2"}})
    answers = client.wrap(session, "Target.sendMessageToTarget", number=2, sessionId=below, message=message)
    [told] = [inside(each) for each in answers if "id" not in each and "params" in inside(each)]
    assert (told["on"], inside(told)["on"], inside(told)["id"]) == (session, below, 7)


def test_a_message_that_is_none_is_refused_inside() -> None:
    client = Client(FakeBrowser())
    session = client.attach(flatten=False)
    refused, outer = client.send("Target.sendMessageToTarget", sessionId=session, message="{bad")
    assert (inside(refused)["error"]["code"], outer["result"]) == (-32700, {})
    message = '{"id":3,"method":"Page.enable","sessionId":"x"}'
    refused, outer = client.send("Target.sendMessageToTarget", sessionId=session, message=message)
    assert (inside(refused)["id"], inside(refused)["error"]["code"]) == (3, -32001)


# ── ids ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_command_whose_id_was_used_twice_comes_again_with_each_document() -> None:
    fake = FakeBrowser(Script(answers={each: Answer(each, (Wait(1),)) for each in "abc"}))
    client = Client(fake)
    session = client.attach()
    for each in "abc":
        refused = client.send("Runtime.evaluate", session, id=50, expression=each)
    assert refused[0]["error"]["code"] == -32600
    fake.advance(1)
    assert [each["result"]["result"]["value"] for each in client.heard()] == ["a"]
    for number, expected in enumerate(("a", "b", None), 1):
        client.send("Page.navigate", session, url=f"{SHOP}{number}")
        fake.advance(fake.now + 1)
        assert [each["result"]["result"]["value"] for each in client.heard() if "id" in each] == [expected][
            : expected is not None
        ]


# ── in front ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("method", "params", "attached", "freed"),
    [
        ("Target.createTarget", {"url": "about:blank"}, False, True),
        ("Target.activateTarget", {"targetId": "$"}, False, True),
        ("Target.createTarget", {"url": "about:blank", "background": True}, False, False),
        ("Target.activateTarget", {"targetId": "$"}, True, False),
    ],
)
def test_who_is_hidden_asks_no_more(method: str, params: dict[str, Any], attached: bool, freed: bool) -> None:
    fake = FakeBrowser(Script(pages={PAY: (Dialog("confirm", "sure?"),)}))
    client = Client(fake)
    first = client.page()
    fake.play(Popup("pay", PAY))
    [asking] = [page for page in fake.truth().pages if page != first]
    if attached:
        client.attach(targetId=asking)
    assert fake.truth().blocked
    named: dict[str, Any] = {name: first if value == "$" else value for name, value in params.items()}
    client.send(method, **named)
    assert (fake.truth().blocked == ()) is freed


# ── servers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_document_takes_as_long_as_its_server() -> None:
    fake = FakeBrowser(Script(served={SHOP: Served(seconds=2)}))
    client = Client(fake)
    session = client.attach()
    client.send("Page.enable", session)
    told = client.send("Page.navigate", session, url=SHOP)
    assert [each.get("method") for each in told] == ["Page.frameStartedNavigating", "Page.frameStartedLoading"]
    fake.advance(1.9)
    assert client.heard() == []
    fake.advance(2)
    told = client.heard()
    assert "result" in told[0]
    assert "Page.loadEventFired" in [each.get("method") for each in told]


def test_what_is_asked_for_meanwhile_takes_its_place() -> None:
    fake = FakeBrowser(Script(served={SHOP: Served(seconds=2)}))
    client = Client(fake)
    session = client.attach()
    client.send("Page.navigate", session, url=SHOP)
    aborted, *_ = client.send("Page.navigate", session, url=PAY)
    assert aborted["result"]["errorText"] == "net::ERR_ABORTED"
    fake.advance(5)
    [there] = client.send("Target.getTargets")[-1]["result"]["targetInfos"]
    assert there["url"] == PAY


def test_a_script_keeps_what_servers_and_clients_do() -> None:
    script = Script(
        served={SHOP: Served("connect-src 'none'", seconds=2)}, overrides={"bridge": Override("https://x.invalid/")}
    )
    assert Script.from_json(json.dumps(script.to_json())) == script
    assert "overrides" not in Script().to_json()
    assert eval(repr(script), {"Script": Script, "Served": Served, "Override": Override}) == script
