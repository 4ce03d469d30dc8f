"""What the decision is asked, what it sees, and what it answers.

Never changed once made.  What is made for every decision is not frozen all the same, because Python takes
three times as long to make a frozen one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ses_service.decision.rows import Rows
from ses_service.ledger.exclusions import ExcludedOn
from ses_service.ledger.placement import Candidate, Refusal
from ses_service.model.columns import ElementTable, ObservationTable
from ses_service.model.entities import Requirement, ResolvedRequirement, Subject

REQUEST, HISTORY = "request", "history"  # where an expected size is from


@dataclass(slots=True)
class Question:
    """Whose files need what.

    ``limit`` bounds the ranks in the answer, 0 asks for all.  ``expected_bytes`` is the size the
    file will have, if that is known, ``room`` what it should find if it is not, and ``stripe_count`` the
    number of stripes its program asks for.  Of a question for a place, elements of other storage systems are
    not listed as refused.
    """

    subject: Subject
    requirements: tuple[ResolvedRequirement, ...] = ()
    storage_system: str | None = None
    exclude: frozenset[str] = frozenset()
    expected_bytes: float | None = None
    limit: int = 10
    room: float | None = None
    stripe_count: int | None = None
    is_place: bool = False

    def is_about(self, system: str, table: ElementTable) -> bool:
        """Return whether a storage system is asked for."""
        return system in table.of_files if self.storage_system is None else system == self.storage_system

    @property
    def wanted(self) -> list[Requirement]:
        """The requirements without the levels they came from."""
        return [resolved.requirement for resolved in self.requirements]


@dataclass(eq=False, slots=True)
class View:
    """What is known at one moment: table, observations and rows have the same elements in the same order.

    ``excluded`` are elements of the table, by id, to which files of some nodes cannot go.
    """

    table: ElementTable
    observations: ObservationTable
    rows: Rows
    excluded: Mapping[str, ExcludedOn] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stripes:
    """Over how many elements a file is spread, and the sentence that says why if there was a choice."""

    count: int = 1
    sentence: str = ""


@dataclass(slots=True)
class Decision:
    """The answer.  ``refused_total`` counts refused elements that are not listed, too.

    ``stripes`` is over how many elements each file is spread, if the best place can do that.
    ``expected_bytes`` is the size the decision counts on, ``expected_from`` where that is from:
    ``request``; ``history``: few files like it were larger; or ``None`` when no size is known.
    """

    decided_at: float
    requirements: tuple[ResolvedRequirement, ...]
    candidates: tuple[Candidate, ...]
    refused: tuple[Refusal, ...]
    refused_total: int
    notes: tuple[str, ...]
    stripes: Stripes = Stripes()
    expected_bytes: float | None = None
    expected_from: str | None = None
