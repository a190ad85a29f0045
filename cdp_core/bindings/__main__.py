"""The commands `diff` and `generate`.

`python -m cdp_core.bindings diff WHERE`: list the differences between the bindings and a browser, or a protocol file.
WHERE is a ws:// or http:// address, host:port, a DevToolsActivePort file or its folder, or one or more JSON files. The
exit code is 0 without a difference, 1 with differences, and 2, with one line on stderr, if there was no comparison.

`python -m cdp_core.bindings generate SOURCE --package NAME`: write bindings of other domains; see `_generate.py`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from cdp_core.bindings._catalog import domain_named, domain_names
from cdp_core.bindings._description import load_description
from cdp_core.bindings._diff import compare
from cdp_core.bindings._generate import add_options, generate
from cdp_core.bindings._tables import read_protocol
from cdp_core.bindings._version import PROTOCOL
from cdp_core.errors import CdpError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m cdp_core.bindings", description=f"Bindings of {PROTOCOL}.")
    commands = parser.add_subparsers(required=True, metavar="diff | generate")
    comparing = commands.add_parser("diff", help="compare the bindings with a browser or a protocol file")
    comparing.add_argument("where", nargs="+", help="a browser's address, or protocol files")
    comparing.set_defaults(act=_diff)
    writing = commands.add_parser("generate", help="write bindings for domains of another package")
    add_options(writing, own=False)
    writing.set_defaults(act=generate)
    options = parser.parse_args(arguments)
    try:
        code: int = options.act(options)
    except CdpError as error:
        print(f"cdp_core.bindings: {error}", file=sys.stderr)  # noqa: T201
        return 2
    return code


def _diff(options: argparse.Namespace) -> int:
    described = [load_description(where) for where in options.where]
    theirs = read_protocol(*described)
    ours = {name: domain.table for name in domain_names() if (domain := domain_named(name)) is not None}
    differences = list(compare(ours, theirs))
    for difference in differences:
        print(difference)  # noqa: T201
    where = " and ".join(name for name, _ in described)
    summary = f"{len(differences) or 'no'} difference{'s' if len(differences) > 1 else ''}"
    print(f"{summary} between {where} (+) and the bindings of {PROTOCOL} (-)")  # noqa: T201
    return 1 if differences else 0


if __name__ == "__main__":
    if isinstance(sys.stdout, TextIOWrapper):
        # A terminal may lack the arrow, and no encoding has the lone surrogates that a file name may contain.
        sys.stdout.reconfigure(errors="backslashreplace")  # pyright: ignore[reportUnknownMemberType]
    sys.exit(main())
