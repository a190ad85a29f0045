"""The door for machines of others: a sub-machine is fed what ours are fed, after them, and shows its view beside them.

    class Downloads:
        name = "downloads"
        events = frozenset({"Browser.downloadWillBegin"})

        def initial(self): return ()
        def step(self, state, input): return (*state, input.event.params["guid"]), ()
        def next_deadline(self, state): return None
        def view(self, state): return {"guids": list(state)}

Its effects may be `Send` (with ticket 0: no end comes back) and `Note`, at most `MAX_SENDS` for one input. One that raises,
or asks for more, is switched off, and the snapshot says so; nothing else is touched by it. The console ring is made so.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from cdp_core.sansio.wire import Json

if TYPE_CHECKING:
    from cdp_supervisor.sansio.effects import Effect
    from cdp_supervisor.sansio.inputs import Input

__all__ = ["MAX_SENDS", "Machine"]

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


AnyMachine = Machine[Any]
