"""``ses-service backup`` and ``restore``: all the knowledge base holds, to a file and from one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from ses_listen.options import address
from ses_listen.owner import become_owner_of, give_to_owner_of

from ses_service.commands.options import existing_file, kb_options, must_hold, state_dir_option

if TYPE_CHECKING:
    from ses_service.knowledge.store.store import HttpStore

_OPTIONS = (
    state_dir_option(
        "Folder of the service whose embedded knowledge base it is; the service may be running."
    ),
    click.option(
        "--kb-url",
        callback=address("http://", "https://"),
        help="Knowledge base that is not embedded.",
    ),
    *kb_options,
    click.option(
        "--trusted-ca",
        type=existing_file,
        help="Authority (PEM) of --kb-url with https.  [the system's]",
    ),
)


def _which(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command(epilog="\b\nExample:\n  ses-service backup --state-dir /var/lib/qstorman/service knowledge.nq")
@_which
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def backup(file: Path, **which: Any) -> None:
    """Write all the knowledge base holds to FILE.

    N-Quads, mode 0600; the store may be in use.  Site, requirements and vocabulary; for the ledger see
    --database-url of ses-service serve.  A backup of one store can be restored to another.
    """
    from ses_service.knowledge.exchange.backup import back_up

    if which["state_dir"] is not None:
        must_hold(which["state_dir"], "knowledge/data")
    with _opened(**which) as store:
        try:
            written = back_up(store, file)
        except OSError as error:
            raise click.ClickException(f"{file} cannot be written: {error.strerror}") from None
        click.echo(f"{written} statements written to {file}")


@click.command(
    epilog="\b\nExample:\n  ses-service restore --state-dir /var/lib/qstorman/service knowledge.nq"
)
@_which
@click.argument("file", type=existing_file)
def restore(file: Path, **which: Any) -> None:
    """Replace all the knowledge base holds by a backup.

    FILE is a backup of any store; one that is not whole changes nothing.  A running service reads what was
    restored within a second.
    """
    from ses_service.knowledge.exchange.backup import restore as restore_from

    with _opened(**which) as store:
        click.echo(f"{restore_from(store, file)} statements restored from {file}")


@click.command(
    "accept-smaller-site",
    epilog="\b\nExample:\n  ses-service accept-smaller-site --state-dir /var/lib/qstorman/service",
)
@state_dir_option("Folder of the service, which is running.", required=True)
def accept_smaller_site(state_dir: Path) -> None:
    """Let the service use a site much smaller than before.

    Counts once, for ten minutes.  A reading with no elements, or fewer than half of the elements or
    requirement sets known before, is not used: the last reading stays in use and /readyz says so.  A site
    that shrinks by an import or an undo through the service is used at once, unless nothing is left of it.
    """
    from ses_service.knowledge.shrinking import Acceptance

    must_hold(state_dir, "knowledge", "site.json")
    try:
        become_owner_of(state_dir)
        Acceptance(state_dir).give()
    except OSError as error:
        raise click.ClickException(str(error)) from None
    click.echo("the next reading is used whatever its size; see /readyz")


@contextmanager
def _opened(
    state_dir: Path | None,
    kb_url: str | None,
    kb_flavour: str,
    kb_credentials_file: Path | None,
    trusted_ca: Path | None,
) -> Iterator[HttpStore]:
    from ses_service.commands.store_at import store_at
    from ses_service.knowledge.errors import KnowledgeBaseError
    from ses_service.knowledge.store.embedded import EmbeddedStore
    from ses_service.security.trust import Trust

    if (state_dir is None) == (kb_url is None):
        raise click.UsageError("say which: --state-dir DIR, or --kb-url URL")
    embedded: EmbeddedStore | None = None
    try:
        if state_dir is not None:
            embedded = EmbeddedStore(state_dir / "knowledge")
            yield embedded.running() or embedded.start()
        else:
            yield store_at(str(kb_url), kb_flavour, kb_credentials_file, Trust(trusted_ca))
    except (KnowledgeBaseError, OSError) as error:
        raise click.ClickException(str(error)) from None
    finally:
        if embedded is not None and state_dir is not None:
            embedded.stop()
            give_to_owner_of(state_dir, state_dir / "knowledge")
