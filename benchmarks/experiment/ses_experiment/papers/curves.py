"""Pictures in the form of the papers': panels of lines over one quantity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ses_simulate.plot import picture


@dataclass(frozen=True, slots=True)
class Panel:
    """What a panel shows: a line for each name, of points (x, y).  ``scales``: of x and y, linear or log."""

    title: str
    x: str
    y: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    scales: tuple[str, str] = ("linear", "linear")


def draw(panels: Sequence[Panel], file: Path, marker: str = "o") -> None:
    """Draw the panels beside each other, as PNG or SVG.  Raises SesError when it cannot be written."""
    with picture(file, 1, len(panels), (5.5, 4)) as axes:
        for axis, panel in zip(axes, panels, strict=True):
            for name, points in panel.lines.items():
                axis.plot(*zip(*points, strict=True), marker=marker, label=name)
            axis.set_title(panel.title)
            axis.set_xlabel(panel.x)
            axis.set_ylabel(panel.y)
            axis.set_xscale(panel.scales[0])
            axis.set_yscale(panel.scales[1])
        axes[0].legend(fontsize="x-small")
