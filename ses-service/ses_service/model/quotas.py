"""Quotas: what users, groups and projects may store in a storage system, and have stored."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quota:
    """One quota in bytes.  ``kind`` is ``user``, ``group`` or ``project``; ``at`` when it was looked at."""

    system: str
    kind: str
    name: str
    used: float
    limit: float
    at: float

    @property
    def key(self) -> str:
        """Return what distinguishes it from all others."""
        return f"{self.system}/{self.kind}/{self.name}"

    @property
    def left(self) -> float:
        """Return what may be stored yet."""
        return max(0.0, self.limit - self.used)


@dataclass(frozen=True, slots=True)
class QuotaSource:
    """Where the quotas of a storage system are seen; ``error``: why they are not newer, or none."""

    system: str
    target: str
    error: str
