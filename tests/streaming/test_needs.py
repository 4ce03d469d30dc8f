"""What a profile implies is computed in the open, from a run or from a Darshan log."""

import importlib.util
import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from ses.profiling.darshan import of_text, read_log
from ses.profiling.needs import implied
from ses.profiling.result import FileUse, Phase, ProgramProfile
from ses.profiling.turtle import turtle_of
from ses_client.errors import NotFoundError, SesError, UsageError
from ses_service.knowledge.terms import ontology_directory
from ses_service.knowledge.vocabulary import OWN_FILES, read_vocabulary

MB, GB = 10**6, 10**9
LOG = Path(__file__).parent / "darshan" / "shared-checkpoint.txt"
RUN = ProgramProfile(
    command=("sim",),
    seconds=20.0,
    cpu_seconds=8.0,
    read_bytes=400 * MB,
    written_bytes=1000 * MB,
    read_calls=400,
    write_calls=1000,
    files=(FileUse("/scratch/out", 0, 900 * MB, "sequential"), FileUse("/in", 400 * MB, 0, "random")),
    phases=(Phase("reads", 0, 4, 400 * MB), Phase("computes", 4, 11), Phase("writes", 15, 5, 0, 1000 * MB)),
)


def bounds(run: ProgramProfile, margin: float) -> dict[str, float]:
    return {need.requirement.kind: need.requirement.bound for need in implied(run, margin)}


def test_a_rate_is_that_of_the_phases_that_moved_times_the_margin() -> None:
    assert bounds(RUN, 1.0) == {"current-read-rate": 100, "current-write-rate": 200, "free-capacity": 0.9}
    assert bounds(RUN, 1.5) == {"current-read-rate": 150, "current-write-rate": 300, "free-capacity": 1.4}
    (read, *_) = implied(RUN, 1.5)
    assert read.arithmetic == "400 MB read in 4.0 s of phases = 100.0 MB/s, x 1.5"


def test_files_that_move_together_share_the_rate() -> None:
    wide = replace(RUN, write_streams=4.0)
    assert bounds(wide, 1.0)["current-write-rate"] == 50
    assert "for each of 4.0 files" in implied(wide, 1.0)[1].arithmetic


def test_a_short_burst_of_a_few_bytes_is_no_rate() -> None:
    started = replace(RUN, phases=(Phase("reads", 0, 0.01, 600_000),), files=())
    assert implied(started) == ()


def test_a_program_that_moves_next_to_nothing_requires_nothing() -> None:
    idle = replace(RUN, phases=(Phase("computes", 0, 20, 1 * MB, 1 * MB),), files=())
    assert implied(idle) == ()
    with pytest.raises(UsageError, match="too little"):
        turtle_of("idle", (), idle)


def test_the_turtle_of_a_profile_is_one_the_vocabulary_reads(tmp_path: Path) -> None:
    added = tmp_path / "sim.ttl"
    added.write_text(turtle_of("sim", implied(RUN, 1.0), replace(RUN, command=('a"b\\',))))
    known = read_vocabulary([*(ontology_directory() / name for name in OWN_FILES), added])
    required = {
        requirement.kind.value: requirement.bound for requirement in known.profiles["sim"].requirements
    }
    assert required == {
        "current-read-rate": 100 * MB,
        "current-write-rate": 200 * MB,
        "free-capacity": 0.9 * GB,
    }
    with pytest.raises(UsageError, match="no name of a profile"):
        turtle_of("Sim ", implied(RUN), RUN)


def test_a_darshan_log_of_512_ranks_that_share_a_file() -> None:
    run = read_log(LOG)
    assert run.command[0].endswith("/simulate")
    assert (run.processes, run.seconds) == (512, 120.0)
    assert (run.read_bytes, run.written_bytes) == (0, 512 * GB)
    assert (run.write_calls, run.write_streams) == (8200, 1.0)
    (file,) = run.files
    assert (file.path.rpartition("/")[2], file.pattern) == ("checkpoint.h5", "sequential")
    assert [phase.kind for phase in run.phases] == ["waits", "writes", "waits"]
    assert run.phases[1].seconds == pytest.approx(100)
    assert run.counters == {"opens": 513, "stats": 1, "syncs": 512, "names made or removed": 0}
    assert bounds(run, 1.0) == {"current-write-rate": 5200, "free-capacity": 520}  # rounded up


def test_a_darshan_log_with_a_file_for_each_rank() -> None:
    text = LOG.read_text()
    rows = "".join(line for line in text.splitlines(keepends=True) if line.startswith("POSIX"))
    run = of_text(text + rows.replace("checkpoint.h5", "second.h5"), "two files")
    assert run.write_streams == pytest.approx(2.0)
    assert run.written_bytes == 2 * 512 * GB
    assert bounds(run, 1.0)["current-write-rate"] == 5200


def test_a_log_is_given_to_darshan_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "job.darshan"
    log.write_bytes(b"\x9f\x00binary")
    monkeypatch.setenv("PATH", str(tmp_path))
    parser = tmp_path / "darshan-parser"
    parser.write_text(f"#!/bin/sh\nexec /bin/cat {LOG}\n")
    parser.chmod(stat.S_IRWXU)
    assert read_log(log).processes == 512
    parser.write_text("#!/bin/sh\necho 'Error: not a log' >&2; exit 1\n")
    with pytest.raises(SesError, match="Error: not a log"):
        read_log(log)


def test_without_darshan_parser_and_package_it_is_said_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "job.darshan"
    log.write_bytes(b"\x9f\x00binary")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "darshan.backend.cffi_backend", None)
    with pytest.raises(SesError, match="neither that program nor the Python package darshan is installed"):
        read_log(log)


def test_a_real_log_is_read_by_the_library_of_darshan_util(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log of 2,048 ranks that write one file with HDF5 on a Lustre, from Darshan's own examples."""
    place = importlib.util.find_spec("darshan")
    if place is None or place.origin is None:
        pytest.skip("the Python package darshan is not installed")
    monkeypatch.setenv("PATH", str(tmp_path))
    run = read_log(Path(place.origin).parent / "examples/example_logs/example.darshan")
    assert run.command[0].endswith("/vpicio_uni")
    assert (run.processes, run.seconds) == (2048, 117.0)
    assert run.files[0].path.endswith("/vpicio.hdf5")
    assert run.files[0].written_bytes == 2_199_023_259_968
    assert (run.write_calls, run.counters["opens"]) == (16_402, 2178)
    assert bounds(run, 1.0) == {"current-write-rate": 20_000, "free-capacity": 2200}
    with pytest.raises(SesError, match="does not understand"):
        read_log(Path(__file__))


def test_a_text_that_is_no_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no run time"):
        of_text("# darshan log version: 3.10\n", "short")
    with pytest.raises(NotFoundError, match="There is no file"):
        read_log(tmp_path / "none")
