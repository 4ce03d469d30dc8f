"""What views reach for: the objects one application was made with, and who is signed in."""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeAlias, cast
from zoneinfo import ZoneInfo

from flask import abort, current_app, g, request
from ses_client.client import ServiceClient
from ses_client.errors import SesError, UnavailableError, UnreachableError
from ses_client.messages.vocabulary import Vocabulary
from werkzeug.wrappers import Response

from ses_webface.accounts.identities import IdentityService
from ses_webface.accounts.links import LinkService
from ses_webface.accounts.oidc import OidcSignIn
from ses_webface.accounts.people import Person
from ses_webface.accounts.revocations import RevocationService
from ses_webface.accounts.services import AccountService
from ses_webface.accounts.sessions import SessionService
from ses_webface.database import Database
from ses_webface.metrics import Metrics
from ses_webface.moments import zone_named

Page: TypeAlias = str | tuple[str, int] | tuple[str, int, dict[str, str]] | Response
"""What a view answers."""

ZONE_COOKIE = "ses_webface_zone"
_UTC = ZoneInfo("UTC")


class Places:
    """How many requests do something that few may do at once.  For any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._taken = 0

    def take(self, *, of: int) -> bool:
        """Take one, unless ``of`` are taken; the caller gives it back."""
        with self._lock:
            is_free = self._taken < of
            self._taken += is_free
        return is_free

    def give_back(self) -> None:
        """Leave it to another."""
        with self._lock:
            self._taken -= 1


@dataclass(slots=True)
class Portal:
    """The parts of one application; ``clock`` gives seconds since the epoch.

    ``vocabulary`` is what the service answered last, for as long as it does not answer.
    """

    database: Database
    accounts: AccountService
    sessions: SessionService
    links: LinkService
    identities: IdentityService
    revocations: RevocationService
    oidc: OidcSignIn | None
    selection: ServiceClient
    metrics: Metrics
    clock: Callable[[], float]
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    hashing: Places = field(default_factory=Places)


def portal() -> Portal:
    """Return the parts of the running application."""
    return cast(Portal, current_app.extensions["ses_webface"])


def person() -> Person:
    """Return who is signed in; only views that require signing in may call it."""
    return cast(Person, g.person)


def administrators_only() -> None:
    """Answer 403 to anybody else."""
    if not person().is_admin:
        abort(403)


def service() -> ServiceClient:
    """Return the selection service, asked for who is signed in."""
    return portal().selection.acting(person().name)


def note_away(error: SesError) -> None:
    """Remember for the rest of this request that the service cannot be reached, if this error says so."""
    if isinstance(error, UnreachableError):
        g.away = error


def away() -> SesError | None:
    """Return why the service could not be reached earlier in this request: nobody waits for it again."""
    return cast("SesError | None", g.get("away"))


def words() -> Vocabulary:
    """Return the vocabulary, read once per request: the last one known while the service is away."""
    if "vocabulary" not in g:
        try:
            portal().vocabulary = service().vocabulary()
        except SesError as error:
            g.vocabulary_problem = error
            note_away(error)
        g.vocabulary = portal().vocabulary
    return cast(Vocabulary, g.vocabulary)


def vocabulary() -> Vocabulary:
    """Return the vocabulary for a form; raises SesError when none is known."""
    known = words()
    if not known.kinds:
        problem = g.get("vocabulary_problem")
        raise problem or UnavailableError("The selection service describes no kind of requirement.")
    return known


def zone() -> ZoneInfo:
    """Return the time zone of who looks at the page, as the browser sent it in a cookie; else UTC."""
    return zone_named(request.cookies.get(ZONE_COOKIE)) or _UTC
