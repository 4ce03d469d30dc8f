"""What a user of Table 1 runs: programs in front of the real ones write down how they were called."""

import os
import subprocess

import pytest
from ses_experiment.papers.qstorman.table1_users import Form, command

DD = """#!/bin/sh
echo "dd $*" >> "$CALLS"
for word in "$@"; do case $word in of=/dev/null) ;; of=*) echo x > "${word#of=}" ;; esac; done
"""
FORM = Form((5, 3, 2), compute=0.1)


@pytest.fixture
def calls(tmp_path, monkeypatch):
    for name, text in (("dd", DD), ("sleep", '#!/bin/sh\necho "sleep $*" >> "$CALLS"\n')):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(text)
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    return tmp_path / "calls"


def test_each_size_is_read_computed_and_written_and_what_was_read_goes(tmp_path, calls):
    home = tmp_path / "home"
    home.mkdir()
    subprocess.run(command("/input", str(home), FORM), check=True, timeout=60)
    assert calls.read_text().splitlines() == [
        "dd if=/input of=/dev/null bs=1048576 count=5 status=none iflag=direct",
        "sleep 0.524",
        f"dd if=/dev/zero of={home}/1 bs=1048576 count=5 status=none oflag=dsync",
        f"dd if={home}/1 of=/dev/null bs=1048576 count=3 status=none",
        "sleep 0.315",
        f"dd if=/dev/zero of={home}/2 bs=1048576 count=3 status=none oflag=dsync",
        f"dd if={home}/2 of=/dev/null bs=1048576 count=2 status=none",
        "sleep 0.210",
        f"dd if=/dev/zero of={home}/3 bs=1048576 count=2 status=none oflag=dsync",
    ]
    assert [path.name for path in home.iterdir()] == ["3"]


def test_users_in_turn_name_one_branch_after_the_other(tmp_path, calls):
    for branch in range(1, 5):
        for user in range(3):
            (tmp_path / f"single-{branch}" / f"u{user}").mkdir(parents=True)
    turns = tmp_path / "turns"
    turns.write_text("3\n")
    place = str(tmp_path / "single-")
    running = [
        subprocess.Popen(command("/input", place, FORM, f"/u{user}", str(turns), 4, "roundrobin"))
        for user in range(3)
    ]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    written = [line for line in calls.read_text().splitlines() if "oflag=dsync" in line]
    counts = [sum(f"single-{branch}/" in line for line in written) for branch in range(1, 5)]
    assert counts == [2, 2, 3, 2]  # nine files from branch 3 on
    assert turns.read_text() == "4\n"


@pytest.mark.parametrize("rule", ["wass", "two-true"])
def test_managers_count_what_is_open(tmp_path, calls, rule):
    for branch in range(1, 4):
        (tmp_path / f"single-{branch}").mkdir()
    turns = tmp_path / "turns"
    turns.write_text("0 90 90\n")
    many = Form((1,) * 100, compute=0.0)
    subprocess.run(
        command("/input", str(tmp_path / "single-"), many, "", str(turns), 3, rule), check=True, timeout=60
    )
    assert turns.read_text() == "0 90 90\n", "what was opened was closed"
    written = [line for line in calls.read_text().splitlines() if "oflag=dsync" in line]
    first = sum("single-1/" in line for line in written)
    assert first == 100 if rule == "wass" else 43 <= first < 95, "of two draws in three the first is one"


@pytest.mark.parametrize("rule", ["wass", "two-true"])
def test_the_same_seed_draws_the_same_branches(tmp_path, calls, rule):
    for branch in range(1, 5):
        (tmp_path / f"single-{branch}").mkdir()
    drawn = []
    for seed in (1, 1, 2):
        (tmp_path / "turns").write_text("0 0 0 0\n")
        calls.unlink(missing_ok=True)
        place, turns = str(tmp_path / "single-"), str(tmp_path / "turns")
        argv = command("/input", place, Form((1,) * 12, compute=0.0), "", turns, 4, rule, seed)
        subprocess.run(argv, check=True, timeout=60)
        written = [line for line in calls.read_text().splitlines() if "oflag=dsync" in line]
        drawn.append([line.partition("single-")[2][0] for line in written])
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(set(drawn[0])) > 1


def test_a_program_that_fails_ends_the_loop(tmp_path, calls):
    (tmp_path / "bin" / "dd").write_text("#!/bin/sh\nexit 3\n")
    assert subprocess.run(command("/input", str(tmp_path), FORM), check=False, timeout=60).returncode == 1
