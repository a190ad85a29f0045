"""`python -m cdp_core demo`: see the engine at work, without a browser."""

from __future__ import annotations

import argparse

import trio

from cdp_core.demo import run_demo


def main() -> None:
    """Run the command that was named."""
    parser = argparse.ArgumentParser(prog="python -m cdp_core", description="The Chrome DevTools Protocol engine.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("demo", help="the engine against a small browser in memory, every message shown")
    parser.parse_args()
    trio.run(run_demo)


if __name__ == "__main__":
    main()
