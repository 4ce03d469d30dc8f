"""A process that nobody can look at, or a name service that does not answer, holds up nobody else's files."""

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from fake_service import FakeService
from mounts import let_others_in
from patience import wait_until
from ran import ran
from running_agent import Agent, Start

PROBES = Path(__file__).parent / "probes"
NOBODY = 65534
MIB = 1 << 20
HANGING_NAMES = """
#define _GNU_SOURCE
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int getpwuid_r(uid_t uid, struct passwd *entry, char *text, size_t size, struct passwd **found) {
  static char root[] = "root", nobody[] = "nobody";
  while ((uid != 0 || getenv("NOT_EVEN_ROOT")) && access(getenv("ALL_NAMES_KNOWN"), F_OK) != 0)
    usleep(10000);
  (void)text, (void)size;
  *entry = (struct passwd){.pw_name = uid == 0 ? root : nobody};
  *found = getenv("NOBODY_KNOWN") && access(getenv("NOBODY_KNOWN"), F_OK) == 0 ? NULL : entry;
  return 0;
}
int getpwnam_r(const char *name, struct passwd *entry, char *text, size_t size, struct passwd **found) {
  static char root[] = "root";
  while (getenv("NOT_EVEN_ROOT") && access(getenv("ALL_NAMES_KNOWN"), F_OK) != 0)
    usleep(10000);
  (void)text, (void)size;
  *entry = (struct passwd){.pw_name = root, .pw_uid = strcmp(name, root) == 0 ? 0 : 65534};
  *found = entry;
  return 0;
}
"""

pytestmark = [pytest.mark.root, pytest.mark.usefixtures("_other_users_reach_the_socket")]


@pytest.fixture
def _other_users_reach_the_socket(base: Path) -> None:
    let_others_in(base)


@pytest.fixture
def frozen(base: Path) -> Iterator[tuple[int, int]]:
    """Processes of nobody: one whose memory nobody can read, and one stuck in execve() that shares it."""
    flags = ran(["pkg-config", "--cflags", "--libs", "fuse3"], code=None)
    if flags.returncode != 0:
        pytest.skip("needs libfuse3-dev")
    program, folder = base / "frozen", base / "hanging"
    command = ["cc", "-O1", "-o", program, PROBES / "frozen.c", *shlex.split(flags.stdout), "-lpthread"]
    subprocess.run(command, check=True, timeout=300)
    folder.mkdir()
    serving = subprocess.Popen(
        [program, "serve", "-f", "-o", "allow_other", folder], stderr=subprocess.DEVNULL
    )
    holding = child = None
    try:
        wait_until(lambda: folder.is_mount(), "the file system is mounted")
        holding = subprocess.Popen(
            [program, "hold", folder / "file"],
            stdout=subprocess.PIPE, text=True, user=NOBODY, group=NOBODY, extra_groups=[],
        )  # fmt: skip
        assert holding.stdout
        holder, child = map(int, holding.stdout.readline().split())
        yield holder, child
    finally:
        serving.kill()  # whoever waits for it goes on
        serving.wait()
        if holding:
            holding.kill()
            holding.wait()
        if child:
            with suppress(ProcessLookupError):
                os.kill(child, 9)
        subprocess.run(["umount", "-l", folder], check=False, capture_output=True)


def report_for(agent: Agent, path: Path, pid: int) -> str:
    """Nobody says that a process of its own has a file that it created; the placement."""
    script = (
        "import os, pathlib, sys\n"
        f"sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1])]!r}\n"
        "import program_side as side\n"
        "fd = os.open(sys.argv[1], os.O_PATH)\n"
        "socket = pathlib.Path(sys.argv[2])\n"
        "os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)\n"
        f"conversation = side.Conversation(socket, side.ask_message({agent.device}, 'frozen'))\n"
        "conversation.report(side.CREATED, status=os.fstat(fd), fd=int(sys.argv[3]), descriptors=(fd,))\n"
        "conversation.close()\n"
        "print(conversation.answer.placement)\n"
    )
    command = [sys.executable, "-c", script, path, agent.socket, str(-pid)]
    return ran(command).stdout.strip()


def all_are_known(agent: Agent, service: FakeService, folder: Path, name: str) -> None:
    """Ten files of root are known to the service, and their ends."""
    placements = []
    for number in range(10):
        asked = agent.ask()
        fd = asked.create(folder / f"{name}{number}")
        placements.append(asked.answer.placement)
        wait_until(lambda: service.opened(placements[-1]), "the file is known")
        os.close(fd)
    for placement in placements:
        service.wait_for_end(placement)


@pytest.mark.timeout(600)
def test_a_process_that_nobody_can_look_at_holds_up_no_files_of_others(
    agent: Agent, service: FakeService, tmp_path: Path, frozen: tuple[int, int]
) -> None:
    for number, pid in enumerate(frozen):
        path = tmp_path / f"of-nobody-{number}"
        path.touch()
        os.chown(path, NOBODY, NOBODY)
        report_for(agent, path, pid)
        all_are_known(agent, service, tmp_path, f"beside-{number}-")


@pytest.fixture
def hanging_names(base: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Agents that start meanwhile know no name but that of root until the file ``known`` is there."""
    source, library = base / "names.c", base / "names.so"
    source.write_text(HANGING_NAMES)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True, timeout=300)
    with monkeypatch.context() as environment:
        environment.setenv("LD_PRELOAD", str(library))
        environment.setenv("ALL_NAMES_KNOWN", str(base / "known"))
        yield environment


@pytest.mark.timeout(600)
def test_a_name_that_is_not_known_holds_up_the_files_of_its_user_only(
    start: Start, service: FakeService, tmp_path: Path, base: Path, hanging_names: pytest.MonkeyPatch
) -> None:
    agent = start("--answer-ms", "2000")  # so long a question of nobody waits for the name
    hanging_names.undo()
    path = tmp_path / "of-nobody"
    path.touch()
    os.chown(path, NOBODY, NOBODY)
    with path.open("wb") as file:
        holder = subprocess.Popen(
            ["sleep", "infinity"], stdout=file, user=NOBODY, group=NOBODY, extra_groups=[]
        )
    try:
        held_back = report_for(agent, path, holder.pid)
        all_are_known(agent, service, tmp_path, "beside-")
        os.truncate(path, 64 * MIB)
        asked = agent.ask()
        os.ftruncate(asked.create(tmp_path / "grows"), 64 * MIB)
        wait_until(lambda: service.bytes_of(asked.answer.placement) == 64 * MIB, "sizes are reported")
        assert service.opened(held_back) == [], "not under another name"
        wait_until(lambda: service.is_idle(asked.answer.placement), "nothing more is said of it")
        service.kill()
        service.forget()
        service.revive()
        wait_until(lambda: service.open_now() == {asked.answer.placement}, "another service hears of others")
        (base / "known").touch()
        wait_until(lambda: service.opened(held_back), "the user's name is known")
        wait_until(lambda: service.bytes_of(held_back) == 64 * MIB, "what it grew by meanwhile is reported")
    finally:
        holder.kill()
        holder.wait()
    service.wait_for_end(held_back)


def test_files_of_a_restarted_agent_stay_open_while_no_name_is_known(
    start: Start, service: FakeService, tmp_path: Path, base: Path, hanging_names: pytest.MonkeyPatch
) -> None:
    (base / "known").touch()
    first = start()
    asked = first.ask()
    fd = asked.create(tmp_path / "kept")
    placement = asked.answer.placement
    wait_until(lambda: service.opened(placement), "it is reported")
    first.process.kill()
    first.process.wait()
    (base / "known").unlink()
    hanging_names.setenv("NOT_EVEN_ROOT", "1")
    start(until="of 1 placed files that were open, 1 still are")
    count = len(service.announcements())
    wait_until(lambda: len(service.announcements()) >= count + 3, "it announces itself")
    assert service.ended(placement) == []
    (base / "known").touch()
    os.close(fd)
    service.wait_for_end(placement)
    assert [end["reason"] for end in service.ended(placement)] == ["closed"]


@pytest.mark.long
def test_users_keep_their_names_while_a_name_service_restarts(
    start: Start, service: FakeService, tmp_path: Path, base: Path, hanging_names: pytest.MonkeyPatch
) -> None:
    """It says then that there is no such user; names are asked for again after a minute."""
    (base / "known").touch()
    hanging_names.setenv("NOBODY_KNOWN", str(base / "restarts"))
    agent = start()

    def user_of(name: str) -> str:
        asked = agent.ask()
        os.close(asked.create(tmp_path / name))
        (opened,) = wait_until(lambda: service.opened(asked.answer.placement), "it is reported")
        return str(opened["user"])

    assert user_of("before") == "root"
    (base / "restarts").touch()
    end = time.monotonic() + 65
    while time.monotonic() < end:
        assert user_of(f"at-{time.monotonic()}") == "root"
        time.sleep(3)
