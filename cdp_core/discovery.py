"""The way from a configured address to a browser's WebSocket, and the only code that dials.

    ws://, wss://                        used as they are; no connection is made
    DevToolsActivePort file, or folder   read; it usually contains the WebSocket address, and then no connection is made
    http://, https://, host:port         one GET of /json/version

At most one connection is made, since each may cost a person an approval prompt, and never to another host: a redirect
is reported, not followed. Proxy settings of the environment are never read: a debugging port is the key to a browser,
and must not be handed to a proxy that was configured for something else.

Every failure is a DiscoveryError with the stage that the attempt reached, within `connect_timeout` seconds for the
whole attempt. Cancellation passes through and leaves no socket open. `cdp_core.sansio.addresses` decides what an
address means, which part of it may be shown, and what an answer means.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import ssl
from collections.abc import Generator, Mapping
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final, cast

import trio

from cdp_core.errors import DiscoveryError, InvalidArgument
from cdp_core.nurseries import leaf_exceptions
from cdp_core.sansio.addresses import (
    MAX_ANSWER_BYTES,
    MAX_PROTOCOL_BYTES,
    EndpointAddress,
    ListedTarget,
    Resource,
    check_status,
    http_get_request,
    is_loopback,
    looks_like_address,
    parse_address,
    parse_devtools_active_port,
    parse_list,
    parse_protocol,
    parse_version,
)
from cdp_core.sansio.arguments import check_timeout
from cdp_core.sansio.messages import Json

Address = str | os.PathLike[str]
"""ws(s)://…, http(s)://host:port, or the path of a DevToolsActivePort file (or of the profile that holds it)."""

PORT_FILE: Final = "DevToolsActivePort"
_PORT_FILE_BYTES: Final = 4096
_LOOPBACK_BUFFER: Final = 1 << 20

log = logging.getLogger("cdp_core.discovery")


async def find_websocket(
    where: Address,
    /,
    *,
    headers: Mapping[str, str] | None = None,
    ssl_context: ssl.SSLContext | None = None,
    connect_timeout: float = 10.0,
) -> EndpointAddress:
    """Return the WebSocket address of a browser; ask the browser only if `where` is not one already.

    `headers` are sent with the HTTP request. Raises DiscoveryError.
    """
    attempt = _Attempt(connect_timeout)
    with attempt.bounded():
        address = await _read_address(where, attempt)
        if address.is_websocket:
            return address
        return parse_version(
            await _get(address, "/json/version", {} if headers is None else headers, ssl_context, attempt),
            asked=address,
        )


async def list_targets_http(
    where: Address,
    /,
    *,
    headers: Mapping[str, str] | None = None,
    ssl_context: ssl.SSLContext | None = None,
    connect_timeout: float = 10.0,
) -> tuple[ListedTarget, ...]:
    """Return every target of a browser, listed over HTTP without opening a WebSocket.

    `where` may be a ws:// address too. Raises DiscoveryError.
    """
    attempt = _Attempt(connect_timeout)
    with attempt.bounded():
        address = (await _read_address(where, attempt)).over_http()
        return parse_list(
            await _get(address, "/json/list", {} if headers is None else headers, ssl_context, attempt), asked=address
        )


async def fetch_protocol(where: Address, /, *, connect_timeout: float = 10.0) -> tuple[str, Json]:
    """Return the redacted address of a browser, and its description of its own protocol.

    `where` may be a ws:// address too. Raises DiscoveryError.
    """
    attempt = _Attempt(connect_timeout)
    with attempt.bounded():
        address = (await _read_address(where, attempt)).over_http()
        body = await _get(address, "/json/protocol", {}, None, attempt, max_bytes=MAX_PROTOCOL_BYTES)
        return str(address), parse_protocol(body, asked=address)


async def open_stream(
    address: EndpointAddress, *, ssl_context: ssl.SSLContext | None = None, connect_timeout: float = 10.0
) -> trio.SocketStream | trio.SSLStream[trio.SocketStream]:
    """Connect, and do the TLS handshake if the scheme requires it.

    `connect_timeout` bounds both together. Nagle's algorithm is off, as trio leaves it: commands are small and wait
    for each other. Raises DiscoveryError.
    """
    attempt = _Attempt(connect_timeout)
    with attempt.bounded():
        return await _dial(address, ssl_context, attempt)


# ── one attempt and its deadline ─────────────────────────────────────────────────────────────────────────────────────


class _Attempt:
    """The stage that one attempt has reached, for its error, and its time limit; `shown` is redacted."""

    def __init__(self, seconds: float) -> None:
        check_timeout("connect_timeout", seconds)
        self.seconds = float(seconds)
        self.stage = "address"
        self.shown = ""

    def reach(self, stage: str, shown: str) -> None:
        self.stage, self.shown = stage, shown

    @contextmanager
    def bounded(self) -> Generator[None, None, None]:
        with trio.move_on_after(self.seconds) as scope:
            yield
        if scope.cancelled_caught:
            raise self.error(
                f"{_TOO_SLOW[self.stage]} within {self.seconds:g} s (connect_timeout); {_ADVICE[self.stage]}",
                answered=None if self.stage == "address" else "silence",
            )

    def error(self, text: str, *, answered: str | None = None) -> DiscoveryError:
        subject = "The given text" if self.shown == "…" else self.shown
        return DiscoveryError(f"{subject} {text}.", address=self.shown, stage=self.stage, answered=answered)


_TOO_SLOW: Final = {
    "address": "could not be read",
    "tcp": "accepted no connection",
    "tls": "did not complete the TLS handshake",
    "http": "did not answer over HTTP",
}
_ADVICE: Final = {
    "address": "check that it is a plain file",
    "tcp": "check host, port and firewall",
    "tls": "check that it speaks TLS, else use ws:// or http://",
    "http": "check that a browser listens there, or give its ws:// address",
}


# ── the address ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def _read_address(where: Address, attempt: _Attempt) -> EndpointAddress:
    """Parse an address, or read the DevToolsActivePort file at a path."""
    path = _path_of(where)
    if path is where and looks_like_address(path):
        return parse_address(path)
    # The error may show a text that is clearly a path; any other text may be a mistyped address with a token in it.
    attempt.reach("address", path if path is not where or re.fullmatch(_ROOTED_PATH, path) else "…")
    try:
        source, text = await trio.to_thread.run_sync(read_port_file, path, abandon_on_cancel=True)
    except (
        OSError,
        ValueError,
        RuntimeError,
    ) as error:  # ValueError: a NUL byte in it; RuntimeError: no home folder for ~
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "no path"
    else:
        return parse_devtools_active_port(text, source=source)
    raise attempt.error(
        "is neither an address (ws://host:port/path, http://host:port, host:port) "
        f"nor a readable {PORT_FILE} file or its folder ({reason}); check it, and that the browser runs with its debugging port on"
    )


def _path_of(where: Address) -> str:
    """Return the text of an address or path: the same object if it is a str."""
    try:
        path = cast("object", os.fspath(where))
    except TypeError:
        path = None
    if not isinstance(path, str):
        raise InvalidArgument(f"A browser's address is a str or an os.PathLike of str, not {type(where).__name__}.")
    return path


_ROOTED_PATH: Final = r"(?s)(?!.*(?://|/devtools/))(?:[~.]*/|[A-Za-z]:[/\\]|\\\\)[^?@#=]*|~|\.|\.\."


def read_port_file(path: str) -> tuple[str, str]:
    """Read the file, in a worker thread: its folder may be on a slow disk."""
    file = Path(path).expanduser()
    if file.is_dir():
        file /= PORT_FILE
    with file.open("rb") as stream:
        return str(file), stream.read(_PORT_FILE_BYTES).decode("ascii", "replace")


# ── the connection ───────────────────────────────────────────────────────────────────────────────────────────────────


async def _dial(
    address: EndpointAddress, ssl_context: ssl.SSLContext | None, attempt: _Attempt
) -> trio.SocketStream | trio.SSLStream[trio.SocketStream]:
    attempt.reach("tcp", str(address))
    log.debug("dialling %s", address)
    try:
        stream = await trio.open_tcp_stream(address.host, address.port)
    except trio.socket.gaierror as error:
        attempt.reach("resolve", str(address))
        raise attempt.error("has a host name that cannot be resolved; check it, or use the IP address") from error
    except OSError as error:
        raise attempt.error(f"cannot be reached ({_reasons(error)}); {_unreached(address)}") from error
    if is_loopback(address.host):
        _widen(stream)
    return await _speak_tls(stream, address, ssl_context, attempt) if address.is_secure else stream


def _widen(stream: trio.SocketStream) -> None:
    """Let the kernel buffer more between two reads of the socket, up to its limit.

    Without this it offers 64 KiB at first, and more only if it measures a need, which it often misses on the same
    machine (docs/cdp/each-read-costs-a-scheduler-pass.md). For another machine the kernel's own measure is better,
    and stays.
    """
    with suppress(OSError):
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _LOOPBACK_BUFFER)


def _reasons(error: OSError) -> str:
    """Return why each of the host's addresses was not reached: trio keeps the errors as the cause."""
    found = [leaf.errno for leaf in leaf_exceptions(error.__cause__ or error) if isinstance(leaf, OSError)]
    return ", ".join(dict.fromkeys(os.strerror(number) for number in found if number)) or "no connection"


def _unreached(address: EndpointAddress) -> str:
    if is_loopback(address.host):
        return (
            "check that the browser runs and that this is its debugging port "
            "(a DevToolsActivePort file may be left over from a browser that has ended)"
        )
    return "check host and port: a browser listens on loopback only, so another machine needs a forwarded port"


async def _speak_tls(
    stream: trio.SocketStream, address: EndpointAddress, ssl_context: ssl.SSLContext | None, attempt: _Attempt
) -> trio.SSLStream[trio.SocketStream]:
    attempt.reach("tls", str(address))
    async with AsyncExitStack() as unless_done:
        unless_done.push_async_callback(trio.aclose_forcefully, stream)
        try:
            tls = trio.SSLStream(
                stream,
                ssl_context or ssl.create_default_context(),
                server_hostname=address.host,
                # Otherwise an end without close_notify, which is common, is an error, and closing waits for the peer.
                https_compatible=True,
            )
            await tls.do_handshake()
        except (trio.BrokenResourceError, ssl.SSLError) as error:
            raise attempt.error(_tls_problem(error), answered="other") from error
        unless_done.pop_all()
    return tls


def _tls_problem(error: BaseException | None) -> str:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            reason = error.verify_message.rstrip(".")
            return f"has a certificate that is not trusted ({reason}); pass an ssl_context that trusts it"
        if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):
            reason = (error.reason or "unknown").replace("_", " ").lower()
            return f"failed the TLS handshake ({reason}); {_ADVICE['tls']}"
        error = error.__cause__
    return f"ended the connection during the TLS handshake; {_ADVICE['tls']}"


# ── one GET ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _get(
    address: EndpointAddress,
    resource: Resource,
    headers: Mapping[str, str],
    ssl_context: ssl.SSLContext | None,
    attempt: _Attempt,
    max_bytes: int = MAX_ANSWER_BYTES,
) -> bytes:
    """GET one resource. Raises DiscoveryError if the status is not 200."""
    from cdp_core.http_exchange import Fault, exchange  # noqa: PLC0415 - imports stay cheap

    target, lines = http_get_request(address, resource, headers=headers)
    stream = await _dial(address, ssl_context, attempt)
    attempt.reach("http", str(address))
    try:
        answer = await exchange(stream, target, lines, max_bytes)
    finally:
        await trio.aclose_forcefully(stream)
    if isinstance(answer, Fault):
        raise attempt.error(f"{answer.problem}; {_ADVICE['http']}", answered=answer.answered)
    check_status(answer.status, asked=address, body=answer.body, location=answer.location)
    return answer.body
