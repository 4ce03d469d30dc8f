"""Table 1 and Figure 4 in the form of the paper: its figures, and ours beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median_low

from ses_simulate.plot import picture, reach

from ses_experiment.papers.qstorman.results import Result
from ses_experiment.papers.qstorman.statistics import Comparison

# Minutes with QStorMan and without it, by number of users.
PAPER = {6: (188, 354), 8: (141, 164), 10: (152, 211)}
_WIDE = 0.38
_COLOURS = {"with QStorMan": "tab:blue", "without": "lightsteelblue"}


def pairs(results: Sequence[Result]) -> list[tuple[float, float]]:
    """Return the times of supported users, each with one of the others, in the run of the middle gain."""
    gains = {sum(result.supported) / sum(result.others): result for result in results}
    example = gains[median_low(gains)]
    return list(zip(example.supported, example.others, strict=True))


def draw_paper(compared: Sequence[Comparison], results: Sequence[Result], file: Path) -> None:
    """Draw Table 1 (gains), and Figure 4 (pairs of users) of the paper and as measured.

    Raises SesError when it cannot be written.
    """
    half = [entry for entry in compared if entry.who == "half"]
    few, last = min(entry.users for entry in half), half[-1].background
    with picture(file, 1, 3, (5, 4)) as (table, theirs, ours):
        for name, shift in (("the paper, one run", -_WIDE / 2), ("measured, 95 %", _WIDE / 2)):
            measured = shift > 0
            known = [(place, entry) for place, entry in enumerate(half) if measured or entry.users in PAPER]
            table.bar(
                [place + shift for place, _ in known],
                [100 * entry.gain.mean if measured else _gain(*PAPER[entry.users]) for _, entry in known],
                _WIDE,
                yerr=[[100 * reach(entry.gain, low) for _, entry in known] for low in (True, False)]
                if measured else None,
                color="tab:blue" if measured else "lightgrey", label=name,
            )  # fmt: skip
        table.set_xticks(range(len(half)), [f"{entry.users} users\n{entry.background}" for entry in half])
        table.set_ylabel("time saved, %")
        table.set_title("Table 1")
        table.legend()
        if few in PAPER:
            minutes = PAPER[few]
            theirs.bar(list(_COLOURS), minutes, color=list(_COLOURS.values()))
        theirs.set_title(f"Figure 4, the paper: {few} users, means")
        theirs.set_ylabel("minutes")
        shown = [
            result
            for result in results
            if (result.run.kind, result.run.users, result.run.background) == ("half", few, last)
        ]
        for place, name in enumerate(_COLOURS):
            times = [pair[place] for pair in pairs(shown)]
            at = [number + (place - 0.5) * _WIDE for number in range(len(times))]
            ours.bar(at, times, _WIDE, color=_COLOURS[name], label=name)
        ours.set_xticks(range(few // 2), [f"pair {number + 1}" for number in range(few // 2)])
        ours.set_title(f"Figure 4, measured: {few} users, the middle run, {last}")
        ours.set_ylabel("seconds")
        ours.legend()


def _gain(supported: float, plain: float) -> float:
    return 100 * (1 - supported / plain)
