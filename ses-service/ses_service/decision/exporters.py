"""Where the figures of the elements come from: how many each exporter shows, and how old they are.  Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ses_service.model.entities import Observation


@dataclass(slots=True)
class Exporter:
    """One target of the monitor; an empty ``target``: the monitor watches these elements nowhere.

    ``stale`` elements have a last sample that is too old by now, ``missing`` ones never had one.  ``details``
    say what is wrong.
    """

    target: str
    elements: int = 0
    stale: int = 0
    missing: int = 0
    oldest: float | None = None
    details: set[str] = field(default_factory=set)

    @property
    def ok(self) -> int:
        """How many it shows as they are now."""
        return self.elements - self.stale - self.missing


def exporters(seen: Iterable[tuple[Observation | None, bool]], now: float) -> list[Exporter]:
    """Return the exporters: those with elements that are not seen now first, then by name.

    ``seen`` has the last observation of each element, and whether it counts.
    """
    by_target: dict[str, Exporter] = {}
    for observation, counts in seen:
        target = "" if observation is None else observation.target
        exporter = by_target.get(target)
        if exporter is None:
            exporter = by_target[target] = Exporter(target)
        exporter.elements += 1
        if observation is None or observation.sampled_at is None or observation.state == "missing":
            exporter.missing += 1
        else:
            age = max(0.0, now - observation.sampled_at)
            exporter.stale += not counts or observation.state != "ok"
            if exporter.oldest is None or age > exporter.oldest:
                exporter.oldest = age
        if observation is not None and observation.detail:
            exporter.details.add(observation.detail)
    return sorted(
        by_target.values(), key=lambda exporter: (exporter.ok == exporter.elements, exporter.target)
    )
