"""Functions for rules of Galaxy's Total Perspective Vortex: where a job writes, and where its results go."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ses.front_ends import shell


def temporary_directory(entity: Any, where: str, *, size: float | None = None) -> None:
    """Have the job ask for a place when it begins, for ``size`` bytes, and use it as ``TMPDIR``."""
    text = shell.place(where, "galaxy", size=None if size is None else f"{size:.0f}B")
    entity.env = [*(entity.env or []), {"execute": text}]


def object_store(
    entity: Any,
    directories: Mapping[str, str],
    *,
    size: float | None = None,
    lasting: str = "24h",
    ledger: str | None = None,
) -> None:
    """Have the results of the job go to the object store that serves them best.

    ``directories`` says by the id of each store where it lies.  ``size`` bytes are claimed there for the time
    ``lasting``.  Raises SesError where nothing fits.
    """
    from ses.place.claims import holder
    from ses.place.placing import place, request_of

    until, whole = holder(lasting, time.time()), None if size is None else int(size)
    request = request_of(list(directories.values()), until, size=whole)
    placed = place(request, None if ledger is None else Path(ledger))
    chosen = {entry.directory.path: entry.directory.given for entry in placed.why}[placed.directory]
    stores = {path: store for store, path in directories.items()}
    entity.params = {**(entity.params or {}), "object_store_id": stores[chosen]}
