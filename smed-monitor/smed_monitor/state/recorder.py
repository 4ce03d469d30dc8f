"""The thread that writes history: looks at the table, fills the ring, keeps both over a restart.

It goes on after a fault nobody foresaw, which leaves a gap and is logged.

The table's "current" is a mean over a short window, so the recorder looks once per such window and
takes the mean of its looks as the point of the period.  Elements that are not ``ok`` leave a gap.
"""

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import structlog

from smed_monitor.core.capability import Best
from smed_monitor.core.model import State as ElementState
from smed_monitor.core.model import now
from smed_monitor.state.history import FIELDS, Floats, Ring, mean_of
from smed_monitor.state.statefile import State, save
from smed_monitor.state.table import Table

SAVE_SECONDS = 60.0
log = structlog.get_logger(__name__)


class Recorder:
    """Fills ``ring`` from ``table`` until stopped; saves to ``path``, where there is one."""

    def __init__(
        self,
        table: Table,
        ring: Ring,
        *,
        period_seconds: float,
        look_seconds: float,
        learned: Callable[[], Mapping[str, Best]],
        path: Path | None = None,
        save_seconds: float = SAVE_SECONDS,
    ) -> None:
        self._table = table
        self._ring = ring
        self._looks_per_point = max(1, round(period_seconds / look_seconds))
        self._look_seconds = period_seconds / self._looks_per_point
        self._learned = learned
        self._path = path
        self._save_seconds = save_seconds
        self._complained = ""
        self._fault = ""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="history", daemon=True)

    def start(self) -> None:
        """Begin, in a thread of this process."""
        self._thread.start()

    def stop(self) -> None:
        """End and save."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
            self.save()

    def save(self) -> None:
        """Write the state file; a failure is logged once and then each time it changes."""
        if self._path is None:
            return
        try:
            save(self._path, State(self._ring.contents(), self._learned()))
        except OSError as error:
            cause = error.strerror or str(error)  # without the name of the temporary file
            if cause != self._complained:
                log.warning("state-not-saved", path=str(self._path), detail=cause)
            self._complained = cause
        else:
            self._complained = ""

    def _run(self) -> None:
        looks: list[tuple[list[str], Floats]] = []
        due, save_due = time.monotonic(), time.monotonic() + self._save_seconds
        while not self._stopping.wait(max(0.0, due - time.monotonic())):
            due = max(due + self._look_seconds, time.monotonic())
            try:
                self._take(looks)
                if time.monotonic() >= save_due:
                    save_due = time.monotonic() + self._save_seconds
                    self.save()
            except Exception as error:
                looks.clear()
                self._tell(error)

    def _take(self, looks: list[tuple[list[str], Floats]]) -> None:
        looks.append(look(self._table))
        if len(looks) == self._looks_per_point:
            names, values = mean_of(looks)
            self._ring.add(now().wall, names, values)
            looks.clear()

    def _tell(self, error: Exception) -> None:
        """Say once what happens at each look."""
        if repr(error) != self._fault:
            log.error("history-not-recorded", exc_info=error)
        self._fault = repr(error)


def look(table: Table) -> tuple[list[str], Floats]:
    """Names and figures (see ``history.FIELDS``) of every element now."""
    observations = table.snapshot().observations
    rows = [
        (record.read.current, record.write.current, record.queue_depth)
        if state is ElementState.OK
        else (None, None, None)
        for record, state, _, _ in observations
    ]
    flat = [value for row in rows for value in row]
    values: Floats = np.array(flat, np.float32).reshape(len(rows), FIELDS)
    return [record.element for record, *_ in observations], values
