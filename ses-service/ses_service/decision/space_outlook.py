"""How fast each element fills, and when it is full at that pace: a line through its free space of late.

Pure.  The line is a weighted least-squares fit over samples of which one from a week ago counts a third
(exp(-1)); an element is six numbers, however many samples there were.  There is no outlook before a day of
samples.  Not safe for several threads.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

APART = 600.0  # seconds between two samples
_WEEK = 7 * 86400.0
_DAY = 86400.0
_MIN_SPAN = _DAY
_FARTHEST = 3650.0  # days
_FIRST, _LAST, _N, _T, _TT, _Y, _TY = range(7)
_FIELDS = 7


def full_in(change: float | None, free: float | None) -> float | None:
    """Return in how many days ``free`` bytes are used up, by their change in bytes a day; None if not so."""
    days = None if change is None or free is None or change >= 0 else free / -change
    return days if days is not None and days <= _FARTHEST else None


class SpaceTrend:
    """The lines of all elements by name.  Times are seconds since the epoch."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._sums: npt.NDArray[np.float64] = np.zeros((_FIELDS, 0))
        self._origin: float | None = None  # when the last sample was taken; times in the sums count from it

    def due(self, now: float) -> bool:
        """Return whether it is time for a further sample; also after a step back of the clock."""
        return self._origin is None or not 0 <= now - self._origin < APART

    def record(self, now: float, names: Sequence[str], free: Sequence[float]) -> None:
        """Take the free bytes of elements; elements that are not named any more are forgotten in time."""
        self._age(now)
        new = [name for name in names if name not in self._rows]
        self._rows.update({name: len(self._rows) + at for at, name in enumerate(new)})
        fields = np.zeros((_FIELDS, len(new)))
        fields[_FIRST] = fields[_LAST] = now
        self._sums = np.concatenate([self._sums, fields], axis=1)
        rows = np.fromiter((self._rows[name] for name in names), dtype=np.intp, count=len(names))
        self._sums[_LAST, rows] = now
        self._sums[_N, rows] += 1
        self._sums[_Y, rows] += np.asarray(free, dtype=np.float64)
        self._forget()

    def changes(self, now: float) -> dict[str, float]:
        """Return how the free space of elements changes, in bytes a day; of those of which it is known."""
        first, last, n, t, tt, y, ty = self._sums
        spread = n * tt - t * t
        known = (last - first >= _MIN_SPAN) & (now - last <= _DAY) & (spread > 0)
        if not known.any():
            return {}
        slopes = (n * ty - t * y) / np.where(known, spread, 1.0) * _DAY
        return {name: float(slopes[row]) for name, row in self._rows.items() if known[row]}

    def saved(self) -> tuple[float | None, dict[str, list[float]]]:
        """Return what ``restore`` takes."""
        return self._origin, {name: self._sums[:, row].tolist() for name, row in self._rows.items()}

    def restore(self, origin: float | None, lines: Mapping[str, Sequence[float]]) -> None:
        """Go on from what was saved.  Raises ValueError for what never was."""
        sums = np.array(list(lines.values()), dtype=np.float64).reshape(len(lines), -1).T
        if not lines:
            return
        if origin is None or sums.shape[0] != _FIELDS or not np.isfinite(sums).all():
            raise ValueError("these are no lines of elements")
        self._origin, self._sums = origin, sums
        self._rows = {name: at for at, name in enumerate(lines)}

    def _age(self, now: float) -> None:
        """Count times from now on, and weigh what is older less."""
        passed = 0.0 if self._origin is None else max(0.0, now - self._origin)
        self._origin = now
        first, last, n, t, tt, y, ty = self._sums
        moved = (n, t - passed * n, tt - 2 * passed * t + passed**2 * n, y, ty - passed * y)
        weight = np.exp(-passed / _WEEK)
        self._sums = np.stack([first, last, *(weight * terms for terms in moved)])

    def _forget(self) -> None:
        """Forget elements whose samples count almost nothing any more."""
        kept = self._sums[_N] > np.exp(-4)
        if kept.all():
            return
        names = [name for name, row in self._rows.items() if kept[row]]
        self._sums = self._sums[:, [self._rows[name] for name in names]]
        self._rows = {name: at for at, name in enumerate(names)}
