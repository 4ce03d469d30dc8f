"""Segments of System V shared memory: can the agent have one for its table, and for each user?"""

from __future__ import annotations

import pwd
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ses.doctor.finding import Finding, fault

SEGMENTS = "shared memory"
_LEFT = 16  # segments: below, the next agent or user may find none


def check_segments(
    listed: Path = Path("/proc/sysvipc/shm"), limit: Path = Path("/proc/sys/kernel/shmmni")
) -> Iterator[Finding]:
    """Compare the segments there are with how many there may be; no finding while there is room."""
    try:
        rows = [line.split() for line in listed.read_text().splitlines()[1:]]
        most = int(limit.read_text())
    except (OSError, ValueError):
        return
    if len(rows) + _LEFT > most:
        (uid, count), *_ = Counter(int(row[7]) for row in rows).most_common(1) or [(0, 0)]
        yield fault(
            SEGMENTS,
            f"{len(rows)} of {most} segments are in use, {count} of them by {_name(uid)}: "
            "programs of other users have to ask the agent for each file.",
            f"See whose they are (ipcs -m), or allow more: sysctl kernel.shmmni={2 * most}",
        )


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
