"""The warnings of this library, shown at the line of its caller."""

from __future__ import annotations

import sys
import warnings
from typing import Final

from cdp_core.errors import CdpWarning

INNER: Final = ("cdp_core", "cdp_supervisor", "contextlib", "trio")
"""Packages whose frames are not the caller's."""


def warn(text: str) -> None:
    """Issue a CdpWarning at the innermost frame outside this library."""
    level = 2
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] - as `warnings` itself does
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in INNER:
        frame = frame.f_back
        level += 1
    warnings.warn(text, CdpWarning, stacklevel=level)
