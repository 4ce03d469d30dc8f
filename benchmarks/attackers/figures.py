"""What the runs beside attackers show.  Pure."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

WRITERS = 8  # honest programs under the library; the others make the same calls without it
KNOWN_WITHIN = 2.0  # seconds


@dataclass(frozen=True)
class Created:
    """A file that an honest program created, when, and how long that took."""

    writer: int
    path: str
    at: float
    nanoseconds: int


def microseconds(files: list[Created]) -> dict[str, float]:
    """Return how long creates took."""
    took = sorted(file.nanoseconds / 1000 for file in files)
    return {"p50": round(statistics.median(took), 1), "p99": round(took[len(took) * 99 // 100], 1)}


def figures(files: list[Created], known: dict[str, float], since: float, to: float) -> dict[str, object]:
    """Return what became of the files created from one moment to another."""
    created = [file for file in files if since <= file.at < to]
    placed = [file for file in created if file.writer < WRITERS]
    delays = sorted(max(0.0, known[file.path] - file.at) for file in placed if file.path in known)
    return {
        "files": len(placed),
        "create_us": microseconds(placed),
        "create_without_library_us": microseconds([file for file in created if file.writer >= WRITERS]),
        "known_after_s": {"p50": round(statistics.median(delays), 3), "most": round(delays[-1], 3)}
        if delays
        else None,
        "never_known": len(placed) - len(delays),
        "known_late": sum(delay > KNOWN_WITHIN for delay in delays),
    }


def answers(answered: list[tuple[float, float]], since: float, to: float) -> dict[str, float]:
    """Return how long questions took from one moment to another; ``answered``: when asked, how long."""
    took = [seconds for asked, seconds in answered if since <= asked < to]
    return {"p50": round(statistics.median(took), 3), "most": round(max(took), 3)}


def slowdown(phases: dict[str, dict[str, object]]) -> dict[str, float]:
    """Return how many times as long creates took beside attackers, by medians; the last: of one by other."""

    def times(kind: str) -> float:
        alone = statistics.mean(phases[name][kind]["p50"] for name in ("alone", "alone_again"))  # type: ignore[index]
        return phases["beside_attackers"][kind]["p50"] / alone  # type: ignore[index,no-any-return]

    placed, plain = times("create_us"), times("create_without_library_us")
    return {"placed": round(placed, 3), "without_library": round(plain, 3), "ratio": round(placed / plain, 3)}
