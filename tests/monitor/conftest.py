"""What the monitor's tests stand on: captured pages, settings files, exporters that behave badly."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from smed_monitor.core.capability import Best
from smed_monitor.core.loads import Loads, unknown
from smed_monitor.core.model import Reading
from smed_monitor.core.rates import Windows
from smed_monitor.core.readings import stacked

sys.path.insert(0, str(Path(__file__).parent))

from fake_exporter import Answer, FakeExporter, whole

CAPTURED = "node_exporter-1.5.0-debian12"


@pytest.fixture
def page() -> Callable[[str], bytes]:
    """A page captured from Debian 12's node_exporter 1.5.0 by fixtures/capture.sh."""
    folder = Path(__file__).parent / "fixtures"
    return lambda name: (folder / f"{CAPTURED}-{name}.prom").read_bytes()


@pytest.fixture
def answer_whole() -> Callable[..., Answer]:
    return whole


@pytest.fixture
def exporter() -> Iterator[FakeExporter]:
    server = FakeExporter()
    yield server
    server.close()


class Alone:
    """The loads of one element, in plain numbers."""

    def __init__(self, loads: Loads | None = None) -> None:
        self.loads = loads or unknown((Best(),))

    def after(self, reading: Reading, at: float, windows: Windows, *, learn: bool = False) -> Alone:
        return Alone(self.loads.after(stacked([reading]), at, windows, learn=learn))

    def __getattr__(self, name: str) -> float | None:
        value = float(getattr(self.loads.figures(), name)[0])
        return None if value != value else value

    @property
    def best(self) -> Best:
        return self.loads.best[0]


@pytest.fixture
def alone() -> Alone:
    """An element of which nothing is known."""
    return Alone()
