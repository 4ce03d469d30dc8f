"""The knowledge base that ``--kb-url`` names, and whether a password may go there."""

from pathlib import Path
from urllib.parse import urlsplit

import click
from ses_listen.tls import TlsError, is_local

from ses_service.commands.secret_files import secret_line
from ses_service.knowledge.store.store import HttpStore
from ses_service.security.trust import Trust


def store_at(url: str, flavour: str, credentials_file: Path | None, trust: Trust) -> HttpStore:
    """Return the client of a store; raises ``click.UsageError`` where its password could be overheard."""
    if flavour == "oxigraph":
        return HttpStore.for_oxigraph(url, trust=trust)
    account = _account(credentials_file)
    if account is not None and not _is_proven(url):
        raise click.UsageError(
            f"--kb-credentials-file: the password would go to {url} in clear text. Serve the knowledge base"
            " by https (ontology/README.md says how), name its authority by --trusted-ca and give --kb-url"
            " https://..., or run it on this machine and give http://127.0.0.1:PORT/..."
        )
    return HttpStore.for_fuseki(url, account, trust=trust)


def _is_proven(url: str) -> bool:
    """Whether what is sent to an address reaches the one it names, or at least stays on this machine."""
    try:
        parts = urlsplit(url)
        return parts.scheme == "https" or is_local(f"{parts.hostname or '0.0.0.0'}:0")
    except (ValueError, TlsError):
        return False


def _account(path: Path | None) -> tuple[str, str] | None:
    """Return user and password of a file that holds one line USER:PASSWORD."""
    if path is None:
        return None
    user, colon, password = secret_line(path).partition(":")
    if not colon or not user:
        raise click.ClickException(f"{path} must hold one line USER:PASSWORD")
    return user, password
