"""End a measuring process immediately, with its result or its error, without unwinding.

Closing a client is not measured and can hang. Closing a client that failed half-way can also hide the first error
behind a second one.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Mapping
from typing import NoReturn


def with_result(measured: Mapping[str, float]) -> NoReturn:
    """Print the result, which the runner reads from the last line, and exit with 0."""
    print(json.dumps(measured), flush=True)
    os._exit(0)


def with_error(reason: str = "") -> NoReturn:
    """Print the reason, or the current exception, and exit with 1."""
    if reason:
        print(reason, file=sys.stderr)
    else:
        # Not with print_exc: an old trio overrides the printing of exceptions, and fails in it.
        kind, error, where = sys.exc_info()
        traceback.print_tb(where)
        print(f"{kind.__name__ if kind else None}: {error}", file=sys.stderr)
    sys.stderr.flush()
    os._exit(1)
