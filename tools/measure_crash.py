"""Measure which commands Chromium answers on a crashed page, and write the table of them.

    python tools/measure_crash.py http://127.0.0.1:9222          # writes cdp_core/sansio/crash_table.py
    python tools/measure_crash.py http://127.0.0.1:9222 --check  # writes nothing; 1 if an answered command is missing

Every command of the browser's own protocol description is sent with the smallest params that it takes. Commands that
bring the page back, or close it, get a crashed page each. ENDS_BROWSER is not sent: each of those aborts the browser.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import trio
from trio_websocket import WebSocketConnection, open_websocket_url

from cdp_core.sansio.crash_table import ANSWERED

TABLE = Path(__file__).resolve().parent.parent / "cdp_core" / "sansio" / "crash_table.py"
ENDS_BROWSER = (
    "Input.synthesizePinchGesture",
    "Input.synthesizeScrollGesture",
    "Input.synthesizeTapGesture",
    "Page.printToPDF",
)
"""Found by hand, each on a browser of its own."""
SKIPPED = ("Browser.close", "Browser.crash", "Browser.crashGpuProcess", "Page.crash")
ANSWERED_IF_WRONG = ("Debugger.setBreakpointByUrl",)
"""Answered only because the smallest params are refused; with right ones nothing answers."""
ALONE = (
    "Page.close",
    "Page.navigate",
    "Page.navigateToHistoryEntry",
    "Page.reload",
    "Page.stopLoading",
    "Target.closeTarget",
    "Target.detachFromTarget",
)
"""Commands that bring the page back, close it or end the session."""
SETTLE = 3.0
"""Seconds; a command without a reply for so long after the last reply is one for the renderer."""


def smallest(protocol: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every command with the smallest params that its description allows."""
    types = {
        f"{domain['domain']}.{each['id']}": each for domain in protocol["domains"] for each in domain.get("types", ())
    }

    def value(described: Mapping[str, Any], domain: str, depth: int = 0) -> Any:
        if "$ref" in described:
            name = described["$ref"] if "." in described["$ref"] else f"{domain}.{described['$ref']}"
            return value(types[name], name.partition(".")[0], depth + 1)
        if "enum" in described:
            return described["enum"][0]
        if described["type"] == "object" and depth < 8:
            return params(described.get("properties", ()), domain, depth)
        return {"string": "x", "integer": 1, "number": 1, "boolean": True, "array": []}.get(described["type"], {})

    def params(described: Iterable[Mapping[str, Any]], domain: str, depth: int = 0) -> dict[str, Any]:
        return {each["name"]: value(each, domain, depth) for each in described if not each.get("optional")}

    for domain in protocol["domains"]:
        for command in domain["commands"]:
            yield f"{domain['domain']}.{command['name']}", params(command.get("parameters", ()), domain["domain"])


class Browser:
    """A raw connection: this project's own client does not send what it knows to be lost."""

    def __init__(self, connection: WebSocketConnection) -> None:
        self._connection = connection
        self._last = 0
        self.seen: list[dict[str, Any]] = []

    async def send(self, method: str, params: Mapping[str, Any], session: str = "") -> int:
        self._last += 1
        message = {"id": self._last, "method": method, "params": params, **({"sessionId": session} if session else {})}
        await self._connection.send_message(json.dumps(message))
        return self._last

    async def until(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """Receive until a message has these members, and return it."""
        while True:
            message = json.loads(await self._connection.get_message())
            self.seen.append(message)
            if all(message.get(name) == wanted for name, wanted in found.items()):
                return message

    async def crashed_page(self) -> tuple[str, str]:
        """Return the target and the session of a new page that has crashed."""
        number = await self.send("Target.createTarget", {"url": "about:blank"})
        target = (await self.until({"id": number}))["result"]["targetId"]
        number = await self.send("Target.attachToTarget", {"targetId": target, "flatten": True})
        session = (await self.until({"id": number}))["result"]["sessionId"]
        number = await self.send("Runtime.evaluate", {"expression": "1"}, session)
        await self.until({"id": number})
        await self.send("Page.crash", {}, session)
        await self.until({"method": "Inspector.targetCrashed", "sessionId": session})
        return target, session

    async def answered(self, commands: Iterable[tuple[str, Mapping[str, Any]]]) -> set[str]:
        """Send commands to one crashed page, and return those that get a reply."""
        target, session = await self.crashed_page()
        sent: dict[int, str] = {}
        for method, params in commands:
            own = {name: target if name == "targetId" else value for name, value in params.items()}
            sent[await self.send(method, own, session)] = method
        replied: set[str] = set()
        while True:
            with trio.move_on_after(SETTLE) as silence:
                message = await self.until({})
                replied.update(method for number, method in sent.items() if number == message.get("id"))
            if silence.cancelled_caught:
                return replied


async def measure(address: str) -> tuple[set[str], int]:
    """Return the commands that the browser answers, and how many were sent."""
    with urllib.request.urlopen(f"{address}/json/protocol") as reply:  # noqa: ASYNC210 - an address of the caller
        commands = dict(smallest(json.load(reply)))
    with urllib.request.urlopen(f"{address}/json/version") as reply:  # noqa: ASYNC210
        browser = json.load(reply)
    together = {
        name: params
        for name, params in commands.items()
        if name not in (*ENDS_BROWSER, *SKIPPED, *ANSWERED_IF_WRONG, *ALONE)
    }
    async with open_websocket_url(browser["webSocketDebuggerUrl"], max_message_size=1 << 28) as connection:
        raw = Browser(connection)
        found = await raw.answered(together.items())
        for method in ALONE:
            if method in commands and await raw.answered([(method, commands[method])]):
                found.add(method)
    return found, len(together) + len(ALONE)


def write(found: set[str]) -> str:
    """Return the text of the table."""
    domains: dict[str, list[str]] = {}
    for method in sorted(found):
        domain, _, name = method.partition(".")
        domains.setdefault(domain, []).append(name)
    lines: list[str] = []
    for domain, names in domains.items():
        first = f'    "{domain}": '
        parts = textwrap.wrap(" ".join(names), 116 - len(first), break_on_hyphens=False)
        if len(parts) == 1:
            lines.append(f'{first}"{parts[0]}",')
        else:
            lines.append(f"{first}(")
            parts = textwrap.wrap(" ".join(names), 106)
            lines += [f'        "{part} "' for part in parts[:-1]] + [f'        "{parts[-1]}"', "    ),"]
    return TEXT.format(table="\n".join(lines), ends=", ".join(f'"{each}"' for each in ENDS_BROWSER))


TEXT = '''"""The commands that the browser process answers on the session of a crashed page.

Written by tools/measure_crash.py, from Chromium 156 (fact 74); every other command needs the renderer.
"""

from __future__ import annotations

from typing import Final

_ANSWERED: Final = {{
{table}
}}
"""Domain → names of its commands."""

ANSWERED: Final = frozenset(f"{{domain}}.{{name}}" for domain, names in _ANSWERED.items() for name in names.split())
CARRIED_OUT: Final = frozenset(("Target.closeTarget",))
"""Commands that are carried out and end the session, so that their reply may not come."""
ENDS_BROWSER: Final = frozenset(({ends}))
"""Commands that abort the whole browser when their page has crashed."""
'''


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the commands that a crashed page answers.")
    parser.add_argument("address", help="the browser's HTTP address, such as http://127.0.0.1:9222")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if an answered command is missing")
    options = parser.parse_args()
    found, sent = trio.run(measure, options.address.rstrip("/"))
    print(f"{len(found)} of {sent} commands are answered on a crashed page")
    if options.check:
        missing = sorted(ANSWERED - found)
        print(f"not answered now: {', '.join(missing) or 'none'}")
        return 1 if missing else 0
    TABLE.write_text(write(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
