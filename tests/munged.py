"""munged, each with a socket of its own, and credentials made with them."""

import secrets
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from patience import PATIENCE, wait_for_answer
from ran import ran


class Munged:
    """A munged on the host with the address ``origin``, as far as it knows."""

    def __init__(self, folder: Path, key: bytes, origin: str) -> None:
        self.socket = folder / "socket"
        self._log = folder / "log"
        folder.chmod(0o755)
        file = folder / "key"
        file.touch(0o400)
        file.write_bytes(key)
        self.process = subprocess.Popen(
            [
                *("/usr/sbin/munged", "--foreground", "--force", "--num-threads=2", f"--origin={origin}"),
                *(f"--key-file={file}", f"--socket={self.socket}", f"--pid-file={folder}/pid"),
                *(f"--seed-file={folder}/seed", f"--log-file={self._log}"),
            ],
            stderr=subprocess.DEVNULL,
        )
        wait_for_answer(self.process, self._log, self.socket.exists)

    def credential(self, payload: str, *options: str, user: int = 0) -> str:
        """Return a credential that a user makes here."""
        command = ["/usr/bin/munge", f"--socket={self.socket}", f"--string={payload}", *options]
        done = ran(command, user=user, group=user, extra_groups=[], cwd="/")
        return done.stdout.strip()

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE)


@contextmanager
def running_munged(*origins: str, key: bytes | None = None) -> Iterator[list[Munged]]:
    """Run a munged for each address, all with one key."""
    shared = key or secrets.token_bytes(1024)
    started: list[Munged] = []
    with tempfile.TemporaryDirectory(prefix="qstorman-munge-") as name:
        Path(name).chmod(0o755)
        try:
            for number, origin in enumerate(origins):
                folder = Path(name, str(number))
                folder.mkdir()
                started.append(Munged(folder, shared, origin))
            yield started
        finally:
            for daemon in started:
                daemon.end()
