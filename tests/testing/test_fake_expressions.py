"""Expressions in the fake: their values, the errors they throw, and those that are not modelled."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cdp_core.testing import FakeBrowser, Script
from cdp_core.testing.steps import Answer


def evaluated(expression: str, script: Script | None = None, **params: Any) -> tuple[Any, FakeBrowser]:
    fake = FakeBrowser(script)
    end = fake.connect()
    page = fake.truth().pages[0]
    attach = {"id": 1, "method": "Target.attachToTarget", "params": {"targetId": page, "flatten": True}}
    end.receive(json.dumps(attach).encode())
    session = json.loads(end.drain()[-1])["result"]["sessionId"]
    arguments = {"expression": expression, **params}
    end.receive(json.dumps({"id": 2, "sessionId": session, "method": "Runtime.evaluate", "params": arguments}).encode())
    return json.loads(end.drain()[-1])["result"], fake


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("2 ** 3 ** 2", 512),
        ("7 % 3 - -1", 2),
        ("0.1 + 0.2", 0.30000000000000004),
        ("'a' + 1 + null", "a1null"),
        ("'5' * '2'", 10),
        ("'b' > 'a' && !''", True),
        ("null ?? undefined ?? 'x'", "x"),
        ("1 === 1.0 ? 'same' : nowhere", "same"),
        ("typeof nowhere + typeof 1n + typeof null", "undefinedbigintobject"),
        ("[1, [2, 'x']][1][1]", "x"),
        ("({a: {b: 'c'}}).a.b.length", 1),
        ("// said\n1 /* and */ ; 2", 2),
        ("'\\u00e9\\x41\\n'", "éA\n"),
        ("`as it is`", "as it is"),
        ("0x10 + 0b11 + .5e1", 24),
    ],
)
def test_an_expression_has_the_value_of_javascript(expression: str, value: Any) -> None:
    result, fake = evaluated(expression, returnByValue=True)
    assert result["result"]["value"] == value
    assert fake.statistics().unmodelled == {}


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("1/0", "Infinity"),
        ("-1/0", "-Infinity"),
        ("0/0", "NaN"),
        ("-0", "-0"),
        ("10n", "10n"),
        ("1e300*1e10", "Infinity"),
    ],
)
def test_a_value_that_json_lacks_is_unserializable(expression: str, shown: str) -> None:
    result, _ = evaluated(expression)
    assert result["result"]["unserializableValue"] == shown


@pytest.mark.parametrize(
    ("expression", "description"),
    [
        ("(", "SyntaxError: Unexpected end of input"),
        ("{", "SyntaxError: Unexpected end of input"),
        ("f(1", "SyntaxError: missing ) after argument list"),
        ("1 2", "SyntaxError: Unexpected number"),
        ("a 'b'", "SyntaxError: Unexpected string"),
        ("'abc", "SyntaxError: Invalid or unexpected token"),
        ("nowhere", "ReferenceError: nowhere is not defined\n    at <anonymous>:1:1"),
        ("1 +\n nowhere.x", "ReferenceError: nowhere is not defined\n    at <anonymous>:2:2"),
        ("null.x", "TypeError: Cannot read properties of null (reading 'x')\n    at <anonymous>:1:6"),
    ],
)
def test_an_expression_throws_the_error_of_chromium(expression: str, description: str) -> None:
    result, fake = evaluated(expression)
    assert result["exceptionDetails"]["exception"]["description"] == description
    assert fake.statistics().unmodelled == {}


@pytest.mark.parametrize(
    "expression",
    [
        *(
            "document.body",
            "x => x",
            "() => {}",
            "let a = 1",
            "var a; a",
            "a = 1",
            "if (1) 2",
            "{ 1 }",
            "await 1",
            "this",
        ),
        *(
            "/a/.test('a')",
            "`${1}`",
            "[...'ab']",
            "1 & 2",
            "a?.b",
            "x++",
            "Math.max(1, 2)",
            "'a'.at(0)",
            "({a})",
        ),
        *(
            "[1] + 1",
            "({}) == 1",
            "2n + 2n",
            "'é'[0]",
            "async () => 1",
            "delete x",
            "a\n++b",
            "class A {}",
            "1_000",
            "010",
        ),
    ],
)
def test_an_expression_that_is_not_modelled_is_counted(expression: str) -> None:
    result, fake = evaluated(expression)
    assert result == {"result": {"type": "undefined"}}
    assert fake.statistics().unmodelled == {"an expression of Runtime.evaluate": 1}


def test_a_name_in_the_answers_of_a_script_is_assumed_to_exist() -> None:
    result, fake = evaluated("app.state", Script(answers={"app.start()": Answer(1)}))
    assert result == {"result": {"type": "undefined"}}
    assert fake.statistics().unmodelled
