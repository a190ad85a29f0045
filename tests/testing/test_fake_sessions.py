"""Sessions that are not flat, reused command ids, hidden pages and slow documents in the fake."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cdp_core.testing import FakeBrowser, Script
from cdp_core.testing.steps import AddFrame, Answer, Dialog, Override, Popup, Served, Wait

SHOP, PAY = "https://shop.example/", "https://pay.example/"


class Client:
    """A client that returns the messages received after each command."""

    def __init__(self, fake: FakeBrowser) -> None:
        self.end = fake.connect()
        self._ids = 0

    def send(self, method: str, session: str | None = None, *, id: int | None = None, **params: Any) -> list[Any]:
        self._ids += 1
        message = {"id": self._ids if id is None else id, "method": method, "params": params}
        self.end.receive(json.dumps(message | ({"sessionId": session} if session else {})).encode())
        return self.received()

    def received(self) -> list[Any]:
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
    """Return the message that was wrapped in it, with the session as `on`."""
    assert message["method"] == "Target.receivedMessageFromTarget"
    return {**json.loads(message["params"]["message"]), "on": message["params"]["sessionId"]}


# ── sessions that are not flat ───────────────────────────────────────────────────────────────────────────────────────


def test_messages_of_a_session_that_is_not_flat_are_wrapped() -> None:
    client = Client(FakeBrowser())
    session = client.attach(flatten=False)
    outer, inner = client.wrap(session, "Runtime.evaluate", expression="1+1")
    assert outer["result"] == {}
    assert inside(inner)["result"]["result"]["value"] == 2
    assert inside(inner)["on"] == session
    inner, outer = client.wrap(session, "Target.getTargetInfo")  # the browser process answers this command
    assert inside(inner)["result"]["targetInfo"]["targetId"] == inner["params"]["targetId"]
    [refused] = client.send("Runtime.evaluate", session, expression="1")
    assert (refused["error"]["code"], "sessionId" in refused) == (-32001, False)


def test_messages_of_a_session_nested_in_one_that_is_not_flat_are_wrapped_twice() -> None:
    client = Client(FakeBrowser(Script(pages={SHOP: (AddFrame("ad", PAY),)})))
    session = client.attach(flatten=False)
    client.wrap(session, "Page.navigate", url=SHOP)
    attached, *_ = client.wrap(session, "Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False)
    nested = inside(attached)["params"]["sessionId"]
    message = json.dumps({"id": 7, "method": "Runtime.evaluate", "params": {"expression": "2"}})
    answers = client.wrap(session, "Target.sendMessageToTarget", number=2, sessionId=nested, message=message)
    [wrapped] = [inside(each) for each in answers if "id" not in each and "params" in inside(each)]
    assert (wrapped["on"], inside(wrapped)["on"], inside(wrapped)["id"]) == (session, nested, 7)


def test_an_invalid_wrapped_message_is_refused_inside_the_wrapper() -> None:
    client = Client(FakeBrowser())
    session = client.attach(flatten=False)
    refused, outer = client.send("Target.sendMessageToTarget", sessionId=session, message="{bad")
    assert (inside(refused)["error"]["code"], outer["result"]) == (-32700, {})
    message = '{"id":3,"method":"Page.enable","sessionId":"x"}'
    refused, outer = client.send("Target.sendMessageToTarget", sessionId=session, message=message)
    assert (inside(refused)["id"], inside(refused)["error"]["code"]) == (3, -32001)


# ── reused ids ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_command_with_a_reused_id_runs_again_in_each_document() -> None:
    fake = FakeBrowser(Script(answers={each: Answer(each, (Wait(1),)) for each in "abc"}))
    client = Client(fake)
    session = client.attach()
    for each in "abc":
        refused = client.send("Runtime.evaluate", session, id=50, expression=each)
    assert refused[0]["error"]["code"] == -32600
    fake.advance(1)
    assert [each["result"]["result"]["value"] for each in client.received()] == ["a"]
    for number, expected in enumerate(("a", "b", None), 1):
        client.send("Page.navigate", session, url=f"{SHOP}{number}")
        fake.advance(fake.now + 1)
        assert [each["result"]["result"]["value"] for each in client.received() if "id" in each] == [expected][
            : expected is not None
        ]


# ── pages in front ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("method", "params", "attached", "freed"),
    [
        ("Target.createTarget", {"url": "about:blank"}, False, True),
        ("Target.activateTarget", {"targetId": "$"}, False, True),
        ("Target.createTarget", {"url": "about:blank", "background": True}, False, False),
        ("Target.activateTarget", {"targetId": "$"}, True, False),
    ],
)
def test_hiding_a_page_without_sessions_closes_its_dialog(
    method: str, params: dict[str, Any], attached: bool, freed: bool
) -> None:
    fake = FakeBrowser(Script(pages={PAY: (Dialog("confirm", "sure?"),)}))
    client = Client(fake)
    first = client.page()
    fake.play(Popup("pay", PAY))
    [page_with_dialog] = [page for page in fake.truth().pages if page != first]
    if attached:
        client.attach(targetId=page_with_dialog)
    assert fake.truth().blocked
    named: dict[str, Any] = {name: first if value == "$" else value for name, value in params.items()}
    client.send(method, **named)
    assert (fake.truth().blocked == ()) is freed


# ── slow servers ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_document_takes_as_long_to_load_as_its_server() -> None:
    fake = FakeBrowser(Script(served={SHOP: Served(seconds=2)}))
    client = Client(fake)
    session = client.attach()
    client.send("Page.enable", session)
    messages = client.send("Page.navigate", session, url=SHOP)
    assert [each.get("method") for each in messages] == ["Page.frameStartedNavigating", "Page.frameStartedLoading"]
    fake.advance(1.9)
    assert client.received() == []
    fake.advance(2)
    messages = client.received()
    assert "result" in messages[0]
    assert "Page.loadEventFired" in [each.get("method") for each in messages]


def test_a_second_navigation_aborts_the_pending_one() -> None:
    fake = FakeBrowser(Script(served={SHOP: Served(seconds=2)}))
    client = Client(fake)
    session = client.attach()
    client.send("Page.navigate", session, url=SHOP)
    aborted, *_ = client.send("Page.navigate", session, url=PAY)
    assert aborted["result"]["errorText"] == "net::ERR_ABORTED"
    fake.advance(5)
    [target] = client.send("Target.getTargets")[-1]["result"]["targetInfos"]
    assert target["url"] == PAY


def test_served_and_overrides_survive_json_and_repr() -> None:
    script = Script(
        served={SHOP: Served("connect-src 'none'", seconds=2)}, overrides={"bridge": Override("https://x.invalid/")}
    )
    assert Script.from_json(json.dumps(script.to_json())) == script
    assert "overrides" not in Script().to_json()
    assert eval(repr(script), {"Script": Script, "Served": Served, "Override": Override}) == script
