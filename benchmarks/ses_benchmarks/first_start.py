"""What the first start of the service on a described site costs: processor time until it is ready.

Of the service and its embedded store together: reading, checking and storing the description,
reading it back, and all that any start needs. The next starts find the site in the store.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from ses.demo.processes import answers, free_port

from ses_benchmarks.processes import processor_seconds, server
from ses_benchmarks.selections import elements
from ses_benchmarks.site_description import describe
from ses_benchmarks.site_service import READY_SECONDS, serve
from ses_benchmarks.summary import Measurement, summarise

FEW = 24


def measure(name: str, programs: Path, scratch: Path, count: int, pairs: int, note: str) -> Measurement:
    """``pairs`` times a first start with ``count`` elements, each followed by one with ``FEW``."""
    samples = [
        ([_seconds(programs, scratch, count)], [_seconds(programs, scratch, FEW)]) for _ in range(pairs)
    ]
    return summarise(name, "s", samples, baseline_is=f"a first start with {FEW} elements", note=note)


def _seconds(programs: Path, scratch: Path, count: int) -> float:
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        directory, port = Path(name), free_port()
        site = directory / "site.ttl"
        site.write_text(describe("bench", "/srv/bench", elements(count)))
        command = serve(programs, port, directory / "state", "--site", site, "--log-level=warning")
        ready = answers(f"http://127.0.0.1:{port}/readyz")
        with server(command, directory / "service.log", ready, READY_SECONDS) as pid:
            return processor_seconds(pid)
