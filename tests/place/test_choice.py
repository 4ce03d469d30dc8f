"""``ses place`` gives a directory that fits, says why, and is led elsewhere by nobody."""

import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from places_program import PROGRAM, Ses

Disks = Callable[..., list[Path]]


def test_what_fits_only_one_directory_goes_there(ses: Ses, disks: Disks) -> None:
    small, large, middle = disks(16, 64, 32)
    assert ses("place", "--among", small, large, middle, "--size", "50MiB") == f"{large}\n"


def test_directories_are_given_in_turn_while_claims_last(ses: Ses, disks: Disks) -> None:
    among = disks(16, 16, 16)
    given = [ses("place", "--among", *among, "--size", "1MB").strip() for _ in range(6)]
    assert sorted(given) == sorted([*map(str, among), *map(str, among)])
    assert set(given[:3]) == set(map(str, among))


def test_a_size_is_not_given_where_claims_leave_no_room(ses: Ses, disks: Disks) -> None:
    (only,) = disks(32)
    ses("place", "--among", only, "--size", "20MiB")
    answer = ses("place", "--among", only, "--size", "20MiB", code=1)
    assert f"{only}: 20.97 MB do not fit: 12.58 MB are free beside the claims there" in answer
    assert "ses release" in answer
    ses("release", only)
    assert ses("place", "--among", only, "--size", "20MiB") == f"{only}\n"


def test_what_a_made_directory_holds_does_not_count_twice(ses: Ses, disks: Disks) -> None:
    (only,) = disks(32)
    made = Path(ses("place", "--among", only, "--size", "16MiB", "--mkdir", "run-XXXX").strip())
    (made / "written").write_bytes(bytes(15 << 20))
    assert ses("place", "--among", only, "--size", "14MiB") == f"{only}\n"


def test_directories_of_one_file_system_share_its_room_and_its_streams(ses: Ses, disks: Disks) -> None:
    disk, other = disks(32, 32)
    for name in ("a", "b"):
        (disk / name).mkdir()
    ses("place", "--among", disk / "a", "--size", "20MiB")
    seen = ses.json("place", "--among", disk / "b", other, "--size", "1MiB")
    assert seen["directory"] == str(other)
    beside = seen["why"][0]
    assert (beside["streams"], beside["claimed"]) == (1, 20 << 20)


def test_json_says_what_was_seen_of_each(ses: Ses, disks: Disks) -> None:
    disk, other = disks(16, 16)
    seen = ses.json(
        *("place", "--among", disk, other, disk / "none", "--size", "1MB", "--for", f"pid:{os.getpid()}"),
        *("--need", "write>=80MB/s", "--rate", f"{other}=100MB/s"),
    )
    assert seen["directory"] == str(other)
    assert seen["claim"] == {
        "id": seen["id"],
        "uid": os.geteuid(),
        "user": seen["claim"]["user"],
        "directory": str(other),
        "bytes": 1_000_000,
        "streams": 1,
        "made": seen["claim"]["made"],
        "until": None,
        "pid": os.getpid(),
        "job": None,
    }
    stated, unknown = seen["why"][1]["predicted"], seen["why"][0]["predicted"]
    assert stated == {"read": 1e8, "write": 1e8}
    assert unknown == {"read": None, "write": None}
    assert seen["why"][2]["reason"] == "it cannot be looked at: No such file or directory"
    assert ses.claims() == [seen["claim"]]


def test_a_hard_need_refuses_with_its_reason(ses: Ses, disks: Disks) -> None:
    disk, other = disks(16, 16)
    answer = ses(
        "place", "--among", disk, other, "--need", "write>=2GB/s!", "--rate", f"{disk}=1GB/s", code=1
    )
    assert f"{disk}: it misses write>=2GB/s,hard;" in answer
    assert f"{other}: it misses write>=2GB/s,hard (its rate is not known: --rate states it)." in answer


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--need", "inodes>=3GB"), "directories are chosen by"),
        (("--need", "write>=3GB"), "unit 'GB'"),
        (("--for", "soon"), "is no time"),
        (("--for", "pid:999999999"), "There is no process"),
        (("--for", "job"), "SLURM_JOB_ID"),
        (("--mkdir", "a/b"), "is no name of a directory"),
        (("--mkdir", ".."), "is no name of a directory"),
        (("--rate", "/else=3MB/s"), "none of the directories"),
    ],
)
def test_what_makes_no_sense_is_reported_and_claims_nothing(
    ses: Ses, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    assert message in ses("place", "--among", tmp_path, *arguments, code=2)
    assert ses.claims() == []


def test_a_read_only_mount_is_left_out(ses: Ses, disks: Disks) -> None:
    disk, other = disks(16, 16)
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    seen = ses.json("place", "--among", disk, other)
    assert seen["directory"] == str(other)
    assert {"directory": str(disk), "reason": "it is mounted read-only"} in seen["why"]


def test_where_the_decision_core_is_missing_it_is_told_what_to_install(ses: Ses, tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    paths = os.pathsep.join(map(str, (root / "libses/python", root / "ses-service/client", tmp_path)))
    metadata = tmp_path / "qstorman_ses-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: qstorman-ses\nVersion: 0.1.0\n")
    program = "from ses.cli import main; main()"
    done = subprocess.run(
        ["/usr/bin/python3", "-s", "-c", program, "place", "--among", tmp_path],  # as python3-ses runs it
        env={"PATH": os.environ["PATH"], "PYTHONPATH": paths, "XDG_STATE_HOME": str(ses.state)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert "pip install" in done.stderr
    assert not ses.state.exists()


def test_a_made_directory_is_fresh_and_the_callers_alone(ses: Ses, tmp_path: Path) -> None:
    made = [
        Path(ses("place", "--among", tmp_path, "--mkdir", "run-XXXX", "--for", "8h").strip())
        for _ in range(3)
    ]
    assert len(set(made)) == 3
    assert all(path.parent == tmp_path and path.name.startswith("run-") for path in made)
    assert {stat.S_IMODE(path.lstat().st_mode) for path in made} == {0o700}


def test_a_name_that_is_there_is_not_used_whatever_it_leads_to(ses: Ses, disks: Disks) -> None:
    disk, other = disks(16, 16)
    (disk / "run").symlink_to(other)
    assert ses("place", "--among", disk, other, "--mkdir", "run") == f"{other}/run\n"
    assert "File exists" in ses("place", "--among", disk, other, "--mkdir", "run", code=1)
    assert len(ses.claims()) == 1


def test_what_is_printed_has_no_links_in_it(ses: Ses, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert ses("place", "--among", tmp_path / "link") == f"{tmp_path}/real\n"


def test_a_name_of_any_bytes_is_printed_as_it_is(ses: Ses, tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path) + b"/\xff\x1b[1m"
    Path(os.fsdecode(odd)).mkdir()
    done = subprocess.run(
        [PROGRAM, "place", "--among", odd],
        env={**os.environ, "XDG_STATE_HOME": str(ses.state)},
        capture_output=True,
        check=True,
        timeout=120,
    )
    assert done.stdout == odd + b"\n"
    assert "\\x1b" in ses("places")
    ses("release", "1")
