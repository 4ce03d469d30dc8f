"""What each request of an agent costs the service: processor time over many of the same kind, by https.

Counted is the process that answers; its writer and its store are processes of their own.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import Sequence
from contextlib import closing
from http.client import HTTPSConnection

from ses_simulate.agents import Costs

from ses_benchmarks.announcements import LOOK, SYSTEM, word
from ses_benchmarks.http_call import TIMEOUT_SECONDS
from ses_benchmarks.open_loop import Crowd
from ses_benchmarks.probe import BenchmarkError
from ses_benchmarks.processes import Usage

_IDLE_SECONDS = 5.0
_RATE = 250.0  # requests of a kind a second, but for
_WORDS_RATE = 2000.0  # as of all nodes in use of a large site
_WORDS_SECONDS = 8.0
_FILES = 10


async def costs_of(port: int, context: ssl.SSLContext, pid: int, count: int) -> Costs:
    """Measure with ``count`` connected nodes, of a service that knows none of them yet."""
    empty = Usage.of(pid)
    revision = await asyncio.to_thread(revision_of, port, context)
    crowd = Crowd(port, count, context)
    try:
        begun, before = time.monotonic(), Usage.of(pid)
        await crowd.connect()
        connected, seconds = Usage.of(pid), time.monotonic() - begun
        await asyncio.sleep(_IDLE_SECONDS)
        idle = (Usage.of(pid).processor_seconds - connected.processor_seconds) / _IDLE_SECONDS
        connection = (connected.processor_seconds - before.processor_seconds - idle * seconds) / count

        async def each(requests: Sequence[bytes], rate: float, seconds: float) -> float:
            begun, before = time.monotonic(), Usage.of(pid).processor_seconds
            outcome = await crowd.run(requests, rate, seconds)
            used = Usage.of(pid).processor_seconds - before - idle * (time.monotonic() - begun)
            good = len(outcome.times.get(200, ()))
            if good < 0.9 * rate * seconds:
                raise BenchmarkError(
                    f"only {good} answers to {rate * seconds:.0f} requests: {outcome.errors}"
                )
            return used / good

        once = count / _RATE
        await each([word(node) for node in range(count)], _RATE, once)  # the service meets the nodes
        look = await each([LOOK], _RATE, once)
        polls = [word(node, revision=revision, in_use=True) for node in range(count)]
        await each(polls, _RATE, once)  # it makes their tables
        spoken = await each(polls, _WORDS_RATE, _WORDS_SECONDS)
        all_files = [word(node, _FILES, revision, in_use=True) for node in range(count)]
        await each(all_files, _RATE, once)  # it meets the files
        reporting = await each(all_files, _RATE, once)
        memory = (Usage.of(pid).resident_mb - empty.resident_mb) * 1e6 / count
        return Costs(connection, look, spoken, max(0.0, reporting - spoken) / _FILES, idle, memory)
    finally:
        crowd.close()


def revision_of(port: int, context: ssl.SSLContext) -> str:
    """Return the revision of the table that a node has which asks for it first."""
    connection = HTTPSConnection("localhost", port, context=context, timeout=TIMEOUT_SECONDS)
    with closing(connection):
        head, _, body = word(0, revision="", in_use=True).partition(b"\r\n\r\n")
        path = head.split()[1].decode()
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        answer = json.loads(connection.getresponse().read())
    revision: str = next(table["revision"] for table in answer["tables"] if table["system"] == SYSTEM)
    return revision
