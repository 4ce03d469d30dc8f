"""What would go elsewhere without an element, and that others are answered while that is worked out."""

import threading
from typing import Any

from ses_service.model.entities import Level


def two_users(serve: Any, site: Any) -> Any:
    """A service with a fast element and a slow one, of which two users need the fast one."""
    described = site(site.element("b0", write=100), site.element("b1", write=50))
    service = serve(described)
    for user in ("alice", "bob"):
        service.knowledge.put(Level.USER, user, site.write(80))
    return service.refresh()


def test_each_set_whose_next_file_would_go_to_the_element_is_reported_with_the_next_best(
    serve: Any, site: Any
) -> None:
    state = two_users(serve, site).runtime.state
    fast, slow = state.without("union/b0"), state.without("union/b1")
    assert [(moved.name, moved.instead) for moved in fast.moved] == [
        ("alice", "union/b1"),
        ("bob", "union/b1"),
    ]
    assert (fast.sets_total, fast.sets_asked, fast.others) == (2, 2, 1)
    assert (slow.moved, slow.others) == ((), 1)


class Turns:
    """A lock that counts how often it is taken."""

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock
        self.taken = 0

    def __enter__(self) -> None:
        self._lock.acquire()
        self.taken += 1

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def test_decisions_go_on_between_the_sets(serve: Any, site: Any) -> None:
    state = two_users(serve, site).runtime.state
    state._lock = turns = Turns(state._lock)
    assert len(state.without("union/b0").moved) == 2
    assert turns.taken >= 4
