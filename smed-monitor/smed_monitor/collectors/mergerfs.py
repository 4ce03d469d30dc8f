"""The branches of a mergerfs union of this node, as mergerfs itself names them.

Each branch is an element, found by its path; no list of branches has to be kept in step.  A branch
that mergerfs may not create files on (mode RO or NC) counts as read-only or as taking no files.
"""

from __future__ import annotations

import json
import threading
from dataclasses import replace

from ses_client.errors import SesError
from ses_client.unions import read_union

from smed_monitor.collectors.base import Reply, Source
from smed_monitor.collectors.local import LocalCollector, LocalSample, facts_of, in_time
from smed_monitor.config.settings import ElementSettings, Target
from smed_monitor.core.errors import UnreachableError
from smed_monitor.core.model import Reading, now


class Mergerfs(LocalCollector):
    """Looks at the branches of the unions its target lists as ``paths``."""

    def open(self, target: Target) -> Source:
        """The branches of the target's unions."""
        return BranchesSource(target)

    def reading(self, sample: LocalSample, element: ElementSettings) -> Reading:
        """Space and counters, and what mergerfs may do there."""
        reading = super().reading(sample, element)
        facts = sample[element.mount_point or ""]
        mode = facts.get("mode", "RW")
        return replace(reading, read_only=reading.read_only or mode == "RO", no_create=mode == "NC")


class BranchesSource(Source):
    """Asks mergerfs for its branches, then looks at each."""

    def __init__(self, target: Target) -> None:
        self._unions = target.paths
        self._timeout = target.timeout_seconds
        self._stuck: list[threading.Thread] = []

    def read(self) -> Reply:
        """The facts of every branch, as JSON."""
        at = now()
        return Reply(in_time(self._look, self._timeout, self._stuck), at)

    def close(self) -> None:
        """Nothing is kept open."""

    def _look(self) -> bytes:
        modes: dict[str, str] = {}
        for union in self._unions:
            try:
                modes |= {branch.path: branch.mode for branch in read_union(union).branches}
            except SesError as error:
                raise UnreachableError(str(error)) from error
        facts = json.loads(facts_of(modes))
        for path, mode in modes.items():
            facts[path]["mode"] = mode
        return json.dumps(facts).encode()
