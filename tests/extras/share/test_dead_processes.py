"""Processes that die while they write, hold a lock, or make a region: the others go on."""

import mmap
import multiprocessing
import subprocess
from pathlib import Path

import pytest
from ran import ran
from ses.share import Model, Region
from ses.share.library import ffi
from sharing import Peer, value_of

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


def test_writer_that_dies_in_the_middle_of_a_put_leaves_the_value_as_it_was(region: Region) -> None:
    item = region.alloc("item", 2 * mmap.PAGESIZE)
    item.put(b"whole" * 1000)
    for _ in range(3):  # twice the slots there are
        with Peer(region.name) as peer:
            assert peer.do("die_in_put", "item") == {}
        assert value_of(item.get()) == b"whole" * 1000
    assert item.put(b"next") == 2
    assert value_of(item.get()) == b"next"


def test_lock_of_a_dead_process_is_taken_over_and_said(region: Region) -> None:
    item = region.alloc("item", 64, Model.STRICT)
    with Peer(region.name) as peer:
        peer.do("lock", "item")
        peer.do("put", "item", "half")
        assert item.facts().holder == peer.process.pid
        peer.kill()
    assert item.facts().holder is None
    assert value_of(item.get()) == b"half"
    with item.lock() as after_dead:
        assert after_dead
    with item.lock() as after_dead:
        assert not after_dead


def test_lock_of_a_dead_process_is_taken_over_before_its_parent_has_asked(region: Region) -> None:
    item = region.alloc("item", 64)
    with Peer(region.name) as peer:
        peer.do("lock", "item")
        peer.process.kill()
        assert Path(f"/proc/{peer.process.pid}/stat").exists(), "dead or dying, and not asked for"
        with item.lock() as after_dead:
            assert after_dead


@pytest.mark.parametrize(
    ("size", "reads"),
    [
        *((8, 4_000_000), (1024, 1_000_000), (100_000, 20_000)),
        pytest.param(64, 100_000_000, marks=pytest.mark.long),
    ],
)
def test_no_value_is_torn_while_writers_are_killed(
    build: Path, region: Region, tmp_path: Path, size: int, reads: int
) -> None:
    """Two writers put as fast as they can and are killed again and again; each get gives one put."""
    program = tmp_path / "torture"
    source = [HERE / "torture.c", "-I", ROOT / "libses/extras/include"]
    library = ["-L", build, "-lses-share", f"-Wl,-rpath,{build}"]
    subprocess.run(["gcc", "-O2", "-Wall", "-Werror", "-o", program, *source, *library], check=True)
    said = ran([program, region.name, str(size), str(reads)])
    seen = dict(word.split("=") for word in said.stdout.split())
    assert int(seen["reads"]) == reads
    assert int(seen["killed"]) > 0
    assert int(seen["versions"]) > 1, "readers met several values"


def make_without_a_head(name: str) -> None:
    with Region.create(name) as made:
        ffi.memmove(ffi.cast("char **", made._share)[0], bytes(4096), 4096)


def die_making(name: str) -> None:
    maker = multiprocessing.get_context("fork").Process(target=make_without_a_head, args=(name,))
    maker.start()
    maker.join(60)
    assert maker.exitcode == 0


def test_region_whose_maker_died_before_it_was_ready_is_made_again(name: str) -> None:
    die_making(name)
    with pytest.raises(FileNotFoundError):
        Region.open(name)
    die_making(name)
    with Region.create(name) as made:
        assert Region.open(name).facts() == made.facts()
    Region.remove(name)


def test_region_whose_maker_died_is_made_by_one_of_those_who_try_at_once(name: str) -> None:
    processes = 4
    fork = multiprocessing.get_context("fork")
    together, said = fork.Barrier(processes), fork.Queue()

    def make() -> None:
        together.wait(60)
        try:
            Region.create(name)
            said.put("made")
        except OSError as error:
            said.put(type(error).__name__)

    die_making(name)
    for process in (started := [fork.Process(target=make) for _ in range(processes)]):
        process.start()
    assert sorted(said.get(timeout=60) for _ in started) == [*["FileExistsError"] * (processes - 1), "made"]
    for process in started:
        process.join(60)
    Region.remove(name)
    with pytest.raises(FileNotFoundError):
        Region.open(name)
