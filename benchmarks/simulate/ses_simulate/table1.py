"""The experiment of the QStorMan paper's Table 1, with what it leaves open written down.

Eight pools that read 500 MB/s and write 300 MB/s alone (the paper's requirements).  Every user reads,
computes and writes files of 1 to 50 GB; half of the users, or all, are placed by the rule that is
looked at, the others by the baseline.  1.3 s of computing per GB lets a user alone finish in 2 h 21.
Load is sampled every minute and known a second later, with averages over half an hour.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ses_simulate.duplex import DuplexServer
from ses_simulate.engine import Engine
from ses_simulate.monitor import Monitor, Sampling
from ses_simulate.policies import make
from ses_simulate.policies.interface import World
from ses_simulate.servers import Device, Server
from ses_simulate.workload import GB, Background, LoopingUser, Numbering

MB = 1e6
POOLS = 8
READ_RATE, WRITE_RATE = 500 * MB, 300 * MB
COMPUTE_SECONDS_PER_GB = 1.3
SIZES = tuple(size * GB for size in range(1, 51))
START_SPREAD = 5.0
BACKGROUND_MEAN, BACKGROUND_READS = 100 * GB, 0.6
CAPACITY = 170e12 / POOLS
FULLEST = 0.6

BACKGROUNDS: Mapping[str, tuple[float, ...]] = {
    "none": (0.0,) * POOLS,
    "uniform": (0.3,) * POOLS,
    "skewed": (0.7, 0.7, 0.5, 0.3, 0.1, 0.1, 0.0, 0.0),
}
SAYS: Mapping[str, str] = {
    "none": "no background load",
    "uniform": "background load 0.3 on all eight pools",
    "skewed": "background loads from 0.7 on two pools to none on two",
}
USERS = (6, 8, 10)
LONE_SECONDS = sum(SIZES) * (1 / READ_RATE + 1 / WRITE_RATE + COMPUTE_SECONDS_PER_GB / GB)
SAMPLING = Sampling(interval=60.0, delay=1.0, window=2.0, depth=True, long_window=1800.0)


@dataclass(frozen=True, slots=True)
class Site:
    """What is simulated, by default the paper's site and users; ``ses experiment`` runs smaller ones.

    ``duplex``: readers and writers of a pool do not share its speed, and each would keep the background's
    part of it busy.  A user computes up to ``scatter`` seconds longer.  ``stream`` is the mean size of the
    background's streams.
    """

    read_rate: float = READ_RATE
    write_rate: float = WRITE_RATE
    sizes: tuple[float, ...] = SIZES
    compute_seconds_per_gb: float = COMPUTE_SECONDS_PER_GB
    start_spread: float = START_SPREAD
    stream: float = BACKGROUND_MEAN
    capacity: float = CAPACITY
    fullest: float = FULLEST
    duplex: bool = False
    scatter: float = 0.0


PAPER = Site(scatter=1.0)


@dataclass(frozen=True, slots=True)
class Run:
    """One run.  ``supported`` of the users are placed by ``policy``, the others by ``others``.

    Users share ``nodes`` (0: each has one of its own).  Chance may be turned round: for users and rules
    (``mirrored``), for the background (``mirrored_background``).
    """

    scenario: str
    users: int
    policy: str
    others: str
    supported: int
    seed: int
    mirrored: bool = False
    mirrored_background: bool = False
    sampling: Sampling = SAMPLING
    loss: float = 0.0
    site: Site = PAPER
    nodes: int = 0


@dataclass(frozen=True, slots=True)
class Times:
    """Mean run times in seconds; ``others`` is 0 when everyone was supported."""

    supported: float
    others: float


def simulate(run: Run) -> Times:
    """Run one experiment.  The same run gives the same times, to the last bit."""
    engine, site, nodes = Engine(), run.site, run.nodes or run.users
    world = World(
        engine, (), (), run.sampling, run.seed, mirrored=run.mirrored, nodes=nodes,
        reads=site.read_rate, writes=site.write_rate,
    )  # fmt: skip
    surroundings = replace(world, mirrored=run.mirrored_background)
    fill = surroundings.random("fill")
    devices = [
        Device(site.read_rate, site.write_rate, loss=run.loss, floor=0.0, capacity=site.capacity,
               free=site.capacity * (1 - site.fullest * fill.random()), group=pool)
        for pool in range(POOLS)
    ]  # fmt: skip
    servers = [(DuplexServer if site.duplex else Server)(engine, device) for device in devices]
    world = replace(world, devices=devices, servers=servers)
    policy, others = make(run.policy, world), make(run.others, replace(world, role="others"))
    Monitor(engine, servers, run.sampling, [policy.observe, others.observe])
    for pool, load in enumerate(BACKGROUNDS[run.scenario]):
        chance = surroundings.random(f"background {pool}")
        for reads in (1.0, 0.0) if site.duplex else (BACKGROUND_READS,):
            Background(engine, servers[pool], load, site.stream, reads, chance)
    start, numbering = world.random("start"), Numbering()
    running = run.users

    def finished() -> None:
        nonlocal running
        running -= 1
        if not running:
            engine.stop()

    users = []
    for number in range(run.users):
        user = LoopingUser(
            engine, servers, policy if number < run.supported else others, number, number % nodes,
            site.sizes, site.compute_seconds_per_gb, site.scatter, start.randrange(POOLS), numbering,
            finished, world.random(f"user {number}"),
        )  # fmt: skip
        engine.at(start.uniform(0.0, site.start_spread), user.start)
        users.append(user)
    engine.run()
    times = [user.took for user in users]
    plain = times[run.supported :]
    return Times(sum(times[: run.supported]) / run.supported, sum(plain) / len(plain) if plain else 0.0)
