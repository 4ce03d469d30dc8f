"""Programs under the preload library on the stand-in, with a fake agent that says where files go."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lustre_mount import LustreMount
from ran import ran

sys.path.insert(0, str(Path(__file__).parents[1] / "libses"))

from fake_agent import LUSTRE, Ask, FakeAgent, Report, answer

POOL, LIST, OFFSET = 1, 2, 3
NOBODY = "65534"
PROBE = Path(__file__).parents[1] / "libses/probes/create.c"
AS_NOBODY = ("setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--")


@dataclass
class Site:
    """A mounted stand-in, the library, and an agent that answers as `place` says."""

    lustre: LustreMount
    wrapper: Path
    agent: FakeAgent
    socket: Path
    probe: Path
    place: dict[str, object] = field(default_factory=dict)

    def put(self, form: int, osts: Sequence[int] = (), pool: str = "", **more: object) -> None:
        """Say where the files to come shall go."""
        members = self.lustre.members(pool) if form == POOL and pool else ()
        self.place = {"form": form, "osts": tuple(osts), "pool": pool, "members": members, **more}

    def reply(self, _: Ask, number: int) -> bytes:
        given: dict[str, object] = {"placement_id": number, "backend": LUSTRE, "element": "lfs/chosen"}
        return answer(**{**given, **self.place})  # type: ignore[arg-type]

    def environment(self, *, library: bool = True, **extra: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        given = {"SES_AGENT_SOCKET": str(self.socket), "SES_SYNC_MS": "20000", "SES_LUSTRE_STANDIN": "1"}
        preload = {"LD_PRELOAD": str(self.wrapper)} if library else {}
        return {**kept, **given, **preload, **extra}

    def start(self, *command: str | Path, library: bool = True, **extra: str) -> subprocess.Popen[str]:
        """Start a program in the file system."""
        return subprocess.Popen(
            [str(part) for part in command],
            env=self.environment(library=library, **extra),
            cwd=self.lustre.path,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self,
        *command: str | Path,
        library: bool = True,
        check: bool = True,
        cwd: Path | None = None,
        preexec_fn: Callable[[], None] | None = None,
        **extra: str,
    ) -> str:
        """Run a program and return what it printed, when its conversations are over."""
        done = ran(
            [str(part) for part in command],
            code=None,
            env=self.environment(library=library, **extra),
            cwd=cwd or self.lustre.path,
            preexec_fn=preexec_fn,
        )
        self.agent.settle()
        assert not check or done.returncode == 0, (command, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def create(
        self,
        name: str | Path,
        flags: int = os.O_CREAT | os.O_WRONLY,
        *,
        mode: int = 0o644,
        text: str = "text",
        before: Sequence[str | Path] = (),
        library: bool = True,
    ) -> str:
        """Open a file and write to it; what the program saw of both calls."""
        return self.run(*before, self.probe, "write", str(flags), oct(mode).replace("o", ""), text, name,
                        library=library)  # fmt: skip

    def report(self) -> Report:
        """The only report there was."""
        (report,) = self.agent.reports
        return report


def as_shown(seen: str, file: Path) -> str:
    """What a program saw, with O_ASYNC taken away where Lustre does so: from an open with the delay flag.

    The stand-in tells where that was; FUSE cannot take the bit from what F_GETFL says.
    """
    try:
        delayed = os.getxattr(file, "standin.delayed") == b"1"
    except OSError:
        delayed = False
    words = [
        f"flags={int(word[6:], 8) & ~0o20000:o}" if delayed and word.startswith("flags=") else word
        for word in seen.split()
    ]
    return " ".join(words)
