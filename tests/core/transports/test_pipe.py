"""The pipe link against small programs: messages, failed starts, ends, no leaked process or file."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import assert_checkpoints, wait_all_tasks_blocked

from cdp_core.errors import (
    ConnectionLost,
    DiscoveryError,
    InvalidArgument,
    LocalProtocolError,
    RemoteProtocolError,
)
from cdp_core.sansio.messages import Payload
from cdp_core.transports import DirectTransport, pipe, tuning
from cdp_core.transports import child as child_module
from cdp_core.transports.pipe import PipeTransport, open_pipe

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the pipe link does not support Windows")

PRELUDE = r"""
import os, signal, sys, time
def texts():
    parts = []
    while True:
        data = os.read(3, 1 << 16)
        if not data:
            return
        first, *others = data.split(b"\0")
        parts.append(first)
        for text in others:
            yield b"".join(parts)
            parts = [text]
def write(data):
    view = memoryview(data)
    while view:
        view = view[os.write(4, view):]
def say(text):
    write(text + b"\0")
"""
ECHO = "for text in texts(): say(text)"
NEVER_READS = "time.sleep(60)"
PATIENCE = 30
"""Seconds after which a test that would hang fails."""


def child(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", PRELUDE + code]


def opened(code: str, **options: Any) -> AbstractAsyncContextManager[PipeTransport]:
    return open_pipe(child(code), **{"start_grace": 0.001, **options})


async def gather(transport: PipeTransport, count: int) -> list[Payload]:
    got: list[Payload] = []
    with trio.fail_after(PATIENCE):
        while len(got) < count:
            got += await transport.receive()
    return got


async def lost(transport: PipeTransport) -> ConnectionLost:
    """Receive until the link is lost; return the error."""
    with trio.fail_after(PATIENCE), pytest.raises(ConnectionLost) as caught:
        while True:
            await transport.receive()
    return caught.value


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def children() -> set[str]:
    """Return the ids of the child processes that are not reaped yet."""
    found: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        try:
            found.update((task / "children").read_text().split())
        except OSError:  # the thread has just ended
            continue
    return found


def runs(pid: int) -> bool:
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


@pytest.fixture(autouse=True)
def no_process_or_file_is_left() -> Iterator[None]:
    if not Path("/proc/self/fd").exists():
        yield
        return
    files, processes = open_files(), children()
    yield
    assert children() <= processes
    assert open_files() == files


# ── messages ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_messages_pass_both_ways_in_order() -> None:
    async with opened(ECHO) as transport:
        await transport.send([b'{"id":1}', b'{"id":2}'])
        await transport.send([b'{"id":3}'])
        assert transport.send_now(b'{"id":4}')
        assert await gather(transport, 4) == [b'{"id":%d}' % number for number in range(1, 5)]
        statistics = transport.statistics()
        assert (statistics.sent, statistics.received, statistics.returncode) == (4, 4, None)
    assert transport.statistics().returncode == 0


async def test_a_message_may_arrive_in_any_chunks() -> None:
    code = r"""
for portion in b'{"id"', b':1}\0{"id":2}\0', b'\0', b'{', b'"id":3}', b'\0':
    write(portion)
    time.sleep(0.01)
for text in texts(): pass
"""
    async with opened(code) as transport:
        assert await gather(transport, 3) == [b'{"id":1}', b'{"id":2}', b'{"id":3}']
        assert transport.statistics().empty_texts == 1


async def test_text_that_is_not_json_is_passed_on() -> None:
    async with opened(r"write(b'\0\0\xff garbage\n\0[]\0'); list(texts())") as transport:
        assert await gather(transport, 2) == [b"\xff garbage\n", b"[]"]


async def test_thirty_megabytes_pass_both_ways() -> None:
    text = b'{"a":"' + bytes(range(32, 33)) * (30 << 20) + b'"}'
    async with opened(ECHO) as transport, trio.open_nursery() as nursery:
        nursery.start_soon(transport.send, [text, b"{}"])
        large, small = await gather(transport, 2)
        assert isinstance(large, memoryview)  # decoded whole, at once
        assert large == text
        assert small == b"{}"
        assert isinstance(small, bytes)


async def test_a_flood_keeps_its_order() -> None:
    code = r"""
write(b"".join(b'{"n":%d}\0' % n for n in range(100_000)))
list(texts())
"""
    async with opened(code) as transport:
        got: list[Payload] = []
        batches = 0
        while len(got) < 100_000:
            batch = await transport.receive()
            assert sum(map(len, batch)) <= tuning.YIELD_BYTES + tuning.READ_BYTES  # other tasks must get to run
            got += batch
            batches += 1
        assert got == [b'{"n":%d}' % number for number in range(100_000)]
        assert batches < 1000


async def test_every_call_is_a_checkpoint() -> None:
    async with opened(ECHO) as transport:
        with assert_checkpoints():
            await transport.send([b"1"])
        with assert_checkpoints():
            await transport.receive()
        with assert_checkpoints():
            await transport.send([])


async def test_messages_sent_at_the_start_are_not_lost() -> None:
    async with opened("say(b'1'); say(b'2'); list(texts())", start_grace=10) as transport:
        assert await gather(transport, 2) == [b"1", b"2"]


async def test_a_program_may_send_a_message_and_exit_at_once() -> None:
    async with opened("say(b'1')", start_grace=10) as transport:
        assert list(await transport.receive()) == [b"1"]
        assert (await lost(transport)).reason == "process_exited"


async def test_the_child_inherits_its_two_pipe_ends_and_no_other_file_of_ours() -> None:
    code = r"""
import stat
names = sorted(int(name) for name in os.listdir("/proc/self/fd"))
fds = [fd for fd in names if os.path.exists(f"/proc/self/fd/{fd}")]
null = os.stat("/dev/null").st_rdev
say(repr((fds, os.fstat(0).st_rdev == null, os.fstat(1).st_rdev == null, os.getpid() == os.getsid(0))).encode())
list(texts())
"""
    inheritable = os.dup(0)
    try:
        os.set_inheritable(inheritable, True)
        async with opened(code) as transport:
            assert await gather(transport, 1) == [b"([0, 1, 2, 3, 4], True, True, True)"]
    finally:
        os.close(inheritable)


async def test_the_program_gets_its_environment_and_arguments() -> None:
    code = "say(repr((sys.argv[1:], os.environ['A'], 'HOME' in os.environ)).encode()); list(texts())"
    arguments = ["", "two words", "$A", "'", "-x", "é"]
    argv = [*child(code), *arguments]
    async with open_pipe(argv, env={"A": "1", "LC_ALL": "C.UTF-8"}) as transport:
        assert await gather(transport, 1) == [repr((arguments, "1", False)).encode()]


async def test_the_program_is_looked_up_in_path(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nprintf '1\\0' >&4\nread line <&3\n")
    program.chmod(0o700)
    async with open_pipe(["program"], env={"PATH": str(tmp_path)}) as transport:
        assert await gather(transport, 1) == [b"1"]


async def test_a_long_standard_error_does_not_block_the_program() -> None:
    async with opened("sys.stderr.write('x' * 1_000_000); say(b'1'); list(texts())") as transport:
        assert await gather(transport, 1) == [b"1"]
        assert len(transport.child._errors) == tuning.STDERR_BYTES


# ── sending to a program that does not read ──────────────────────────────────────────────────────────────────────────

BIG = b"x" * (8 << 20)


async def cut_a_send(transport: PipeTransport) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(transport.send, [BIG])
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()


async def test_a_cut_send_ends_the_link() -> None:
    async with opened(NEVER_READS, close_timeout=0.05) as transport:
        await cut_a_send(transport)
        with pytest.raises(ConnectionLost) as caught:
            await transport.send([b"1"])
        assert caught.value.reason == "write_cut"
        assert not transport.send_now(b"1")
        assert (await lost(transport)).reason == "write_cut"


async def test_a_cut_send_wakes_the_receiver() -> None:
    async with opened(NEVER_READS, close_timeout=0.05) as transport, trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _() -> None:
            assert (await lost(transport)).reason == "write_cut"

        await wait_all_tasks_blocked()
        await cut_a_send(transport)


WAITING = """
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
say(b"waiting")
signal.sigwait({signal.SIGUSR1})
for text in texts(): say(text[:3])
"""
"""A program that reads nothing until it gets SIGUSR1."""


async def fill(transport: PipeTransport) -> int:
    """Send until a message is partly written; return the number of messages."""
    assert await gather(transport, 1) == [b"waiting"]
    count = 0
    while not transport.unsent:
        assert transport.send_now(b"%03d" % count + b"x" * 60_000)
        count += 1
    return count


async def test_a_send_that_is_cancelled_before_its_first_byte_changes_nothing() -> None:
    async with opened(WAITING) as transport:
        count = await fill(transport)
        with trio.move_on_after(0.02) as scope:
            await transport.send([b"cancelled"])
        assert scope.cancelled_caught
        assert transport.unsent
        os.kill(transport.statistics().pid, signal.SIGUSR1)
        await transport.send([b"end"])
        assert await gather(transport, count + 1) == [*(b"%03d" % number for number in range(count)), b"end"]


async def test_the_unsent_rest_is_sent_before_other_messages() -> None:
    async with opened(WAITING) as transport:
        count = await fill(transport)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "write", lambda _descriptor, data: len(data))  # even if the pipe has room at this moment
            assert not transport.send_now(b"no")
        os.kill(transport.statistics().pid, signal.SIGUSR1)
        await transport.send([])  # an empty batch sends the rest too
        assert not transport.unsent
        await transport.send([b"end"])
        assert await gather(transport, count + 1) == [*(b"%03d" % number for number in range(count)), b"end"]


async def test_a_second_sender_is_refused() -> None:
    async with opened(NEVER_READS, close_timeout=0.05) as transport, trio.open_nursery() as nursery:
        nursery.start_soon(transport.send, [BIG])
        await wait_all_tasks_blocked()
        with pytest.raises(trio.BusyResourceError):
            await transport.send([b"1"])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "write", lambda _descriptor, data: len(data))  # even if the pipe has room at this moment
            assert not transport.send_now(b"1")
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("text", [b"", b"a\0b"])
async def test_a_text_that_cannot_be_framed_is_refused(text: bytes) -> None:
    async with opened(ECHO) as transport:
        with pytest.raises(InvalidArgument):
            await transport.send([b"1", text])
        with pytest.raises(InvalidArgument):
            transport.send_now(text)
        await transport.send([b"2"])
        assert await gather(transport, 1) == [b"2"]


async def test_a_large_text_is_not_sent_directly() -> None:
    async with opened(ECHO) as transport:
        assert isinstance(transport, DirectTransport)
        assert not transport.send_now(b"x" * (tuning.DIRECT_LIMIT + 1))


# ── ends that the program causes ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("act", "words"),
    [
        ("sys.exit(3)", "exited with code 3"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "was killed by SIGKILL"),
        ("os.kill(os.getpid(), 40)", "was killed by signal 40"),
    ],
)
async def test_the_error_names_why_the_program_ended(act: str, words: str) -> None:
    async with opened(f"say(b'1'); next(texts()); say(b'2'); {act}") as transport:
        await transport.send([b"go"])
        assert await gather(transport, 2) == [b"1", b"2"]
        error = await lost(transport)
        assert error.reason == "process_exited"
        assert words in str(error)
        assert PRELUDE[:20] not in str(error)
        with pytest.raises(ConnectionLost) as caught:
            await transport.send([b"x"])
        assert caught.value.reason == "process_exited"
        assert caught.value is not error
        assert not transport.send_now(b"x")


async def test_a_killed_program_wakes_the_receiver() -> None:
    async with opened("say(b'1'); list(texts())") as transport:
        assert await gather(transport, 1) == [b"1"]
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def _() -> None:
                error = await lost(transport)
                assert error.reason == "process_exited"
                assert "SIGKILL" in str(error)

            await wait_all_tasks_blocked()
            os.kill(transport.statistics().pid, signal.SIGKILL)


async def test_a_killed_program_ends_a_send() -> None:
    async with opened(NEVER_READS) as transport, trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _() -> None:
            with pytest.raises(ConnectionLost) as caught:
                await transport.send([BIG])
            assert caught.value.reason == "process_exited"

        await wait_all_tasks_blocked()
        os.kill(transport.statistics().pid, signal.SIGKILL)


async def test_an_end_in_the_middle_of_a_message_is_reported() -> None:
    async with opened("write(b'{\"id\":'); sys.exit(1)", start_grace=10) as transport:
        assert "in the middle of a message" in str(await lost(transport))


HELPER = """
helper = os.fork()
if not helper:
    time.sleep(60)
    os._exit(0)
say(b"%d" % helper)
"""


async def helper_of(transport: PipeTransport) -> int:
    return int(bytes((await gather(transport, 1))[0]))


async def test_a_helper_that_holds_the_pipe_open_does_not_hide_the_exit() -> None:
    """The program exited; a helper that inherited its end of the pipe must not keep the link waiting."""
    async with opened(HELPER + "next(texts()); say(b'last'); os._exit(5)") as transport:
        helper = await helper_of(transport)
        try:
            async with trio.open_nursery() as nursery:

                @nursery.start_soon
                async def _() -> None:
                    assert await gather(transport, 1) == [b"last"]
                    error = await lost(transport)
                    assert error.reason == "process_exited"
                    assert "code 5" in str(error)

                await wait_all_tasks_blocked()
                await transport.send([b"go"])
            with pytest.raises(ConnectionLost) as caught:
                await transport.send([BIG])
            assert caught.value.reason == "process_exited"
            assert runs(helper)
            await transport.aclose()
            assert not runs(helper)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(helper, signal.SIGKILL)


async def test_a_sender_does_not_wait_for_helpers() -> None:
    async with opened(HELPER + "time.sleep(0.2); os._exit(5)") as transport:
        helper = await helper_of(transport)
        try:
            with trio.fail_after(PATIENCE), pytest.raises(ConnectionLost) as caught:
                await transport.send([BIG])
            assert caught.value.reason == "process_exited"
            assert runs(helper)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(helper, signal.SIGKILL)


async def test_a_program_that_only_closes_its_end_is_reported_as_peer_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipe, "EXIT_NOTICE", 0.02)
    async with opened("say(b'1'); os.close(4); list(texts())") as transport:
        assert await gather(transport, 1) == [b"1"]
        error = await lost(transport)
        assert error.reason == "peer_closed"
        assert "still runs" in str(error)


async def test_a_message_above_the_limit_ends_the_link() -> None:
    code = "say(b'1'); write(b'x' * 3000); list(texts())"
    async with opened(code, max_message_bytes=1024) as transport:
        assert await gather(transport, 1) == [b"1"]
        for _ in range(2):
            with pytest.raises(RemoteProtocolError, match="1024") as caught:
                await transport.receive()
            assert caught.value.close_code == 1009
        with pytest.raises(RemoteProtocolError):
            await transport.send([b"1"])
        assert not transport.send_now(b"1")
    assert transport.statistics().returncode == 0  # it exits when its pipe is closed


# ── starts that fail ─────────────────────────────────────────────────────────────────────────────────────────────────


async def failed_start(argv: list[str], **options: Any) -> DiscoveryError:
    with pytest.raises(DiscoveryError) as caught:
        async with open_pipe(argv, **{"start_grace": 10, **options}):
            raise AssertionError
    return caught.value


async def test_a_program_that_does_not_exist() -> None:
    error = await failed_start(["no-such-program", "--token=secret-token"])
    assert error.stage == "address"
    assert error.address == "no-such-program"
    assert "no-such-program" in str(error)
    assert "secret-token" not in str(error)


async def test_a_file_that_is_not_a_program(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert (await failed_start([str(file)])).stage == "address"
    assert (await failed_start([str(tmp_path)])).stage == "address"
    file.write_bytes(b"\x7fELF nonsense")
    file.chmod(0o700)
    error = await failed_start([str(file)])
    assert error.stage == "cdp"
    assert "exited with code 12" in str(error)  # the shell exits with 126 or 127


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("sys.exit(7)", ["exited with code 7", "it wrote nothing"]),
        ("sys.exit('so sad')", ["exited with code 1", "so sad"]),
        ("os.kill(os.getpid(), 9)", ["was killed by SIGKILL"]),
        ("sys.exit('old\\n' + 'x' * 5000 + '\\nnew\\x07')", ["error: new"]),
    ],
)
async def test_a_program_that_exits_at_once(code: str, words: list[str]) -> None:
    error = await failed_start(child(code))
    assert error.stage == "cdp"
    assert error.address == sys.executable
    for word in words:
        assert word in str(error)
    assert str(error).isprintable()


async def test_the_error_does_not_contain_the_arguments() -> None:
    argv = [*child("sys.exit(' '.join(sys.argv[1:]) + ' and hunter2!')"), "--proxy=hunter2!", "top-secret"]
    error = await failed_start(argv)
    assert "hunter2!" not in str(error)
    assert "top-secret" not in str(error)
    assert "[argument]" in str(error)


async def test_a_program_that_closes_its_end_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipe, "EXIT_NOTICE", 0.02)
    error = await failed_start(child("os.close(4); list(texts())"))
    assert "closed its end of the pipe" in str(error)


async def test_a_system_without_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_module, "SHELL", "/nowhere/sh")
    error = await failed_start(child(ECHO))
    assert error.stage == "address"
    assert "/nowhere/sh" in str(error)


@pytest.mark.parametrize(
    ("argv", "options"),
    [
        ([], {}),
        ([""], {}),
        ("program", {}),
        (["program", "a\0b"], {}),
        *((argv, {}) for argv in (None, 5, b"program", ["program", 5], [5], {"program"})),
        ([sys.executable], {"max_message_bytes": 3}),
        ([sys.executable], {"close_timeout": 0}),
        ([sys.executable], {"start_grace": float("nan")}),
    ],
)
async def test_invalid_arguments_start_no_program(argv: Any, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        async with open_pipe(argv, **options):
            raise AssertionError


async def test_windows_is_not_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(LocalProtocolError) as caught:
        async with open_pipe([sys.executable]):
            raise AssertionError
    assert caught.value.reason == "unsupported"


async def test_a_pipe_buffer_that_cannot_be_enlarged_raises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_module, "PIPE_BYTES", 1 << 40)
    async with opened(ECHO) as transport:
        await transport.send([b"1"])
        assert await gather(transport, 1) == [b"1"]


# ── ends that the caller causes ──────────────────────────────────────────────────────────────────────────────────────


async def test_a_close_wakes_the_receiver_and_the_sender() -> None:
    async with opened(NEVER_READS, close_timeout=0.05) as transport, trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _() -> None:
            assert (await lost(transport)).reason == "closed"

        @nursery.start_soon
        async def _() -> None:
            with pytest.raises(ConnectionLost) as caught:
                await transport.send([BIG])
            assert caught.value.reason == "closed"

        await wait_all_tasks_blocked()
        await transport.aclose()
        assert (await lost(transport)).reason == "closed"
        with pytest.raises(ConnectionLost):
            await transport.send([b"1"])
        assert not transport.send_now(b"1")


async def test_a_close_while_the_cause_of_an_end_is_examined_is_reported_as_closed() -> None:
    async with opened("say(b'1'); os.close(4); list(texts())") as transport, trio.open_nursery() as nursery:
        await gather(transport, 1)

        @nursery.start_soon
        async def _() -> None:
            assert (await lost(transport)).reason == "closed"

        await trio.sleep(0.1)
        await transport.aclose()


async def test_a_close_drops_messages_sent_at_the_start() -> None:
    async with opened("say(b'1'); list(texts())", start_grace=10) as transport:
        assert transport._early
        await transport.aclose()
        with pytest.raises(ConnectionLost) as caught:
            await transport.receive()
        assert caught.value.reason == "closed"


async def test_a_second_close_waits_for_the_first() -> None:
    ends: list[float] = []
    async with opened(NEVER_READS, close_timeout=0.2) as transport, trio.open_nursery() as nursery:

        async def close() -> None:
            await transport.aclose()
            ends.append(trio.current_time())

        nursery.start_soon(close)
        nursery.start_soon(close)
    assert ends[1] - ends[0] < 0.1
    assert transport.statistics().returncode == -signal.SIGTERM


@pytest.mark.parametrize(
    ("preparation", "code"),
    [("", -signal.SIGTERM), ("signal.signal(signal.SIGTERM, signal.SIG_IGN);", -signal.SIGKILL)],
)
async def test_a_program_that_does_not_exit_is_ended_by_a_signal(
    preparation: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_module, "TERMINATE_TIMEOUT", 0.1)
    start = time.monotonic()
    async with opened(preparation + "say(b'1')\nwhile True: time.sleep(60)", close_timeout=0.1) as transport:
        await gather(transport, 1)
    assert transport.statistics().returncode == code
    assert time.monotonic() - start < PATIENCE


async def test_helpers_are_killed_with_their_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_module, "TERMINATE_TIMEOUT", 0.1)
    code = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
helper = os.fork()
if helper:
    say(b"%d" % helper)
time.sleep(60)
"""
    async with opened(code, close_timeout=0.1) as transport:
        helper = int(bytes((await gather(transport, 1))[0]))
    assert not runs(helper)


async def test_the_exception_of_the_body_is_not_wrapped() -> None:
    with pytest.raises(KeyError):
        async with opened(ECHO):
            raise KeyError
    with trio.CancelScope() as scope:
        async with opened(ECHO) as transport:
            scope.cancel()
            await transport.receive()
    assert scope.cancelled_caught
    assert transport.statistics().returncode == 0


async def test_a_cancelled_body_still_ends_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even a program that exits only once its standard error is read, while the caller is cancelled."""
    monkeypatch.setattr(child_module, "TERMINATE_TIMEOUT", 0.1)
    code = "say(b'1'); list(texts()); sys.stderr.write('x' * 1_000_000); sys.exit(9)"
    with trio.CancelScope() as scope:
        async with opened(code) as transport:
            await gather(transport, 1)
            scope.cancel()
            await trio.sleep_forever()
    assert transport.statistics().returncode == 9


@pytest.mark.parametrize("delay", [0, 0.001, 0.003, 0.01, 0.03])
async def test_a_start_may_be_cancelled_at_any_time(delay: float) -> None:
    with trio.move_on_after(delay) as scope:
        async with opened(ECHO, start_grace=10, close_timeout=0.5):
            raise AssertionError
    assert scope.cancelled_caught
