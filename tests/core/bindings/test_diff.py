"""Comparison of two protocols: equal to itself, mirrored if reversed, and each change at its place."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdp_core.bindings._catalog import domain_named
from cdp_core.bindings._diff import Difference, compare
from cdp_core.bindings._tables import Field, Table, parse_field
from cdp_core.bindings._version import MODULES

Tables = dict[str, Table]
Expected = set[tuple[str, str]]
"""Signs and places."""

OURS = Table(
    name="Aa",
    marks="~",
    names={"FrameId": ("", "str"), "Quad": ("~", "[num]")},
    enums={"Kind": ("", "one", "two")},
    objects={"Frame": ("", "id:FrameId", "parent?~:FrameId", "kind!:Kind")},
    commands={"get": ("!", ("id:FrameId", "deep?:bool"), ("frame:Frame", "id:FrameId")), "enable": ("", (), ())},
    events={"came": ("", "frame:Frame"), "ended": ("~!",)},
)
OTHER = Table(name="Bb", names={"Thing": ("", "any")})


def ours() -> Tables:
    return {"Aa": OURS, "Bb": OTHER}


def pinned() -> Tables:
    return {name: domain.table for name in MODULES if (domain := domain_named(name)) is not None}


def lines(here: Tables, there: Tables) -> list[str]:
    return [str(difference) for difference in compare(here, there)]


def changed(**parts: Any) -> list[str]:
    return lines(ours(), {**ours(), "Aa": attrs.evolve(OURS, **parts)})


# ── examples ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_domain_that_only_one_side_has() -> None:
    assert lines(ours(), {"Bb": OTHER}) == ["- Aa: domain with 2 commands and 2 events"]
    assert lines({"Bb": OTHER}, ours()) == ["+ Aa: domain with 2 commands and 2 events"]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"marks": ""}, ["~ Aa: domain; neither experimental nor deprecated there, experimental here"]),
        ({"marks": "~!"}, ["~ Aa: domain; experimental and deprecated there, experimental here"]),
        (
            {"names": {**OURS.names, "Quad": ("~", "[int]")}},
            ["~ Aa.Quad: type [int] there, type [num] here"],
        ),
        ({"names": {"Quad": ("~", "[num]")}}, ["- Aa.FrameId: type"]),
        ({"names": {**OURS.names, "New": ("~", "str")}}, ["+ Aa.New: type, experimental"]),
        (
            {"names": {**OURS.names, "FrameId": ("!", "str")}},
            ["~ Aa.FrameId: type; deprecated there, neither experimental nor deprecated here"],
        ),
        ({"enums": {"Kind": ("", "one", "three")}}, ["+ Aa.Kind=three", "- Aa.Kind=two"]),
        ({"enums": {"Kind": ("", "two", "one")}}, []),
        ({"enums": {"Kind": ("", "one", "two", "a\nb")}}, [r"+ Aa.Kind='a\nb'"]),
        ({"enums": {"Kind": ("", "one", "two", "\ud800")}}, [r"+ Aa.Kind='\ud800'"]),
        (
            {"objects": {"Frame": ("", "id:FrameId", "parent~:FrameId", "kind!:Kind")}},
            ["~ Aa.Frame.parent: FrameId, experimental there, optional FrameId, experimental here"],
        ),
        (
            {"objects": {"Frame": ("", "id:FrameId", "kind!:Kind", "more?:[int]")}},
            ["+ Aa.Frame.more: optional [int]", "- Aa.Frame.parent: optional FrameId, experimental"],
        ),
        (
            {"commands": {**OURS.commands, "get": ("!", ("id:FrameId", "deep?:bool"), ("frame:Frame", "id:str"))}},
            ["~ Aa.get.→ id: str there, FrameId here"],
        ),
        (
            {"commands": {**OURS.commands, "get": ("!", ("deep?:bool",), ("frame:Frame", "id:FrameId"))}},
            ["- Aa.get.id: FrameId"],
        ),
        (
            {"commands": {"get": OURS.commands["get"], "disable": ("", (), ())}},
            ["+ Aa.disable: command", "- Aa.enable: command"],
        ),
        ({"events": {"came": ("", "frame:Frame")}}, ["- Aa.ended: event, experimental and deprecated"]),
        (
            {"names": {"Quad": ("~", "[num]")}, "enums": {**OURS.enums, "FrameId": ("", "x")}},
            ["~ Aa.FrameId: enumeration there, type str here", "+ Aa.FrameId=x"],
        ),
    ],
)
def test_a_change_in_a_domain(parts: dict[str, Any], expected: list[str]) -> None:
    assert sorted(changed(**parts)) == sorted(expected)


def test_differences_are_sorted_alphabetically() -> None:
    there = {"Cc": Table(name="Cc"), "Aa": attrs.evolve(OURS, events={}, names={}), "B": Table(name="B")}
    assert [difference.path for difference in compare(ours(), there)] == [
        "Aa.came",
        "Aa.ended",
        "Aa.FrameId",
        "Aa.Quad",
        "B",
        "Bb",
        "Cc",
    ]


def test_a_difference_without_a_detail() -> None:
    assert str(Difference("+", "Aa.Kind=one")) == "+ Aa.Kind=one"


# ── laws ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

MARKS = st.sampled_from(["", "~", "!", "~!"])
TYPES = st.sampled_from(["str", "int", "[str]", "Kind", "Bb.Thing"])
FIELDS = st.builds(Field, st.sampled_from(["a", "b", "c"]), st.booleans(), st.booleans(), st.booleans(), TYPES)
TEXTS = st.lists(FIELDS, max_size=3, unique_by=lambda field: field.wire).map(
    lambda fields: tuple(field.text for field in fields)
)
MEMBERS = st.lists(st.sampled_from(["x", "y", "z"]), max_size=3, unique=True).map(tuple)


def some(letters: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(letters), values, max_size=2)


def one_kind(table: Table) -> Table:
    """Keep one kind for each name of a type, as in a protocol."""
    enums = {name: enum for name, enum in table.enums.items() if name not in table.names}
    objects = {name: kept for name, kept in table.objects.items() if name not in {**table.names, **enums}}
    return attrs.evolve(table, enums=enums, objects=objects)


def tables(name: str) -> st.SearchStrategy[Table]:
    return st.builds(
        Table,
        name=st.just(name),
        marks=MARKS,
        names=some("TU", st.tuples(MARKS, TYPES)),
        enums=some("TUV", st.builds(lambda mark, members: (mark, *members), MARKS, MEMBERS)),
        objects=some("TUV", st.builds(lambda mark, texts: (mark, *texts), MARKS, TEXTS)),
        commands=some("de", st.tuples(MARKS, TEXTS, TEXTS)),
        events=some("fg", st.builds(lambda mark, texts: (mark, *texts), MARKS, TEXTS)),
    ).map(one_kind)


PROTOCOLS = st.fixed_dictionaries({}, optional={"Aa": tables("Aa"), "Bb": tables("Bb")})


@given(PROTOCOLS)
def test_a_protocol_does_not_differ_from_itself(protocol: Tables) -> None:
    assert list(compare(protocol, protocol)) == []
    again = {name: attrs.evolve(table, events=dict(reversed(table.events.items()))) for name, table in protocol.items()}
    assert list(compare(protocol, dict(reversed(again.items())))) == []


def test_the_pinned_protocol_does_not_differ_from_itself() -> None:
    assert list(compare(pinned(), pinned())) == []


@given(PROTOCOLS, PROTOCOLS)
def test_different_protocols_differ_and_the_reverse_is_mirrored(one: Tables, two: Tables) -> None:
    there, back = list(compare(one, two)), list(compare(two, one))
    assert bool(there) == (unordered(one) != unordered(two))
    assert sorted(map(mirrored, there)) == sorted(map(str, back))


def mirrored(difference: Difference) -> str:
    detail = re.sub(r"(\w+; |)(.+) there, (.+) here", r"\1\3 there, \2 here", difference.detail)
    return str(Difference({"+": "-", "-": "+", "~": "~"}[difference.sign], difference.path, detail))


def unordered(protocol: Tables) -> Any:
    """Return the contents of a protocol without any order."""
    return {
        name: (
            table.marks,
            dict(table.names),
            {name: (mark, frozenset(members)) for name, (mark, *members) in table.enums.items()},
            {name: (mark, frozenset(fields)) for name, (mark, *fields) in table.objects.items()},
            {name: (mark, frozenset(params), frozenset(back)) for name, (mark, params, back) in table.commands.items()},
            {name: (mark, frozenset(fields)) for name, (mark, *fields) in table.events.items()},
        )
        for name, table in protocol.items()
    }


# ── random single changes of the pinned protocol ─────────────────────────────────────────────────────────────────────

Change = tuple[Tables, Expected]


def other_marks(marks: str, rng: random.Random) -> str:
    return rng.choice([each for each in ("", "~", "!", "~!") if each != marks])


def without(items: Any, name: str) -> dict[str, Any]:
    return {key: item for key, item in items.items() if key != name}


def change_domain(all_tables: Tables, rng: random.Random) -> Change:
    name = rng.choice(sorted(all_tables))
    table = all_tables[name]
    return rng.choice(
        [
            (without(all_tables, name), {("-", name)}),
            ({**all_tables, "Aardvark": attrs.evolve(table, name="Aardvark")}, {("+", "Aardvark")}),
            ({**all_tables, name: attrs.evolve(table, marks=other_marks(table.marks, rng))}, {("~", name)}),
        ]
    )


def any_of(all_tables: Tables, part: str, rng: random.Random) -> tuple[Table, str, Any]:
    name, item = rng.choice([(name, item) for name, table in all_tables.items() for item in getattr(table, part)])
    return all_tables[name], item, getattr(all_tables[name], part)[item]


def put(all_tables: Tables, table: Table, part: str, items: Any) -> Tables:
    return {**all_tables, table.name: attrs.evolve(table, **{part: items})}


def changer_of_items(part: str) -> Callable[[Tables, random.Random], Change]:
    def change(all_tables: Tables, rng: random.Random) -> Change:
        table, name, (marks, *rest) = any_of(all_tables, part, rng)
        items, place = getattr(table, part), f"{table.name}.{name}"
        made, expected = rng.choice(
            [
                (without(items, name), {("-", place)}),
                ({**items, "addedHere": (marks, *rest)}, {("+", f"{table.name}.addedHere")}),
                ({**items, name: (other_marks(marks, rng), *rest)}, {("~", place)}),
            ]
        )
        return put(all_tables, table, part, made), expected

    change.__name__ = part
    return change


def change_alias(all_tables: Tables, rng: random.Random) -> Change:
    table, name, (marks, kind) = any_of(all_tables, "names", rng)
    made = {**table.names, name: (marks, f"[{kind}]")}
    return put(all_tables, table, "names", made), {("~", f"{table.name}.{name}")}


def change_member(all_tables: Tables, rng: random.Random) -> Change:
    table, name, (marks, *members) = any_of(all_tables, "enums", rng)
    place, gone = f"{table.name}.{name}", rng.choice(members)
    rest = [member for member in members if member != gone]
    made, expected = rng.choice(
        [
            (rest, {("-", f"{place}={gone}")}),
            ([*members, "added"], {("+", f"{place}=added")}),
            ([*rest, "added"], {("-", f"{place}={gone}"), ("+", f"{place}=added")}),
        ]
    )
    return put(all_tables, table, "enums", {**table.enums, name: (marks, *made)}), expected


def changer_of_fields(part: str, prefix: str = "", position: int = 0) -> Callable[[Tables, random.Random], Change]:
    """Return a changer of one field; for commands, `position` selects the params (1) or the results (2)."""

    def change(all_tables: Tables, rng: random.Random) -> Change:
        while True:
            table, name, whole = any_of(all_tables, part, rng)
            fields = list(whole[position] if position else whole[1:])
            if fields:
                break
        place, at = f"{table.name}.{name}.{prefix}", rng.randrange(len(fields))
        field = parse_field(fields[at])
        flips: list[Field] = [
            attrs.evolve(field, **{mark: not getattr(field, mark)})
            for mark in ("optional", "experimental", "deprecated")
        ]
        flips.append(attrs.evolve(field, type=f"[{field.type}]"))
        made, expected = rng.choice(
            [
                (fields[:at] + fields[at + 1 :], {("-", place + field.wire)}),
                ([*fields, "addedHere:str"], {("+", f"{place}addedHere")}),
                *(([*fields[:at], flip.text, *fields[at + 1 :]], {("~", place + field.wire)}) for flip in flips),
            ]
        )
        replaced = (*whole[:position], tuple(made), *whole[position + 1 :]) if position else (whole[0], *made)
        return put(all_tables, table, part, {**getattr(table, part), name: replaced}), expected

    change.__name__ = f"fields_of_{part}{'_results' if prefix else ''}"
    return change


def change_kind(all_tables: Tables, rng: random.Random) -> Change:
    table, name, (marks, _) = any_of(all_tables, "names", rng)
    made = attrs.evolve(table, names=without(table.names, name), objects={**table.objects, name: (marks,)})
    return {**all_tables, table.name: made}, {("~", f"{table.name}.{name}")}


CHANGES: list[Callable[[Tables, random.Random], Change]] = [
    change_domain,
    *map(changer_of_items, ("names", "enums", "objects", "commands", "events")),
    change_alias,
    change_member,
    changer_of_fields("objects"),
    changer_of_fields("events"),
    changer_of_fields("commands", position=1),
    changer_of_fields("commands", "→ ", position=2),
    change_kind,
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_single_change_gives_exactly_its_differences(change: Callable[[Tables, random.Random], Change]) -> None:
    """A hundred seeds for each kind of change; seeds cannot be shrunk, so Hypothesis would not help."""
    signs: set[str] = set()
    for seed in range(100):
        rng = random.Random(seed)
        here = two_domains(rng)
        there, expected = change(here, rng)
        found = [(each.sign, each.path) for each in compare(here, there)]
        assert sorted(found) == sorted(expected), seed
        signs |= {sign for sign, _ in expected}
    assert signs >= ({"~"} if change in (change_alias, change_kind) else {"+", "-"})


def two_domains(rng: random.Random) -> Tables:
    """Return two domains, so that a comparison is quick; each has every kind of item."""
    return {name: PINNED[name] for name in rng.sample(RICH, 2)}


PINNED = pinned()
RICH = ("Debugger", "Fetch", "LayerTree", "Target", "Tracing", "WebAuthn")


def test_the_changed_domains_have_every_kind_of_item() -> None:
    def parts() -> Iterator[int]:
        for name in RICH:
            table = PINNED[name]
            yield from (len(table.names), len(table.enums), len(table.objects), len(table.commands), len(table.events))

    assert all(parts())
