"""Recording a link: the trace file, the tee, and the replay."""

from __future__ import annotations

import errno
import json
import logging
import os
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from stat import S_IMODE
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from cdp_core._version import __version__
from cdp_core.errors import ConnectionLost, InvalidArgument, LocalProtocolError, RemoteProtocolError
from cdp_core.sansio.messages import Payload
from cdp_core.sansio.trace import (
    LinkRecord,
    MarkRecord,
    MessageRecord,
    OtherRecord,
    TraceHeader,
    TraceRecord,
)
from cdp_core.tracing.file import FLUSH_RECORDS, TraceWriter, read_trace
from cdp_core.tracing.replayed import RecordedTransport
from cdp_core.tracing.tee import TeeTransport
from cdp_core.transports import DirectTransport
from cdp_core.transports.memory import MemoryTransport, memory_pair

TRACES = Path(__file__).parents[2] / "traces"


class Clock:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trace.jsonl"


def open_files() -> int:
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.exists() else 0


def texts_of(path: Path) -> list[tuple[str, bytes]]:
    return [(record.direction, record.text) for record in read_trace(path) if isinstance(record, MessageRecord)]


# ── the writer ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_trace_is_written_and_read(path: Path) -> None:
    with TraceWriter(path, protocol="1.3", wall_clock=lambda: 77.5) as writer:
        writer.link("open", at=10.0)
        writer.message("out", b"1", at=10.5)
        writer.message("in", memoryview(b"\xff"), at=11.0, conn="B")
        writer.mark("here", at=12.0)
        writer.other("ask", {"n": 1}, at=13.0)
    reader = read_trace(path)
    assert list(reader) == [
        TraceHeader(start=77.5, library=__version__, protocol="1.3"),
        LinkRecord(event="open", t=0.0, conn="A"),
        MessageRecord(direction="out", t=0.5, conn="A", text=b"1", size=1),
        MessageRecord(direction="in", t=1.0, conn="B", text=b"\xff", size=1),
        MarkRecord(t=2.0, note="here"),
        OtherRecord(kind="ask", t=3.0, fields={"n": 1}),
    ]
    assert not reader.torn
    statistics = writer.statistics()
    assert statistics.bytes_written == path.stat().st_size == statistics.counts.bytes
    assert (statistics.counts.records, statistics.lost_records, statistics.stopped) == (6, 0, "closed")


def test_a_writer_without_records_writes_the_header(path: Path) -> None:
    TraceWriter(path).close()
    assert [type(record) for record in read_trace(path)] == [TraceHeader]


@pytest.mark.skipif(sys.platform == "win32", reason="file modes have no effect on Windows")
def test_only_the_owner_may_read_the_file(path: Path) -> None:
    path.write_text("old")
    path.chmod(0o644)
    TraceWriter(path).close()
    assert S_IMODE(path.stat().st_mode) == 0o600
    path.unlink()
    modes: list[int] = []
    old = os.umask(0)
    try:
        with pytest.MonkeyPatch.context() as patch:  # private from its creation, not only after fchmod
            patch.setattr(os, "fchmod", lambda descriptor, _mode: modes.append(os.fstat(descriptor).st_mode))
            TraceWriter(path).close()
    finally:
        os.umask(old)
    assert [S_IMODE(mode) for mode in modes] == [0o600]


def test_the_path_may_be_a_device() -> None:
    TraceWriter(os.devnull).close()


def test_a_file_that_cannot_be_made_private_is_not_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_descriptor: int, _mode: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "fchmod", refuse)
    before = open_files()
    with pytest.raises(PermissionError):
        TraceWriter(path)
    assert open_files() == before


def test_a_path_that_cannot_be_opened_raises_at_once(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        TraceWriter(tmp_path / "nowhere" / "trace")
    with pytest.raises(FileNotFoundError):
        list(read_trace(tmp_path / "nowhere"))


def test_a_crash_loses_at_most_the_unflushed_records(path: Path) -> None:
    writer = TraceWriter(path)
    for number in range(3 * FLUSH_RECORDS):
        writer.message("in", b"%d" % number, at=0.0)
        on_disk = path.read_bytes().count(b"\n")
        assert number + 2 - on_disk < FLUSH_RECORDS
    writer.mark("x" * 100_000, at=0.0)  # a large record is written at once
    assert path.stat().st_size > 100_000
    writer.message("in", b"last", at=0.0)
    writer.flush()
    assert texts_of(path)[-1] == ("in", b"last")
    writer.close()


def test_the_limits_and_the_redact_hook_are_applied(path: Path) -> None:
    with TraceWriter(path, redact=lambda text: text.upper(), max_message_bytes=3, max_bytes=400) as writer:
        writer.message("in", b"abcdef", at=0.0)
        writer.message("in", b"x" * 1000, at=1.0)
        for _ in range(10):
            writer.message("in", b"x" * 1000, at=2.0)
    got = list(read_trace(path))
    assert isinstance(got[1], MessageRecord)
    assert (got[1].text, got[1].size, got[1].cut) == (b"ABC", 6, True)
    last = got[-1]
    assert isinstance(last, MarkRecord)
    assert last.left_out_records == writer.statistics().counts.left_out_records > 0
    assert last.left_out_bytes == 1000 * last.left_out_records
    assert last.t == 2.0


def test_records_after_the_close_are_counted_as_lost(path: Path) -> None:
    writer = TraceWriter(path)
    writer.close()
    writer.close()
    size = path.stat().st_size
    writer.message("in", b"1", at=0.0)
    writer.link("open", at=0.0)
    writer.mark("n", at=0.0)
    writer.other("ask", {}, at=0.0)
    writer.flush()
    assert writer.statistics().lost_records == 4
    assert path.stat().st_size == size


class BadDisk:
    """A file that takes `room` bytes and then fails."""

    def __init__(self, room: int, *, at_close: bool = False) -> None:
        self.room = room
        self.at_close = at_close
        self.closed = 0

    def write(self, data: memoryview) -> int:
        if not self.room and not self.at_close:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = min(self.room, len(data))
        self.room -= taken
        return len(data) if self.at_close else taken

    def close(self) -> None:
        self.closed += 1
        if self.at_close:
            raise OSError(errno.EIO, "Input/output error")


def with_bad_disk(path: Path, disk: BadDisk) -> TraceWriter:
    writer = TraceWriter(path)
    writer._file.close()
    writer._file = disk  # type: ignore[assignment]
    return writer


@pytest.mark.parametrize("room", [0, 150])
def test_a_full_disk_stops_the_recording_and_nothing_else(
    path: Path, room: int, caplog: pytest.LogCaptureFixture
) -> None:
    disk = BadDisk(room)
    writer = with_bad_disk(path, disk)
    with caplog.at_level(logging.DEBUG, "cdp_core.trace"):
        for number in range(3 * FLUSH_RECORDS):
            writer.message("in", b"secret", at=float(number))
        writer.flush()
        writer.close()
    statistics = writer.statistics()
    assert statistics.stopped == "No space left on device"
    assert statistics.bytes_written == room
    assert statistics.lost_records == 3 * FLUSH_RECORDS + 1  # the header too
    assert disk.closed == 1
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "No space left" in warnings[0].getMessage()
    assert "secret" not in caplog.text
    assert str(path.parent) not in caplog.text


def test_a_disk_that_fails_at_the_close_is_reported(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    writer = with_bad_disk(path, BadDisk(0, at_close=True))
    writer.close()
    assert writer.statistics().stopped == "Input/output error"
    assert len(caplog.records) == 1
    writer = with_bad_disk(path, BadDisk(0))
    writer.close()  # the last write fails before the close does
    assert writer.statistics().stopped == "No space left on device"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
async def test_a_full_disk_does_not_disturb_the_link() -> None:
    one, other = memory_pair()
    tee = TeeTransport(one, TraceWriter("/dev/full"))
    for number in range(3 * FLUSH_RECORDS):
        await tee.send([b"%d" % number])
    assert len(await other.receive()) == 3 * FLUSH_RECORDS


def test_a_torn_file_is_read_to_its_last_whole_line(path: Path) -> None:
    with TraceWriter(path) as writer:
        writer.message("in", b"1", at=0.0)
        writer.message("in", b"2", at=0.0)
    path.write_bytes(path.read_bytes()[:-5])
    reader = read_trace(path)
    assert len(list(reader)) == 2
    assert reader.torn


@pytest.mark.parametrize("name", ["wire_pipe", "dialog_wedge_recovery"])
def test_the_older_format_is_read_too(name: str) -> None:
    assert any(isinstance(record, MessageRecord) for record in read_trace(TRACES / f"{name}.jsonl"))


# ── the tee ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def tee_pair(path: Path, clock: Callable[[], float] | None = None) -> tuple[TeeTransport, MemoryTransport, TraceWriter]:
    one, other = memory_pair()
    writer = TraceWriter(path, wall_clock=lambda: 0.0)
    return TeeTransport(one, writer, clock=clock or trio.current_time), other, writer


async def test_a_tee_records_every_message(path: Path) -> None:
    clock = Clock()
    tee, other, writer = tee_pair(path, clock)
    clock.now += 1
    await tee.send([b"1", b"2"])
    clock.now += 1
    assert tee.send_now(b"3")
    assert list(await other.receive()) == [b"1", b"2", b"3"]
    clock.now += 1
    await other.send([b"\xff", b'"\\ud800"'])
    assert list(await tee.receive()) == [b"\xff", b'"\\ud800"']
    clock.now += 1
    await tee.aclose()
    await tee.aclose()
    writer.close()
    message = MessageRecord
    assert list(read_trace(path))[1:] == [
        LinkRecord(event="open", t=0.0, conn="A"),
        message(direction="out", t=1.0, conn="A", text=b"1", size=1),
        message(direction="out", t=1.0, conn="A", text=b"2", size=1),
        message(direction="out", t=2.0, conn="A", text=b"3", size=1),
        message(direction="in", t=3.0, conn="A", text=b"\xff", size=1),
        message(direction="in", t=3.0, conn="A", text=b'"\\ud800"', size=8),
        LinkRecord(event="close", t=4.0, conn="A", reason="closed"),
    ]


async def test_trio_s_clock_is_the_default(path: Path) -> None:
    tee, _other, writer = tee_pair(path)
    await trio.sleep(0.01)
    await tee.send([b"1"])
    writer.close()
    last = list(read_trace(path))[-1]
    assert isinstance(last, MessageRecord)
    assert 0.01 <= last.t < 5


async def test_several_links_share_a_writer(path: Path) -> None:
    with TraceWriter(path) as writer:
        for name in ("A", "B"):
            one, _other = memory_pair()
            await TeeTransport(one, writer, name).send([name.encode()])
    got = [(record.conn, record.text) for record in read_trace(path) if isinstance(record, MessageRecord)]
    assert got == [("A", b"A"), ("B", b"B")]


async def test_a_lost_link_is_recorded_once_with_its_reason(path: Path) -> None:
    tee, other, writer = tee_pair(path)
    await other.send([b"last"])
    await other.aclose()
    with pytest.raises(ConnectionLost):
        await tee.send([b"was on its way"])
    assert list(await tee.receive()) == [b"last"]
    for _ in range(2):
        with pytest.raises(ConnectionLost):
            await tee.receive()
    with pytest.raises(ConnectionLost):
        await tee.send([b"never"])
    assert not tee.send_now(b"never")
    await tee.aclose()
    writer.close()
    assert texts_of(path) == [("out", b"was on its way"), ("in", b"last")]
    closes = [record for record in read_trace(path) if isinstance(record, LinkRecord) and record.event == "close"]
    assert [record.reason for record in closes] == ["peer_closed"]


class Failing:
    """A foreign transport without direct sends; its calls raise the given error, if any."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.view = memoryview(bytearray(b"view"))

    async def receive(self) -> Sequence[Payload]:
        if self.error is not None:
            raise self.error
        return [self.view]

    async def send(self, batch: Sequence[bytes], /) -> None:
        if self.error is not None:
            raise self.error

    async def aclose(self) -> None:
        pass


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (trio.ClosedResourceError(), "ClosedResourceError"),
        (RemoteProtocolError("."), "protocol_error"),
        (ConnectionLost(".", reason="why"), "why"),
    ],
)
@pytest.mark.parametrize("call", ["receive", "send"])
async def test_every_end_is_recorded(error: Exception, reason: str, call: str, path: Path) -> None:
    with TraceWriter(path) as writer:
        tee = TeeTransport(Failing(error), writer)
        with pytest.raises(type(error)):
            await (tee.receive() if call == "receive" else tee.send([b"1"]))
    last = list(read_trace(path))[-1]
    assert isinstance(last, LinkRecord)
    assert last.reason == reason


async def test_an_invalid_argument_does_not_end_the_link(path: Path) -> None:
    with TraceWriter(path) as writer:
        tee = TeeTransport(Failing(InvalidArgument("no")), writer)
        with pytest.raises(InvalidArgument):
            await tee.send([b"1"])
    assert [record.event for record in read_trace(path) if isinstance(record, LinkRecord)] == ["open"]


async def test_a_memoryview_is_copied_into_the_trace(path: Path) -> None:
    inner = Failing()
    with TraceWriter(path) as writer:
        tee = TeeTransport(inner, writer)
        (view,) = await tee.receive()
        assert view is inner.view
        inner.view[:] = b"gone"
    assert texts_of(path) == [("in", b"view")]


async def test_a_tee_over_a_transport_without_direct_sends_refuses_them(path: Path) -> None:
    with TraceWriter(path) as writer:
        tee = TeeTransport(Failing(), writer)
        assert isinstance(tee, DirectTransport)
        assert not tee.send_now(b"1")
        assert not tee.unsent
    assert texts_of(path) == []


class HalfSent(Failing):
    unsent = True

    def send_now(self, text: bytes, /) -> bool:
        return text == b"yes"


async def test_unsent_is_passed_on(path: Path) -> None:
    with TraceWriter(path) as writer:
        tee = TeeTransport(HalfSent(), writer)
        assert tee.unsent
        assert tee.send_now(b"yes")
        assert not tee.send_now(b"no")
    assert texts_of(path) == [("out", b"yes")]


async def test_a_reply_is_never_recorded_before_its_command(path: Path) -> None:
    tee, other, writer = tee_pair(path)

    async def answer() -> None:
        for text in await other.receive():
            assert other.send_now(b"re " + text)

    async def receive() -> None:
        await tee.receive()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(answer)
        nursery.start_soon(receive)
        await wait_all_tasks_blocked()
        await tee.send([b"1"])
    writer.close()
    assert texts_of(path) == [("out", b"1"), ("in", b"re 1")]


# ── the replay ───────────────────────────────────────────────────────────────────────────────────────────────────────


def command(number: int, method: str = "A.b", session: str | None = None, **params: Any) -> bytes:
    fields = {"id": number, "method": method, "params": params, "sessionId": session}
    return json.dumps({name: value for name, value in fields.items() if value is not None}).encode()


def trace(*texts: str | bytes, conn: str = "A", **fields: Any) -> list[TraceRecord]:
    """Make records: `<text` was received, `>text` was sent; bytes were sent too."""
    records: list[TraceRecord] = []
    for text in texts:
        octets = text if isinstance(text, bytes) else text[1:].encode()
        direction: Any = "in" if isinstance(text, str) and text[0] == "<" else "out"
        records.append(MessageRecord(direction=direction, t=0.0, conn=conn, text=octets, size=len(octets), **fields))
    return records


async def ended(transport: RecordedTransport) -> str:
    with trio.fail_after(30), pytest.raises(ConnectionLost) as caught:
        await transport.receive()
    return caught.value.reason


async def test_a_recorded_message_is_delivered_after_the_sends_before_it() -> None:
    transport = RecordedTransport(trace("<0", ">1", "<2", "<3", ">4", ">5", "<6"))
    assert list(await transport.receive()) == [b"0"]
    with trio.move_on_after(0.01) as scope:
        await transport.receive()
    assert scope.cancelled_caught
    await transport.send([b"1"])
    assert list(await transport.receive()) == [b"2", b"3"]
    assert transport.send_now(b"4")
    with trio.move_on_after(0.01) as scope:
        await transport.receive()
    assert scope.cancelled_caught
    await transport.send([b"5"])
    assert list(await transport.receive()) == [b"6"]
    assert await ended(transport) == "trace_ended"
    assert await ended(transport) == "trace_ended"
    with pytest.raises(ConnectionLost):
        await transport.send([b"7"])
    assert not transport.send_now(b"7")
    statistics = transport.statistics()
    assert (statistics.received, statistics.sent, statistics.left_in, statistics.left_out) == (4, 3, 0, 0)


async def test_sends_may_run_ahead_of_receives() -> None:
    transport = RecordedTransport(trace(">1", "<2", ">3", "<4"))
    await transport.send([b"1", b"3"])
    assert list(await transport.receive()) == [b"2", b"4"]
    assert transport.statistics().left_out == 0


async def test_a_send_wakes_the_receiver() -> None:
    transport = RecordedTransport(trace(">1", "<2"))
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _() -> None:
            assert list(await transport.receive()) == [b"2"]

        await wait_all_tasks_blocked()
        await transport.send([b"1"])


async def test_an_empty_trace_has_ended() -> None:
    assert await ended(RecordedTransport([TraceHeader(start=0.0, library="1")])) == "trace_ended"


async def test_the_end_waits_for_the_last_send() -> None:
    transport = RecordedTransport(trace("<1", ">2"))
    await transport.receive()
    with trio.move_on_after(0.01) as scope:
        await transport.receive()
    assert scope.cancelled_caught
    assert transport.statistics().left_out == 1
    await transport.send([b"2"])
    assert await ended(transport) == "trace_ended"


async def test_a_closed_replay_reports_closed() -> None:
    transport = RecordedTransport(trace("<1", ">2"))
    await transport.aclose()
    assert await ended(transport) == "closed"
    with pytest.raises(ConnectionLost):
        await transport.send([b"2"])


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (command(8, "A.b"), ["record 3", "A.b (id 7)", "A.b (id 8)"]),
        (command(7, "C.d"), ["record 3", "A.b (id 7)", "C.d (id 7)"]),
        (command(7, "A.b", "0123456789"), ["on session (root)", "on session 01234567 "]),
        (command(7, "A.b", secret="hunter2"), ["record 3", "A.b (id 7)", "not the same text"]),
        (b"garbage", ["record 3", "a message without a method (no id)"]),
    ],
)
@pytest.mark.parametrize("how", ["send", "send_now"])
async def test_a_deviating_send_is_reported(sent: bytes, words: list[str], how: str) -> None:
    records = [TraceHeader(start=0.0, library="1"), *trace(command(1), command(7), "<after")]
    transport = RecordedTransport(records)
    await transport.send([command(1)])
    with pytest.raises(LocalProtocolError) as caught:
        if how == "send":
            await transport.send([sent])
        else:
            transport.send_now(sent)
    assert caught.value.reason == "trace_deviates"
    for word in words:
        assert word in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert await ended(transport) == "trace_deviates"
    with pytest.raises(ConnectionLost):
        await transport.send([command(7)])
    assert not transport.send_now(command(7))
    assert transport.statistics().sent == 1


async def test_a_send_after_the_last_recorded_one_is_a_deviation() -> None:
    transport = RecordedTransport(trace(">1", "<2"))
    await transport.send([b"1"])
    with pytest.raises(LocalProtocolError, match=r"C\.d \(id 9\)") as caught:
        await transport.send([command(9, "C.d")])
    assert caught.value.reason == "trace_deviates"


async def test_a_tolerant_replay_compares_only_ids_methods_and_sessions() -> None:
    transport = RecordedTransport(trace(command(1, "A.b", "S", n=1), command(2), exact=False), strict=False)
    await transport.send([command(1, "A.b", "S", n=2)])
    with pytest.raises(LocalProtocolError):
        await transport.send([command(3)])
    transport = RecordedTransport(trace(">garbage"), strict=False)
    with pytest.raises(LocalProtocolError):
        await transport.send([b"other garbage"])
    assert await ended(transport) == "trace_deviates"
    transport = RecordedTransport(trace(">garbage"), strict=False)
    await transport.send([b"garbage"])


def test_a_trace_that_cannot_be_replayed_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"Record 2 .*strict=False"):
        RecordedTransport([*trace("<1"), *trace(">2", exact=False)])
    RecordedTransport(trace("<1", exact=False))  # a received message may be redacted if it is whole
    with pytest.raises(InvalidArgument, match=r"Record 1 .*beginning"):
        RecordedTransport(trace("<1", cut=True), strict=False)


async def test_one_link_of_several_is_replayed() -> None:
    records = [*trace("<1"), *trace("<2", conn="B"), *trace("<3")]
    with pytest.raises(InvalidArgument, match="A, B"):
        RecordedTransport(records)
    with pytest.raises(InvalidArgument, match="'C'"):
        RecordedTransport(records, conn="C")
    assert list(await RecordedTransport(records, conn="A").receive()) == [b"1", b"3"]


async def test_a_link_is_replayed_to_its_close() -> None:
    close = LinkRecord(event="close", t=0.0, conn="A")
    records = [LinkRecord(event="open", t=0.0, conn="A"), *trace("<1"), close, *trace("<2")]
    transport = RecordedTransport(records)
    assert list(await transport.receive()) == [b"1"]
    assert await ended(transport) == "trace_ended"


async def test_an_older_trace_is_replayed_tolerantly() -> None:
    records = list(read_trace(TRACES / "wire_ids.jsonl"))
    with pytest.raises(InvalidArgument):
        RecordedTransport(records)
    transport = RecordedTransport(records, strict=False)
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _() -> None:
            while True:
                try:
                    await transport.receive()
                except ConnectionLost:
                    return

        for record in records:
            if isinstance(record, MessageRecord) and record.direction == "out":
                await transport.send([record.text])
    assert transport.statistics().left_in == transport.statistics().left_out == 0


# ── a recording can be replayed ──────────────────────────────────────────────────────────────────────────────────────

conversations = st.lists(
    st.tuples(st.sampled_from(["out", "now", "in", "take"]), st.lists(st.binary(min_size=1, max_size=8), max_size=3)),
    max_size=12,
)


@given(conversation=conversations, chance=st.random_module())
def test_a_recorded_conversation_replays_identically(
    conversation: list[tuple[str, list[bytes]]], chance: random.Random, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("trace") / "trace.jsonl"

    async def act(transport: TeeTransport | RecordedTransport, got: list[bytes], peer: MemoryTransport | None) -> None:
        due = 0
        for step, batch in conversation:
            if step == "out":
                await transport.send(batch)
            elif step == "now":
                for text in batch:
                    assert transport.send_now(text)
            elif step == "in":
                due += len(batch)
                if peer is not None:
                    await peer.send(batch)
            else:
                while len(got) < due:
                    got += map(bytes, await transport.receive())
        if peer is not None:
            await peer.aclose()
        with pytest.raises(ConnectionLost):
            while True:
                got += map(bytes, await transport.receive())

    async def main() -> None:
        one, other = memory_pair()
        first: list[bytes] = []
        second: list[bytes] = []
        with TraceWriter(path) as writer:
            await act(TeeTransport(one, writer), first, other)
        transport = RecordedTransport(read_trace(path))
        await act(transport, second, None)
        assert first == second == [text for step, batch in conversation if step == "in" for text in batch]
        assert transport.statistics().left_in == transport.statistics().left_out == 0

    trio.run(main, clock=MockClock(autojump_threshold=0))
