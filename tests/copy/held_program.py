"""A program that strace stops behind a call of it, until a test lets it go on."""

import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from patience import wait_until


class Held:
    """Begun, and stopped as a whole as soon as a thread of it has made so many such calls."""

    def __init__(
        self,
        call: str,
        *command: str | Path,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        when: int = 1,
    ) -> None:
        strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}"]
        strace += ["-e", f"inject={call}:signal=SIGSTOP:when={when}"]
        self._process = subprocess.Popen(
            [*strace, *command], cwd=cwd, env=env, stderr=subprocess.PIPE, text=True
        )

    def go_on(self) -> tuple[int, str]:
        """Let it go on; its exit status, and what it said.

        Told again and again: what strace has not stopped yet would stop after it was told.
        """
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")

        def ended() -> tuple[int, str] | None:
            for child in children.read_text().split():
                with suppress(ProcessLookupError):
                    os.kill(int(child), signal.SIGCONT)
            with suppress(subprocess.TimeoutExpired):
                _, said = self._process.communicate(timeout=0.2)
                return self._process.returncode, said
            return None

        outcome = wait_until(ended, "it ends")
        assert outcome is not None
        return outcome
