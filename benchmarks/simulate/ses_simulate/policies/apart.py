"""Several deciders side by side, each with a rule, and a memory, of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ses_simulate.monitor import Sample
from ses_simulate.policies.interface import File, Policy, World


class Apart(Policy):
    """One rule per decider; all hear the same monitor, and nothing of each other."""

    def __init__(self, world: World, maker: Callable[[World], Policy]) -> None:
        self._rules = [
            maker(replace(world, role=f"{world.role}{number}", deciders=1))
            for number in range(world.deciders)
        ]

    def choose(self, now: float, file: File) -> int:
        """Let the file's own decider choose."""
        return self._rules[file.decider].choose(now, file)

    def observe(self, now: float, sample: Sample) -> None:
        """Tell every decider."""
        for rule in self._rules:
            rule.observe(now, sample)

    def closed(self, now: float, file: File, element: int) -> None:
        """Tell the file's own decider."""
        self._rules[file.decider].closed(now, file, element)
