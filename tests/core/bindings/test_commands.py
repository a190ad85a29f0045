"""Commands as values: the params that they send, the arguments that they refuse, and their results."""

from __future__ import annotations

import copy
import inspect
import pickle
import sys

import attrs
import pytest

from cdp_core.bindings import (
    NULL,
    Command,
    dom,
    drift,
    emulation,
    fetch,
    forget_drift,
    from_json,
    network,
    overlay,
    page,
    parse_command,
    runtime,
    target,
)
from cdp_core.bindings import input as input_domain
from cdp_core.bindings._domain import Domain
from cdp_core.bindings._names import field_name
from cdp_core.errors import InvalidArgument
from cdp_core.sansio.messages import CommandId, TypedCommand, encode_command

# ── params ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_omitted_params_are_not_sent() -> None:
    command = page.navigate(url="about:blank")
    assert (command.method, command.to_params()) == ("Page.navigate", {"url": "about:blank"})
    assert page.navigate(url="about:blank", referrer=None, frame_id=None) == command
    assert page.enable().to_params() == {}
    assert page.navigate(url="", referrer="").to_params() == {"url": "", "referrer": ""}
    assert page.reload(ignore_cache=False).to_params() == {"ignoreCache": False}
    assert emulation.set_cpu_throttling_rate(rate=0).to_params() == {"rate": 0}


def test_null_is_sent_for_the_argument_null() -> None:
    call = runtime.call_function_on(
        function_declaration="f", arguments=[runtime.CallArgument(value=NULL), runtime.CallArgument()]
    )
    assert call.to_params() == {"functionDeclaration": "f", "arguments": [{"value": None}, {}]}
    assert page.navigate(url="", referrer=NULL).to_params() == {"url": "", "referrer": None}
    assert page.navigate(url="", referrer=NULL) != page.navigate(url="")
    assert pickle.loads(pickle.dumps(call)) == call


def test_params_have_the_order_of_the_protocol() -> None:
    command = page.navigate(frame_id="F", referrer="r", url="u")
    assert [*command.to_params()] == ["url", "referrer", "frameId"]
    assert command == page.navigate(url="u", referrer="r", frame_id="F")
    assert repr(command) == "Page.navigate(url='u', referrer='r', frameId='F')"
    assert repr(page.enable()) == "Page.enable()"


def test_lists_become_tuples_and_text_becomes_members() -> None:
    command = fetch.enable(
        patterns=[fetch.RequestPattern(url_pattern="*", request_stage="Request")], handle_auth_requests=True
    )
    assert command.to_params() == {
        "patterns": [{"urlPattern": "*", "requestStage": "Request"}],
        "handleAuthRequests": True,
    }
    (patterns, _) = dict(command.params).values()
    assert type(patterns) is tuple
    assert hash(command) == hash(pickle.loads(pickle.dumps(command)))
    key = input_domain.dispatch_key_event(type="keyDown", key="a")
    assert dict(key.params)["type"] is input_domain.DispatchKeyEventType.KEY_DOWN
    assert key == input_domain.dispatch_key_event(type=input_domain.DispatchKeyEventType.KEY_DOWN, key="a")
    assert type(key.to_params()["type"]) is str
    unknown = input_domain.dispatch_key_event(type="keyHeld")
    assert dict(unknown.params)["type"].known is False
    assert unknown.to_params() == {"type": "keyHeld"}


def test_an_alias_of_an_array_becomes_a_tuple_too() -> None:
    """`DOM.Quad` is an alias of an array of numbers."""
    given = [1, 2, 3]
    quad = parse_command("Overlay.highlightQuad", {"quad": given})
    assert quad is not None
    assert overlay.highlight_quad(quad=given) == quad
    assert hash(overlay.highlight_quad(quad=given)) == hash(quad)
    assert overlay.highlight_quad(quad=given).to_params() == {"quad": given}


def test_plain_json_is_accepted_instead_of_a_value() -> None:
    filters = [{"type": "page", "exclude": True}, target.FilterEntry()]
    command = target.set_auto_attach(auto_attach=True, wait_for_debugger_on_start=False, flatten=True, filter=filters)
    assert command.to_params()["filter"] == [{"type": "page", "exclude": True}, {}]


def test_arguments_are_copied_and_not_changed() -> None:
    files = ["a"]
    command = dom.set_file_input_files(files=files)
    files.append("b")
    assert command.to_params() == {"files": ["a"]}
    command.to_params()["files"].append("c")
    assert command.to_params() == {"files": ["a"]}


def test_a_command_can_be_encoded_by_a_session() -> None:
    command = page.navigate(url="about:blank")
    assert isinstance(command, TypedCommand)
    text = encode_command(CommandId(1), command.method, command.to_params(), None)
    assert text == b'{"id":1,"method":"Page.navigate","params":{"url":"about:blank"}}'


# ── refused arguments ────────────────────────────────────────────────────────────────────────────────────────────────


def test_type_errors_name_missing_and_unknown_arguments() -> None:
    with pytest.raises(TypeError, match=r"^page\.navigate\(\) needs url\.$"):
        page.navigate()
    with pytest.raises(TypeError, match=r"^page\.navigate\(\) needs url\.$"):
        page.navigate(url=None)
    with pytest.raises(
        TypeError, match=r"^page\.navigate\(\) has no 'frameId'; it has url, referrer, transition_type,"
    ):
        page.navigate(url="", frameId="F")
    with pytest.raises(TypeError, match=r"^page\.stop_loading\(\) has no 'now'; it has no parameters\.$"):
        page.stop_loading(now=True)
    with pytest.raises(TypeError, match="takes its params by name"):
        page.navigate("about:blank")
    with pytest.raises(TypeError, match=r"^network\.set_cookie\(\) needs name, value\.$"):
        network.set_cookie()


def test_a_command_is_immutable() -> None:
    command = page.navigate(url="about:blank")
    for name in ("method", "params", "_spec", "colour"):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            setattr(command, name, 1)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        del command.method


# ── as a value ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_commands_compare_and_hash() -> None:
    one, same = page.navigate(url="u"), page.navigate(url="u")
    assert one == same
    assert hash(one) == hash(same)
    assert one != page.navigate(url="v")
    assert page.enable() != runtime.enable()
    assert one != "Page.navigate"
    assert {one: 1}[same] == 1
    with pytest.raises(TypeError):
        hash(runtime.evaluate(expression="x", serialization_options={"serialization": "json"}))


def test_commands_are_copied_and_pickled() -> None:
    command = runtime.call_function_on(
        function_declaration="f", arguments=[runtime.CallArgument(value={"a": [1]})], object_id="1"
    )
    for again in (pickle.loads(pickle.dumps(command)), copy.copy(command), copy.deepcopy(command)):
        assert again == command
        assert again.to_params() == command.to_params()
        assert again.parse({"result": {"type": "undefined"}}).result.type == "undefined"


def test_a_pickle_with_an_unknown_command_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    written = pickle.dumps(page.stop_loading(), protocol=0)
    assert pickle.loads(written) == page.stop_loading()
    for other in (b"stop_dreaming", b"Frame", b"DOMAIN"):
        with pytest.raises(
            InvalidArgument, match=rf"command cdp_core\.bindings\.page\.{other.decode()} does not exist here"
        ):
            pickle.loads(written.replace(b"stop_loading", other))
    with pytest.raises(InvalidArgument, match=r"command cdp_core\.bindings\.dream\.stop_loading does not exist here"):
        pickle.loads(written.replace(b"bindings.page", b"bindings.dream"))


# ── results ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_result_is_a_value_even_with_a_single_field() -> None:
    forget_drift()
    result = page.navigate(url="").parse({"frameId": "F", "loaderId": "L"})
    assert result == page.NavigateResult(frame_id="F", loader_id="L")
    assert type(page.get_frame_tree().parse({"frameTree": {"frame": {}}})) is page.GetFrameTreeResult
    forget_drift()
    assert page.enable().parse({}) is None
    assert runtime.discard_console_entries().parse({}) is None
    assert not drift()


def test_unknown_fields_of_a_result_are_counted() -> None:
    forget_drift()
    result = page.navigate(url="").parse({"frameId": "F", "colour": 1})
    assert result.extra == {"colour": 1}
    assert page.enable().parse({"colour": 1}) is None
    assert drift().unknown_fields == {"Page.NavigateResult.colour": 1, "Page.enable.colour": 1}


def test_a_missing_field_of_a_result_raises_only_when_it_is_read() -> None:
    result = page.navigate(url="").parse({})
    assert result.loader_id is None
    with pytest.raises(AttributeError, match=r"Page\.NavigateResult\.frameId"):
        _ = result.frame_id


# ── the functions ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_function_has_a_docstring_and_a_signature(domain: Domain) -> None:
    for name, (marks, params, _returns) in domain.table.commands.items():
        function = domain.get(field_name(name))
        assert (function.__name__, function.__qualname__) == (field_name(name), field_name(name))
        assert function.__module__ == domain.module
        assert sys.modules[function.__module__].DOMAIN is domain
        doc = function.__doc__
        words_of_marks = "Experimental. " * ("~" in marks) + "Deprecated. " * ("!" in marks)
        address = f"https://chromedevtools.github.io/devtools-protocol/tot/{domain.name}/#method-{name}"
        assert doc == f"{domain.name}.{name}. {words_of_marks}{address}"
        signature = inspect.signature(function)
        assert [*signature.parameters] == [field_name(text.rstrip().split(":")[0].strip("?~!")) for text in params]
        for parameter, text in zip(signature.parameters.values(), params, strict=True):
            assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
            optional = "?" in text.split(":")[0]
            assert parameter.default is (None if optional else inspect.Parameter.empty)


def test_functions_are_pickled_by_their_names() -> None:
    assert pickle.loads(pickle.dumps(page.navigate)) is page.navigate


def test_a_parsed_command_equals_the_original() -> None:
    command = runtime.call_function_on(
        function_declaration="f", arguments=[runtime.CallArgument(object_id="1")], throw_on_side_effect=True
    )
    assert parse_command(command.method, command.to_params()) == command
    assert from_json(runtime.CallArgument, {"objectId": "1"}) in dict(command.params)["arguments"]
    forget_drift()
    odd = parse_command("Page.navigate", {"colour": 1, "url": None, "frameId": "F"})
    assert isinstance(odd, Command)
    assert odd.to_params() == {"colour": 1, "url": None, "frameId": "F"}
    assert drift().total == 2
    assert odd == pickle.loads(pickle.dumps(odd))
    assert parse_command("Page.enable") == parse_command("Page.enable", {}) == page.enable()
