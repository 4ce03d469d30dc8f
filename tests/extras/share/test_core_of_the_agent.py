"""An agent with a core of its own: what serves stays there, keeps its promises, and ends with who asks."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import wait_until
from promises import PROMISES, Promise, is_kept
from ran import ran
from remote_node import PROGRAM, Agent, agent
from ses.share import Model, Region, Value
from sharing import Peer

CORE = min(os.sched_getaffinity(0))


@pytest.fixture(scope="module", params=[(), ("--sleep",), ("--fifo", "1", "--sleep")], ids=" ".join)
def node(munged: Path, request: pytest.FixtureRequest) -> Iterator[Agent]:
    if "--fifo" in request.param and os.geteuid() != 0:
        pytest.skip("going before others needs root")
    with agent(munged, "--core", str(CORE), *request.param) as running:
        yield running


def _serving(node: Agent) -> list[int]:
    process = node.process.pid
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def test_who_serves_stays_on_the_core(node: Agent, remote: Region) -> None:
    first = "--fifo" in list(node.process.args)
    for process in (node.process.pid, *_serving(node)):
        assert os.sched_getaffinity(process) == {CORE}
        assert (os.sched_getscheduler(process) == os.SCHED_FIFO) == first


@pytest.mark.parametrize(("promise", "model", "weaker"), PROMISES[:2])
def test_model_promises_the_same(remote: Region, promise: Promise, model: Model, weaker: Model) -> None:
    assert is_kept(promise, model, remote)


def test_several_are_answered_in_turn_and_one_that_is_killed_is_missed_by_nobody(
    node: Agent, remote: Region
) -> None:
    item = remote.alloc("item", 64)
    before = len(_serving(node))
    with Peer(remote.name) as peer, Peer(remote.name) as other:
        for number in range(1, 20):
            assert peer.do("put", "item", f"{number}") == {"result": 2 * number - 1}
            assert item.get() == Value(f"{number}".encode(), 2 * number - 1)
            assert other.do("put", "item", "other") == {"result": 2 * number}
        peer.kill()
        assert item.get() == Value(b"other", 38)
    wait_until(lambda: len(_serving(node)) == before, "the processes that served them end")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--sleep",), "--sleep needs --core N"),
        (("--core", "1023"), "--core: Invalid argument"),
        (("--core", "-1"), "--core takes a whole number from 0 to 1023"),
        (("--fifo", "100"), "--fifo takes a whole number from 1 to 99"),
    ],
)
def test_a_core_that_cannot_be_had_is_refused(options: tuple[str, ...], said: str) -> None:
    done = ran([PROGRAM, "--listen", "127.0.0.1:0", *options], code=None)
    assert done.returncode != 0
    assert said in done.stderr
