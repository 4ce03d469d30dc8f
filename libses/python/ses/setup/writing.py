"""Writing the configuration of a site: files that are not there yet, tokens, certificates.

Tokens and certificates are made by ``ses-service``, which knows their form.  Nothing is overwritten: what
would be is found before anything is written.  To a description that is there, what it lacks can be added.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from ses_client.errors import SesError

from ses.setup.contents import Answers, texts
from ses.whole_file import write_whole

_SERVICE_USER = "qstorman"
ADMIN = "admin"
"""Whose token is made beside those of nodes."""


def planned(answers: Answers) -> dict[Path, str]:
    """Return each file that is written, with what it is; secrets and certificates among them."""
    here, host = answers.here, answers.hosts[0]
    default = answers.directory / "default"
    what = {
        here / "site.ttl": "the storage, for service and monitor",
        here / "smed.toml": "where the monitor looks",
        default / "ses-service": "options of the service",
        default / "smed-monitor": "options of the monitor",
        default / "ses-webface": "options of the portal",
        here / "tls/ca.pem": "the authority that every client trusts",
        here / "tls/ca-key.pem": "its key; it stays on this machine",
        here / f"tls/{host}.pem": f"the certificate of {', '.join(answers.hosts)}",
        here / f"tls/{host}-key.pem": "its key",
        here / "tokens.toml": "digests of the tokens the service takes",
        here / f"tokens/{ADMIN}.token": "an administrator's token",
        **{here / f"tokens/{node}.token": f"the token of {node}'s agent" for node in answers.nodes},
        here / "node/ses-agent": "options of the agents on the nodes",
    }
    assert set(texts(answers)) <= set(what)
    return what


def write(answers: Answers) -> None:
    """Write everything, or leave nothing of it.

    Raises SesError, before anything is written when something is in the way.
    """
    there = [str(path) for path in planned(answers) if os.path.lexists(path)]
    if there:
        raise SesError(
            f"Nothing was written: {', '.join(there)} {'is' if len(there) == 1 else 'are'} there already. "
            "Move that away, or name another directory. To add a storage system: ses discover --turtle FILE, "
            "then ses kb import --discovered FILE."
        )
    try:
        _write(answers, _service())
    except BaseException:
        _take_back(answers)
        raise


def _write(answers: Answers, service: str) -> None:
    here = answers.here
    try:
        for path, text in texts(answers).items():
            _make_open(path.parent)
            _create(path, text, 0o644)
        (here / "tokens").mkdir(mode=0o700)
    except OSError as error:
        raise SesError(f"{error.filename or path} cannot be written: {error.strerror}.") from error
    tokens = here / "tokens.toml"
    _run(service, "tls", "init", here / "tls", ",".join(answers.hosts))
    admin_token = _run(service, "token", "new", "--tokens", tokens, "--role", "admin", "--name", ADMIN)
    _create(here / f"tokens/{ADMIN}.token", admin_token, 0o600)
    if answers.nodes:
        _run(service, "token", "nodes", "--tokens", tokens, "--directory", here / "tokens", *answers.nodes)
    if os.geteuid() == 0:
        with suppress(KeyError):  # there is no such user where the services run as somebody else
            os.chown(tokens, pwd.getpwnam(_SERVICE_USER).pw_uid, -1, follow_symlinks=False)


def _take_back(answers: Answers) -> None:
    """Remove what was written, so that it can be tried again: nothing of it was there before."""
    for path in planned(answers):
        with suppress(OSError):
            path.unlink()
    for folder in ("tokens", "tls", "node"):
        with suppress(OSError):
            (answers.here / folder).rmdir()


def lacking(answers: Answers) -> str:
    """Return, as Turtle, what the description that is there does not say of the storage; empty: nothing."""
    site = answers.here / "site.ttl"
    if not site.is_file():
        return ""
    return "".join(
        _run(_service(), "undescribed", site, "-", stdin=system.turtle) for system in answers.storage
    )


def extend(answers: Answers, text: str) -> None:
    """Add a text to the description that is there.  Raises SesError."""
    site = answers.here / "site.ttl"
    try:
        write_whole(site, f"{site.read_text('utf-8')}\n{text}")
    except OSError as error:
        raise SesError(f"{site} cannot be written: {error.strerror}.") from error


def _make_open(folder: Path) -> None:
    """Make a folder, and those above it, that the services' user passes, whatever the umask."""
    if not folder.exists():
        _make_open(folder.parent)
        before = os.umask(0o022)
        try:
            folder.mkdir()
        finally:
            os.umask(before)


def _create(path: Path, text: str, mode: int) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), mode)
        file.write(text)


def _service() -> str:
    beside = Path(sys.executable).parent / "ses-service"
    path = str(beside) if beside.exists() else shutil.which("ses-service")
    if path is None:
        raise SesError("ses-service is not installed here. Run ses init on the machine of the service.")
    return path


def _run(*command: str | Path, stdin: str = "") -> str:
    parts = [str(part) for part in command]
    try:
        done = subprocess.run(parts, input=stdin, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SesError(f"{' '.join(parts)} failed: {error}") from error
    if done.returncode != 0:
        raise SesError(f"{' '.join(parts)} failed: {done.stderr.strip()}")
    return done.stdout
