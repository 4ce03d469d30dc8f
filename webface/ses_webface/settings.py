"""What a portal is started with, and the two secret files it reads or makes."""

import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

from ses_client.address import ServiceAddress, read_token

from ses_webface.errors import StartError


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of one portal.

    ``behind_proxy`` trusts one hop of X-Forwarded-For/-Proto/-Host/-Prefix: only for a proxy that sets
    each of them or takes it away.  ``service_ca`` is the authority of an https service; ``tls`` is our
    certificate and key.
    ``members`` is the service's members file, whose OIDC provider signs people in.
    ``service_deadline_seconds`` bounds every call to the selection service.
    """

    state_dir: Path
    database_url: str
    service_url: str
    service_token_file: Path | None = None
    service_ca: Path | None = None
    tls: tuple[Path, Path] | None = None
    behind_proxy: bool = False
    service_deadline_seconds: float = 4.0
    members: Path | None = None
    oidc_secret_file: Path | None = None


_OF_THE_UNIT = Path("/var/lib/qstorman/webface")


def default_state_dir() -> Path:
    """Return the unit's folder, if there is one, else /var/lib/ses-webface; for others than root theirs.

    Raises StartError.
    """
    if os.geteuid() == 0:
        return _OF_THE_UNIT if _OF_THE_UNIT.is_dir() else Path("/var/lib/ses-webface")
    named = os.environ.get("XDG_STATE_HOME")
    try:
        return (Path(named) if named else Path.home() / ".local/state") / "ses-webface"
    except RuntimeError as error:
        raise StartError("It is not known where your home is: set HOME, or give --state-dir.") from error


def prepare_state_dir(state_dir: Path) -> None:
    """Make the state directory (0700) when it is missing; raises StartError when that fails."""
    try:
        state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StartError(
            f"The state directory {state_dir} cannot be made: {error.strerror}. "
            "Choose another with --state-dir."
        ) from error


def secret_key(state_dir: Path) -> bytes:
    """Return the key that signs sessions, made at first start (0600); raises StartError.

    Two portals started at once on one directory end up with the same key: the file is linked
    into place complete, and the one who comes second reads what the first made.
    """
    path = state_dir / "secret-key"
    try:
        if not path.exists():
            draft = state_dir / f".secret-key-{secrets.token_hex(8)}"
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(32))
            try:
                os.link(draft, path)
            except FileExistsError:
                pass
            finally:
                draft.unlink()
        key = private_bytes(path, "secret key")
    except OSError as error:
        raise StartError(f"The secret key {path} cannot be read or made: {error.strerror}.") from error
    if len(key) < 32:
        raise StartError(
            f"The secret key {path} is too short. Remove it: a new one is made at the next start."
        )
    return key


def service_address(settings: Settings) -> ServiceAddress:
    """Return where the service is; raises NotAllowedError when the token cannot be read."""
    if settings.service_token_file is not None:
        read_token(settings.service_token_file)
    shown = settings.tls or (None, None)
    return ServiceAddress(settings.service_url, settings.service_token_file, settings.service_ca, *shown)


def private_bytes(path: Path, what: str) -> bytes:
    """Return what is in a file that only its owner reads; raises OSError, and StartError for another."""
    with path.open("rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise StartError(
                f"The {what} {path} can be read by others (mode {stat.S_IMODE(mode):04o}). "
                f"Close it with: chmod 600 {path}"
            )
        return file.read()
