"""The ``ses-webface`` command: serve the portal, manage accounts, upgrade the database.

What a command needs is imported when it runs: help comes at once.
"""

from __future__ import annotations

from ses_listen import ctrl_c  # first: it acts while the others are loaded

# isort: split
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from ses_listen.options import address, listen_option, log_level_option, tls_options
from ses_listen.program import Program

from ses_webface.settings import Settings, default_state_dir, prepare_state_dir

if TYPE_CHECKING:
    from ses_webface.accounts.services import AccountService
    from ses_webface.accounts.sessions import SessionService
    from ses_webface.database import Database
    from ses_webface.portal import Portal

Command = TypeVar("Command", bound=Callable[..., Any])


def _database_options(command: Command) -> Command:
    for option in (
        click.option(
            "--state-dir",
            type=click.Path(path_type=Path, file_okay=False),
            default=default_state_dir,
            envvar="SES_WEBFACE_STATE_DIR",
            show_envvar=True,
            show_default="/var/lib/qstorman/webface, if it is there, else /var/lib/ses-webface; for others "
            "than root ~/.local/state/ses-webface",
            help="Where the secret key and, by default, the database lie.  Called by root, all commands but "
            "serve act as its owner.",
        ),
        click.option(
            "--database-url",
            envvar="SES_WEBFACE_DATABASE_URL",
            show_envvar=True,
            show_default="SQLite in the state directory",
            help="sqlite:///FILE or postgresql://HOST/NAME. Give a password by PGPASSFILE, not here.",
        ),
    ):
        command = option(command)
    return command


def _url(state_dir: Path, database_url: str | None) -> str:
    prepare_state_dir(state_dir)
    return database_url or f"sqlite:///{state_dir.resolve() / 'webface.sqlite3'}"


def _database(state_dir: Path, database_url: str | None) -> Database:
    opened = _as_served(state_dir, database_url)
    opened.upgrade()
    return opened


def _as_served(state_dir: Path, database_url: str | None) -> Database:
    """Return the database as the user who serves has it; root becomes that user."""
    from ses_listen.owner import become_owner_of

    from ses_webface.database import Database

    url = _url(state_dir, database_url)
    become_owner_of(state_dir)
    return Database(url)


def _accounts(state_dir: Path, database_url: str | None) -> AccountService:
    from ses_webface.accounts.services import AccountService

    return AccountService(_database(state_dir, database_url), time.time)


def _sessions(state_dir: Path, database_url: str | None) -> SessionService:
    from ses_webface.accounts.sessions import SessionService

    return SessionService(_database(state_dir, database_url), time.time)


class _Group(Program):
    """Shows the portal's own errors as one line, without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        from ses_client.errors import SesError
        from ses_listen.server import ListenError
        from ses_listen.tls import TlsError

        from ses_webface.errors import WebfaceError

        try:
            return super().invoke(ctx)
        except (WebfaceError, ListenError, TlsError, SesError) as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_Group)
@click.version_option(
    package_name="qstorman-webface", prog_name="ses-webface", message="%(prog)s %(version)s"
)
def main() -> None:
    """QStorMan portal: say what your applications need from storage, see where files went."""


@main.command(epilog="\b\nExample:\n  ses-webface serve --service-url unix:/run/qstorman/service.sock")
@listen_option("127.0.0.1:8632", "Beyond this machine with --tls-cert or --behind-proxy only.")
@tls_options
@click.option(
    "--service-url",
    callback=address("http://", "https://", "unix:/"),
    default="http://127.0.0.1:8630",
    show_default=True,
    help="The selection service: https, unix: and the path of its socket, or http on this machine; to one "
    "that asks for a certificate, --tls-cert is shown.",
)
@click.option(
    "--service-token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File (0600) with the portal's token for the service.",
)
@click.option(
    "--service-ca",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Authority (PEM) of an https service.  [the system's]",
)
@click.option(
    "--members",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The service's members file: people sign in at the provider of its table [oidc], whose audience is "
    "the portal's client id, and come back to /sign-in/oidc/back.",
)
@click.option(
    "--oidc-secret-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File (0600) with the client secret, where the provider gave one.",
)
@_database_options
@click.option(
    "--behind-proxy",
    is_flag=True,
    help="A proxy in front speaks https: trust its X-Forwarded-*, and listen where it is.",
)
@click.option(
    "--threads", type=click.IntRange(1, 64), default=8, show_default=True, help="Requests served at once."
)
@log_level_option
def serve(
    listen: str,
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_ca: Path | None,
    state_dir: Path,
    database_url: str | None,
    behind_proxy: bool,
    threads: int,
    log_level: str,
    **settings: Any,
) -> None:
    """Serve the portal; brings its database up to date first."""
    ctrl_c.ends_the_process()
    from ses_listen.logs import log_to_stderr
    from ses_listen.tls import MEND, TlsError, files_of, is_local

    from ses_webface.accounts.account_sync import AccountSync
    from ses_webface.app import create_app
    from ses_webface.server import serve as run_server

    log_to_stderr(log_level)
    tls = files_of(tls_cert, tls_key, tls_ca)
    if tls is None and not behind_proxy and not is_local(listen):
        raise TlsError(
            f"It would listen on {listen}, where passwords travel in clear text. {MEND}  Or serve behind a "
            "proxy that speaks https, and say so: --behind-proxy"
        )
    app = create_app(
        Settings(
            state_dir=state_dir,
            database_url=_url(state_dir, database_url),
            tls=None if tls is None else (tls.certificate, tls.key),
            behind_proxy=behind_proxy,
            **settings,
        )
    )
    parts: Portal = app.extensions["ses_webface"]
    sync = AccountSync(parts.accounts, parts.selection, parts.revocations)

    def started(port: int) -> None:
        sync.start()
        key = parts.links.for_first()
        if key is not None:
            link = _link(listen, port, key, tls=tls is not None)
            click.echo(f"No account yet. The first administrator opens, once and within a day: {link}")

    run_server(app, listen, threads=threads, started=started, tls=tls)


def _link(listen: str, port: int, key: str, *, tls: bool) -> str:
    """Return the address of a link as seen from this machine, by its name where it listens on all."""
    import socket

    host = listen.rpartition(":")[0]
    if host in ("0.0.0.0", "[::]", "", "*"):
        host = socket.getfqdn()
    return f"{'https' if tls else 'http'}://{host}:{port}/welcome/{key}"


@main.group()
def database() -> None:
    """The portal's own database."""


@database.command("upgrade", epilog="\b\nExample:\n  ses-webface database upgrade")
@_database_options
def upgrade(state_dir: Path, database_url: str | None) -> None:
    """Bring the tables up to this version."""
    before, after = _as_served(state_dir, database_url).upgrade()
    click.echo(f"{before or 'empty'} -> {after}" if before != after else f"{after}: nothing to do")


@main.group()
def account() -> None:
    """People who may sign in."""


_TOKENS_END = "Their tokens end within half a minute of a portal that serves and reaches its service."

_password_option = click.option(
    "--password-stdin", is_flag=True, help="Read the password from standard input instead of asking."
)


@account.command("add", epilog="\b\nExample:\n  ses-webface account add alice --vo materials")
@click.argument("name")
@click.option("--vo", help="Virtual organisation whose defaults apply.  [as the site describes]")
@click.option(
    "--admin", is_flag=True, help="May edit the requirements of VOs and of the site, and see all files."
)
@click.option("--manager", is_flag=True, help="May edit the requirements of their VO, and see its files.")
@_password_option
@_database_options
def add(
    name: str,
    vo: str | None,
    admin: bool,
    manager: bool,
    password_stdin: bool,
    state_dir: Path,
    database_url: str | None,
) -> None:
    """Add an account.  NAME is the user's name on the nodes.

    The portal reports its VO to the service within half a minute (docs/members.md).
    """
    accounts = _accounts(state_dir, database_url)
    person = accounts.add(name, _password(password_stdin), vo=vo, is_admin=admin, is_manager=manager)
    click.echo(f"{person.name} may sign in{f' as {person.role}' if person.role else ''}.")


@account.command("list", epilog="\b\nExample:\n  ses-webface account list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@_database_options
def list_accounts(as_json: bool, state_dir: Path, database_url: str | None) -> None:
    """List all accounts."""
    people = _accounts(state_dir, database_url).everybody()
    if as_json:
        rows = [
            {"name": person.name, "vo": person.vo, "admin": person.is_admin, "manager": person.is_manager}
            for person in people
        ]
        click.echo(json.dumps(rows))
        return
    for person in people:
        click.echo(f"{person.name:24} {person.vo or '-':16} {person.role}".rstrip())


@account.command("password", epilog="\b\nExample:\n  ses-webface account password alice")
@click.argument("name")
@_password_option
@_database_options
def password(name: str, password_stdin: bool, state_dir: Path, database_url: str | None) -> None:
    """Set a password; sessions, links and tokens end."""
    _accounts(state_dir, database_url).set_password(name, _password(password_stdin))
    click.echo(f"The password of {name} is changed. {_TOKENS_END}")


@account.command("remove", epilog="\b\nExample:\n  ses-webface account remove alice")
@click.argument("name")
@_database_options
def remove(name: str, state_dir: Path, database_url: str | None) -> None:
    """Remove an account; its requirements stay in the knowledge base.

    Its sessions, links and tokens end.
    """
    _accounts(state_dir, database_url).remove(name)
    click.echo(f"{name} may no longer sign in. {_TOKENS_END}")


@main.group()
def session() -> None:
    """Browsers people are signed in with."""


@session.command("list", epilog="\b\nExample:\n  ses-webface session list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@_database_options
def list_sessions(as_json: bool, state_dir: Path, database_url: str | None) -> None:
    """List who is signed in.

    With since when, last seen when (to a minute), and from which address.
    """
    sessions = _sessions(state_dir, database_url).everybody()
    if as_json:
        click.echo(json.dumps([asdict(session) for session in sessions]))
        return
    for session in sessions:
        click.echo(
            f"{session.name:24} {_moment(session.started_at)}  {_moment(session.seen_at)}  {session.address}"
        )


@session.command("end", epilog="\b\nExample:\n  ses-webface session end alice")
@click.argument("name")
@_database_options
def end_sessions(name: str, state_dir: Path, database_url: str | None) -> None:
    """Sign the account NAME out everywhere."""
    count = _sessions(state_dir, database_url).end_all(name)
    click.echo(f"{count} session{'' if count == 1 else 's'} of {name} ended.")


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%MZ")


def _password(from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    return str(click.prompt("Password", hide_input=True, confirmation_prompt=True))


ctrl_c.is_an_exception()  # a program that only imports this keeps what it had
