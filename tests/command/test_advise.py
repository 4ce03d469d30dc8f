"""``ses advise``: the elements that could be chosen, with the time a program would take there."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fake_selection_service import SelectionServiceDouble, candidate
from ses_client.messages.files import COLUMNS

if TYPE_CHECKING:
    from conftest import Ses


@pytest.fixture
def kept(tmp_path: Path, service: SelectionServiceDouble) -> str:
    """A program that read 200 MB and wrote 90 MB; two elements give 100 MB/s to readers."""
    service.selection["candidates"] = [
        candidate(1, "b1", 0.0, 45.0, 20.0),
        candidate(2, "b2", 0.0, 90.0, 20.0),
    ]
    profile = {
        "command": ["sim"], "seconds": 9.0, "cpu_seconds": 1.0, "read_bytes": 200_000_000,
        "written_bytes": 90_000_000, "read_calls": 1, "write_calls": 1, "files": [],
        "phases": [{"kind": "reads and writes", "begin": 0, "seconds": 9.0, "cpu_seconds": 1.0,
                    "read_bytes": 200_000_000, "written_bytes": 90_000_000}],
    }  # fmt: skip
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(profile))
    return str(path)


def test_each_element_is_reported_with_its_time_and_what_binds(ses: Ses, kept: str) -> None:
    answer = ses.json("advise", "--profile", kept)
    assert [forecast["elements"] for forecast in answer["forecasts"]] == [
        ["union/b1"],
        ["union/b2"],
        ["union/b2", "union/b1"],
    ]
    assert [forecast["seconds"] for forecast in answer["forecasts"]] == pytest.approx([4.0, 3.0, 2.0])
    assert {forecast["binding"] for forecast in answer["forecasts"]} == {"disk"}
    assert answer["measured_seconds"] == 9.0
    result = ses("advise", "--profile", kept)
    assert "Storage binds: 2 stripes would take 50% less time." in result.stdout


def test_a_slow_link_and_waiting_are_taken_into_account(ses: Ses, kept: str) -> None:
    linked = ses.json("advise", "--link", "29MB/s", "--profile", kept)
    assert linked["forecasts"][0]["binding"] == "network link"
    assert linked["forecasts"][0]["seconds"] == pytest.approx(10.0)
    waiting = ses.json("advise", "--in-turn", "--profile", kept)
    assert waiting["forecasts"][0]["seconds"] == pytest.approx(5.0)


def test_the_link_is_that_of_this_node_where_the_site_describes_it(
    ses: Ses, kept: str, service: SelectionServiceDouble
) -> None:
    mine = {"rank": 1, "node": "n1", "node_class": "compute", "element": "union/b1",
            "storage_system": "union", "distance": 0.0, "available": {"read_mb_s": 1.0, "write_mb_s": 1.0},
            "free_gb": 1.0, "predicted": [], "limited_by": "link", "open_files": 0}  # fmt: skip
    service.node_selection["candidates"] = [mine]
    service.node_classes = [
        {"node_class": name, "nodes": "n1", "count": 1, "heard": 1, "open_files": 0, "link_mb_s": rate}
        for name, rate in (("other", 5.0), ("compute", 29.0))
    ]
    answer = ses.json("advise", "--profile", kept)["forecasts"][0]
    assert (answer["binding"], answer["seconds"]) == ("network link", pytest.approx(10.0))
    assert ses.json("advise", "--link", "1GB/s", "--profile", kept)["forecasts"][0]["binding"] == "disk"
    service.node_classes[1]["link_mb_s"] = None
    assert ses.json("advise", "--profile", kept)["forecasts"][0]["binding"] == "disk"


def test_the_link_is_as_calibrated_before_as_described_and_says_when(
    ses: Ses, kept: str, service: SelectionServiceDouble
) -> None:
    measured_at = 1_700_000_000.0
    service.calibration = {
        "node": "n1", "calibrated_at": measured_at, "method": "one TCP stream to a peer", "cores": 64,
        "core_copy_mb_s": 8000.0, "memory_mb_s": 200_000.0, "link_mb_s": 29.0,
    }  # fmt: skip
    answer = ses.json("advise", "--profile", kept)
    assert answer["forecasts"][0]["binding"] == "network link"
    assert answer["link"] == {"mb_s": 29.0, "from": "calibration", "calibrated_at": measured_at}
    day = time.strftime("%Y-%m-%d", time.localtime(measured_at))
    assert f"Link of this node: 29 MB/s, measured on {day}" in ses("advise", "--profile", kept).stdout
    assert f"/v1/nodes/{socket.gethostname()}/calibration" in [path for _, path, _ in service.requests]
    assert ses.json("advise", "--link", "1GB/s", "--profile", kept)["link"]["from"] == "stated"
    service.calibration["link_mb_s"] = None
    assert ses.json("advise", "--profile", kept)["link"]["from"] == "unknown"


def test_a_link_that_nobody_calibrated_is_reported_as_such(ses: Ses, kept: str) -> None:
    text = " ".join(ses("advise", "--profile", kept).stdout.split())
    assert "Link of this node: not known, so it never binds; it was not calibrated" in text
    assert "ses calibrate --node --peer" in text


def test_what_the_program_needs_is_part_of_the_question(
    ses: Ses, kept: str, service: SelectionServiceDouble
) -> None:
    ses.json("advise", "--profile", kept)
    asked = [body for method, path, body in service.requests if path == "/v1/selections"][-1]
    assert {requirement["kind"] for requirement in asked["requirements"]} == {
        "current-read-rate",
        "current-write-rate",
    }


def test_what_the_service_says_about_the_question_is_shown(
    ses: Ses, kept: str, service: SelectionServiceDouble
) -> None:
    note = "Neither the site nor a requirement set has a VO nope."
    service.selection["notes"] = [note]
    assert f"Note: {note}" in ses("advise", "--vo", "nope", "--profile", kept).stdout
    assert ses.json("advise", "--vo", "nope", "--profile", kept)["notes"] == [note]


@pytest.mark.usefixtures("kept")
def test_a_run_that_failed_is_reported_as_such(ses: Ses, tmp_path: Path) -> None:
    result = ses("advise", "--", "sh", "-c", f"head -c 2000000 /dev/zero > {tmp_path}/a; exit 7")
    assert "sh ended with status 7: what follows is of that run." in result.stderr
    assert result.exit_code == 0


@pytest.mark.usefixtures("kept")
def test_of_a_program_that_moves_nearly_nothing_no_forecast_is_made(ses: Ses) -> None:
    result = ses("advise", "--", "true", code=2)
    assert "The program moved 0.0 MB: too little for storage to matter to it." in result.stderr


def test_without_an_element_or_a_profile_it_says_so(
    ses: Ses, kept: str, tmp_path: Path, service: SelectionServiceDouble
) -> None:
    service.selection["candidates"] = []
    assert ses("advise", "--profile", kept).exit_code == 5
    (tmp_path / "no.json").write_text("{}")
    for wrong in ("[]", "{}", "no JSON"):
        (tmp_path / "wrong.json").write_text(wrong)
        result = ses("advise", "--profile", str(tmp_path / "wrong.json"), code=2)
        assert "is not what ses profile --output writes" in result.stderr
    result = ses("advise", "--profile", str(tmp_path / "no.json"), code=2)
    assert "not what ses profile --output writes" in result.stderr
    assert ses("advise").exit_code == 2


def ended(element: str, **more: object) -> dict[str, object]:
    now = time.time()
    return {
        **dict.fromkeys(COLUMNS), "placement_id": "00000000000000aa", "user": "alice",
        "element": element, "state": "ended", "opened_at": now + 1, "ended_at": now + 7, "bytes_read": 2e8,
        "bytes_written": 9e7, "read_mb_s": 80.0, "write_mb_s": 15.0, "cause": "others", **more,
    }  # fmt: skip


def test_the_last_forecast_is_reported_beside_what_files_achieved(
    ses: Ses, kept: str, service: SelectionServiceDouble
) -> None:
    assert ses("advise", "--last").exit_code == 5, "nothing was forecast"
    ses.json("advise", "--profile", kept, "--user", "alice", "--application", "sim")
    assert ses("advise", "--last").exit_code == 5, "nothing ran"
    service.files = [ended("union/b2"), ended("union/b2", state="open", ended_at=None),
                     ended("union/b1", opened_at=1.0)]  # fmt: skip
    answer = ses.json("advise", "--last", "--job", "7")
    assert {name: service.asked[name] for name in ("user", "application", "job")} == {
        "user": "alice", "application": "sim", "job": "7",
    }  # fmt: skip
    assert (answer["elements"], answer["files"], answer["open_files"]) == (["union/b2"], 1, 1)
    (seconds, *_) = answer["compared"]
    assert (seconds["forecast"], seconds["measured"]) == pytest.approx((3.0, 6.0), rel=0.01)
    assert (answer["binding_forecast"], answer["binding_measured"]) == ("disk", "disk")
    text = ses("advise", "--last").stdout
    assert "Bound by the disk, as forecast." in text
    assert "1 files: others came." in text
