"""A service from its options: what it stands on is made, started, and ended in turn."""

import pwd
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import click
import structlog
from ses_client.errors import SesError
from ses_client.text_files import read_text, read_toml
from ses_listen.logs import log_to_stderr
from ses_listen.server import Listener, ListenError
from ses_listen.tls import MEND, FollowedTls, TlsError, TlsFiles, files_of, is_local

from ses_service.api.app import create_app
from ses_service.commands.secret_files import secret_line
from ses_service.commands.store_at import store_at
from ses_service.feeds.site_manager import SiteManager
from ses_service.http.server import serve as serve_http
from ses_service.knowledge.errors import InvalidDescriptionError, KnowledgeBaseError
from ses_service.knowledge.knowledge_base import KnowledgeBase
from ses_service.knowledge.last_known import LastKnown
from ses_service.knowledge.store.embedded import EmbeddedStore
from ses_service.knowledge.store.store import HttpStore
from ses_service.members import directory
from ses_service.members.members_file import MembersFile, read_members_file
from ses_service.members.toml_tables import MembersFileError
from ses_service.model.policies import Policies, policies_of
from ses_service.process.clock import SlewedClock
from ses_service.process.runtime import ServiceConfig, runtime
from ses_service.security.munge import Munge, MungeError
from ses_service.security.personal_tokens import PersonalTokenFileError, PersonalTokens
from ses_service.security.sessions import Sessions, session_key
from ses_service.security.tokens import TokenFile, TokenFileError
from ses_service.security.trust import Trust
from ses_service.security.unix_socket import LocalListener, LocalListenerError
from ses_service.store.database import Database, sqlite_url
from ses_service.store.errors import DatabaseError, DatabaseUrlError
from ses_service.store.records import RecordStore
from ses_service.store.set_aside import LEDGER

_log = structlog.get_logger("ses_service")


@dataclass(frozen=True, slots=True)
class Options:
    """What ``ses-service serve`` was asked for, by the names that its help explains."""

    listen: str
    socket: Path | None
    portal_user: str | None
    tls_cert: Path | None
    tls_key: Path | None
    tls_ca: Path | None
    trusted_ca: Path | None
    state_dir: Path
    monitor_url: str | None
    kb_url: str | None
    kb_flavour: str
    kb_credentials_file: Path | None
    site: tuple[Path, ...]
    database_url: str | None
    database_password_file: Path | None
    tokens: Path | None
    munge: bool
    munge_socket: Path | None
    trust_loopback: bool
    members: Path | None
    policies: Path | None
    keep_files: float
    log_level: str


def serve(asked: Options) -> None:
    """Serve until SIGTERM or SIGINT."""
    log_to_stderr(asked.log_level)
    with _wrong_options():
        tls_files = _tls_files(asked)
        policies = _policies(asked.policies)
        listener = Listener(asked.listen, None if tls_files is None else FollowedTls(tls_files))
        config = _config(asked, policies, Trust(asked.trusted_ca, tls_files))
        database = _database(asked)
        members = config.members
        if members is not None and members.ldap is not None:
            directory.check(members.ldap)
    _somebody_can_call(asked, members)
    with ExitStack() as cleanup:
        store = _store(asked, config.trust, cleanup)
        knowledge = KnowledgeBase(store, LastKnown(asked.state_dir / "site.json"))

        def prepare() -> None:
            knowledge.load_ontology()
            if asked.site:
                knowledge.load_files({str(path): read_text(path) for path in asked.site})

        records = RecordStore(database)
        app = create_app(
            replace(config, knowledge=knowledge, knowledge_url=store.url, prepare=prepare, store=records)
        )
        running = runtime(app)
        cleanup.callback(database.close)
        _open(records)
        _read_site(running.site_manager)
        try:
            running.start()
        except DatabaseUrlError as error:
            raise click.ClickException(str(error)) from None
        cleanup.callback(running.stop)
        local = None if asked.socket is None else _local_listener(asked.socket)
        if local is not None:
            cleanup.callback(local.close)

        def ready() -> None:
            _log.info("listening", url=listener.url, socket=str(asked.socket or ""))

        serve_http(app, listener, ready=ready, local=local)
        _log.info("stopped")


@contextmanager
def _wrong_options() -> Iterator[None]:
    """Show in one line what cannot be made of the options."""
    try:
        yield
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


def _config(asked: Options, policies: Policies, trust: Trust) -> ServiceConfig:
    """Return what the application is made from, but for knowledge base and database."""
    tokens, state = TokenFile(asked.tokens) if asked.tokens else None, asked.state_dir
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    personal_tokens = PersonalTokens(state / "personal-tokens.json", time.time)
    sessions = None
    if asked.munge:
        sessions = Sessions(Munge(asked.munge_socket), session_key(state / "session-key"), time.time)
    return ServiceConfig(
        monitor_url=asked.monitor_url,
        tokens=tokens,
        sessions=sessions,
        personal_tokens=personal_tokens,
        trust_loopback=asked.trust_loopback,
        portal_uid=_uid_of(asked.portal_user),
        trust=trust,
        members=None if asked.members is None else read_members_file(asked.members),
        members_state=state / "members.json",
        accounts_state=state / "accounts.json",
        space_state=state / "space.json",
        quota_state=state / "quotas.json",
        runs_state=state / "runs",
        policies=policies,
        keep_files=asked.keep_files * 86400,
        clock=SlewedClock(),
        wall=time.time,
    )


def _database(asked: Options) -> Database:
    file = asked.database_password_file
    url = asked.database_url or sqlite_url(asked.state_dir / LEDGER)
    return Database(url, None if file is None else secret_line(file))


def _somebody_can_call(asked: Options, members: MembersFile | None) -> None:
    if asked.munge_socket is not None and not asked.munge:
        raise click.UsageError("--munge-socket: give --munge too")
    signed_in = members is not None and members.oidc is not None
    if not (asked.tokens or asked.munge or asked.trust_loopback or asked.socket or signed_in):
        raise click.UsageError(
            "nobody could call: give --tokens FILE, --munge or --socket PATH, or --trust-loopback on your "
            "own machine"
        )


def _uid_of(user: str | None) -> int | None:
    """Return a user's number; none where this machine has no such user, as where no portal is installed."""
    try:
        return None if user is None else pwd.getpwnam(user).pw_uid
    except KeyError:
        _log.warning("no such user: the portal needs a token", portal_user=user)
        return None


def _tls_files(asked: Options) -> TlsFiles | None:
    try:
        files = files_of(asked.tls_cert, asked.tls_key, asked.tls_ca)
        if files is None and not is_local(asked.listen):
            raise TlsError(f"it would listen on {asked.listen}, where tokens travel in clear text. {MEND}")
    except TlsError as error:
        raise click.UsageError(str(error)) from None
    return files


def _open(records: RecordStore) -> None:
    """Refuse a ledger of a later service before anything is written elsewhere."""
    try:
        records.open()
    except DatabaseUrlError as error:
        raise click.ClickException(str(error)) from None
    except DatabaseError:
        return  # it is tried again, and logged


def _read_site(site_manager: SiteManager) -> None:
    """Read the site before anybody is answered; one that cannot be read now is read later."""
    try:
        site_manager.refresh()
    except InvalidDescriptionError as error:
        listed = "".join(f"\n  {message}" for message in error.messages)
        raise click.ClickException(f"{error.source} does not describe a site:{listed}") from None
    except SesError as error:
        raise click.ClickException(str(error)) from None
    except KnowledgeBaseError as error:
        _log.warning("knowledge base failed", detail=str(error))


def _local_listener(path: Path) -> LocalListener:
    try:
        return LocalListener(path)
    except LocalListenerError as error:
        raise click.ClickException(str(error)) from None


def _policies(path: Path | None) -> Policies:
    if path is None:
        return Policies()
    try:
        return policies_of(read_toml(path))
    except SesError as error:
        raise click.ClickException(f"--policies: {error}") from None
    except ValueError as error:  # PoliciesError
        raise click.ClickException(f"--policies {path}: {error}") from None


def _store(asked: Options, trust: Trust, cleanup: ExitStack) -> HttpStore:
    if asked.kb_url is None:
        embedded = EmbeddedStore(asked.state_dir / "knowledge")
        cleanup.callback(embedded.stop)
        try:
            return embedded.start(must_answer=False)
        except KnowledgeBaseError as error:
            raise click.ClickException(f"the embedded knowledge base cannot be used: {error}") from None
    return store_at(asked.kb_url, asked.kb_flavour, asked.kb_credentials_file, trust)
