"""A small world for rules: alike elements of 100 bytes per second with nothing on them."""

from collections.abc import Callable, Sequence

import pytest
from ses_simulate.engine import Engine
from ses_simulate.monitor import Sampling
from ses_simulate.policies.interface import World
from ses_simulate.servers import Device, Server


@pytest.fixture
def world() -> Callable[..., World]:
    def make(
        elements: int = 4, groups: Sequence[int] | None = None, free: Sequence[float] | None = None
    ) -> World:
        engine = Engine()
        devices = [
            Device(
                100.0,
                100.0,
                capacity=1e12,
                free=1e12 if free is None else free[number] * 1e9,
                group=number if groups is None else groups[number],
            )
            for number in range(elements)
        ]
        servers = [Server(engine, device) for device in devices]
        return World(engine, devices, servers, Sampling(5.0), seed=1)

    return make
