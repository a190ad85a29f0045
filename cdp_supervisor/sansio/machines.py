"""The door for machines of others: a sub-machine is fed what ours are fed, after them, and shows its view beside them.

    class Downloads:
        name = "downloads"
        events = frozenset({"Browser.downloadWillBegin"})

        def initial(self): return ()
        def step(self, state, input): return (*state, input.event.params["guid"]), ()
        def next_deadline(self, state): return None
        def view(self, state): return {"guids": list(state)}

Its effects may be `Send` (with ticket 0: no end comes back) and `Note`, at most `MAX_SENDS` for one input. One that raises,
or asks for more, is switched off, and the snapshot says so; nothing else is touched by it
(docs/cdp/a-stranger-s-machine-is-switched-off.md). The console ring is made so.

A machine that only keeps what it is told may have a fifth function, `fold`: several events at once. What it is told then
waits until somebody looks (docs/cdp/what-nobody-looks-at-can-wait.md), which is many times cheaper.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from cdp_core.sansio.messages import Json, is_object

if TYPE_CHECKING:
    from cdp_supervisor.sansio.effects import Effect
    from cdp_supervisor.sansio.inputs import BrowserEvent, Input
    from cdp_supervisor.sansio.state import Extension

__all__ = ["MAX_SENDS", "KeepingMachine", "Machine", "MachineViews"]

MAX_SENDS: Final = 8

S = TypeVar("S")


class Machine(Protocol[S]):
    """Four pure functions over a state of its own, a name, and the event methods that it wants."""

    @property
    def name(self) -> str:
        """Where the snapshot shows it."""
        ...

    @property
    def events(self) -> frozenset[str]:
        """The events that it is fed; inputs of every other kind it gets in any case."""
        ...

    def initial(self) -> S:
        """Its state before anything happened."""
        ...

    def step(self, state: S, input: Input, /) -> tuple[S, Iterable[Effect]]:
        """What an input makes of it."""
        ...

    def next_deadline(self, state: S, /) -> float | None:
        """When it wants a `TimePassed`; asked after each of its steps."""
        ...

    def view(self, state: S, /) -> Json:
        """Its part of the snapshot."""
        ...


class KeepingMachine(Machine[S], Protocol[S]):
    """A machine that orders nothing and waits for nothing when it is fed events."""

    def fold(self, state: S, inputs: Sequence[BrowserEvent], /) -> S:
        """What several of its events make of it, one after the other: what `step` would."""
        ...


AnyMachine = Machine[Any]


class MachineViews(Mapping[str, Json]):
    """What each machine shows, by its name, made when it is looked at: most snapshots are taken for something else."""

    def __init__(self, extensions: tuple[Extension, ...]) -> None:
        self._extensions = {each.machine.name: each for each in extensions}
        self._made: dict[str, Json] = {}

    def __getitem__(self, name: str) -> Json:
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = _view(self._extensions[name])
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._extensions)

    def __len__(self) -> int:
        return len(self._extensions)

    def __repr__(self) -> str:
        return repr(dict(self))


def _view(extension: Extension) -> Json:
    if extension.off:
        return {"off": extension.off}
    try:
        view: Json = extension.machine.view(extension.state)
        json.dumps(view, allow_nan=False)
    except Exception as error:  # noqa: BLE001 - a stranger's code, which must not keep the rest from being shown
        return {"off": f"its view raised {type(error).__name__}"}
    return view if is_object(view) else {"off": "its view is no JSON object"}
