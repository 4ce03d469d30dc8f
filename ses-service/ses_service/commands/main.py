"""The ``ses-service`` command: serve, print the contract."""

from __future__ import annotations

import sys
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import click
import structlog
from ses_listen.server import ListenError
from ses_listen.tls import MEND, FollowedTls, TlsError, files_of, is_local

from ses_service.api import contract
from ses_service.api.app import create_app
from ses_service.commands.backup import accept_smaller_site, account, backup, restore
from ses_service.commands.repair_ledger import repair_ledger
from ses_service.commands.tls import tls
from ses_service.commands.tokens import token
from ses_service.http.server import numeric_address
from ses_service.http.server import serve as serve_http
from ses_service.knowledge import (
    EmbeddedStore,
    HttpStore,
    InvalidDescriptionError,
    KnowledgeBase,
    KnowledgeBaseError,
    LastKnown,
)
from ses_service.members import directory
from ses_service.members.mapping import read_mapping
from ses_service.members.toml_tables import MembersFileError
from ses_service.model.policies import Policies
from ses_service.process import logs
from ses_service.process.runtime import ServiceConfig, runtime
from ses_service.security.tokens import TokenFile, TokenFileError
from ses_service.security.trust import Trust
from ses_service.security.unix_socket import LocalDoor, LocalDoorError
from ses_service.store.database import Database, sqlite_url
from ses_service.store.errors import DatabaseError, DatabaseUrlError
from ses_service.store.records import RecordStore
from ses_service.store.writer_process import WriterProcess

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class Address(click.ParamType[tuple[str, int]]):
    """``HOST:PORT``; an IPv6 host is written in brackets."""

    name = "HOST:PORT"

    def convert(
        self, value: str | tuple[str, int], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        """Return host and port."""
        if isinstance(value, tuple):
            return value
        host, _, port = value.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 65536:
            self.fail(f"{value!r} is not HOST:PORT, such as 127.0.0.1:8630", param, ctx)
        return host.strip("[]"), int(port)


@click.group()
@click.version_option(contract.VERSION, prog_name="ses-service", message="%(prog)s %(version)s")
def main() -> None:
    """Rank storage elements by what an application needs, and say why."""


@main.command()
@click.option(
    "--listen",
    type=Address(),
    default="127.0.0.1:8630",
    show_default=True,
    help="Where to serve; beyond this machine with --tls-cert only.",
)
@click.option(
    "--socket",
    type=click.Path(dir_okay=False, path_type=Path),
    help="UNIX socket to serve at, too: programs of this machine need no token there (docs/security.md).",
)
@click.option(
    "--tls-cert",
    type=_FILE,
    help="Certificate (PEM), for https; see: ses-service tls init.  A renewed one is shown to connections "
    "made afterwards.",
)
@click.option("--tls-key", type=_FILE, help="Its key (PEM), mode 0600.")
@click.option("--tls-ca", type=_FILE, help="Clients must show a certificate of this authority (PEM).")
@click.option(
    "--trusted-ca",
    type=_FILE,
    help="Authority (PEM) of monitor, peers and --kb-url with https; to those that ask, --tls-cert is "
    "shown.  [the system's]",
)
@click.option(
    "--state-dir",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Folder for the ledger's database and the embedded knowledge base; made when missing.",
)
@click.option("--monitor-url", help="Where smed-monitor serves; without it static facts decide.")
@click.option("--kb-url", help="Knowledge base to use instead of the embedded one.")
@click.option(
    "--kb-flavour",
    type=click.Choice(["fuseki", "oxigraph"]),
    default="fuseki",
    show_default=True,
    help="What serves --kb-url.",
)
@click.option("--kb-credentials-file", type=_FILE, help="File with one line USER:PASSWORD for --kb-url.")
@click.option(
    "--site", type=_FILE, multiple=True, help="Turtle file that describes the site; may be repeated."
)
@click.option(
    "--database-url",
    help="Database of the ledger, such as postgresql+psycopg://USER@HOST/NAME.  One service at a time writes "
    "a database; a second keeps its ledger in memory and says so.  A password is refused here.  "
    "[SQLite in --state-dir]",
)
@click.option(
    "--database-password-file",
    type=_FILE,
    help="File, mode 0600, with the database's password; or PGPASSFILE, or a PostgreSQL service file.",
)
@click.option(
    "--peer",
    multiple=True,
    metavar="URL",
    help="Another active service; may be repeated.  It is told what begins and ends here.",
)
@click.option(
    "--peer-token-file",
    type=_FILE,
    help="File, mode 0600, with the token the peers know us by (role peer); with https only.",
)
@click.option(
    "--tokens",
    type=_FILE,
    help="Token file, mode 0600; see: ses-service token new.  Who has a token of the OIDC issuer of "
    "--members needs none.",
)
@click.option(
    "--trust-loopback",
    is_flag=True,
    help="Requests without a token from this machine act as admin, whoever sends them, if their Host is "
    "localhost or a loopback address and nothing else, and they passed no proxy.  For one's own machine.",
)
@click.option(
    "--members",
    type=_FILE,
    help="TOML file that says which LDAP groups and token claims stand for which VO (docs/members.md).",
)
@click.option("--scarce-tier", multiple=True, help="Tier spent last on small needs; may be repeated.")
@click.option(
    "--max-data-age",
    type=click.FloatRange(min=0.1),
    help="Seconds after which a sample counts as unknown.  [six times as long as samples of its element are "
    "apart, and 10 at least]",
)
@click.option(
    "--keep-files",
    type=click.FloatRange(min=0),
    default=90.0,
    show_default=True,
    help="Days for which what each file received is kept.",
)
@click.option(
    "--log-level",
    type=click.Choice(logs.LEVELS),
    default="info",
    show_default=True,
    help="Least important events to log.",
)
def serve(
    listen: tuple[str, int],
    socket: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_ca: Path | None,
    trusted_ca: Path | None,
    state_dir: Path,
    monitor_url: str | None,
    kb_url: str | None,
    kb_flavour: str,
    kb_credentials_file: Path | None,
    site: tuple[Path, ...],
    database_url: str | None,
    database_password_file: Path | None,
    peer: tuple[str, ...],
    peer_token_file: Path | None,
    tokens: Path | None,
    trust_loopback: bool,
    members: Path | None,
    scarce_tier: tuple[str, ...],
    max_data_age: float | None,
    keep_files: float,
    log_level: str,
) -> None:
    """Serve until SIGTERM or SIGINT."""
    logs.configure(log_level)
    log = structlog.get_logger("ses_service")
    host, port = listen
    try:
        address = numeric_address(host, port)
    except OSError as error:
        raise click.ClickException(f"cannot listen on {host}:{port}: {error.strerror}") from None
    try:
        tls_files = files_of(tls_cert, tls_key, tls_ca)
        if tls_files is None and not is_local(f"{address}:{port}"):
            raise TlsError(f"it would listen on {address}, where tokens travel in clear text. {MEND}")
    except TlsError as error:
        raise click.UsageError(str(error)) from None
    try:
        followed = None if tls_files is None else FollowedTls(tls_files)
        trust = Trust(trusted_ca, tls_files)
        token_file = TokenFile(tokens) if tokens else None
        state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        url, password = database_url or sqlite_url(state_dir / "ledger.db"), _secret(database_password_file)
        database = Database(url, password)
        writer = WriterProcess(url, password, database.owner)
        peer_token = _secret(peer_token_file)
        mapping = None if members is None else read_mapping(members)
        if mapping is not None and mapping.ldap is not None:
            directory.check(mapping.ldap)
    except (
        TokenFileError,
        DatabaseUrlError,
        MembersFileError,
        directory.DirectoryError,
        TlsError,
        OSError,
    ) as error:
        raise click.ClickException(str(error)) from None
    wrong = [one for one in peer if not one.startswith(("http://", "https://"))]
    if wrong:
        raise click.UsageError(f"--peer {wrong[0]} is no URL, such as http://ses2:8630")
    if peer_token and any(not one.startswith("https://") for one in peer):
        raise click.UsageError("--peer-token-file: a token is shown to peers with https only")
    if tokens is None and not trust_loopback and socket is None and (mapping is None or mapping.oidc is None):
        raise click.UsageError(
            "nobody could call: give --tokens FILE or --socket PATH, or --trust-loopback on your own machine"
        )
    with ExitStack() as cleanup:
        cleanup.callback(writer.close)
        with suppress(DatabaseError):  # it is tried again when it is used
            writer.start()
        store = _store(state_dir, kb_url, kb_flavour, kb_credentials_file, trust, cleanup)
        knowledge = KnowledgeBase(store, LastKnown(state_dir / "site.json"))

        def prepare() -> None:
            knowledge.load_ontology()
            if site:
                turtle = "\n".join(path.read_text("utf-8") for path in site)
                knowledge.load_site(turtle, source=", ".join(str(path) for path in site))

        app = create_app(
            ServiceConfig(
                knowledge=knowledge,
                knowledge_url=store.url,
                prepare=prepare,
                monitor_url=monitor_url,
                tokens=token_file,
                trust_loopback=trust_loopback,
                store=RecordStore(database, writer),
                peers=peer,
                peer_token=peer_token,
                trust=trust,
                members=mapping,
                members_state=state_dir / "members.json",
                accounts_state=state_dir / "accounts.json",
                policies=_policies(scarce_tier, max_data_age),
                keep_files=keep_files * 86400,
            )
        )
        running = runtime(app)
        try:
            running.keeper.refresh()
        except InvalidDescriptionError as error:
            listed = "".join(f"\n  {message}" for message in error.messages)
            raise click.ClickException(f"{error.source} does not describe a site:{listed}") from None
        except (OSError, UnicodeDecodeError) as error:
            raise click.ClickException(f"the site cannot be read: {error}") from None
        except KnowledgeBaseError as error:
            log.warning("knowledge base failed", detail=str(error))
        cleanup.callback(database.close)
        try:
            running.start()
        except DatabaseUrlError as error:
            raise click.ClickException(str(error)) from None
        cleanup.callback(running.stop)
        door = None
        if socket is not None:
            try:
                door = LocalDoor(socket)
            except LocalDoorError as error:
                raise click.ClickException(str(error)) from None
            cleanup.callback(door.close)

        def ready() -> None:
            scheme = "http" if followed is None else "https"
            log.info("serving", address=address, port=port, scheme=scheme, socket=str(socket or ""))

        try:
            serve_http(app, address, port, ready=ready, tls=followed, door=door)
        except ListenError as error:  # somebody took the address meanwhile
            raise click.ClickException(str(error)) from None
        log.info("stopped")


def _policies(scarce_tiers: tuple[str, ...], max_data_age: float | None) -> Policies:
    policies = Policies(scarce_tiers=frozenset(scarce_tiers))
    if max_data_age is None:
        return policies
    return replace(policies, max_data_age=max_data_age, sample_intervals=0.0)


def _store(
    state_dir: Path,
    url: str | None,
    flavour: str,
    credentials_file: Path | None,
    trust: Trust,
    cleanup: ExitStack,
) -> HttpStore:
    if url is None:
        embedded = EmbeddedStore(state_dir / "knowledge")
        cleanup.callback(embedded.stop)
        try:
            return embedded.start(insist=False)
        except KnowledgeBaseError as error:
            raise click.ClickException(f"the embedded knowledge base cannot be used: {error}") from None
    if flavour == "oxigraph":
        return HttpStore.for_oxigraph(url, trust=trust)
    return HttpStore.for_fuseki(url, account(credentials_file), trust=trust)


def _secret(path: Path | None) -> str | None:
    """Return the one line of a file that only its owner may read."""
    if path is None:
        return None
    if path.stat().st_mode & 0o077:
        raise click.ClickException(f"{path} is readable by others than its owner; run: chmod 600 {path}")
    return path.read_text("utf-8").strip()


@main.command()
def openapi() -> None:
    """Print the contract (ses-service/openapi.yaml)."""
    click.echo(contract.document(create_app(ServiceConfig())), nl=False)


main.add_command(token)
main.add_command(tls)
main.add_command(backup)
main.add_command(restore)
main.add_command(accept_smaller_site)
main.add_command(repair_ledger)

if __name__ == "__main__":
    sys.exit(main())
