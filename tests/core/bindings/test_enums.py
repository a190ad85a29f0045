"""Enumerations: each member is a string with the flag `known`; any other string is a member too."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdp_core.bindings import EnumValue, drift, forget_drift, from_json, page, runtime, to_json
from cdp_core.errors import InvalidArgument

DialogType = page.DialogType


def test_a_known_member_is_one_object_however_it_is_made() -> None:
    alert = DialogType.ALERT
    assert alert is DialogType("alert") is from_json(DialogType, "alert") is DialogType(alert)
    assert alert is pickle.loads(pickle.dumps(alert)) is copy.copy(alert) is copy.deepcopy(alert)
    assert alert.known
    assert type(alert) is DialogType
    assert DialogType.members() == (alert, DialogType.CONFIRM, DialogType.PROMPT, DialogType.BEFOREUNLOAD)
    assert [type(member) for member in DialogType.members()] == [DialogType] * 4


@given(st.text())
def test_a_member_behaves_like_its_text(text: str) -> None:
    member = DialogType(text)
    assert member.known is (text in ("alert", "confirm", "prompt", "beforeunload"))
    assert member == text
    assert text == member
    assert hash(member) == hash(text)
    assert {text: 1}[member] == 1
    assert str(member) == text == f"{member}" == "%s" % member  # noqa: UP031
    assert type(str(member)) is type(to_json(member)) is str
    assert json.dumps(member) == json.dumps(text)
    assert repr(member) == f"DialogType({text!r})"
    assert member + "x" == text + "x"
    for again in (DialogType(member), pickle.loads(pickle.dumps(member)), copy.copy(member), copy.deepcopy(member)):
        assert type(again) is DialogType
        assert again == member
        assert again.known is member.known


@given(st.text().filter(lambda text: not DialogType(text).known))
def test_reading_an_unknown_member_is_counted(text: str) -> None:
    forget_drift()
    DialogType(text)
    assert not drift()
    assert from_json(DialogType, text) == text
    assert drift().total == sum(drift().unknown_members.values()) == 1


def test_a_lone_surrogate_is_a_member_too() -> None:
    member = DialogType("\ud800")
    assert not member.known
    assert pickle.loads(pickle.dumps(member)) == member
    assert repr(member) == "DialogType('\\ud800')"


@pytest.mark.parametrize("value", [None, 5, 1.5, True, [], ["alert"], {}, {"alert": 1}, b"alert"])
def test_only_a_string_makes_a_member(value: object) -> None:
    with pytest.raises(InvalidArgument, match="DialogType") as caught:
        from_json(DialogType, value)
    assert type(value).__name__ in str(caught.value)
    with pytest.raises(InvalidArgument, match=r"^DialogType is made from a string, not from "):
        DialogType(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["ALERT", "known", "members", "__cdp_members__", "TOAST"])
def test_an_enumeration_is_immutable(name: str) -> None:
    before = getattr(DialogType, name, None)
    with pytest.raises(AttributeError, match=f"DialogType.{name} cannot be set"):
        setattr(DialogType, name, DialogType.CONFIRM)
    with pytest.raises(AttributeError, match=f"DialogType.{name} cannot be deleted"):
        delattr(DialogType, name)
    assert getattr(DialogType, name, None) == before


def test_members_of_two_enumerations_compare_as_strings() -> None:
    assert EnumValue("alert") == page.DialogType.ALERT
    assert page.DialogType("error") == runtime.ConsoleAPICalledType("error")
    assert page.DialogType("error").known is False
    assert runtime.ConsoleAPICalledType("error").known is True
    assert EnumValue("alert").known is False


def test_member_names_are_adapted_to_python() -> None:
    assert runtime.RemoteObjectSubtype.NULL == "null"
    assert runtime.UnserializableValue is not None
    assert page.TransitionType("address_bar") is page.TransitionType.ADDRESS_BAR


def test_no_attribute_can_be_added() -> None:
    with pytest.raises(AttributeError):
        DialogType.ALERT.colour = 1
    with pytest.raises(AttributeError):
        DialogType("toast").colour = 1


def test_members_in_a_match_statement() -> None:
    def kind(member: DialogType) -> str:
        match member:
            case DialogType.ALERT:
                return "alert"
            case "prompt":
                return "prompt"
            case DialogType(known=False):
                return "new"
            case _:
                return "other"

    assert [*map(kind, map(DialogType, ("alert", "prompt", "toast", "confirm")))] == ["alert", "prompt", "new", "other"]
