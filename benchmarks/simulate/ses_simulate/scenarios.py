"""The hard scenarios by name.  Numbers only; :mod:`ses_simulate.hard` plays them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

GB = 1e9


@dataclass(frozen=True, slots=True)
class Scenario:
    """One hard case.  Sizes are bytes, times seconds, ``says`` is for people.

    ``rho`` is the load as a part of what all elements can really do.  Files have log-normal sizes with
    the mean ``mean`` and the shape ``sigma`` (0: all alike), come ``burst`` at a time, ``files`` in all;
    ``managed`` of the arrivals are placed by the rule, the others at random.  Samples are taken every
    ``interval`` and tell queues or not (``depth``).  A part ``slow`` of the elements run at
    ``slow_speed``, described so or not.  Each further writer costs an element ``loss`` of its speed.
    A part ``idle`` of the files stay open for ``idle_seconds`` after the last byte.  ``deciders`` place
    side by side and tell each other of it every ``shared_every`` (0: with each sample).
    """

    name: str
    says: str
    rho: float = 0.8
    mean: float = 8 * GB
    sigma: float = 1.5
    interval: float = 5.0
    depth: bool = False
    elements: int = 64
    burst: int = 1
    files: int = 12_000
    managed: float = 1.0
    slow: float = 0.0
    slow_speed: float = 1.0
    slow_known: bool = False
    loss: float = 0.0
    idle: float = 0.0
    idle_seconds: float = 60.0
    deciders: int = 1
    shared_every: float = 0.0


_ALL = (
    Scenario("rho08-t5", "load 0.8, sampled every 5 s"),
    Scenario("rho08-t30", "load 0.8, sampled every 30 s", interval=30.0),
    Scenario(
        "rho08-t60-small", "load 0.8, files of 0.8 GB, sampled each minute", interval=60.0, mean=0.8 * GB
    ),
    Scenario("bursts", "bursts of 96 files of 2 GB, load 0.6", rho=0.6, burst=96, mean=2 * GB, sigma=0.0),
    Scenario("unassisted-t5", "half of the files placed at random by others", rho=0.7, managed=0.5),
    Scenario(
        "unassisted-t30",
        "half placed at random by others, sampled every 30 s",
        rho=0.7,
        managed=0.5,
        interval=30.0,
    ),
    Scenario(
        "secretly-slow",
        "every tenth element at half speed, unknown",
        rho=0.7,
        depth=True,
        slow=0.1,
        slow_speed=0.5,
    ),
    Scenario(
        "known-slow",
        "30 % of the elements at 40 % speed, as described",
        rho=0.7,
        slow=0.3,
        slow_speed=0.4,
        slow_known=True,
    ),
    Scenario("efficiency-loss", "an element loses 5 % per further writer, load 0.5", rho=0.5, loss=0.05),
    Scenario("open-idle", "60 % of the files stay open and idle for 60 s", rho=0.7, idle=0.6),
    Scenario("deciders-64", "64 deciders, 0.8 GB, ledger shared with samples", mean=0.8 * GB, deciders=64),
    Scenario(
        "deciders-64-shared-5s",
        "64 deciders, 0.8 GB, ledger shared every 5 s",
        mean=0.8 * GB,
        deciders=64,
        shared_every=5.0,
    ),
    Scenario(
        "deciders-64-shared-1s",
        "64 deciders, 0.8 GB, ledger shared every second",
        mean=0.8 * GB,
        deciders=64,
        shared_every=1.0,
    ),
    Scenario(
        "deciders-64-shared-0.2s",
        "64 deciders, 0.8 GB, ledger shared every 0.2 s",
        mean=0.8 * GB,
        deciders=64,
        shared_every=0.2,
    ),
    Scenario(
        "file-per-process",
        "bursts of 4,096 files on 1,008 elements, load 0.6",
        rho=0.6,
        burst=4096,
        files=3 * 4096,
        mean=2 * GB,
        sigma=0.0,
        elements=1008,
    ),
)

SCENARIOS: Mapping[str, Scenario] = {one.name: one for one in _ALL}
