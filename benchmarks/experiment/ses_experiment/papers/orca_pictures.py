"""Figures 3 to 10 of ORCA from what was measured: times, bytes over time, processor of the storage node."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from ses_simulate.plot import picture

from ses_experiment.papers.orca import Cell
from ses_experiment.papers.storage_node import Series


def draw(cells: Sequence[Cell], file: Path) -> None:
    """Draw them side by side, the series of each program's last cell.

    Raises SesError when it cannot be written.
    """
    last = {cell.program: cell for cell in cells}
    with picture(file, 1, 3, (5, 1.6 + 0.3 * len(cells))) as (times, network, processor):
        for place, cell in enumerate(cells[::-1]):
            times.barh(place + 0.2, cell.near_seconds, height=0.38, color="tab:blue")
            times.barh(place - 0.2, cell.here_seconds, height=0.38, color="lightsteelblue")
        times.set_yticks(range(len(cells)), [_name(cell) for cell in cells[::-1]])
        times.set_xlabel("time near (dark) and over the network, s")
        for number, (program, cell) in enumerate(last.items()):
            colour = f"C{number % 10}"
            _rate(network, cell.series["here"], "megabytes", 1.0, {"color": colour, "label": program})
            _rate(network, cell.series["near"], "megabytes", 1.0, {"color": colour, "linestyle": "dotted"})
            _rate(processor, cell.series["near"], "processor", 100.0, {"color": colour, "label": program})
        network.set_ylabel("MB/s sent by the storage node (near: dotted)")
        processor.set_ylabel("processor of the storage node near, %")
        for axis in (network, processor):
            axis.set_xlabel("time, s")
            axis.legend()


def _name(cell: Cell) -> str:
    return f"{cell.program}, {cell.megabytes} MB, {cell.kind}, {cell.clients}"


def _rate(axis: Any, series: Series, what: str, scale: float, look: dict[str, str]) -> None:
    """Plot how fast what was counted grew."""
    times, counts = [0.0, *series.seconds], [0.0, *getattr(series, what)]
    steps = [(after - before) or 1e-3 for before, after in pairwise(times)]
    grown = [after - before for before, after in pairwise(counts)]
    rates = [scale * more / step for more, step in zip(grown, steps, strict=True)]
    axis.step(times[1:], rates, where="pre", linewidth=1.0, **look)
