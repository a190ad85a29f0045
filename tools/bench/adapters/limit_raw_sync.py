"""The limit of the socket: blocking reads into one reused buffer, with the bytes only counted."""

from __future__ import annotations

from collections.abc import Callable
from socket import socket

from job import Job
from measure import Measured, request_flood
from meter import Meter

from adapters.raw_socket import attach, command, flood_size, frame_size, mask_frame, open_socket

LOOP = "none"


def run(job: Job) -> Measured:
    if job.workload == "connect":
        with Meter() as meter:
            connection = open_socket(job)
            for _ in range(3):
                connection.sendall(mask_frame(b'{"id":1,"method":"Browser.getVersion"}'))
                connection.recv(65536)
        return meter.result()
    assert not job.real or job.workload in ("seq", "big")
    connection, session = attach(job)
    return WORKLOADS[job.workload](job, connection, session, memoryview(bytearray(1 << 20)))


def _sequential(job: Job, connection: socket, session: bytes, buffer: memoryview) -> Measured:
    request = command(session)
    with Meter() as meter:
        for _ in range(job.n):
            connection.sendall(request)
            connection.recv_into(buffer)
    return meter.result()


def _pipelined(job: Job, connection: socket, session: bytes, buffer: memoryview) -> Measured:
    request = command(session)
    connection.sendall(request)
    size = connection.recv_into(buffer)
    batch = request * job.width
    with Meter() as meter:
        for _ in range(job.n // job.width):
            connection.sendall(batch)
            left = size * job.width
            while left:
                left -= connection.recv_into(buffer)
    return meter.result()


def _events(job: Job, connection: socket, _session: bytes, buffer: memoryview) -> Measured:
    left = flood_size(job)
    with Meter() as meter, request_flood(job):
        while left:
            left -= connection.recv_into(buffer)
    return meter.result()


def _big(job: Job, connection: socket, session: bytes, buffer: memoryview) -> Measured:
    request = command(session, b"'x'.repeat(%d)" % round(job.mb * 1e6))
    with Meter() as meter:
        for _ in range(job.n):
            connection.sendall(request)
            got = connection.recv_into(buffer)
            left = frame_size(buffer) - got
            while left:
                left -= connection.recv_into(buffer[: min(len(buffer), left)])
    return meter.result()


WORKLOADS: dict[str, Callable[[Job, socket, bytes, memoryview], Measured]] = {
    "seq": _sequential,
    "pipe": _pipelined,
    "events": _events,
    "big": _big,
}
