"""Results as a picture, PNG or SVG by the name of the file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ses_client.errors import SesError

from ses_simulate.rows import Row
from ses_simulate.statistics import Interval

FORMATS = (".png", ".svg")


def picture_file(text: str) -> Path:
    """Return the file for a picture, by its name; raises ValueError with what it cannot be."""
    file = Path(text)
    if file.suffix.lower() not in FORMATS:
        raise ValueError(f"{text!r} must end in {' or '.join(FORMATS)}.")
    if not file.absolute().parent.is_dir():
        raise ValueError(f"There is no directory {file.absolute().parent}.")
    return file


@contextmanager
def picture(file: Path, down: int, across: int, size: tuple[float, float]) -> Iterator[list[Any]]:
    """Yield the panels of a picture, each so many inches wide and high; the block's end writes the file.

    Raises SesError when it cannot be written.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    wide, tall = size
    figure, axes = pyplot.subplots(down, across, figsize=(wide * across, tall * down), squeeze=False)
    yield list(axes.flat)
    figure.tight_layout()
    try:
        figure.savefig(file)
    except OSError as error:
        raise SesError(f"The picture cannot be written to {file}: {error.strerror}.") from error
    finally:
        pyplot.close(figure)


def reach(part: Interval, low: bool) -> float:
    """Return how far an interval goes below its mean, or above it; 0 where it has no end."""
    end = part.mean - part.low if low else part.high - part.mean
    return end if math.isfinite(end) else 0.0


def plot(rows: Sequence[Row], file: Path) -> None:
    """Draw gain against random (table 1) or slowdown against the clairvoyant rule (hard scenarios).

    One panel per scenario, a bar per rule (and number of users), with 95 % intervals.  Raises SesError.
    """
    shown = [row for row in rows if row.baseline == "random"]
    by_users = any(row.users is not None for row in shown)
    if by_users:
        shown = [row for row in shown if row.supported == "half"]
    scenarios = list(dict.fromkeys(row.scenario for row in shown))
    across = min(3, len(scenarios))
    down = math.ceil(len(scenarios) / across)
    tall = 1.2 + 0.3 * max(sum(row.scenario == scenario for row in shown) for scenario in scenarios)
    with picture(file, down, across, (5, tall)) as axes:
        for place, axis in enumerate(axes):
            if place >= len(scenarios):
                axis.set_visible(False)
                continue
            panel = [row for row in shown if row.scenario == scenarios[place]][::-1]
            bars = [row.gain if by_users else row.slowdown_vs_clairvoyant for row in panel]
            scale = 100.0 if by_users else 1.0
            axis.barh(
                [_name(row) for row in panel],
                [bar.mean * scale for bar in bars],
                xerr=[[reach(bar, low) * scale for bar in bars] for low in (True, False)],
                color=["tab:blue" if row.policy == "ours" else "lightsteelblue" for row in panel],
            )
            axis.set_title(scenarios[place])
            if not by_users:
                axis.set_xscale("log")
            axis.set_xlabel(
                "time saved against random, %" if by_users else "slowdown over the clairvoyant rule's"
            )


def _name(row: Row) -> str:
    return row.policy if row.users is None else f"{row.policy}, {row.users} users"
