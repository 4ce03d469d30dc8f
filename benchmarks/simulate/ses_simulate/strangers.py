"""Programs that nobody places: writers that come and go, and readers of files that exist."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import Random

from ses_simulate.engine import Engine
from ses_simulate.servers import Server

STRANGER_FILE = 1e9
OLD_FILE = 4e9
HOTTEST = 0.9
UNEVENNESS = 0.5


class Stranger:
    """Writes one file after the other to one element, and goes on with another after a while."""

    def __init__(self, engine: Engine, servers: Sequence[Server], stays: float, random: Random) -> None:
        self._servers = servers
        self._stays = stays
        self._random = random
        self._server = servers[0]
        self._leaves = 0.0
        engine.at(0.0, self._write)

    def _write(self, now: float) -> None:
        if now >= self._leaves:
            self._server = self._random.choice(self._servers)
            self._leaves = now + self._random.expovariate(1 / self._stays)
        self._server.write(STRANGER_FILE, self._write)


class OldFiles:
    """Reads of files that exist, which come at random; some elements hold more of what is read.

    The ``k``-th element has a part of the reads that goes with ``k`` to the power of ``-UNEVENNESS``, but no
    load above ``HOTTEST``.  Sizes are exponential.
    """

    def __init__(self, engine: Engine, servers: Sequence[Server], load: float, random: Random) -> None:
        self._engine = engine
        self._random = random
        parts = [(place + 1.0) ** -UNEVENNESS for place in range(len(servers))]
        random.shuffle(parts)
        scale = load * len(servers) / sum(parts)
        for server, part in zip(servers, parts, strict=True):
            gap = OLD_FILE / server.device.read_rate / server.device.health / min(HOTTEST, part * scale)
            engine.at(random.expovariate(1 / gap), partial(self._arrive, server, gap))

    def _arrive(self, server: Server, gap: float, now: float) -> None:
        server.read(self._random.expovariate(1 / OLD_FILE), _nothing)
        self._engine.at(now + self._random.expovariate(1 / gap), partial(self._arrive, server, gap))


def _nothing(_now: float) -> None:
    """Let a read end unnoticed."""
