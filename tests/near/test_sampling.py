"""The rate at which files really come here decides where the stated one says that nothing is to be gained."""

import os
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from ses.near import run_near
from ses.near.execution.executors import Limits
from ses.near.history import Seen, remember
from ses.near.placing import Site
from ses.near.run_near import Wanted, plan
from ses.near.sampling import SAMPLE_BYTES, read_rate

MB = 1e6


def no_site() -> Site:
    raise AssertionError("everything is said")


@pytest.fixture
def wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wanted:
    """A file of 300 MB on a node whose disk and link are equally fast."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    file = tmp_path / "data"
    with file.open("wb") as opened:
        opened.truncate(300_000_000)
    return Wanted((file,), ("grep", "-c", "x", "{}"), "endpoint", "command", ("env",),
                  disk_rate=100 * MB, link_rate=100 * MB)  # fmt: skip


def test_a_file_that_comes_slower_than_stated_is_worth_going_near(wanted, monkeypatch):
    monkeypatch.setattr(run_near, "read_rate", lambda _: 100 * MB)
    assert plan(wanted, no_site).reason.startswith("it cannot pay")
    monkeypatch.setattr(run_near, "read_rate", lambda _: 20 * MB)
    made = plan(wanted, no_site)
    assert (made.node, made.reason) == ("endpoint", "it pays")
    assert made.decision is not None
    assert made.decision.here.link == pytest.approx(15)


def test_a_file_that_comes_faster_than_stated_may_have_been_in_the_cache(wanted, monkeypatch):
    monkeypatch.setattr(run_near, "read_rate", lambda _: 20_000 * MB)
    made = plan(wanted, no_site)
    assert made.decision is not None
    assert made.decision.here.link == pytest.approx(3)


def test_nothing_is_read_when_that_is_not_wanted(wanted, monkeypatch):
    monkeypatch.setattr(run_near, "read_rate", lambda _: pytest.fail("it was read"))
    made = plan(replace(wanted, sampled=False), no_site)
    assert made.reason.startswith("it cannot pay")


def test_the_rate_is_what_came_over_the_time_it_took(tmp_path):
    pipe, pause, size = tmp_path / "pipe", 0.2, 1 << 20
    os.mkfifo(pipe)

    def write() -> None:
        with pipe.open("wb", buffering=0) as opened:
            opened.write(bytes(size // 2))
            time.sleep(pause)
            opened.write(bytes(size // 2))

    writer = threading.Thread(target=write)
    writer.start()
    rate = read_rate(pipe)
    writer.join()
    assert 0 < rate <= size / pause


def test_no_more_is_read_than_a_sample(tmp_path):
    file = tmp_path / "data"
    with file.open("wb") as opened:
        opened.truncate(4 * SAMPLE_BYTES)
    before = _read_so_far()
    read_rate(file)
    assert 0 < _read_so_far() - before <= 2 * SAMPLE_BYTES


def _read_so_far() -> int:
    return int(Path("/proc/self/io").read_text().split()[1])


def test_a_limit_of_processors_counts(wanted):
    """The sample says 10 ns of CPU for a byte; half a processor reads 50 MB/s."""
    remember(wanted.argv, "endpoint", Seen(0.0, 1e-8, 1.0, 4.0, 0.1))
    for cpus, seconds in ((None, 3.1), (0.5, 6.1)):
        limits = Limits(cpus=cpus)
        made = plan(replace(wanted, link_rate=1 * MB, limits=limits), no_site)
        assert made.decision is not None
        assert made.decision.near.seconds == pytest.approx(seconds)
