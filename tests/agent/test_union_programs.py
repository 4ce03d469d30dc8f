"""Programs on a union with the agent have the results that they have on the union alone."""

import errno
import math
import os
import pwd
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import program_side as side
import pytest
from fake_service import FakeService
from mounts import small_disk
from patience import wait_until
from ran import ran
from running_agent import Agent, Start

pytestmark = pytest.mark.root

NOBODY, ALICE = 65534, 4242
MIB = 1 << 20


def environment(agent: Agent, library: Path) -> dict[str, str]:
    return {
        **{"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C", "LD_PRELOAD": str(library)},
        **{"SES_AGENT_SOCKET": str(agent.socket), "SES_SYNC_MS": "20000"},
    }


SWEEPS = ("find .", "du -a .", "grep -r x .", "tar cf - .", "ls -R .")


def test_a_sweep_by_another_user_meets_nothing_that_it_may_not_read(
    agent: Agent, open_way: Path, branches: dict[str, Path], public_wrapper: Path
) -> None:
    agent.ask().close()
    where = [open_way, *branches.values()]
    for directory in where:
        directory.chmod(0o1777)
    for uid in (0, ALICE):
        script = f"for n in 1 2 3 4; do echo x > {uid}-$n; done"
        subprocess.run(
            ["sh", "-c", script], cwd=open_way, env=environment(agent, public_wrapper), user=uid, check=True
        )
    assert all((branch / ".ses" / str(ALICE)).is_dir() for branch in branches.values())
    for directory in where:
        for sweep in SWEEPS:
            done = ran(
                ["sh", "-c", f"{sweep} > /dev/null"], code=None, cwd=directory, user=NOBODY,
                group=NOBODY, extra_groups=[],
            )  # fmt: skip
            assert (done.returncode, done.stderr) == (0, ""), (directory, sweep)


REMOVED_BEFORE_CREATE = """
import os, sys, time
for n in range(3):
    for branch in sys.argv[1:]:
        os.rmdir(f"{branch}/.ses/{os.getuid()}")
    open(f"shared-{n}", "x").close()
    time.sleep(1.1)
"""
CREATES = "for n in $(seq {n}); do echo > {name}-$n; sleep ${{SLEEP-0.5}}; done"


def placed(log: Path) -> int:
    lines = log.read_text().splitlines()
    assert [line for line in lines if ": placed on union/" not in line] == []
    return len(lines)


UNDER = pytest.mark.parametrize("under", [(), ("unshare", "--ipc")], ids=["chosen", "asked"])  # sees no table


@UNDER
def test_a_file_is_placed_though_another_node_removed_the_staging_directories(
    agent: Agent, open_way: Path, branches: dict[str, Path], public_wrapper: Path, base: Path,
    under: tuple[str, ...],
) -> None:  # fmt: skip
    """Nodes share the branches, and the last process of the user has ended on one of them."""
    agent.ask().close()
    wait_until(lambda: all((branch / ".ses/0").is_dir() for branch in branches.values()), "they are there")
    log = base / "placed.log"
    subprocess.run(
        [*under, sys.executable, "-c", REMOVED_BEFORE_CREATE, *map(str, branches.values())], cwd=open_way,
        env={**environment(agent, public_wrapper), "SES_LOG": str(log)}, check=True, timeout=60,
    )  # fmt: skip
    assert placed(log) == 3


@pytest.mark.long
def test_a_node_leaves_staging_directories_to_others_that_use_them(
    start: Start, open_way: Path,
    branches: dict[str, Path], public_wrapper: Path, base: Path,
) -> None:  # fmt: skip
    nodes = [start(), start()]
    for directory in (open_way, *branches.values()):
        directory.chmod(0o1777)
    logs = []
    made: list[int] = []
    for number, creates in enumerate((2, 30)):  # 15 s, and the first node waits for 10
        logs.append(base / f"placed-{number}" / "log")
        logs[-1].parent.mkdir()
        logs[-1].parent.chmod(0o777)
        subprocess.run(
            ["sh", "-c", CREATES.format(n=creates, name=number)], cwd=open_way, user=ALICE, check=True,
            env={**environment(nodes[number], public_wrapper), "SES_LOG": str(logs[-1])}, timeout=120,
        )  # fmt: skip
        made.append(min((branch / f".ses/{ALICE}").stat().st_ino for branch in branches.values()))
    assert [placed(log) for log in logs] == [2, 30]
    assert made[0] == made[1], "the first node has removed none"
    own = [branch / f".ses/{ALICE}" for branch in branches.values()]
    wait_until(lambda: not any(staging.exists() for staging in own), "all of the user's go", 30.0)


def announced(service: FakeService) -> list[dict[str, str]]:
    """What the agent said of elements that some users cannot use."""
    tables = [table for request in service.requests for table in request.body.get("tables", ())]
    return [
        exclusion
        for table in tables
        for exclusion in table.get("excluded", ())
        if exclusion["user"] is not None
    ]


def on_of(agent: Agent) -> str:
    with agent.ask() as conversation:
        return str(conversation.answer.element)


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT, errno.EPERM])
def test_a_branch_that_refused_a_file_is_left_out_for_its_user(
    agent: Agent, service: FakeService, branches: dict[str, Path], error: int
) -> None:
    """For nobody else: whatever a program says, it misleads its own user alone."""
    with agent.ask() as conversation:
        refused = conversation.answer.element
        conversation.report(side.NOT_CREATED, error=error)
    agent.wait_for(f"branch {branches[refused]} is not used for uid {os.getuid()} for 30 s")
    assert agent.says(os.strerror(error))
    why = f"a file could not be made there: {os.strerror(error)}"
    said = {"element": refused, "why": why, "user": pwd.getpwuid(os.getuid()).pw_name}
    wait_until(lambda: said in announced(service), "the service hears of it")
    assert {on_of(agent) for _ in range(4)} == set(branches) - {refused}


AGAIN = 30.0  # seconds, as in libses/agent/claims/user_stages.cpp


def test_a_branch_whose_staging_directories_were_removed_is_looked_at_whatever_was_there(
    agent: Agent, branches: dict[str, Path]
) -> None:
    """As by an administrator who mends what kept files from it."""
    with agent.ask() as conversation:
        refused = conversation.answer.element
        conversation.report(side.NOT_CREATED, error=errno.EPERM)
    agent.wait_for(f"branch {branches[refused]} is not used for uid {os.getuid()} for 30 s")
    top = branches[refused] / ".ses"
    (top / str(os.getuid())).rmdir()
    top.rmdir()
    wait_until(lambda: on_of(agent) == refused, "it is used again", AGAIN / 2)


READ_ONLY = """
for branch in {branches}; do mount --bind $branch $branch; mount -o remount,bind,ro $branch; done
exec setpriv --reuid {user} --clear-groups sh -c 'echo > inside-1; echo > inside-2; echo > inside-3'
"""
OF_OTHERS = (
    "exec setpriv --reuid {user} --clear-groups sh -c 'for n in 1 2 3; do echo > others/inside-$n; done'"
)


@pytest.mark.parametrize("script", [READ_ONLY, OF_OTHERS], ids=["read-only", "group-of-others"])
def test_what_one_program_may_not_do_keeps_no_branch_from_others_of_its_user(
    agent: Agent, open_way: Path, branches: dict[str, Path], public_wrapper: Path, base: Path, script: str
) -> None:
    """One sees the branches read-only, as services and containers do; one makes files in a directory that
    hands on a group which its user is not in."""
    for directory in (open_way, *branches.values()):
        directory.chmod(0o1777)
    (others := open_way / "others").mkdir()
    os.chown(others, 0, 1234)
    others.chmod(0o2777)
    logs = [base / "logs" / name for name in ("before", "inside", "outside")]
    logs[0].parent.mkdir()
    logs[0].parent.chmod(0o777)
    outside = ["setpriv", "--reuid", str(ALICE), "--clear-groups", "sh", "-c"]
    inside = script.format(branches=" ".join(map(str, branches.values())), user=ALICE)
    commands = [
        [*outside, "echo > before-1; echo > before-2"],
        ["unshare", "--mount", "sh", "-ec", inside],
        [*outside, CREATES.format(n=4, name="outside")],
    ]
    for command, log in zip(commands, logs, strict=True):
        way = environment(agent, public_wrapper) | {"SES_LOG": str(log)}
        subprocess.run(command, cwd=open_way, env=way, check=True, timeout=60)
    assert [line for line in logs[1].read_text().splitlines() if "a step failed" not in line] == []
    assert placed(logs[2]) == 4
    assert not agent.says("is not used for uid")


def test_a_create_through_another_mount_of_the_union_says_nothing_of_the_branch(
    agent: Agent, branches: dict[str, Path]
) -> None:
    """The user's other programs go on with it: nothing is looked at, or made, again."""
    with agent.ask() as conversation:
        staging = branches[conversation.answer.element] / f".ses/{os.getuid()}"
        staging.rmdir()
        conversation.report(side.NOT_CREATED, error=errno.EXDEV)
        conversation.wait_for_end()
    agent.ask().close()
    assert not staging.exists()


SPARED = 0.2  # seconds, as in libses/agent/claims/user_stages.cpp


def test_a_program_to_which_the_branches_are_hidden_has_them_looked_at_seldom(
    agent: Agent, open_way: Path, branches: dict[str, Path], public_wrapper: Path, base: Path
) -> None:
    """While they are looked at, no program of the user chooses them."""
    agent.ask().close()
    calls = base / "calls"
    traced = ["strace", "-f", "-qq", "-e", "trace=mkdirat", "-o", calls, "-p", str(agent.process.pid)]
    status = Path(f"/proc/{agent.process.pid}/status")
    hide = "; ".join(f"mount -t tmpfs none {branch}" for branch in branches.values())
    with subprocess.Popen(traced) as tracer:
        wait_until(lambda: f"TracerPid:\t{tracer.pid}\n" in status.read_text(), "it is traced")
        begun = time.monotonic()
        subprocess.run(
            ["unshare", "--mount", "sh", "-c", f"{hide}; {CREATES.format(n=60, name='hidden')}"], check=True,
            cwd=open_way, env={**environment(agent, public_wrapper), "SLEEP": "0.01"}, timeout=100,
        )  # fmt: skip
        seconds = time.monotonic() - begun
        tracer.terminate()
    looks = calls.read_text().count(f'"{os.getuid()}"')
    assert 0 < looks <= len(branches) * (2 + seconds / SPARED)


class Disks:
    """Branches that are file systems of their own, of which the service hears a little late."""

    def __init__(self, service: FakeService, paths: dict[str, Path]) -> None:
        self._service, self._paths = service, paths
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tell, daemon=True)
        for element, path in paths.items():
            space = os.statvfs(path)
            service.facts[element] = {"size": float(space.f_blocks * space.f_frsize)}
        self._look()
        self._thread.start()

    def free(self) -> dict[str, int]:
        looked_at = {element: os.statvfs(path) for element, path in self._paths.items()}
        return {element: space.f_bavail * space.f_frsize for element, space in looked_at.items()}

    def _look(self) -> None:
        for element, free in self.free().items():
            self._service.loads[element] = {"free": float(free)}

    def _tell(self) -> None:
        while not self._over.wait(0.5):
            self._look()

    def close(self) -> None:
        self._over.set()
        self._thread.join()


@pytest.fixture
def sizes() -> tuple[int, ...]:
    return (48, 64, 96)


class TestRoom:
    @pytest.fixture
    def branches(self, base: Path, sizes: tuple[int, ...]) -> Iterator[dict[str, Path]]:
        with ExitStack() as mounts:
            yield {
                f"union/b{number}": mounts.enter_context(small_disk(base / f"b{number}", size))
                for number, size in enumerate(sizes, 1)
            }

    @pytest.fixture
    def union_options(self) -> str:
        return "use_ino,category.create=mfs"

    @UNDER
    @pytest.mark.parametrize("files", [15, pytest.param(300, marks=pytest.mark.long)])
    def test_no_file_of_unknown_size_finds_less_room_than_on_the_union_alone(
        self, start: Start, service: FakeService, union: Path,
        branches: dict[str, Path], sizes: tuple[int, ...], public_wrapper: Path, files: int,
        under: tuple[str, ...],
    ) -> None:  # fmt: skip
        """After many small ones; on branches as full as chance has it."""
        dice = random.Random(36)
        small = {"application": None, "requirements": [], "room_bytes": 100e3, "expected_from": "history"}
        service.needs["root"] = ("g1", [small])
        service.pace = 0.2
        disks = Disks(service, branches)
        agent = start(until="storage system union is mounted")
        with agent.ask() as conversation:
            largest = max(service.facts[element]["size"] for element in branches)
            assert conversation.answer.least_free_mib == math.ceil(0.6 * largest / MIB)
        with agent.ask(expected_bytes=5 * MIB) as conversation:
            assert conversation.answer.least_free_mib == 5
        placed = 0
        try:
            for number in range(files):
                for branch, size in zip(branches.values(), sizes, strict=True):
                    with (branch / "fill").open("wb") as fill:
                        os.posix_fallocate(fill.fileno(), 0, int(dice.random() ** 2 * 0.95 * size * MIB) + 1)
                most = max(disks.free().values()) - MIB
                length = min(int(10 ** dice.uniform(3, 8)), int(0.6 * max(sizes) * MIB))
                done = ran(
                    [*under, "fallocate", "-l", str(length), f"f{number}"], code=None, cwd=union,
                    env=environment(agent, public_wrapper),
                )  # fmt: skip
                assert done.returncode == 0 or length > most, (number, length, disks.free(), done.stderr)
                (union / f"f{number}").unlink(missing_ok=True)
            wait_until(lambda: files == 15 or len(service.placements) > 0, "some were placed")
        finally:
            disks.close()
        placed = len(service.placements)
        print(f"{placed} of {files} placed")
