"""Which request is answered next."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from ses_service.http import admission as admission_module
from ses_service.http.admission import Admission


@pytest.fixture(autouse=True)
def passes_of_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """In each pass of the loop one is due; after one that a busy machine made long there would be more."""
    monkeypatch.setattr(admission_module, "time", SimpleNamespace(perf_counter=lambda: 0.0))


def use(turns: list[Any], who: object) -> Callable[[], bool]:
    """Return what writes down that it was somebody's turn."""
    return lambda: turns.append(who) is None


def test_who_finds_the_line_full_is_refused_at_once() -> None:
    used: list[int] = []

    async def whole() -> None:
        admission = Admission()
        assert admission.submit(1, use(used, 1))
        assert admission.submit(1, use(used, 2))
        assert used == [1], "the second waits for a pass of its own"
        assert admission.full(1)
        assert not admission.submit(1, use(used, 3))
        await asyncio.sleep(0)

    asyncio.run(whole())
    assert used == [1, 2]


def test_who_fails_in_a_turn_takes_nobody_elses() -> None:
    """Else one answer that cannot be sent would leave every later decision waiting for ever."""
    reported: list[object] = []
    used: list[int] = []

    def fail() -> bool:
        raise ConnectionError

    async def whole() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: reported.append(context["exception"]))
        admission = Admission()
        assert admission.submit(9, lambda: True)
        assert admission.submit(9, fail)
        assert admission.submit(9, use(used, 1))
        for _ in range(5):
            await asyncio.sleep(0)
        assert admission.submit(0, use(used, 2)), "nobody waits any more"

    asyncio.run(whole())
    assert used == [1, 2]
    assert [type(error) for error in reported] == [ConnectionError]


def test_who_asks_without_pause_waits_for_oneself_and_leaves_others_room() -> None:
    order: list[str] = []

    async def whole() -> None:
        admission = Admission()
        taken = [admission.submit(8, use(order, "user"), "user") for _ in range(20)]
        assert sum(taken) == 1 + 6, "one at once, and three quarters of the room"
        assert admission.submit(8, use(order, "n1"), "n1")
        assert admission.submit(8, use(order, "n2"), "n2")
        assert not admission.submit(8, use(order, "n3"), "n3"), "now it is full"
        while len(order) < 9:
            await asyncio.sleep(0)

    asyncio.run(whole())
    assert order == ["user", "user", "n1", "n2", *["user"] * 5]


def test_nodes_go_first_and_users_do_not_fill_their_room() -> None:
    order: list[str] = []

    async def whole() -> None:
        admission = Admission()
        assert admission.submit(2, use(order, "user"), "user")
        assert admission.submit(2, use(order, "user"), "user")
        assert admission.submit(2, use(order, "other"), "other")
        assert admission.full(2)
        assert not admission.submit(2, use(order, "another"), "another")
        assert not admission.full(2, node=True)
        assert admission.submit(2, use(order, "n1"), "n1", node=True)
        assert admission.submit(2, use(order, "n2"), "n2", node=True)
        assert not admission.submit(2, use(order, "n3"), "n3", node=True)
        while len(order) < 5:
            await asyncio.sleep(0)

    asyncio.run(whole())
    assert order == ["user", "n1", "n2", "user", "other"]
