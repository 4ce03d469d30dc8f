"""Numbers from samples.  Pure: no clock, no file, no process.

Two things are compared by running them in turn, pair by pair, and taking the median of the ratios of
each pair: whatever slows the machine for a while slows both sides of a pair, so it cancels, where a
ratio of two separately measured medians would keep it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True, slots=True)
class Measurement:
    """One row of the table.

    ``value`` and ``baseline`` are medians in ``unit``; ``ratio`` is the median of the paired ratios, so it
    need not be ``value / baseline`` to the last digit.  ``ratio_low`` and ``ratio_high`` are the smallest
    and largest paired ratio.  ``p50`` and ``p99`` are of all samples of the measured side.
    """

    name: str
    value: float
    unit: str
    baseline: float
    ratio: float
    ratio_low: float
    ratio_high: float
    p50: float
    p99: float
    pairs: int
    samples: int
    baseline_is: str
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """The object that ``bench.json`` holds for it."""
        return asdict(self)


def percentile(samples: Sequence[float], percent: float) -> float:
    """The smallest sample that at least ``percent`` per cent of the samples do not exceed (nearest rank).

    Raises ValueError without samples or outside 0 < percent <= 100.
    """
    if not samples:
        raise ValueError("a percentile of nothing")
    if not 0 < percent <= 100:
        raise ValueError(f"no percentile: {percent}")
    ordered = sorted(samples)
    rank = -(-len(ordered) * percent // 100)
    return ordered[int(rank) - 1]


def summarise(
    name: str,
    unit: str,
    pairs: Sequence[tuple[Sequence[float], Sequence[float]]],
    *,
    baseline_is: str,
    note: str = "",
) -> Measurement:
    """One row from pairs of runs, each (samples of what is measured, samples of the baseline).

    Raises ValueError when there is no pair, a run is empty, or a baseline's median is not above 0.
    """
    if not pairs:
        raise ValueError(f"{name}: nothing was measured")
    ratios = []
    for measured, baseline in pairs:
        if not measured or not baseline or median(baseline) <= 0:
            raise ValueError(f"{name}: a run without samples, or a baseline of no time at all")
        ratios.append(median(measured) / median(baseline))
    everything = [sample for measured, _ in pairs for sample in measured]
    return Measurement(
        name=name,
        value=median(median(measured) for measured, _ in pairs),
        unit=unit,
        baseline=median(median(baseline) for _, baseline in pairs),
        ratio=median(ratios),
        ratio_low=min(ratios),
        ratio_high=max(ratios),
        p50=percentile(everything, 50),
        p99=percentile(everything, 99),
        pairs=len(pairs),
        samples=len(everything),
        baseline_is=baseline_is,
        note=note,
    )
