"""One run of one contender, as the runner orders it and the adapters read it.

A job travels as JSON on the command line of a fresh process, so that no contender inherits caches, memory or garbage of
another. It says where the endpoint is and how much to do, never how: the way of doing it is what differs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

FAKE_TARGET = "T1"


@dataclass
class Job:
    """What one process has to measure. `k` is the number of flat sessions (0 means: one is opened, events carry none).

    Under trio, `nursery` is for libraries that ask for one, `start_soon` for the adapter's own tasks: an error in one of
    these is the run's.
    """

    workload: str
    ws: str
    http: str
    n: int = 1
    k: int = 1
    shape: str = "network"
    width: int = 1
    mb: float = 0
    real: bool = False
    targets: list[str] = field(default_factory=list)
    timeout: float = 60.0
    nursery: Any = None
    start_soon: Any = None

    @classmethod
    def from_json(cls, text: str) -> Job:
        """Read a job from the command line."""
        return cls(**json.loads(text))

    @property
    def sessions(self) -> int:
        """How many flat sessions the adapter opens."""
        return max(1, self.k)

    def target(self, index: int) -> str:
        """The target of the session with this index; a real browser names its own in `targets`."""
        return self.targets[index % len(self.targets)] if self.targets else FAKE_TARGET

    @property
    def page_ws(self) -> str:
        """For peers without flat sessions: the page's own socket on a real browser, the one socket of the fake."""
        return f"{self.ws.split('/devtools/')[0]}/devtools/page/{self.targets[0]}" if self.targets else self.ws
