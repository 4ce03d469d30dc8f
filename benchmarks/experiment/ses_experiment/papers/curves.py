"""Pictures in the form of the papers': panels of lines over one quantity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Panel:
    """What a panel shows: a line for each name, of points (x, y).  ``scales``: of x and y, linear or log."""

    title: str
    x: str
    y: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    scales: tuple[str, str] = ("linear", "linear")


def draw(panels: Sequence[Panel], file: Path, marker: str = "o") -> None:
    """Draw the panels beside each other, as PNG or SVG.  Raises OSError when it cannot be written."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(panels), figsize=(5.5 * len(panels), 4), squeeze=False)
    for axis, panel in zip(axes.flat, panels, strict=True):
        for name, points in panel.lines.items():
            axis.plot(*zip(*points, strict=True), marker=marker, label=name)
        axis.set_title(panel.title)
        axis.set_xlabel(panel.x)
        axis.set_ylabel(panel.y)
        axis.set_xscale(panel.scales[0])
        axis.set_yscale(panel.scales[1])
    axes.flat[0].legend(fontsize="x-small")
    figure.tight_layout()
    figure.savefig(file)
    pyplot.close(figure)
