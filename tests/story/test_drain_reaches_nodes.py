"""A node hears that an element is drained: no further file goes there, until it is undrained."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import pytest
from running_site import Site

pytestmark = pytest.mark.root

DRAINED = "b1"  # the fastest: chosen again and again while nobody else writes
IN_A_ROW = 8


def test_files_avoid_a_drained_element_and_come_back_when_it_is_undrained(site: Site) -> None:
    numbers = itertools.count()

    def write_until(enough: Callable[[list[str]], bool], what: str) -> None:
        chosen: list[str] = []
        deadline = time.monotonic() + 120
        while not enough(chosen):
            assert time.monotonic() < deadline, f"{what}, but files went to {chosen}"
            chosen.append(site.write(f"{next(numbers)}.dat"))
            time.sleep(0.2)

    service = site.chain.client()
    write_until(lambda chosen: DRAINED in chosen, "the fastest element is chosen")
    service.drain(f"union/{DRAINED}", {"reason": "its disk is replaced"})
    write_until(
        lambda chosen: len(chosen) >= IN_A_ROW and DRAINED not in chosen[-IN_A_ROW:], "the node hears of it"
    )
    service.undrain(f"union/{DRAINED}", {})
    write_until(lambda chosen: DRAINED in chosen, "the node hears that it takes files again")
