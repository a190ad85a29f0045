"""Feeding machines of others (machines.py).

Each hears of what it wants after our own rules, orders what is a machine's to order, and is woken when it asked for it. One
that fails, or wants more, is switched off, and nothing else is touched (docs/cdp/a-stranger-s-machine-is-switched-off.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from cdp_core.errors import CdpError
from cdp_core.sansio.messages import CommandId, encode_command
from cdp_core.sansio.structs import replace
from cdp_supervisor.sansio import effects
from cdp_supervisor.sansio.inputs import BrowserEvent, Input, TimePassed
from cdp_supervisor.sansio.machines import MAX_SENDS, KeepingMachine
from cdp_supervisor.sansio.options import is_finite
from cdp_supervisor.sansio.state import Extension, State
from cdp_supervisor.sansio.transition import Turn

__all__ = ["due", "feed", "fold"]

LEVELS: Final = frozenset(("debug", "info", "warning"))
"""Of a `Note`."""


def feed(turn: Turn, input: Input) -> None:
    """Let each hear of what it wants, after our own rules."""
    told = input
    method = input.event.method if type(input) is BrowserEvent else None
    for place, extension in enumerate(turn.extensions):
        if extension.off or (method is not None and method not in extension.machine.events):
            continue
        if told is input and type(input) is BrowserEvent:
            session_id = input.event.session_id
            told = replace(input, page=None if session_id is None else turn.state.page_of.get(session_id))
        _put_extension(turn, place, _fed(turn, extension, told))


def _put_extension(turn: Turn, place: int, extension: Extension) -> None:
    extensions = turn.extensions
    if extension is not extensions[place]:
        turn.extensions = (*extensions[:place], extension, *extensions[place + 1 :])


def _fed(turn: Turn, extension: Extension, input: Input) -> Extension:
    machine = extension.machine
    try:
        state, wanted = machine.step(extension.state, input)
        orders = tuple(wanted)
        deadline = machine.next_deadline(state)
        reason = _beyond(orders) if orders else ""
        if not (deadline is None or is_finite(deadline)):
            reason = "its deadline is no time"
    except Exception as error:  # noqa: BLE001 - a stranger's code: it ends, and nothing else does
        state, orders, deadline, reason = extension.state, (), None, f"it raised {type(error).__name__}"
    if reason:
        turn.count("machines_switched_off")
        turn.note("warning", "a machine was switched off", machine=machine.name, why=reason)
        turn.calm(f"machine:{machine.name}")
        return replace(extension, off=reason)
    for order in orders:
        turn.order(replace(order, ticket=0) if isinstance(order, effects.Send) else order)
    if deadline is not None or extension.timed:
        _wake_machine(turn, machine.name, deadline)
    if state is extension.state and extension.timed == (deadline is not None):
        return extension
    return replace(extension, state=state, timed=deadline is not None)


def _beyond(orders: tuple[Any, ...]) -> str:
    sends = sum(isinstance(each, effects.Send) for each in orders)
    if sends > MAX_SENDS:
        return f"it sent {sends} commands for one input"
    wrong = [reason for order in orders if (reason := _wrong_with(order))]
    return wrong[0] if wrong else ""


def _wrong_with(order: object) -> str:
    """Why a stranger's order cannot be carried out."""
    if isinstance(order, effects.Note):
        good = order.level in LEVELS and isinstance(order.text, str) and isinstance(order.fields, Mapping)  # pyright: ignore[reportUnnecessaryIsInstance]
        return "" if good else "it noted what is no line of a log"
    if not isinstance(order, effects.Send):
        return "it ordered what is not a machine's to order"
    if not isinstance(order.session_id, (str, type(None))) or not isinstance(order.method, str) or not order.method:  # pyright: ignore[reportUnnecessaryIsInstance]
        return "it sent what is no command"
    try:
        encode_command(CommandId(1), order.method, order.params, order.session_id)
    except CdpError:
        return f"it sent {order.method[:64]} with params that are no JSON"
    return ""


def _wake_machine(turn: Turn, name: str, deadline: float | None) -> None:
    key = f"machine:{name}"
    if deadline is None:
        turn.calm(key)
    elif turn.state.deadline_of.get(key) != deadline:
        turn.wake(key, max(deadline - turn.now, 0.0), f"machine {name} asked for it")


def due(turn: Turn, name: str) -> None:
    """A machine wanted to be woken."""
    tick = TimePassed(at=turn.at, epoch=turn.state.epoch)
    for place, extension in enumerate(turn.extensions):
        if extension.machine.name == name and not extension.off:
            _put_extension(turn, place, _fed(turn, extension, tick))


def fold(state: State, inputs: Sequence[BrowserEvent]) -> State | None:
    """What machines that only keep make of these; None where one that wants them does more, or fails."""
    extensions = state.extensions
    for place, extension in enumerate(extensions):
        machine = extension.machine
        events = machine.events
        mine = inputs if events == state.heard else [input for input in inputs if input.event.method in events]
        if not mine or extension.off:
            continue
        if not extension.keeps:
            return None
        try:
            kept = cast("KeepingMachine[Any]", machine).fold(extension.state, mine)
        except Exception:  # noqa: BLE001 - it is asked for each by itself, and then switched off
            return None
        if kept is not extension.state:
            extensions = (*extensions[:place], replace(extension, state=kept), *extensions[place + 1 :])
    now = max(state.now, inputs[-1].at.mono)
    if extensions is not state.extensions:
        return replace(state, now=now, sequence=state.sequence + len(inputs), extensions=extensions)
    return state if now == state.now else replace(state, now=now)
