"""The probe that does the timing: it makes the calls it says, and leaves nothing behind."""

import os
import subprocess
from pathlib import Path

import pytest
from ses_benchmarks.probe import BenchmarkError, Probe, Side, build_probe


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Probe:
    return Probe(build_probe(tmp_path_factory.mktemp("probe")), max(os.sched_getaffinity(0)))


@pytest.mark.parametrize(
    "call", ["open-existing", "create-absolute", "create-relative", "exec-true", "storm"]
)
def test_every_call_is_timed_as_often_as_asked_and_leaves_nothing(
    probe: Probe, tmp_path: Path, call: str
) -> None:
    run = probe.run(Side(call, tmp_path), 7)
    assert len(run.nanoseconds) == 7
    assert all(spent > 0 for spent in run.nanoseconds)
    assert list(tmp_path.iterdir()) == []


def test_creates_on_the_branch_are_counted(probe: Probe, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert probe.run(Side("create-absolute", tmp_path, branch=tmp_path), 5).on_branch == 5
    assert probe.run(Side("create-absolute", tmp_path, branch=elsewhere), 5).on_branch == 0


def test_pairs_take_turns_in_going_first(probe: Probe, tmp_path: Path) -> None:
    order: list[str] = []

    class Recorder(Probe):
        def run(self, side: Side, count: int):  # type: ignore[no-untyped-def]
            order.append(side.call)
            return super().run(side, count)

    recorder = Recorder(probe.program, probe.cpu)
    a, r, settled = "create-absolute", "create-relative", "settled"
    pairs = recorder.pairs(Side(a, tmp_path), Side(r, tmp_path), 3, 3, lambda: order.append(settled))
    assert order[1::2] == [a, r, r, a, a, r]
    assert order[0::2] == [settled] * 6
    assert [len(run.nanoseconds) for pair in pairs for run in pair] == [3] * 6


def test_two_calls_are_made_in_turn_by_one_process(probe: Probe, tmp_path: Path) -> None:
    pairs = probe.in_turn(Side("create-absolute", tmp_path, branch=tmp_path), "plain-create-relative", 5, 2)
    assert [len(run.nanoseconds) for pair in pairs for run in pair] == [5] * 4
    assert [pair[0].on_branch for pair in pairs] == [5, 5]
    assert list(tmp_path.iterdir()) == []


def test_plain_calls_go_past_what_is_preloaded(probe: Probe, tmp_path: Path) -> None:
    source, library, directory = tmp_path / "refuse.c", tmp_path / "refuse.so", tmp_path / "directory"
    source.write_text(
        "#include <string.h>\n#include <fcntl.h>\n"
        "int open(const char *path, int flags, ...) {"
        ' return strstr(path, "existing") ? openat(AT_FDCWD, path, flags, 0644) : -1; }\n'
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True, timeout=60)
    directory.mkdir()
    assert len(probe.run(Side("plain-create-absolute", directory, library), 3).nanoseconds) == 3
    with pytest.raises(BenchmarkError):
        probe.run(Side("create-absolute", directory, library), 3)


def test_a_call_that_fails_ends_the_benchmark_with_its_reason(probe: Probe, tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="No such file"):
        probe.run(Side("create-absolute", tmp_path / "missing"), 5)
