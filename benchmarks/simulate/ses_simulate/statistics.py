"""Means with 95 % confidence intervals (Student's t over independent seeds)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom.
_T95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
_NORMAL95 = 1.959964


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the ends of its 95 % confidence interval; of one value alone the ends are infinite."""

    mean: float
    low: float
    high: float


def t95(freedom: int) -> float:
    """Return the two-sided 95 % quantile of Student's t; beyond the table by its first two corrections.

    Abramowitz and Stegun, 26.7.5; the error is below 0.001.
    """
    if freedom <= len(_T95):
        return _T95[freedom - 1]
    z = _NORMAL95
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def interval(values: Sequence[float]) -> Interval:
    """Return the mean of independent values and its interval.  Raises ValueError for no values."""
    count = len(values)
    if not count:
        raise ValueError("there are no values to take a mean of")
    mean = math.fsum(values) / count
    if count == 1:
        return Interval(mean, -math.inf, math.inf)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    half = t95(count - 1) * math.sqrt(variance / count)
    return Interval(mean, mean - half, mean + half)


def percentile(values: Sequence[float], part: float) -> float:
    """Return the smallest value that at least ``part`` (0 to 1) of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)]
