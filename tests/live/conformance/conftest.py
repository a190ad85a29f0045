"""One list of client commands, two browsers: a real Chromium and the fake; what the fake does otherwise is its bug.

    async def test_alert_accepted(scenario):
        scenario.open("p")
        scenario.send("Runtime.evaluate", {"expression": "alert('x')"}, on="p", wait=False)
        scenario.expect("Page.javascriptDialogOpening", on="p")
        scenario.send("Page.handleJavaScriptDialog", {"accept": True}, on="p")
        await scenario.conforms()

A scenario is a value: commands, what to wait for between them, and pages told as steps of a script. Chromium gets the
pages as HTML that does these steps, over HTTP under two host names (`{a}` and `{b}`, two sites); the fake gets the steps.

What came back is compared message by message, after the ids were given labels:

* **required** is a message, a field, a value, an order that was the same in every run of Chromium;
* **allowed** is what came in at least one run; what the fake sends and no run had is a deviation;
* **order** counts between messages to one client that share a session or a subject (a frame, a target, a session). It
  does not between like events of several targets on one session, nor between the two that tell of attaching: Chromium
  goes through its targets by their addresses in memory, so that one process has always the same order, and another one
  another. Nor between what is told of one frame's way to a process of its own and of another frame's: two navigations,
  each in its own time, which one machine takes in turn every time, and another one side by side. Nor between the end of
  a document's parsing and what is told of the frames in it, which come to their documents meanwhile or later. Nor between
  two replies on one session (fact 56), or messages of two sessions (fact 38), that the fake might deliver either way.

What differs from run to run is learned, not listed: a first run that shows no deviation is enough, since more runs only
require less and allow more; else Chromium runs again, up to `RUNS` times, and only what then remains is a deviation. The
further runs differ in what chance may differ in: every other one has a client that takes its time before each command;
from the third on each has a new process, whose addresses and caches are its own; in every other one of the later ones
the documents come from the server sooner or later, each in its turn. A run in which something that was awaited did not
come says nothing of the fake; one that says something is needed.

`NOISE` is what neither is asked about, `UNCOMPARED` the values that are different by nature.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import attrs
import pytest
import trio

from cdp_core.errors import Gone
from cdp_core.testing import steps as kinds
from cdp_core.testing.fake.browser import ClientEnd, FakeBrowser
from cdp_core.testing.fake.world import Profile
from cdp_core.transports.websocket.open import open_websocket

Json = dict[str, Any]

RUNS = int(os.environ.get("CDP_CONFORMANCE_RUNS", "16"))
"""How often Chromium is asked, at most."""
QUIET = 0.1
"""Seconds without a message, after which a real browser has nothing more to say."""
QUIET_WHILE_LOADING = 0.3
"""The same, where it has said that a frame loads, and not yet that it stopped."""
QUIET_WHILE_IDLE_IS_TOLD = 0.8
"""The same, where it was asked to tell how far documents have come: it tells of half a second without a request."""
PROMPT_RUNS = 3
"""After how many of these documents may come late."""
QUIET_WHEN_LATE = 0.4
"""Seconds more without a message, in the runs after these."""
SLOW = 0.05
"""Seconds before each command of a client that takes its time."""
PATIENCE = 3.0
"""Seconds in which an awaited message comes."""

ENDS_OF_A_LOAD = ("Page.frameStoppedLoading", "Page.loadEventFired", "Page.domContentEventFired")
"""How far an empty page had come when a client enabled Page is chance, so that of its first load none of these counts."""

NOISE = ("Network.",)
"""Events, by their beginning, that are not modelled at all: the fake has no network of which anything could be told, and takes
note of `Network.enable` and no more. Beside them: whatever is about a `browser_ui` target, which is the browser's own.
Whatever else Chromium says is compared."""

PAINTED = (
    "firstPaint",
    "firstContentfulPaint",
    "firstImagePaint",
    "firstMeaningfulPaint",
    "firstMeaningfulPaintCandidate",
)
"""How far a document has come, where that is told by what was painted: the fake paints nothing."""
ATTACHING = ("Target.attachedToTarget", "Target.targetInfoChanged")
"""What is told of each target that is attached to by itself, also on a frame's way to a process of its own."""
PARSED = "Page.domContentEventFired"
"""What tells of the end of parsing."""
IDLE = ("networkAlmostIdle", "networkIdle")
"""The same, told by half a second without a request: these are compared, but for where they stand among the others."""

UNCOMPARED = {
    "timestamp": "<time>",
    "scriptId": "<script>",
    "exceptionId": "<exception>",
    "objectId": "<object>",
    "stackTrace": "<stack>",
    "stack": "<stack>",
    "lineNumber": "<place>",
    "columnNumber": "<place>",
    "debuggerId": "<debugger>",
    "notRestoredExplanations": "<why>",
    "notRestoredExplanationsTree": "<why>",
    "revision": "<version>",
    "product": "<version>",
    "userAgent": "<version>",
    "jsVersion": "<version>",
}
"""Members whose values are their own in every run, by what stands for them."""

KNOWN_DEVIATIONS: Mapping[str, str] = {}
"""Tests of scenarios in which the fake is known to differ, with what it would take."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        why = KNOWN_DEVIATIONS.get(item.name)
        if why is not None and "conformance" in item.nodeid:
            item.add_marker(pytest.mark.xfail(reason=why, strict=True))


# ── what a client does ───────────────────────────────────────────────────────────────────────────────────────────────


@attrs.frozen(kw_only=True)
class Send:
    client: str
    on: str
    method: str
    params: Any
    id: int
    wait: bool
    save: Mapping[str, str]


@attrs.frozen(kw_only=True)
class Raw:
    client: str
    text: str
    replies: int


@attrs.frozen(kw_only=True)
class Expect:
    client: str
    on: str
    method: str
    where: Mapping[str, Any]
    save: Mapping[str, str]


@attrs.frozen(kw_only=True)
class Settle:
    """Nothing more comes."""


@attrs.frozen(kw_only=True)
class Connect:
    client: str


@attrs.frozen(kw_only=True)
class Leave:
    client: str


@attrs.frozen(kw_only=True)
class Ends:
    """The browser ends this connection."""

    client: str


Act = Send | Raw | Expect | Settle | Connect | Leave | Ends


class Scenario:
    """See the module. Sessions, targets and contexts are named by labels: `$target.p` in params is the target `p`."""

    def __init__(self, name: str, judge: Callable[[Scenario], Awaitable[None]] | None = None) -> None:
        self.name = name
        self.acts: list[Act] = [Connect(client="A")]
        self.pages: dict[str, tuple[kinds.Step, ...]] = {}
        self.answers: dict[str, tuple[kinds.Step, ...]] = {}
        self.overrides: dict[str, kinds.Override] = {}
        """What scripts for new documents put in the place of dialogs, by a text that stands in them."""
        self._judge = judge
        self._ids = 0

    # ── the pages ────────────────────────────────────────────────────────────────────────────────────────────────────

    def page(self, path: str, *steps: kinds.Step) -> None:
        """What the document at a path does, on both sites."""
        self.pages[path] = steps

    # ── the client ───────────────────────────────────────────────────────────────────────────────────────────────────

    def send(
        self,
        method: str,
        params: Any = None,
        *,
        on: str = "browser",
        client: str = "A",
        wait: bool = True,
        save: Mapping[str, str] | None = None,
        id: int | None = None,
    ) -> None:
        """A command, and usually its answer. `save` gives a label to a member of the result."""
        self._ids += 1
        self.acts.append(
            Send(
                client=client,
                on=on,
                method=method,
                params=params,
                id=self._ids if id is None else id,
                wait=wait,
                save=save or {},
            )
        )

    def raw(self, text: str, *, client: str = "A", replies: int = 1) -> None:
        """A text as it is, and the messages that answer it."""
        self.acts.append(Raw(client=client, text=text, replies=replies))

    def expect(
        self,
        method: str,
        where: Mapping[str, Any] | None = None,
        *,
        on: str = "browser",
        client: str = "A",
        save: Mapping[str, str] | None = None,
    ) -> None:
        """Wait for an event that no earlier `expect` has had."""
        self.acts.append(Expect(client=client, on=on, method=method, where=where or {}, save=save or {}))

    def settle(self) -> None:
        """Wait until nothing more comes."""
        self.acts.append(Settle())

    def connect(self, client: str) -> None:
        """Another client."""
        self.acts.append(Connect(client=client))

    def leave(self, client: str) -> None:
        """A client leaves."""
        self.acts.append(Leave(client=client))

    def ends(self, client: str = "A") -> None:
        """Wait until the browser ends the connection."""
        self.acts.append(Ends(client=client))

    # ── what is often done ───────────────────────────────────────────────────────────────────────────────────────────

    def open(
        self, label: str, url: str = "", *, enable: Sequence[str] = ("Page",), client: str = "A", context: str = ""
    ) -> None:
        """A page with a session, its domains enabled; then it goes to the URL."""
        where = {"browserContextId": f"$context.{context}"} if context else {}
        self.send(
            "Target.createTarget",
            {"url": "about:blank", **where},
            client=client,
            save={f"target.{label}": "targetId"},
        )
        self.settle()  # or the end of loading the empty document is told to some and not to others
        self.attach(label, client=client, enable=enable)
        if url:
            self.go(url, on=label, client=client)
        else:
            self.settle()

    def attach(
        self, label: str, target: str = "", *, client: str = "A", enable: Sequence[str] = (), on: str = "browser"
    ) -> None:
        """A session, called as its target unless `target` says which that is."""
        params = {"targetId": f"$target.{target or label}", "flatten": True}
        self.send("Target.attachToTarget", params, on=on, client=client, save={f"session.{label}": "sessionId"})
        for domain in enable:
            self.send(f"{domain}.enable", on=label, client=client)

    def auto_attach(self, *, on: str = "browser", wait: bool = False, client: str = "A", **params: Any) -> None:
        """Auto-attach, flat."""
        asked = {"autoAttach": True, "waitForDebuggerOnStart": wait, "flatten": True, **params}
        self.send("Target.setAutoAttach", asked, on=on, client=client)

    def go(self, url: str, *, on: str, client: str = "A") -> None:
        """Navigate, and wait until everything has come to rest."""
        self.send("Page.navigate", {"url": url}, on=on, client=client)
        self.settle()

    def evaluate(self, expression: str, *, on: str, client: str = "A", wait: bool = True, **params: Any) -> None:
        """`Runtime.evaluate`."""
        self.send("Runtime.evaluate", {"expression": expression, **params}, on=on, client=client, wait=wait)

    def act(self, *steps: kinds.Step, on: str, client: str = "A", wait: bool = True) -> None:
        """Let a page do steps, by an expression that does them."""
        expression = f"{{{''.join(map(script_of, steps))}}};void 0"
        self.answers[expression] = steps
        gesture = {"userGesture": True} if any(isinstance(step, kinds.Popup) for step in steps) else {}
        self.evaluate(expression, on=on, client=client, wait=wait, **gesture)
        if wait:
            self.settle()

    async def conforms(self) -> None:
        """Run it on both, and fail with what the fake does otherwise."""
        assert self._judge is not None
        await self._judge(self)


def script_of(step: kinds.Step) -> str:
    """The JavaScript that does a step."""
    if isinstance(step, kinds.Dialog) and step.type == "beforeunload":
        return "addEventListener('beforeunload',event=>event.preventDefault());"
    if isinstance(step, (kinds.Dialog, kinds.Console)) and step.at:
        target = "document." if step.at == "visibilitychange" else ""
        return f"{target}addEventListener({quoted(step.at)},()=>{{{script_of(attrs.evolve(step, at=''))}}});"
    if isinstance(step, kinds.AddFrame):
        source = "" if step.url == "about:blank" else f"f.src={quoted(step.url)};"
        return (
            f"{{let f=document.createElement('iframe');f.name={quoted(step.label)};{source}document.body.append(f)}};"
        )
    if isinstance(step, kinds.NavigateFrame):
        return f"document.querySelector('iframe[name={step.label}]').src={quoted(step.url)};"
    if isinstance(step, kinds.RemoveFrame):
        return f"document.querySelector('iframe[name={step.label}]').remove();"
    if isinstance(step, kinds.MoveFrame):
        return (
            "{let d=document.createElement('div');document.body.append(d);"
            f"d.append(document.querySelector('iframe[name={step.label}]'))}};"
        )
    if isinstance(step, kinds.Console):
        level = {"warning": "warn"}.get(step.type, step.type)
        return f"console.{level}({quoted(step.text)});"
    if isinstance(step, kinds.Dialog):
        default = f",{quoted(step.default_prompt)}" if step.type == "prompt" else ""
        return f"{step.type}({quoted(step.message)}{default});"
    if isinstance(step, kinds.Request):
        return (
            f"{{let x=new XMLHttpRequest;x.open('GET',{quoted(step.url)},{'false' if step.sync else 'true'});"
            "let f=()=>console.log('failed');x.onload=()=>console.log(x.status+' '+x.responseText);"
            f"{'try{x.send()}catch{f()}' if step.sync else 'x.onerror=x.onabort=f;setTimeout(()=>x.send())'}}};"
        )
    if isinstance(step, kinds.Popup):
        return f"window.open({quoted(step.url)},'_blank'{',' + quoted('noopener') if step.noopener else ''});"
    if isinstance(step, kinds.ScriptError):
        return f"throw new Error({quoted(step.message)});"
    if isinstance(step, kinds.PushState):
        return f"history.pushState({{}},'',{quoted(step.url)});"
    if isinstance(step, kinds.Go):
        return f"history.go({step.delta});"
    if isinstance(step, kinds.Navigate):
        return f"location.href={quoted(step.url)};"
    if isinstance(step, kinds.Worker):
        made = {
            "dedicated": f"new Worker({quoted(step.url)})",
            "shared": f"new SharedWorker({quoted(step.url)})",
            "service": f"navigator.serviceWorker.register({quoted(step.url)})",
        }
        return f"globalThis.{step.label}={made[step.kind]};"
    if isinstance(step, kinds.Prerender):
        rules = json.dumps({"prerender": [{"source": "list", "urls": [step.url], "eagerness": "immediate"}]})
        return (
            "{let s=document.createElement('script');s.type='speculationrules';"
            f"s.textContent={quoted(rules)};document.body.append(s)}};"
        )
    if isinstance(step, kinds.EndWorker):
        return f"{step.label}.terminate();"
    raise TypeError(f"no JavaScript is known for {step!r}")


def quoted(text: str) -> str:
    return json.dumps(text).replace("</", "<\\/")


# ── the two browsers ─────────────────────────────────────────────────────────────────────────────────────────────────


@attrs.define
class Told:
    """Everything that came back, in the order of arrival, by client; and what the scenario's labels stand for."""

    messages: list[tuple[str, Json]] = attrs.Factory(list["tuple[str, Json]"])
    names: dict[str, str] = attrs.Factory(dict["str", "str"])
    taken: set[int] = attrs.Factory(set["int"])
    ended: set[str] = attrs.Factory(set["str"])
    free: set[frozenset[int]] = attrs.Factory(set["frozenset[int]"])
    """Pairs of messages that might as well have come in the other order; only the fake can tell."""
    loading: set[tuple[str | None, str]] = attrs.Factory(set["tuple[str | None, str]"])
    """Sessions and the frames that load there."""
    problem: str = ""
    """What was awaited and did not come: the scenario ended there."""

    def hear(self, client: str, message: Json) -> None:
        """One more."""
        self.messages.append((client, message))
        params, session = message.get("params") or {}, message.get("sessionId")
        if message.get("method") == "Page.frameStartedLoading":
            self.loading.add((session, params["frameId"]))
        elif message.get("method") in ("Page.frameStoppedLoading", "Page.frameDetached"):
            self.loading.discard((session, params["frameId"]))
        elif message.get("method") in ("Page.javascriptDialogOpening", "Fetch.requestPaused"):
            self.loading.clear()  # it loads when the client has answered, and no sooner
        elif message.get("method") == "Target.detachedFromTarget":
            self.loading = {each for each in self.loading if each[0] != params["sessionId"]}

    def find(self, client: str, fits: Callable[[Json], bool]) -> int | None:
        """The first one that was not taken yet."""
        for number, (whose, message) in enumerate(self.messages):
            if number not in self.taken and whose == client and fits(message):
                return number
        return None


class Browser(Protocol):
    """Either of the two."""

    told: Told

    async def connect(self, client: str) -> None: ...
    async def send(self, client: str, text: str) -> None: ...
    async def leave(self, client: str) -> None: ...
    async def settle(self) -> None: ...
    async def until(self, ready: Callable[[], bool]) -> bool: ...


async def perform(acts: Sequence[Act], on: Browser, filled: Callable[[Any], Any]) -> Told:
    """Do what a client does, up to where something that is awaited does not come, or not as it should be."""
    try:
        await _perform(acts, on, filled)
    except (AssertionError, KeyError) as error:
        on.told.problem = f"{type(error).__name__}: {error}"
    return on.told


async def _perform(acts: Sequence[Act], on: Browser, filled: Callable[[Any], Any]) -> None:
    told = on.told
    for act in acts:
        if isinstance(act, Connect):
            await on.connect(act.client)
        elif isinstance(act, Leave):
            await on.leave(act.client)
        elif isinstance(act, Settle):
            await on.settle()
        elif isinstance(act, Ends):
            assert await on.until(lambda: act.client in told.ended), "the connection did not end"  # noqa: B023
        elif isinstance(act, Raw):
            before = sum(whose == act.client for whose, _ in told.messages)
            await on.send(act.client, act.text)
            enough = before + act.replies
            came = await on.until(lambda: sum(whose == act.client for whose, _ in told.messages) >= enough)  # noqa: B023
            assert came, f"no answer to {act.text[:80]!r}"
        elif isinstance(act, Send):
            await _send(act, on, filled)
        else:
            await _take(act.client, on, told, _fits(act, told, filled), act.save, f"{act.method} on {act.on}")
    await on.settle()


async def _send(act: Send, on: Browser, filled: Callable[[Any], Any]) -> None:
    message: Json = {"id": act.id, "method": act.method}
    if act.params is not None:
        message["params"] = _resolved(filled(act.params), on.told.names)
    if act.on != "browser":
        message["sessionId"] = on.told.names.get(f"session.{act.on}", act.on)
    await on.send(act.client, json.dumps(message))
    if act.wait:
        await _take(
            act.client,
            on,
            on.told,
            lambda each: each.get("id") == act.id,
            {label: f"result.{path}" for label, path in act.save.items()},
            f"an answer to {act.method} on {act.on}",
        )


async def _take(
    client: str, on: Browser, told: Told, fits: Callable[[Json], bool], save: Mapping[str, str], what: str
) -> None:
    assert await on.until(lambda: told.find(client, fits) is not None), f"{what} did not come"
    number = told.find(client, fits)
    assert number is not None
    told.taken.add(number)
    for label, path in save.items():
        found: Any = told.messages[number][1]
        for part in path.split("."):
            found = found[int(part)] if isinstance(found, list) else found[part]
        told.names[label] = found


def _fits(act: Expect, told: Told, filled: Callable[[Any], Any]) -> Callable[[Json], bool]:
    session = told.names.get(f"session.{act.on}")
    where = _resolved(filled(dict(act.where)), told.names)

    def fits(message: Json) -> bool:
        if message.get("method") != act.method or message.get("sessionId") != session:
            return False
        for path, wanted in where.items():
            found: Any = message["params"]
            for part in path.split("."):
                found = found.get(part) if isinstance(found, dict) else None
            if found != wanted:
                return False
        return True

    return fits


def _resolved(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str) and value.startswith("$"):
        return names[value[1:]]
    if isinstance(value, dict):
        return {key: _resolved(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [_resolved(each, names) for each in value]
    return value


class RealBrowser:
    """Chromium, over one WebSocket for each client."""

    def __init__(self, url: str, nursery: trio.Nursery, number: int) -> None:
        self.told = Told()
        self._url = url
        self._nursery = nursery
        self._pace = SLOW if number % 2 else 0
        self._more = QUIET_WHEN_LATE if number >= PROMPT_RUNS else 0
        self._quiet = QUIET
        self._links: dict[str, Any] = {}
        self._news = trio.Event()

    async def connect(self, client: str) -> None:
        self._links[client] = await self._nursery.start(self._read, client)

    async def _read(self, client: str, *, task_status: trio.TaskStatus[Any]) -> None:
        async with open_websocket(self._url) as transport:
            task_status.started(transport)
            with contextlib.suppress(Gone):
                while True:
                    for payload in await transport.receive():
                        self.told.hear(client, json.loads(bytes(payload)))
                    self._wake()
        self.told.ended.add(client)
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = trio.Event()

    async def send(self, client: str, text: str) -> None:
        if '"Page.setLifecycleEventsEnabled"' in text:
            self._quiet = QUIET_WHILE_IDLE_IS_TOLD
        if self._pace:
            await trio.sleep(self._pace)
        await self._links[client].send([text.encode("utf-8", "surrogatepass")])

    async def leave(self, client: str) -> None:
        await self._links.pop(client).aclose()  # while it is read on, or the goodbye would be waited for in vain
        await self.until(lambda: client in self.told.ended)

    async def leave_all(self) -> None:
        for client in tuple(self._links):
            await self.leave(client)

    async def settle(self) -> None:
        with trio.move_on_after(PATIENCE):
            while True:
                longest = max(self._quiet, QUIET_WHILE_LOADING if self.told.loading else 0)
                with trio.move_on_after(longest + self._more) as quiet:
                    await self._news.wait()
                if quiet.cancelled_caught:
                    return

    async def until(self, ready: Callable[[], bool]) -> bool:
        with trio.move_on_after(PATIENCE):
            while not ready():
                await self._news.wait()
        return ready()


class MadeUpBrowser:
    """The fake."""

    def __init__(self, fake: FakeBrowser) -> None:
        self.told = Told()
        self.fake = fake
        self._ends: dict[str, ClientEnd] = {}

    async def connect(self, client: str) -> None:
        self._ends[client] = self.fake.connect()

    async def send(self, client: str, text: str) -> None:
        self._ends[client].receive(text.encode("utf-8", "surrogatepass"))

    async def leave(self, client: str) -> None:
        self._collect()
        self._ends[client].lost()
        self._collect()

    async def settle(self) -> None:
        while (due := self.fake.next_time()) is not None:
            self.fake.advance(due)
        self._collect()

    async def until(self, ready: Callable[[], bool]) -> bool:
        await self.settle()
        return ready()

    def _collect(self) -> None:
        for client, end in self._ends.items():
            places: dict[int, int] = {}
            earlier: dict[int, set[int]] = {}
            while ready := end.ready():
                number, after = ready[0].number, ready[0].after
                earlier[number] = set(after).union(*(earlier.get(each, ()) for each in after))
                self.told.free |= {
                    frozenset((place, len(self.told.messages)))
                    for other, place in places.items()
                    if other not in earlier[number]
                }
                places[number] = len(self.told.messages)
                self.told.hear(client, json.loads(self.fake.deliver(end, ready[0])))
            if not end.connected:
                self.told.ended.add(client)


# ── what came back, comparable ───────────────────────────────────────────────────────────────────────────────────────

Key = tuple[str, str, str, str, int]
"""Client, session, what, about what, and which of those that are alike."""
_ID = re.compile(r"\b[0-9A-F]{32}\b")
_PLACE = re.compile(r":\d+:\d+\b")
_MISSING = object()


@attrs.frozen
class Message:
    key: Key
    fields: Mapping[str, Any]
    subjects: frozenset[str]
    place: int

    def __str__(self) -> str:
        client, session, what, about, number = self.key
        fields = " ".join(f"{path}={value!r}" for path, value in self.fields.items())
        return f"{client} {session}: {what} {about} #{number}  {fields}"


def comparable(told: Told, origins: Mapping[str, str]) -> list[Message]:
    """The messages with labels in place of ids, and without noise."""
    labels = Labels(told, origins)
    hidden = set(_hidden([message for _, message in told.messages]))
    seen: Counter[tuple[str, str, str, str]] = Counter()
    last_info: dict[tuple[str, str, str], Any] = {}
    found: list[Message] = []
    empty: set[str] = set()
    for place, (client, message) in enumerate(told.messages):
        if _is_noise(message, hidden) or _is_of_an_empty_page(message, empty):
            continue
        session = labels.session(message.get("sessionId"))
        what = message.get("method") or f"answer {message.get('id', 'without an id')}"
        shown = labels.shown({key: each for key, each in message.items() if key != "sessionId"}, message)
        subjects = _subjects(shown)
        about = " ".join([*sorted(subjects), *_named(shown)])
        if what == "Target.targetInfoChanged":
            # How often a title or an icon is told of again is the renderer's whim.
            if last_info.get((client, session, about)) == shown:
                continue
            last_info[client, session, about] = shown
        alike = (client, session, what, about)
        seen[alike] += 1
        if "sessionId" in message:
            subjects |= {session}
        found.append(Message((*alike, seen[alike]), dict(_leaves(shown)), frozenset(subjects), place))
    return found


def _is_noise(message: Json, hidden: set[str]) -> bool:
    params = message.get("params") or {}
    named = params.get("targetInfo", params).get("targetId")
    painted = message.get("method") == "Page.lifecycleEvent" and params["name"] in PAINTED
    return painted or message.get("method", "").startswith(NOISE) or named in hidden


def _is_of_an_empty_page(message: Json, empty: set[str]) -> bool:
    """Whether it is of the first load of a page; `empty` are the sessions of those in which nothing has begun yet."""
    method, params, session = message.get("method"), message.get("params") or {}, message.get("sessionId")
    if method == "Target.attachedToTarget":
        info = params["targetInfo"]
        if info["type"] == "page" and info["url"] == "about:blank" and not params["waitingForDebugger"]:
            empty.add(params["sessionId"])
    if session in empty and method in ENDS_OF_A_LOAD:
        return True
    if method in ("Page.frameStartedNavigating", "Page.frameStartedLoading", "Page.frameNavigated"):
        empty.discard(str(session))
    return False


def _hidden(value: Any) -> Iterator[str]:
    """The ids of targets that are the browser's own furniture."""
    if isinstance(value, list):
        for each in value:
            yield from _hidden(each)
    elif isinstance(value, dict):
        if value.get("type") == "browser_ui":
            yield value["targetId"]
        for each in value.values():
            yield from _hidden(each)


def _named(shown: Json) -> list[str]:
    """What tells alike messages apart beside what they are about."""
    return [shown["params"]["name"]] if shown.get("method") == "Page.lifecycleEvent" else []


def _subjects(shown: Json) -> set[str]:
    params = shown.get("params")
    if not isinstance(params, dict):
        return set()
    info, frame, context = (params.get(name) or {} for name in ("targetInfo", "frame", "context"))
    found = [params.get("frameId"), params.get("targetId"), params.get("sessionId")]
    found += [info.get("targetId"), frame.get("id"), context.get("auxData", {}).get("frameId")]
    return {each for each in found if isinstance(each, str)}


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _leaves(each, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for number, each in enumerate(value):
            yield from _leaves(each, f"{path}[{number}]")
    else:
        yield path, value


class Labels:
    """What ids stand for: the scenario's own labels, else the first address that was told with them."""

    def __init__(self, told: Told, origins: Mapping[str, str]) -> None:
        self._origins = origins
        self._labels: dict[str, str] = {}
        self._used: Counter[str] = Counter()
        self._urls: dict[str, str] = {}
        self._kinds: dict[str, str] = {}
        self._contexts: dict[tuple[str | None, int], str] = {}
        for name, value in told.names.items():
            kind, _, label = name.partition(".")
            self._labels.setdefault(value, label if kind == "target" else f"{kind} {label}")
        for _, message in told.messages:
            self._look(message)
        for found, kind in self._kinds.items():
            if kind != "session":
                self._give(found, f"{kind} {self._urls.get(found, '')}")
        for _, message in told.messages:
            params = message.get("params") or {}
            if message.get("method") == "Target.attachedToTarget":
                target = self._labels.get(params["targetInfo"]["targetId"], "?")
                self._give(params["sessionId"], f"session of {target}")
            if message.get("method") == "Runtime.executionContextCreated":
                context = params["context"]
                of = self._labels.get(context.get("auxData", {}).get("frameId", ""), "a worker")
                self._give(context["uniqueId"], f"context of {of}")

    def _give(self, found: str, label: str) -> None:
        if found in self._labels:
            return
        self._used[label] += 1
        self._labels[found] = label if self._used[label] == 1 else f"{label} ({self._used[label]})"

    def _look(self, value: Any) -> None:
        if isinstance(value, list):
            for each in value:
                self._look(each)
        if not isinstance(value, dict):
            return
        url = value.get("url", "")
        for name, kind in (("targetId", "frame"), ("frameId", "frame"), ("loaderId", "loader")):
            if isinstance(value.get(name), str):
                self._note(value[name], kind, url)
        if isinstance(value.get("requestId"), str) and "request" in value:
            self._note(value["requestId"], "request", value["request"]["url"])
        if isinstance(value.get("id"), str) and "loaderId" in value:
            self._note(value["id"], "frame", url)
        if isinstance(value.get("browserContextId"), str):
            self._note(value["browserContextId"], "browser context", "")
        if isinstance(value.get("defaultBrowserContextId"), str):
            self._note(value["defaultBrowserContextId"], "browser context", "")
        for each in value.values():
            self._look(each)

    def _note(self, found: str, kind: str, url: str) -> None:
        self._kinds.setdefault(found, kind)
        if url not in ("", "about:blank") and found not in self._urls:
            self._urls[found] = self._plain(url)

    def _plain(self, text: str) -> str:
        for label, origin in self._origins.items():
            text = text.replace(origin, label)
        text = _PLACE.sub(":<line>:<column>", text)
        return _ID.sub(lambda found: self._labels.get(found[0], "<id>"), text)

    def session(self, found: str | None) -> str:
        return "browser" if found is None else self._labels.get(found, "an unknown session")

    def shown(self, value: Any, message: Json) -> Any:
        """A part of a message, with labels."""
        if value is message.get("params") and message.get("method") == "Runtime.executionContextCreated":
            made = value["context"]  # a process of its own counts from 1 again
            self._contexts[message.get("sessionId"), made["id"]] = self._labels[made["uniqueId"]]
        if isinstance(value, dict):
            return {
                key: UNCOMPARED.get(key) or self._member(key, each, value, message)
                for key, each in value.items()
                if not (isinstance(each, dict) and each.get("type") == "browser_ui")
            }
        if isinstance(value, list):
            kept = [each for each in value if not (isinstance(each, dict) and each.get("type") == "browser_ui")]
            return [self.shown(each, message) for each in kept]
        if isinstance(value, str):
            return self._labels.get(value) or self._plain(value)
        return value

    def _member(self, key: str, value: Any, parent: Json, message: Json) -> Any:
        if key == "title" and "targetId" in parent:
            return "<title>"
        if key == "data" and parent is message.get("result"):
            return "<picture>"
        if key == "id" and "transitionType" in parent:
            return "<entry>"
        if key == "executionContextId" or (key == "id" and "uniqueId" in parent):
            return self._contexts.get((message.get("sessionId"), value), "<unknown context>")
        if key == "targetInfos":
            value = sorted(value, key=lambda info: self._labels.get(info["targetId"], ""))
        return self.shown(value, message)


def deviations(
    runs: Sequence[Sequence[Message]], fake: Sequence[Message], free: AbstractSet[frozenset[int]] = frozenset()
) -> list[str]:
    """What the fake does otherwise than all runs of Chromium."""
    real = [{message.key: message for message in run} for run in runs]
    made_up = {message.key: message for message in fake}
    required = [key for key in real[0] if all(key in run for run in real)]
    found = [f"missing: {real[0][key]}" for key in required if key not in made_up]
    found += [f"never sent by Chromium: {made_up[key]}" for key in made_up if not any(key in run for run in real)]
    for key, message in made_up.items():
        seen = [run[key].fields for run in real if key in run]
        if seen:
            found += [f"{_name(key)}: {each}" for each in _differing(seen, message.fields)]
    found += _disordered(real, made_up, [key for key in required if key in made_up], free)
    return found


def _differing(seen: Sequence[Mapping[str, Any]], made_up: Mapping[str, Any]) -> Iterator[str]:
    for path in dict.fromkeys([*seen[0], *made_up]):
        values = [fields.get(path, _MISSING) for fields in seen]
        mine = made_up.get(path, _MISSING)
        if mine is _MISSING:
            if all(value is not _MISSING for value in values):
                yield f"no {path}, which is {values[0]!r}"
            continue
        there = [value for value in values if value is not _MISSING]
        if not there:
            yield f"{path}={mine!r}, which Chromium never has"
        elif all(value == there[0] and type(value) is type(there[0]) for value in there):
            if mine != there[0] or type(mine) is not type(there[0]):
                yield f"{path}={mine!r}, not {there[0]!r}"
        elif type(mine) not in {type(value) for value in there}:
            yield f"{path}={mine!r}, not like {there[0]!r}"


def _disordered(
    real: Sequence[Mapping[Key, Message]],
    made_up: Mapping[Key, Message],
    keys: Sequence[Key],
    free: AbstractSet[frozenset[int]],
) -> Iterator[str]:
    places = [{key: place for place, key in enumerate(run)} for run in (*real, made_up)]
    *runs, mine = places
    for number, first in enumerate(keys):
        for second in keys[number + 1 :]:
            if first[0] != second[0]:
                continue
            if first[3].endswith(IDLE) or second[3].endswith(IDLE):
                continue
            shared = made_up[first].subjects & made_up[second].subjects
            together = first[1] == second[1] or shared
            if first[1:3] == second[1:3] and first[2].startswith("Target."):
                continue  # see the module
            if not shared - {first[1]} and _is_way_out(made_up[first]) and _is_way_out(made_up[second]):
                continue  # likewise
            if PARSED in (first[2], second[2]) and _are_of_frames_inside(shared, made_up[first], made_up[second]):
                continue  # likewise
            chance = first[1] != second[1] or (first[2].startswith("answer") and second[2].startswith("answer"))
            if chance and frozenset((made_up[first].place, made_up[second].place)) in free:
                continue  # see the module
            if together and all(run[first] < run[second] for run in runs) and mine[first] > mine[second]:
                yield f"order: {_name(first)} comes before {_name(second)}"
                break


def _is_way_out(message: Message) -> bool:
    """Whether it tells of a target that is attached to, or of a frame on its way there."""
    return message.key[2] in ATTACHING or message.fields.get("params.reason") == "swap"


def _are_of_frames_inside(shared: AbstractSet[str], *messages: Message) -> bool:
    """Whether one of them is about another frame than the one whose session tells of both."""
    about = set[str]().union(*(message.subjects for message in messages)) - shared
    return bool(about) and messages[0].key[1].removeprefix("session ").removeprefix("of ") not in about


def _name(key: Key) -> str:
    return f"{key[0]} {key[1]}: {key[2]} {key[3]} #{key[4]}"


# ── fixtures ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class Site:
    """The HTTP server, under its two names."""

    def __init__(self, server: subprocess.Popen[bytes]) -> None:
        assert server.stdout is not None
        self._server = server
        port = int(server.stdout.readline())
        self.origins = {"{a}": f"http://127.0.0.1:{port}", "{b}": f"http://localhost:{port}"}

    def serve(self, pages: Mapping[str, Sequence[kinds.Step]], late: int) -> None:
        """Let these paths do these steps, in the run of this number among those in which documents come late, or in none."""
        html = {path: self.filled(_source(path, steps)) for path, steps in pages.items()}
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps([html, late]).encode() + b"\n")
        self._server.stdin.flush()
        assert self._server.stdout.readline()

    def filled(self, value: Any) -> Any:
        """Something with the addresses in place of `{a}` and `{b}`."""
        if isinstance(value, str):
            for label, origin in self.origins.items():
                value = value.replace(label, origin)
            return value
        if isinstance(value, dict):
            return {self.filled(key): self.filled(each) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(map(self.filled, value))
        if attrs.has(type(value)):
            return type(value)(**{key: self.filled(each) for key, each in attrs.asdict(value, recurse=False).items()})
        return value

    def script(self, scenario: Scenario) -> kinds.Script:
        """What the fake is told."""
        answers = {
            self.filled(expression): kinds.Answer(None, self.filled(steps))
            for expression, steps in scenario.answers.items()
        }
        pages = {
            f"{origin}{path}": self.filled(steps)
            for origin in self.origins.values()
            for path, steps in scenario.pages.items()
        }
        return kinds.Script(pages=pages, answers=answers, overrides=scenario.overrides)


def _source(path: str, steps: Sequence[kinds.Step]) -> str:
    """The document at a path, or the script of a worker."""
    script = "".join(map(script_of, steps))
    if path.endswith(".js"):
        return script
    return f"<!doctype html><body><script>{script}</script>" if steps else "<!doctype html><body>"


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    server = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("site_server.py"))], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with server:
        yield Site(server)


@contextlib.asynccontextmanager
async def real_browser(url: str, number: int = 0) -> AsyncIterator[RealBrowser]:
    async with trio.open_nursery() as nursery:
        browser = RealBrowser(url, nursery, number)
        try:
            yield browser
        finally:
            await browser.leave_all()


async def run_real(scenario: Scenario, url: str, site: Site, number: int) -> Told:
    await clean(url)
    async with real_browser(url, number) as browser:
        return await perform(scenario.acts, browser, site.filled)


async def clean(url: str) -> None:
    """Leave the browser as it was: one empty page."""
    tidy = Scenario("tidy")
    async with real_browser(url) as browser:
        await browser.connect("A")

        async def ask(method: str, params: Json | None = None) -> Json:
            tidy.send(method, params)
            act = tidy.acts[-1]
            assert isinstance(act, Send)
            await _send(act, browser, lambda value: value)
            return browser.told.messages[max(browser.told.taken)][1].get("result", {})

        for context in (await ask("Target.getBrowserContexts"))["browserContextIds"]:
            await ask("Target.disposeBrowserContext", {"browserContextId": context})
        while True:
            infos = (await ask("Target.getTargets"))["targetInfos"]
            left = [info for info in infos if info["type"] == "page"]
            empty = [info for info in left if info["url"] == "about:blank" and not info["attached"]]
            if len(left) == 1 and empty:
                return
            if not empty:
                await ask("Target.createTarget", {"url": "about:blank"})
            for info in left:
                if info not in empty[:1]:
                    await ask("Target.closeTarget", {"targetId": info["targetId"]})
            await trio.sleep(0.01)


Run = Callable[[Scenario, int], Awaitable[Told]]
"""One run of Chromium, by its number."""


async def judge(scenario: Scenario, site: Site, run: Run, profile: Profile = "headless-new") -> None:
    """Compare, with as many runs of Chromium as it takes until nothing is left, and at most `RUNS`."""
    made_up = await perform(
        scenario.acts, MadeUpBrowser(FakeBrowser(site.script(scenario), profile=profile)), site.filled
    )
    mine = comparable(made_up, site.origins)
    seen: list[list[Message]] = []
    left: list[str] = []
    learned: list[str] = []
    for number in range(RUNS):
        site.serve(scenario.pages, number // 2 if number >= PROMPT_RUNS and number % 2 == 0 else 0)
        told = await run(scenario, number)
        if told.problem:
            left = [f"in Chromium, {told.problem}"]
        else:
            seen.append(comparable(told, site.origins))
            left = deviations(seen, mine, made_up.free)
        if not left:
            break
        learned += [f"after {number + 1} runs:", *left]
    first = seen[0] if seen else comparable(told, site.origins)
    listing = "\n".join(["", "Chromium:", *map(str, first), "", "the fake:", *map(str, mine), "", *learned, ""])
    sys.stdout.write(listing)  # shown for a failure, and by `pytest -rP`
    if made_up.problem:
        left.insert(0, f"on the fake, {made_up.problem}")
    if left:
        pytest.fail("\n".join(left), pytrace=False)


@pytest.fixture
async def scenario(request: pytest.FixtureRequest, shared_chromium: Any, launch: Any, site: Site) -> Scenario:
    """A scenario to be told; its page label is the test's name."""

    async def run(scenario: Scenario, number: int) -> Told:
        with contextlib.nullcontext(shared_chromium) if number < 2 else launch() as chromium:
            return await run_real(scenario, chromium.url, site, number)

    return Scenario(request.node.name, lambda told: judge(told, site, run))


@pytest.fixture
async def last_scenario(request: pytest.FixtureRequest, launch: Any, site: Site) -> Scenario:
    """A scenario that ends its browser: each run has its own."""

    async def run(scenario: Scenario, number: int) -> Told:
        with launch() as chromium:
            return await run_real(scenario, chromium.url, site, number)

    return Scenario(request.node.name, lambda told: judge(told, site, run))


@pytest.fixture(scope="session")
def comparison() -> ModuleType:
    """This module, for the test of the comparison itself: test modules import from none (importlib mode)."""
    return sys.modules[__name__]


@pytest.fixture(scope="session")
def shell() -> str:
    """The path of headless-shell; without one the test is skipped, or, where CI is set, fails."""
    found = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chrome-headless-shell"))), None)
    if found is None and os.environ.get("CI"):
        pytest.fail("headless-shell is not installed; CI is set, so the tests against it must run", pytrace=False)
    if found is None:
        pytest.skip("headless-shell is not installed (Debian: chromium-headless-shell)")
    return found


@pytest.fixture(scope="module")
def shared_shell(shell: str, launch: Any) -> Iterator[Any]:
    with launch(program=shell) as browser:
        yield browser


@pytest.fixture
async def shell_scenario(
    request: pytest.FixtureRequest, shell: str, shared_shell: Any, launch: Any, site: Site
) -> Scenario:
    """A scenario for headless-shell, and for a fake that says that it is one."""

    async def run(scenario: Scenario, number: int) -> Told:
        with contextlib.nullcontext(shared_shell) if number < 2 else launch(program=shell) as browser:
            return await run_real(scenario, browser.url, site, number)

    return Scenario(request.node.name, lambda told: judge(told, site, run, "headless-shell"))


@pytest.fixture
async def last_shell_scenario(request: pytest.FixtureRequest, shell: str, launch: Any, site: Site) -> Scenario:
    """A scenario whose page headless-shell cannot close without ending: each run has its own."""

    async def run(scenario: Scenario, number: int) -> Told:
        with launch(program=shell) as browser:
            return await run_real(scenario, browser.url, site, number)

    return Scenario(request.node.name, lambda told: judge(told, site, run, "headless-shell"))
