"""The protocol's names as Python names: examples, laws over any text, and the pinned protocol."""

from __future__ import annotations

import keyword
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cdp_core.bindings._catalog import domain_named
from cdp_core.bindings._names import class_name, enum_name, field_name, member_name, result_name, snake
from cdp_core.bindings._tables import Table, parse_field
from cdp_core.bindings._version import MODULES

PROTOCOL_NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,12}", fullmatch=True)


def pinned() -> list[Table]:
    return [domain.table for name in MODULES if (domain := domain_named(name)) is not None]


# ── examples ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("wire", "python"),
    [
        ("frameId", "frame_id"),
        ("outerHTML", "outer_html"),
        ("targetIDs", "target_ids"),
        ("URLs", "urls"),
        ("cspURLsOnly", "csp_urls_only"),
        ("WebAPIs", "web_apis"),
        ("IDsOnly", "ids_only"),
        ("getHTMLElement", "get_html_element"),
        ("IPAddress", "ip_address"),
        ("x", "x"),
        ("x509Certificate", "x509_certificate"),
        ("sha256", "sha256"),
        ("DOMSnapshot", "dom_snapshot"),
        ("IndexedDB", "indexed_db"),
        ("IO", "io"),
        ("CSS", "css"),
        ("WebMCP", "web_mcp"),
        ("setXHRBreakpoint", "set_xhr_breakpoint"),
    ],
)
def test_a_field_name_is_in_snake_case(wire: str, python: str) -> None:
    assert snake(wire) == python
    assert field_name(wire) == python


@pytest.mark.parametrize(
    "wire", [*(word for word in keyword.kwlist if word.islower()), "self", "extra", "nulls", "spec", "str", "dict"]
)
def test_a_reserved_name_gets_an_underscore(wire: str) -> None:
    assert field_name(wire) == f"{wire}_"
    assert field_name(wire.capitalize()) == f"{wire}_"


@pytest.mark.parametrize("wire", ["type", "object", "match", "id", "extras", "None1", "none"])
def test_a_free_name_gets_no_underscore(wire: str) -> None:
    assert field_name(wire) == snake(wire)


def test_names_of_classes() -> None:
    assert class_name("loadEventFired") == "LoadEventFired"
    assert class_name("IPChanged") == "IPChanged"
    assert result_name("getDocument") == "GetDocumentResult"
    assert enum_name("captureScreenshot", "format") == "CaptureScreenshotFormat"
    assert enum_name("Frame", "adStatus") == "FrameAdStatus"


@pytest.mark.parametrize(
    ("value", "member"),
    [
        ("cache-storage", "CACHE_STORAGE"),
        ("noReferrerWhenDowngrade", "NO_REFERRER_WHEN_DOWNGRADE"),
        ("-0", "MINUS_0"),
        ("-Infinity", "MINUS_INFINITY"),
        ("Infinity", "INFINITY"),
        ("3g", "_3G"),
        ("cellular2g", "CELLULAR2G"),
        ("a b/c", "A_B_C"),
        ("", "_"),
        ("\N{SNOWMAN}", "_"),
        ("-", "MINUS_"),
        ("class", "CLASS"),
        ("None", "NONE"),
    ],
)
def test_a_member_name_is_in_capitals(value: str, member: str) -> None:
    assert member_name(value) == member


# ── laws ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(PROTOCOL_NAMES)
@example("aB1C")
@example("URLsURLs")
def test_converting_a_name_twice_changes_nothing(wire: str) -> None:
    for rule in (field_name, class_name, snake):
        assert rule(rule(wire)) == rule(wire)


@given(PROTOCOL_NAMES)
def test_snake_case_only_changes_capitals_and_adds_underscores(wire: str) -> None:
    assert snake(wire).replace("_", "") == wire.lower()
    assert "__" not in snake(wire)


@given(PROTOCOL_NAMES)
def test_every_converted_name_is_valid_in_python(wire: str) -> None:
    assert is_valid_name(field_name(wire))
    assert not field_name(wire).startswith("_")
    assert class_name(wire).isidentifier()
    assert is_valid_name(result_name(wire))


@given(st.text(max_size=20))
@example("-")
@example("²")
@example("ǅ")
@example("K")  # the sign of Kelvin, which becomes a small k
def test_every_member_name_is_valid_in_python(value: str) -> None:
    name = member_name(value)
    assert is_valid_name(name)
    assert name.isascii()
    assert name == name.upper()
    assert not re.match("__", name)  # a class would mangle such a name


def is_valid_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


# ── the pinned protocol ──────────────────────────────────────────────────────────────────────────────────────────────


def test_every_name_of_the_protocol_is_valid_in_python() -> None:
    """Names are also unique within their module, enumeration, or item."""
    count = 0
    for table in pinned():
        assert is_valid_name(field_name(table.name))
        module = [
            *(*table.names, *table.enums, *table.objects),
            *map(class_name, table.events),
            *map(field_name, table.commands),
            *(result_name(command) for command, (_, _, returns) in table.commands.items() if returns),
        ]
        groups = [module, *([member_name(value) for value in members] for _, *members in table.enums.values())]
        fields = [fields for _, *fields in (*table.objects.values(), *table.events.values())]
        fields += [list(part) for _, *parts in table.commands.values() for part in parts]
        groups += [[field_name(parse_field(text).wire) for text in texts] for texts in fields]
        for group in groups:
            assert all(map(is_valid_name, group)), group
            assert len(set(group)) == len(group), group
            count += len(group)
    assert count > 6000
    modules = [field_name(table.name) for table in pinned()]
    assert len(set(modules)) == len(modules) >= 59


def test_no_field_name_of_the_protocol_begins_with_an_underscore() -> None:
    for table in pinned():
        for _, *fields in (*table.objects.values(), *table.events.values()):
            assert not any(field_name(parse_field(text).wire).startswith("_") for text in fields)
