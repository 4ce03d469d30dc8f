"""Making and freeing items, their versions, and waiting for them."""

import errno
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ses.share import Item, Model, Region, Value
from sharing import Peer, refused, value_of


def test_value_is_what_was_put_of_any_size(region: Region) -> None:
    item = region.alloc("item", 100)
    assert item.get() is None
    for size in range(101):
        value = bytes(range(size))
        version = item.put(value)
        assert item.get() == Value(value, version)
    with refused(errno.EMSGSIZE):
        item.put(bytes(101))
    assert item.get() == Value(bytes(range(100)), 101)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 60_000), st.integers(1, 4)), max_size=40))
def test_items_never_overlap_however_they_are_made_and_freed(steps: list[tuple[int, int, int]]) -> None:
    """Each keeps the value that was put; what is freed can be used again."""
    name = f"test-overlap-{os.getpid()}"
    with Region.create(name, size=1 << 19, items=8) as region:
        Region.remove(name)
        alive: dict[int, tuple[Item, bytes]] = {}
        for number, size, keep in steps:
            if number in alive:
                alive.pop(number)[0].free()
                continue
            if len(alive) == 8 or region.facts().bytes_free < (keep + 1) * -(-(size + 32) // 64) * 64:
                with refused(errno.ENOSPC):
                    region.alloc(str(number), size, keep=keep)
                continue
            item = region.alloc(str(number), size, keep=keep)
            value = bytes([number + 1]) * size
            item.put(value)
            item.put(value)
            alive[number] = (item, value)
        for item, value in alive.values():
            assert value_of(item.get()) == value
        for item, _ in alive.values():
            item.free()
        assert region.facts().bytes_free == region.facts().bytes


def test_item_of_a_name_is_made_once(region: Region) -> None:
    item = region.alloc("item", 64)
    with pytest.raises(FileExistsError):
        region.alloc("item", 64)
    item.put(b"1")
    assert region.have("item", 32).facts().bytes == 64, "found as it is"
    with pytest.raises(FileNotFoundError):
        region.find("other")


@pytest.mark.parametrize(
    "kind",
    [
        {"size": 0},
        {"size": 1 << 41},
        {"size": 8, "keep": 1025},
        {"size": 8, "model": Model.TEMPORAL},
        {"size": 8, "model": Model.TEMPORAL, "age": -1.0},
        {"size": 8, "model": Model.TEMPORAL, "age": float("nan")},
    ],
)
def test_odd_kinds_are_refused(region: Region, kind: dict[str, object]) -> None:
    with refused(errno.EINVAL):
        region.alloc("item", **kind)  # type: ignore[arg-type]
    assert region.facts().items == 0


def test_freed_item_is_gone_for_everybody(region: Region) -> None:
    """Also where its memory is another item's by then."""
    item = region.alloc("item", 64)
    item.put(b"1")
    with Peer(region.name) as peer:
        assert peer.do("free", "item") == {"result": None}
    other = region.alloc("other", 64)
    other.put(b"2")
    for call in (
        item.get,
        lambda: item.put(b"3"),
        lambda: item.copy(1),
        lambda: item.wait(1),
        item.facts,
        item.free,
    ):
        with refused(errno.EBADF):
            call()
    assert other.get() == Value(b"2", 1)


def test_kept_versions_can_be_got_and_older_ones_not(region: Region) -> None:
    item = region.alloc("item", 64, keep=3)
    for number in range(1, 6):
        item.put(str(number).encode())
    for number in (3, 4, 5):
        assert value_of(item.copy(number)) == str(number).encode()
    for number in (1, 2):
        with refused(errno.ESTALE):
            item.copy(number)
    assert item.copy(6) is None
    assert item.copy(0) is None


def test_who_waits_is_woken_by_a_put_and_by_a_free(region: Region) -> None:
    item = region.alloc("item", 64)
    with Peer(region.name) as peer:
        peer.begin("wait", "item", 0)
        item.put(b"1")
        assert peer.answer() == {"result": True}
        assert peer.do("wait", "item", 0) == {"result": True}, "it is there already"
        peer.begin("wait", "item", 1)
        item.free()
        assert peer.answer()["errno"] in (errno.EBADF, errno.ENOENT)


def test_waiting_ends_when_the_patience_does(region: Region) -> None:
    item = region.alloc("item", 64)
    region.patience(0.02)
    assert item.wait(0) is False
    with Peer(region.name) as peer:
        peer.do("lock", "item")
        with pytest.raises(TimeoutError), item.lock():
            pass


def test_lock_is_given_back_by_its_holder_alone(region: Region) -> None:
    item = region.alloc("item", 64)
    with Peer(region.name) as peer:
        peer.do("lock", "item")
        region.patience(0)
        with pytest.raises(TimeoutError), item.lock():
            pass
        peer.do("unlock")
        with item.lock():
            pass


def test_closed_region_and_freed_item_are_said_and_not_used(region: Region) -> None:
    item = region.alloc("item", 64)
    other = region.alloc("other", 64)
    other.free()
    with pytest.raises(ValueError, match="freed"):
        other.get()
    again = Region.open(region.name)
    same = again.find("item")
    again.close()
    for call in (again.facts, again.items, same.get, lambda: same.put(b"1")):
        with pytest.raises(ValueError, match="closed"):
            call()
    assert item.get() is None
