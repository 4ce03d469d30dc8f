"""Links that work once: the first administrator makes an account with one, others choose their password.

The database holds a digest of the key alone.  A further link for the same account withdraws the one before.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import delete, func, select

from ses_webface.accounts.models import Account, OneTimeLink, digest
from ses_webface.accounts.people import Person
from ses_webface.accounts.services import AccountService, account_of, check_name, check_password
from ses_webface.database import Database

FIRST_SECONDS = 86400.0
INVITED_SECONDS = 3 * 86400.0


@dataclass(frozen=True, slots=True)
class Offer:
    """What a link is for: the password of an account, or the first administrator's (``name`` is None)."""

    name: str | None


class LinkService:
    """All links of one database.  ``clock`` gives seconds since the epoch."""

    def __init__(self, database: Database, accounts: AccountService, clock: Callable[[], float]) -> None:
        self._database = database
        self._accounts = accounts
        self._clock = clock

    def for_first(self) -> str | None:
        """Return the key of a link for the first administrator; None when there is an account."""
        with self._database.session() as session:
            if session.scalar(select(func.count()).select_from(Account)):
                return None
        return self._made(None, FIRST_SECONDS)

    def for_account(self, name: str) -> str:
        """Return the key of a link by which somebody chooses a password; raises AccountError."""
        with self._database.session() as session:
            account_id = account_of(session, name).id
        return self._made(account_id, INVITED_SECONDS)

    def find(self, key: str) -> Offer | None:
        """Return what a link is for, and None for one that is unknown, used or over."""
        with self._database.session() as session:
            row = session.execute(
                select(OneTimeLink, Account.name)
                .outerjoin(Account, Account.id == OneTimeLink.account_id)
                .where(OneTimeLink.key_digest == digest(key), OneTimeLink.ends_at > self._clock())
            ).one_or_none()
            if row is None:
                return None
            link, name = row
            is_late = link.account_id is None and session.scalar(select(func.count()).select_from(Account))
            return None if is_late else Offer(name)

    def use(self, key: str, name: str, password: str) -> Person | None:
        """Make the first administrator, or set the password of the link's account; None for no such link.

        Of two at the same moment one is let in.  Raises AccountError, and the link stays.
        """
        offer = self.find(key)
        if offer is None:
            return None
        check_name(offer.name or name)
        check_password(offer.name or name, password)
        with self._database.session() as session:
            used = session.scalars(
                delete(OneTimeLink)
                .where(OneTimeLink.key_digest == digest(key), OneTimeLink.ends_at > self._clock())
                .returning(OneTimeLink.id)
            ).all()
        if not used:
            return None
        if offer.name is None:
            return self._accounts.add(name, password, is_admin=True)
        return self._accounts.set_password(offer.name, password)

    def _made(self, account_id: int | None, seconds: float) -> str:
        key = secrets.token_urlsafe(32)
        with self._database.session() as session:
            same = OneTimeLink.account_id.is_not_distinct_from(account_id)
            session.execute(delete(OneTimeLink).where(same))
            session.add(
                OneTimeLink(key_digest=digest(key), account_id=account_id, ends_at=self._clock() + seconds)
            )
        return key
