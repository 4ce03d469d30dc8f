"""Many clients in one process, in an open loop: requests leave when they are due, answered or not.

Each client keeps one connection and has one request under way at most; a request that is due goes to a
client that is free, so that a server that falls behind cannot slow the clients down.  When none is free
the request is counted as unsent.  :meth:`Crowd.press` is a closed loop instead.  Speaks as little HTTP as it
can, like :mod:`ses_benchmarks.http_call`.
"""

from __future__ import annotations

import asyncio
import random
import resource
import ssl
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import uvloop

from ses_benchmarks.http_call import whole_answer
from ses_benchmarks.probe import BenchmarkError

T = TypeVar("T")

_CONNECTS_AT_ONCE = 200
_PATIENCE = 30.0


@dataclass
class Outcome:
    """What came of one run: microseconds to the answer by status, and requests that found no client."""

    seconds: float
    times: dict[int, list[float]] = field(default_factory=dict)
    unsent: int = 0
    errors: Counter[str] = field(default_factory=Counter)

    @property
    def answered(self) -> int:
        """How many answers came, of any status."""
        return sum(map(len, self.times.values()))

    def share(self, status: int) -> float:
        """What part of the requests was answered with this status."""
        return len(self.times.get(status, ())) / max(1, self.answered + self.unsent)


class _Client(asyncio.Protocol):
    """One kept connection."""

    def __init__(self, free: Callable[[_Client, int, float], None], lost: Callable[[str], None]) -> None:
        self._free, self._lost = free, lost
        self._received = b""
        self._sent = 0.0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def send(self, request: bytes) -> None:
        """Send a request."""
        assert self._transport is not None
        self._sent = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._received += data
        answer = whole_answer(self._received)
        if answer is not None:
            self._received = b""
            self._free(self, answer[0], self._sent)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost(str(exc or "closed by the server"))

    def close(self) -> None:
        """Hang up."""
        self._lost = lambda _: None
        if self._transport is not None:
            self._transport.abort()


class Crowd:
    """``count`` clients of a server on the loopback interface, by https if there is a ``context`` for it."""

    def __init__(self, port: int, count: int, context: ssl.SSLContext | None = None) -> None:
        self._port, self._count, self._context = port, count, context
        self._idle: deque[_Client] = deque()
        self._all: list[_Client] = []
        self._outcome = Outcome(0.0)
        self._again: bytes | None = None

    async def connect(self) -> None:
        """Open every connection."""
        loop = asyncio.get_running_loop()
        secured: dict[str, Any] = {}
        if self._context is not None:
            secured = {"ssl": self._context, "server_hostname": "localhost"}
        for start in range(0, self._count, _CONNECTS_AT_ONCE):
            more = min(_CONNECTS_AT_ONCE, self._count - start)
            await asyncio.gather(
                *(loop.create_connection(self._new, "127.0.0.1", self._port, **secured) for _ in range(more))
            )

    async def run(self, requests: Sequence[bytes], rate: float, seconds: float) -> Outcome:
        """Send the requests in turn, ``rate`` a second at random moments, for ``seconds``."""
        self._outcome = outcome = Outcome(seconds)
        moment = random.Random(1)
        begun = due = time.perf_counter()
        number = 0
        while due - begun < seconds:
            due += moment.expovariate(rate)
            delay = due - time.perf_counter()
            if delay > 0.0005:
                await asyncio.sleep(delay)
            elif number % 20 == 0:
                await asyncio.sleep(0)
            if self._idle:
                self._idle.popleft().send(requests[number % len(requests)])
            else:
                outcome.unsent += 1
            number += 1
        deadline = time.monotonic() + _PATIENCE
        while len(self._idle) + sum(outcome.errors.values()) < self._count and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        if outcome.errors:
            raise BenchmarkError(f"connections were lost: {dict(outcome.errors)}")
        return outcome

    async def press(self, request: bytes, seconds: float) -> Outcome:
        """Let every client send the request again as soon as it is answered, for ``seconds``."""
        self._outcome = outcome = Outcome(seconds)
        self._again = request
        while self._idle:
            self._idle.popleft().send(request)
        await asyncio.sleep(seconds)
        self._again = None
        self._outcome = Outcome(0.0)  # what is answered now is not counted
        deadline = time.monotonic() + _PATIENCE
        while len(self._idle) < self._count and not outcome.errors and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        if outcome.errors:
            raise BenchmarkError(f"connections were lost: {dict(outcome.errors)}")
        return outcome

    def close(self) -> None:
        """Close every connection."""
        for client in self._all:
            client.close()

    def _new(self) -> _Client:
        client = _Client(self._answered, self._lost)
        self._all.append(client)
        self._idle.append(client)
        return client

    def _answered(self, client: _Client, status: int, sent: float) -> None:
        self._outcome.times.setdefault(status, []).append((time.perf_counter() - sent) * 1e6)
        if self._again is None:
            self._idle.append(client)
        else:
            client.send(self._again)

    def _lost(self, why: str) -> None:
        self._outcome.errors[why] += 1


def with_crowd(port: int, count: int, work: Callable[[Crowd], Awaitable[T]]) -> T:
    """Connect ``count`` clients, let ``work`` use them, and hang up."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    async def whole() -> T:
        crowd = Crowd(port, count)
        try:
            await crowd.connect()
            return await work(crowd)
        finally:
            crowd.close()

    with ThreadPoolExecutor(1) as thread:  # the caller's thread may run a loop of its own
        return thread.submit(uvloop.run, whole()).result()
