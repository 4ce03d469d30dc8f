"""Has found what came of files that ended, aside of any decision, and counts it (``libses/state/verdict.h``).

Shares the state's lock, and holds it for short moments only.
"""

import threading
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ses_state import _state

from ses_service.ledger.achieved import Verdict
from ses_service.ledger.ledger import Ledger

ERROR_BOUNDS = (0.1, 0.25, 0.5, 0.8, 1.25, 2.0, 4.0, 10.0)
MAX_LABELS = 1000  # VOs, and elements, that are counted apart; others count as "other"
_OTHER = "other"
_AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class VerdictTotals:
    """How many files were judged: by VO and verdict, and by element and verdict.

    A file counts once, with the verdict it had first: figures may come after its end.
    ``errors`` counts achieved over predicted rates by element: a number for each of ``ERROR_BOUNDS`` and one
    for what is above them; ``error_sums`` are their sums.
    """

    of_vos: dict[tuple[str, Verdict], int]
    of_elements: dict[tuple[str, Verdict], int]
    errors: dict[str, list[int]]
    error_sums: dict[str, float]


class Verdicts:
    """What came of the files that the ledger ends.  ``run`` and ``totals`` may be called from any thread."""

    def __init__(self, lock: threading.Lock, ledger: Ledger, history: _state.LoadHistory) -> None:
        self._lock = lock
        self._ledger = ledger
        self._history = history
        self._running = threading.Lock()
        self._of_vos: dict[str, Counter[Verdict]] = {}
        self._of_elements: dict[str, Counter[Verdict]] = {}
        self._errors: dict[str, list[int]] = {}
        self._error_sums: defaultdict[str, float] = defaultdict(float)

    def run(self) -> None:
        """Deal with what ended until now, a few at a time, so that no decision waits for many."""
        with self._running:
            while self._ledger.count_to_judge():
                with self._lock:
                    for entry in _state.judge(self._ledger, self._history, _AT_ONCE):
                        self._count(*entry)

    def totals(self) -> VerdictTotals:
        """Return what was counted."""
        with self._lock:
            return VerdictTotals(
                _flat(self._of_vos),
                _flat(self._of_elements),
                {name: list(counts) for name, counts in self._errors.items()},
                dict(self._error_sums),
            )

    def _count(
        self, vo: str | None, element: str, verdict: Verdict | None, again: bool, error: float | None
    ) -> None:
        if verdict is not None and not again:
            vo = _label(vo or "", self._of_vos)
            self._of_vos.setdefault(vo, Counter())[verdict] += 1
            name = _label(element, self._of_elements)
            self._of_elements.setdefault(name, Counter())[verdict] += 1
        if error is not None:
            element = _label(element, self._errors)
            counts = self._errors.setdefault(element, [0] * (len(ERROR_BOUNDS) + 1))
            counts[sum(bound < error for bound in ERROR_BOUNDS)] += 1
            self._error_sums[element] += error


def _label(name: str, known: Collection[str]) -> str:
    """Return the name under which something is counted: another one where too many are known already."""
    return name if name in known or len(known) < MAX_LABELS else _OTHER


def _flat(counts: Mapping[str, Counter[Verdict]]) -> dict[tuple[str, Verdict], int]:
    return {
        (name, verdict): number
        for name, by_verdict in counts.items()
        for verdict, number in by_verdict.items()
    }
