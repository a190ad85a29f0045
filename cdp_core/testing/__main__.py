"""`python -m cdp_core.testing`: the commands `serve` (serve_command.py) and `fuzz` (fuzz/command.py)."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cdp_core.testing.fuzz.command import add_fuzz
from cdp_core.testing.serve_command import OneLineParser, add_serve


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name; return the exit code."""
    parser = OneLineParser(prog="python -m cdp_core.testing", description="A fake browser for testing CDP clients.")
    commands = parser.add_subparsers(required=True, metavar="{serve,fuzz}", parser_class=OneLineParser)
    add_serve(commands)
    add_fuzz(commands)
    options = parser.parse_args(arguments)
    code: int = options.run(options)
    return code


if __name__ == "__main__":
    sys.exit(main())
