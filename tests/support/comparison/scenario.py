"""A scenario: one list of client commands as a value, and the JavaScript of each step of a page."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import attrs

from cdp_core.testing import steps as kinds

Json = dict[str, Any]


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
    """Wait until no more messages arrive."""


@attrs.frozen(kw_only=True)
class Connect:
    client: str


@attrs.frozen(kw_only=True)
class Leave:
    client: str


@attrs.frozen(kw_only=True)
class Ends:
    """Wait until the browser ends this connection."""

    client: str


Act = Send | Raw | Expect | Settle | Connect | Leave | Ends


class Scenario:
    """Pages and commands of a test; its methods append acts, `conforms` runs them on both browsers.

    Labels name sessions, targets and contexts: `$target.p` in params is the target `p`.
    """

    def __init__(self, name: str, judge: Callable[[Scenario], Awaitable[None]] | None = None) -> None:
        self.name = name
        self.acts: list[Act] = [Connect(client="A")]
        self.pages: dict[str, tuple[kinds.Step, ...]] = {}
        self.answers: dict[str, tuple[kinds.Step, ...]] = {}
        self.overrides: dict[str, kinds.Override] = {}
        """How init scripts replace dialogs, by a text that the script's source contains."""
        self._judge = judge
        self._ids = 0

    # ── the pages ────────────────────────────────────────────────────────────────────────────────────────────────────

    def page(self, path: str, *steps: kinds.Step) -> None:
        """Set the steps of the document at a path, on both sites."""
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
        """Send a command, and wait for its reply unless `wait` is false. `save` labels a member of the result."""
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
        """Send a text unchanged, and wait for as many messages as `replies`."""
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
        """Wait for an event that no earlier `expect` consumed."""
        self.acts.append(Expect(client=client, on=on, method=method, where=where or {}, save=save or {}))

    def settle(self) -> None:
        """Wait until no more messages arrive."""
        self.acts.append(Settle())

    def connect(self, client: str) -> None:
        """Connect another client."""
        self.acts.append(Connect(client=client))

    def leave(self, client: str) -> None:
        """Disconnect a client."""
        self.acts.append(Leave(client=client))

    def ends(self, client: str = "A") -> None:
        """Wait until the browser ends the connection."""
        self.acts.append(Ends(client=client))

    # ── common sequences ─────────────────────────────────────────────────────────────────────────────────────────────

    def open(
        self, label: str, url: str = "", *, enable: Sequence[str] = ("Page",), client: str = "A", context: str = ""
    ) -> None:
        """Create a page with a session, enable the domains, then navigate to the URL."""
        where = {"browserContextId": f"$context.{context}"} if context else {}
        self.send(
            "Target.createTarget",
            {"url": "about:blank", **where},
            client=client,
            save={f"target.{label}": "targetId"},
        )
        self.settle()  # otherwise chance decides which sessions see the empty document finish loading
        self.attach(label, client=client, enable=enable)
        if url:
            self.go(url, on=label, client=client)
        else:
            self.settle()

    def attach(
        self, label: str, target: str = "", *, client: str = "A", enable: Sequence[str] = (), on: str = "browser"
    ) -> None:
        """Attach a session, labelled like its target unless `target` names another one."""
        params = {"targetId": f"$target.{target or label}", "flatten": True}
        self.send("Target.attachToTarget", params, on=on, client=client, save={f"session.{label}": "sessionId"})
        for domain in enable:
            self.send(f"{domain}.enable", on=label, client=client)

    def auto_attach(self, *, on: str = "browser", wait: bool = False, client: str = "A", **params: Any) -> None:
        """Enable auto-attach with flat sessions."""
        given = {"autoAttach": True, "waitForDebuggerOnStart": wait, "flatten": True, **params}
        self.send("Target.setAutoAttach", given, on=on, client=client)

    def go(self, url: str, *, on: str, client: str = "A") -> None:
        """Navigate, and wait until no more messages arrive."""
        self.send("Page.navigate", {"url": url}, on=on, client=client)
        self.settle()

    def evaluate(self, expression: str, *, on: str, client: str = "A", wait: bool = True, **params: Any) -> None:
        """Send `Runtime.evaluate`."""
        self.send("Runtime.evaluate", {"expression": expression, **params}, on=on, client=client, wait=wait)

    def act(self, *steps: kinds.Step, on: str, client: str = "A", wait: bool = True) -> None:
        """Let a page perform steps, by an expression that performs them."""
        expression = f"{{{''.join(map(script_of, steps))}}};void 0"
        self.answers[expression] = steps
        gesture = {"userGesture": True} if any(isinstance(step, kinds.Popup) for step in steps) else {}
        self.evaluate(expression, on=on, client=client, wait=wait, **gesture)
        if wait:
            self.settle()

    async def conforms(self) -> None:
        """Run the scenario on both browsers, and fail with the fake's deviations."""
        assert self._judge is not None
        await self._judge(self)


def script_of(step: kinds.Step) -> str:
    """Return the JavaScript that performs a step."""
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
    raise TypeError(f"script_of has no JavaScript for {step!r}")


def quoted(text: str) -> str:
    return json.dumps(text).replace("</", "<\\/")
