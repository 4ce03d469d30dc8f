"""Whose turn it is: decisions, and parts of what takes several turns."""

from __future__ import annotations

import asyncio

import pytest
from ses_service.admission import Turns
from ses_service.problems import OverloadedProblem


def order_of(decisions: int, parts: int) -> list[str]:
    """In which order they have their turns after a first decision, when the parts came before the others."""
    order: list[str] = []

    async def whole() -> None:
        turns = Turns()

        async def decide() -> None:
            await turns.take(decisions + 1)
            order.append("decision")

        async def go_on() -> None:
            await turns.take_between()
            order.append("part")

        others = (decide() for _ in range(decisions))
        await asyncio.gather(decide(), *(go_on() for _ in range(parts)), *others)

    asyncio.run(whole())
    return order


def test_decisions_go_before_parts_and_parts_are_not_forgotten() -> None:
    assert order_of(3, 1) == [*["decision"] * 4, "part"]
    assert order_of(10, 2) == [*["decision"] * 5, "part", *["decision"] * 4, "part", *["decision"] * 2]


def test_parts_go_on_when_nobody_else_waits() -> None:
    assert order_of(0, 3) == ["decision", *["part"] * 3]


def test_who_finds_the_line_full_is_refused_at_once_and_parts_do_not_fill_it() -> None:
    async def whole() -> None:
        turns = Turns()
        await turns.take(1)
        parts = [asyncio.ensure_future(turns.take_between()) for _ in range(5)]
        first = asyncio.ensure_future(turns.take(1))
        await asyncio.sleep(0)
        assert turns.full(1)
        with pytest.raises(OverloadedProblem):
            await turns.take(1)
        await asyncio.gather(first, *parts)

    asyncio.run(whole())


def test_who_hangs_up_gives_the_turn_to_the_next() -> None:
    async def whole() -> None:
        turns = Turns()
        await turns.take(1)
        gone, next_one = (asyncio.ensure_future(turns.take(2)) for _ in range(2))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait_for(next_one, 60)

    asyncio.run(whole())
