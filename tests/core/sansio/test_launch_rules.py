"""Decisions about starting a browser: command lines, refused arguments, failed starts."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdp_core.errors import InvalidArgument, LaunchFailed
from cdp_core.sansio import launch_rules
from cdp_core.sansio.launch_rules import (
    FIRST_COMMAND,
    HEADLESS_NAMES,
    NAMES,
    STDERR_SHOWN,
    Ended,
    Way,
    check_args,
    check_argv,
    check_way,
    check_windows,
    chromium_argv,
    early_exit,
    is_first_reply,
    is_headless_shell,
    is_new_port_file,
    names_to_look_for,
    no_answer,
    not_found,
    not_started,
    secrets_of,
    stderr_tail,
    with_pipe_switch,
)

PROGRAM = "/usr/bin/chromium"
AS_ROOT = "[1:2:ERROR:host.cc:103] Running as root without --no-sandbox is not supported. See https://crbug.com/638180."
NO_SANDBOX = "[1:2:FATAL:host.cc:130] No usable sandbox! If you want to live dangerously, try using --no-sandbox."
FILE = "44909\n/devtools/browser/54626841-1de7-4882-82f2-052e4c4dd2fc"
OTHER_FILE = "44909\n/devtools/browser/91d95d69-6904-4af7-a911-236f84c09b0f"


def ended(code: int | None, stderr: str = "", *, profile: str | None = None, lock: str | None = None) -> Ended:
    return Ended(program=PROGRAM, code=code, how=f"exited with code {code}", stderr=stderr, profile=profile, lock=lock)


def assert_advises(error: LaunchFailed, *parts: str) -> None:
    """Assert that the text is one line of one or two sentences with these parts."""
    text = str(error)
    assert text.isprintable(), text
    assert not re.search(r"[.?!]{2}|\s[.?!,;]", text), text
    for part in parts:
        assert part in text


# ── the command line ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("program", "headless", "over", "expected"),
    [
        (PROGRAM, True, "pipe", ["--headless=new", "--remote-debugging-pipe"]),
        (PROGRAM, True, "port", ["--headless=new", "--remote-debugging-port=0"]),
        (PROGRAM, False, "pipe", ["--remote-debugging-pipe"]),
        ("/opt/chrome-headless-shell", True, "pipe", ["--remote-debugging-pipe"]),
    ],
)
def test_a_command_line_has_a_profile_a_way_in_and_the_callers_switches_last(
    program: str, headless: bool, over: Way, expected: list[str]
) -> None:
    argv = chromium_argv(program, ["--lang=de", "https://shop.example"], headless=headless, profile="/p", over=over)
    common = {"--no-first-run", "--no-default-browser-check", "--user-data-dir=/p"}
    assert argv[0] == program
    assert argv[-2:] == ("--lang=de", "https://shop.example")
    assert [each for each in argv[1:-2] if each not in common] == expected
    assert common <= set(argv)


def test_nothing_that_weakens_security_is_added() -> None:
    for over in ("pipe", "port"):
        for program in (PROGRAM, "headless_shell"):
            argv = chromium_argv(program, [], headless=True, profile="/p", over=over)  # type: ignore[arg-type]
            assert not [each for each in argv if re.search("sandbox|disable|allow|insecure|ignore", each)]


def test_a_headless_shell_has_no_windows_to_show() -> None:
    with pytest.raises(InvalidArgument, match="headless=True"):
        check_windows("headless_shell", headless=False)
    check_windows("headless_shell", headless=True)
    check_windows(PROGRAM, headless=False)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("chromium-headless-shell", True),
        ("/opt/chrome-headless-shell-linux64/chrome-headless-shell", True),
        ("C:\\tools\\headless_shell.exe", True),
        ("/opt/chrome-headless-shell-linux64/chrome", False),
        (PROGRAM, False),
    ],
)
def test_a_headless_shell_is_known_by_the_name_of_its_file(program: str, expected: bool) -> None:
    assert is_headless_shell(program) is expected


def test_names_with_windows_come_first() -> None:
    assert names_to_look_for(None, headless=True) == (*NAMES, *HEADLESS_NAMES)
    assert names_to_look_for(None, headless=False) == NAMES
    assert names_to_look_for("brave", headless=True) == ("brave",)
    assert list(map(is_headless_shell, names_to_look_for(None, headless=True))) == [False] * 5 + [True] * 2


@pytest.mark.parametrize(
    ("argument", "name", "advice"),
    [
        ("--remote-debugging-port=9222", "remote-debugging-port", 'over="port"'),
        ("--remote-debugging-port", "remote-debugging-port", 'over="port"'),
        ("--remote-debugging-pipe", "remote-debugging-pipe", 'over="pipe"'),
        ("--user-data-dir=/secret", "user-data-dir", "user_data_dir"),
        ("-user-data-dir=/secret", "user-data-dir", "user_data_dir"),
        ("  --user-data-dir=/secret ", "user-data-dir", "user_data_dir"),
    ],
)
def test_what_open_chromium_decides_is_refused_in_args(argument: str, name: str, advice: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        check_args(["--lang=de", argument])
    assert f"--{name};" in str(caught.value)
    assert advice in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "args",
    [
        (),
        ["--no-sandbox", "https://shop.example/?--user-data-dir=/x"],
        ["--user-data-dir-other=1", "--remote-debugging-address=::1"],
        ["--", "--user-data-dir=/x"],
        ["user-data-dir=/x"],
    ],
)
def test_other_args_are_passed_on(args: Any) -> None:
    assert check_args(args) == tuple(args)


@pytest.mark.parametrize("args", ["--no-sandbox", b"--x", None, 5, {"--x"}, ["--x", 5], ["a\0b"], [None]])
def test_args_that_are_no_strings_are_refused(args: Any) -> None:
    with pytest.raises(InvalidArgument):
        check_args(args)


@pytest.mark.parametrize("argv", [None, 5, [], [""], "program", b"program", {"program"}, ["a", 5], [5], ["a", "\0"]])
def test_a_command_line_that_is_none_is_refused(argv: Any) -> None:
    with pytest.raises(InvalidArgument):
        check_argv(argv)


@pytest.mark.parametrize(("over", "shown"), [("websocket", "'websocket'"), (None, "NoneType"), (["pipe"], "list")])
def test_an_unknown_way_is_refused(over: Any, shown: str) -> None:
    with pytest.raises(InvalidArgument, match=shown):
        check_way(over)


def test_both_ways_are_known() -> None:
    check_way("pipe")
    check_way("port")


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ("chromium", "chromium --remote-debugging-pipe"),
        ("chromium --lang=de", "chromium --lang=de --remote-debugging-pipe"),
        ("chromium --lang=de -- x", "chromium --lang=de --remote-debugging-pipe -- x"),
        ("chromium -- --remote-debugging-pipe", "chromium --remote-debugging-pipe -- --remote-debugging-pipe"),
        ("-- --lang=de", "-- --lang=de --remote-debugging-pipe"),
        ("chromium --remote-debugging-pipe x", "chromium --remote-debugging-pipe x"),
        ("chromium -remote-debugging-pipe=JSON", "chromium -remote-debugging-pipe=JSON"),
        ("--remote-debugging-pipe", "--remote-debugging-pipe --remote-debugging-pipe"),
    ],
)
def test_the_switch_of_the_pipe_is_added_if_it_is_missing(argv: str, expected: str) -> None:
    assert with_pipe_switch(check_argv(argv.split())) == tuple(expected.split())


def test_messages_in_cbor_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="leave out the value"):
        with_pipe_switch(("chromium", "--remote-debugging-pipe=CBOR"))


# ── the first sign of life ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b'{"id":0,"result":{}}', True),
        (b'{"id":0,"error":{"code":-32601,"message":"no"}}', True),
        (b'{"id":0}', True),
        (b'{"id":1,"result":{}}', False),
        (b'{"method":"Target.targetCreated","params":{}}', False),
        (b'{"error":{"code":-32700,"message":"no"}}', False),
        (b"hello", False),
    ],
)
def test_the_first_reply_is_recognised(message: bytes, expected: bool) -> None:
    assert is_first_reply(message) is expected
    assert FIRST_COMMAND == b'{"id":0,"method":"Browser.getVersion"}'


@pytest.mark.parametrize(
    ("text", "before", "expected"),
    [
        (FILE, "", True),
        (FILE, OTHER_FILE, True),
        (FILE, FILE, False),
        ("", "", False),
        ("", FILE, False),
        ("44909\n", "", False),
    ],
)
def test_a_port_file_counts_if_it_is_complete_and_new(text: str, before: str, expected: bool) -> None:
    assert is_new_port_file(text, before) is expected


# ── failed starts ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_not_found_names_what_was_looked_for() -> None:
    error = not_found(NAMES, None)
    assert (error.reason, error.exit_code, error.stderr) == ("not_found", None, "")
    assert_advises(error, *NAMES, "as executable", "PATH")
    assert_advises(not_found(["/opt/x/chrome"], "/opt/x/chrome"), "/opt/x/chrome does not exist or cannot be executed")
    assert_advises(not_found(["brave"], "brave"), "no folder of PATH has a program brave")


def test_a_system_that_starts_nothing_is_reported() -> None:
    error = not_started("sh could not be run; check it.")
    assert (str(error), error.reason) == ("sh could not be run; check it.", "not_started")


@pytest.mark.parametrize("code", [21, 0])
def test_a_profile_in_use_is_named_with_its_user(code: int) -> None:
    error = early_exit(ended(code, "some text", profile="/p", lock="my-host-4711"))
    assert (error.reason, error.exit_code, error.stderr) == ("profile_in_use", code, "some text")
    assert_advises(error, "the profile /p is in use by process 4711 on my-host", "user_data_dir")


@pytest.mark.parametrize("lock", [None, "", "4711", "host-", "-4711", "host-x"])
def test_a_profile_in_use_without_a_readable_lock(lock: str | None) -> None:
    error = early_exit(ended(21, profile="/p", lock=lock))
    assert error.reason == "profile_in_use"
    assert_advises(error, "in use by another browser")


@pytest.mark.parametrize(
    "end",
    [
        ended(0, profile="/p", lock=None),
        ended(0, profile=None, lock="host-1"),
        ended(21, profile=None, lock="host-1"),
        ended(1, profile="/p", lock="host-1"),
    ],
)
def test_other_exits_are_not_taken_for_a_profile_in_use(end: Ended) -> None:
    assert early_exit(end).reason == "exited"


@pytest.mark.parametrize(("stderr", "why"), [(AS_ROOT, "as root"), (NO_SANDBOX, "user namespaces")])
def test_a_refused_sandbox_names_the_switch(stderr: str, why: str) -> None:
    error = early_exit(ended(1, stderr))
    assert (error.reason, error.exit_code, error.stderr) == ("exited", 1, stderr)
    assert_advises(error, why, 'args=("--no-sandbox",)', "exited with code 1")


def test_an_early_exit_shows_its_code_and_the_end_of_standard_error() -> None:
    error = early_exit(ended(7, "one\n  two"))
    assert (error.reason, error.exit_code, error.stderr) == ("exited", 7, "one\n  two")
    assert_advises(error, f"{PROGRAM} exited with code 7 before it answered", "the end of its standard error: one two")
    assert_advises(early_exit(ended(-9)), "exited with code -9", "it wrote nothing to standard error.")
    assert_advises(early_exit(ended(0)), "exited with code 0 without an answer", "it wrote nothing")


def test_a_browser_that_does_not_answer_is_reported_with_the_limit() -> None:
    error = no_answer(ended(None, "busy"), "pipe", 1.5)
    assert (error.reason, error.exit_code, error.stderr) == ("no_answer", None, "busy")
    assert_advises(error, "did not answer over its pipe within 1.5 s (start_timeout)", "ended", "error: busy")
    assert_advises(no_answer(ended(None), "port", 2), "opened no debugging port within 2 s", "wrote nothing")
    assert_advises(no_answer(ended(None), "pipe", 2, spoke=True), "something else than the messages of a browser")
    refused = "ws://127.0.0.1:1/… cannot be reached (Connection refused); check the port."
    assert_advises(
        no_answer(ended(None), "port", 2, refused=refused), "since ws://127.0.0.1:1/… cannot", "port; it wrote"
    )


# ── standard error ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_values_and_positional_arguments_may_be_secret() -> None:
    arguments = [
        "--proxy-server=hunter2!",
        "--no-sandbox",
        "-ptopsecret",
        "https://shop.example",
        "--a=short",
        "short",
        "sixsix",
    ]
    assert secrets_of(arguments) == {"hunter2!", "-ptopsecret", "https://shop.example", "sixsix"}


def test_standard_error_is_shown_without_secrets_and_control_characters() -> None:
    text = stderr_tail(
        b"a\x1b[1m hunter2! and hunter2!!!\n\xff \n", frozenset({"hunter2!", "hunter2!!!"}), is_cut=False
    )
    assert text == "a [1m [argument] and [argument]\n�"


def test_a_cut_first_line_is_left_out() -> None:
    assert stderr_tail(b"cret\nrest", frozenset({"secret"}), is_cut=True) == "rest"
    assert stderr_tail(b"first\nrest", frozenset(), is_cut=False) == "first\nrest"


@given(octets=st.binary(max_size=6000), is_cut=st.booleans())
def test_standard_error_is_never_longer_than_promised(octets: bytes, is_cut: bool) -> None:
    text = stderr_tail(octets, frozenset(), is_cut=is_cut)
    assert len(text.encode()) <= STDERR_SHOWN
    assert text.replace("\n", "").isprintable()


def test_the_end_of_standard_error_is_what_is_kept() -> None:
    octets = b"".join(b"line %d\n" % number for number in range(1000))
    text = stderr_tail(octets, frozenset(), is_cut=False)
    assert text.endswith("line 999")
    assert STDERR_SHOWN - 10 < len(text) <= STDERR_SHOWN
    assert stderr_tail("é".encode() * 1025, frozenset(), is_cut=False) == "é" * 1024


def test_every_documented_reason_is_used() -> None:
    made = [
        not_found(NAMES, None),
        not_started("It failed; try again."),
        early_exit(ended(21, profile="/p")),
        early_exit(ended(3)),
        no_answer(ended(None), "pipe", 1),
    ]
    assert {f'`"{error.reason}"`' for error in made} == set(re.findall(r'`"\w+"`', LaunchFailed.__doc__ or ""))
    assert launch_rules.__doc__
