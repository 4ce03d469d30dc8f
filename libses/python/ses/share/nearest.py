"""The node on which a region serves this one best: measured, by values got from each."""

from __future__ import annotations

import os
import secrets
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from ses.share.region import Item, Region

_GETS = 100
_PAUSE_SECONDS = 0.001  # between two gets: a node that is busy now and then is seen to be
_BYTES = 64


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node: what nine of ten gets of a small value took at most, or why none was got."""

    node: str
    microseconds: float | None
    reason: str = ""


def ranked(nodes: Sequence[str], size: int, items: int) -> list[Candidate]:
    """Return all nodes, HOST or HOST:PORT: the one that answers soonest first, those that do not last.

    Each is tried with a region of ``size`` and ``items``, so that one without the room is none.
    """
    tried = [_try(node, size, items) for node in nodes]
    return sorted(
        tried,
        key=lambda candidate: float("inf") if candidate.microseconds is None else candidate.microseconds,
    )


def _try(node: str, size: int, items: int) -> Candidate:
    name = f"probe-{os.getpid()}-{secrets.token_hex(4)}@{node}"
    try:
        with Region.create(name, size, items) as region:
            try:
                item = region.alloc("probe", _BYTES)
                item.put(bytes(_BYTES))
                return Candidate(node, statistics.quantiles([_get(item) for _ in range(_GETS)], n=10)[8])
            finally:
                Region.remove(name)
    except OSError as error:
        return Candidate(node, None, error.strerror or str(error))


def _get(item: Item) -> float:
    began = time.perf_counter_ns()
    item.get()
    taken = (time.perf_counter_ns() - began) / 1000
    time.sleep(_PAUSE_SECONDS)
    return taken
