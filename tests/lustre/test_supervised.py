"""Programs that load no library get their layouts from a supervisor."""

import os
import signal
from pathlib import Path

import pytest
from built import built
from lustre_mount import osts_of
from patience import wait_until
from placed_programs import Site

EXCLUSIVE = ("busybox", "sh", "-c", "set -C; echo text > file")  # -C: O_EXCL


@pytest.fixture
def ses_run() -> Path:
    """The built program, the supervisor beside it."""
    return built("run/ses-run")


def workers(site: Site) -> list[int]:
    """The processes that create for programs of this site."""
    processes = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            mine = f"SES_AGENT_SOCKET={site.socket}".encode() in (process / "environ").read_bytes().split(
                b"\0"
            )
        except OSError:
            continue
        if mine and words[:2] == [b"ses-supervisor", b"worker"]:
            processes.append(int(process.name))
    return processes


@pytest.mark.parametrize("command", [EXCLUSIVE, ("busybox", "sh", "-c", "echo text > file")])
def test_static_program_gets_the_layout_that_the_agent_says(
    site: Site, ses_run: Path, command: tuple[str, ...]
) -> None:
    site.run(ses_run, "--supervise", *command, library=False)
    wait_until(lambda: not workers(site), "the supervisor ends")
    assert osts_of(site.lustre.path / "file") == (4,)
    assert site.lustre.objects(4) == [b"text\n"]
    report = site.report()
    assert (report.outcome, report.error, report.fd < 0) == (1, 0, True)


def test_files_that_exist_keep_their_layout(site: Site, ses_run: Path) -> None:
    site.run("busybox", "sh", "-c", "echo text > file", library=False)
    before = osts_of(site.lustre.path / "file")
    site.run(ses_run, "--supervise", "busybox", "sh", "-c", "echo more > file", library=False)
    wait_until(lambda: not workers(site), "the supervisor ends")
    assert osts_of(site.lustre.path / "file") == before
    assert (site.lustre.path / "file").read_text() == "more\n"
    assert site.agent.reports == []


def test_worker_killed_before_the_layout_leaves_a_file_that_can_be_written(site: Site, ses_run: Path) -> None:
    site.lustre.gate.shut()
    with site.start(ses_run, "--supervise", *EXCLUSIVE, library=False) as process:
        site.lustre.gate.wait_reached()
        (worker,) = workers(site)
        os.kill(worker, signal.SIGKILL)
        site.lustre.gate.open()
        assert process.wait(60) == 0
    wait_until(lambda: not workers(site), "the supervisor ends")
    assert (site.lustre.path / "file").read_text() == "text\n"
