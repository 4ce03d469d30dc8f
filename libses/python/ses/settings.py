"""Where the service is and which token to show it: option, then environment, then default."""

from __future__ import annotations

import os
from pathlib import Path

from ses_client.address import DEFAULT_URL, ServiceAddress
from ses_client.errors import SesError, UsageError
from ses_client.text_files import read_text

DEFAULT_SOCKET = Path("/run/ses/agent.sock")
SERVICE_SOCKET = Path("/run/qstorman/service.sock")
_NO_HOME = Path("/nonexistent")  # as Debian has it; nothing is found there, and nothing can be written


def current_user() -> str:
    """Return the name of the user who runs this, as the agent would name them."""
    import getpass  # which few commands need

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid-{os.getuid()}"


def own_directory() -> Path:
    """Return where ``ses login`` keeps the token and the service's address of the user who runs this."""
    return _below_home("XDG_CONFIG_HOME", ".config") / "ses"


def own_state() -> Path:
    """Return where commands keep what they learn for the user who runs them."""
    return _below_home("XDG_STATE_HOME", ".local/state") / "qstorman"


def _below_home(variable: str, usual: str) -> Path:
    named = os.environ.get(variable)
    try:
        return Path(named) if named else Path.home() / usual
    except RuntimeError:  # of a user whom the machine does not know, without HOME
        return _NO_HOME / usual


def service_address(url: str | None, token_file: Path | None, ca: Path | None = None) -> ServiceAddress:
    """Fill in what the command line left open.

    The service is the one of ``ses login``, else the socket of this machine's, where there is one.  The token
    file is ``SES_TOKEN_FILE`` or, if it exists, ``~/.config/ses/token``, which is not read here.  Raises
    UsageError for an address that is neither HTTP nor a socket.
    """
    local = f"unix:{SERVICE_SOCKET}" if SERVICE_SOCKET.exists() else DEFAULT_URL
    chosen = (url or os.environ.get("SES_SERVICE_URL") or _service_of_login() or local).rstrip("/")
    if not chosen.startswith(("http://", "https://", "unix:/")):
        raise UsageError(f"The service address {chosen!r} must start with https://, http:// or unix:/.")
    if token_file is None:
        token_file = _configured_token_file()
    from ses_client.munge import munge_of  # loads sockets, which few commands need

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
    usual = own_directory() / "token"
    return usual if os.path.exists(usual) else None  # noqa: PTH110  # a home may be closed to root


def _service_of_login() -> str | None:
    try:
        return read_text(own_directory() / "service").strip()
    except SesError:
        return None
