"""Figures 7 to 9 of OSU-CISRC-8/07-TR53: the client's responses over iterations, with and without a core."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ses_experiment.papers.dedicated import Line
from ses_experiment.papers.dedicated_programs import DEDICATED, SHARED

PANELS = {SHARED: "RDMA-Sync", DEDICATED: "DC-RDMA-Sync"}


def draw(lines: Sequence[Line], file: Path) -> None:
    """Draw a panel for each of the two ways, and in it a line for each setting.

    Raises ValueError for a file that is neither PNG nor SVG, OSError when it cannot be written.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(PANELS), figsize=(11, 4), sharey=True)
    for axis, (way, title) in zip(axes, PANELS.items(), strict=True):
        for line in lines:
            if line.way == way:
                watched = f"{line.servers} servers" if line.servers else "this node"
                axis.plot(line.trace_us, label=f"{watched}, {line.period_ms} ms, {line.size_kib} KiB")
        axis.set_title(title)
        axis.set_xlabel("iterations, in hundredths of the run")
        axis.set_yscale("log")
    axes[0].set_ylabel("response, us")
    axes[0].legend(fontsize="x-small")
    figure.tight_layout()
    figure.savefig(file)
    pyplot.close(figure)
