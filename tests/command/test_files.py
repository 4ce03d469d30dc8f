"""``ses files``, ``ses report`` and the verdict in ``ses explain``: what they ask and show."""

import csv
import getpass
import io
import time
from html.parser import HTMLParser

import pytest
from fake_selection_service import storage_system
from ses.commands import explain
from ses_client.visible import on_one_line

MISSED = {
    "placement_id": "00000000000000aa", "state": "ended", "user": "alice", "application": "dd", "vo": None,
    "job": "7", "node": "n1", "element": "union/b3", "path": "/data/<b>,1.dat", "opened_at": 1.0,
    "ended_at": 2.0, "end_reason": "closed", "bytes_written": 1e8, "bytes_read": 0.0, "write_mb_s": 40.0,
    "read_mb_s": None, "verdict": "missed", "cause": "others", "kind": "current-write-rate", "unit": "MB/s",
    "required": 100.0, "predicted": 150.0, "achieved": 40.0,
    "why": "Others came: from 1 to 9 streams.",
    "kinds": [{"kind": "current-write-rate", "unit": "MB/s", "required": 100.0, "predicted": 150.0,
               "achieved": 40.0, "at_least": 40.0, "verdict": "missed", "why": ""}],
}  # fmt: skip
OPEN = {**MISSED, "placement_id": "00000000000000ab", "state": "open", "ended_at": None, "verdict": None,
        "cause": None, "achieved": None, "bytes_written": None}  # fmt: skip


def summed(name, met, missed):
    return {"name": name, "files": met + missed, "met": met, "nearly": 0, "missed": missed, "cannot_say": 0,
            "met_ratio": met / (met + missed), "shortfall": 0.3, "forecast_files": missed,
            "of_forecast": 0.27 if missed else None}  # fmt: skip


REPORT = {
    "complete": False, "total": summed("all", 3, 1), "elements": [summed("union/b3", 1, 1)],
    "applications": [summed("<dd>", 3, 1)], "jobs": [summed("<4711>", 3, 1)],
    "users": [summed("<bob>", 1, 1), summed("alice", 2, 0)], "vos": [summed("hep", 3, 1)],
    "hours": [summed("3600", 1, 1), summed("7200", 2, 0)],
    "kinds": [], "causes": [{"cause": "others", "files": 1}], "advice": ["1 files: others came."],
}  # fmt: skip


@pytest.fixture(autouse=True)
def _files_are_not_waited_for(monkeypatch):
    """As if they were old: of one that was just made the node may still report."""
    monkeypatch.setattr(explain, "_ANNOUNCED_SECONDS", 0.0)


@pytest.fixture(autouse=True)
def two_files(service):
    service.files = [OPEN, MISSED]
    service.report = REPORT


def test_files_show_what_was_required_predicted_and_got_with_the_cause(ses, service):
    text = ses("files").output
    row = next(line for line in text.splitlines() if "others came" in line)
    for said in ("union/b3", "current-write-rate", "100.0", "150.0", "40.0", "missed"):
        assert said in row
    assert service.asked == {"user": getpass.getuser(), "limit": "50"}


def test_a_file_of_another_user_cannot_steer_the_terminal(ses, service):
    service.files = [{**MISSED, "path": "/data/\x1b]52;c;cm0gLXJm\x07\nb.dat"}]
    output = ses("files", "--everybody").output
    assert "\x1b" not in output
    assert r"/data/\x1b]52;c;cm0gLXJm\x07\nb.dat" in output


def test_a_sum_of_files_that_cannot_be_judged_falls_short_by_nothing_known(ses, service):
    service.report = {**REPORT, "applications": [{**summed("dd", 1, 0), "met_ratio": None, "shortfall": 0.0}]}
    row = next(line for line in ses("report").output.splitlines() if line.startswith("dd"))
    assert "%" not in row


def test_all_that_is_asked_for_reaches_the_service(ses, service):
    wanted = {"application": "dd", "vo": "v", "job": "7", "element": "u/e", "verdict": "missed",
              "state": "ended", "path": "out_1"}  # fmt: skip
    options = [part for name, value in wanted.items() for part in (f"--{name}", value)]
    before = time.time()
    assert ses("files", "--everybody", "--last", "2h", *options).exit_code == 0
    since = float(service.asked.pop("since"))
    assert 0 <= since - (before - 7200) < 3600
    assert service.asked == {**wanted, "limit": "50"}


def test_a_list_goes_on_until_there_are_no_more(ses, service):
    service.files = [{**MISSED, "placement_id": f"{number:016x}"} for number in range(2500)]
    assert len(ses.json("files", "--all")["files"]) == 2500
    assert len(ses.json("files")["files"]) == 50


def test_csv_has_every_figure_of_every_file(ses):
    rows = list(csv.DictReader(io.StringIO(ses("files", "--csv").output)))
    assert [row["placement_id"] for row in rows] == [OPEN["placement_id"], MISSED["placement_id"]]
    assert (rows[1]["path"], rows[1]["achieved"], rows[0]["achieved"]) == (MISSED["path"], "40.0", "")


def test_no_word_of_a_user_is_a_formula_of_a_spreadsheet(ses, service):
    words = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(1)", "\t=1"]
    service.files = [{**MISSED, "application": word, "path": f"/data/{word}"} for word in words]
    rows = list(csv.DictReader(io.StringIO(ses("files", "--csv").output)))
    assert [row["application"] for row in rows] == [f"'{on_one_line(word)}" for word in words]
    assert [row["path"] for row in rows] == [f"/data/{on_one_line(word)}" for word in words]
    assert rows[0]["bytes_read"] == "0.0"


@pytest.mark.parametrize("wrong", [("--csv", "--json"), ("--last", "soon"), ("--last", "-1h")])
def test_what_is_not_understood_is_said(ses, wrong):
    assert ses("files", *wrong).exit_code == 2


def test_a_report_names_ratios_causes_and_what_may_help(ses):
    text = ses("report", "--everybody").output
    for said in (
        "75%",
        "union/b3",
        "<dd>",
        "others came 1",
        "1 files: others came.",
        "Only the latest",
        "got of",
        "27% (1)",
        "By user, worst first:",
        "<bob>",
    ):
        assert said in text
    assert "By VO" not in text, "there is one"
    assert ses.json("report") == REPORT


def test_a_report_is_one_page_that_needs_nothing_else(ses, tmp_path):
    page = tmp_path / "report.html"
    assert ses("report", "--html", str(page)).exit_code == 0
    text = page.read_text("utf-8")
    seen = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: seen.append((tag, dict(attributes)))
    parser.feed(text)
    tags = [tag for tag, _ in seen]
    assert "svg" in tags
    assert "script" not in tags
    assert not any(name in attributes for _, attributes in seen for name in ("src", "href"))
    assert "&lt;dd&gt;" in text
    assert ses("report", "--html", str(tmp_path / "no" / "report.html")).exit_code == 1


def test_explain_says_whether_the_file_got_what_it_needed(ses, service, tmp_path):
    path = tmp_path / "data.bin"
    path.write_text("x")
    service.placements = [
        {
            "placement_id": MISSED["placement_id"], "state": "ended", "end_reason": "closed",
            "subject": {"user": "alice", "application": "dd", "vo": None, "node": None, "job": None},
            "element": "union/b3", "storage_system": "union", "target": "", "path": str(path), "device": None,
            "inode": None, "distance": 0.0, "placed_at": 1.0, "opened_at": 1.0, "ended_at": 2.0,
            "bytes_written": 1, "lease_until": None, "predicted": [], "requirements": [], "candidates": [],
            "refused": [],
        }
    ]  # fmt: skip
    text = ses("explain", str(path)).output
    assert "received     current-write-rate: missed, 40.0 of 100.0 MB/s." in text
    assert "likely cause: Others came: from 1 to 9 streams." in text
    service.files = []
    assert "received" not in ses("explain", str(path)).output, "a service that does not say is understood"


def test_explain_shows_of_a_file_without_an_explanation_what_the_list_of_files_knows(ses, service, tmp_path):
    path = tmp_path / "old.bin"
    path.write_text("x")
    service.storage_systems = [storage_system(str(tmp_path))]
    service.filters = ("state",)
    longer = {**MISSED, "path": f"{path}.more", "element": "union/b9"}
    service.files = [longer, {**MISSED, "path": str(path)}]
    result = ses("explain", str(path), code=5)
    for said in (
        "not kept any more",
        "max_records",
        "alice:dd",
        "union/b3",
        "current-write-rate: missed, 40.0 of 100.0",
    ):
        assert said in result.stderr
    assert "union/b9" not in result.stderr


def test_explain_of_a_file_nobody_knows_speaks_of_no_explanation(ses, service, tmp_path):
    service.storage_systems = [storage_system(str(tmp_path))]
    path = tmp_path / "unknown.bin"
    path.write_text("x")
    result = ses("explain", str(path), code=5)
    assert "knows no placement" in result.stderr
    assert "not kept any more" not in result.stderr
