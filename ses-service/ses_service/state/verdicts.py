"""Finds what came of files that ended, aside of any decision, and counts it.

Shares the state's lock, and holds it for short moments only.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ses_service.decision.load_history import LoadHistory
from ses_service.decision.verdict import file_verdict_of, prediction_error
from ses_service.ledger.achieved import Verdict
from ses_service.ledger.ledger import Ledger
from ses_service.ledger.placement import Placement

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

    def __init__(self, lock: threading.Lock, ledger: Ledger, history: LoadHistory) -> None:
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
            while batch := self._ledger.take_to_judge(_AT_ONCE):
                with self._lock:
                    for placement in batch:
                        self._judge(placement)

    def totals(self) -> VerdictTotals:
        """Return what was counted."""
        with self._lock:
            return VerdictTotals(
                _flat(self._of_vos),
                _flat(self._of_elements),
                {name: list(counts) for name, counts in self._errors.items()},
                dict(self._error_sums),
            )

    def _judge(self, placement: Placement) -> None:
        begin = placement.placed_at if placement.opened_at is None else placement.opened_at
        end = placement.ended_at or begin
        element = placement.element.id
        file_verdict = file_verdict_of(placement, self._history.during(element, begin, end))
        if not self._ledger.keep_verdict(placement, file_verdict):
            return
        counted = placement.file_verdict is not None  # its figures came late
        if file_verdict.verdict is not None and not counted:
            vo = _label(placement.subject.vo or "", self._of_vos)
            self._of_vos.setdefault(vo, Counter())[file_verdict.verdict] += 1
            name = _label(element, self._of_elements)
            self._of_elements.setdefault(name, Counter())[file_verdict.verdict] += 1
        error = prediction_error(file_verdict, placement.achieved)
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
