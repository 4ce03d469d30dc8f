"""Table 1 as a picture: what was measured and, lighter beside it, what the simulation gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ses_simulate.plot import picture, reach
from ses_simulate.statistics import Interval

from ses_experiment.papers.qstorman.simulated import Simulated
from ses_experiment.papers.qstorman.statistics import Comparison

_HIGH = 0.38  # of a bar; two of them share a row


def draw(
    compared: Sequence[Comparison], beside: Mapping[tuple[str, int, str, str], Simulated], file: Path
) -> None:
    """Draw the part of the baseline's time that was saved: a panel per background, with intervals.

    Raises SesError when it cannot be written.
    """
    panels = list(dict.fromkeys(comparison.background for comparison in compared))
    tall = 1.4 + 0.4 * max(sum(comparison.background == name for comparison in compared) for name in panels)
    with picture(file, 1, len(panels), (5, tall)) as axes:
        for axis, name in zip(axes, panels, strict=True):
            rows = [comparison for comparison in compared if comparison.background == name][::-1]
            twins = [(place, beside[row.cell]) for place, row in enumerate(rows) if row.cell in beside]
            measured = [(place + _HIGH / 2, row.gain) for place, row in enumerate(rows)]
            _bars(axis, measured, "tab:blue", "measured")
            _bars(
                axis, [(place - _HIGH / 2, twin.gain) for place, twin in twins], "lightsteelblue", "simulated"
            )
            axis.set_yticks(range(len(rows)), [_name(row) for row in rows])
            axis.axvline(0.0, color="black", linewidth=0.8)
            axis.set_title(f"background {name}")
            axis.set_xlabel("time saved, %")
            axis.legend()


def _bars(axis: Any, bars: Sequence[tuple[float, Interval]], colour: str, label: str) -> None:
    axis.barh(
        [place for place, _ in bars],
        [100 * gain.mean for _, gain in bars],
        height=_HIGH,
        xerr=[[100 * reach(gain, low) for _, gain in bars] for low in (True, False)],
        color=colour,
        label=label,
    )


def _name(comparison: Comparison) -> str:
    return f"{comparison.who} against {comparison.baseline}, {comparison.users} users"
