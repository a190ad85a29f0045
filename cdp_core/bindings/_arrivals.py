"""What arrives over the links and is unknown to the bindings: counted, whether or not somebody listens.

A link tells of each method that is not familiar yet (`cdp_core.link`). What the bindings know becomes familiar, and costs
one look-up from then on; what they do not know stays unfamiliar, so that each arrival is counted. No domain is imported
for it. What came before the bindings were imported is counted once, since nobody counted it then.
"""

from __future__ import annotations

from cdp_core import link
from cdp_core.bindings._catalog import has_event
from cdp_core.bindings._drift import count_arrival


def begin() -> None:
    """From now on the links tell of what is not familiar."""
    link.on_unfamiliar = _on_unfamiliar
    for method in [*link.familiar]:
        if not has_event(method):
            link.familiar.discard(method)
            count_arrival(method)


def _on_unfamiliar(method: str) -> None:
    if has_event(method):
        link.remember(method)
    else:
        count_arrival(method)
