"""What files received, as the service's contract says it: verdicts, figures, and how that went over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_WORDS = {"met": "met", "nearly": "nearly met", "missed": "missed", "cannot-say": "cannot say"}


def verdict_words(verdict: str | None) -> str:
    """Return a verdict as people read it; empty for none."""
    return "" if verdict is None else _WORDS.get(verdict, verdict)


@dataclass(frozen=True, slots=True)
class ReceivedKind:
    """One kind that was required, in its unit; ``None`` is unknown."""

    kind: str
    unit: str
    required: float
    predicted: float | None
    achieved: float | None
    verdict: str
    why: str

    @property
    def words(self) -> str:
        """The verdict as people read it."""
        return verdict_words(self.verdict)

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> ReceivedKind:
        """Read the contract's judged kind."""
        return cls(
            str(data["kind"]),
            str(data["unit"]),
            float(data["required"]),
            data["predicted"],
            data["achieved"],
            str(data["verdict"]),
            str(data["why"]),
        )


@dataclass(frozen=True, slots=True)
class Received:
    """What one file received.

    ``samples`` are seconds since the create, bytes written and bytes read; ``load`` is seconds since the
    create, the part of its element that was busy (-1: unknown) and the streams placed there.
    """

    verdict: str | None
    why: str
    kinds: tuple[ReceivedKind, ...]
    doubts: tuple[str, ...]
    samples: tuple[tuple[float, float, float], ...]
    load: tuple[tuple[float, float, float], ...]

    @property
    def words(self) -> str:
        """The verdict as people read it."""
        return verdict_words(self.verdict)

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Received:
        """Read the contract's file record."""
        return cls(
            data["verdict"],
            str(data["why"]),
            tuple(map(ReceivedKind.read, data["kinds"])),
            tuple(map(str, data["doubts"])),
            tuple(map(_point, data["samples"])),
            tuple(map(_point, data["load"])),
        )


def _point(data: Any) -> tuple[float, float, float]:
    first, second, third = data
    return float(first), float(second), float(third)
