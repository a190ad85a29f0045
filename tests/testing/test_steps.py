"""Scripts are values: they print as Python and survive JSON; an error names its place in the script."""

from __future__ import annotations

import json
import math
from typing import Any, get_args

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdp_core.errors import InvalidArgument
from cdp_core.testing import steps as kinds
from cdp_core.testing.steps import (
    KINDS,
    AddFrame,
    Answer,
    Close,
    Console,
    Dialog,
    MoveFrame,
    Navigate,
    Popup,
    RemoveFrame,
    Script,
    Step,
    Wait,
    Worker,
    labels_made,
    labels_used,
)
from cdp_core.testing.strategies import scripts, steps

Json = dict[str, Any]


@given(step=steps())
def test_a_step_prints_as_the_python_that_makes_it(step: Step) -> None:
    assert eval(repr(step), dict(vars(kinds))) == step
    assert hash(step) == hash(eval(repr(step), dict(vars(kinds))))


@given(script=scripts())
def test_a_script_prints_as_the_python_that_makes_it(script: Script) -> None:
    assert eval(repr(script), dict(vars(kinds))) == script


def test_defaults_are_not_printed() -> None:
    assert repr(AddFrame("ad")) == "AddFrame('ad')"
    assert repr(AddFrame("ad", parent="shop")) == "AddFrame('ad', parent='shop')"
    assert repr(Popup("p", noopener=True)) == "Popup('p', noopener=True)"
    assert repr(Dialog("alert", "hi")) == "Dialog(message='hi')"
    assert repr(Script()) == "Script()"
    assert repr(Wait(1)) == "Wait(1)"
    script = Script(pages={"a": [Console("x")]}, answers={"f()": Answer(1, [Wait(2)])})
    assert repr(script) == ("Script(pages={'a': (Console('x'),)}, answers={'f()': Answer(value=1, steps=(Wait(2),))})")


@given(script=scripts())
def test_a_script_survives_json(script: Script) -> None:
    assert Script.from_json(script.to_json()) == script
    text = json.dumps(script.to_json())
    assert Script.from_json(text) == script
    assert Script.from_json(text.encode()) == script


def test_every_kind_of_step_is_registered_by_name() -> None:
    assert set(KINDS.values()) == set(get_args(Step))
    assert all(name == kind.__name__ and name in kinds.__all__ for name, kind in KINDS.items())


def test_a_script_is_immutable() -> None:
    pages = {"a": [Console("x")]}
    script = Script(pages=pages)
    pages["a"].append(Console("y"))
    pages["b"] = []
    assert script == Script(pages={"a": [Console("x")]})
    with pytest.raises(TypeError):
        script.pages["c"] = ()  # type: ignore[index]
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        script.timeline = ()  # type: ignore[misc]


STEP = {"step": "Console", "text": "x"}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "A script must be a JSON object with pages, timeline, answers, served, overrides."),
        ("[]", "A script must be a JSON object with pages, timeline, answers, served, overrides."),
        ("[" * 100_000, "A script must be a JSON object with pages, timeline, answers, served, overrides."),
        ({"page": {}}, "A script has no member 'page'; its members are pages, timeline, answers, served, overrides."),
        (
            {"served": {"u": {"csp": ""}}},
            "served['u'] has missing or unknown members; Served takes content, permissions, seconds.",
        ),
        ({"overrides": {"x": 5}}, "overrides['x'] must be an object."),
        ({"overrides": {"x": {}}}, "overrides['x'] has missing or unknown members; Override takes url, accept, text."),
        ({"pages": []}, "pages of a script must be an object."),
        ({"answers": 1}, "answers of a script must be an object."),
        ({"timeline": {}}, "timeline must be a list of steps."),
        ({"pages": {"u": "abc"}}, "pages['u'] must be a list of steps."),
        ({"pages": {"u": [STEP, 5]}}, "pages['u'][1] is not a step; the steps are AddFrame"),
        ({"timeline": [{"step": "Explode"}]}, "timeline[0] is not a step; the steps are AddFrame"),
        ({"timeline": [{"step": ["Wait"]}]}, "timeline[0] is not a step; the steps are AddFrame"),
        (
            {"timeline": [{**STEP, "color": "red"}]},
            "timeline[0] has missing or unknown members; Console takes text, type, frame, times, at.",
        ),
        ({"timeline": [{"step": "Cut", "x": 1}]}, "timeline[0] has missing or unknown members; Cut takes none."),
        (
            {"timeline": [{"step": "Console"}]},
            "timeline[0] has missing or unknown members; Console takes text, type, frame, times, at.",
        ),
        ({"timeline": [{"step": "Console", "text": 5}]}, "timeline[0]: text must be a text, not 5."),
        ({"timeline": [{"step": "Wait", "seconds": -1}]}, "timeline[0]: seconds must be a number of seconds, not -1."),
        ({"timeline": [{"step": "AddFrame", "label": ""}]}, "label must be a text that is not empty, not ''."),
        (
            {"timeline": [{"step": "Dialog", "type": "toast"}]},
            "timeline[0]: type must be one of alert, confirm, prompt, beforeunload, not 'toast'.",
        ),
        (
            {"timeline": [{"step": "Dialog", "type": []}]},
            "timeline[0]: type must be one of alert, confirm, prompt, beforeunload, not [].",
        ),
        ({"answers": {"f()": 5}}, "answers['f()'] must be an object with value and steps."),
        ({"answers": {"f()": {"valeu": 5}}}, "answers['f()'] must be an object with value and steps."),
        ({"answers": {"f()": {"steps": [5]}}}, "answers['f()'].steps[0] is not a step"),
        (
            {"timeline": [{"step": "RemoveFrame", "label": "ad"}]},
            "No step of the script makes 'ad'; use one of these labels: main.",
        ),
    ],
)
def test_an_invalid_script_is_refused_with_the_place(content: Any, expected: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        Script.from_json(content)
    assert expected in str(refused.value)


@given(
    content=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["pages", "timeline", "answers", "step", "steps", "text", "label", "seconds"]), inner
            )
        ),
    )
)
def test_any_json_is_a_script_or_refused(content: Any) -> None:
    try:
        script = Script.from_json(content)
    except InvalidArgument:
        return
    assert Script.from_json(script.to_json()) == script


@pytest.mark.parametrize("seconds", [math.inf, math.nan, -0.5, True, "1", None])
def test_a_wait_refuses_an_invalid_number_of_seconds(seconds: Any) -> None:
    with pytest.raises(InvalidArgument, match="seconds must be a number of seconds"):
        Wait(seconds)


def test_a_flag_must_be_true_or_false() -> None:
    with pytest.raises(InvalidArgument, match="noopener must be true or false, not 'yes'"):
        Popup("p", noopener="yes")  # type: ignore[arg-type]


def test_a_timeline_accepts_only_steps() -> None:
    with pytest.raises(InvalidArgument, match=r"^'x' is not a step; the steps are AddFrame"):
        Script(timeline=["x"])  # type: ignore[list-item]


def test_the_labels_that_steps_make_and_use_are_listed() -> None:
    made = (AddFrame("a", parent="b"), Popup("p", opener="q"), Worker("w", frame="f"), Navigate("u"))
    assert labels_made(made) == {"a", "p", "w"}
    assert labels_used(made) == {"b", "q", "f", "main"}
    assert labels_used([RemoveFrame("r"), MoveFrame("m"), Close("c"), Wait(1)]) == {"r", "m", "c"}


def test_a_label_can_be_made_anywhere_in_the_script() -> None:
    Script(pages={"u": [AddFrame("a")]}, timeline=[RemoveFrame("a")])
    Script(timeline=[Close("page 2"), Close("popup 3")])  # pages that a client opened
    with pytest.raises(InvalidArgument, match="No step of the script makes 'a'; use one of these labels: b, main"):
        Script(pages={"u": [AddFrame("b")]}, answers={"f()": Answer(steps=[Console("x", frame="a")])})
