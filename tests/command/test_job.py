"""``ses job``: the sums over a job's files, and the line for accounting."""

import json
import os
from pathlib import Path

import pytest
from ses.job import Job
from ses.slurm.comment import commented, record_of
from ses_client.errors import SesError

FILE = {
    "placement_id": "00000000000000aa", "state": "ended", "user": "alice", "application": "dd", "vo": None,
    "job": "7", "node": "n1", "element": "union/b3", "path": "/data/1.dat", "opened_at": 1.0,
    "ended_at": 2.0, "end_reason": "closed", "bytes_written": 1e9, "bytes_read": 5e6, "write_mb_s": 40.0,
    "read_mb_s": None, "verdict": "met", "cause": None, "kind": "current-write-rate", "unit": "MB/s",
    "required": 100.0, "predicted": 150.0, "achieved": 120.0,
}  # fmt: skip
MISSED = {
    **FILE,
    "node": "n2",
    "element": "union/b1",
    "verdict": "missed",
    "predicted": 110.0,
    "achieved": 40.0,
}
OPEN = {**FILE, "state": "open", "verdict": None, "achieved": None, "bytes_written": None, "bytes_read": None}
NOTHING = {**FILE, "kind": None, "required": None, "unit": None, "verdict": None, "predicted": None}
LINE = (
    "3 files on 2 elements, 3.0 GB written; "
    "current-write-rate>=100MB/s: promised 130.0, got 80.0, met 1, missed 1"
)


def test_sums_are_by_need_and_by_element(ses, service):
    service.files = [FILE, MISSED, OPEN, NOTHING]
    assert ses.json("job", "7") == {
        "job": "7",
        "users": ["alice"],
        "nodes": ["n1", "n2"],
        "needs": [
            {
                "kind": "current-write-rate", "unit": "MB/s", "required": 100.0,
                "promised": {"least": 110.0, "median": 150.0}, "got": {"least": 40.0, "median": 80.0},
                "verdicts": {"met": 1, "missed": 1, "open": 1},
            }
        ],
        "elements": [
            {"element": "union/b1", "files": 1, "open": 0, "bytes_written": 1e9, "bytes_read": 5e6},
            {"element": "union/b3", "files": 3, "open": 1, "bytes_written": 2e9, "bytes_read": 1e7},
        ],
    }  # fmt: skip
    shown = ses("job", "7").output
    assert "Job 7 of alice: 4 files on 2 nodes, 1 of them open" in shown
    assert "150.0 (110.0)" in shown
    assert "80.0 (40.0)" in shown


def test_all_files_of_the_job_are_asked_for_and_no_user_is_named(ses, service):
    service.files = [FILE] * 1001
    assert ses.json("job", "7")["elements"][0]["files"] == 1001
    assert service.asked["job"] == "7"
    assert "user" not in service.asked


def test_a_job_without_files_is_not_found(ses):
    result = ses("job", "7")
    assert (result.exit_code, result.output) == (5, "Error: No file of job 7 is known.\n")


@pytest.fixture
def scontrol(tmp_path: Path) -> Path:
    """Commands of Slurm: one says what a job's record has, in the width it is asked for, the other writes
    down what it is told."""
    fields = {"admin_comment": "paid | storage: 3 files on 1 elements", "UserID": "1000", "UserName": "alice"}
    fields["JobArrayID"] = "7"
    for name, value in fields.items():
        (tmp_path / name).write_text(value)
    squeue, program = tmp_path / "squeue", tmp_path / "scontrol"
    squeue.write_text(
        "#!/bin/sh\n"
        "for argument; do case $argument in --Format=*) format=${argument#--Format=};; esac; done\n"
        "field=${format#JobID:20,}\n"
        f'printf "%-20s%-${{field#*:}}s\\n" 7 "$(cat {tmp_path}/${{field%:*}})"\n'
    )
    program.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/told\n')
    for path in (squeue, program):
        path.chmod(0o755)
    return tmp_path / "told"


def test_the_comment_keeps_what_others_wrote(ses, service, scontrol: Path):
    service.files = [FILE, MISSED, NOTHING]
    path = f"{scontrol.parent}:{os.environ['PATH']}"
    assert ses("job", "7", "--comment", PATH=path).exit_code == 0
    assert scontrol.read_text().splitlines()[-1] == f"update JobId=7 AdminComment=paid | storage: {LINE}"


def test_the_comment_is_refused_for_what_is_no_job_of_slurm(ses, service):
    service.files = [FILE]
    assert ses("job", "7;x", "--comment").exit_code == 2


def test_files_of_others_that_name_the_job_are_not_in_its_record(ses, service, scontrol: Path):
    service.files = [FILE, MISSED, NOTHING, {**FILE, "user": "mallory", "element": "union/b9"}]
    path = f"{scontrol.parent}:{os.environ['PATH']}"
    assert ses("job", "7", "--comment", PATH=path).exit_code == 0
    assert scontrol.read_text().splitlines()[-1] == f"update JobId=7 AdminComment=paid | storage: {LINE}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "storage: x"),
        ("storage: 4 files on 2 elements, 1.0 GB written", "storage: x"),
        ("paid | storage: 4 files on 2 elements", "paid | storage: x"),
        ("cold storage: yes | y", "cold storage: yes | y | storage: x"),
        ('{"a":1,\n"b":2', '{"a":1,\n"b":2 | storage: x'),
        ("storage: 4 files on 2 | of mine", "storage: 4 files on 2 | of mine | storage: x"),
    ],
)
def test_what_others_wrote_is_kept_and_our_own_line_replaced(before: str, after: str):
    assert commented(before, "x") == after


def test_our_line_is_one_line_whatever_is_in_it():
    assert commented("", "a|b\n\x1b[31m\u2028c") == "storage: a?b??[31m?c"
    assert commented("{}", 'a"b\\c}') == '{"qstorman": "a?b?c}"}'


@pytest.mark.parametrize(
    "before", ["{}", '{ "a": {} }\n', '{"a":1.50,\n"b":[2]}', '{"storage": "mine", "c": "x}"}']
)
def test_json_of_the_site_stays_json(before: str):
    line = "3 files on 2 elements, 3.0 GB written"
    once = commented(before, line)
    assert json.loads(once) == {**json.loads(before), "qstorman": line}
    assert commented(once, line) == once
    assert commented(f"{before.rstrip()} | storage: {line}", line) == once, "as it was written before"
    assert once.startswith(before.rstrip("} \n")), "nothing of the site's is written in another way"


def test_a_list_in_json_is_left_alone():
    with pytest.raises(SesError, match="nothing is written"):
        commented('["a"]', "x")


def test_the_line_is_bounded_whatever_a_job_needed():
    """A user may state another need for each file."""
    many = [{**FILE, "required": 1e15 / (number + 7), "unit": "MB/s"} for number in range(5000)]
    line = Job.of("7", [*many, MISSED, FILE]).line()
    assert len(line) < 2000
    assert "current-write-rate>=100MB/s: promised 130.0, got 80.0" in line
    assert line.endswith("; and 4993 other needs")


def test_a_comment_is_read_whole_and_one_that_is_too_long_is_left_alone(
    scontrol: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", f"{scontrol.parent}:{os.environ['PATH']}")
    text = 'a\n   UserID=0 AdminComment=approved by root\n{"b": "\u00e9"}'
    (scontrol.parent / "admin_comment").write_text(text)
    record = record_of("7")
    assert (record.comment, record.user, record.uid) == (text, "alice", 1000)
    assert record.is_of("alice")
    assert record.is_of("uid-1000")
    assert not record.is_of("mallory")
    (scontrol.parent / "admin_comment").write_text("x" * 70_000)
    with pytest.raises(SesError, match="65536 bytes or more"):
        record_of("7")
