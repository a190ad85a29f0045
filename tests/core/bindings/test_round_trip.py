"""Round trips of JSON that fits the protocol, by every reader and writer, for each of the 1,500 items.

The sweeps test every item of every domain, in its smallest form, a full form and some between; the properties test few
items in many forms, and shrink.
"""

from __future__ import annotations

import copy
import pickle
from random import Random
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdp_core.bindings import (
    Command,
    EnumValue,
    Value,
    drift,
    forget_drift,
    from_json,
    parse_command,
    parse_result,
    to_json,
)
from cdp_core.bindings._domain import Domain
from cdp_core.bindings._names import field_name
from cdp_core.bindings._values import Loose, source_of
from support import protocol_values

chances = st.randoms(use_true_random=False)


def variants(item: Any, rounds: int) -> list[dict[str, Any]]:
    """Return the smallest form of an item's JSON and others; they are the same on every run."""
    chance = Random(str(item))
    return [protocol_values.fitting(chance, item, parts=parts) for parts in (0, *(25 for _ in range(rounds)))]


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def assert_value_round_trips(item: Any, sent: dict[str, Any]) -> None:
    kind: type[Value] = item.made
    untouched = copy.deepcopy(sent)
    forget_drift()
    loose, strict = from_json(kind, sent), protocol_values.from_octets(kind, protocol_values.octets(sent))
    assert type(source_of(loose)) is Loose
    assert type(source_of(strict)) is not Loose, "the strict reader declined JSON that fits"
    for value in (loose, strict):
        assert_reading_round_trips(kind, value, sent)
    assert_equal_values(loose, strict)
    assert drift().total == 0
    assert sent == untouched


def assert_reading_round_trips(kind: type[Value], value: Any, sent: dict[str, Any]) -> None:
    assert type(value) is kind
    assert protocol_values.same_json(to_json(value), sent)
    assert not value.extra
    assert repr(value).startswith(f"{kind.__name__}(")
    for again in (
        from_json(kind, to_json(value)),
        protocol_values.from_octets(kind, protocol_values.octets(to_json(value))),
        pickle.loads(pickle.dumps(value)),
        copy.copy(value),
        copy.deepcopy(value),
    ):
        assert type(again) is kind
        assert_equal_values(again, value)
        assert protocol_values.same_json(to_json(again), sent)
    assert_attrs_functions_work(kind, value, sent)


def assert_equal_values(one: Any, other: Any) -> None:
    assert one == other
    assert not one != other  # noqa: SIM202 - tests the operator !=
    assert repr(one) == repr(other)
    try:
        made = hash(one)
    except TypeError:
        with pytest.raises(TypeError):
            hash(other)
    else:
        assert hash(other) == made


def assert_attrs_functions_work(kind: type[Value], value: Any, sent: dict[str, Any]) -> None:
    fields = attrs.fields(kind)
    assert [field.metadata["cdp_name"] for field in fields] == [*kind.__cdp_spec__._by_wire]
    assert [field.name for field in fields] == [*map(field_name, kind.__cdp_spec__._by_wire)]
    shown = attrs.asdict(value, recurse=False)
    assert [*shown] == [field.name for field in fields]
    for field in fields:
        part, wire = shown[field.name], field.metadata["cdp_name"]
        assert protocol_values.same_json(to_json(part), sent.get(wire)), field.name
        assert part is getattr(value, field.name) or part == getattr(value, field.name)
    attrs.asdict(value)  # recurses into nested values
    if not protocol_values.has_null(value):  # attrs uses getattr, which gives None for null and for no value
        assert_equal_values(attrs.evolve(value), value)
        assert kind(**shown) == value


def test_every_value(domain: Domain, rounds: int) -> None:
    for item in protocol_values.items_of(domain):
        if item.kind != "command":
            for sent in variants(item, rounds):
                assert_value_round_trips(item, sent)


@given(data=st.data(), chance=chances)
def test_any_value(data: st.DataObject, chance: Random) -> None:
    item = data.draw(st.sampled_from(protocol_values.VALUES))
    assert_value_round_trips(item, protocol_values.fitting(chance, item, parts=chance.choice((0, 10, 80))))


@given(data=st.data(), chance=chances)
def test_two_values_are_equal_exactly_if_their_json_is(data: st.DataObject, chance: Random) -> None:
    item = data.draw(st.sampled_from(protocol_values.VALUES))
    one, other = (protocol_values.fitting(chance, item, parts=10) for _ in range(2))
    # Booleans are integers in Python, so in a field of type any, 1 and true are equal.
    values = [from_json(item.made, one), protocol_values.from_octets(item.made, protocol_values.octets(other))]
    assert (values[0] == values[1]) is (one == other)
    if one == other:
        assert_equal_values(*values)


@given(data=st.data(), chance=chances)
def test_changing_a_field_changes_no_other_field(data: st.DataObject, chance: Random) -> None:
    item = data.draw(st.sampled_from([item for item in protocol_values.VALUES if item.texts]))
    sent = protocol_values.fitting(chance, item)
    field = data.draw(st.sampled_from(item.fields))
    new = protocol_values.fitting_type(chance, item.domain, field.type)
    value = from_json(item.made, sent)
    changed = from_json(item.made, {**sent, field.wire: new})
    if protocol_values.has_null(value) or protocol_values.has_null(changed):
        return
    name = field_name(field.wire)
    assert_equal_values(attrs.evolve(value, **{name: getattr(changed, name)}), changed)


# ── enumerations and names ───────────────────────────────────────────────────────────────────────────────────────────


def test_every_enumeration_and_name(domain: Domain) -> None:
    chance = Random(domain.name)
    forget_drift()
    for name, (_marks, *members) in domain.table.enums.items():
        kind: type[EnumValue] = domain.get(name)
        assert kind.members() == tuple(members)
        for member in members:
            value = from_json(kind, member)
            assert value is kind(member)
            assert value is pickle.loads(pickle.dumps(value))
            assert value.known
            assert to_json(value) == member
            assert type(to_json(value)) is str
    for name, (_marks, kind) in domain.table.names.items():
        sent = protocol_values.fitting_type(chance, domain, kind)
        value = from_json(domain.get(name), sent)
        assert protocol_values.same_json(to_json(value), sent)
        assert from_json(domain.get(name), to_json(value)) == value
    assert drift().total == 0


# ── commands ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def assert_command_round_trips(item: Any, params: dict[str, Any]) -> None:
    forget_drift()
    command = parse_command(item.place, params)
    assert isinstance(command, Command)
    assert command.method == item.place
    assert protocol_values.same_json(command.to_params(), params)
    assert drift().total == 0
    assert repr(command).startswith(f"{item.place}(")
    given_params = dict(command.params)
    called = item.made(**{field_name(wire): value for wire, value in given_params.items()})
    for again in (
        called,
        parse_command(item.place, command.to_params()),
        pickle.loads(pickle.dumps(command)),
        copy.copy(command),
        copy.deepcopy(command),
        attrs.evolve(command),
    ):
        assert type(again) is Command
        assert_equal_values(again, command)
        assert protocol_values.same_json(again.to_params(), params)
    # As a caller writes it with plain JSON: lists, and members as text. A null would have to be NULL.
    plain = {field_name(wire): value for wire, value in params.items() if value is not None}
    written = item.made(**plain)
    assert protocol_values.same_json(
        written.to_params(), {wire: value for wire, value in params.items() if value is not None}
    )


def test_every_command(domain: Domain, rounds: int) -> None:
    for item in protocol_values.items_of(domain):
        if item.kind == "command":
            for params in variants(item, rounds):
                assert_command_round_trips(item, params)


@given(data=st.data(), chance=chances)
def test_any_command(data: st.DataObject, chance: Random) -> None:
    item = data.draw(st.sampled_from(protocol_values.COMMANDS))
    assert_command_round_trips(item, protocol_values.fitting(chance, item, parts=chance.choice((0, 10, 80))))


def test_every_result(domain: Domain) -> None:
    forget_drift()
    for item in protocol_values.items_of(domain):
        if item.kind == "result":
            for sent in variants(item, 1):
                value = parse_result(f"{domain.name}.{item.name}", sent)
                assert type(value) is item.made
                assert value == from_json(item.made, sent)
    assert drift().total == 0


def test_a_command_without_results_returns_none(domain: Domain) -> None:
    forget_drift()
    for name, (_marks, _params, returns) in domain.table.commands.items():
        if not returns:
            assert parse_result(f"{domain.name}.{name}", {}) is None
    assert drift().total == 0
