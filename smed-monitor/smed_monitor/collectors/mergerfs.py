"""The branches of a mergerfs union of this node, as mergerfs itself names them.

Each branch is an element, found by its path; no list of branches has to be kept in step.  A branch
that mergerfs may not create files on (mode RO or NC) counts as read-only or as taking no files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

from ses_client.errors import SesError
from ses_client.unions import read_union

from smed_monitor.collectors.base import Source
from smed_monitor.collectors.local import LocalCollector, LocalSample, LocalSource, facts_of
from smed_monitor.config.settings import ElementSettings, Target
from smed_monitor.core.errors import UnreachableError
from smed_monitor.core.model import Reading


class Mergerfs(LocalCollector):
    """Looks at the branches of the unions its target lists as ``paths``."""

    def open(self, target: Target) -> Source:
        """The branches of the target's unions."""
        return LocalSource(target, lambda: _branches_of(target.paths))

    def reading(self, sample: LocalSample, element: ElementSettings) -> Reading:
        """Space and counters, and what mergerfs may do there."""
        reading = super().reading(sample, element)
        facts = sample[element.mount_point or ""]
        mode = facts.get("mode", "RW")
        return replace(reading, read_only=reading.read_only or mode == "RO", no_create=mode == "NC")


def _branches_of(unions: Iterable[str]) -> bytes:
    """Ask mergerfs for the branches of each union, then look at each branch: its facts as JSON."""
    modes: dict[str, str] = {}
    for union in unions:
        try:
            modes |= {branch.path: branch.mode for branch in read_union(union).branches}
        except SesError as error:
            raise UnreachableError(str(error)) from error
    facts = json.loads(facts_of(modes))
    for path, mode in modes.items():
        facts[path]["mode"] = mode
    return json.dumps(facts).encode()
