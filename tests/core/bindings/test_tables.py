"""A protocol's JSON as tables: each form of an item, random protocols, and invalid descriptions.

A random protocol is drawn together with the tables that it must give: each part is a pair of JSON and table.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdp_core.bindings._catalog import domain_named
from cdp_core.bindings._names import enum_name, member_name, result_name
from cdp_core.bindings._tables import PLAIN_TYPES, Field, Table, parse_field, read_protocol
from cdp_core.bindings._version import MODULES
from cdp_core.errors import InvalidArgument

Json = dict[str, Any]


def described(*domains: object, **more: object) -> Json:
    return {"version": {"major": "1", "minor": "3"}, "domains": list(domains), **more}


def read(**domain: object) -> Table:
    return read_protocol(("a.json", described({"domain": "Aa", **domain})))["Aa"]


def type_of(item: Json, *more: Json) -> str:
    """Return the table's text for a field's type; T (string), E (enumeration) and O (object) are types."""
    known = [
        {"id": "T", "type": "string"},
        {"id": "E", "type": "string", "enum": ["x"]},
        {"id": "O", "type": "object", "properties": [{"name": "f", **item}]},
    ]
    return parse_field(read(types=[*known, *more]).objects["O"][1]).type


# ── each form of an item ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ({"type": "string"}, "str"),
        ({"type": "binary"}, "str"),
        ({"type": "integer"}, "int"),
        ({"type": "number"}, "num"),
        ({"type": "boolean"}, "bool"),
        ({"type": "object"}, "obj"),
        ({"type": "any"}, "any"),
        ({"$ref": "T"}, "T"),
        ({"$ref": "E"}, "E"),
        ({"$ref": "O"}, "O"),
        ({"$ref": "Aa.T"}, "T"),  # its own domain, spelled out
        ({"type": "array"}, "[any]"),
        ({"type": "array", "items": {"type": "string"}}, "[str]"),
        ({"type": "array", "items": {"$ref": "O"}}, "[O]"),
        ({"type": "array", "items": {"$ref": "Aa.O"}}, "[O]"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "number"}}}, "[[num]]"),
        ({"type": "string", "enum": ["a", "b"]}, "OF"),
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, "[OF]"),
    ],
)
def test_the_type_of_a_field(item: Json, text: str) -> None:
    assert type_of(item) == text


def test_an_alias_of_a_type() -> None:
    table = read(
        types=[
            {"id": "FrameId", "type": "string"},
            {"id": "Quad", "type": "array", "items": {"type": "number"}, "experimental": True},
            {"id": "Headers", "type": "object", "deprecated": True},
            {"id": "Anything", "type": "any"},
            {"id": "Parent", "$ref": "FrameId"},
        ]
    )
    assert dict(table.names) == {
        "FrameId": ("", "str"),
        "Quad": ("~", "[num]"),
        "Headers": ("!", "obj"),
        "Anything": ("", "any"),
        "Parent": ("", "FrameId"),
    }
    assert not table.enums
    assert not table.objects


def test_an_enumeration_keeps_its_members_in_order() -> None:
    table = read(types=[{"id": "Kind", "type": "string", "enum": ["b", "a", "-a"], "experimental": True}])
    assert dict(table.enums) == {"Kind": ("~", "b", "a", "-a")}


def test_an_object_without_fields_is_an_object() -> None:
    assert dict(read(types=[{"id": "Nothing", "type": "object", "properties": []}]).objects) == {"Nothing": ("",)}


def test_inline_enumerations_are_named_after_their_place() -> None:
    inline = {"type": "string", "enum": ["x"]}
    table = read(
        types=[{"id": "Frame", "type": "object", "properties": [{"name": "adStatus", **inline}]}],
        commands=[
            {
                "name": "get",
                "parameters": [{"name": "kind", **inline}, {"name": "all", "type": "array", "items": inline}],
                "returns": [{"name": "kind", **inline}],
            }
        ],
        events=[{"name": "came", "parameters": [{"name": "why", **inline}]}],
    )
    assert set(table.enums) == {"FrameAdStatus", "GetKind", "GetAll", "GetResultKind", "CameWhy"}
    assert set(table.enums.values()) == {("", "x")}
    assert table.commands["get"] == ("", ("kind:GetKind", "all:[GetAll]"), ("kind:GetResultKind",))
    assert table.events["came"] == ("", "why:CameWhy")


@pytest.mark.parametrize("optional", [True, False, None])
@pytest.mark.parametrize("experimental", [True, False, None])
@pytest.mark.parametrize("deprecated", [True, False, None])
def test_marks_of_every_kind_of_item(optional: bool | None, experimental: bool | None, deprecated: bool | None) -> None:
    flags = {"optional": optional, "experimental": experimental, "deprecated": deprecated}
    item = {name: mark for name, mark in flags.items() if mark is not None}
    both = ("~" if experimental else "") + ("!" if deprecated else "")
    own = {name: mark for name, mark in item.items() if name != "optional"}
    table = read(
        **own,
        types=[{"id": "T", "type": "string", **own}, {"id": "E", "type": "string", "enum": ["a"], **own}],
        commands=[{"name": "c", **own, "parameters": [{"name": "p", "type": "any", **item}]}],
        events=[{"name": "came", **own}],
    )
    assert table.marks == table.names["T"][0] == table.enums["E"][0] == both
    assert table.commands["c"][0] == table.events["came"][0] == both
    field = parse_field(table.commands["c"][1][0])
    assert field == Field("p", bool(optional), bool(experimental), bool(deprecated), "any")


def test_a_type_of_another_domain_and_of_another_file() -> None:
    field = {"name": "f", "type": "array", "items": {"$ref": "Bb.T"}}
    first = described({"domain": "Aa", "events": [{"name": "e", "parameters": [field]}]})
    second = described({"domain": "Bb", "types": [{"id": "T", "type": "string"}]})
    tables = read_protocol(("a.json", first), ("b.json", second))
    assert list(tables) == ["Aa", "Bb"]
    assert tables["Aa"].events["e"] == ("", "f:[Bb.T]")


def test_types_may_refer_to_each_other_in_a_circle() -> None:
    domains = [
        {"domain": one, "types": [{"id": "T", "properties": [{"name": "t", "$ref": f"{other}.T", "optional": True}]}]}
        for one, other in (("Aa", "Bb"), ("Bb", "Aa"))
    ]
    assert read_protocol(("a.json", described(*domains)))["Bb"].objects["T"] == ("", "t?:Aa.T")


def test_a_reference_is_looked_up_in_other_domains() -> None:
    def find_domain(name: str) -> Table | None:
        looked_up.append(name)
        return Table(name="Bb", names={"T": ("", "str")}) if name == "Bb" else None

    def refers_to(reference: str) -> Json:
        fields = [{"name": "f", "$ref": reference}]
        return described({"domain": "Aa", "events": [{"name": "e", "parameters": fields}]})

    looked_up: list[str] = []
    tables = read_protocol(("a.json", refers_to("Bb.T")), find_domain=find_domain)
    assert list(tables) == ["Aa"]
    for dangling in ("Bb.U", "Cc.T"):
        with pytest.raises(InvalidArgument, match=f"Aa.e refers to {dangling}, which is described nowhere"):
            read_protocol(("a.json", refers_to(dangling)), find_domain=find_domain)
    assert looked_up == ["Bb", "Bb", "Cc"]
    with pytest.raises(InvalidArgument, match=r"Bb\.T"):
        read_protocol(("a.json", refers_to("Bb.T")))


def test_a_domain_of_the_file_hides_the_same_domain_elsewhere() -> None:
    domain = {"domain": "Bb", "types": [{"id": "U", "type": "array", "items": {"$ref": "Bb.T"}}]}
    with pytest.raises(InvalidArgument, match=r"Bb\.U refers to Bb\.T"):
        read_protocol(("a.json", described(domain)), find_domain=lambda _: Table(name="Bb", names={"T": ("", "str")}))


def test_keys_that_tables_do_not_keep_are_ignored() -> None:
    more = {"description": 7, "redirect": None, "dependencies": 3, "featured": True}
    command = {"name": "c", "async": True, **more}
    kind = {"id": "T", "type": "string", "minItems": "x", **more}
    assert read(**more, types=[kind], commands=[command]) == read(types=[kind], commands=[command])
    domain = {"domain": "Aa"}
    assert read_protocol(("a.json", described(domain, **more))) == read_protocol(("a.json", described(domain)))


def test_a_protocol_without_domains_is_refused() -> None:
    expected = "is not a protocol description: its list of domains is empty."
    assert error_text(("a.json", described())) == f"a.json {expected}"
    assert error_text(("a.json", described({"domain": "Aa"})), ("b.json", {"domains": []})) == f"b.json {expected}"


def test_files_of_one_version_or_without_a_version() -> None:
    files = [
        ("a.json", described({"domain": "Aa"})),
        ("b.json", {"domains": [{"domain": "Bb"}]}),
        ("c.json", described({"domain": "Cc"})),
    ]
    assert set(read_protocol(*files)) == {"Aa", "Bb", "Cc"}


# ── random protocols ─────────────────────────────────────────────────────────────────────────────────────────────────

WORDS = ("alpha", "beta", "gammaRay", "deltaHTML", "class", "extra", "pageIDs", "Upper", "x1")
REFERENCES = ("Aa.Known", "Aa.Object", "Zz.Known", "Zz.Kind")
KNOWN = {
    "types": [
        {"id": "Known", "type": "string"},
        {"id": "Kind", "type": "string", "enum": ["one", "two"]},
        {"id": "Object", "type": "object", "properties": []},
    ]
}
MEMBERS = st.lists(st.text(max_size=8), max_size=5, unique_by=member_name)
marks = st.fixed_dictionaries({}, optional={"experimental": st.booleans(), "deprecated": st.booleans()})


def marks_of(item: Json) -> str:
    return "~" * item.get("experimental", False) + "!" * item.get("deprecated", False)


@st.composite
def some_type(draw: st.DrawFn, domain: str, place: str, enums: dict[str, tuple[str, ...]]) -> tuple[Json, str]:
    """Draw a type's JSON and text; an inline enumeration is added to `enums`."""
    form = draw(st.sampled_from(["plain", "reference", "array", "enum"]))
    if form == "reference":
        reference = draw(st.sampled_from(REFERENCES))
        owner, name = reference.split(".")
        return ({"$ref": name if owner == domain and draw(st.booleans()) else reference}), (
            name if owner == domain else reference
        )
    if form == "array":
        item, text = draw(some_type(domain, place, enums))
        return {"type": "array", "items": item}, f"[{text}]"
    if form == "enum" and place not in enums:
        members = draw(MEMBERS)
        enums[place] = ("", *members)
        return {"type": "string", "enum": members}, place
    kind = draw(st.sampled_from(sorted(PLAIN_TYPES)))
    return {"type": kind}, PLAIN_TYPES[kind]


@st.composite
def some_fields(
    draw: st.DrawFn, domain: str, owner: str, enums: dict[str, tuple[str, ...]]
) -> tuple[list[Json], tuple[Field, ...]]:
    items: list[Json] = []
    fields: list[Field] = []
    for wire in draw(st.lists(st.sampled_from(WORDS), max_size=4, unique=True)):
        found: dict[str, tuple[str, ...]] = {}
        item, text = draw(some_type(domain, enum_name(owner, wire), found))
        enums.update(found)
        flags = draw(marks) | draw(st.sampled_from([{}, {"optional": True}, {"optional": False}]))
        items.append({"name": wire, **item, **flags})
        fields.append(Field(wire, flags.get("optional", False), "~" in marks_of(flags), "!" in marks_of(flags), text))
    return items, tuple(fields)


def texts(fields: tuple[Field, ...]) -> tuple[str, ...]:
    return tuple(field.text for field in fields)


@st.composite
def some_domain(draw: st.DrawFn, name: str) -> tuple[Json, Table]:
    enums: dict[str, tuple[str, ...]] = {"Kind": ("", "one", "two")}
    names = {"Known": ("", "str")}
    objects: dict[str, tuple[str, ...]] = {"Object": ("",)}
    commands, events = {}, {}
    description: dict[str, list[Json]] = {"types": copy.deepcopy(KNOWN["types"]), "commands": [], "events": []}
    for number, form in enumerate(draw(st.lists(st.sampled_from(["name", "enum", "object"]), max_size=3))):
        own, mark = f"Type{number}", draw(marks)
        if form == "object":
            items, fields = draw(some_fields(name, own, enums))
            description["types"].append({"id": own, "type": "object", "properties": items, **mark})
            objects[own] = (marks_of(mark), *texts(fields))
        elif form == "enum":
            members = draw(MEMBERS)
            description["types"].append({"id": own, "type": "string", "enum": members, **mark})
            enums[own] = (marks_of(mark), *members)
        else:
            item, text = draw(some_type(name, own, {own: ()}))
            description["types"].append({"id": own, **item, **mark})
            names[own] = (marks_of(mark), text)
    for number in range(draw(st.integers(0, 2))):
        own, mark = f"command{number}", draw(marks)
        params, given_fields = draw(some_fields(name, own, enums))
        returns, return_fields = draw(some_fields(name, result_name(own), enums))
        description["commands"].append({"name": own, "parameters": params, "returns": returns, **mark})
        commands[own] = (marks_of(mark), texts(given_fields), texts(return_fields))
        own, mark = f"event{number}", draw(marks)
        params, given_fields = draw(some_fields(name, own, enums))
        description["events"].append({"name": own, "parameters": params, **mark})
        events[own] = (marks_of(mark), *texts(given_fields))
    mark = draw(marks)
    table = Table(
        name=name, marks=marks_of(mark), names=names, enums=enums, objects=objects, commands=commands, events=events
    )
    return {"domain": name, **mark, **{key: items for key, items in description.items() if items}}, table


@st.composite
def some_protocol(draw: st.DrawFn) -> tuple[Json, dict[str, Table]]:
    pairs = [draw(some_domain(name)) for name in ("Aa", "Zz")]
    return described(*(domain for domain, _ in pairs)), {table.name: table for _, table in pairs}


@given(some_protocol(), st.booleans())
def test_any_protocol_gives_its_tables(pair: tuple[Json, dict[str, Table]], two_files: bool) -> None:
    protocol, tables = pair
    files = [protocol] if not two_files else [{**protocol, "domains": [each]} for each in protocol["domains"]]
    found = read_protocol(*((f"{number}.json", file) for number, file in enumerate(files)))
    assert found == tables
    for table in found.values():
        assert list(table.commands) == list(tables[table.name].commands)  # the order is the protocol's


FIELDS = st.builds(
    Field,
    st.from_regex(r"[A-Za-z][A-Za-z0-9]*", fullmatch=True),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.from_regex(r"\[{0,2}([A-Z][a-z]{0,4}\.)?[A-Za-z]+\]{0,2}", fullmatch=True),
)


@given(FIELDS)
def test_a_field_can_be_parsed_from_its_text(field: Field) -> None:
    assert parse_field(field.text) == field


def test_the_text_of_a_field() -> None:
    assert Field("parentId", True, True, False, "FrameId").text == "parentId?~:FrameId"
    assert Field("a", False, False, True, "[Dom.Node]").text == "a!:[Dom.Node]"


def test_every_field_of_the_pinned_protocol_can_be_written_and_parsed() -> None:
    count = 0
    for name in MODULES:
        found = domain_named(name)
        assert found is not None
        table = found.table
        groups = [fields for _, *fields in (*table.objects.values(), *table.events.values())]
        groups += [list(part) for _, *parts in table.commands.values() for part in parts]
        for text in (text for group in groups for text in group):
            assert parse_field(text).text == text
            count += 1
    assert count > 3500


# ── invalid descriptions ─────────────────────────────────────────────────────────────────────────────────────────────


def with_fields(*fields: object) -> Json:
    return {"domain": "Aa", "types": [{"id": "O", "type": "object", "properties": list(fields)}]}


def with_type(**kind: object) -> Json:
    return {"domain": "Aa", "types": [{"id": "T", **kind}]}


STRING = {"type": "string"}
BAD_DOMAINS: list[tuple[object, str]] = [
    (7, "domain 0 is not a JSON object"),
    (None, "domain 0 is not a JSON object"),
    ({}, "None is not a name for a domain"),
    ({"domain": 5}, "5 is not a name for a domain"),
    ({"domain": "A b"}, "'A b' is not a name for a domain"),
    ({"domain": ""}, "'' is not a name for a domain"),
    ({"domain": "A\nb" + "c" * 5000}, "is not a name for a domain"),
    ({"domain": {"a": ["\n"] * 5000}}, "is not a name for a domain"),
    ({"domain": "Aa", "types": {}}, "Aa: the types are not a list"),
    ({"domain": "Aa", "commands": None}, "Aa: the commands are not a list"),
    ({"domain": "Aa", "events": "x"}, "Aa: the events are not a list"),
    ({"domain": "Aa", "types": [7]}, "Aa: 7 is not a type"),
    ({"domain": "Aa", "commands": [[]]}, "Aa: [] is not a command"),
    ({"domain": "Aa", "events": [None]}, "Aa: None is not an event"),
    ({"domain": "Aa", "types": [{"type": "string"}]}, "Aa: None is not a name for a type"),
    ({"domain": "Aa", "types": [{"id": "A-b", "type": "string"}]}, "Aa: 'A-b' is not a name for a type"),
    ({"domain": "Aa", "types": [{"id": ["T"], "type": "string"}]}, "Aa: ['T'] is not a name for a type"),
    ({"domain": "Aa", "commands": [{"name": "1a"}]}, "Aa: '1a' is not a name for a command"),
    ({"domain": "Aa", "events": [{"name": "_a"}]}, "Aa: '_a' is not a name for an event"),
    ({"domain": "Aa", "events": [{"name": "caf\u00e9"}]}, "Aa: 'caf\u00e9' is not a name for an event"),
    (with_fields({"name": "a b", **STRING}), "Aa: 'a b' is not a name for a field of O"),
    (with_fields({**STRING}), "Aa: None is not a name for a field of O"),
    (with_fields("x"), "Aa: 'x' is not a field of O"),
    ({"domain": "Aa", "commands": [{"name": "c", "parameters": 1}]}, "Aa: the parameters of c are not a list"),
    ({"domain": "Aa", "commands": [{"name": "c", "returns": {}}]}, "Aa: the returns of CResult are not a list"),
    (with_type(properties=None), "Aa: the properties of T are not a list"),
    (with_type(), "Aa: T is of the unknown type None"),
    (with_type(type="sting"), "Aa: T is of the unknown type 'sting'"),
    (with_type(type=["string"]), "Aa: T is of the unknown type ['string']"),
    (with_type(type={"a": 1}), "Aa: T is of the unknown type {'a': 1}"),
    (with_fields({"name": "f"}), "Aa: O.f is of the unknown type None"),
    (with_fields({"name": "f", "type": "str"}), "Aa: O.f is of the unknown type 'str'"),
    (with_fields({"name": "f", "type": "array", "items": "x"}), "Aa: O.f is an array of 'x', which is not a type"),
    (with_fields({"name": "f", "type": "array", "items": {}}), "Aa: O.f is of the unknown type None"),
    (with_fields({"name": "f", "$ref": 5}), "Aa: O.f refers to 5, which is not the name of a type"),
    (with_fields({"name": "f", "$ref": ""}), "Aa: O.f refers to '', which is not the name of a type"),
    (with_fields({"name": "f", "$ref": "A.B.C"}), "Aa: O.f refers to 'A.B.C', which is not the name of a type"),
    (with_fields({"name": "f", "$ref": ".O"}), "Aa: O.f refers to '.O', which is not the name of a type"),
    (with_fields({"name": "f", "$ref": "int"}), "Aa: O.f refers to 'int', which is not the name of a type"),
    (with_fields({"name": "f", "$ref": "Gone"}), "Aa.O refers to Aa.Gone, which is described nowhere"),
    (with_fields({"name": "f", "$ref": "Bb.Gone"}), "Aa.O refers to Bb.Gone, which is described nowhere"),
    (with_type(type="array", items={"$ref": "Gone"}), "Aa.T refers to Aa.Gone, which is described nowhere"),
    (
        {"domain": "Aa", "commands": [{"name": "c", "returns": [{"name": "f", "$ref": "Gone"}]}]},
        "Aa.CResult refers to Aa.Gone, which is described nowhere",
    ),
    (with_type(**{"$ref": "T"}), "Aa.T is only an alias of itself"),
    (with_type(type="array", items={"$ref": "Aa.T"}), "Aa.T is only an alias of itself"),
    (
        {"domain": "Aa", "types": [{"id": "T", "$ref": "U"}, {"id": "U", "$ref": "V"}, {"id": "V", "$ref": "U"}]},
        "Aa.T is only an alias of itself",
    ),
    (with_type(type="string", enum="ab"), "Aa: the members of T are not a list of strings"),
    (with_type(type="string", enum=["a", 1]), "Aa: the members of T are not a list of strings"),
    (with_type(type="integer", enum=[1, 2]), "Aa: the members of T are not a list of strings"),
    (with_type(type="string", enum=None), "Aa: the members of T are not a list of strings"),
    (with_fields({"name": "f", **STRING, "enum": [None]}), "Aa: the members of O.f are not a list of strings"),
    (with_type(**STRING, enum=["a-b", "aB"]), "Aa: among the members of T, 'a-b' and 'aB' both become A_B"),
    (with_type(**STRING, enum=["a", "a"]), "Aa: among the members of T, 'a' and 'a' both become A"),
    (with_type(**STRING, enum=["\n" * 9000, " "]), "both become _"),
    (
        with_fields({"name": "fooBar", **STRING}, {"name": "FooBar", **STRING}),
        "Aa: among the fields of O, 'fooBar' and 'FooBar' both become foo_bar",
    ),
    (with_fields({"name": "f", **STRING}, {"name": "f", **STRING}), "Aa: the field of O f is described twice"),
    (
        {"domain": "Aa", "types": [{"id": "Came", **STRING}], "events": [{"name": "came"}]},
        "Aa: among the types, commands and events, 'Came' and 'came' both become Came",
    ),
    (
        {
            "domain": "Aa",
            "types": [{"id": "GetResult", **STRING}],
            "commands": [{"name": "get", "returns": [{"name": "f", **STRING}]}],
        },
        "Aa: among the types, commands and events, 'GetResult' and 'get' both become GetResult",
    ),
    (
        {"domain": "Aa", "commands": [{"name": "getURL"}, {"name": "getUrl"}]},
        "Aa: among the types, commands and events, 'getURL' and 'getUrl' both become get_url",
    ),
    ({"domain": "Aa", "events": [{"name": "e"}, {"name": "E"}]}, "'e' and 'E' both become E"),
    ({"domain": "Aa", "types": [{"id": "T", **STRING}] * 2}, "Aa: the type T is described twice"),
    ({"domain": "Aa", "commands": [{"name": "c"}] * 2}, "Aa: the command c is described twice"),
    ({"domain": "Aa", "events": [{"name": "e"}] * 2}, "Aa: the event e is described twice"),
    (
        {
            "domain": "Aa",
            "types": [
                {"id": "OF", **STRING, "enum": ["x"]},
                {"id": "O", "properties": [{"name": "f", **STRING, "enum": ["y"]}]},
            ],
        },
        "Aa: O.f needs the name OF, which is taken",
    ),
    (
        {
            "domain": "Aa",
            "types": [
                {"id": "O", "properties": [{"name": "f", **STRING, "enum": ["y"]}]},
                {"id": "OF", **STRING, "enum": ["x"]},
            ],
        },
        "Aa: the type OF has a name that is taken",
    ),
    (
        {
            "domain": "Aa",
            "commands": [{"name": "c", "parameters": [{"name": "f", **STRING, "enum": ["y"]}]}],
            "events": [{"name": "cF"}],
        },
        "'CF' and 'cF' both become CF",
    ),
    ({"domain": "Aa", "types": [{"id": "None", **STRING}]}, "'None' becomes None, a name that Python"),
    ({"domain": "Aa", "types": [{"id": "class", **STRING}]}, "'class' becomes class, a name that Python"),
    ({"domain": "Aa", "events": [{"name": "true"}]}, "'true' becomes True, a name that Python"),
    ({"domain": "Aa", "types": [{"id": "DOMAIN", **STRING}]}, "'DOMAIN' becomes DOMAIN, a name that Python"),
    ({"domain": "Aa", "types": [{"id": "int", "type": "integer"}]}, "Aa: a type cannot be called int"),
    ({"domain": "Aa", "types": [{"id": "any", "enum": ["a"]}]}, "Aa: a type cannot be called any"),
]


def error_text(*files: tuple[str, object]) -> str:
    """Return the error text, which must be one short line."""
    with pytest.raises(InvalidArgument) as caught:
        read_protocol(*files)
    text = str(caught.value)
    assert text.isprintable(), text
    assert len(text) < 500, text
    assert text.endswith((".", "version.")), text
    return text


@pytest.mark.parametrize(("bad", "expected"), BAD_DOMAINS, ids=[expected[:60] for _, expected in BAD_DOMAINS])
def test_an_error_is_one_line_with_its_place(bad: object, expected: str) -> None:
    text = error_text(("a.json", described(bad)))
    assert expected in text
    assert text.startswith("a.json")


@pytest.mark.parametrize("content", [None, 7, "domains", [], {}, {"domains": {}}, {"domains": None}, [{"domains": []}]])
def test_a_file_that_is_not_a_description(content: object) -> None:
    assert error_text(("a.json", content)) == "a.json is not a protocol description: it has no list of domains."


def test_an_error_names_the_second_file_if_it_is_in_that_one() -> None:
    good = ("a.json", described({"domain": "Aa"}))
    assert error_text(good, ("b.json", [])).startswith("b.json is not a protocol")
    assert error_text(good, ("b.json", described({"domain": "Bb"}, 4))).startswith(
        "b.json: domain 1 is not a JSON object"
    )
    assert error_text(good, ("b.json", described({"domain": "Bb", "types": 4}))).startswith("b.json: Bb: the types")


def test_two_files_of_different_versions_are_refused() -> None:
    domain = {"domain": "Aa"}
    one, other = described(domain), described({"domain": "Bb"}, version={"major": "1", "minor": "4"})
    text = error_text(("a.json", one), ("b.json", other))
    assert text == "b.json is of version 1.4, but a.json is of 1.3; give two files of one version."
    text = error_text(("none.json", {"domains": [{"domain": "Cc"}]}), ("a.json", one), ("b.json", other))
    assert text == "b.json is of version 1.4, but a.json is of 1.3; give two files of one version."
    for odd in ("1.4", 3, ["1"], {"major": "1\n" * 500}, {}, True):
        assert error_text(("a.json", one), ("b.json", described(domain, version=odd))).startswith(
            "b.json is of version "
        )
        assert error_text(("a.json", described(domain, version=odd)), ("b.json", one)).startswith(
            "b.json is of version 1.3, "
        )


def test_the_same_domain_twice_is_refused() -> None:
    expected = "the domain Aa is described twice."
    assert error_text(("a.json", described({"domain": "Aa"}, {"domain": "Aa"}))) == f"a.json: {expected}"
    files = [("a.json", described({"domain": "Aa"})), ("b.json", described({"domain": "Aa"}))]
    assert error_text(*files) == f"b.json: {expected}"


def test_two_domains_with_the_same_module_name_are_refused() -> None:
    domains = described({"domain": "DOMStorage"}, {"domain": "DomStorage"})
    assert error_text(("a.json", domains)) == (
        "a.json: among the domains, 'DOMStorage' and 'DomStorage' both become dom_storage."
    )


def test_the_nesting_of_arrays_is_limited() -> None:
    """Tested to the depth that JSON decoders read, which on some Pythons exceeds the recursion limit."""

    def nested(levels: int) -> Json:
        item: Json = {"type": "string"}
        for _ in range(levels):
            item = {"type": "array", "items": item}
        return item

    assert type_of(nested(8)) == "[[[[[[[[str]]]]]]]]"
    for levels in (9, 50, 2000):
        text = error_text(("a.json", described(with_fields({"name": "f", **nested(levels)}))))
        assert text.startswith("a.json: Aa: O.f is an array of {")


SCALARS = (
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "a", "A", "T", "string", "x y", "\ud800"])
)
JUNK = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["domain", "types", "id", "name", "type", "$ref", "enum", "items", "properties", "version"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(some_protocol(), st.data())
def test_a_randomly_changed_protocol_is_read_or_refused_in_one_line(
    pair: tuple[Json, dict[str, Table]], data: st.DataObject
) -> None:
    """Parts are replaced by arbitrary JSON; only InvalidArgument may be raised."""
    protocol = copy.deepcopy(pair[0])
    for _ in range(data.draw(st.integers(1, 3))):
        places = places_of(protocol)
        owner, key = places[data.draw(st.integers(0, len(places) - 1))]
        owner[key] = data.draw(JUNK)
    text = error_text_or_none(("a.json", protocol))
    assert text is None or (text.isprintable() and len(text) < 500 and text.startswith("a.json"))


def error_text_or_none(*files: tuple[str, object]) -> str | None:
    """Return the error text, or None if the files are read."""
    try:
        read_protocol(*files)
    except InvalidArgument as error:
        return str(error)
    return None


def places_of(value: Any) -> list[tuple[Any, Any]]:
    """Return every place of a JSON value as its container and key."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [(value, key) for key in keys] + [place for key in keys for place in places_of(value[key])]


@given(JUNK)
def test_arbitrary_json_is_read_or_refused(content: object) -> None:
    text = error_text_or_none(("a.json", content), ("b.json", {"domains": [content], "version": content}))
    assert text is None or re.match(r"[ab]\.json", text)
