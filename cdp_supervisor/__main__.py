"""The command line `python -m cdp_supervisor`: `demo` and `watch ADDRESS`.

`demo` runs on the embedded fake browser; `watch` prints the changes of a running browser.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from typing import Final

import trio

from cdp_core import CdpError
from cdp_supervisor.demo import run_demo
from cdp_supervisor.opening import open_supervisor
from cdp_supervisor.sansio.options import Scope
from cdp_supervisor.watching import print_changes


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m cdp_supervisor", description="A supervisor for whole browsers.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("demo", help="dialogs, frames and a broken link on the embedded fake browser")
    watching = commands.add_parser("watch", help="print what happens in a running browser, until Ctrl-C")
    watching.add_argument("address", help="ws://…, http://host:port, host:port, or a DevToolsActivePort file")
    watching.add_argument(
        "--answer", action="store_true", help="dismiss each dialog that is not answered within 5 minutes"
    )
    options = parser.parse_args(arguments)
    if options.command == "demo":
        trio.run(run_demo)
        return 0
    try:
        trio.run(partial(_watch, options.address, observing=not options.answer))
    except KeyboardInterrupt:
        return 0
    except CdpError as error:
        print(f"cdp_supervisor: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


START_TIMEOUT: Final = 3.0
"""Seconds to wait for the browser: a person who gave a wrong address wants to know soon."""


async def _watch(address: str, *, observing: bool) -> None:
    scope = Scope.browser().observed() if observing else Scope.browser()
    async with open_supervisor(address, scope=scope, start_timeout=START_TIMEOUT) as supervisor:
        for page in supervisor.snapshot().pages:
            _print_line(f"page {page.target_id[:8]}  {page.url}  {page.frame_count} frames  {page.health.state}")
        await print_changes(supervisor, _print_line)


def _print_line(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
