"""The addresses of a browser: parsing, redaction, and the replies of its HTTP endpoint.

* `parse_address` reads a configured address, `parse_devtools_active_port` the file that a browser writes, and
  `parse_version` and `parse_list` the JSON that it serves. All of them give `EndpointAddress` values.
* **A ws:// or wss:// address is complete**: it is dialled unchanged, whatever its path. Chromium requires
  `/devtools/browser/<id>`, vendors serve theirs at `/` or `/?token=...`; a guess would cost a request, and each
  request may cost the user an approval prompt.
* **The configured address is the address that is dialled.** `/json/version` repeats the Host header or names the
  browser's own interface, which is wrong behind a port forward or a proxy; so only the path and the query of its
  `webSocketDebuggerUrl` are used, and credentials are never sent to a host that a reply chose.
* **Every shown address is redacted.** A debugging address is the key to a whole browser: `str()` and `repr()` of an
  address, and every error, hide credentials, query values and ids; only `url` and `target` contain them. Redaction
  keeps the words of an allow-list and hides the rest, so an unknown form of token is hidden too. No exception raised
  here has one of the standard library as its context, since those keep the text that they could not read.

Files, name resolution, sockets, TLS and time are outside this module.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import re
from collections.abc import Mapping
from typing import Final, Literal, cast
from urllib.parse import unquote_to_bytes

import attrs

from cdp_core.errors import DiscoveryError, InvalidArgument
from cdp_core.sansio.messages import Json, TargetId, is_object

MAX_ANSWER_BYTES: Final = 1 << 20
"""Bytes of a reply. A browser's reply has a few kilobytes; another server may send without end."""

MAX_PROTOCOL_BYTES: Final = 1 << 24
"""Bytes of the reply to `/json/protocol`, which has about two megabytes."""

Resource = Literal["/json/version", "/json/list", "/json/protocol"]

_DEFAULT_PORTS: Final = {"ws": 80, "wss": 443, "http": 80, "https": 443}
_LOOPBACK: Final = "127.0.0.1"
_HIDDEN: Final = "…"


# ── addresses ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _lower(text: str) -> str:
    return text.lower()


def _check(_address: object, field: attrs.Attribute[str], value: str) -> None:
    """Validate one part of a URL; the error never repeats the value, which may be a misplaced secret."""
    pattern, message = _RULES[field.name]
    if re.fullmatch(pattern, value) is None and not (field.name == "host" and "%" not in value and _ip(value)):
        raise InvalidArgument(message)


def _check_port(_address: object, _field: object, port: int) -> None:
    if not 0 < port < 1 << 16:
        raise InvalidArgument(
            "The port of an address is a number from 1 to 65535; with --remote-debugging-port=0 the browser writes the "
            "port that it chose into its DevToolsActivePort file."
        )


@attrs.frozen(kw_only=True, repr=False)
class EndpointAddress:
    """One address of a browser.

    `str()` and `repr()` are redacted; `url` and `target` are not: never log them. `host` is lower case and without
    brackets, `query` is without its `?`, `userinfo` is still percent-encoded.
    """

    scheme: str = attrs.field(validator=_check)
    host: str = attrs.field(converter=_lower, validator=_check)
    port: int = attrs.field(validator=_check_port)
    path: str = attrs.field(default="/", validator=_check)
    query: str = attrs.field(default="", validator=_check)
    userinfo: str = attrs.field(default="", validator=_check)

    def __str__(self) -> str:
        credentials = f"{_HIDDEN}@" if self.userinfo else ""
        query = f"?{_redact_query(self.query)}" if self.query else ""
        return f"{self.scheme}://{credentials}{self.host_header}{_redact_path(self.path)}{query}"

    def __repr__(self) -> str:
        return f"<EndpointAddress {self}>"

    @property
    def url(self) -> str:
        """The whole address, secrets included."""
        credentials = f"{self.userinfo}@" if self.userinfo else ""
        return f"{self.scheme}://{credentials}{self.host_header}{self.target}"

    @property
    def target(self) -> str:
        """The path and the query, as a request line has them."""
        return f"{self.path}?{self.query}" if self.query else self.path

    @property
    def browser_id(self) -> str | None:
        """The browser's id in the path, constant while the browser runs; None if the path has no id."""
        found = re.fullmatch(r"/devtools/browser/([\w-]+)", self.path)
        return None if found is None else found[1]

    @property
    def host_header(self) -> str:
        """The value of the Host header: the host, and the port unless it is the scheme's default."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def is_websocket(self) -> bool:
        """True if the scheme is ws or wss, so the address can be dialled unchanged."""
        return self.scheme in ("ws", "wss")

    @property
    def is_secure(self) -> bool:
        """True if the scheme uses TLS."""
        return self.scheme in ("wss", "https")

    def credential_headers(self) -> list[tuple[bytes, bytes]]:
        """Return the Authorization header for the user name and password; no header without them."""
        if not self.userinfo:
            return []
        user, _, password = self.userinfo.partition(":")
        token = base64.b64encode(unquote_to_bytes(user) + b":" + unquote_to_bytes(password))
        return [(b"Authorization", b"Basic " + token)]

    def over_http(self) -> EndpointAddress:
        """Return the HTTP address of a WebSocket address, with path `/`; an HTTP address unchanged."""
        if not self.is_websocket:
            return self
        return attrs.evolve(self, scheme="https" if self.is_secure else "http", path="/")


def parse_address(where: str) -> EndpointAddress:
    """Parse a configured address.

    * `ws://host[:port][/path][?query]`, `wss://...`: complete, dialled unchanged.
    * `http://host[:port]`, `https://...`: the HTTP endpoint of a browser, which names its WebSocket. A path is a prefix
      before `/json`; the query is sent with each request; a trailing `/json/version` changes nothing.
    * `host:port`, `:port` and a bare port number are http too, the latter two on 127.0.0.1. Nothing else can be left
      out: a bare name might be a file or a host, and `host:port/path` might be either scheme.

    `user:password@` may precede the host; IPv6 addresses need brackets; surrounding white space is ignored.
    Raises DiscoveryError(stage="address").
    """
    text = where.strip()
    bare = re.fullmatch(_BARE, text)
    found = re.fullmatch(_URL, f"http://{bare[1] or _LOOPBACK}:{bare[2]}" if bare else text)
    if found is None:
        raise _unreadable(
            text,
            "put ws:// or http:// in front"
            if re.match(_SCHEMELESS, text)
            else "write it as ws://host:port/path or http://host:port, with special characters escaped, as in %40",
        )
    scheme, userinfo, host, port, path, query = found.groups()
    scheme = scheme.lower()
    try:
        return EndpointAddress(
            scheme=scheme,
            host=host.strip("[]"),
            port=int(port or _DEFAULT_PORTS.get(scheme, 1)),
            path=path or "/",
            query=query or "",
            userinfo=userinfo or "",
        )
    except InvalidArgument as error:
        problem = str(error)
    raise DiscoveryError(problem, address=_scheme_only(text), stage="address")


def looks_like_address(where: str) -> bool:
    """Return True if a text has the form of an address, valid or not; any other text is a path.

    Pass a file whose name has such a form (`host:9222`, `9222`) as a `pathlib.Path`.
    """
    text = where.strip()
    return "://" in text or re.fullmatch(_BARE, text) is not None or re.match(_SCHEMELESS, text) is not None


def parse_devtools_active_port(
    text: str, *, host: str = _LOOPBACK, source: str = "The DevToolsActivePort file"
) -> EndpointAddress:
    """Parse the file that a browser with a debugging port writes into its user data folder.

    Line 1 is the port, line 2 the path of the WebSocket. Without line 2 the result is an http address. `source` is the
    name of the text in errors. Raises DiscoveryError(stage="address").
    """
    lines = [line.strip() for line in text.strip().splitlines()]
    if not lines:
        problem = "is empty: the browser is still starting, or could not open its port; try again in a moment"
        raise DiscoveryError(f"{source} {problem}.", address=source, stage="address")
    port, path = lines[0], "".join(lines[1:2])
    try:
        if re.fullmatch("[0-9]{1,5}", port):
            scheme = "ws" if path else "http"
            return EndpointAddress(scheme=scheme, host=host, port=int(port), path=path or "/")
    except InvalidArgument:
        pass
    problem = "does not hold a port and a path, as a browser writes them; check that it is the right file"
    raise DiscoveryError(f"{source} {problem}.", address=source, stage="address")


def redact(url: str) -> str:
    """Redact a text that may be an address: keep host, port and kind of path, and hide every secret.

    `ws://127.0.0.1:9222/devtools/browser/…`, `wss://…@host/?token=…`; of an invalid address only the scheme is kept.
    """
    try:
        return str(parse_address(url))
    except DiscoveryError as error:
        return error.address


def is_loopback(host: str) -> bool:
    """Return True if a host is certainly this machine; no resolver is used."""
    address = _ip(host.strip("[]"))
    if address is None:
        return f".{host.lower().rstrip('.')}".endswith(".localhost")
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


# The patterns are strings, compiled at their first use, to keep the import fast.
_RULES: Final = {
    "scheme": ("wss?|https?", "An address begins with ws://, wss://, http:// or https://."),
    "host": (
        r"(?=.{1,253}\Z)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?",
        "The host of an address is a name in ASCII or an IP address, of version 6 in brackets and without a zone.",
    ),
    "path": (
        r'/[!"$->A-~]*',  # @ is legal here, but then it more often ends a password that contains a slash
        "The path of an address begins with / and is printable ASCII without @; escape the rest, as in %40.",
    ),
    "query": (
        r'[!"$-~]*',
        "The query of an address is printable ASCII without #; escape the rest, as in %23.",
    ),
    "userinfo": (
        r'[!"$-.0->@-~]*',
        "User name and password in an address are printable ASCII without / ? #; escape the rest, as in %2F.",
    ),
}
_URL: Final = (
    r"([A-Za-z]+)://(?:([^/?#]*)@)?"
    r"(\[[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*\]|[^/?#@:\[\]]*)(?::([0-9]{0,5}))?"
    r"(/[^?#]*)?(?:\?([^#]*))?"
)
_BARE: Final = r"(?:(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]*):)?([0-9]{1,5})"
_SCHEMELESS: Final = r"[^/\\?#]*:[0-9]+(?:[/?#]|\Z)"
_SCHEME: Final = r"(?i:wss?|https?)://"


def _ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _unreadable(text: str, advice: str) -> DiscoveryError:
    return DiscoveryError(
        f"This is not an address of a browser ({len(text)} characters): {advice}.",
        address=_scheme_only(text),
        stage="address",
    )


def _scheme_only(text: str) -> str:
    """Keep only the scheme of an invalid address: a password may be in the position of the host."""
    scheme = re.match(_SCHEME, text)
    return (scheme[0].lower() if scheme else "") + _HIDDEN


# ── redaction ────────────────────────────────────────────────────────────────────────────────────────────────────────

_PLAIN_WORD: Final = (
    "api|browsers?|cdp|chrome|chromium|connect|debugger|devtools|json|list|login|new|page|playwright|protocol|puppeteer|"
    "sessions?|v[1-9]|version|worker|ws|"
)
_QUERY_NAME: Final = r"[A-Za-z_.-]{1,24}"


def _redact_path(path: str) -> str:
    return "/".join(part if re.fullmatch(_PLAIN_WORD, part) else _HIDDEN for part in path.split("/"))


def _redact_query(query: str) -> str:
    return "&".join(_redact_pair(pair) for pair in query.split("&"))


def _redact_pair(pair: str) -> str:
    """Keep the name; a pair without a value may be a secret as a whole, and its `=` the padding of base64."""
    name, _, value = pair.partition("=")
    return f"{name}={_HIDDEN}" if value.strip("=") and re.fullmatch(_QUERY_NAME, name) else _HIDDEN


# ── HTTP ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

_PREFIX: Final = r"(.*?)(?:/json(?:/version|/list)?)?/?"
_HEADER_NAME: Final = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
_HEADER_VALUE: Final = r"(?:[!-~](?:[ -~\t]*[!-~])?)?"
_OWN_HEADER: Final = (
    "(?i:connection|content-length|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade|sec-websocket-.*)"
)


def check_headers(headers: Mapping[str, str]) -> dict[bytes, bytes]:
    """Check the caller's headers and encode them, with names in lower case.

    Raises InvalidArgument for a header that HTTP cannot carry, that belongs to the connection, or that is given twice;
    the error never repeats a value, which may be a token.
    """
    if not isinstance(headers, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a checker
        raise InvalidArgument(f"headers must be a mapping of names to values, not {type(headers).__name__}.")
    given: dict[bytes, bytes] = {}
    items = cast("Mapping[object, object]", headers).items()
    for name, value in items:
        if not isinstance(name, str) or re.fullmatch(_HEADER_NAME, name) is None or re.fullmatch(_OWN_HEADER, name):
            raise InvalidArgument(
                "One of the headers has an invalid name, or one that belongs to the connection itself; leave it out."
            )
        if not isinstance(value, str) or re.fullmatch(_HEADER_VALUE, value) is None:
            raise InvalidArgument(f"The value of the header {name} is not printable ASCII; encode it first.")
        if name.lower().encode() in given:
            raise InvalidArgument(
                f"The header {name} is given twice; its name is the same in upper and lower case, so give it once."
            )
        given[name.lower().encode()] = value.encode()
    return given


def http_get_request(
    asked: EndpointAddress, resource: Resource, *, headers: Mapping[str, str]
) -> tuple[str, list[tuple[bytes, bytes]]]:
    """Return the request target and the headers of one GET; the caller's headers replace the defaults.

    Raises InvalidArgument as `check_headers` does.
    """
    given = check_headers(headers)
    made = [(b"Host", asked.host_header.encode()), (b"Accept", b"application/json"), (b"Connection", b"close")]
    lines = [line for line in (*made, *asked.credential_headers()) if line[0].lower() not in given]
    prefix = re.fullmatch(_PREFIX, asked.path)
    assert prefix is not None  # every path matches
    return attrs.evolve(asked, path=prefix[1] + resource).target, [*lines, *given.items()]


def check_status(status: int, *, asked: EndpointAddress, body: bytes, location: str | None) -> None:
    """Raise DiscoveryError(stage="http") unless the status is 200."""
    if status == 200:
        return
    if status == 500 and b"Host header" in body:  # against DNS rebinding (fact 61)
        text = "refused its host name, since Chromium answers only to an IP address or localhost; give the IP address"
    elif status == 404:
        text = (
            "does not serve /json (a Chrome 144+ whose remote debugging was switched on by hand does not); give its ws:// "
            "address, or the path of its user data folder, which holds the DevToolsActivePort file"
        )
    elif status in (401, 403, 407):
        text = f"refused access (HTTP {status}); give user:password@ in the address, its token, or the right headers"
    elif location is not None and 300 <= status < 400:
        text = f"redirects to {_redact_location(location, asked)}, and redirects are not followed; give that address"
    else:
        text = f"answered with HTTP {status} instead of 200; check that a browser listens there"
    raise DiscoveryError(f"{asked} {text}.", address=str(asked), stage="http", status=status)


def parse_version(body: bytes, *, asked: EndpointAddress) -> EndpointAddress:
    """Return the browser's WebSocket address from a `/json/version` reply.

    Host, port and credentials are those of `asked`. Raises DiscoveryError: stage "http" if the reply is not JSON, "cdp"
    if it names no WebSocket.
    """
    answer = _read_json(body, asked)
    found = _websocket_of(answer, asked) if is_object(answer) else None
    if found is None:
        raise _error(
            asked, "cdp", "names no webSocketDebuggerUrl; check that it is a browser, and give its ws:// address"
        )
    return found


@attrs.frozen(kw_only=True)
class ListedTarget:
    """One target of a `/json/list` reply. `title` and `url` are page text, and are not in the repr.

    `websocket` is None if the browser gives no address (old versions, while another client debugs the target).
    """

    target_id: TargetId
    type: str
    title: str = attrs.field(repr=False)
    url: str = attrs.field(repr=False)
    parent_id: TargetId | None = None
    websocket: EndpointAddress | None = None


def parse_list(body: bytes, *, asked: EndpointAddress) -> tuple[ListedTarget, ...]:
    """Return the targets of a `/json/list` reply; only the id is required, unknown members are ignored.

    Raises DiscoveryError: stage "http" if the reply is not JSON, "cdp" if it is not a list of targets.
    """
    answer = _read_json(body, asked)
    targets = [_listed(entry, asked) for entry in cast("list[object]", answer)] if isinstance(answer, list) else [None]
    if None in targets:
        raise _error(asked, "cdp", "is not a list of targets; check that it is a browser")
    return tuple(target for target in targets if target is not None)


def parse_protocol(body: bytes, *, asked: EndpointAddress) -> Json:
    """Return the description in a `/json/protocol` reply. Raises DiscoveryError as `parse_list` does."""
    answer = _read_json(body, asked)
    if not is_object(answer) or not isinstance(answer.get("domains"), list):
        raise _error(asked, "cdp", "is not a protocol description; check that it is a browser")
    return answer


def _listed(entry: object, asked: EndpointAddress) -> ListedTarget | None:
    if not is_object(entry) or not isinstance(entry.get("id"), str):
        return None
    parent = entry.get("parentId")
    return ListedTarget(
        target_id=TargetId(entry["id"]),
        type=_text(entry, "type"),
        title=_text(entry, "title"),
        url=_text(entry, "url"),
        parent_id=TargetId(parent) if isinstance(parent, str) else None,
        websocket=_websocket_of(entry, asked),
    )


def _text(entry: Json, name: str) -> str:
    value = entry.get(name)
    return value if isinstance(value, str) else ""


_WEBSOCKET: Final = r"wss?://[^/?#]*(/[^?#]*)?(?:\?([^#]*))?"


def _websocket_of(answer: Json, asked: EndpointAddress) -> EndpointAddress | None:
    found = re.fullmatch(_WEBSOCKET, _text(answer, "webSocketDebuggerUrl"))
    if found is None:
        return None
    try:
        return attrs.evolve(
            asked, scheme="wss" if asked.is_secure else "ws", path=found[1] or "/", query=found[2] or ""
        )
    except InvalidArgument:
        return None


def _read_json(body: bytes, asked: EndpointAddress) -> object:
    try:
        answer: object = json.loads(body)
    except (ValueError, RecursionError):
        pass  # raised outside, without a context: the decoder's error keeps the whole text
    else:
        return answer
    raise _error(asked, "http", "is not JSON; check that a browser listens there")


def _redact_location(location: str, asked: EndpointAddress) -> str:
    if location.startswith("/") and not location.startswith("//"):
        location = f"{asked.scheme}://{asked.host_header}{location}"
    return redact(location)


def _error(asked: EndpointAddress, stage: str, text: str) -> DiscoveryError:
    return DiscoveryError(f"The reply of {asked} {text}.", address=str(asked), stage=stage, answered="other")
