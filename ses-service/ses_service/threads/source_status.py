"""How the service stands with what it reads from: reachable or not, how old the last answer is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """How one part that decisions are made from is."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """The state of one source.  ``answered_at`` is the time of its last good answer.

    ``version`` is what it says of itself, if it does.
    """

    url: str | None
    reachable: bool = False
    answered_at: float | None = None
    detail: str = "not asked yet"
    version: str = ""

    def age(self, now: float) -> float | None:
        """Return seconds since the last good answer, or ``None`` when there was none."""
        return None if self.answered_at is None else round(max(0.0, now - self.answered_at), 3)
