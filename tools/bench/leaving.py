"""How a measuring process ends: at once, with its result or with its error, never by unwinding.

Taking a client apart is not measured, and may hang; a client that failed half-way may hang for certain, or hide the first
error behind a second one.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Mapping
from typing import NoReturn


def with_result(measured: Mapping[str, float]) -> NoReturn:
    """Print the result, which the runner takes from the last line, and end."""
    print(json.dumps(measured), flush=True)
    os._exit(0)


def with_error(reason: str = "") -> NoReturn:
    """Print the reason, or the exception that is being handled, and end."""
    if reason:
        print(reason, file=sys.stderr)
    else:
        # Not by print_exc: an old trio has its own idea of how exceptions are printed, and breaks on it.
        kind, error, where = sys.exc_info()
        traceback.print_tb(where)
        print(f"{kind.__name__ if kind else None}: {error}", file=sys.stderr)
    sys.stderr.flush()
    os._exit(1)
