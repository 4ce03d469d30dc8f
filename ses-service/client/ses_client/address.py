"""Where the service is, and what is shown to it: token, certificate."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ses_client.errors import NotAllowedError

if TYPE_CHECKING:
    from ses_client.munge import Munge

DEFAULT_URL = "http://127.0.0.1:8630"


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """The service's base URL without a trailing slash, and the token file (``None``: no token).

    ``unix:`` and a path is a socket of this machine.  ``ca`` is the authority (PEM) of an https service, if
    not the system's; ``certificate`` and ``key`` are shown to one that asks for them.  Without a token,
    ``munge`` names the caller.
    """

    url: str = DEFAULT_URL
    token_file: Path | None = None
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    munge: Munge | None = None

    @property
    def secret(self) -> bool:
        """Whether a token is sent."""
        return self.token_file is not None or self.munge is not None


def read_token(path: Path) -> str:
    """Return the token in a file.

    Raises NotAllowedError when the file cannot be read, is readable by others, or holds anything
    but one word of printable ASCII.
    """
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            content = file.read(4096)
    except OSError as error:
        raise NotAllowedError(f"The token file {path} cannot be read: {error.strerror}.") from error
    if mode & 0o077:
        raise NotAllowedError(
            f"The token file {path} is open to others (mode {mode:04o}). Close it: chmod 600 {path}"
        )
    token = content.decode("utf-8-sig", "replace").strip()
    if not token or any(not 33 <= ord(character) <= 126 for character in token):
        raise NotAllowedError(f"The token file {path} must hold one token and nothing else.")
    return token
