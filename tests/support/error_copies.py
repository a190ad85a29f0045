"""The ways in which an error is copied: each must give an equal error."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

from cdp_core import CdpError

TRIPS: dict[str, Callable[[CdpError], CdpError]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{
        f"pickle {protocol}": lambda error, protocol=protocol: pickle.loads(pickle.dumps(error, protocol))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    },
}
