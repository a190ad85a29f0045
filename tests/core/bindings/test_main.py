"""`python -m cdp_core.bindings diff`: output and exit code for files, browsers and invalid arguments."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from cdp_core.bindings import PROTOCOL
from cdp_core.bindings.__main__ import main
from cdp_core.bindings._catalog import domain_names
from cdp_core.sansio.addresses import MAX_PROTOCOL_BYTES

Json = dict[str, Any]
Diff = Callable[..., tuple[int, list[str], str]]
SCHEMA = {
    "domain": "Schema",
    "deprecated": True,
    "types": [
        {
            "id": "Domain",
            "type": "object",
            "properties": [{"name": "name", "type": "string"}, {"name": "version", "type": "string"}],
        }
    ],
    "commands": [
        {"name": "getDomains", "returns": [{"name": "domains", "type": "array", "items": {"$ref": "Domain"}}]}
    ],
}
"""The domain Schema as the bindings have it."""


def described(*domains: Json) -> Json:
    return {"version": {"major": "1", "minor": "3"}, "domains": list(domains)}


@pytest.fixture
def diff(capsys: pytest.CaptureFixture[str]) -> Diff:
    """Run the command; return its exit code, its output lines and its error text."""

    def run(*where: object) -> tuple[int, list[str], str]:
        code = main(["diff", *map(str, where)])
        printed = capsys.readouterr()
        return code, printed.out.splitlines(), printed.err

    return run


@pytest.fixture
def bindings_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Reduce the bindings to these domains."""

    def only(*names: str) -> None:
        monkeypatch.setattr("cdp_core.bindings.__main__.domain_names", lambda: names)

    return only


def write(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_no_difference_ends_with_0(diff: Diff, bindings_of: Callable[..., None], tmp_path: Path) -> None:
    bindings_of("Schema")
    code, printed, error = diff(write(tmp_path / "own.json", described(SCHEMA)))
    assert (code, error) == (0, "")
    assert printed == [f"no difference between own.json (+) and the bindings of {PROTOCOL} (-)"]


def test_a_difference_ends_with_1(diff: Diff, bindings_of: Callable[..., None], tmp_path: Path) -> None:
    bindings_of("Schema")
    changed = {**SCHEMA, "deprecated": False}
    code, printed, error = diff(write(tmp_path / "own.json", described(changed)))
    assert (code, error) == (1, "")
    assert printed == [
        "~ Schema: domain; neither experimental nor deprecated there, deprecated here",
        f"1 difference between own.json (+) and the bindings of {PROTOCOL} (-)",
    ]
    code, printed, _ = diff(write(tmp_path / "own.json", described({**changed, "events": [{"name": "e"}]})))
    assert code == 1
    assert printed[1:] == [
        "+ Schema.e: event",
        f"2 differences between own.json (+) and the bindings of {PROTOCOL} (-)",
    ]


def test_domains_that_a_small_protocol_lacks_are_listed(diff: Diff, tmp_path: Path) -> None:
    code, printed, _ = diff(write(tmp_path / "small.json", described(SCHEMA)))
    assert code == 1
    assert len(printed) == len(domain_names())
    assert all(line.startswith("- ") for line in printed[:-1])
    assert printed[-1].startswith(f"{len(domain_names()) - 1} differences between small.json (+)")


def test_several_files_are_one_protocol(diff: Diff, bindings_of: Callable[..., None], tmp_path: Path) -> None:
    bindings_of("Schema")
    event = {"name": "e", "parameters": [{"name": "f", "$ref": "Schema.Domain"}]}
    first = write(tmp_path / "a.json", described({"domain": "Aa", "events": [event]}))
    second = write(tmp_path / "b.json", described(SCHEMA))
    code, printed, _ = diff(first, second)
    assert code == 1
    assert printed == [
        "+ Aa: domain with 0 commands and 1 events",
        f"1 difference between a.json and b.json (+) and the bindings of {PROTOCOL} (-)",
    ]


def test_a_listed_domain_without_a_module_is_skipped(
    diff: Diff, bindings_of: Callable[..., None], tmp_path: Path
) -> None:
    bindings_of("Schema", "Unheard")
    assert diff(write(tmp_path / "own.json", described(SCHEMA)))[0] == 0


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "cannot be read (No such file or directory); give a protocol file, or a browser's address."),
        ("{", "is not a protocol description: it is not JSON."),
        ("", "is not a protocol description: it is not JSON."),
        ("[" * 200_000, "is not a protocol description: it is not JSON."),
        ('{"domains": "\udcff"}', "it is not JSON."),
        ("[]", "a.json is not a protocol description: it has no list of domains."),
        ('{"domains": []}', "a.json is not a protocol description: its list of domains is empty."),
        ('{"domains": [3]}', "a.json: domain 0 is not a JSON object."),
        ('{"domains": [{"domain": "Aa", "types": [{"id": "T"}]}]}', "a.json: Aa: T is of the unknown type None."),
    ],
)
def test_an_invalid_file_ends_with_2(diff: Diff, tmp_path: Path, content: str | None, expected: str) -> None:
    path = tmp_path / "a.json"
    if content is not None:
        path.write_bytes(content.encode(errors="surrogateescape"))
    code, printed, error = diff(path)
    assert (code, printed) == (2, [])
    assert error.startswith("cdp_core.bindings: ")
    assert error.endswith(f"{expected}\n")
    assert error.count("\n") == 1


def test_files_of_two_versions_end_with_2(diff: Diff, tmp_path: Path) -> None:
    newer = {**described({"domain": "Aa"}), "version": {"major": "1", "minor": "4"}}
    code, printed, error = diff(write(tmp_path / "a.json", described(SCHEMA)), write(tmp_path / "b.json", newer))
    assert (code, printed) == (2, [])
    assert error == (
        "cdp_core.bindings: b.json is of version 1.4, but a.json is of 1.3; give two files of one version.\n"
    )


@pytest.mark.parametrize("where", ["x" * 5000, "a\0b", "", "no/such/DevToolsActivePort", "ftp://host", "host:99999"])
def test_an_argument_that_is_neither_a_file_nor_an_address_ends_with_2(
    diff: Diff, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, printed, error = diff(where)
    assert (code, printed) == (2, [])
    assert error.startswith("cdp_core.bindings: ")
    assert error.count("\n") == 1


# ── over HTTP ────────────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def serving(body: bytes, status: int = 200) -> Iterator[tuple[int, list[str]]]:
    """Serve this body at every path; yield the port and the list of requested paths."""
    requested_paths: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requested_paths.append(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(OSError):  # the client may close before it has read everything
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_port, requested_paths
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:{}", "127.0.0.1:{}", ":{}", "{}", "ws://127.0.0.1:{}/devtools/browser/some-secret-id"]
)
def test_the_protocol_of_a_browser_is_fetched_over_http(
    diff: Diff, bindings_of: Callable[..., None], address: str
) -> None:
    """Also for a WebSocket address: its host serves both."""
    bindings_of("Schema")
    with serving(json.dumps(described(SCHEMA)).encode()) as (port, requested_paths):
        code, printed, error = diff(address.format(port))
    assert (code, error) == (0, "")
    assert requested_paths == ["/json/protocol"]
    (line,) = printed
    assert line == f"no difference between http://127.0.0.1:{port}/ (+) and the bindings of {PROTOCOL} (-)"


@pytest.mark.parametrize("folder", [True, False])
@pytest.mark.parametrize("path_of_the_socket", ["/devtools/browser/some-secret-id", ""])
def test_a_profile_gives_the_address_of_its_browser(
    diff: Diff, bindings_of: Callable[..., None], tmp_path: Path, folder: bool, path_of_the_socket: str
) -> None:
    bindings_of("Schema")
    with serving(json.dumps(described(SCHEMA)).encode()) as (port, requested_paths):
        file = write(tmp_path / "DevToolsActivePort", f"{port}\n{path_of_the_socket}")
        code, printed, error = diff(tmp_path if folder else file)
    assert (code, error) == (0, "")
    assert requested_paths == ["/json/protocol"]
    assert "secret" not in printed[0]


def test_a_browser_and_a_file_together(diff: Diff, bindings_of: Callable[..., None], tmp_path: Path) -> None:
    bindings_of("Schema")
    with serving(json.dumps(described(SCHEMA)).encode()) as (port, _):
        code, printed, _ = diff(port, write(tmp_path / "a.json", described({"domain": "Aa"})))
    assert code == 1
    assert f"http://127.0.0.1:{port}/ and a.json (+)" in printed[-1]


@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        (b"<html>", 200, "is not JSON"),
        (b"", 200, "is not JSON"),
        (b"\xff", 200, "is not JSON"),
        (b"[" * 200_000, 200, "is not JSON"),
        (b"[]", 200, "is not a protocol description"),
        (b'{"domains": 3}', 200, "is not a protocol description"),
        (b'{"domains": [3]}', 200, "domain 0 is not a JSON object"),
        (b'{"domains": [{"domain": "A b"}]}', 200, "'A b' is not a name for a domain"),
        (b"", 404, "does not serve /json"),
        (b"", 403, "HTTP 403"),
        (b"", 500, "HTTP 500"),
        (b" " * (MAX_PROTOCOL_BYTES + 1), 200, f"more than {MAX_PROTOCOL_BYTES} bytes"),
    ],
    ids=[
        "html",
        "empty",
        "bytes",
        "deep",
        "list",
        "no-list",
        "no-domain",
        "bad-name",
        "404",
        "403",
        "500",
        "too-large",
    ],
)
def test_an_invalid_http_answer_ends_with_2(diff: Diff, body: bytes, status: int, expected: str) -> None:
    with serving(body, status) as (port, _):
        code, printed, error = diff(f"ws://127.0.0.1:{port}/secret-token?token=secret-token")
    assert (code, printed) == (2, [])
    assert expected in error
    assert f"http://127.0.0.1:{port}/" in error
    assert "secret" not in error
    assert error.count("\n") == 1


def test_an_unreachable_browser_ends_with_2(diff: Diff) -> None:
    with serving(b"") as (port, _):
        pass
    code, printed, error = diff(f"http://127.0.0.1:{port}")
    assert (code, printed) == (2, [])
    assert "cannot be reached" in error
    assert error.count("\n") == 1


# ── as a program ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("arguments", [[], ["diff"], ["compare", "a.json"], ["diff", "--verbose", "a.json"], ["--all"]])
def test_an_invalid_command_line_prints_the_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert capsys.readouterr().err.startswith("usage: python -m cdp_core.bindings")


def test_the_help_names_the_protocol_of_the_bindings(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    assert PROTOCOL in capsys.readouterr().out


def test_the_program_prints_on_any_terminal(tmp_path: Path) -> None:
    """ASCII has neither the arrow of results nor every character of an enumeration's members."""
    odd = {
        **SCHEMA,
        "types": [*SCHEMA["types"], {"id": "E", "type": "string", "enum": ["caf\u00e9"]}],  # type: ignore[misc]
        "commands": [{"name": "getDomains", "returns": [{"name": "f", "type": "any"}]}],
    }
    mangled = os.fsdecode(b"\xff.json")
    write(tmp_path / mangled, described(odd))
    ran = subprocess.run(
        [sys.executable, "-m", "cdp_core.bindings", "diff", mangled],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 1, ran.stderr
    assert ran.stderr == ""
    lines = ran.stdout.splitlines()
    assert "+ Schema.getDomains.\\u2192 f: any" in lines
    assert "differences between" in lines[-1]


def test_the_program_exits_with_the_code_of_main(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "cdp_core.bindings", "diff", tmp_path / "none.json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.count("\n") == 1
