"""The realistic limit of a result: blocking recv into one reused buffer, and one C decode of the JSON."""

from __future__ import annotations

import msgspec
from job import Job
from measure import Measured
from meter import Meter

from adapters.raw_socket import attach, command, frame_size

LOOP = "none"
decode = msgspec.json.Decoder().decode


def run(job: Job) -> Measured:
    connection, session = attach(job)
    if job.workload == "seq":
        request, buffer = command(session), memoryview(bytearray(1 << 18))
        with Meter() as meter:
            for _ in range(job.n):
                connection.sendall(request)
                end = connection.recv_into(buffer)
                start = 2 if buffer[1] < 126 else 4
                assert decode(buffer[start:end])["result"]["result"]["value"] == 2
        return meter.result()
    size = round(job.mb * 1e6)
    request, buffer = command(session, b"'x'.repeat(%d)" % size), memoryview(bytearray(size + 4096))
    with Meter() as meter:
        for _ in range(job.n):
            connection.sendall(request)
            received = connection.recv_into(buffer)
            end = frame_size(buffer)
            while received < end:
                received += connection.recv_into(buffer[received : received + 1048576])
            assert len(decode(buffer[10:end])["result"]["result"]["value"]) == size
    return meter.result()
