"""`ses calibrate` measures exactly the OST or pool it was asked about, and leaves no file."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from lustre_mount import LustreMount
from patience import wait_until
from ses.cli import main
from ses_client.client import ServiceClient
from ses_client.messages.elements import Element, Inventory, KnowledgeBaseSource, MonitorSource, Observation

MIB = 2**20


@pytest.fixture
def calibrate(lustre: LustreMount, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the command about one element of the stand-in with the given target."""

    def run(target: str, *arguments: str, free: float | None = None) -> Result:
        element = Element(
            id="lfs/one",
            storage_system="lfs",
            backend="lustre",
            target=target,
            state="active",
            iri="https://example.org/one",
            mount_point=str(lustre.path),
            observation=Observation(state="ok", free_bytes=free),
        )
        known = Inventory(
            elements=(element,),
            monitor=MonitorSource(reachable=True),
            knowledge_base=KnowledgeBaseSource(reachable=True),
        )
        monkeypatch.setattr(ServiceClient, "elements", lambda _: known)
        return CliRunner().invoke(main, ["calibrate", "--all", "--json", "--size-mib", "8", *arguments])

    return run


@pytest.fixture
def written_to(lustre: LustreMount, monkeypatch: pytest.MonkeyPatch) -> list[set[int]]:
    """Which OSTs have an object of the file, seen at each write."""
    seen: list[set[int]] = []
    real = os.pwrite

    def note(descriptor: int, data: Any, offset: int) -> int:
        done = real(descriptor, data, offset)
        seen.append({ost for ost in range(lustre.osts) if any((lustre.store / f"ost{ost:04x}").iterdir())})
        return done

    monkeypatch.setattr("ses.calibration.os.pwrite", note)
    return seen


def everything(lustre: LustreMount) -> list[Path]:
    return [
        *lustre.path.iterdir(),
        *(p for n in range(lustre.osts) for p in (lustre.store / f"ost{n:04x}").iterdir()),
    ]


@pytest.mark.parametrize(("target", "osts"), [("4", {4}), ("0", {0}), ("slow", {3, 4})])
def test_the_bytes_go_to_the_element_and_nowhere_else(
    lustre: LustreMount, calibrate: Any, written_to: list[set[int]], target: str, osts: set[int]
) -> None:
    result = calibrate(target, "--yes")
    assert result.exit_code == 0, result.output
    (calibrated,) = json.loads(result.output)["elements"]
    assert calibrated["written_bytes"] == 8 * MIB
    assert written_to
    assert set.union(*written_to) == osts
    wait_until(lambda: everything(lustre) == [], "file and objects are gone")


@pytest.mark.parametrize("word", ["full", "inactive", "nocreate"])
def test_an_ost_that_takes_no_file_is_left_alone(
    lustre: LustreMount, calibrate: Any, written_to: list[set[int]], word: str
) -> None:
    lustre.trouble(4, word)
    result = calibrate("4", "--yes")
    assert result.exit_code == 1
    assert "refused" in json.loads(result.output)["elements"][0]
    assert written_to == []
    wait_until(lambda: everything(lustre) == [], "nothing stays")


def test_the_space_of_the_ost_counts_not_that_of_the_whole_file_system(
    lustre: LustreMount, calibrate: Any, written_to: list[set[int]]
) -> None:
    result = calibrate("4", "--yes", free=12.0 * MIB)
    assert result.exit_code == 1
    assert "more than a tenth" in result.output
    assert written_to == []
