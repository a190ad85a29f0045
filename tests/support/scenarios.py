"""Scenes for the laws: what happens on the pages, which requests are made, and under which policy."""

from __future__ import annotations

from typing import Any

import attrs

from cdp_core.testing.steps import (
    AddFrame,
    Answer,
    Close,
    Console,
    Crash,
    Cut,
    Dialog,
    Go,
    MoveFrame,
    Navigate,
    NavigateFrame,
    Popup,
    RemoveFrame,
    Script,
    Wait,
    Worker,
)

SHOP, PAY, ADS = "https://shop.example/", "https://pay.example/", "https://ads.example/1"
ASKING = "https://asks.example/"
Json = dict[str, Any]


@attrs.frozen(kw_only=True)
class Scene:
    """One scene: a script, the requests in their JSON form, a policy, and the seconds to play."""

    script: Script
    asks: tuple[Json, ...] = ()
    policy: Any = "must_respond"
    horizon: float = 60.0

    def how(self) -> Json:
        """Return the arguments for `supervised_run.play`."""
        return {"script": self.script, "asks": self.asks, "policy": self.policy, "horizon": self.horizon}


def _scene(*timeline: Any, pages: Any = None, answers: Any = None, **how: Any) -> Scene:
    return Scene(script=Script(timeline=timeline, pages=pages or {}, answers=answers or {}), **how)


SCENES: dict[str, Scene] = {
    "a confirm, accepted by policy": _scene(Wait(1), Dialog("confirm", "sure?"), policy="auto_accept"),
    "a prompt that somebody answers": _scene(
        Wait(1),
        Dialog("prompt", "who?", "me"),
        Wait(1),
        Dialog("alert", "bye"),
        asks=({"respond": "accept", "after": 1.5},),
    ),
    "a confirm that nobody answers": _scene(Wait(1), Dialog("confirm", "anybody?"), horizon=400.0),
    "a dialog at once": _scene(Dialog("alert", "early"), policy="auto_dismiss"),
    "frames in and out of process": _scene(
        Wait(1),
        AddFrame("here", SHOP),
        AddFrame("there", PAY),
        Wait(1),
        AddFrame("below", ADS, "there"),
        Wait(1),
        NavigateFrame("here", ADS),
        Wait(1),
        NavigateFrame("there", "about:blank"),
        Wait(1),
        MoveFrame("here"),
        Wait(1),
        RemoveFrame("there"),
    ),
    "frames, and then another document": _scene(
        Wait(1), AddFrame("a", PAY), AddFrame("b"), Wait(1), Navigate(SHOP), Wait(1), AddFrame("c", PAY)
    ),
    "a page that is come back to, with the frame in it": _scene(
        *(Wait(1), Navigate(SHOP), Wait(1), AddFrame("in", SHOP + "help"), Wait(1), Navigate(PAY), Wait(1), Go())
    ),
    "two dialogs of one page": _scene(
        Wait(1),
        AddFrame("ad", ASKING),
        Wait(2),
        Dialog("confirm", "the older"),
        pages={ASKING: (Wait(5), Dialog("confirm", "the newer"))},
    ),
    "two dialogs of one page, by policy": _scene(
        Wait(1),
        Navigate(ADS),
        pages={
            ADS: (AddFrame("in", ASKING), Wait(1), Dialog("confirm", "the older")),
            ASKING: (Wait(1), Dialog("confirm", "the newer")),
        },
        policy="auto_accept",
    ),
    "two dialogs of one page, dismissed by policy": _scene(
        Wait(1),
        Navigate(ADS),
        pages={
            ADS: (AddFrame("in", ASKING), Wait(1), Dialog("confirm", "the older")),
            ASKING: (Wait(1), Dialog("confirm", "the newer")),
        },
        policy="auto_dismiss",
    ),
    "a dialog of a frame out of process": _scene(
        Wait(1), AddFrame("ad", ASKING), pages={ASKING: (Dialog("confirm", "from below"),)}
    ),
    "a popup that asks": _scene(
        Wait(1), Popup("pop", ASKING), pages={ASKING: (Dialog("confirm", "let me in"),)}, policy="auto_accept"
    ),
    "a page that closes while it asks": _scene(
        Wait(1),
        Popup("pop", SHOP, noopener=True),
        Wait(1),
        Dialog("alert", "last", frame="pop"),
        asks=({"call": "Page.close", "params": {}, "page": 1, "after": 2.5},),
    ),
    "a page closes": _scene(Wait(1), Popup("pop", SHOP), AddFrame("f", PAY, "pop"), Wait(1), Close("pop")),
    "a crash": _scene(Wait(1), AddFrame("f", PAY), Wait(1), Crash(), Wait(1), Popup("pop", SHOP)),
    "a worker, and its lines": _scene(Wait(1), Worker("w"), Console("hello"), Wait(1), Console("again", times=10)),
    "a call that a dialog stops": _scene(
        Wait(1),
        Console("ready"),
        answers={"ask()": Answer(7, (Dialog("confirm", "really?"),))},
        asks=(
            {"call": "Runtime.evaluate", "params": {"expression": "ask()"}, "page": 0, "after": 1.2},
            {"respond": "dismiss", "after": 1.5},
            {"await": 1, "after": 1.7},
        ),
    ),
    "a dialog that a navigation ends": _scene(
        Wait(1),
        Dialog("alert", "x"),
        asks=({"call": "Page.navigate", "params": {"url": SHOP}, "page": 0, "after": 1.5},),
    ),
    "a cure": _scene(
        Wait(1),
        AddFrame("ad", ASKING),
        Wait(1),
        Dialog("confirm", "the older"),
        pages={ASKING: (Wait(5), Dialog("confirm", "the newer"))},
        asks=({"recover": "same_document", "page": 0, "after": 8.0},),
    ),
}
SCENES["a frame below asks, and the link breaks"] = _scene(
    Wait(1), AddFrame("ad", ASKING), Wait(1), Cut(), pages={ASKING: (Dialog("confirm", "still here"),)}
)
