"""What ``docs/decision-measured.md`` is made of: families with the lengths of their runs, and terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ses_simulate.scenarios import SCENARIOS

_USUAL = 800  # files
_FILES = {
    "bursts-500": 1500, "nodes-1000": 1000, "file-per-process": 8192,
    "elements-250": 1000, "elements-1000": 6000, "zipf-1000-elements": 6000,
    "checkpoint-1-node": 640, "checkpoint-8-nodes": 640, "checkpoint-64-nodes": 640, "checkpoint-busy": 640,
    "room": 1000, "room-pareto": 1000, "room-changed": 1000, "room-two-kinds": 1000,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Family:
    """A hard scenario with so many files; with ``users``, a background of Table 1 with all of them supported.

    These users are on so many ``nodes`` (0: each on one of its own).  ``duplex``: readers and writers of an
    element do not share its speed.
    """

    scenario: str
    files: int = 0
    users: int = 0
    nodes: int = 0
    duplex: bool = False


FAMILIES: Mapping[str, Family] = {
    "t1-none-6": Family("none", users=6),
    "t1-none-8": Family("none", users=8),
    "t1-none-10": Family("none", users=10),
    "t1-none-10, one node": Family("none", users=10, nodes=1),
    "t1-none-8, one node": Family("none", users=8, nodes=1),
    "t1-uniform-8": Family("uniform", users=8),
    "t1-skewed-8": Family("skewed", users=8),
    **{
        f"t1-{background}-8, duplex": Family(background, users=8, duplex=True)
        for background in ("none", "uniform", "skewed")
    },
    **{name: Family(name, _FILES.get(name, _USUAL)) for name in SCENARIOS},
}

HALVES: Mapping[str, Family] = {
    f"half of {users}, {background}": Family(background, users=users)
    for background in ("none", "uniform", "skewed")
    for users in (6, 8, 10)
}

TERMS: Mapping[str, tuple[str, ...]] = {
    "no-others": ("strangers", "t1-skewed-8", "unassisted-t5", "checkpoint-busy"),
    "no-seen-writes": ("monitor-late", "monitor-away", "unassisted-t30", "unassisted-t5", "strangers"),
    "no-averaged-own": ("nodes-64", "rows-of-files", "elements-250"),
    "no-health": ("secretly-slow", "slow-after-seen", "wrong-rates-seen", "strangers-seen"),
    "no-idle": ("open-idle",),
    "no-writing-out": ("rows-of-files", "nodes-64"),
    "no-reading": ("t1-none-10", "t1-none-8", "t1-skewed-8"),
    "no-spread": ("bursts-500", "nodes-64-told-5s", "nodes-1000"),
    "no-own-streams": ("rush", "one-50", "one-10-of-1000", "zipf-64"),
    "no-orders": ("nodes-64", "strangers"),
    "no-ranks": ("checkpoint-8-nodes", "checkpoint-busy"),
    "no-recency": ("t1-none-10", "t1-skewed-8"),
    "no-idle-recency": ("workflows", "unassisted-t5", "secretly-slow", "t1-none-8"),
    "no-room": ("room",),
    "no-server-rate": ("one-link", "links-stated", "links-narrow", "links-strangers"),
    "with-recency-of-all": ("wrong-rates", "strangers", "workflows"),
    "with-narrow-shares": ("wrong-rates",),
    "with-whole-others": ("unassisted-t5", "nodes-1000"),
    "no-kept": ("small-needs", "needs-0.7", "needs-two"),
    "no-harm": ("needs-0.85", "needs-two", "needs-overload", "t1-uniform-8", "t1-skewed-8"),
    "with-two-drawn": ("zipf-64", "one-50", "zipf-1000", "nodes-64-told-5s", "bursts-500"),
    "with-share-drawn": ("zipf-64", "one-50", "zipf-1000", "nodes-64-told-5s", "bursts-500"),
}
