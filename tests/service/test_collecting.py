"""The garbage collector of servers is kept quiet, and forgets nothing for ever."""

import gc
import weakref
from collections.abc import Iterator

import pytest
from ses_listen.server import collect_rarely


class Circle:
    """Refers to itself, so that only the collector can free it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()


def test_what_lives_is_set_aside_and_circles_that_come_later_are_freed() -> None:
    kept = Circle()
    collect_rarely()
    assert not any(tracked is kept for tracked in gc.get_objects())
    circle: Circle | None = Circle()
    gone = weakref.ref(circle)
    circle = None
    lists = [[number] for number in range(10_000)]
    assert gone() is not None, "nobody waits for the collector each time some objects come to live"
    lists += [[number] for number in range(50_000)]
    assert gone() is None
