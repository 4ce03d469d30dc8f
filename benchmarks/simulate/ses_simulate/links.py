"""The link of a machine that serves several elements: their flows share it when it is full.

Max-min fair: no flow gets more than the same level ``x``, and an element no more than it can do::

    sum over its elements of min(demand, flows * x) = rate of the link
"""

from __future__ import annotations

from collections.abc import Sequence

from ses_simulate.engine import Engine
from ses_simulate.servers import Server


class Link:
    """A limit, bytes per second, that elements share."""

    def __init__(self, engine: Engine, rate: float, servers: Sequence[Server]) -> None:
        self._engine = engine
        self._rate = rate
        self._servers = servers
        for server in servers:
            server.link = self

    def share(self) -> float:
        """Return the most that one flow more would get."""
        flows = sum(server.active for server in self._servers)
        asked = sum(server.demand() for server in self._servers)
        return max(self._rate - asked, self._rate / (flows + 1))

    def divide(self, changed: Server) -> None:
        """Divide the link anew after the flows of one element changed, which is brought up to now."""
        demands = [server.demand() for server in self._servers]
        level = self._level(demands)
        for server, demand in zip(self._servers, demands, strict=True):
            given = min(1.0, level * server.active / demand) if demand > 0 else 1.0
            if server is changed or abs(given - server.throttle) > 1e-12:
                server.advance(self._engine.now)
                server.throttle = given
                server.replan()

    def _level(self, demands: Sequence[float]) -> float:
        left, flows = self._rate, sum(server.active for server in self._servers)
        if sum(demands) <= left:
            return float("inf")
        by_need = sorted(
            (demand / server.active, demand, server.active)
            for server, demand in zip(self._servers, demands, strict=True)
            if server.active
        )
        for need, demand, count in by_need:
            if need >= left / flows:
                break
            left -= demand
            flows -= count
        return left / flows
