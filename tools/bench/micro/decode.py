"""Measure the floor of C decoders: the same messages decoded and encoded, without IO or dispatch.

    python micro/decode.py            (in an environment with msgspec, orjson and attrs)

Prints events per decoder, results per size, one command per encoder, and the cost from an event's bytes to an object
with attributes. The goals for events are shares of the envelope row.
"""

from __future__ import annotations

import json
import sys
import timeit
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import msgspec
import orjson

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fake_messages import event, session_id

EVENTS = 20000


class Envelope(msgspec.Struct, gc=False):
    id: int = 0
    method: str = ""
    sessionId: str = ""  # noqa: N815  # the name on the wire
    params: msgspec.Raw = msgspec.Raw(b"")
    result: msgspec.Raw = msgspec.Raw(b"")
    error: msgspec.Raw = msgspec.Raw(b"")


@attrs.define
class DataReceived:
    request_id: str
    timestamp: float
    data_length: int
    encoded_data_length: int


class DataReceivedStruct(msgspec.Struct, rename="camel", gc=False):
    request_id: str
    timestamp: float
    data_length: int
    encoded_data_length: int


def build(params: dict[str, Any]) -> DataReceived:
    """Build an attrs object from a dict by hand."""
    return DataReceived(params["requestId"], params["timestamp"], params["dataLength"], params["encodedDataLength"])


decode = msgspec.json.Decoder().decode
decode_envelope = msgspec.json.Decoder(Envelope).decode
decode_lines = msgspec.json.Decoder(Envelope).decode_lines
decode_struct = msgspec.json.Decoder(DataReceivedStruct).decode
encode = msgspec.json.Encoder().encode

Function = Callable[[bytes], Any]
EVENT_DECODERS: dict[str, Function] = {
    "json.loads(bytes.decode())": lambda data: json.loads(data.decode()),
    "orjson": orjson.loads,
    "msgspec, dict": decode,
    "msgspec, envelope with raw params": decode_envelope,
    "envelope, then params as dict": lambda data: decode(decode_envelope(data).params),
}
TYPED_DECODERS: dict[str, Function] = {
    "json, then attrs by hand": lambda data: build(json.loads(data)["params"]),
    "envelope, dict, then attrs by hand": lambda data: build(decode(decode_envelope(data).params)),
    "envelope, then msgspec.Struct": lambda data: decode_struct(decode_envelope(data).params),
}
RESULT_DECODERS: dict[str, Function] = {
    "json.loads(bytes.decode())": lambda data: json.loads(data.decode()),
    "orjson": orjson.loads,
    "msgspec, dict": decode,
    "envelope, then result": lambda data: decode(decode_envelope(data).result),
    "copy": bytearray,
}
COMMAND = {
    "id": 123,
    "method": "Runtime.evaluate",
    "params": {"expression": "1+1", "returnByValue": True},
    "sessionId": "A" * 32,
}


def seconds(function: Callable[[], Any], repeat: int = 5) -> float:
    """Return the best time of `repeat` calls."""
    return min(timeit.repeat(function, number=1, repeat=repeat))


def each(function: Function, messages: Sequence[bytes]) -> Callable[[], Any]:
    """Return a function that decodes all messages."""
    return lambda: [function(message) for message in messages]


def main() -> None:
    """Print all tables."""
    for shape in ("network", "console"):
        messages = [event(i, shape, session_id(i % 100)) for i in range(EVENTS)]
        print(f"\n{shape} events of {len(messages[0])} bytes, us each")
        decoders = EVENT_DECODERS | (TYPED_DECODERS if shape == "network" else {})
        for name, function in decoders.items():
            print(f"  {name:38} {seconds(each(function, messages)) / EVENTS * 1e6:.3f}")
        lines = b"\n".join(messages)
        batch = seconds(lambda lines=lines: decode_lines(lines))
        print(f"  {'msgspec, envelopes in one batch':38} {batch / EVENTS * 1e6:.3f}")
    for megabytes in (1, 10, 100):
        text = "x" * (megabytes * 1_000_000)
        message = b'{"id":1,"result":{"result":{"type":"string","value":"%s"}},"sessionId":"A"}' % text.encode()
        print(f"\nresult of {megabytes} MB, MB/s")
        for name, function in RESULT_DECODERS.items():
            print(f"  {name:38} {megabytes / seconds(each(function, [message]), 3):.0f}")
    print("\none command encoded, us")
    for name, encoder in (("json.dumps", json.dumps), ("orjson", orjson.dumps), ("msgspec", encode)):
        print(
            f"  {name:38} {seconds(lambda encoder=encoder: [encoder(COMMAND) for _ in range(EVENTS)]) / EVENTS * 1e6:.3f}"
        )


if __name__ == "__main__":
    main()
