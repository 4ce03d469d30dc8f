"""Where the service is and which token to show it: option, then environment, then default."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from ses.errors import NotAllowedError, UsageError
from ses.munge import Munge, munge_of

DEFAULT_URL = "http://127.0.0.1:8630"
DEFAULT_SOCKET = Path("/run/ses/agent.sock")
SERVICE_SOCKET = Path("/run/qstorman/service.sock")


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """The service's base URL without a trailing slash, and the token file (``None``: no token).

    ``unix:`` and a path is a socket of this machine.  ``ca`` is the authority (PEM) of an https service, if
    not the system's; ``certificate`` and ``key`` are shown to one that asks for them.
    """

    url: str = DEFAULT_URL
    token_file: Path | None = None
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    munge: Munge | None = None


def service_address(url: str | None, token_file: Path | None, ca: Path | None = None) -> ServiceAddress:
    """Fill in what the command line left open.

    The service is the socket of this machine's, where there is one.  The token file is ``SES_TOKEN_FILE`` or,
    if it exists, ``~/.config/ses/token``.  Nothing is read here.  Raises UsageError for an address that is
    neither HTTP nor a socket.
    """
    local = f"unix:{SERVICE_SOCKET}" if SERVICE_SOCKET.exists() else DEFAULT_URL
    chosen = (url or os.environ.get("SES_SERVICE_URL") or local).rstrip("/")
    if not chosen.startswith(("http://", "https://", "unix:/")):
        raise UsageError(f"The service address {chosen!r} must start with https://, http:// or unix:/.")
    if token_file is None:
        token_file = _configured_token_file()
    munge = munge_of(os.environ.get("SES_MUNGE"), os.environ.get("SES_MUNGE_SOCKET"))
    return ServiceAddress(
        chosen,
        token_file,
        ca or _path("SES_SERVICE_CA"),
        _path("SES_TLS_CERT"),
        _path("SES_TLS_KEY"),
        # A socket's other end knows the caller by the kernel.
        munge if token_file is None and not chosen.startswith("unix:") else None,
    )


def _path(variable: str) -> Path | None:
    named = os.environ.get(variable)
    return Path(named) if named else None


def _configured_token_file() -> Path | None:
    named = os.environ.get("SES_TOKEN_FILE")
    if named:
        return Path(named)
    usual = Path(os.environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser()) / "ses" / "token"
    return usual if usual.exists() else None


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
        raise NotAllowedError(
            f"The token file {path} cannot be read: {error.strerror}. Name another with --token-file."
        ) from error
    if mode & 0o077:
        raise NotAllowedError(
            f"The token file {path} is open to others (mode {mode:04o}). Close it: chmod 600 {path}"
        )
    token = content.decode("ascii", "replace").strip()
    if not token or any(not 33 <= ord(character) <= 126 for character in token):
        raise NotAllowedError(f"The token file {path} must hold one token and nothing else.")
    return token
