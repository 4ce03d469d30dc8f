"""`ses calibrate` writes only when told, no more than it says, and leaves nothing behind."""

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import rdflib
from fake_selection_service import SelectionServiceDouble, element
from patience import wait_until
from ses.calibration import Measured, NotMeasuredError, Place, measure
from ses.commands.calibrate.elements import turtle_of

MIB = 2**20
QSM = rdflib.Namespace("https://w3id.org/qstorman/ontology#")
QUDT = rdflib.Namespace("http://qudt.org/schema/qudt/")


@pytest.fixture
def branches(service: SelectionServiceDouble, tmp_path: Path) -> list[Path]:
    """Two branches the service knows."""
    paths = [tmp_path / "b1", tmp_path / "b2"]
    for path in paths:
        path.mkdir()
    service.elements = [element(path.name, "/union", str(path), None) for path in paths]
    return paths


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How much is written by each call."""
    sizes: list[int] = []
    real = os.pwrite

    def note(descriptor: int, data: Any, offset: int) -> int:
        sizes.append(len(data))
        return real(descriptor, data, offset)

    monkeypatch.setattr("ses.calibration.os.pwrite", note)
    return sizes


def test_without_yes_it_says_what_it_would_write_and_writes_nothing(
    ses: Any, branches: list[Path], writes: list[int]
) -> None:
    result = ses("calibrate", "--all", code=0)
    assert f"union/b1: {branches[0]}" in result.output
    assert "256 MiB" in result.output
    assert "Nothing was written. To do it, give --yes." in result.output
    assert writes == []
    assert json.loads(ses("calibrate", "union/b1", "--json").output)["written"] is False
    assert writes == []


def test_it_writes_what_it_said_and_leaves_nothing(ses: Any, branches: list[Path], writes: list[int]) -> None:
    result = ses("calibrate", "union/b2", "--yes", "--size-mib", "9", "--json", code=0)
    (calibrated,) = json.loads(result.output)["elements"]
    assert sum(writes) == calibrated["written_bytes"] == 9 * MIB
    assert calibrated["write_bytes_per_second"] > 0
    assert calibrated["read_bytes_per_second"] > 0
    assert [list(path.iterdir()) for path in branches] == [[], []]


def test_the_rates_are_turtle_about_the_elements_of_the_site(ses: Any, branches: list[Path]) -> None:
    result = ses("calibrate", "--all", "--yes", "--size-mib", "8", code=0)
    graph = rdflib.Graph().parse(data=result.output[result.output.index("@prefix") :], format="turtle")
    for name in ("b1", "b2"):
        for rate in (QSM.nominalReadRate, QSM.nominalWriteRate):
            quantity = graph.value(rdflib.URIRef(f"https://example.org/{name}"), rate)
            value = graph.value(quantity, QUDT.numericValue)
            assert isinstance(value, rdflib.Literal)
            assert float(value) > 0


def test_the_turtle_goes_to_a_file_that_is_asked_for(ses: Any, branches: list[Path], tmp_path: Path) -> None:
    written = tmp_path / "rates.ttl"
    result = ses("calibrate", "--all", "--yes", "--size-mib", "8", "--turtle", str(written), code=0)
    assert "@prefix" not in result.output
    graph = rdflib.Graph().parse(written, format="turtle")
    assert len(set(graph.subjects(QSM.nominalWriteRate))) == 2
    result = ses("calibrate", "--all", "--yes", "--size-mib", "8", "--turtle", "/nowhere/rates.ttl", code=1)
    assert "/nowhere/rates.ttl cannot be written" in result.output


def test_an_element_that_is_nearly_full_is_left_alone(
    ses: Any, branches: list[Path], writes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.statvfs(branches[0])
    blocks = list(real)
    blocks[4] = 9 * 256 * MIB // blocks[1]  # f_bavail, in units of f_frsize
    monkeypatch.setattr("ses.calibration.os.statvfs", lambda _path: os.statvfs_result(blocks))
    result = ses("calibrate", "--all", "--yes", code=1)
    assert "more than a tenth of the" in result.output
    assert writes == []
    assert "qsm:" not in result.output


def test_an_element_not_of_this_node_is_reported(ses: Any, service: SelectionServiceDouble) -> None:
    service.elements = [element("b9", "/union", "/nowhere/b9", None)]
    result = ses("calibrate", "--all", "--yes", code=1)
    assert "/nowhere/b9 cannot be used on this node" in result.output


@pytest.mark.parametrize(
    ("arguments", "code"), [((), 2), (("union/b1", "--all"), 2), (("union/b7", "--yes"), 5)]
)
def test_wrong_usage(ses: Any, branches: list[Path], arguments: tuple[str, ...], code: int) -> None:
    assert ses("calibrate", *arguments).exit_code == code


def place(directory: Path) -> Place:
    return Place("u/a", "https://example.org/a", directory)


def test_time_is_bounded(tmp_path: Path) -> None:
    moments = iter(range(1000))
    measured = measure(place(tmp_path), 400 * MIB, 5.0, clock=lambda: float(next(moments)))
    assert 0 < measured.written_bytes < 40 * MIB


def test_a_file_system_without_direct_io_is_measured_through_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def refuse(path: Any, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_DIRECT:
            raise OSError(errno.EINVAL, "Invalid argument")
        return real(path, flags, mode)

    monkeypatch.setattr("ses.calibration.os.open", refuse)
    measured = measure(place(tmp_path), 8 * MIB, 30.0)
    assert (measured.direct, measured.written_bytes) == (False, 8 * MIB)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")])
def test_nothing_stays_when_it_is_broken_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    seen: list[list[Path]] = []

    def fail(_descriptor: int, _data: Any, _offset: int) -> int:
        seen.append(list(tmp_path.iterdir()))
        raise failure

    monkeypatch.setattr("ses.calibration.os.pwrite", fail)
    with pytest.raises(KeyboardInterrupt if isinstance(failure, KeyboardInterrupt) else NotMeasuredError):
        measure(place(tmp_path), 8 * MIB, 30.0)
    assert seen == [[]], "the file has no name while it is written"
    assert list(tmp_path.iterdir()) == []


def test_nothing_stays_of_a_program_that_is_killed(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from ses.calibration import Place, measure\n"
        "clock = lambda: (print('writing', flush=True), 0.0)[1]\n"
        f"measure(Place('u/a', 'x:a', Path({str(tmp_path)!r})), 64 * 2**20, 30.0, clock)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"writing\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    wait_until(lambda: not list(tmp_path.iterdir()), "the file is gone")


def test_a_refused_element_has_no_turtle() -> None:

    refused, good = place(Path("/a")), Place("u/b", "https://example.org/b", Path("/b"))
    turtle = turtle_of([refused, good], {"u/a": "full", "u/b": Measured(1e6, 2e6, 8, True)})
    assert "<https://example.org/b>" in turtle
    assert "<https://example.org/a>" not in turtle
