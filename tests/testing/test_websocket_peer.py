"""The browser's side of a WebSocket, tested against wsproto as the client's side."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Ping, Pong, TextMessage
from wsproto.extensions import PerMessageDeflate

from cdp_core.testing import websocket_peer
from cdp_core.testing.websocket_peer import WebSocketPeer, negotiate_deflate

OFFERS = [
    "permessage-deflate",
    "permessage-deflate; client_max_window_bits",
    "permessage-deflate; server_no_context_takeover; client_no_context_takeover",
    "permessage-deflate; server_max_window_bits=10; client_max_window_bits=11",
]
ALL = (
    "permessage-deflate; server_no_context_takeover; client_no_context_takeover; server_max_window_bits=10; "
    "client_max_window_bits=11"
)
ALL_REVERSED = "; ".join(["permessage-deflate", *ALL.split("; ")[:0:-1]])


def client_for(offer: str | None) -> tuple[Connection, WebSocketPeer]:
    """Return a client that offered this extension, and the browser's side that accepted it."""
    if offer is None:
        return Connection(ConnectionType.CLIENT), WebSocketPeer()
    taken = negotiate_deflate(offer)
    extension = PerMessageDeflate()
    extension.offer()
    extension.finalize(str(taken))
    return Connection(ConnectionType.CLIENT, [extension]), WebSocketPeer(taken)


def cut(octets: bytes, sizes: Iterator[int]) -> Iterator[bytes]:
    while octets:
        size = next(sizes)
        yield octets[:size]
        octets = octets[size:]


def read(client: Connection) -> Iterator[str]:
    text = ""
    for event in client.events():
        if isinstance(event, TextMessage):
            text += event.data
            if event.message_finished:
                yield text
                text = ""


def masked(first: int, content: bytes, *, mask: bytes = b"\1\2\3\4") -> bytes:
    hidden = bytes(octet ^ mask[index % 4] for index, octet in enumerate(content))
    return bytes((first, 0x80 | len(content))) + mask + hidden


texts = st.text(st.characters(codec="utf-8"), max_size=300) | st.sampled_from(["x" * 70_000, "ab" * 40_000])


@given(
    offer=st.none() | st.sampled_from(OFFERS), sent=st.lists(texts, max_size=4), sizes=st.lists(st.integers(1, 90_000))
)
def test_each_side_reads_what_the_other_wrote_however_it_is_cut(
    offer: str | None, sent: list[str], sizes: list[int]
) -> None:
    client, browser = client_for(offer)
    endless = iter([*sizes, *[1 << 20] * 1000])
    octets = b"".join(client.send(TextMessage(data=text)) for text in sent)
    received = [text for part in cut(octets, endless) for text in browser.receive(part)]
    assert [text.decode() for text in received] == sent
    for part in cut(b"".join(browser.frame(text.encode()) for text in sent), iter([1 << 20] * 1000)):
        client.receive_data(part)
    assert list(read(client)) == sent
    assert browser.ended is None


@pytest.mark.parametrize("offer", [None, *OFFERS])
def test_a_fragmented_text_is_joined_around_a_ping(offer: str | None) -> None:
    client, browser = client_for(offer)
    parts: Iterable[bytes] = (
        client.send(TextMessage(data="ab", message_finished=False)),
        client.send(Ping(payload=b"p")),
        client.send(TextMessage(data="cd", message_finished=True)),
    )
    assert [text for part in parts for text in browser.receive(part)] == [b"abcd"]
    client.receive_data(browser.take_answer())
    assert list(client.events()) == [Pong(payload=b"p")]
    assert browser.take_answer() == b""


def test_small_messages_are_compressed_and_the_window_lasts_as_negotiated() -> None:
    """As in Chromium 156: the first octet is 0xC1 for every size."""
    text = b'{"id":1,"result":{}}' * 3
    for offer, grows in ((OFFERS[0], True), (OFFERS[2], False)):
        _client, browser = client_for(offer)
        first, second = browser.frame(text), browser.frame(text)
        assert first[0] == second[0] == 0xC1
        assert (len(second) < len(first)) is grows
    assert WebSocketPeer().frame(b"{}") == b"\x81\x02{}"


@pytest.mark.parametrize("bits", range(8, 16))
def test_a_message_compressed_for_a_small_window_fits_it(bits: int) -> None:
    browser = WebSocketPeer(negotiate_deflate(f"permessage-deflate; server_max_window_bits={bits}"))
    text = bytes(range(256)) * 3 + b"distance" * 100
    frame = browser.frame(text)
    content = frame[4:] if frame[1] == 126 else frame[2:]
    assert zlib.decompressobj(wbits=-bits).decompress(content + b"\0\0\xff\xff") == text


# The answers of Chromium 156, octet by octet.
@pytest.mark.parametrize(
    ("offers", "taken"),
    [
        ("", None),
        ("permessage-deflate", "permessage-deflate"),
        ("permessage-deflate; client_max_window_bits", "permessage-deflate; client_max_window_bits=15"),
        (ALL_REVERSED, ALL),
        ("foo, permessage-deflate", "permessage-deflate"),
        (
            "permessage-deflate; client_max_window_bits=9, permessage-deflate",
            "permessage-deflate; client_max_window_bits=9",
        ),
        ('permessage-deflate; server_max_window_bits="10"', "permessage-deflate; server_max_window_bits=10"),
        ("permessage-deflate; server_max_window_bits=8", "permessage-deflate; server_max_window_bits=8"),
        ("permessage-deflate; server_max_window_bits=7", None),
        ("permessage-deflate; server_max_window_bits=16", None),
        ("permessage-deflate; server_max_window_bits", None),
        ("permessage-deflate; server_no_context_takeover=1", None),
        ("permessage-deflate; server_no_context_takeover; server_no_context_takeover", None),
        ("permessage-deflate; foo=1", None),
        ("permessage-deflate; foo=1, permessage-deflate", "permessage-deflate"),
        ("PerMessage-Deflate", None),
        ("x-webkit-deflate-frame", None),
    ],
)
def test_an_offer_is_answered_as_chromium_answers_it(offers: str, taken: str | None) -> None:
    found = negotiate_deflate(offers)
    assert (None if found is None else str(found)) == taken


@pytest.mark.parametrize(
    ("octets", "reason", "answer"),
    [
        (masked(0x82, b"{}"), "binary", b""),
        (masked(0x02, b"{}") + masked(0x80, b""), "binary", b""),
        (b"\x81\x02{}", "illegal", b""),
        (masked(0xC1, b"{}"), "illegal", b""),
        (masked(0xA1, b"{}"), "illegal", b""),
        (masked(0x83, b""), "illegal", b""),
        (masked(0x80, b""), "illegal", b""),
        (masked(0x01, b"a") + masked(0x81, b"b"), "illegal", b""),
        (masked(0x09, b""), "illegal", b""),
        (b"\x89\xfe\0\x7e", "illegal", b""),
        (masked(0x8B, b""), "illegal", b""),
        (b"\x81\xff" + (1 << 40).to_bytes(8, "big"), "too long", b""),
        (masked(0x88, b"\x03\xe9bye"), "closed", b"\x88\x02\x03\xe8"),
        (masked(0x88, b""), "closed", b"\x88\x02\x03\xe8"),
    ],
)
def test_an_invalid_frame_or_a_close_ends_the_link(octets: bytes, reason: str, answer: bytes) -> None:
    browser = WebSocketPeer()
    assert list(browser.receive(octets + masked(0x81, b"unheard"))) == []
    assert (browser.ended, browser.take_answer()) == (reason, answer)


def test_invalid_compressed_data_or_a_too_large_text_ends_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    _client, browser = client_for(OFFERS[0])
    assert list(browser.receive(masked(0xC1, b"\xff\xff\xff\xff"))) == []
    assert browser.ended == "illegal"
    monkeypatch.setattr(websocket_peer, "LONGEST_TEXT", 1000)
    client, browser = client_for(OFFERS[0])
    assert list(browser.receive(client.send(TextMessage(data="x" * 999)))) == [b"x" * 999]
    assert list(browser.receive(client.send(TextMessage(data="x" * 5000)))) == []
    assert browser.ended == "too long"


def test_a_text_that_is_not_utf_8_is_passed_on() -> None:
    """Its reader refuses it as JSON, and the link stays (fact 53)."""
    assert list(WebSocketPeer().receive(masked(0x81, b"\xff\xfe"))) == [b"\xff\xfe"]


def test_wsproto_understands_the_close() -> None:
    client, browser = client_for(None)
    assert list(browser.receive(client.send(CloseConnection(code=1001)))) == []
    client.receive_data(browser.take_answer())
    [event] = client.events()
    assert isinstance(event, CloseConnection)
    assert event.code == 1000
    assert not isinstance(event, BytesMessage)
