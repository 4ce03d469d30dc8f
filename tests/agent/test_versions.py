"""An agent and services of other versions: within a major version they understand each other."""

import re
from pathlib import Path

import program_side as side
import pytest
from fake_service import FakeService
from running_agent import Start

CMAKE = (Path(__file__).resolve().parents[2] / "libses/CMakeLists.txt").read_text()
OWN = re.findall(r"^project\(\S+ VERSION ([0-9.]+)", CMAKE, re.MULTILINE)[0]
MAJOR = OWN.partition(".")[0]


@pytest.mark.parametrize("version", [None, f"{MAJOR}.999.0", "nonsense"])
def test_a_later_service_of_the_same_major_version_is_understood(
    start: Start, service: FakeService, version: str | None
) -> None:
    service.version = version
    service.later = {"later": {"a": [1, None]}, "": "x"}
    agent = start()
    assert agent.status() == side.PLACE
    assert not agent.says("makes no sense")
    assert {request.version for request in service.requests} == {OWN}


def test_storage_where_no_files_are_placed_bars_no_other(start: Start, service: FakeService) -> None:
    service.unplaced = [
        {"name": "scratch", "backend": "directories", "mount_point": "", "elements": 4},
        {"name": "later", "backend": "of a later version"},
    ]
    agent = start()
    assert agent.status() == side.PLACE
    asked = [table for request in service.requests if request.body for table in request.body["tables"]]
    assert {table["system"] for table in asked} == {"union"}


def test_a_service_of_another_major_version_is_refused_with_the_reason(
    start: Start, service: FakeService
) -> None:
    service.version = f"{int(MAJOR) + 1}.2.3"
    agent = start(until=f"it is ses-service {service.version} and this agent {OWN}: of different")
    assert not agent.says("service found")
    service.version = None  # upgraded
    agent.wait_for("service found")
