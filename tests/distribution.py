"""Which worker runs which file of tests, and when, by how long each took."""

import os
from pathlib import Path
from typing import NamedTuple

import pytest
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

TESTS = Path(__file__).parent
#: Seconds, whether it is busy or mostly waits, and name of each file that takes long (`--record-times`).
TIMES = TESTS / "times.txt"
LEAST = 5.0  # seconds; what takes less is not written down
WAITS = 0.4  # of the processor time that it could have had: who uses less mostly waits


class Took(NamedTuple):
    """How long a file took, and whether it mostly waited."""

    seconds: float
    waits: bool


def recorded() -> dict[str, Took]:
    """What is known of files, by their names below `tests`."""
    rows = (line.split() for line in TIMES.read_text("utf-8").splitlines())
    return {name: Took(float(seconds), kind == "waits") for seconds, kind, name in rows}


KNOWN = recorded()
#: A file of which nothing is known begins after those that take long, and has a worker that is busy.
UNKNOWN = Took(LEAST, waits=False)


def took(file: str) -> Took:
    return KNOWN.get(file, UNKNOWN)


def in_order(items: list[pytest.Item]) -> list[pytest.Item]:
    """What takes longest first: begun last, it would keep a single worker busy at the end."""
    return sorted(items, key=lambda item: -took(os.path.relpath(item.path, TESTS)).seconds)


class Distribution(LoadFileScheduling):
    """Of three workers the last one runs only files that mostly wait.

    Some calls that are tested have a time limit of milliseconds: no more programs are to be busy at a time
    than there are processors.  The others run those files too when nothing else is left.
    """

    def _assign_work_unit(self, node: WorkerController) -> None:
        waiting = [file for file in self.workqueue if took(file.removeprefix("tests/")).waits]
        busy = [file for file in self.workqueue if file not in waiting]
        wanted = waiting if self._is_last(node) else busy or waiting
        if wanted:
            self.workqueue.move_to_end(wanted[0], last=False)
            super()._assign_work_unit(node)
        elif not node.shutting_down:
            node.shutdown()

    def _is_last(self, node: WorkerController) -> bool:
        return self.numnodes > 2 and node.gateway.id == f"gw{self.numnodes - 1}"


class Meter:
    """Notes with each step of a test the processor time since the one before, of all that has ended, and the
    share of a processor that the machine had for it."""

    def __init__(self) -> None:
        self._before = 0.0

    def pytest_collection_finish(self) -> None:
        self._before = sum(os.times()[:4])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> object:
        report = yield
        now = sum(os.times()[:4])
        report.busy, self._before = now - self._before, now
        report.share = min(1.0, (os.cpu_count() or 1) / max(os.getloadavg()[0], 0.01))
        return report


class Recorder:
    """Writes down how long the files took that were run, beside what is known of others that there are."""

    def __init__(self) -> None:
        self._steps: dict[str, list[tuple[float, float, float]]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        file = report.nodeid.partition("::")[0].removeprefix("tests/")
        step = (report.duration, report.busy, report.share * report.duration)
        self._steps.setdefault(file, []).append(step)

    def pytest_sessionfinish(self) -> None:
        known = recorded()
        for file, steps in self._steps.items():
            seconds, busy, possible = map(sum, zip(*steps, strict=True))
            has_a_processor = possible >= seconds / 2  # otherwise all seem to wait
            waits = busy < WAITS * possible if has_a_processor else known.get(file, UNKNOWN).waits
            known[file] = Took(seconds, waits)
        TIMES.write_text(
            "".join(
                f"{record.seconds:6.1f} {'waits' if record.waits else 'busy ':5} {file}\n"
                for file, record in sorted(known.items())
                if record.seconds >= LEAST and (TESTS / file).exists()
            )
        )
