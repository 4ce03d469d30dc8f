"""Plans ahead of need: for users who are on the node, or will be, before their programs ask."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import plan_program
import pytest
from patience import wait_until
from plan_program import NOBODY, Plan
from running_agent import Agent
from service_double import ServiceDouble

pytestmark = pytest.mark.root

SLURM = Path(__file__).resolve().parents[2] / "packaging/slurm"
NOT_HERE, LEAVING = 64123, 64200  # users without names; the first without processes


@pytest.fixture
def here(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process of nobody in a directory below."""
    (tmp_path / "deep").mkdir()
    with subprocess.Popen(["sleep", "1000"], user=NOBODY, cwd=tmp_path / "deep") as process:
        yield process
        process.kill()


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    path = tmp_path / "jobs"
    path.mkdir(mode=0o755)
    return path


@pytest.fixture
def planner(start: Callable[..., Agent], service: ServiceDouble, jobs: Path) -> Agent:
    agent = start(service.url, "--plans", "--jobs-dir", str(jobs))
    agent.wait_for("service found")
    return agent


def slurm(script: str, jobs: Path, **about: str) -> None:
    """Run a script as slurmd does: as root, without a search path."""
    settings = {"SES_JOBS_DIR": str(jobs), **{f"SLURM_JOB_{name}": value for name, value in about.items()}}
    done = subprocess.run([SLURM / script], env=settings, capture_output=True, check=False, timeout=20)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_user_with_a_process_has_tickets_before_the_first_question(
    here: subprocess.Popen[bytes], planner: Agent, service: ServiceDouble, device: int
) -> None:
    service.applications = {"nobody": ["tar"]}
    plan = Plan(planner.socket, NOBODY)
    assert plan_program.owner_of(plan.id) == (0, NOBODY, 0o600)
    wait_until(lambda: plan.stock(device) > 0 and plan.stock(device, "tar") > 0, "there are tickets")
    users = {request.body["subject"]["user"] for request in service.bookings()}
    assert "nobody" in users


def test_application_that_gets_needs_gets_an_entry(
    here: subprocess.Popen[bytes], planner: Agent, service: ServiceDouble, device: int
) -> None:
    service.pace = 0.5
    plan = Plan(planner.socket, NOBODY)
    wait_until(lambda: plan.stock(device) > 0, "there is a default entry")
    assert plan.entry(device, "late") is None
    service.applications = {"nobody": ["late"]}
    wait_until(lambda: plan.stock(device, "late") > 0, "the application has tickets of its own")


def test_plan_goes_with_the_last_process(planner: Agent, service: ServiceDouble, device: int) -> None:
    with subprocess.Popen(["sleep", "1000"], user=LEAVING, cwd="/") as process:
        plan = Plan(planner.socket, LEAVING)
        wait_until(lambda: plan.stock(device) > 0, "there is a ticket")
        process.kill()
    wait_until(lambda: plan_program.segment_of(planner.socket, LEAVING) is None, "the plan is removed", 120)
    assert plan.state == plan_program.RETIRED
    dealt = set(service.placements)
    wait_until(lambda: not dealt & service.unended(), "the tickets are back")


def test_relative_name_of_a_process_that_is_gone_is_looked_up_where_others_of_the_user_are(
    here: subprocess.Popen[bytes], planner: Agent, service: ServiceDouble, device: int, tmp_path: Path
) -> None:
    plan = Plan(planner.socket, NOBODY)
    ticket = plan.take_soon(device)
    file = tmp_path / "deep/file"
    file.write_text("123")
    os.chown(file, NOBODY, NOBODY)
    plan.report(ticket, status=file.stat(), pid=0, path="file")
    service.wait_for_end(ticket.placement)
    assert [told["path"] for told in service.opened(ticket.placement)] == [str(file)]


def test_job_brings_a_plan_and_takes_it_away(
    planner: Agent, service: ServiceDouble, device: int, jobs: Path
) -> None:
    about = {"ID": "4711", "UID": str(NOT_HERE)}
    slurm("prolog.sh", jobs, **about, COMMENT="please ses-application=tar ses-application=my.code-2")
    try:
        plan = Plan(planner.socket, NOT_HERE)
        wait_until(
            lambda: all(plan.stock(device, name) > 0 for name in ("", "tar", "my.code-2")),
            "user and applications have tickets",
        )
        slurm("epilog.sh", jobs, **about)
        assert list(jobs.iterdir()) == []
        wait_until(lambda: plan.state == plan_program.RETIRED, "the plan is removed", 120)
    finally:
        if (id := plan_program.segment_of(planner.socket, NOT_HERE)) is not None:
            plan_program.remove_segment(id)


@pytest.mark.parametrize(
    "comment",
    [
        "ses-application=$(touch hurt) ses-application=`touch hurt`;touch hurt",
        "ses-application=* ses-application=../../hurt *",
        "ses-application=a\nuser=0\nses-application=b",
        "ses-application=" + "x" * 5000,
        "\x01\x02\xff",
    ],
)
def test_hostile_comment_of_a_job_is_harmless(jobs: Path, comment: str) -> None:
    slurm("prolog.sh", jobs, ID="1", UID="1000", COMMENT=comment)
    lines = (jobs / "1").read_text().splitlines()
    assert lines[:2] == ["user=1000", "job=1"]
    assert set(lines[2:]) <= {"application=a", "application=b"}
    assert [path.name for path in jobs.iterdir()] == ["1"]


@pytest.mark.parametrize(
    "about", [{}, {"ID": "../1", "UID": "0"}, {"ID": "1", "UID": "root\nuser=x"}, {"ID": ""}]
)
def test_scripts_do_nothing_without_a_sensible_job(jobs: Path, about: dict[str, str]) -> None:
    slurm("prolog.sh", jobs, **about)
    slurm("epilog.sh", jobs, **about)
    assert list(jobs.iterdir()) == []


def test_hostile_files_in_the_jobs_directory_are_passed_over(
    planner: Agent, device: int, jobs: Path, tmp_path: Path
) -> None:
    user = f"user={NOT_HERE}\n"
    (tmp_path / "outside").write_text(user)
    (jobs / "link").symlink_to(tmp_path / "outside")
    os.mkfifo(jobs / "pipe")
    (jobs / "directory").mkdir()
    (jobs / "large").write_text(user + "job=1\n" * 1000)
    (jobs / "binary").write_bytes(os.urandom(4000))
    (jobs / "other").write_text(user + "nonsense\n")
    (jobs / "two").write_text(user + user)
    (jobs / "foreign").write_text(user)
    os.chown(jobs / "foreign", NOBODY, NOBODY)
    (jobs / "writable").write_text(user)
    (jobs / "writable").chmod(0o666)
    (jobs / ".hidden").write_text(user)
    (jobs / "last\n").write_text(f"user={NOT_HERE + 1}\n")
    try:
        Plan(planner.socket, NOT_HERE + 1)
        assert plan_program.segment_of(planner.socket, NOT_HERE) is None
        assert planner.log.read_text().count("is passed over") == 1
    finally:
        for uid in (NOT_HERE, NOT_HERE + 1):
            if (id := plan_program.segment_of(planner.socket, uid)) is not None:
                plan_program.remove_segment(id)


def test_jobs_directory_that_others_can_write_is_not_used(
    start: Callable[..., Agent], service: ServiceDouble, jobs: Path
) -> None:
    jobs.chmod(0o777)
    (jobs / "1").write_text(f"user={NOT_HERE}\n")
    agent = start(service.url, "--plans", "--jobs-dir", str(jobs))
    agent.wait_for("is not used: it must belong to the agent's user")
    assert plan_program.segment_of(agent.socket, NOT_HERE) is None


def test_agent_without_plans_makes_none(
    here: subprocess.Popen[bytes], start: Callable[..., Agent], service: ServiceDouble, device: int
) -> None:
    agent = start(service.url)
    agent.wait_for("service found")
    agent.ask(device).close()
    wait_until(lambda: len(service.announcements()) > 1, "some time has passed")
    assert plan_program.segment_of(agent.socket, os.geteuid()) is None
    assert plan_program.segment_of(agent.socket, NOBODY) is None
