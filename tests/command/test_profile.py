"""``ses profile``: a program's profile, told, written and stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from fake_selection_service import SelectionServiceDouble

if TYPE_CHECKING:
    from conftest import Ses

LOG = Path(__file__).parents[1] / "streaming" / "darshan" / "shared-checkpoint.txt"


def test_a_program_runs_as_ever_and_its_profile_is_reported_beside_it(ses: Ses, tmp_path: Path) -> None:
    script = f"head -c 5000000 /dev/zero > {tmp_path}/a; exit 3"
    result = ses("profile", "--output", str(tmp_path / "p.json"), "--", "sh", "-c", script, code=3)
    assert result.stdout == ""
    assert "written 5.0 MB" in result.stderr
    kept = json.loads((tmp_path / "p.json").read_text())
    assert kept["command"] == ["sh", "-c", script]
    assert 5_000_000 <= kept["written_bytes"] < 5_100_000
    assert (tmp_path / "a").stat().st_size == 5_000_000


def test_a_profile_of_names_that_are_no_utf8_is_kept(ses: Ses, tmp_path: Path) -> None:
    ses("profile", "--output", str(tmp_path / "p.json"), "--", "true", "\udcff", code=0)
    assert json.loads((tmp_path / "p.json").read_text())["command"] == ["true", "\udcff"]


def test_options_behind_the_program_are_the_programs(ses: Ses) -> None:
    assert ses("profile", "sh", "-c", "exit 4").exit_code == 4


def test_a_darshan_log_is_reported_with_its_requirements(ses: Ses) -> None:
    result = ses("profile", "--darshan", str(LOG), code=0)
    assert "checkpoint.h5" in result.stdout
    assert "current-write-rate>=6400MB/s: 512000 MB written in 100.0 s" in result.stdout
    reported = ses.json("profile", "--darshan", str(LOG), "--margin", "1")
    assert reported["requirements"][0]["minimum"] == 5200


def test_requirements_are_stored_where_asked(ses: Ses, service: SelectionServiceDouble) -> None:
    result = ses("profile", "--darshan", str(LOG), "--save", "application", "alice:simulate", code=0)
    assert "Stored for application alice:simulate: revision 1." in result.stderr
    kinds = [
        requirement["kind"] for requirement in service.sets["application", "alice:simulate"]["requirements"]
    ]
    assert kinds == ["current-write-rate", "free-capacity"]


def test_a_program_or_a_log_must_be_given_and_not_both(ses: Ses) -> None:
    for arguments in ((), ("--darshan", str(LOG), "--", "true")):
        result = ses("profile", *arguments, code=2)
        assert "--darshan LOG" in result.stderr
