"""The fluid is exact: hand-worked cases, work is conserved, and SimGrid agrees."""

import json
import subprocess
from pathlib import Path
from random import Random

import numpy as np
import pytest
from ran import ran
from ses_simulate.duplex import DuplexServer
from ses_simulate.engine import Engine
from ses_simulate.links import Link
from ses_simulate.monitor import Monitor, Sample, Sampling
from ses_simulate.servers import Device, Server
from smed_monitor.core.rates import Windows, observe, unseen

SYSTEM_PYTHON = Path("/usr/bin/python3")
SIMGRID = """
import json, sys
from simgrid import Actor, Engine, Host, this_actor
cases = json.load(sys.stdin)
engine = Engine(["cross", "--log=root.threshold:critical"])
from simgrid import NetZone
root = NetZone.create_full_zone("root")
ended = {}
def flow(name, start, work):
    this_actor.sleep_until(start)
    this_actor.execute(work)
    ended[name] = Engine.clock
for number, flows in enumerate(cases):
    host = root.create_host(f"h{number}", 1.0)
    for which, (start, work) in enumerate(flows):
        Actor.create(f"{number}/{which}", host, flow, f"{number}/{which}", start, work)
root.seal()
engine.run()
json.dump([[ended[f"{n}/{w}"] for w in range(len(f))] for n, f in enumerate(cases)], sys.stdout)
"""


def ends(device: Device, flows: list[tuple[float, float, bool]]) -> list[float]:
    """Return when each flow (start, bytes, reads) ends on one element."""
    engine = Engine()
    server = Server(engine, device)
    ended: dict[int, float] = {}
    for number, (start, amount, reads) in enumerate(flows):

        def begin(_now: float, number: int = number, amount: float = amount, reads: bool = reads) -> None:
            (server.read if reads else server.write)(amount, lambda now: ended.update({number: now}))

        engine.at(start, begin)
    engine.run()
    return [ended[number] for number in range(len(flows))]


@pytest.mark.parametrize(
    ("promise", "device", "flows", "expected"),
    [
        ("alone at its own rate", Device(50, 25), [(0, 100, True), (10, 100, False)], [2, 14]),
        ("two alike share evenly", Device(10, 10), [(0, 100, True), (0, 100, True)], [20, 20]),
        ("a late one slows the first", Device(10, 10), [(0, 100, True), (5, 100, True)], [15, 20]),
        ("the rest gets all when one ends", Device(10, 10), [(0, 30, True), (0, 100, True)], [6, 13]),
        ("readers and writers share the device", Device(20, 10), [(0, 100, True), (0, 100, False)], [10, 15]),
        ("half the speed, twice the time", Device(10, 10, health=0.5), [(0, 100, True)], [20]),
        ("a tenth lost for the second", Device(11, 11, loss=0.1), [(0, 110, True), (0, 110, True)], [22, 22]),
        ("never less than the floor", Device(10, 10, loss=9, floor=0.5), [(0, 50, True)] * 2, [20, 20]),
    ],
)  # fmt: skip
def test_processor_sharing_is_exact(
    promise: str, device: Device, flows: list[tuple[float, float, bool]], expected: list[float]
) -> None:
    assert ends(device, flows) == pytest.approx(expected, abs=1e-9), promise


def test_readers_and_writers_of_a_duplex_element_do_not_slow_each_other() -> None:
    engine = Engine()
    server, ended = DuplexServer(engine, Device(20, 10)), []
    engine.at(0.0, lambda _now: server.read(100.0, ended.append))
    engine.at(0.0, lambda _now: server.read(100.0, ended.append))
    engine.at(0.0, lambda _now: server.write(60.0, ended.append))
    seen: list[int] = []
    engine.at(5.0, lambda _now: seen.append(server.active))
    engine.run()
    assert ended == pytest.approx([6, 10, 10])
    assert seen == [3]
    server.advance(10.0)
    assert (server.read_seconds, server.write_seconds) == pytest.approx((10, 6))
    assert server.depth_integral == pytest.approx(26)


def random_case(seed: int) -> list[tuple[float, float, bool]]:
    rng = Random(seed)
    return [(rng.uniform(0, 50), rng.expovariate(1 / 100), True) for _ in range(40)]


@pytest.mark.parametrize("seed", range(5))
def test_no_work_is_lost_or_made(seed: int) -> None:
    engine = Engine()
    server = Server(engine, Device(10, 10))
    flows, ended = random_case(seed), []
    for start, amount, _ in flows:
        engine.at(start, lambda _now, amount=amount: server.read(amount, ended.append))
    engine.run()
    assert len(ended) == len(flows)
    assert server.read_seconds * 10 == pytest.approx(sum(amount for _, amount, _ in flows))
    assert server.remaining == 0.0
    assert server.active == 0


def test_work_left_is_known_in_between() -> None:
    engine = Engine()
    server = Server(engine, Device(10, 10))
    engine.at(0.0, lambda _now: server.read(100.0, lambda _then: None))
    engine.at(0.0, lambda _now: server.read(50.0, lambda _then: None))
    seen: list[float] = []
    engine.at(4.0, lambda _now: seen.append(server.remaining))
    engine.run()
    assert seen == pytest.approx([11.0])


def test_a_link_is_shared_by_its_elements() -> None:
    """Two elements of 10 on a link of 12: where one has a flow and the other two, each flow gets 4."""
    engine = Engine()
    servers = [Server(engine, Device(10, 10)) for _ in range(2)]
    Link(engine, 12, servers)
    ended: dict[str, float] = {}
    for name, server, amount in (("alone", 0, 40), ("one", 1, 40), ("other", 1, 60)):
        servers[server].write(amount, lambda now, name=name: ended.update({name: now}))
    engine.run()
    assert ended == pytest.approx({"alone": 10.0, "one": 10.0, "other": 12.0})


def test_an_element_that_becomes_slow_goes_on_slowly() -> None:
    engine = Engine()
    server, ended = Server(engine, Device(10, 10)), []
    server.write(100, ended.append)
    engine.at(5.0, lambda _now: server.become(0.5))
    engine.run()
    assert ended == pytest.approx([15.0])


def test_a_full_element_refuses_the_file_begun_last() -> None:
    engine = Engine()
    server = Server(engine, Device(10, 10, capacity=100, free=100))
    ended, refused = [], []
    server.write(80, ended.append)
    engine.at(2.0, lambda _now: server.write(70, ended.append, refused.append))
    engine.run()
    assert refused == pytest.approx([10.0]), "20 + 80 bytes were written by then"
    assert ended == pytest.approx([12.0])
    assert server.free == pytest.approx(20.0)


def test_exponential_means_are_those_of_the_monitor() -> None:
    engine = Engine()
    server = Server(engine, Device(10, 10))
    samples: list[Sample] = []
    sampling = Sampling(1.0, constant=2.0)
    Monitor(engine, [server], sampling, [lambda _now, sample: samples.append(sample)])
    engine.at(0.5, lambda _now: server.write(17, lambda _then: None))
    engine.run_until(6.5)
    rates = unseen(1, 1)
    windows = Windows(2.0, 60.0, 60.0)
    for second, written in enumerate((0.0, 5.0, 15.0, 17.0, 17.0, 17.0, 17.0)):
        rates = observe(rates, np.array([[written]]), float(second), windows)
    assert samples[6].write_rate[0] == pytest.approx(rates.current_means()[0, 0])
    assert sampling.span / 2 == pytest.approx(2.04, abs=0.01), "the mean age of what they tell"


def test_simgrid_agrees_to_the_microsecond() -> None:
    if (
        not SYSTEM_PYTHON.exists()
        or subprocess.run(
            [SYSTEM_PYTHON, "-c", "import simgrid"], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("Debian's python3-simgrid is not installed (the package index has no wheel of it)")
    cases = [random_case(seed) for seed in range(3)]
    cases.append([(0.0, 100.0, True)] * 8)
    asked = json.dumps([[(start, amount / 10.0) for start, amount, _ in case] for case in cases])
    answer = ran([SYSTEM_PYTHON, "-c", SIMGRID], input=asked)
    theirs = json.loads(answer.stdout)
    for case, expected in zip(cases, theirs, strict=True):
        assert ends(Device(10, 10), case) == pytest.approx(expected, abs=1e-6)
