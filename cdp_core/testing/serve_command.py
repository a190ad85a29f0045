"""`python -m cdp_core.testing serve`: a fake browser for clients in any language.

    python -m cdp_core.testing serve --script shop.json --port 9222

It prints its ws:// address and nothing else, and serves until the browser is closed, or until SIGINT or SIGTERM; the exit
code is 0. With `--pipe` it prints nothing and uses its descriptors 3 and 4, so that it can be started in place of a
browser. With `--control` it stays after a client closed the browser, and `/fake/verdict` shows what was left behind.

An error is one line on standard error, with the exit code 2.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final, NoReturn

import trio

from cdp_core.errors import CdpError, InvalidArgument
from cdp_core.nurseries import background_tasks
from cdp_core.testing.endpoint import open_server
from cdp_core.testing.fake.browser import FakeBrowser
from cdp_core.testing.fake.delivery_order import Edges
from cdp_core.testing.fake.world import PROFILES
from cdp_core.testing.pipe import COMMANDS_FD, MESSAGES_FD, serve_pipe
from cdp_core.testing.schedules import Schedule
from cdp_core.testing.served_client import Order
from cdp_core.testing.steps import Script

PROGRAM: Final = "cdp_core.testing"
SCHEDULES: Final = "observed, hostile, or a FILE with a schedule"
EDGES_OF: Final[dict[str, Edges]] = {"observed": "observed", "hostile": "causal"}
"""The edges for each name of `--schedule`: the orders that Chromium was seen to send, or all that causes allow."""
ORDER_OF: Final[dict[Edges, Order]] = {"observed": "observed", "causal": "hostile"}


class OneLineParser(argparse.ArgumentParser):
    """An argument parser that prints an error as one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{PROGRAM}: {message}; see {self.prog} --help.\n")


def add_serve(commands: argparse._SubParsersAction[OneLineParser]) -> None:
    """Add the parser of `serve`."""
    parser = commands.add_parser("serve", help="serve a fake browser at a ws:// address, or over a pipe")
    parser.add_argument("--port", type=int, help="listen on this port; default: any free port")
    parser.add_argument("--script", metavar="FILE", help="a script, as JSON: what the pages do")
    parser.add_argument(
        "--profile", choices=PROFILES, default="headless-new", help="the browser to model (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="the seed of ids and random choices (%(default)s)")
    parser.add_argument("--schedule", metavar="HOW", help=f"{SCHEDULES}; default: send messages in order of creation")
    way = parser.add_mutually_exclusive_group()
    way.add_argument(
        "--pipe",
        "--remote-debugging-pipe",
        action="store_true",
        help="use descriptors 3 and 4, in place of a browser",
    )
    way.add_argument("--control", action="store_true", help="serve /fake/truth, commands, verdict, play and advance")
    parser.set_defaults(run=run_serve)


def run_serve(options: argparse.Namespace) -> int:
    """Serve until the end; return the exit code."""
    try:
        edges, schedule = read_schedule(options.schedule)
        script = _read_script(options.script)
        fake = FakeBrowser(script, profile=options.profile, seed=options.seed, schedule=schedule)
        options.order = "arising" if schedule is not None or edges is None else ORDER_OF[edges]
        if options.pipe:
            _check_pipe(options)
        trio.run(_serve, fake, options)
    except (CdpError, _Trouble) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)  # noqa: T201
        return 2
    return 0


class _Trouble(Exception):
    """The command cannot be carried out; the text is the line to print."""


def _read_script(name: str | None) -> Script | None:
    if name is None:
        return None
    try:
        text = Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise _Trouble(f"the script {name!r} cannot be read ({error.strerror}); give another file.") from None
    except ValueError:  # not UTF-8, or a NUL in its name
        raise _Trouble(f"the script {name!r} is not UTF-8 text; a script is JSON (Script.to_json).") from None
    return Script.from_json(text)


def read_schedule(how: str | None) -> tuple[Edges | None, Schedule | None]:
    """Read the value of `--schedule`: the edges, and the schedule if it names a file.

    Raises InvalidArgument.
    """
    if how is None or how in EDGES_OF:
        return None if how is None else EDGES_OF[how], None
    try:
        schedule = Schedule.from_json(Path(how).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidArgument(f"{how!r} is not a schedule ({error.strerror}); give {SCHEDULES}.") from None
    except UnicodeDecodeError:
        raise InvalidArgument(f"{how!r} is not UTF-8 text; a schedule is JSON (Schedule.to_json).") from None
    return schedule.edges, schedule


def _check_pipe(options: argparse.Namespace) -> None:
    """Check the descriptors before trio opens some of its own, which would get the same numbers."""
    if options.port is not None:
        raise _Trouble("--pipe and --port exclude each other; leave one of them out.")
    for descriptor in (COMMANDS_FD, MESSAGES_FD):
        try:
            os.fstat(descriptor)
        except OSError:
            raise _Trouble(
                f"descriptor {descriptor} is not open; start this command as you start a browser with a pipe."
            ) from None


async def _serve(fake: FakeBrowser, options: argparse.Namespace) -> None:
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with background_tasks() as nursery:
            with trio.CancelScope() as serving:
                nursery.start_soon(_end_at_signal, signals, serving)
                if options.pipe:
                    await serve_pipe(fake, order=options.order)
                else:
                    await _serve_port(fake, options)


async def _end_at_signal(signals: AsyncIterator[int], serving: trio.CancelScope) -> None:
    await signals.__anext__()
    serving.cancel()


async def _serve_port(fake: FakeBrowser, options: argparse.Namespace) -> None:
    async with AsyncExitStack() as open_until_end:
        try:
            opened = open_server(fake, port=options.port or 0, control=options.control, order=options.order)
            server = await open_until_end.enter_async_context(opened)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise _Trouble(
                f"port {options.port} cannot be used ({reason}); give another port, or none for any free port."
            ) from None
        print(server.endpoint.ws_url, flush=True)  # noqa: T201
        if options.control:
            await trio.sleep_forever()
        await server.wait_ended()
