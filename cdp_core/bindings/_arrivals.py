"""The counter of arriving events that the bindings do not have, with or without a subscriber.

A link calls a hook for each method that is not in `link.known_methods` yet. A method that the bindings have is added
there, and costs one look-up from then on; an unknown method is not added, so that each of its events is counted. No
domain is imported for this. A method that arrived before the bindings were imported is counted once, since there was
no counter then.
"""

from __future__ import annotations

from cdp_core import link
from cdp_core.bindings._catalog import has_event
from cdp_core.bindings._drift import count_arrival


def install() -> None:
    """Set the hook of the links, and count the unknown methods that have already arrived."""
    link.on_first_event = _on_first_event
    for method in [*link.known_methods]:
        if not has_event(method):
            link.known_methods.discard(method)
            count_arrival(method)


def _on_first_event(method: str) -> None:
    if has_event(method):
        link.remember(method)
    else:
        count_arrival(method)
