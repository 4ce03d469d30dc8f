"""What each coherence model promises, and that the next weaker one does not: no test here is empty."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable

import pytest
from ses.share import Item, Model, Region, Value
from sharing import Peer, value_of

VERSIONS = 3  # that a delta item may be behind
AGE = 0.2  # seconds that a temporal value is good for

Promise = Callable[[Region, Item, Peer], bool]


def never_between_two_steps_of_another(region: Region, item: Item, peer: Peer) -> bool:
    """Another process changes the value in two steps under its lock; nobody sees the first alone."""
    peer.do("put", "item", "before")
    peer.do("lock", "item")
    peer.do("put", "item", "half done")
    region.patience(0.05)
    try:
        return item.get() is None
    except TimeoutError:
        peer.do("unlock")
        return True


def never_under_the_lock_of_another(region: Region, item: Item, peer: Peer) -> bool:
    """While another process holds the lock, its value stays."""
    peer.do("lock", "item")
    peer.do("put", "item", "mine")
    region.patience(0.05)
    try:
        item.put(b"of somebody else")
    except TimeoutError:
        assert peer.do("get", "item") == {"result": "mine"}
        return True
    return peer.do("get", "item") != {"result": "of somebody else"}


def always_the_last_value(region: Region, item: Item, peer: Peer) -> bool:
    """A get after a put of another process gives that."""
    for value in ("first", "second"):
        peer.do("put", "item", value)
        got = item.get()
        if got is None or got.data != value.encode():
            return False
    return True


def never_more_versions_behind(region: Region, item: Item, peer: Peer) -> bool:
    """However many are put, a get is at most VERSIONS behind."""
    peer.do("put", "item", "first")
    item.get()
    for count in range(2 * VERSIONS):
        last = peer.do("put", "item", f"next {count}")["result"]
        got = item.get()
        assert got
        if last - got.version > VERSIONS:
            return False
    return True


def is_refused(item: Item) -> bool:
    """True: the value is too old; nothing else may be wrong with it."""
    try:
        item.get()
    except OSError as error:
        if error.errno != errno.ETIME:
            raise
        return True
    return False


def is_given(item: Item, peer: Peer) -> bool:
    """A value just put is given; a stall of the machine can make it too old before it is asked for."""
    for _ in range(100):
        peer.do("put", "item", "young")
        if not is_refused(item):
            return True
    return False


def never_older(region: Region, item: Item, peer: Peer) -> bool:
    """A value older than AGE is refused, and a later one is given."""
    assert is_given(item, peer)
    time.sleep(2 * AGE)
    return is_refused(item) and is_given(item, peer)


@pytest.mark.parametrize(
    ("promise", "model", "weaker"),
    [
        (never_between_two_steps_of_another, Model.STRICT, Model.WRITE),
        (never_under_the_lock_of_another, Model.WRITE, Model.READ),
        (always_the_last_value, Model.READ, Model.DELTA),
        (never_more_versions_behind, Model.DELTA, Model.NULL),
        (never_older, Model.TEMPORAL, Model.NULL),
    ],
)
def test_model_promises_what_the_next_weaker_one_does_not(
    region: Region, promise: Promise, model: Model, weaker: Model
) -> None:
    for kind, kept in ((model, True), (weaker, False)):
        item = region.alloc("item", 64, kind, versions=VERSIONS, age=AGE)
        region.patience(5)
        with Peer(region.name) as peer:
            assert promise(region, item, peer) is kept, kind
        region.patience(5)
        item.free()


@pytest.mark.parametrize("stronger", [Model.STRICT, Model.WRITE])
def test_stronger_models_keep_what_weaker_ones_promise(region: Region, stronger: Model) -> None:
    for promise in (always_the_last_value, never_more_versions_behind):
        item = region.alloc("item", 64, stronger)
        with Peer(region.name) as peer:
            assert promise(region, item, peer)
        item.free()


def test_null_gives_what_was_got_first_until_it_is_refreshed(region: Region) -> None:
    item = region.alloc("item", 64, Model.NULL)
    with Peer(region.name) as peer:
        peer.do("put", "item", "first")
        assert item.get() == (first := item.get())
        peer.do("put", "item", "second")
        assert item.get() == first
        item.refresh()
        assert item.get() == Value(b"second", 2)


def test_delta_gives_a_younger_value_than_it_must_once_it_asks(region: Region) -> None:
    item = region.alloc("item", 64, Model.DELTA, versions=VERSIONS)
    with Peer(region.name) as peer:
        peer.do("put", "item", "first")
        assert item.get()
        peer.do("put", "item", *(str(number) for number in range(VERSIONS)))
        assert item.get() == item.get()
        assert item.get() == Value(b"first", 1), "still near enough"
        peer.do("put", "item", "last")
        assert value_of(item.get()) == b"last"


def test_lock_holder_gets_and_puts_while_others_wait(region: Region) -> None:
    item = region.alloc("item", 64, Model.STRICT)
    with Peer(region.name) as peer:
        with item.lock():
            item.put(b"1")
            assert value_of(item.get()) == b"1"
            peer.begin("put", "item", "2")
            item.put(b"3")
            assert value_of(item.get()) == b"3"
        assert peer.answer() == {"result": 3}
        assert value_of(item.get()) == b"2"


def test_locked_increments_of_two_processes_are_all_counted(region: Region) -> None:
    """Get, change and put as one step."""
    region.alloc("item", 64, Model.WRITE).put(b"0")
    with Peer(region.name) as one, Peer(region.name) as other:
        for peer in (one, other):
            peer.begin("count", "item", 2000)
        assert one.answer() == other.answer() == {"result": None}
    assert value_of(region.find("item").get()) == b"4000"
