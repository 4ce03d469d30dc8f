"""A claim counts until it is released, its process or job has ended, or its lease is over."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import ses.api
from places_program import PROGRAM, Ses
from ses.place.claims import FIRST_NAMESPACE, namespace
from ses_client.errors import SesError


def test_a_claim_ends_with_its_process(ses: Ses, tmp_path: Path) -> None:
    process = subprocess.Popen(["sleep", "600"])
    try:
        ses("place", "--among", tmp_path, "--for", f"pid:{process.pid}")
        assert [claim["pid"] for claim in ses.claims()] == [process.pid]
        words = ses("places").replace("|", " ").split()  # a narrow table breaks the sentence
        assert str(process.pid) in words
        assert "ends" in words
    finally:
        process.kill()
        process.wait()
    assert ses.claims() == []


def test_a_later_process_of_the_same_number_is_another(ses: Ses, tmp_path: Path) -> None:
    ses("place", "--among", tmp_path, "--for", f"pid:{os.getpid()}")
    ses.change_claims(started="@started - 1")
    assert ses.claims() == []


def test_processes_ended_with_an_earlier_start_of_the_machine_but_leases_go_on(
    ses: Ses, tmp_path: Path
) -> None:
    for lasting in (f"pid:{os.getpid()}", "8h"):
        ses("place", "--among", tmp_path, "--for", lasting)
    ses.change_claims(boot="'earlier'", file_system="'9:9'", device="'9:9'")
    assert [claim["pid"] for claim in ses.claims()] == [None]
    assert ses.json("place", "--among", tmp_path)["why"][0]["streams"] == 1


def test_a_lease_ends(ses: Ses, tmp_path: Path) -> None:
    ses("place", "--among", tmp_path, "--for", "8h")
    ses.change_claims(until="@made - 1")
    assert ses.claims() == []
    ses("place", "--among", tmp_path)
    with sqlite3.connect(ses.ledger) as ledger:
        assert ledger.execute("SELECT count(*) FROM claim").fetchone() == (1,)
    ledger.close()


def test_a_lease_lasts_as_long_as_was_said_when_the_clock_is_set(ses: Ses, tmp_path: Path) -> None:
    """As of a machine that started with a clock of years ago."""
    ses("place", "--among", tmp_path, "--for", "8h")
    ses.change_claims(made="@made - 1e8", until="@until - 1e8")
    assert len(ses.claims()) == 1
    ses.change_claims(at="@at - 9 * 3600")
    assert ses.claims() == []


def test_a_claim_ends_with_slurms_process_of_its_job(ses: Ses, disks: Callable[..., list[Path]]) -> None:
    """A program of its name stands in for it."""
    ses("place", "--among", *disks(16, 16), "--for", "job", SLURM_JOB_ID="4711")
    program = (
        "import ctypes, time; ctypes.CDLL(None).prctl(15, b'slurmstepd'); print(flush=True); time.sleep(600)"
    )
    command = [sys.executable, "-c", program, "slurmstepd: [4711.batch]"]
    job = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert job.stdout
        job.stdout.readline()
        second = ses.json("place", "--again", "1")["claim"]
        assert (second["job"], second["pid"]) == ("4711", job.pid)
        ses.change_claims(until="@made - 1")
        assert [claim["job"] for claim in ses.claims()] == ["4711"] * 2, "it lasts longer than the lease"
    finally:
        job.kill()
        job.communicate()
    assert ses.claims() == []


def test_a_job_without_such_a_process_ends_with_its_lease_or_its_machine(ses: Ses, tmp_path: Path) -> None:
    ses("place", "--among", tmp_path, "--for", "job", SLURM_JOB_ID="4711")
    assert [claim["job"] for claim in ses.claims()] == ["4711"]
    ses.change_claims(boot="'earlier'")
    assert ses.claims() == []


def test_release_ends_one_claim_of_the_callers(ses: Ses, tmp_path: Path) -> None:
    first = ses.json("place", "--among", tmp_path)["id"]
    ses("place", "--among", tmp_path)
    assert "Name one by its number" in ses("release", tmp_path, code=2)
    ses("release", first)
    ses("release", tmp_path)
    assert ses.claims() == []
    assert "There is no claim" in ses("release", first, code=5)


def test_a_block_of_python_has_a_claim(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    with ses.api.place(
        [tmp_path], need="write>=1MB/s", size="1MB", mkdir="run-XXXX", ledger=ledger
    ) as chosen:
        assert Path(chosen.directory).parent == tmp_path
        assert chosen.claim.bytes == 1_000_000
        assert rows(ledger) == 1
    assert rows(ledger) == 0
    assert Path(chosen.directory).is_dir()
    with pytest.raises(SesError, match="do not fit"), ses.api.place([tmp_path], size="900PB", ledger=ledger):
        pytest.fail("nothing fits")


def test_a_program_that_is_killed_in_its_block_keeps_nothing(ses: Ses, tmp_path: Path) -> None:
    program = (
        "import os, signal, sys, ses.api\n"
        "with ses.api.place([sys.argv[1]]):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = {**os.environ, "XDG_STATE_HOME": str(ses.state)}
    done = subprocess.run([sys.executable, "-c", program, tmp_path], env=environment, check=False, timeout=60)
    assert done.returncode == -9
    assert ses.claims() == []
    assert rows(ses.ledger) == 1


@pytest.mark.root
def test_a_child_in_a_pid_namespace_of_its_own_keeps_its_claim(ses: Ses, tmp_path: Path) -> None:
    """As of a program that starts containers, and has asked for a place itself before."""
    program = (
        "import ctypes, os, sys, ses.api\n"
        "with ses.api.place([sys.argv[1]]): pass\n"
        "libc = ctypes.CDLL(None)\n"
        "assert libc.unshare(0x20020000) == 0\n"  # PID and mounts
        "if os.fork() != 0: sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))\n"
        "assert libc.mount(None, b'/', None, 0x44000, None) == 0\n"  # private
        "assert libc.mount(b'proc', b'/proc', b'proc', 0, None) == 0\n"
        "with ses.api.place([sys.argv[1]]): print(flush=True), sys.stdin.read()\n"
    )
    environment = {**os.environ, "XDG_STATE_HOME": str(ses.state)}
    process = subprocess.Popen(
        [sys.executable, "-c", program, tmp_path],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout
    assert process.stdout.readline() == b"\n"
    assert [claim["pid"] for claim in ses.claims()] == [1]
    process.communicate()
    assert process.returncode == 0
    assert ses.claims() == []


@pytest.mark.root
def test_a_claim_of_a_container_ends_with_its_process_for_who_sees_all(ses: Ses, tmp_path: Path) -> None:
    if namespace() != FIRST_NAMESPACE:
        pytest.skip("this is a container itself")
    claim = f"{PROGRAM} place --among {tmp_path} --for pid:1 && echo && exec cat"
    container = subprocess.Popen(
        ["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", claim],
        env={**os.environ, "XDG_STATE_HOME": str(ses.state)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert container.stdout
    assert container.stdout.readline().decode() == f"{tmp_path}\n"
    assert [claim["pid"] for claim in ses.claims()] == [1]
    container.communicate()
    assert ses.claims() == []


def rows(file: Path) -> int:
    ledger = sqlite3.connect(file)
    try:
        return int(ledger.execute("SELECT count(*) FROM claim").fetchone()[0])
    finally:
        ledger.close()


@pytest.mark.root
def test_root_claims_for_a_user_and_then_ends_nobody_elses(ses: Ses, tmp_path: Path) -> None:
    own = ses.json("place", "--among", tmp_path)
    given = ses.json("place", "--among", tmp_path, "--user", "daemon", "--mkdir", "run-XXXX")
    assert (given["claim"]["user"], Path(given["directory"]).owner()) == ("daemon", "daemon")
    assert "another user's" in ses("release", own["id"], "--user", "daemon", code=1)
    ses("release", given["id"], "--user", "daemon")
    assert [claim["id"] for claim in ses.claims()] == [own["id"]]
    assert "knows no user" in ses("place", "--among", tmp_path, "--user", "nobody-here", code=2)
