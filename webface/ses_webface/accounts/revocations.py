"""Personal tokens end with their owner's account, password and role.

What has to be revoked is written with the change itself, in one transaction, and kept until the service has
done it: a service that is away, or a change by the command line, loses nothing.
"""

from collections.abc import Callable

from ses_client.client import ServiceClient
from ses_client.errors import SesError, UnreachableError
from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from ses_webface.accounts.models import Account, BrowserSession, Identity, OneTimeLink, Revocation
from ses_webface.database import Database

UNSEEN_SECONDS = 90 * 86400.0
"""After so long without a sign-in a provider may know its owner no more, and the account's tokens end."""


class RevocationService:
    """What is still to be revoked, in one database, and the service that does it."""

    def __init__(self, database: Database, selection: ServiceClient, clock: Callable[[], float]) -> None:
        self._database = database
        self._selection = selection
        self._clock = clock

    def settle(self, name: str | None = None) -> None:
        """Revoke what is pending, of one person or of all; what fails is kept, and raises its SesError."""
        with self._database.session() as session:
            pending = session.execute(select(Revocation.id, Revocation.name)).all()
        wanted = {user for _id, user in pending if name in (None, user)}
        failed: SesError | None = None
        for entry in sorted(wanted):
            try:
                self._selection.acting(entry).revoke_tokens()
            except UnreachableError:
                raise
            except SesError as error:  # of this one: the others' end all the same
                failed = error
                continue
            with self._database.session() as session:
                done = [user for user, whose in pending if whose == entry]
                session.execute(delete(Revocation).where(Revocation.id.in_(done)))
        if failed is not None:
            raise failed

    def try_to_settle(self, name: str) -> str:
        """Revoke what is pending of a person; return a sentence for who asked for it."""
        try:
            self.settle(name)
        except SesError:
            return f"The tokens of {name} end as soon as the service answers again."
        return f"The tokens of {name} are revoked."

    def end_unseen(self) -> None:
        """Request the same for all who have not signed in at the provider for too long."""
        with self._database.session() as session:
            late = session.execute(
                select(Identity, Account.name)
                .join(Account, Account.id == Identity.account_id)
                .where(Identity.seen_at < self._clock() - UNSEEN_SECONDS)
            )
            for identity, name in late.all():
                identity.seen_at = None
                session.add(Revocation(name=name))

    def request(self, name: str) -> None:
        """Keep that all tokens of a person are to be revoked."""
        with self._database.session() as session:
            session.add(Revocation(name=name))


def end_credentials(
    session: Session, account: Account, *, sessions: bool = True, tokens: bool = True
) -> None:
    """End what an account's owner could still act by: links, ``sessions`` and ``tokens``.

    Browsers may stay signed in where only the role changes: each of their requests asks for it anew.
    """
    withdraw_links(session, account.id)
    if tokens:
        session.add(Revocation(name=account.name))
    if sessions:
        session.execute(delete(BrowserSession).where(BrowserSession.account_id == account.id))


def withdraw_links(session: Session, account_id: int | None = None) -> None:
    """Withdraw the links of one account, or all, which an administrator who is none any more may know."""
    which = update(OneTimeLink).values(ends_at=0.0)
    session.execute(which if account_id is None else which.where(OneTimeLink.account_id == account_id))
