"""Credentials of MUNGE: who runs the command, proven by the munged of this machine (docs/munge.md)."""

from __future__ import annotations

import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ses_client.errors import NotAllowedError

_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Munge:
    """How this machine's munged is asked.

    ``host`` is the name of this machine as the service's knows it; ``at`` the socket, if not the usual one.
    """

    host: str
    at: Path | None = None

    def credential(self) -> str:
        """Return a credential of the caller for one session.  Raises NotAllowedError when there is none."""
        command = ["munge", f"--string=qstorman-session 1 user {self.host}"]
        if self.at is not None:
            command.append(f"--socket={self.at}")
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                timeout=_SECONDS, check=False,
            )  # fmt: skip
        except FileNotFoundError:
            raise NotAllowedError(
                "SES_MUNGE is set, and the command munge is not here: install munge."
            ) from None
        except subprocess.TimeoutExpired:
            raise NotAllowedError(
                f"munged gave no credential within {_SECONDS:.0f} s: see its log."
            ) from None
        if done.returncode != 0:
            reason = (done.stderr.strip() or "no reason given").removeprefix("munge: Error: ")
            raise NotAllowedError(f"munged gave no credential: {reason}. Start it: systemctl start munge")
        return done.stdout.strip()


def munge_of(named: str | None, at: str | None) -> Munge | None:
    """Return what ``SES_MUNGE`` (1, or this host's name; empty or 0: none) and ``SES_MUNGE_SOCKET`` say."""
    if not named or named == "0":
        return None
    return Munge(socket.gethostname() if named == "1" else named, Path(at) if at else None)
