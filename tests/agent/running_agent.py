"""A real ses-agent under test."""

import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from patience import PATIENCE, wait_until
from program_side import PLACE, Conversation, ask_message


def record_job(directory: Path, job: int, uid: int) -> None:
    """Say whose a job is, as the plugin of Slurm does."""
    directory.mkdir(mode=0o755, exist_ok=True)
    (directory / str(job)).write_text(f"user={uid}\njob={job}\n")
    (directory / str(job)).chmod(0o644)


class Agent:
    """A running ses-agent; ``device`` is that of the files of its tests."""

    def __init__(self, binary: Path, directory: Path, service: str, *options: str, device: int = 0) -> None:
        own = options[options.index("--socket") + 1] if "--socket" in options else None
        self.socket = Path(own) if own else directory / "agent.sock"
        self.log = directory / "agent.log"
        self.device = device
        # A budget only a hang can use up: tests must not depend on speed.
        patience = () if "--answer-ms" in options else ("--answer-ms", "10000")
        self.jobs = directory / "jobs"
        self._command = [
            *(str(binary), "--service", service),
            *(() if own else ("--socket", str(self.socket))),
            *(() if "--state-dir" in options else ("--state-dir", str(directory / "state"))),
            *(() if "--jobs-dir" in options else ("--jobs-dir", str(self.jobs))),
            *("--node", "n1", "--log-level", "debug", *patience, *options),
        ]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self._command, stderr=log)

    def says(self, text: str) -> bool:
        return text in self.log.read_text()

    def was_kept_waiting(self) -> bool:
        """Whether an answer of the service took five seconds, as on a machine that stands still: the
        agent takes it for lost, looks for it at once, and says again what may not have come."""
        return self.says("lost (no reply within")

    def wait_for(self, text: str) -> None:
        """What it said before it ended counts, too."""
        wait_until(lambda: self.says(text) or self.process.poll() is not None, f"the agent says {text!r}")
        assert self.says(text), self.log.read_text()

    def ask(self, application: str = "app", *, device: int | None = None, **details: Any) -> Conversation:
        at = self.device if device is None else device
        return Conversation(self.socket, ask_message(at, application, **details))

    def status(self, application: str = "app", **details: Any) -> int:
        """What a program is told that asks and then makes nothing."""
        with self.ask(application, **details) as conversation:
            return conversation.answer.status

    def places(self) -> bool:
        """Whether it gives a place; what it hangs up on makes the original call."""
        try:
            return self.status() == PLACE
        except (OSError, AssertionError):
            return False

    @contextmanager
    def held(self) -> Iterator[None]:
        """It does nothing meanwhile: what programs say then is there at once when it goes on."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            wait_until(self._has_stopped, "the agent stops")
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def _has_stopped(self) -> bool:
        """One thread is told, and the others go on until it stops them."""
        threads = Path(f"/proc/{self.process.pid}/task").iterdir()
        try:
            return {(thread / "stat").read_text().rpartition(") ")[2][0] for thread in threads} == {"T"}
        except OSError:  # one has ended meanwhile
            return False

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.process.kill()


#: Starts an agent with these options, by default for the fake service, and waits until it says something.
Start = Callable[..., Agent]
