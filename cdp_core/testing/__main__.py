"""`python -m cdp_core.testing serve` and `fuzz`: see `serve_command` and `fuzz_command`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cdp_core.testing.fuzz.command import add_fuzz
from cdp_core.testing.serve_command import OneLineParser, add_serve


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that was named; the result is the exit code."""
    parser = OneLineParser(prog="python -m cdp_core.testing", description="A fake browser, to test clients with.")
    commands = parser.add_subparsers(required=True, metavar="{serve,fuzz}", parser_class=OneLineParser)
    add_serve(commands)
    add_fuzz(commands)
    options = parser.parse_args(arguments)
    code: int = options.run(options)
    return code


if __name__ == "__main__":
    sys.exit(main())
