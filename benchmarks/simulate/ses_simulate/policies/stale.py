"""Rules that trust the last sample alone: they do not count what they placed since."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from ses_simulate.monitor import Sample
from ses_simulate.policies.interface import File, Policy, World


def streams(sample: Sample) -> list[float]:
    """Return flows per element as a sample tells them: its depth, else how busy the element was."""
    return sample.depth or sample.busy


class _Stale(Policy):
    """Keeps the last sample; before the first one every element looks idle."""

    def __init__(self, world: World) -> None:
        self._devices = world.devices
        self._everywhere = range(len(world.devices))
        self._load = [0.0] * len(world.devices)

    def observe(self, now: float, sample: Sample) -> None:
        """Take the sample as the truth until the next one."""
        self._load = [
            (1.0 + flows) / device.write_rate
            for flows, device in zip(streams(sample), self._devices, strict=True)
        ]


class StaleArgmin(_Stale):
    """The best share ``C / (n + 1)`` by the last sample, as a service without memory would choose.

    Of equals any (``first`` false) or always the first in the list.
    """

    def __init__(self, world: World, first: bool = False) -> None:
        super().__init__(world)
        self._random = None if first else world.random("stale argmin")
        self._best: Sequence[int] = self._everywhere

    def observe(self, now: float, sample: Sample) -> None:
        """Take the sample as the truth until the next one."""
        super().observe(now, sample)
        least = min(self._load)
        self._best = [element for element in self._everywhere if self._load[element] <= least * 1.000001]

    def choose(self, now: float, file: File) -> int:
        """Return the best element of the last sample."""
        return self._best[0] if self._random is None else self._random.choice(self._best)


class TwoChoices(_Stale):
    """The better of two drawn at random (Mitzenmacher, IEEE TPDS 2000)."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._random = world.random("two choices")

    def choose(self, now: float, file: File) -> int:
        """Return the better of two elements."""
        first, second = self._random.sample(self._everywhere, 2)
        return first if self._load[first] <= self._load[second] else second


class Xrootd(_Stale):
    """XRootD's choice among servers by the load that they reported last, in percent.

    Of those with at most ``_FUZZ`` more than the least loaded the one that was selected least often; since
    release 5.7 it can be set to draw (``drawn``) by how much of each is not in use.
    """

    _FUZZ = 20.0  # percent, as XRootD is set at first

    def __init__(self, world: World, drawn: bool = False) -> None:
        super().__init__(world)
        self._random = world.random("xrootd") if drawn else None
        self._percent = [0.0] * len(world.devices)
        self._selected = [0] * len(world.devices)

    def observe(self, now: float, sample: Sample) -> None:
        """Take what servers report."""
        self._percent = [100.0 * busy for busy in sample.busy]

    def choose(self, now: float, file: File) -> int:
        """Return the server, which counts as selected."""
        if self._random is not None:
            return self._random.choices(
                self._everywhere, [max(1.0, 100.0 - entry) for entry in self._percent]
            )[0]
        most = min(self._percent) + self._FUZZ
        alike = [element for element in self._everywhere if self._percent[element] <= most]
        element = min(alike, key=self._selected.__getitem__)
        self._selected[element] += 1
        return element


class LoadInterpretation(_Stale):
    """Draws so that all are equally full when the sample has grown old (Dahlin, IEEE TPDS 2000).

    With ``A`` files expected since the sample, element ``j`` is drawn in proportion to what lifts
    it to the level at which ``A`` more files would leave all that are reached.
    """

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._random = world.random("load interpretation")
        self._flows = [0.0] * len(world.devices)
        self._taken = 0.0
        self._arrived = 0
        self._rate = 0.0

    def observe(self, now: float, sample: Sample) -> None:
        """Take the sample, and how many files came since the last one."""
        super().observe(now, sample)
        if now > self._taken:
            seen = self._arrived / (now - self._taken)
            self._rate = seen if self._rate == 0 else 0.8 * self._rate + 0.2 * seen
        self._taken, self._arrived = now, 0
        self._flows = streams(sample)

    def choose(self, now: float, file: File) -> int:
        """Return an element drawn from those below the level."""
        self._arrived += 1
        expected = max(1.0, self._rate * (now - self._taken))
        return water_fill(
            self._flows, [device.write_rate for device in self._devices], expected, self._random
        )


def water_fill(flows: Sequence[float], rates: Sequence[float], amount: float, random: Random) -> int:
    """Draw an element in proportion to its part of ``amount`` poured onto the loads ``n / C``."""
    order = sorted(range(len(flows)), key=lambda element: flows[element] / rates[element])
    poured, capability, level = amount, 0.0, 0.0
    reached: list[int] = []
    for element in order:
        if reached and flows[element] / rates[element] >= (poured / capability):
            break
        poured += flows[element]
        capability += rates[element]
        reached.append(element)
    level = poured / capability
    weights = [max(0.0, level * rates[element] - flows[element]) for element in reached]
    return random.choices(reached, weights)[0] if sum(weights) > 0 else reached[0]


class ObservedThroughput(_Stale):
    """The paper's "current transfer rate" read as the throughput seen on an element.

    Takes the element that comes nearest to the rates asked for, which is the busiest: kept to show
    why a rate must be what a newcomer would get.
    """

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._random = world.random("observed throughput")
        self._asked = (world.reads or world.devices[0].read_rate, world.writes or world.devices[0].write_rate)
        self._best: Sequence[int] = self._everywhere

    def observe(self, now: float, sample: Sample) -> None:
        """Rank by how far the observed rates fall short."""
        short: Callable[[float, float], float] = lambda seen, asked: max(0.0, 1.0 - seen / asked) ** 2  # noqa: E731
        distances = [
            short(reading, self._asked[0]) + short(writing, self._asked[1])
            for reading, writing in zip(sample.read_rate, sample.write_rate, strict=True)
        ]
        least = min(distances)
        self._best = [element for element in self._everywhere if distances[element] <= least + 1e-9]

    def choose(self, now: float, file: File) -> int:
        """Return the element with the highest observed rates."""
        return self._random.choice(self._best)
