"""`python -m cdp_core.testing serve`: a fake browser for clients in any language.

    python -m cdp_core.testing serve --script shop.json --port 9222

It prints its ws:// address, and nothing else, and serves until the browser is closed, or SIGINT or SIGTERM comes: the end
is 0. With `--pipe` it prints nothing and speaks over its descriptors 3 and 4, so it can be started in place of a browser.
With `--control` it stays when a client closes the browser, and tells afterwards how it was left.

What is wrong is said in one line on standard error, and the end is 2.
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
"""What may cross over: what Chromium was seen to do, or all that causes allow."""
ORDER_OF: Final[dict[Edges, Order]] = {"observed": "observed", "causal": "hostile"}


class OneLineParser(argparse.ArgumentParser):
    """Says what is wrong with arguments in one line."""

    def error(self, message: str) -> NoReturn:
        """End with 2."""
        self.exit(2, f"{PROGRAM}: {message}; see {self.prog} --help.\n")


def add_serve(commands: argparse._SubParsersAction[OneLineParser]) -> None:
    """The arguments of `serve`."""
    parser = commands.add_parser("serve", help="serve a fake browser at a ws:// address, or over a pipe")
    parser.add_argument("--port", type=int, help="on this port; default: any that is free")
    parser.add_argument("--script", metavar="FILE", help="what its pages do, as JSON")
    parser.add_argument("--profile", choices=PROFILES, default="headless-new", help="which browser it is like")
    parser.add_argument("--seed", type=int, default=0, help="what its ids, and chance, are made of")
    parser.add_argument("--schedule", metavar="HOW", help=f"{SCHEDULES}; default: as they arise")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--pipe", action="store_true", help="over descriptors 3 and 4, in place of a browser")
    way.add_argument("--control", action="store_true", help="with /fake/truth, commands, verdict, play and advance")
    parser.set_defaults(run=run_serve)


def run_serve(options: argparse.Namespace) -> int:
    """Serve; the result is the exit code."""
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
    """Something is wrong; the text is the one line that says what."""


def _read_script(name: str | None) -> Script | None:
    if name is None:
        return None
    try:
        text = Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise _Trouble(f"{name!r} cannot be read ({error.strerror}).") from None
    except ValueError:  # not UTF-8, or a NUL in its name
        raise _Trouble(f"{name!r} is no text in UTF-8.") from None
    return Script.from_json(text)


def read_schedule(how: str | None) -> tuple[Edges | None, Schedule | None]:
    """What `--schedule` says, of this command and of `fuzz`: which edges, and the turns of a file. Raises InvalidArgument."""
    if how is None or how in EDGES_OF:
        return None if how is None else EDGES_OF[how], None
    try:
        schedule = Schedule.from_json(Path(how).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidArgument(f"{how!r} is no schedule ({error.strerror}); there are {SCHEDULES}.") from None
    except UnicodeDecodeError:
        raise InvalidArgument(f"{how!r} is no text in UTF-8; a schedule is JSON (Schedule.to_json).") from None
    return schedule.edges, schedule


def _check_pipe(options: argparse.Namespace) -> None:
    """Before trio opens descriptors of its own, which would get these numbers."""
    if options.port is not None:
        raise _Trouble("--pipe has no port; leave --port out, or --pipe.")
    for descriptor in (COMMANDS_FD, MESSAGES_FD):
        try:
            os.fstat(descriptor)
        except OSError:
            raise _Trouble(f"descriptor {descriptor} is not open; start it as a browser with a pipe is.") from None


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
                f"port {options.port} cannot be had ({reason}); give another, or none for any that is free."
            ) from None
        print(server.endpoint.ws_url, flush=True)  # noqa: T201
        if options.control:
            await trio.sleep_forever()
        await server.wait_ended()
