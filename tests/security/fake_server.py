"""Somebody who took the place of a stopped service: keeps every byte it is sent, and answers politely."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType

from patience import wait_for_answer

_PROGRAM = """
import json, os, socket, sys, threading

user, path = json.loads(sys.argv[1])
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
if path is None:
    server = socket.create_server(("127.0.0.1", 0))
    where = server.getsockname()[1]
else:
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    os.chmod(path, 0o666)
    where = path
print(json.dumps(where), flush=True)
answer = b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: 2\\r\\n\\r\\n{}"

def take(line):
    while heard := line.recv(65536):
        sys.stdout.write(json.dumps(heard.decode("latin-1")) + "\\n")
        sys.stdout.flush()
        line.sendall(answer)

while True:
    line, _ = server.accept()
    sys.stdout.write('"accepted"\\n')
    sys.stdout.flush()
    threading.Thread(target=take, args=(line,), daemon=True).start()
"""


class FakeServer:
    """A process of ``user`` that listens on a port, or at ``path``."""

    def __init__(self, user: int, log: Path, path: Path | None = None) -> None:
        self._log = log
        given = json.dumps([user, None if path is None else str(path)])
        with log.open("wb") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _PROGRAM, given], stdout=out, stderr=subprocess.STDOUT, cwd="/"
            )
        wait_for_answer(self._process, log, lambda: log.read_text("utf-8").endswith("\n"))
        self.where = json.loads(log.read_text("utf-8").splitlines()[0])

    def heard(self) -> str:
        """Return everything it was sent, and ``accepted`` for each connection."""
        return self._log.read_text("utf-8").partition("\n")[2]

    def heard_nothing(self) -> bool:
        """Whether it was sent no byte, over however many connections."""
        return set(self.heard().split()) <= {'"accepted"'}

    def __enter__(self) -> FakeServer:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
