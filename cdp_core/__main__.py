"""`python -m cdp_core demo`: run the engine on a fake browser in memory."""

from __future__ import annotations

import argparse

import trio

from cdp_core.demo import run_demo


def main() -> None:
    """Parse the command line and run its command."""
    parser = argparse.ArgumentParser(prog="python -m cdp_core", description="The Chrome DevTools Protocol engine.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("demo", help="run the engine on a fake browser in memory and print every message")
    parser.parse_args()
    trio.run(run_demo)


if __name__ == "__main__":
    main()
