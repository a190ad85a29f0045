"""The catalog of domains, and a vendor's package with its own domains, `vendor/acme_cdp`.

The package was made from `vendor/acme.json` by

    python -m cdp_core.bindings generate acme.json --package acme_cdp

in `vendor`; test_generator.py checks that this command still gives the same files.
"""

from __future__ import annotations

import importlib
import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import attrs
import pytest
import trio

import cdp_core.bindings
from cdp_core import memory_pair, open_browser_session
from cdp_core.bindings import (
    _catalog,
    domain_names,
    drift,
    forget_drift,
    from_json,
    network,
    page,
    parse_command,
    parse_event,
    parse_result,
    register,
    to_json,
)
from cdp_core.bindings._catalog import domain_named
from cdp_core.bindings._version import MODULES
from cdp_core.errors import InvalidArgument
from cdp_core.sansio.messages import Event, decode

VENDOR = Path(__file__).with_name("vendor")
FINDING = {"frameId": "F", "resource": "XHR", "severity": "high", "causes": []}
FOUND = {"watchId": "W", "requestId": "R", "finding": {**FINDING, "causes": [{**FINDING, "severity": "low"}]}}


@pytest.fixture
def vendor(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ModuleType, ModuleType]]:
    """The vendor's two modules, not registered yet."""
    monkeypatch.setattr(_catalog, "_registered", {})
    monkeypatch.syspath_prepend(VENDOR)
    forget_drift()
    yield importlib.import_module("acme_cdp.acme"), importlib.import_module("acme_cdp.acme_log")
    forget_drift()


@pytest.fixture
def acme(vendor: tuple[ModuleType, ModuleType]) -> ModuleType:
    """The vendor's module of the domain Acme; both modules are registered."""
    for module in vendor:
        register(module)
    return vendor[0]


def event(method: str, params: object) -> Event:
    message = decode(json.dumps({"method": method, "params": params}).encode())
    assert isinstance(message, Event)
    return message


# ── the domains of the package itself ────────────────────────────────────────────────────────────────────────────────


def test_every_domain_is_found_by_its_name() -> None:
    for name, module in MODULES.items():
        found = domain_named(name)
        assert found is not None
        assert found is importlib.import_module(f"cdp_core.bindings.{module}").DOMAIN
        assert (found.name, found.table.name, found.module) == (name, name, f"cdp_core.bindings.{module}")
    assert domain_names()[: len(MODULES)] == tuple(MODULES)


@pytest.mark.parametrize("name", ["", "page", "Pag", "Page.enable", "_tables", "os"])
def test_an_unknown_name_finds_no_domain_and_imports_nothing(name: str) -> None:
    before = set(sys.modules)
    assert domain_named(name) is None
    assert set(sys.modules) == before


def test_registering_a_standard_domain_changes_nothing() -> None:
    before = domain_names()
    register(page)
    assert domain_names() == before
    assert domain_named("Page") is page.DOMAIN


# ── a vendor's package ───────────────────────────────────────────────────────────────────────────────────────────────


def test_messages_of_an_unregistered_domain_are_unknown(vendor: tuple[ModuleType, ModuleType]) -> None:
    message = event("Acme.found", FOUND)
    assert domain_named("Acme") is None
    assert parse_event(message) is message
    assert parse_command("Acme.watch", {"frameId": "F"}) is None
    assert parse_result("Acme.watch", {"watchId": "W"}) == {"watchId": "W"}
    assert drift().unknown_items == {"Acme.found": 1, "Acme.watch": 2}


def test_a_vendor_s_events_are_values(acme: ModuleType) -> None:
    """Their types are of the same domain, of another domain of the package, and of the standard domains."""
    assert domain_names() == (*MODULES, "Acme", "AcmeLog")
    found = parse_event(event("Acme.found", FOUND))
    assert type(found) is acme.Found
    assert (found.watch_id, found.request_id) == ("W", "R")
    assert type(found.finding) is acme.Finding
    assert found.finding.resource is network.ResourceType.XHR
    assert found.finding.severity is acme.Severity.HIGH
    assert found.finding.causes[0].severity is acme.Severity.LOW
    assert found.finding.request_id is None
    assert to_json(found) == FOUND
    assert drift().total == 0
    about = {"type": "string", "value": "x"}
    written = parse_event(event("AcmeLog.written", {"watchId": "W", "worst": "low", "about": about}))
    assert not isinstance(written, Event)
    assert written.worst is acme.Severity.LOW
    assert written.about == from_json(cdp_core.bindings.runtime.RemoteObject, about)
    assert drift().total == 0


def test_a_vendor_s_values_are_made_compared_and_pickled(acme: ModuleType) -> None:
    found = parse_event(event("Acme.found", FOUND))
    assert from_json(acme.Found, FOUND) == found
    assert pickle.loads(pickle.dumps(found)) == found
    finding = acme.Finding(frame_id=page.FrameId("F"), resource="XHR", severity="high", causes=[])
    assert to_json(finding) == FINDING
    assert finding.resource is network.ResourceType.XHR
    assert [each.name for each in attrs.fields(acme.Finding)] == [
        "frame_id",
        "request_id",
        "resource",
        "severity",
        "causes",
    ]
    assert acme.WatchId.__module__ == "acme_cdp.acme"


def test_a_vendor_s_commands_are_values(acme: ModuleType) -> None:
    command = acme.watch(frame_id="F", resources=["XHR", "Font"], least="low")
    assert command.method == "Acme.watch"
    assert command.to_params() == {"frameId": "F", "resources": ["XHR", "Font"], "least": "low"}
    assert parse_command("Acme.watch", command.to_params()) == command
    assert pickle.loads(pickle.dumps(command)) == command
    result = command.parse({"watchId": "W"})
    assert result == parse_result("Acme.watch", {"watchId": "W"}) == acme.WatchResult(watch_id="W")
    assert acme.unwatch(watch_id="W").parse({}) is None
    assert drift().total == 0


def test_drift_of_a_vendor_s_domain_is_counted(acme: ModuleType) -> None:
    parse_event(event("Acme.found", {**FOUND, "more": 1}))
    parse_event(event("Acme.lost", {}))
    from_json(acme.Finding, {**FINDING, "resource": "Hologram"})
    counted = drift()
    assert counted.unknown_fields == {"Acme.found.more": 1}
    assert counted.unknown_items == {"Acme.lost": 1}
    assert counted.unknown_members == {"Network.ResourceType=Hologram": 1}


async def test_a_session_subscribes_and_sends_with_a_vendor_s_domain(acme: ModuleType) -> None:
    near, far = memory_pair()
    sent: list[dict[str, Any]] = []

    async def browser() -> None:
        while not sent:
            sent.extend(json.loads(bytes(text)) for text in await far.receive())
        answer = {"id": sent[0]["id"], "result": {"watchId": "W"}}
        await far.send([json.dumps(each).encode() for each in ({"method": "Acme.found", "params": FOUND}, answer)])

    with trio.fail_after(5):
        async with open_browser_session(near) as session, trio.open_nursery() as nursery:
            nursery.start_soon(browser)
            with session.subscribe(acme.Found, capacity=4) as subscription, session.expect("Acme.found") as raw:
                result = await session.send(acme.watch(frame_id="F"))
                assert result == acme.WatchResult(watch_id="W")
                found = await subscription.receive()
                assert type(found) is acme.Found
                assert to_json(found) == (await raw.wait()).params == FOUND
    assert [(each["method"], each["params"]) for each in sent] == [("Acme.watch", {"frameId": "F"})]


# ── registering ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_registering_twice_is_registering_once(acme: ModuleType) -> None:
    before, kind = domain_names(), acme.Found
    register(acme)
    assert domain_names() == before
    assert domain_named("Acme") is acme.DOMAIN
    assert acme.Found is kind


def made(name: str, **parts: Any) -> ModuleType:
    """Return a module like those of the generator."""
    module = ModuleType(f"made_{name.lower()}")
    all_parts = {"names": {}, "enums": {}, "objects": {}, "commands": {}, "events": {}, **parts}
    module.DOMAIN = type(page.DOMAIN)(module.__name__, name, "", **all_parts)  # type: ignore[attr-defined]
    module.__getattr__ = module.DOMAIN.make  # type: ignore[method-assign]
    return module


def test_a_reference_to_an_unregistered_domain_is_refused(
    vendor: tuple[ModuleType, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    needy = made("Needy", names={"Id": ("", "Needed.Id")}, events={"came": ("", "id:Needed.Id")})
    needed = made("Needed", names={"Id": ("", "str")})
    for module in (needy, needed):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    register(needy)
    for use in (lambda: needy.Came, lambda: needy.Id):
        with pytest.raises(InvalidArgument, match=r"made_needy refers to Needed\.Id, but .* Needed; register it first"):
            use()
    register(needed)
    assert from_json(needy.Came, {"id": "x"}).id == "x"
    assert needy.Id is needed.Id


def test_a_domain_of_the_same_package_needs_no_registering(vendor: tuple[ModuleType, ModuleType]) -> None:
    """`AcmeLog` refers to `Acme`, which is in the same package."""
    about = {"type": "string", "value": "x"}
    written = from_json(vendor[1].Written, {"watchId": "W", "worst": "low", "about": about})
    assert written.worst is vendor[0].Severity.LOW
    assert written.about == from_json(cdp_core.bindings.runtime.RemoteObject, about)
    assert "Acme" not in domain_names()


def test_a_module_of_the_same_package_without_a_domain_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module that only has the name of a domain is ignored; the error of a failing import is raised."""
    package = tmp_path / "neighbours_cdp"
    package.mkdir()
    (package / "page.py").write_text("DOMAIN = 'example.org'\n")
    (package / "network.py").write_text("import no_such_module\n")
    (package / "own.py").write_text(
        "from cdp_core.bindings._domain import Domain\n"
        "DOMAIN = Domain(__name__, 'Own', '', names={}, enums={}, objects={}, commands={}, events={\n"
        "    'came': ('', 'frame:Page.FrameId'), 'went': ('', 'at:Network.MonotonicTime')})\n"
        "__getattr__ = DOMAIN.make\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    own = importlib.import_module("neighbours_cdp.own")
    assert from_json(own.Came, {"frame": "F"}).frame == "F"
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        from_json(own.Went, {"at": 1})


def test_a_vendor_s_commands_are_pickled_by_module_and_name(vendor: tuple[ModuleType, ModuleType]) -> None:
    """The process that reads them need not have registered the module."""
    command = vendor[0].watch(frame_id="F", resources=["XHR"])
    program = f"import pickle, sys; sys.path.insert(0, {str(VENDOR)!r}); print(pickle.loads({pickle.dumps(command)!r}))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (ran.stdout.strip(), ran.stderr) == (repr(command), "")


class Pretender:
    """An object with a domain's attributes, but of another module."""

    module = "somewhere.else"
    name = "Acme"


class Partial:
    """An object with the right module, and no other attribute of a domain."""

    module = "pretender"


@pytest.mark.parametrize("domain_of_it", [None, 7, "Acme", Pretender(), Pretender, Partial(), _catalog, page.DOMAIN])
def test_a_module_without_its_own_domain_is_refused(vendor: object, domain_of_it: object) -> None:
    module = ModuleType("pretender")
    before = domain_names()
    with pytest.raises(
        InvalidArgument,
        match=r"pretender is not a module of bindings; make one with python -m cdp_core\.bindings generate",
    ):
        register(module)
    module.DOMAIN = domain_of_it  # type: ignore[attr-defined]
    with pytest.raises(InvalidArgument, match="pretender is not a module of bindings"):
        register(module)
    assert domain_names() == before


class Anything:
    """A class, not a module."""

    DOMAIN: ClassVar[Any] = None


@pytest.mark.parametrize("given", [None, 7, "acme_cdp.acme", Anything, Anything(), page.DOMAIN, page.Frame])
def test_an_object_that_is_not_a_module_is_refused(vendor: object, given: Any) -> None:
    with pytest.raises(InvalidArgument, match="is not a module of bindings"):
        register(given)


@pytest.mark.parametrize("taken", ["Acme", "Page"])
def test_a_second_module_for_a_domain_is_refused(acme: ModuleType, taken: str) -> None:
    """The first module is another package's, or one of the bindings, used before or not."""
    owner = domain_named(taken)
    assert owner is not None
    del _catalog._registered[taken]
    if taken == "Acme":
        register(acme)
    with pytest.raises(InvalidArgument) as caught:
        register(made(taken))
    assert str(caught.value) == f"The domain {taken} exists already, in {owner.module}; register one of the two."
    assert domain_named(taken) is owner
