"""Files that are closed before anybody can look, made by real programs through the real library and agent."""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import pytest
from claims_program import Claims, counted
from fake_service import FakeService
from patience import wait_until
from running_agent import Agent, Start, record_job

pytestmark = pytest.mark.root

LOOP = (
    "import os, sys\n"
    "before = os.listdir('/proc/self/fd')\n"
    "for number in range(int(sys.argv[2])):\n"
    "    with open(f'{sys.argv[1]}/f{number}', 'wb') as file:\n"
    "        file.write(b'x' * number)\n"
    "    assert os.listdir('/proc/self/fd') == before\n"
)


@pytest.fixture
def run(start: Start, service: FakeService, union: Path, binary: Path) -> Start:
    """Run a program under the library, and wait until the end of all placements is reported: by default
    before the next one starts."""
    agent = start(until="storage system union is mounted")
    library = binary.parents[1] / "libses-wrapper.so"
    environment = {
        "PATH": os.environ["PATH"],
        "LD_PRELOAD": str(library),
        "SES_AGENT_SOCKET": str(agent.socket),
        "SES_SYNC_MS": "20000",
    }

    files = 0

    def run(
        *command: str, makes: int = 1, stdin: IO[bytes] | None = None, wait: bool = True, **more: str
    ) -> Agent:
        nonlocal files
        files += makes
        subprocess.run(command, env={**environment, **more}, check=True, timeout=600, stdin=stdin)
        if wait:
            wait_until(lambda: len(service.ended_as) == files, "all placements are ended")
        return agent

    return run


def reported(service: FakeService) -> dict[str | None, int | None]:
    """Path and size of every placement that was used."""
    files = {}
    for placement in service.placements:
        for opened in service.opened(placement):
            files[opened["path"]] = service.ended(placement)[0]["bytes_written"]
    return files


def test_every_file_of_a_loop_is_reported_with_path_and_size(
    run: Start, service: FakeService, union: Path
) -> None:
    run(sys.executable, "-c", LOOP, str(union), "300", makes=300)
    assert reported(service) == {f"{union}/f{number}": number for number in range(300)}


@pytest.mark.parametrize(
    ("command", "size"),
    [(("sh", "-c", 'echo hello > "$0"'), 6), (("touch",), 0), (("cp", "/etc/passwd"), None)],
)
def test_file_of_a_program_that_exits_at_once_is_reported_with_path_and_size(
    run: Start, service: FakeService, union: Path, command: tuple[str, ...], size: int | None
) -> None:
    file = union / "file"
    for number in range(20):
        run(*command, f"{file}{number}", wait=number > 14)
    expected = Path("/etc/passwd").stat().st_size if size is None else size
    assert reported(service) == {f"{file}{number}": expected for number in range(20)}


def test_files_named_from_a_directory_are_found_by_the_shell_that_is_still_there(
    run: Start, service: FakeService, union: Path, tmp_path: Path
) -> None:
    """Also where its user has many processes that are older, as root has."""
    table = Claims(run("touch", f"{union}/first").socket, os.getuid())
    table.wait_until_staged()
    table.detach()
    directory = union / "directory"
    directory.mkdir()
    make = 'cd "$0" && exec touch "$@"'
    names = [f"f{number}" for number in range(10)]
    with ExitStack() as ended:
        for where in (*[tmp_path] * 70, directory):
            held = subprocess.Popen(["cat"], cwd=where, stdin=subprocess.PIPE)
            ended.enter_context(held)
            ended.callback(held.kill)
        run("bash", "-c", make, str(directory), *names, makes=len(names))
    assert set(reported(service)) == {f"{union}/first", *(str(directory / name) for name in names)}


LEFT_BEHIND = (
    "import os, sys\n"
    "fd = os.open(sys.argv[1], os.O_CREAT | os.O_EXCL | os.O_WRONLY)\n"
    "if os.fork() == 0:\n"
    "    os.read(0, 1)\n"
    "    os.write(fd, b'child')\n"
)


def test_file_that_a_program_leaves_to_a_child_is_open_until_the_child_ends(
    run: Start, service: FakeService, union: Path
) -> None:
    """The program ends as soon as the file is there; nobody saw it with the file open."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as pipe:
        agent = run(sys.executable, "-c", LEFT_BEHIND, str(union / "left"), makes=0, stdin=pipe.stdout)
        wait_until(lambda: len(service.open_now()) == 1, "it is open")
        wait_until(lambda: counted(agent.socket) == 1, "it is a stream, as it was until the program ended")
        run(sys.executable, "-c", LOOP, str(union), "100", makes=100)
        assert len(service.open_now()) == 1
        pipe.communicate(b"x")
    run("true", makes=1)
    assert reported(service)[str(union / "left")] == 5


MANY_LEFT_BEHIND = (
    "import os, sys, time\n"
    "for number in range(int(sys.argv[2])):\n"
    "    if os.fork():\n"
    "        continue\n"
    "    os.open(f'{sys.argv[1]}/f{number}', os.O_CREAT | os.O_EXCL | os.O_WRONLY)\n"
    "    time.sleep(number % 60 / 1000)\n"
    "    if os.fork() == 0:\n"
    "        os.read(0, 1)\n"
    "    os._exit(0)\n"
    "for number in range(int(sys.argv[2])):\n"
    "    os.wait()\n"
)


def test_files_stay_open_whenever_it_is_that_their_programs_leave_them_to_children(
    run: Start, service: FakeService, union: Path
) -> None:
    """Right before, between and after the looks of the agent, which are tens of milliseconds apart."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as pipe:
        run(sys.executable, "-c", MANY_LEFT_BEHIND, str(union), "120", makes=0, stdin=pipe.stdout)
        wait_until(
            lambda: len(service.opened_as) == 120, lambda: f"{len(service.opened_as)} of 120 are reported"
        )
        (union / "later").mkdir()
        run(sys.executable, "-c", LOOP, str(union / "later"), "10", makes=10)
        assert len(service.open_now()) == 120
        pipe.communicate(b"x")
    wait_until(lambda: not service.open_now(), lambda: f"{len(service.open_now())} are still open")


def test_thousand_files_leave_no_descriptor_in_the_agent(
    run: Start, service: FakeService, union: Path
) -> None:
    def count(agent: Agent) -> int:
        return len(list(Path(f"/proc/{agent.process.pid}/fd").iterdir()))

    agent = run(sys.executable, "-c", LOOP, str(union), "10", makes=10)
    before = count(agent)
    (union / "more").mkdir()
    run(sys.executable, "-c", LOOP, str(union / "more"), "1000", makes=1000)
    assert len(reported(service)) == 1010
    few = before + 50  # it may keep more connections to the service now
    wait_until(lambda: count(agent) < few, "the agent has about as few descriptors as before")


def test_a_program_that_exits_at_once_leaves_the_number_of_its_job(
    run: Start, service: FakeService, union: Path
) -> None:
    """Of a job that is its user's, as root says on the node; and no other, whatever it names."""
    agent = run("touch", f"{union}/first", SLURM_JOB_ID="4")
    table = Claims(agent.socket, os.getuid())
    table.wait_until_staged()
    for number in range(50):
        record_job(agent.jobs, int(f"47{number}"), os.getuid())
    record_job(agent.jobs, 5, os.getuid() + 1)
    for number in range(50):
        script = ("sh", "-c", 'echo hello > "$0"')
        run(*script, f"{union}/f{number}", wait=number > 39, SLURM_JOB_ID=f"47{number}")
    without = {"long": {"SLURM_JOB_ID": "1" * 65}, "none": {}, "others": {"SLURM_JOB_ID": "5"},
               "unknown": {"SLURM_JOB_ID": "6"}}  # fmt: skip
    for name, environment in without.items():
        for number in range(3):
            run("touch", f"{union}/{name}-{number}", **environment)
    table.detach()
    jobs = {
        opened["path"]: opened["job"]
        for placement in service.placements
        for opened in service.opened(placement)
        if service.restored(placement)[0]["decided_by"] == "program"  # the others asked the agent
    }
    for name in without:
        known = [jobs.pop(path) for path in list(jobs) if path.startswith(f"{union}/{name}-")]
        assert set(known) == {None}, name
    assert len(jobs) > 25
    assert jobs.items() <= {f"{union}/f{number}": f"47{number}" for number in range(50)}.items()
