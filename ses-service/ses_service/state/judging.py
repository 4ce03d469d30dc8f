"""Judges files that ended, aside of any decision, and counts what came of them.

Shares the state's lock, and holds it for short moments only.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict, deque
from dataclasses import dataclass

from ses_service.decision.load_history import LoadHistory
from ses_service.decision.verdict import judge, prediction_error
from ses_service.ledger.achieved import Verdict
from ses_service.ledger.ledger import Ledger
from ses_service.ledger.placement import EndReason, Placement

ERROR_BOUNDS = (0.1, 0.25, 0.5, 0.8, 1.25, 2.0, 4.0, 10.0)
MOST_LABELS = 1000  # VOs, and elements, that are counted apart; others count as "other"
_OTHER = "other"
_MOST_WAITING = 100_000
_AT_ONCE = 50
_NO_FILE = frozenset({EndReason.UNUSED, EndReason.FAILED})


@dataclass(frozen=True, slots=True)
class JudgedTotals:
    """How many files were judged: by VO and verdict, and by element and verdict.

    A file counts once, with the verdict it had first: figures may come after its end.
    ``errors`` counts achieved over predicted rates by element: a number for each of ``ERROR_BOUNDS`` and one
    for what is above them; ``error_sums`` are their sums.
    """

    of_vos: dict[tuple[str, Verdict], int]
    of_elements: dict[tuple[str, Verdict], int]
    errors: dict[str, list[int]]
    error_sums: dict[str, float]


class Judge:
    """Judges what the ledger ends.  ``run`` and ``totals`` may be called from any thread."""

    def __init__(self, lock: threading.Lock, ledger: Ledger, history: LoadHistory) -> None:
        self._lock = lock
        self._ledger = ledger
        self._history = history
        self._waiting: deque[Placement] = deque(maxlen=_MOST_WAITING)
        self._running = threading.Lock()
        self._of_vos: Counter[tuple[str, Verdict]] = Counter()
        self._of_elements: Counter[tuple[str, Verdict]] = Counter()
        self._errors: dict[str, list[int]] = {}
        self._error_sums: defaultdict[str, float] = defaultdict(float)
        ledger.judge = self._take

    def run(self) -> None:
        """Judge what ended until now, a few at a time, so that no decision waits for many."""
        with self._running:
            while self._waiting:
                some = [self._waiting.popleft() for _ in range(min(_AT_ONCE, len(self._waiting)))]
                with self._lock:
                    for one in some:
                        self._judge(one)

    def totals(self) -> JudgedTotals:
        """Return what was counted."""
        with self._lock:
            return JudgedTotals(
                dict(self._of_vos),
                dict(self._of_elements),
                {name: list(counts) for name, counts in self._errors.items()},
                dict(self._error_sums),
            )

    def _take(self, placement: Placement) -> None:
        if placement.end_reason not in _NO_FILE:
            self._waiting.append(placement)

    def _judge(self, placement: Placement) -> None:
        begin = placement.booked_at if placement.opened_at is None else placement.opened_at
        end = placement.ended_at or begin
        element = placement.element.id
        judgement = judge(placement, self._history.during(element, begin, end))
        if not self._ledger.judged(placement, judgement):
            return
        counted = placement.judgement is not None  # its figures came late
        if judgement.verdict is not None and not counted:
            vo = _bounded(placement.subject.vo or "", self._of_vos)
            self._of_vos[vo, judgement.verdict] += 1
            self._of_elements[_bounded(element, self._of_elements), judgement.verdict] += 1
        error = prediction_error(judgement, placement.achieved)
        if error is not None:
            if element not in self._errors and len(self._errors) >= MOST_LABELS:
                element = _OTHER
            counts = self._errors.setdefault(element, [0] * (len(ERROR_BOUNDS) + 1))
            counts[sum(bound < error for bound in ERROR_BOUNDS)] += 1
            self._error_sums[element] += error


def _bounded(name: str, known: Counter[tuple[str, Verdict]]) -> str:
    """Return the name, or another one where too many are counted already."""
    if len(known) < MOST_LABELS or any((name, verdict) in known for verdict in Verdict):
        return name
    return _OTHER
