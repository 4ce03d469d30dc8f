"""Agents that live: each keeps two connections, speaks at the pace it is given, and comes back after a loss.

They do as ses-agent does; :mod:`ses_simulate.agents` says how, and computes the same.
"""

from __future__ import annotations

import asyncio
import random
import ssl
import time
from dataclasses import dataclass, field
from typing import cast

import orjson
from ses_simulate.agents import LOOK_PACES, LOOKS_EVERY, SOONER, TIME_OUT, delay_bound

from ses_benchmarks.announcements import LOOK, word
from ses_benchmarks.http_call import whole_answer


class FailedError(Exception):
    """A request that was not answered well."""


@dataclass
class Crowd:
    """Whom all agents ask, and what all of them do."""

    port: int
    context: ssl.SSLContext
    files: int
    in_use: bool
    chance: random.Random = field(default_factory=random.Random)
    answers: int = 0
    failed: int = 0


class _Line(asyncio.Protocol):
    """One connection, with one request under way at most."""

    def __init__(self) -> None:
        self._received = b""
        self._answer: asyncio.Future[bytes] | None = None
        self._transport: asyncio.Transport | None = None
        self.lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionResetError(str(exc)))

    def data_received(self, data: bytes) -> None:
        self._received += data
        answer = whole_answer(self._received)
        if answer is None or self._answer is None or self._answer.done():
            return
        self._received = b""
        status, body = answer
        if status == 200:
            self._answer.set_result(body)
        else:
            self._answer.set_exception(FailedError(status))

    async def ask(self, request: bytes) -> bytes:
        assert self._transport is not None
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    def hang_up(self) -> None:
        if self._transport is not None:
            self._transport.abort()


@dataclass
class Agent:
    """One agent."""

    crowd: Crowd
    number: int
    found_at: float = 0.0
    pace: float = 0.0
    report_pause: float = 0.0
    within: float = 0.0
    _looks_on: _Line | None = None
    _announces_on: _Line | None = None
    _failures: int = 0
    _instance: str = ""
    _revision: str = ""
    _owes_all: bool = False
    _sign: bytes = b""  # of life
    _look_at: float = 0.0

    async def live(self, begins_after: float) -> None:
        """Speak, and come back after each failure, until cancelled."""
        await asyncio.sleep(begins_after)
        while True:
            try:
                await self._look()
                while True:
                    await self._announce()
                    await self._pause()
            except (OSError, TimeoutError, FailedError):
                self.crowd.failed += 1
                self._hang_up()
                bound = delay_bound(self.within, self._failures)
                self._failures += 1
                await asyncio.sleep(self.crowd.chance.uniform(0, bound))

    async def _announce(self) -> None:
        """Send a sign of life, and all that is open to a service that has no report of it yet."""
        self._owes_all |= self._took(await self._announced(0))
        if self._owes_all:
            await asyncio.sleep(self.report_pause)
            self._took(await self._announced(self.crowd.files))
            self._owes_all = False
            self.found_at = time.monotonic()
        self._failures = 0

    def _took(self, answer: bytes) -> bool:
        """Take an answer; returns whether it is that of another service than before."""
        self.crowd.answers += 1
        reply = orjson.loads(answer)
        self.pace, self.report_pause = reply["next_within_seconds"], reply["report_within_seconds"]
        self.within = reply["return_within_seconds"]
        for table in reply["tables"]:
            if table["revision"] != self._revision:
                self._revision, self._sign = table["revision"], b""
        before, self._instance = self._instance, reply["instance"]
        return before != self._instance

    async def _announced(self, files: int) -> bytes:
        crowd = self.crowd
        if self._announces_on is None or self._announces_on.lost:
            self._announces_on = None
            self._announces_on = await self._connect()
        asked = (
            word(self.number, files, self._revision, crowd.in_use) if files or not self._sign else self._sign
        )
        if not files:
            self._sign = asked
        async with asyncio.timeout(TIME_OUT):
            return await self._announces_on.ask(asked)

    async def _pause(self) -> None:
        """Wait until it is time to speak; look at the storage systems when that is due."""
        ends = time.monotonic() + self.pace * self._part()
        if self._look_at < ends:
            await asyncio.sleep(max(0.0, self._look_at - time.monotonic()))
            await self._look()
        await asyncio.sleep(max(0.0, ends - time.monotonic()))

    async def _look(self) -> None:
        if self._looks_on is None or self._looks_on.lost:
            self._looks_on = None
            self._looks_on = await self._connect()
        async with asyncio.timeout(TIME_OUT):
            await self._looks_on.ask(LOOK)
        self._look_at = time.monotonic() + max(LOOKS_EVERY, LOOK_PACES * self.pace) * self._part()

    async def _connect(self) -> _Line:
        async with asyncio.timeout(TIME_OUT):
            _, line = await asyncio.get_running_loop().create_connection(
                _Line, "127.0.0.1", self.crowd.port, ssl=self.crowd.context, server_hostname="localhost"
            )
        return line

    def _part(self) -> float:
        return self.crowd.chance.uniform(SOONER, 1)

    def _hang_up(self) -> None:
        for line in (self._looks_on, self._announces_on):
            if line is not None:
                line.hang_up()
        self._looks_on = self._announces_on = None
