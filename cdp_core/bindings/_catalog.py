"""The modules of the domains, each imported at the first use of its domain.

Another package may add domains to the 59 of the pinned protocol, made by the same generator (`python -m
cdp_core.bindings generate`): `register(module)` makes their events and types known here.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final

from cdp_core.bindings._version import EVENTS, MODULES
from cdp_core.errors import InvalidArgument

if TYPE_CHECKING:
    from cdp_core.bindings._domain import Domain

_registered: Final[dict[str, Domain]] = {}


def domain_names() -> tuple[str, ...]:
    """Return the names of all known domains, as the protocol spells them."""
    return (*MODULES, *(name for name in _registered if name not in MODULES))


def domain_named(name: str) -> Domain | None:
    """Return a domain, importing its module if necessary; None if it is unknown."""
    found = _registered.get(name)
    if found is None and name in MODULES:
        domain: Domain = import_module(f"cdp_core.bindings.{MODULES[name]}").DOMAIN
        found = _registered.setdefault(name, domain)
    return found


def has_event(method: str) -> bool:
    """Return True if a known domain has the event; no module is imported."""
    if method in EVENTS:
        return True
    name, _, event = method.partition(".")
    found = _registered.get(name)
    return found is not None and event in found.table.events


def register(module: ModuleType) -> None:
    """Add a generated module of another package. Idempotent.

    Raises InvalidArgument if it is not a module of bindings, or if another module has registered its domain.
    """
    module_name: str = getattr(module, "__name__", repr(module))
    domain: Domain | None = getattr(module, "DOMAIN", None)
    if domain is None or getattr(domain, "module", None) != module_name or not hasattr(domain, "table"):
        raise InvalidArgument(
            f"{module_name} is not a module of bindings; make one with python -m cdp_core.bindings generate."
        )
    other = domain_named(domain.name)
    if other is not None and other is not domain:
        raise InvalidArgument(f"The domain {domain.name} exists already, in {other.module}; register one of the two.")
    _registered[domain.name] = domain
