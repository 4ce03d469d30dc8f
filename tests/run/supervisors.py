"""The processes of ses-run --supervise, by their roles."""

from contextlib import suppress
from pathlib import Path

from mergerfs_union import Union
from patience import wait_until

MAX_SECONDS = 60


def supervisors(union: Union) -> dict[int, str]:
    """The processes that supervise for programs of this union, by their role."""
    roles = {}
    marker = f"SES_AGENT_SOCKET={union.socket}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if words[0] not in (b"ses-supervisor", b"ses-standby"):
                continue
            if marker in (process / "environ").read_bytes().split(b"\0"):
                roles[int(process.name)] = words[1].decode()
    return roles


WATCHDOGS = {"start": "watchdog", "successor": "watchdog"}


def state_of(pid: int) -> str:
    """As ps(1) says it: R runs, S sleeps, Z has ended; nobody has asked how."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except (FileNotFoundError, ProcessLookupError):
        return "gone"


def has_stopped(pid: int) -> bool:
    """One thread is told, and the others go on until it stops them."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    try:
        return {(thread / "stat").read_text().rpartition(") ")[2][0] for thread in threads} == {"T"}
    except OSError:  # one has ended meanwhile
        return False


def by_role(union: Union) -> dict[str, list[int]]:
    """Worker, watchdog and standby; one that starts has its starter's name."""
    processes: dict[str, list[int]] = {}
    for pid, role in supervisors(union).items():
        processes.setdefault(WATCHDOGS.get(role, role), []).append(pid)
    return processes


def wait_for_all(union: Union, spare: int = 0) -> dict[str, list[int]]:
    """All three roles, once there are no more processes than these and those to spare."""

    def all_roles() -> dict[str, list[int]]:
        running = by_role(union)
        return running if len(running) == 3 and sum(map(len, running.values())) <= 3 + spare else {}

    return wait_until(all_roles, lambda: f"all three roles: {by_role(union)}", MAX_SECONDS, every=0.001)


def is_gone(pid: int) -> bool:
    """Who inherited it may be an init that asks every other second only."""
    return state_of(pid) in ("Z", "X", "gone")


def wait_until_gone(pid: int) -> None:
    wait_until(lambda: is_gone(pid), f"{pid} lives on")


def wait_for_end(union: Union) -> None:
    wait_until(lambda: not supervisors(union), "the supervisor outlives the program")
    union.agent.settle()
