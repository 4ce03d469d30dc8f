"""The branches of a mergerfs union of this node, as mergerfs itself names them.

Each branch is an element, found by its path; no list of branches has to be kept in step.  A branch
that mergerfs may not create files on (mode RO or NC, of all unions that have it) counts as read-only or as
taking no files.
"""

from dataclasses import replace
from typing import Any

from ses_client.unions import read_union

from smed_monitor.collectors.base import Source
from smed_monitor.collectors.local import HANGS, LocalCollector, LocalSample, Looker, PathsSource
from smed_monitor.config.settings import ElementSettings, Target
from smed_monitor.core.errors import UnreachableError
from smed_monitor.core.model import Reading


class Mergerfs(LocalCollector):
    """Looks at the branches of the unions its target lists as ``paths``."""

    def open(self, target: Target) -> Source:
        """The branches of the target's unions."""
        return UnionsSource(target)

    def reading(self, sample: LocalSample, element: ElementSettings) -> Reading:
        """Space and counters, and what mergerfs may do there."""
        reading = super().reading(sample, element)
        facts = sample[element.mount_point or ""]
        mode = facts.get("mode", "RW")
        return replace(reading, read_only=reading.read_only or mode == "RO", no_create=mode == "NC")


class UnionsSource(PathsSource):
    """Asks each union for its branches, and looks at each branch: what hangs is unknown by itself.

    A union hangs where a disk of it does: its other branches are looked at as it named them last.
    """

    def __init__(self, target: Target) -> None:
        super().__init__(target, _modes)
        self._branches = Looker()
        self._modes: dict[str, dict[str, str]] = {}

    def facts(self, until: float) -> dict[str, dict[str, Any]]:
        """The facts of every branch.  Raises UnreachableError where no union says its branches."""
        unions = super().facts(until - self._target.timeout_seconds / 2)
        self._modes |= {union: modes for union, modes in unions.items() if "error" not in modes}
        wrong = {union: modes["error"] for union, modes in unions.items() if "error" in modes}
        gone = {union: why for union, why in wrong.items() if why != HANGS or union not in self._modes}
        if gone.keys() == unions.keys():
            raise UnreachableError(next(iter(gone.values())))
        modes: dict[str, str] = {}
        for union in (union for union in unions if union not in gone):
            for path, mode in self._modes[union].items():
                modes[path] = mode if modes.get(path) != "RW" else "RW"  # by one union is enough
        facts = self._branches.now(modes, until)
        for path, mode in modes.items():
            facts[path]["mode"] = mode
        for union, why in gone.items():
            facts = {path: {"error": why} for path in self._modes.get(union, {})} | facts
        return facts


def _modes(union: str) -> dict[str, str]:
    return {branch.path: branch.mode for branch in read_union(union).branches}
