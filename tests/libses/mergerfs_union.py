"""A mounted mergerfs union with a fake agent, and the running of programs on it."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from fake_agent import FakeAgent
from ran import ran

NOBODY = 65534


@dataclass
class Union:
    """A mergerfs mount over plain directories, and the fake that places files on it."""

    path: Path
    branches: list[Path]
    agent: FakeAgent
    wrapper: Path
    socket: Path

    def environment(self, *, library: bool = True, **extra: str) -> dict[str, str]:
        """The environment of a program; with a budget that only a hang can use up."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        given = {**kept, "SES_AGENT_SOCKET": str(self.socket), "SES_SYNC_MS": "20000", **extra}
        if library:
            given["LD_PRELOAD"] = str(self.wrapper)
        return given

    def run(
        self,
        *command: str | Path,
        library: bool = True,
        check: bool = True,
        cwd: Path | None = None,
        **extra: str,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program, in the union unless told otherwise, and wait for its conversations to end."""
        done = ran(
            [str(part) for part in command],
            code=None,
            env=self.environment(library=library, **extra),
            cwd=cwd or self.path,
        )
        self.agent.settle()
        assert not check or done.returncode == 0, (command, done.returncode, done.stdout, done.stderr)
        return done

    def copies(self, path: Path) -> list[int]:
        """The branches (counted from 0) on which a file of the union lies."""
        inside = path.relative_to(self.path)
        return [i for i, branch in enumerate(self.branches) if os.path.lexists(branch / inside)]
