"""Addresses: parsing, writing and redaction; and the answers of the HTTP endpoint. No trio is used."""

from __future__ import annotations

import base64
import copy
import json
import pickle
import string
import traceback
from collections.abc import Callable

import attrs
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cdp_core.errors import DiscoveryError, InvalidArgument
from cdp_core.sansio.addresses import (
    EndpointAddress,
    check_headers,
    check_status,
    http_get_request,
    is_loopback,
    looks_like_address,
    parse_address,
    parse_devtools_active_port,
    parse_list,
    parse_protocol,
    parse_version,
    redact,
)

UUID = "60698496-f4d8-43c3-9665-b3ea8a7d744b"
ASKED = EndpointAddress(scheme="http", host="127.0.0.1", port=9222)
without_deadline = settings(deadline=None)  # the speed of the machine is not under test


def refusal(call: Callable[[], object]) -> DiscoveryError:
    """Return the `DiscoveryError` of a call; assert that it is a sentence and chains no other exception."""
    with pytest.raises(DiscoveryError) as caught:
        call()
    error = caught.value
    assert str(error).endswith(".")
    assert error.__context__ is None
    assert error.__cause__ is None
    return error


def all_text_of(error: BaseException) -> str:
    """Return every text form of an error: its traceback line, its repr and its fields."""
    return "".join(traceback.format_exception_only(type(error), error)) + repr(error) + repr(vars(error))


# ── forms of an address ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (f"ws://127.0.0.1:9222/devtools/browser/{UUID}", ("ws", "127.0.0.1", 9222, f"/devtools/browser/{UUID}", "")),
        ("wss://vendor.example?token=abc", ("wss", "vendor.example", 443, "/", "token=abc")),
        ("wss://vendor.example/?a=1&b=2", ("wss", "vendor.example", 443, "/", "a=1&b=2")),
        ("ws://vendor.example", ("ws", "vendor.example", 80, "/", "")),
        ("ws://h:/x?", ("ws", "h", 80, "/x", "")),
        ("http://localhost:9222", ("http", "localhost", 9222, "/", "")),
        ("HTTP://LocalHost:9222/", ("http", "localhost", 9222, "/", "")),
        ("https://vendor.example/prefix", ("https", "vendor.example", 443, "/prefix", "")),
        ("http://my_service.docker:9222", ("http", "my_service.docker", 9222, "/", "")),
        ("ws://[::1]:9222/x", ("ws", "::1", 9222, "/x", "")),
        ("ws://[FE80::1]/x", ("ws", "fe80::1", 80, "/x", "")),
        ("  ws://h:1/x \n", ("ws", "h", 1, "/x", "")),
        ("localhost:9222", ("http", "localhost", 9222, "/", "")),
        ("[::1]:9222", ("http", "::1", 9222, "/", "")),
        (":9222", ("http", "127.0.0.1", 9222, "/", "")),
        ("9222", ("http", "127.0.0.1", 9222, "/", "")),
    ],
)
def test_every_form_of_an_address_is_parsed(text: str, parts: tuple[str, str, int, str, str]) -> None:
    scheme, host, port, path, query = parts
    assert looks_like_address(text)
    address = parse_address(text)
    assert address == EndpointAddress(scheme=scheme, host=host, port=port, path=path, query=query)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "not an address of a browser"),
        ("localhost", "write it as ws://"),
        ("localhost:9222/devtools/browser/x", "put ws:// or http:// in front"),
        ("user:pass@localhost:9222", "put ws:// or http:// in front"),
        ("[127.0.0.1]:9222", "in front"),
        ("localhost:123456", "in front"),
        ("ftp://localhost:9222/", "begins with ws://"),
        ("file:///tmp/x", "begins with ws://"),
        ("ws:///devtools/browser/x", "host of an address"),
        ("ws://h..i/", "host of an address"),
        (f"ws://{'h' * 64}/", "host of an address"),
        (f"ws://{'h.' * 127}/", "host of an address"),
        ("ws://höst/", "host of an address"),
        ("ws://[fe80::1%25eth0]:9222/", "write it as"),
        ("ws://[::1::]:9222/", "host of an address"),
        ("ws://::1:9222/", "write it as"),
        ("ws://h:0/", "from 1 to 65535; with --remote-debugging-port=0"),
        ("ws://h:65536/", "from 1 to 65535"),
        ("ws://h:port/", "write it as"),
        ("ws://h:9222/a b", "path of an address"),
        ("ws://h:9222/a\r\nX: y", "path of an address"),
        ("ws://user:pa/ss@h:9222/", "write it as"),
        ("ws://user:12/ss@h:9222/", "path of an address"),
        ("ws://h/?q=ü", "query of an address"),
        ("ws://h/#part", "special characters escaped"),
        ("ws://us er@h/", "User name and password"),
    ],
)
def test_an_invalid_address_is_refused_with_an_explanation(text: str, expected: str) -> None:
    error = refusal(lambda: parse_address(text))
    assert expected in str(error)
    assert error.stage == "address"
    assert error.address in ("…", "ws://…")


@pytest.mark.parametrize(
    "path", ["/home/me/.config/chromium", "~/x", "profile", "C:\\Users\\me", "DevToolsActivePort", "./9222"]
)
def test_paths_do_not_look_like_addresses(path: str) -> None:
    assert not looks_like_address(path)


def test_an_address_cannot_be_changed_into_an_invalid_one() -> None:
    for change in ({"host": "[::1]"}, {"host": "fe80::1%eth0"}, {"path": "x"}, {"query": "a#b"}, {"userinfo": "a/b"}):
        with pytest.raises(InvalidArgument):
            attrs.evolve(ASKED, **change)


def test_an_address_gives_the_parts_of_a_request() -> None:
    plain = parse_address("ws://h:80/x?y=1")
    assert (plain.host_header, plain.target, plain.url) == ("h", "/x?y=1", "ws://h/x?y=1")
    assert (plain.is_websocket, plain.is_secure) == (True, False)
    secure = parse_address("https://[::1]:80")
    assert (secure.host_header, secure.target, secure.url) == ("[::1]:80", "/", "https://[::1]:80/")
    assert (secure.is_websocket, secure.is_secure) == (False, True)
    assert secure.over_http() is secure
    assert parse_address("wss://u@h/x?t=1").over_http() == parse_address("https://u@h/?t=1")
    assert plain.over_http() == parse_address("http://h/?y=1")


@pytest.mark.parametrize(
    ("path", "browser"),
    [
        ("/devtools/browser/0b1c-42_x", "0b1c-42_x"),
        ("/devtools/browser/", None),
        ("/devtools/browser", None),
        ("/devtools/page/0b1c", None),
        ("/devtools/browser/0b1c/more", None),
        ("/at/devtools/browser/0b1c", None),
        ("/", None),
    ],
)
def test_only_the_address_of_a_browser_has_a_browser_id(path: str, browser: str | None) -> None:
    assert parse_address(f"ws://h:1{path}?token=x").browser_id == browser


def test_credentials_become_a_header() -> None:
    assert ASKED.credential_headers() == []
    address = parse_address("wss://me%40home:p@ss%2F@h/")
    assert address.credential_headers() == [(b"Authorization", b"Basic " + base64.b64encode(b"me@home:p@ss/"))]
    assert parse_address("ws://key@h/").credential_headers()[0][1] == b"Basic " + base64.b64encode(b"key:")


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        *((h, True) for h in ("localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]")),
        ("::ffff:127.0.0.1", True),
        *((h, False) for h in ("", "notlocalhost", "localhost.example", "10.0.0.1", "::2", "0.0.0.0", "h", "127.1")),
    ],
)
def test_loopback_hosts_are_recognised(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


# ── DevToolsActivePort ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_port_file_is_parsed() -> None:
    path = f"/devtools/browser/{UUID}"
    assert parse_devtools_active_port(f"9222\n{path}") == parse_address(f"ws://127.0.0.1:9222{path}")
    assert parse_devtools_active_port(f" 9222\r\n{path}\r\n\r\n") == parse_address(f"ws://127.0.0.1:9222{path}")
    assert parse_devtools_active_port(f"9222\n{path}", host="::1") == parse_address(f"ws://[::1]:9222{path}")
    assert parse_devtools_active_port("9222") == ASKED
    assert parse_devtools_active_port("9222\n\n") == ASKED


@pytest.mark.parametrize("text", ["", " \n", "\0", "x", "0", "99999", "9" * 5000, "-1", "٣", f"9222\n{UUID}", "1\n/ü"])
def test_a_malformed_port_file_is_refused(text: str) -> None:
    error = refusal(lambda: parse_devtools_active_port(text, source="/tmp/DevToolsActivePort"))
    assert ("is empty" if not text.strip() else "check that it is the right file") in str(error)
    assert (error.stage, error.address) == ("address", "/tmp/DevToolsActivePort")
    assert UUID not in all_text_of(error)


# ── answers of the HTTP endpoint ─────────────────────────────────────────────────────────────────────────────────────


def version(url: object) -> bytes:
    return json.dumps({"Browser": "Chrome/156.0", "unknown": [1], "webSocketDebuggerUrl": url}).encode()


@pytest.mark.parametrize(
    ("asked", "answered", "dialled"),
    [
        ("http://10.0.0.5:19222", "ws://127.0.0.1:9222/devtools/browser/x", "ws://10.0.0.5:19222/devtools/browser/x"),
        ("https://h/prefix?t=1", "ws://localhost/devtools/browser/x?y=2", "wss://h/devtools/browser/x?y=2"),
        ("http://u:p@h:1", "wss://evil.example", "ws://u:p@h:1/"),
        ("http://h:1", "ws:///devtools/browser/x", "ws://h:1/devtools/browser/x"),
    ],
)
def test_the_host_of_the_request_is_dialled(asked: str, answered: str, dialled: str) -> None:
    assert parse_version(version(answered), asked=parse_address(asked)).url == dialled


@pytest.mark.parametrize(
    "url", [None, 7, "", "http://h/x", "ws://h/a b", "ws://h/ü", "ws://h/#x", "/devtools/browser/x"]
)
def test_an_answer_without_a_websocket_url_is_refused(url: object) -> None:
    error = refusal(lambda: parse_version(version(url), asked=ASKED))
    assert (error.stage, error.address) == ("cdp", "http://127.0.0.1:9222/")
    assert "names no webSocketDebuggerUrl" in str(error)


@pytest.mark.parametrize("body", [b"[]", b'"x"', b"null", b"{}", b'{"webSocketDebuggerUrl": {}}'])
def test_json_without_a_websocket_url_is_refused(body: bytes) -> None:
    assert refusal(lambda: parse_version(body, asked=ASKED)).stage == "cdp"


@pytest.mark.parametrize("body", [b"", b"<html>", b"\xff\xfe\xfd", b"[" * 200_000, b'{"a": ' + b"9" * 5000 + b"}"])
def test_an_answer_that_is_not_json_is_refused(body: bytes) -> None:
    for parse in (parse_version, parse_list, parse_protocol):
        error = refusal(lambda parse=parse: parse(body, asked=ASKED))
        assert error.stage == "http" or b"9" in body  # Python without a limit for digits reads long integers


def test_a_list_of_targets_is_parsed() -> None:
    body = json.dumps(
        [
            {
                "id": "T1",
                "type": "page",
                "title": "Bank",
                "url": "https://bank.example/?session=secret",
                "webSocketDebuggerUrl": "ws://127.0.0.1:9222/devtools/page/T1",
                "unknown": {},
            },
            {"id": "T2", "type": 7, "parentId": "T1", "webSocketDebuggerUrl": "nonsense"},
        ]
    ).encode()
    first, second = parse_list(body, asked=parse_address("http://10.0.0.5:1"))
    assert (first.target_id, first.type, first.title, first.parent_id) == ("T1", "page", "Bank", None)
    assert first.url == "https://bank.example/?session=secret"
    assert first.websocket == parse_address("ws://10.0.0.5:1/devtools/page/T1")
    assert "secret" not in repr(first)
    assert "Bank" not in repr(first)
    assert (second.target_id, second.type, second.title, second.url) == ("T2", "", "", "")
    assert (second.parent_id, second.websocket) == ("T1", None)
    assert parse_list(b"[]", asked=ASKED) == ()


@pytest.mark.parametrize("body", [b"{}", b"null", b"[7]", b"[{}]", b'[{"id": 7}]', b'[{"id": "T"}, null]'])
def test_a_malformed_list_of_targets_is_refused(body: bytes) -> None:
    error = refusal(lambda: parse_list(body, asked=ASKED))
    assert error.stage == "cdp"
    assert "is not a list of targets" in str(error)


def test_a_protocol_description_is_parsed() -> None:
    described = {"version": {"major": "1", "minor": "3"}, "domains": []}
    assert parse_protocol(json.dumps(described).encode(), asked=ASKED) == described


@pytest.mark.parametrize("body", [b"[]", b"null", b"{}", b'{"domains": {}}'])
def test_a_malformed_protocol_description_is_refused(body: bytes) -> None:
    error = refusal(lambda: parse_protocol(body, asked=ASKED))
    assert error.stage == "cdp"
    assert "is not a protocol description" in str(error)


@pytest.mark.parametrize(
    ("status", "body", "location", "expected"),
    [
        (500, b"Host header is specified and is not an IP address or localhost.", None, "give the IP address"),
        (500, b"", None, "HTTP 500 instead of 200"),
        (404, b"", None, "DevToolsActivePort"),
        (401, b"", None, "refused access (HTTP 401)"),
        (403, b"", None, "refused access (HTTP 403)"),
        (302, b"", "https://h2.example:8/login?next=s3cr3t", "redirects to https://h2.example:8/login?next=…,"),
        (307, b"", "/json/s3cr3t", "redirects to http://127.0.0.1:9222/json/…,"),
        (301, b"", "//s3cr3t/x", "redirects to …,"),
        (302, b"", None, "HTTP 302 instead of 200"),
        (503, b"s3cr3t", "s3cr3t", "HTTP 503 instead of 200"),
    ],
)
def test_a_status_other_than_200_is_refused_with_an_explanation(
    status: int, body: bytes, location: str | None, expected: str
) -> None:
    error = refusal(lambda: check_status(status, asked=ASKED, body=body, location=location))
    assert expected in str(error)
    assert (error.stage, error.status) == ("http", status)
    assert "s3cr3t" not in all_text_of(error)


def test_a_status_of_200_is_accepted() -> None:
    check_status(200, asked=ASKED, body=b"", location="/x")


# ── the request ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("asked", "target"),
    [
        ("http://h:1", "/json/version"),
        ("http://h:1/json/version", "/json/version"),
        ("http://h:1/json/list/", "/json/version"),
        ("http://h:1/json", "/json/version"),
        ("http://h:1/jsonx?t=1", "/jsonx/json/version?t=1"),
        ("http://h:1/a/b/?t=1", "/a/b/json/version?t=1"),
    ],
)
def test_a_request_keeps_the_prefix_and_the_query_of_the_address(asked: str, target: str) -> None:
    assert http_get_request(parse_address(asked), "/json/version", headers={})[0] == target


def test_a_request_has_the_default_headers_and_the_given_ones() -> None:
    asked = parse_address("http://u:p@h:9222")
    target, lines = http_get_request(asked, "/json/list", headers={})
    assert target == "/json/list"
    assert dict(lines) == {
        b"Host": b"h:9222",
        b"Accept": b"application/json",
        b"Connection": b"close",
        b"Authorization": b"Basic " + base64.b64encode(b"u:p"),
    }
    _, lines = http_get_request(
        asked, "/json/list", headers={"host": "localhost", "Authorization": "Bearer x", "X-Y": ""}
    )
    assert dict(lines) == {
        b"host": b"localhost",
        b"authorization": b"Bearer x",
        b"x-y": b"",
        b"Accept": b"application/json",
        b"Connection": b"close",
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X", "s3cr3t\r\nY: z"),
        ("X", " s3cr3t"),
        ("X", "s3cr3tü"),
        ("X s3cr3t", ""),
        ("", ""),
        ("Content-Length", "s3cr3t"),
    ],
)
def test_headers_that_http_cannot_carry_are_refused(name: str, value: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        http_get_request(ASKED, "/json/version", headers={name: value})
    assert "s3cr3t" not in all_text_of(caught.value)


def test_headers_are_a_mapping_with_each_name_once() -> None:
    assert check_headers({"X-A": "1", "Host": "h"}) == {b"x-a": b"1", b"host": b"h"}
    for headers in ([("X-A", "1")], "X-A: 1", None, 5):
        with pytest.raises(InvalidArgument, match="mapping"):
            check_headers(headers)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="given twice"):
        check_headers({"X-A": "1", "x-a": "1"})
    for name in ("Upgrade", "CONNECTION", "Sec-WebSocket-Key", "sec-websocket-protocol", "Keep-Alive", 5, None):
        with pytest.raises(InvalidArgument, match="belongs to the connection"):
            check_headers({name: "x"})  # type: ignore[dict-item]
    for value in (5, None, b"x", "é", "a\nb"):
        with pytest.raises(InvalidArgument, match="X-A is not printable"):
            check_headers({"X-A": value})  # type: ignore[dict-item]


# ── redaction ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (f"ws://127.0.0.1:9222/devtools/browser/{UUID}", "ws://127.0.0.1:9222/devtools/browser/…"),
        ("ws://127.0.0.1:9222/devtools/page/ABC", "ws://127.0.0.1:9222/devtools/page/…"),
        ("wss://host?token=abc", "wss://host/?token=…"),
        ("wss://me:pw@host/a/?token=abc&b=&secret&c2VjcmV0==&x=1", "wss://…@host/…/?token=…&…&…&…&x=…"),
        ("http://localhost:9222", "http://localhost:9222/"),
        ("localhost:9222", "http://localhost:9222/"),
        ("wss://user:pa/ss@host/", "wss://…"),
        ("HTTPS://host:secret/", "https://…"),
        ("secret", "…"),
        ("", "…"),
    ],
)
def test_redaction_hides_credentials_ids_and_queries(url: str, shown: str) -> None:
    assert redact(url) == shown


def tokens(alphabet: st.SearchStrategy[str] | str) -> st.SearchStrategy[str]:
    """Draw tokens of six characters or more, with a mark that occurs in no text that may be shown."""
    return st.builds("{}Q7{}".format, st.text(alphabet, max_size=20), st.text(alphabet, min_size=4, max_size=20))


TOKENS = tokens(string.ascii_letters + string.digits + "-._~")
WILD_TOKENS = tokens(st.characters(min_codepoint=33))
PLACES = [
    "ws://127.0.0.1:9222/devtools/browser/{}",
    "ws://127.0.0.1:9222/{}",
    "wss://host/?token={}",
    "wss://host?x=1&token={}&y=2",
    "https://host/?{}",
    "https://host/?{}==",
    "ws://{}@host/",
    "ws://user:{}@host:1/x",
    "http://{}:pw@host",
    "host:1/{}",
    "{}@host:9222",
]


@without_deadline
@given(st.sampled_from(PLACES), st.one_of(TOKENS, WILD_TOKENS))
@example("ws://user:{}@host:1/x", "abcdef/ghi")
@example("ws://{}@host/", "abc:123/defghi")
@example("https://host/?{}==", "c2VjcmV0")
def test_no_token_is_ever_shown(place: str, token: str) -> None:
    url = place.format(token)
    try:
        address = parse_address(url)
    except DiscoveryError as error:
        shown = all_text_of(error)
    else:
        bodies = (b"", b"{}", b"[{}]")
        errors = [
            refusal(lambda b=b, p=p: p(b, asked=address))
            for b in bodies
            for p in (parse_version, parse_list, parse_protocol)
        ]
        errors.append(refusal(lambda: check_status(302, asked=address, body=b"", location=url)))
        shown = "".join([str(address), repr(address), f"{address}", *map(all_text_of, errors)])
    assert token not in shown + redact(url)


# ── laws ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

NEARLY_ADDRESSES = st.lists(
    st.sampled_from(
        ["ws://", "http://", "wss:", "//", "/", "@", ":", "?", "#", "[", "]", "::1", "127.0.0.1", "h", "9222", "%", "é"]
    )
).map("".join)


@without_deadline
@given(st.sampled_from([parse_address, parse_devtools_active_port]), st.one_of(st.text(), NEARLY_ADDRESSES))
@example(parse_address, "ws://[")
@example(parse_address, "ws://h:99999999999999999999/")
@example(parse_address, ":" * 5000)
def test_any_text_is_read_or_refused(read: Callable[[str], EndpointAddress], text: str) -> None:
    looks_like_address(text)
    redact(text)
    try:
        address = read(text)
    except DiscoveryError as error:
        assert error.stage == "address"  # noqa: PT017
        assert error.__context__ is None  # noqa: PT017
    else:
        assert parse_address(address.url) == address


JSON = st.recursive(st.one_of(st.none(), st.text(), st.integers()), st.lists).map(json.dumps).map(str.encode)


@without_deadline
@given(st.sampled_from([parse_version, parse_list, parse_protocol]), st.one_of(st.binary(), JSON))
def test_any_body_is_read_or_refused(parse: Callable[..., object], body: bytes) -> None:
    try:
        parse(body, asked=ASKED)
    except DiscoveryError as error:
        assert error.stage in ("http", "cdp")  # noqa: PT017


LABELS = st.text(string.ascii_lowercase + string.digits + "-_", min_size=1, max_size=63)
HOSTS = st.one_of(LABELS, st.ip_addresses().map(str), st.lists(LABELS, min_size=2, max_size=3).map(".".join))
PRINTABLE = string.ascii_letters + string.digits + string.punctuation


def printable(without: str) -> st.SearchStrategy[str]:
    return st.text([c for c in PRINTABLE if c not in without])


@without_deadline
@given(
    st.builds(
        EndpointAddress,
        scheme=st.sampled_from(["ws", "wss", "http", "https"]),
        host=HOSTS,
        port=st.integers(1, 65535),
        path=printable("?#@").map("/".__add__),
        query=printable("#"),
        userinfo=printable("/?#"),
    )
)
def test_an_address_survives_its_url_pickle_and_copy(address: EndpointAddress) -> None:
    assert parse_address(address.url) == address
    assert pickle.loads(pickle.dumps(address)) == address
    assert copy.copy(address) == address
    if address.host.isalnum():
        assert redact(address.url) == str(address)
        assert parse_address(str(address).replace("…", "x")).host == address.host


@without_deadline
@given(st.one_of(TOKENS, WILD_TOKENS))
def test_an_answer_cannot_choose_the_host(host: str) -> None:
    try:
        address = parse_version(version(f"ws://{host}/devtools/browser/x"), asked=ASKED)
    except DiscoveryError:
        return
    assert (address.scheme, address.host, address.port, address.userinfo) == ("ws", "127.0.0.1", 9222, "")
