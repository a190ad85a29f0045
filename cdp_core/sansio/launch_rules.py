"""Decisions about starting a browser: names to look for, command lines, what a failed start means.

What each rule rests on was seen on Chromium 156 (facts 93 to 95):

* A second Chromium on a profile that is in use exits before it answers: headless with code 21, with windows with code
  0, since the first one opens a window for it. A `DevToolsActivePort` file is then that of the first browser.
* Without a usable sandbox, and as root, Chromium exits with code 1. `--no-sandbox` is never added here.
* Switches are those before `--`, with one dash or two, with spaces around them ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, cast

import attrs

from cdp_core.errors import InvalidArgument, LaunchFailed
from cdp_core.sansio.arguments import describe_kind
from cdp_core.sansio.messages import CommandId, Malformed, Payload, Refusal, Result, decode, encode_command

Way = Literal["pipe", "port"]
"""How a browser is controlled: two pipes, or a debugging port on loopback."""

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
HEADLESS_NAMES: Final = ("chromium-headless-shell", "chrome-headless-shell")
"""Programs without windows; looked for last, and only if none are wanted."""
PROFILE_LOCK: Final = "SingletonLock"
"""In the profile: a symbolic link to `host-pid` of the browser that uses it."""
STDERR_SHOWN: Final = 2048
"""Bytes of standard error that an error contains."""
SHORTEST_SECRET: Final = 6
"""Characters; a shorter argument of the program is shown if standard error contains it."""
FIRST_ID: Final = CommandId(0)
"""Ids of a link begin with 1, so the reply to the first command is never taken for one of the link's."""
FIRST_COMMAND: Final = encode_command(FIRST_ID, "Browser.getVersion", None, None)
"""Sent over a new pipe: a browser with `--remote-debugging-pipe` answers it, and another program does not."""

_PIPE_SWITCH: Final = "--remote-debugging-pipe"
_PORT_SWITCH: Final = "--remote-debugging-port=0"
_REFUSED: Final[Mapping[str, str]] = {
    "remote-debugging-pipe": 'leave it out: over="pipe" adds it',
    "remote-debugging-port": 'leave it out and pass over="port", which lets the browser choose a free port',
    "user-data-dir": "leave it out and pass its folder as user_data_dir",
}
_PROFILE_IN_USE: Final = 21
"""The exit code of a headless Chromium whose profile another browser uses."""
_PORT_FILE_MARK: Final = "\n/devtools/browser/"


# ── the command line ─────────────────────────────────────────────────────────────────────────────────────────────────


def check_argv(argv: object) -> tuple[str, ...]:
    """Return a command line as a tuple. Raises InvalidArgument unless it is a sequence of strings."""
    if isinstance(argv, (str, bytes)) or not isinstance(argv, Sequence) or not argv or not argv[0]:
        raise InvalidArgument("argv must be a sequence of strings: the program and its arguments.")
    return _checked(cast("Sequence[object]", argv))


def check_args(args: object) -> tuple[str, ...]:
    """Return further arguments. Raises InvalidArgument for those that `open_chromium` decides."""
    if isinstance(args, (str, bytes)) or not isinstance(args, Sequence):
        raise InvalidArgument(f'args must be a sequence of strings, as in ("--lang=de",), not {describe_kind(args)}.')
    checked = _checked(cast("Sequence[object]", args))
    for name, _value in _switches(checked):
        if name in _REFUSED:
            raise InvalidArgument(f"args must not contain --{name}; {_REFUSED[name]}.")
    return checked


def check_way(over: object) -> None:
    """Raise InvalidArgument unless this names a way to control a browser."""
    if over not in ("pipe", "port"):
        shown = repr(over) if isinstance(over, str) else describe_kind(over)
        raise InvalidArgument(f'over must be "pipe" or "port", not {shown}.')


def check_windows(program: str, *, headless: bool) -> None:
    """Raise InvalidArgument if windows are wanted of a program that has none."""
    if is_headless_shell(program) and not headless:
        raise InvalidArgument(
            f"headless=False needs a browser with windows, and {program} has none; "
            "leave headless=True, or pass another executable."
        )


def chromium_argv(program: str, args: Sequence[str], *, headless: bool, profile: str, over: Way) -> tuple[str, ...]:
    """Return the command line of a browser; its sandbox and other protections stay as they are."""
    return (
        program,
        *(("--headless=new",) if headless and not is_headless_shell(program) else ()),
        "--no-first-run",
        "--no-default-browser-check",
        f"--user-data-dir={profile}",
        _PIPE_SWITCH if over == "pipe" else _PORT_SWITCH,
        *args,
    )


def with_pipe_switch(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command line that contains `--remote-debugging-pipe`: without it no answer would ever come."""
    for name, value in _switches(argv[1:]):
        if name == "remote-debugging-pipe":
            if value.lower() == "cbor":
                raise InvalidArgument(
                    "argv contains --remote-debugging-pipe=cbor, and only JSON is spoken here; leave out the value."
                )
            return argv
    end = argv.index("--", 1) if "--" in argv[1:] else len(argv)
    return (*argv[:end], _PIPE_SWITCH, *argv[end:])


def names_to_look_for(executable: str | None, *, headless: bool) -> tuple[str, ...]:
    """Return the programs to look for, best first: the given one alone, or else the usual names."""
    if executable is not None:
        return (executable,)
    return (*NAMES, *HEADLESS_NAMES) if headless else NAMES


def is_headless_shell(program: str) -> bool:
    """Return True if this is a browser without windows, which knows no `--headless`."""
    name = program.replace("\\", "/").rpartition("/")[2]
    return "headless-shell" in name.replace("_", "-").lower()


def _checked(arguments: Sequence[object]) -> tuple[str, ...]:
    for argument in arguments:
        if not isinstance(argument, str) or "\0" in argument:
            raise InvalidArgument("An argument of a program is a string without a NUL byte.")
    return tuple(cast("Sequence[str]", arguments))


def _switches(arguments: Sequence[str]) -> list[tuple[str, str]]:
    """Return the name and the value of each switch, as Chromium reads them."""
    found: list[tuple[str, str]] = []
    for argument in map(str.strip, arguments):
        if argument == "--":
            break
        if argument.startswith("-"):
            name, _, value = argument.removeprefix("-").removeprefix("-").partition("=")
            found.append((name, value))
    return found


# ── the first sign of life ───────────────────────────────────────────────────────────────────────────────────────────


def is_first_reply(payload: Payload) -> bool:
    """Return True if a message is the reply to FIRST_COMMAND; a refusal is one too."""
    message = decode(payload)
    return isinstance(message, (Result, Refusal, Malformed)) and message.id == FIRST_ID


def is_new_port_file(text: str, before: str) -> bool:
    """Return True if a `DevToolsActivePort` file is complete and not the one from before the start.

    It is left behind by a browser that has ended, and it stays as it is if another browser uses the profile. Each
    browser has an id of its own, so two files are never equal.
    """
    return _PORT_FILE_MARK in text and text != before


# ── failed starts ────────────────────────────────────────────────────────────────────────────────────────────────────


@attrs.frozen(kw_only=True)
class Ended:
    """What is known of a browser that did not start; `code` is None if it had to be ended."""

    program: str
    code: int | None
    how: str
    """As in "exited with code 1"."""
    stderr: str
    profile: str | None
    """The folder that the caller gave; None for a temporary one, which no other browser can use."""
    lock: str | None
    """Where the profile's lock leads to after the end: `host-pid` of the browser that uses it."""


def not_found(names: Sequence[str], executable: str | None) -> LaunchFailed:
    """Return the error for a browser that is not installed."""
    if executable is None:
        text = (
            f"No browser was found: no folder of PATH has one of {', '.join(names)}; "
            "install Chromium or Chrome, or pass its path as executable."
        )
    elif "/" in executable:
        text = (
            f"No browser was found: {executable} does not exist or cannot be executed; "
            "pass the path of a Chromium or Chrome as executable."
        )
    else:
        text = (
            f"No browser was found: no folder of PATH has a program {executable}; "
            "install it, or pass the path of a Chromium or Chrome as executable."
        )
    return LaunchFailed(text, reason="not_found")


def not_started(why: str) -> LaunchFailed:
    """Return the error for a system that starts no program."""
    return LaunchFailed(why, reason="not_started")


def early_exit(ended: Ended) -> LaunchFailed:
    """Return the error for a browser that exited before it answered."""
    code, how = ended.code, ended.how
    if ended.profile is not None and (code == _PROFILE_IN_USE or (code == 0 and ended.lock is not None)):
        host, _, pid = (ended.lock or "").rpartition("-")
        user = f"process {pid} on {host}" if host and pid.isdecimal() else "another browser"
        return LaunchFailed(
            f"{ended.program} {how}, since the profile {ended.profile} is in use by {user}; end that browser, or pass "
            "another user_data_dir (without one, the profile is new and temporary).",
            reason="profile_in_use",
            exit_code=code,
            stderr=ended.stderr,
        )
    if "as root without --no-sandbox" in ended.stderr:
        why = "since Chromium does not run as root with its sandbox; run it as another user"
    elif "No usable sandbox" in ended.stderr:
        why = "since this system does not allow its sandbox; allow unprivileged user namespaces"
    elif code == 0:
        why = "without an answer; check that it is a Chromium browser and that args let it run"
        return _with_stderr(f"{ended.program} {how} {why}", "exited", ended)
    else:
        return _with_stderr(f"{ended.program} {how} before it answered; correct what it reports", "exited", ended)
    return LaunchFailed(
        f'{ended.program} {how}, {why}, or pass args=("--no-sandbox",) if you trust every page that it will load.',
        reason="exited",
        exit_code=code,
        stderr=ended.stderr,
    )


def no_answer(
    ended: Ended, over: Way, seconds: float, *, spoke: bool = False, refused: str | None = None
) -> LaunchFailed:
    """Return the error for a browser that runs and does not answer.

    `spoke` if it sent something else; `refused` is why the port that it named gave no link.
    """
    if refused is not None:
        text = f"{ended.program} named its debugging port and was ended, since {refused.rstrip('.')}"
    elif spoke:
        text = f"{ended.program} sent something else than the messages of a browser, so it was ended; check the program"
    else:
        missing = "did not answer over its pipe" if over == "pipe" else "opened no debugging port"
        text = (
            f"{ended.program} {missing} within {seconds:g} s (start_timeout), so it was ended; "
            "check that it is a Chromium browser, or allow more time"
        )
    return _with_stderr(text, "no_answer", ended)


def _with_stderr(text: str, reason: str, ended: Ended) -> LaunchFailed:
    shown = " ".join(ended.stderr.split())
    rest = f"; the end of its standard error: {shown}" if shown else "; it wrote nothing to standard error."
    return LaunchFailed(text + rest, reason=reason, exit_code=ended.code, stderr=ended.stderr)


def secrets_of(arguments: Sequence[str]) -> frozenset[str]:
    """Return the parts of arguments that may be secret: values of switches, and what is no switch."""
    parts = (argument.partition("=")[2] if argument.startswith("--") else argument for argument in arguments)
    return frozenset(part for part in parts if len(part) >= SHORTEST_SECRET)


def stderr_tail(octets: bytes, secrets: frozenset[str], *, is_cut: bool) -> str:
    """Return the end of standard error for an error, without secrets and without unprintable characters.

    `is_cut` if the beginning is missing already: then the first line may begin in the middle of a secret.
    """
    text = octets.decode(errors="replace")
    if is_cut:
        text = text.partition("\n")[2]
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "[argument]")
    text = "".join(char if char.isprintable() or char == "\n" else " " for char in text)
    return text.encode()[-STDERR_SHOWN:].decode(errors="ignore").strip()
