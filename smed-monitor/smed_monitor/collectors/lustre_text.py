"""Lustre's own text, as ``lctl get_param`` prints it, for versions 2.12 to 2.17.  Pure.

``name=value`` on one line, or ``name=`` followed by lines.  Statistics have a header of times
(``snapshot_time`` alone before 2.15, or none where it is switched off) and one line for each counter
that is not zero: ``read_bytes 13 samples [bytes] min max sum sumsq``.  Trusted are samples, unit,
min, max and sum; not elapsed_time and sumsq, which unprivileged readers of 2.17.0 get mangled.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

ROOTS = ("proc/fs/lustre", "sys/fs/lustre", "sys/kernel/debug/lustre")
"""Folders of a server's parameters, below its root directory; where each is depends on the version."""
NAME = re.compile(r"^[A-Za-z][A-Za-z0-9_-]*(?:\.[^\s=]+)+=")
COUNTER = re.compile(r"^(\w+) +(\d+) samples \[(\w+)\](?: (\d+) (\d+) (\d+))?")
TIME = re.compile(r"^(snapshot_time|start_time):? +(\d+\.\d+)")


@dataclass(frozen=True, slots=True)
class Counter:
    """One line of statistics: how often, and the sum in ``unit`` (0 where it has none)."""

    samples: int
    unit: str
    total: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """A ``stats`` file; ``started`` is when its counters were zero (epoch), where the version says."""

    counters: Mapping[str, Counter] = field(default_factory=dict)
    started: float | None = None

    def total(self, name: str) -> int:
        """The sum of a counter; an absent one has not counted yet."""
        counter = self.counters.get(name)
        return counter.total if counter else 0

    def samples(self, name: str) -> int:
        """How often a counter was updated."""
        counter = self.counters.get(name)
        return counter.samples if counter else 0


def parameters(text: str) -> dict[str, str]:
    """Name -> value; values of several lines keep their line ends.  Complaints of lctl are left out."""
    values: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if NAME.match(line):
            name, _, value = line.partition("=")
            values[name] = value
        elif name and not line.startswith("error: "):
            values[name] += ("\n" if values[name] else "") + line
    return values


def statistics(text: str) -> Statistics:
    """What a ``stats`` file says; lines of other shapes are left out."""
    counters: dict[str, Counter] = {}
    started = None
    for line in text.splitlines():
        if match := COUNTER.match(line):
            name, samples, unit, _, _, total = match.groups()
            counters[name] = Counter(int(samples), unit, int(total or 0))
        elif (match := TIME.match(line)) and match[1] == "start_time":
            started = float(match[2])
    return Statistics(counters, started)
