"""The service and callers of other versions: within a major version they understand each other."""

from pathlib import Path
from typing import Any

import pytest
from invoked import invoked
from service_process import SITE, Running
from ses.cli import main as ses
from ses_client import connection
from ses_service.api.contract import VERSION

MAJOR = int(VERSION.partition(".")[0])


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Any:
    service = Running(tmp_path_factory.mktemp("service"), f"--site={SITE}", "--trust-loopback")
    yield service.wait_ready()
    service.end()


def announce(running: Running, version: str | None, body: dict[str, Any]) -> Any:
    headers = {"Content-Type": "application/json", **({"Ses-Version": version} if version else {})}
    url = f"{running.url}/v1/nodes/n1/announcements"
    return running.http.request("POST", url, json=body, headers=headers)


@pytest.mark.parametrize("version", [None, VERSION, f"{MAJOR}.999.9-rc1", "nonsense"])
def test_a_later_agent_of_the_same_major_version_is_understood(running: Running, version: str | None) -> None:
    later = {"later": [{"a": None}]}
    file = {"placement_id": "0" * 15 + "1", "user": "alice", "device": 5, "inode": "1", **later}
    file["restore"] = {"element": "union/b1", "placed_at": 1.0, "decided_by": "program", **later}
    answer = announce(running, version, {"incarnation": "a" * 16, "opened": [file], **later})
    assert (answer.status, answer.json()["refused"]) == (200, [])
    assert answer.headers["Ses-Version"] == VERSION


@pytest.mark.parametrize("body", [{"incarnation": "a" * 16}, {"what": "a later version says"}])
def test_an_agent_of_another_major_version_is_refused_with_the_reason(
    running: Running, body: dict[str, Any]
) -> None:
    answer = announce(running, f"{MAJOR + 1}.2.3", body)
    assert answer.status == 409
    assert answer.json()["type"] == "urn:qstorman:problem:other-version"
    assert f"This is ses-service {VERSION} and the caller {MAJOR + 1}.2.3" in answer.json()["detail"]
    assert answer.headers["Ses-Version"] == VERSION


def test_the_command_says_so_too(running: Running, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(connection, "VERSION", f"{MAJOR + 1}.0.0")
    done = invoked(ses, ["elements", "--url", running.url], env={"HOME": str(tmp_path)}, code=1)
    assert "of different major versions they do not understand each other" in " ".join(done.output.split())
