"""The job of one run of one contender: the runner makes it, the adapters read it.

A job is passed as JSON on the command line of a fresh process, so that no contender inherits caches, memory or garbage
from another. It contains the endpoint and the amount of work, not the way to do it, which differs between contenders.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

FAKE_TARGET = "T1"


@dataclass
class Job:
    """The work of one process; `k` is the number of flat sessions.

    With k=0 one session is opened, and events carry no session.

    Under trio, `nursery` is for libraries that need one, `start_soon` for the adapter's own tasks: an error in one of
    these fails the run.
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
        """The number of flat sessions that the adapter opens."""
        return max(1, self.k)

    def target(self, index: int) -> str:
        """Return the target of the session with this index; a real browser's targets are in `targets`."""
        return self.targets[index % len(self.targets)] if self.targets else FAKE_TARGET

    @property
    def page_ws(self) -> str:
        """The socket for peers without flat sessions: the page's on a real browser, the only one of the fake."""
        return f"{self.ws.split('/devtools/')[0]}/devtools/page/{self.targets[0]}" if self.targets else self.ws
