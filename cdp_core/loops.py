"""The check that trio runs the caller."""

from __future__ import annotations

import trio

from cdp_core.errors import LocalProtocolError


def check_trio() -> None:
    """Raise LocalProtocolError under any other event loop, before trio raises something less clear."""
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        raise LocalProtocolError(
            "cdp_core runs on trio; under asyncio use cdp_supervisor.aio. Or start this program with trio.run(main).",
            reason="no_trio",
        ) from None
