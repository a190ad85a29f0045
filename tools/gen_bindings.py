"""Write `cdp_core/bindings/`: one module and one stub for each domain of the protocol.

    python tools/gen_bindings.py                        # the pinned version of the npm package devtools-protocol
    python tools/gen_bindings.py --check                # write nothing; print what would differ, and exit with 1
    python tools/gen_bindings.py --version 0.0.1734725  # another version, or a tag of npm such as latest
    python tools/gen_bindings.py browser_protocol.json js_protocol.json
    python tools/gen_bindings.py http://127.0.0.1:9222  # the protocol that a running browser serves at /json/protocol
    python tools/gen_bindings.py vendor.json --package my_vendor.cdp --domains Vendor    # domains of another package

Exits with 2 and one line on an error, and has written nothing then. The generator is `cdp_core/bindings/_generate.py`,
which an installation contains too: `python -m cdp_core.bindings generate`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
BINDINGS = ROOT / "cdp_core" / "bindings"

if not (BINDINGS / "_version.py").exists():
    # The package imports a module that this script writes; before the first run it does not exist.
    placeholder = ModuleType("cdp_core.bindings._version")
    vars(placeholder).update(PROTOCOL="nothing yet", MODULES={}, EVENTS=frozenset())
    sys.modules[placeholder.__name__] = placeholder

from cdp_core.bindings._generate import add_options, generate  # noqa: E402
from cdp_core.errors import CdpError  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the bindings of a protocol description.")
    add_options(parser, own=True)
    try:
        return generate(parser.parse_args(), own=BINDINGS, again="tools/gen_bindings.py")
    except CdpError as error:
        print(f"gen_bindings: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
