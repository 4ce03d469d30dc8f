"""``ses-service repair-ledger``: what can be read of a damaged ledger, put back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from ses_listen.owner import become_owner_of

from ses_service.commands.options import must_hold, state_dir_option

if TYPE_CHECKING:
    from ses_service.store.database import Database
    from ses_service.store.salvage import Salvaged


@click.command(
    "repair-ledger", epilog="\b\nExample:\n  ses-service repair-ledger --state-dir /var/lib/qstorman/service"
)
@state_dir_option("Folder of the service, which must be stopped.", required=True)
@click.option("--database-url", help="Database of the ledger, if it is SQLite elsewhere.")
def repair_ledger(state_dir: Path, database_url: str | None) -> None:
    """Put back what can be read of a damaged SQLite ledger.

    Says what was lost.  The service must be stopped; nodes place files from what they know meanwhile.
    Nothing is overwritten, and the damaged file is kept.  Called by root it acts as the folder's owner.
    """
    from ses_service.store.database import Database, sqlite_url
    from ses_service.store.errors import DatabaseError, DatabaseInUseError, DatabaseUrlError
    from ses_service.store.salvage import put_back, salvage
    from ses_service.store.set_aside import LEDGER, repaired

    if database_url is None:
        must_hold(state_dir, "ledger.db*")
    become_owner_of(state_dir)
    try:
        database = Database(database_url or sqlite_url(state_dir / LEDGER))
    except DatabaseUrlError as error:
        raise click.ClickException(str(error)) from None
    try:
        _open(database)
        files = database.damaged_files
        for file in reversed(files):  # of what several hold, the latest is put back
            salvaged = salvage(file)
            added = put_back(database, salvaged)
            _tell(file, salvaged, added, repaired(file))
        if not files:
            click.echo(f"{database.name} can be read, and no damaged ledger was set aside")
    except DatabaseInUseError as error:
        raise click.ClickException(f"stop the service first: {error}") from None
    except (DatabaseError, DatabaseUrlError, OSError) as error:
        raise click.ClickException(str(error)) from None
    finally:
        database.close()


def _open(database: Database) -> None:
    from ses_service.store.errors import DatabaseDamagedError
    from ses_service.store.writer import open_tables

    try:
        open_tables(database)
    except DatabaseDamagedError:
        database.set_aside()
        open_tables(database)


def _tell(file: Path, salvaged: dict[str, Salvaged], added: dict[str, int], kept: Path) -> None:
    from ses_service.store.tables import EXPLANATION, FILE, PLACEMENT, SIZE_HISTORY

    click.echo(f"{file.name}:")
    called_by = {
        PLACEMENT.name: "placements",
        EXPLANATION.name: "explanations",
        SIZE_HISTORY.name: "sizes",
        FILE.name: "files that ended",
    }
    for name, called in called_by.items():
        table = salvaged[name]
        lost = f"{len(table.lost)}{'' if table.all_named else ' or more'}"
        click.echo(f"  {called}: {len(table.rows)} read, {added[name]} put back, {lost} lost")
    click.echo(f"  kept as {kept}")
