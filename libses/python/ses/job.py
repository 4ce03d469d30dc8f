"""What the files of one job asked for, were promised and got, in sums.

Rates and capacities are in the unit that comes with them.  A file counts under the kind that decided its
verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, astuple, dataclass, field
from statistics import median
from typing import Any

from ses_client.messages.message import JSON

from ses.files import words

_MAX_NEEDS = 8  # in a line: a user may state another one for each file


@dataclass(slots=True)
class Need:
    """Files that needed the same of one kind."""

    kind: str
    required: float
    unit: str
    promised: list[float] = field(default_factory=list)
    got: list[float] = field(default_factory=list)
    verdicts: Counter[str] = field(default_factory=Counter)

    def add(self, file: JSON) -> None:
        """Count a file."""
        if file["predicted"] is not None:
            self.promised.append(float(file["predicted"]))
        if file["achieved"] is not None:
            self.got.append(float(file["achieved"]))
        self.verdicts["open" if file["state"] == "open" else words(file["verdict"])] += 1

    @property
    def verdict_counts(self) -> str:
        """The verdicts with their numbers, the most frequent first."""
        return ", ".join(f"{name} {count}" for name, count in self.verdicts.most_common())

    def as_json(self) -> JSON:
        """Return what ``--json`` prints."""
        return {
            "kind": self.kind,
            "unit": self.unit,
            "required": self.required,
            "promised": spread(self.promised),
            "got": spread(self.got),
            "verdicts": dict(self.verdicts),
        }


@dataclass(slots=True)
class Share:
    """What one element has of the job."""

    files: int = 0
    open: int = 0
    bytes_written: float = 0.0
    bytes_read: float = 0.0


@dataclass(slots=True)
class Job:
    """All files of a job.  Bytes of files that are still open are not known."""

    name: str
    needs: dict[tuple[str, float, str], Need] = field(default_factory=dict)
    elements: dict[str, Share] = field(default_factory=dict)
    users: set[str] = field(default_factory=set)
    nodes: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, name: str, files: Iterable[Any]) -> Job:
        """Sum up the files that the service lists."""
        job = cls(name)
        for file in files:
            job._add(file)
        return job

    def _add(self, file: Any) -> None:
        share = self.elements.setdefault(str(file["element"]), Share())
        share.files += 1
        share.open += file["state"] == "open"
        share.bytes_written += file["bytes_written"] or 0.0
        share.bytes_read += file["bytes_read"] or 0.0
        self.users.add(str(file["user"]))
        self.nodes.add(str(file["node"] or "-"))
        if file["kind"] is not None and file["required"] is not None:
            key = (str(file["kind"]), float(file["required"]), str(file["unit"] or ""))
            self.needs.setdefault(key, Need(*key)).add(file)

    @property
    def total(self) -> Share:
        """The sum over elements."""
        return Share(*map(sum, zip(*map(astuple, self.elements.values()), strict=True)))

    def as_json(self) -> JSON:
        """Return what ``--json`` prints."""
        return {
            "job": self.name,
            "users": sorted(self.users),
            "nodes": sorted(self.nodes),
            "needs": [need.as_json() for need in self.needs.values()],
            "elements": [{"element": name, **asdict(share)} for name, share in sorted(self.elements.items())],
        }

    def line(self) -> str:
        """Return one line, of some hundred bytes: of the needs, those of the most files."""
        total = self.total
        written = f"{total.bytes_written / 1e9:.1f} GB written"
        parts = [f"{total.files} files on {len(self.elements)} elements, {written}"]
        needs = sorted(self.needs.values(), key=lambda need: -need.verdicts.total())
        for need in needs[:_MAX_NEEDS]:
            parts.append(
                f"{need.kind}>={need.required:.15g}{need.unit}: promised {middle(need.promised)}, "
                f"got {middle(need.got)}, {need.verdict_counts}"
            )
        if len(needs) > _MAX_NEEDS:
            parts.append(f"and {len(needs) - _MAX_NEEDS} other needs")
        return "; ".join(parts)


def spread(values: list[float]) -> JSON | None:
    """Return the least and the median; ``None`` of nothing."""
    return {"least": min(values), "median": median(values)} if values else None


def middle(values: list[float]) -> str:
    """Return the median as text; ``-`` of nothing."""
    return f"{median(values):.1f}" if values else "-"
