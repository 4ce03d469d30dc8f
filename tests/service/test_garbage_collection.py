"""The garbage collector is kept quiet, and forgets nothing for ever."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest
from ses_service.process.garbage_collection import Collector


class Circle:
    """Refers to itself, so that only the collector can free it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    gc.collect()
    yield
    gc.unfreeze()
    gc.collect()


def test_what_lives_is_set_aside_and_what_nothing_refers_to_is_freed_at_once() -> None:
    kept = [Circle() for _ in range(1000)]
    plain = [object() for _ in range(10)]
    Collector(lambda: 0.0).step()
    assert gc.get_freeze_count() >= len(kept)
    assert not any(one is kept[0] for one in gc.get_objects())
    gone = weakref.ref(lonely := type("Lonely", (), {})())
    Collector(lambda: 0.0).step()
    del lonely
    assert gone() is None
    assert len(plain) == 10


def test_circles_are_freed_within_the_interval() -> None:
    now = 0.0
    collector = Collector(lambda: now, interval=60.0)
    circle: Circle | None = Circle()
    gone = weakref.ref(circle)
    collector.step()
    circle = None
    now = 59.0
    collector.step()
    gc.collect()
    assert gone() is not None, "it was not set aside"
    now = 60.0
    collector.step()
    assert gone() is None
