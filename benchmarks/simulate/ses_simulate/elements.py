"""The elements of a hard scenario: as described, as they are, and what happens to them."""

from __future__ import annotations

import math
from functools import partial

from ses_simulate.cases.scenario import Scenario
from ses_simulate.engine import Engine
from ses_simulate.links import Link
from ses_simulate.policies.interface import World
from ses_simulate.servers import Device, Server

RATE = 500e6
SMALL = 0.25  # the space of every other element where space is short, as a part of that of the rest


def rate_of(scenario: Scenario, element: int) -> float:
    """Return what an element of full speed gives, bytes per second."""
    if scenario.rates is None:
        return RATE
    lowest, highest = scenario.rates
    return lowest + (highest - lowest) * element / (scenario.elements - 1)


def devices_of(scenario: Scenario, world: World, written: float) -> list[Device]:
    """Return the elements; ``written`` is how many bytes all files have together."""
    rng = world.random("rates")
    slow = round(scenario.slow * scenario.elements)
    parts = [SMALL if number % 2 else 1.0 for number in range(scenario.elements)]
    unit = written / scenario.capacity / sum(parts) if scenario.capacity else 0.0
    devices = []
    for element in range(scenario.elements):
        # Slow ones lie evenly between the others.
        is_slow = (element * slow) // scenario.elements != ((element + 1) * slow) // scenario.elements
        now_slow = is_slow and not scenario.slow_from
        speed = scenario.slow_speed if now_slow else 1.0
        full = rate_of(scenario, element)
        rate = full * (speed if scenario.slow_known else 1.0)
        health = 1.0 if scenario.slow_known else speed
        if scenario.wrong:
            factor = 1.0 + scenario.wrong * rng.uniform(-1.0, 1.0)
            rate, health = full * factor, 1.0 / factor
        space = parts[element] * unit if unit else 1e14
        free = space * (1.0 - scenario.full) if element % 8 else space
        group = element // scenario.machine
        stated = scenario.link if scenario.link_stated and _is_linked(scenario, group) else math.nan
        devices.append(
            Device(rate, rate, health=health, loss=scenario.loss, capacity=space, free=free,
                   group=group, link_rate=stated)
        )  # fmt: skip
    return devices


def disturb(engine: Engine, scenario: Scenario, world: World, servers: list[Server]) -> float:
    """Plan what happens to elements; return what all do together at the start, bytes per second."""
    if scenario.slow_from:
        slow = round(scenario.slow * len(servers))
        for number in world.random("slow").sample(range(len(servers)), slow):
            engine.at(scenario.slow_from, partial(_become, servers[number], scenario.slow_speed))
    if scenario.flapping:
        rng = world.random("flapping")
        for number in rng.sample(range(len(servers)), round(scenario.flapping * len(servers))):
            begin = rng.uniform(0.0, 4 * scenario.flap_seconds)
            engine.at(begin, partial(_flap, engine, servers[number], scenario, True))
    able = sum(entry.device.write_rate * entry.device.health for entry in servers)
    if not scenario.link:
        return able
    machines: dict[int, list[Server]] = {}
    for server in servers:
        machines.setdefault(server.device.group, []).append(server)
    able = 0.0
    for group, members in machines.items():
        rates = sum(member.device.write_rate * member.device.health for member in members)
        if _is_linked(scenario, group):
            Link(engine, scenario.link, members)
            rates = min(rates, scenario.link)
        able += rates
    return able


def _is_linked(scenario: Scenario, group: int) -> bool:
    return scenario.link > 0 and (not scenario.linked or group < scenario.linked)


def _become(server: Server, health: float, _now: float) -> None:
    server.become(health)


def _flap(engine: Engine, server: Server, scenario: Scenario, slower: bool, now: float) -> None:
    server.become(scenario.flap_speed if slower else server.device.health)
    stays = scenario.flap_seconds * (1 if slower else 3)
    engine.at(now + stays, partial(_flap, engine, server, scenario, not slower))
