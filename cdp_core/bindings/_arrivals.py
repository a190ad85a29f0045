"""What arrives over the links and is unknown to the bindings: counted, whether or not somebody listens.

A link tells of each method that is not familiar yet (`cdp_core.link`). What the bindings know becomes familiar, and costs
one look-up from then on; what they do not know stays unfamiliar, so that each arrival is counted. No domain is imported
for it. What came before the bindings were imported is counted once, since nobody counted it then.
"""

from __future__ import annotations

from cdp_core import link
from cdp_core.bindings._catalog import has_event
from cdp_core.bindings._drift import count_arrival


def install() -> None:
    """From now on the links tell of what is not familiar."""
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
