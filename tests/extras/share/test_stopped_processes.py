"""Processes that are stopped, forked or short of files while they hold a lock: nobody waits without end."""

import contextlib
import errno
import mmap
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import wait_until
from ses.share import Model, Region
from sharing import Peer, value_of


def wait_until_it_stops(peer: Peer) -> None:
    stat = Path(f"/proc/{peer.process.pid}/stat")
    wait_until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")


@contextlib.contextmanager
def stopped(peer: Peer) -> Iterator[None]:
    peer.process.send_signal(signal.SIGSTOP)
    wait_until_it_stops(peer)
    yield
    peer.process.send_signal(signal.SIGCONT)


def test_lock_of_a_stopped_process_stays_its_own_and_is_not_waited_for_without_end(region: Region) -> None:
    item = region.alloc("item", 64, Model.WRITE)
    item.put(b"1")
    region.patience(0.3)  # the holder is looked at several times
    with Peer(region.name) as peer:
        peer.do("lock", "item")
        with stopped(peer):
            assert item.facts().holder == peer.process.pid
            assert value_of(item.get()) == b"1"
            with pytest.raises(TimeoutError):
                item.put(b"2")
        assert peer.do("put", "item", "3") == {"result": 2}
        peer.do("unlock")
        with item.lock() as after_dead:
            assert not after_dead


def test_process_stopped_in_the_middle_of_a_put_holds_up_that_item_alone(region: Region) -> None:
    """Its room is nobody else's meanwhile, and its value arrives when it goes on."""
    item = region.alloc("item", 2 * mmap.PAGESIZE)
    item.put(b"whole")
    region.patience(0.1)
    with Peer(region.name) as peer:
        peer.begin("stop_in_put", "item")
        wait_until_it_stops(peer)
        for call in (lambda: item.put(b"next"), item.free):
            with pytest.raises(TimeoutError):
                call()
        assert value_of(item.get()) == b"whole"
        assert region.alloc("other", 64).put(b"1") == 1
        peer.process.send_signal(signal.SIGCONT)
        assert peer.answer() == {"result": None}
    assert value_of(item.get()) == b"?" * mmap.PAGESIZE + bytes(mmap.PAGESIZE)
    assert item.put(b"next") == 3


@pytest.mark.parametrize("without_handlers", [False, True])
def test_lock_is_not_inherited_by_a_child(region: Region, without_handlers: bool) -> None:
    region.alloc("item", 64, Model.STRICT)
    with Peer(region.name) as peer:
        seen = peer.do("lock_and_fork", "item", without_handlers)
    assert seen == {"result": {"child": errno.EPERM, "held": True}}


def test_lock_of_a_process_that_can_open_no_file_is_not_taken_for_a_dead_ones(region: Region) -> None:
    item = region.alloc("item", 64)
    with Peer(region.name) as peer:
        peer.do("lock_without_descriptors", "item")
        region.patience(0.1)
        with pytest.raises(TimeoutError), item.lock():
            pass
        peer.kill()
        with item.lock() as after_dead:
            assert after_dead
