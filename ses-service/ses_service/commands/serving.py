"""A service from its options: what it stands on is made, started, and ended in turn."""

from __future__ import annotations

import time
import tomllib
from contextlib import ExitStack, suppress
from pathlib import Path

import click
import structlog
from ses_listen.logs import log_to_stderr
from ses_listen.server import Listener, ListenError
from ses_listen.tls import MEND, FollowedTls, TlsError, TlsFiles, files_of, is_local

from ses_service.api.app import create_app
from ses_service.commands.secret_files import secret_line
from ses_service.commands.store_at import store_at
from ses_service.feeds.site_reader import EnvironmentKeeper
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
from ses_service.members.members_file import read_members_file
from ses_service.members.toml_tables import MembersFileError
from ses_service.model.policies import Policies, policies_of
from ses_service.process.clock import SlewedClock
from ses_service.process.runtime import ServiceConfig, runtime
from ses_service.security.munge import Munge, MungeError
from ses_service.security.personal_tokens import PersonalTokenFileError, PersonalTokens
from ses_service.security.sessions import Sessions, session_key
from ses_service.security.tokens import TokenFile, TokenFileError
from ses_service.security.trust import Trust
from ses_service.security.unix_socket import LocalDoor, LocalDoorError
from ses_service.store.database import Database, sqlite_url
from ses_service.store.errors import DatabaseError, DatabaseUrlError
from ses_service.store.records import RecordStore
from ses_service.store.writer_process import WriterProcess

_log = structlog.get_logger("ses_service")


def serve(
    listen: str,
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
    tokens: Path | None,
    munge: bool,
    munge_socket: Path | None,
    trust_loopback: bool,
    members: Path | None,
    policies: Path | None,
    keep_files: float,
    log_level: str,
) -> None:
    """Serve until SIGTERM or SIGINT."""
    log_to_stderr(log_level)
    tls_files = _tls_files(listen, tls_cert, tls_key, tls_ca)
    try:
        chosen_policies = _policies(policies)
        listener = Listener(listen, None if tls_files is None else FollowedTls(tls_files))
        trust = Trust(trusted_ca, tls_files)
        token_file = TokenFile(tokens) if tokens else None
        state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        personal_tokens = PersonalTokens(state_dir / "personal-tokens.json", time.time)
        sessions = None
        if munge:
            sessions = Sessions(Munge(munge_socket), session_key(state_dir / "session-key"), time.time)
        url = database_url or sqlite_url(state_dir / "ledger.db")
        password = None if database_password_file is None else secret_line(database_password_file)
        database = Database(url, password)
        writer = WriterProcess(url, password, database.owner)
        mapping = None if members is None else read_members_file(members)
        if mapping is not None and mapping.ldap is not None:
            directory.check(mapping.ldap)
    except (
        TokenFileError,
        DatabaseUrlError,
        MembersFileError,
        MungeError,
        directory.DirectoryError,
        ListenError,
        TlsError,
        PersonalTokenFileError,
    ) as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from None
    if munge_socket is not None and not munge:
        raise click.UsageError("--munge-socket: give --munge too")
    signed_in = mapping is not None and mapping.oidc is not None
    if not (tokens or munge or trust_loopback or socket or signed_in):
        raise click.UsageError(
            "nobody could call: give --tokens FILE, --munge or --socket PATH, or --trust-loopback on your "
            "own machine"
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
                sessions=sessions,
                personal_tokens=personal_tokens,
                trust_loopback=trust_loopback,
                store=RecordStore(database, writer),
                trust=trust,
                members=mapping,
                members_state=state_dir / "members.json",
                accounts_state=state_dir / "accounts.json",
                space_state=state_dir / "space.json",
                quota_state=state_dir / "quotas.json",
                policies=chosen_policies,
                keep_files=keep_files * 86400,
                clock=SlewedClock(),
                wall=time.time,
            )
        )
        running = runtime(app)
        _open(writer)
        _read_site(running.keeper)
        cleanup.callback(database.close)
        try:
            running.start()
        except DatabaseUrlError as error:
            raise click.ClickException(str(error)) from None
        cleanup.callback(running.stop)
        door = None if socket is None else _door(socket)
        if door is not None:
            cleanup.callback(door.close)

        def ready() -> None:
            _log.info("listening", url=listener.url, socket=str(socket or ""))

        serve_http(app, listener, ready=ready, door=door)
        _log.info("stopped")


def _tls_files(listen: str, cert: Path | None, key: Path | None, ca: Path | None) -> TlsFiles | None:
    try:
        found = files_of(cert, key, ca)
        if found is None and not is_local(listen):
            raise TlsError(f"it would listen on {listen}, where tokens travel in clear text. {MEND}")
    except TlsError as error:
        raise click.UsageError(str(error)) from None
    return found


def _open(writer: WriterProcess) -> None:
    """Refuse a ledger of a later service before anything is written elsewhere."""
    try:
        writer.open()
    except DatabaseUrlError as error:
        raise click.ClickException(str(error)) from None
    except DatabaseError:
        return  # it is tried again, and told


def _read_site(keeper: EnvironmentKeeper) -> None:
    """Read the site before anybody is answered; one that cannot be read now is read later."""
    try:
        keeper.refresh()
    except InvalidDescriptionError as error:
        listed = "".join(f"\n  {message}" for message in error.messages)
        raise click.ClickException(f"{error.source} does not describe a site:{listed}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise click.ClickException(f"the site cannot be read: {error}") from None
    except KnowledgeBaseError as error:
        _log.warning("knowledge base failed", detail=str(error))


def _door(path: Path) -> LocalDoor:
    try:
        return LocalDoor(path)
    except LocalDoorError as error:
        raise click.ClickException(str(error)) from None


def _policies(path: Path | None) -> Policies:
    if path is None:
        return Policies()
    try:
        return policies_of(tomllib.loads(path.read_text("utf-8")))
    except (ValueError, OSError) as error:  # PoliciesError, and what is no TOML or no UTF-8
        raise click.ClickException(f"--policies {path}: {error}") from None


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
            return embedded.start(must_answer=False)
        except KnowledgeBaseError as error:
            raise click.ClickException(f"the embedded knowledge base cannot be used: {error}") from None
    return store_at(url, flavour, credentials_file, trust)
