"""Random placement: the baseline of the QStorMan paper."""

from __future__ import annotations

from ses_simulate.policies.interface import File, Policy, World


class RandomChoice(Policy):
    """Any element, each as likely."""

    def __init__(self, world: World) -> None:
        self._random = world.random("random")
        self._count = len(world.devices)

    def choose(self, now: float, file: File) -> int:
        """Return any element."""
        return int(self._random.random() * self._count)
