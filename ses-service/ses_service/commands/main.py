"""The ``ses-service`` command.  What a command needs is imported when it runs: help comes at once."""

from ses_listen import ctrl_c  # first: it acts while the others are loaded

# isort: split
import sys
from pathlib import Path
from typing import Any

import click
from ses_listen.options import Number, address, listen_option, log_level_option, tls_options
from ses_listen.program import Program

from ses_service.commands.backup import accept_smaller_site, backup, restore
from ses_service.commands.options import existing_file, kb_options
from ses_service.commands.repair_ledger import repair_ledger
from ses_service.commands.tls import tls
from ses_service.commands.tokens import token
from ses_service.commands.undescribed import undescribed

_web_address = address("http://", "https://")


@click.group(cls=Program)
@click.version_option(
    package_name="qstorman-ses-service", prog_name="ses-service", message="%(prog)s %(version)s"
)
def main() -> None:
    """Rank storage elements by what an application needs, and say why."""


@main.command(
    epilog="\b\nExample:\n  ses-service serve --state-dir /var/lib/qstorman/service --site site.ttl"
)
@listen_option("127.0.0.1:8630", "Beyond this machine with --tls-cert only.")
@click.option(
    "--socket",
    type=click.Path(dir_okay=False, path_type=Path),
    help="UNIX socket to serve at, too: programs of this machine need no token there (docs/security.md).",
)
@click.option("--portal-user", help="User who is the portal at the socket and so needs no token there.")
@tls_options
@click.option(
    "--trusted-ca",
    type=existing_file,
    help="Authority (PEM) of monitor and --kb-url with https; to those that ask, --tls-cert is "
    "shown.  [the system's]",
)
@click.option(
    "--state-dir",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Folder for the ledger's database and the embedded knowledge base; made when missing.",
)
@click.option(
    "--monitor-url", callback=_web_address, help="Where smed-monitor serves; without it static facts decide."
)
@click.option("--kb-url", callback=_web_address, help="Knowledge base to use instead of the embedded one.")
@kb_options[0]
@kb_options[1]
@click.option(
    "--site", type=existing_file, multiple=True, help="Turtle file that describes the site; may be repeated."
)
@click.option(
    "--database-url",
    help="Database of the ledger, such as postgresql+psycopg://USER@HOST/NAME.  Several services may share a "
    "PostgreSQL database.  A password is refused here.  [SQLite in --state-dir]",
)
@click.option(
    "--database-password-file",
    type=existing_file,
    help="File, mode 0600, with the database's password; or PGPASSFILE, or a PostgreSQL service file.",
)
@click.option(
    "--tokens",
    type=existing_file,
    help="Token file, mode 0600; see: ses-service token new.  Who has a token of the OIDC issuer of "
    "--members needs none.",
)
@click.option(
    "--munge",
    is_flag=True,
    help="Take MUNGE credentials: agents and users of nodes with the site's MUNGE key need no token "
    "(docs/munge.md).",
)
@click.option(
    "--munge-socket",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where munged listens.  [MUNGE's own default]",
)
@click.option(
    "--trust-loopback",
    is_flag=True,
    help="Requests without a token from this machine act as admin, from any user, if their Host is "
    "localhost or a loopback address and nothing else, and they passed no proxy.  For one's own machine.",
)
@click.option(
    "--members",
    type=existing_file,
    help="TOML file that says which LDAP groups and token claims stand for which VO (docs/members.md).",
)
@click.option(
    "--policies",
    type=existing_file,
    help="TOML file with weights and limits of the decision (docs/reference/decision-settings.md).",
)
@click.option(
    "--keep-files",
    type=Number(min=0),
    default=90.0,
    show_default=True,
    help="Days for which what each file received is kept.",
)
@log_level_option
def serve(**options: Any) -> None:
    """Serve until SIGTERM or SIGINT."""
    ctrl_c.ends_the_process()
    from ses_service.commands.serving import Options
    from ses_service.commands.serving import serve as run

    run(Options(**options))


@main.command(epilog="\b\nExample:\n  ses-service openapi >openapi.yaml")
def openapi() -> None:
    """Print the contract (ses-service/openapi.yaml)."""
    from ses_service.api import contract
    from ses_service.api.app import create_app
    from ses_service.process.runtime import ServiceConfig

    click.echo(contract.document(create_app(ServiceConfig())), nl=False)


main.add_command(token)
main.add_command(tls)
main.add_command(backup)
main.add_command(restore)
main.add_command(accept_smaller_site)
main.add_command(undescribed)
main.add_command(repair_ledger)

ctrl_c.is_an_exception()  # a program that only imports this keeps what it had

if __name__ == "__main__":
    sys.exit(main())
