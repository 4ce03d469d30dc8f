"""The addresses processes listen on, and knocking at them as another user."""

import json
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from ran import ran

KNOCK = """
import encodings.idna, http.client, json, os, socket, sys  # idna: what a connection imports itself

class Local(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(self.path)

user, door, requests = json.loads(sys.stdin.read())
if os.getuid() == 0:
    os.setgroups([])  # only now: the interpreter may lie where the user cannot go
    os.setgid(user)
    os.setuid(user)
said = []
for path, kind, body in requests:
    line = http.client.HTTPConnection("127.0.0.1", door, timeout=60) if isinstance(door, int) else Local(door)
    try:
        line.request("POST", path, body, {"Content-Type": kind, "Accept": "application/sparql-results+json"})
        answer = line.getresponse()
        said.append([answer.status, answer.read().decode("utf-8", "replace")])
    except (OSError, http.client.HTTPException) as error:
        said.append([0, str(error)])
print(json.dumps(said))
"""

Door = int | str
"""A port on loopback, or the path of a socket."""


def family(pid: int) -> list[int]:
    """Return the processes below one."""
    below = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            for child in (task / "children").read_text("utf-8").split():
                below += [int(child), *family(int(child))]
    return below


def doors(pids: Iterable[int]) -> list[Door]:
    """Return where these processes listen."""
    inodes = set()
    for pid in pids:
        for path in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # closed meanwhile; who listens goes on
                target = str(path.readlink())
                if target.startswith("socket:["):
                    inodes.add(target[8:-1])
    listening: list[Door] = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text("utf-8").splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                listening.append(int(fields[1].rpartition(":")[2], 16))
    for line in Path("/proc/net/unix").read_text("utf-8").splitlines()[1:]:
        fields = line.split()
        if len(fields) == 8 and fields[6] in inodes and fields[5] == "01":
            pid = next(pid for pid in pids if (Path(f"/proc/{pid}/cwd") / fields[7]).exists())
            listening.append(str(Path(f"/proc/{pid}/cwd").readlink() / fields[7]))
    return listening


def knock(user: int, door: Door, requests: list[tuple[str, str, str]]) -> list[tuple[int, str]]:
    """Send requests as a user; return status and text of each answer, 0 where there is none."""
    done = ran([sys.executable, "-I", "-c", KNOCK], input=json.dumps([user, door, requests]), cwd="/")
    return [(status, text) for status, text in json.loads(done.stdout)]


def does(act: Callable[[], object], *errors: type[Exception]) -> bool:
    """Return whether it is done without one of these errors."""
    try:
        act()
    except errors:
        return False
    return True
