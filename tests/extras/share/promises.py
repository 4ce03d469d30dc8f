"""What each coherence model promises about an item that another process uses as well."""

import errno
import time
from collections.abc import Callable

from ses.share import Item, Model, Region
from sharing import Peer

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


def is_kept(promise: Promise, model: Model, region: Region) -> bool:
    """Whether an item of this model keeps the promise, for this process and another."""
    item = region.alloc("item", 64, model, versions=VERSIONS, age=AGE)
    region.patience(5)
    with Peer(region.name) as peer:
        kept = promise(region, item, peer)
    region.patience(5)
    item.free()
    return kept


# Each with the model that makes it, and the next weaker one, which does not.
PROMISES = [
    (never_between_two_steps_of_another, Model.STRICT, Model.WRITE),
    (never_under_the_lock_of_another, Model.WRITE, Model.READ),
    (always_the_last_value, Model.READ, Model.DELTA),
    (never_more_versions_behind, Model.DELTA, Model.NULL),
    (never_older, Model.TEMPORAL, Model.NULL),
]
