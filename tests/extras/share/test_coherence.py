"""What each coherence model promises, and that the next weaker one does not: no test here is empty."""

import pytest
from promises import PROMISES, VERSIONS, Promise, always_the_last_value, is_kept, never_more_versions_behind
from ses.share import Model, Region, Value
from sharing import Peer, value_of


@pytest.mark.parametrize(("promise", "model", "weaker"), PROMISES)
def test_model_promises_what_the_next_weaker_one_does_not(
    region: Region, promise: Promise, model: Model, weaker: Model
) -> None:
    assert is_kept(promise, model, region)
    assert not is_kept(promise, weaker, region)


@pytest.mark.parametrize("stronger", [Model.STRICT, Model.WRITE])
def test_stronger_models_keep_what_weaker_ones_promise(region: Region, stronger: Model) -> None:
    for promise in (always_the_last_value, never_more_versions_behind):
        assert is_kept(promise, stronger, region)


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
    with Peer(region.name) as first, Peer(region.name) as second:
        for peer in (first, second):
            peer.begin("count", "item", 2000)
        assert first.answer() == second.answer() == {"result": None}
    assert value_of(region.find("item").get()) == b"4000"
