"""Who signs in by a provider: known by issuer and subject, never by a name that a provider lets them choose.

OpenID Connect Core 1.0, 5.7: of all claims only these two, together, stand for one person for ever.
"""

from collections.abc import Callable

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from ses_webface.accounts.models import NO_PASSWORD, Account, Identity, OneTimeLink
from ses_webface.accounts.people import Person, person_of
from ses_webface.accounts.revocations import end_credentials
from ses_webface.accounts.services import AccountError, AccountService, account_of
from ses_webface.database import Database


class IdentityService:
    """All identities of one database.  ``clock`` gives seconds since the epoch."""

    def __init__(self, database: Database, accounts: AccountService, clock: Callable[[], float]) -> None:
        self._database = database
        self._accounts = accounts
        self._clock = clock

    def sign_in(self, issuer: str, subject: str, name: str) -> tuple[Person, bool]:
        """Return whose identity this is, and whether it was new; raises AccountError.

        A new one gets a new account of that name.  An account that is there is never given to it, except
        one that only a provider's sign-in can have made, before identities were kept: without a password,
        role and link.
        """
        with self._database.session() as session:
            row = session.execute(
                select(Identity, Account)
                .join(Account, Account.id == Identity.account_id)
                .where(Identity.issuer == issuer, Identity.subject == subject)
            ).one_or_none()
            if row is not None:
                identity, account = row
                identity.seen_at = self._clock()
                return person_of(account), False
        if self._accounts.named(name) is None:
            self._accounts.add(name, None)
        with self._database.session() as session:
            account = account_of(session, name)
            if not _is_unclaimed(session, account):
                raise AccountError(
                    f"There is an account {name} here that is not yours by this sign-in. If it is, ask an "
                    f"administrator to link it to your subject at the provider: {subject}"
                )
            self._bind(session, account, issuer, subject)
            return person_of(account), True

    def link(self, name: str, issuer: str, subject: str) -> None:
        """Let an identity sign in as an account, in place of the one before; raises AccountError."""
        with self._database.session() as session:
            account = account_of(session, name)
            whose = session.scalar(
                select(Account.name)
                .join(Identity, Account.id == Identity.account_id)
                .where(Identity.issuer == issuer, Identity.subject == subject, Account.id != account.id)
            )
            if whose is not None:
                raise AccountError(f"This is {whose}'s subject: remove that account first.")
            if session.execute(delete(Identity).where(Identity.account_id == account.id)).rowcount:  # type: ignore[attr-defined]
                end_credentials(session, account)
            self._bind(session, account, issuer, subject)

    def of(self, name: str) -> str | None:
        """Return the subject an account signs in with, if it has one."""
        with self._database.session() as session:
            return session.scalar(
                select(Identity.subject)
                .join(Account, Account.id == Identity.account_id)
                .where(Account.name == name)
            )

    def _bind(self, session: Session, account: Account, issuer: str, subject: str) -> None:
        session.add(Identity(issuer=issuer, subject=subject, account_id=account.id, seen_at=self._clock()))


def _is_unclaimed(session: Session, account: Account) -> bool:
    if account.password_hash != NO_PASSWORD or account.is_admin or account.is_manager:
        return False
    others = (
        select(table.id).where(table.account_id == account.id).limit(1) for table in (Identity, OneTimeLink)
    )
    return all(session.scalar(other) is None for other in others)
