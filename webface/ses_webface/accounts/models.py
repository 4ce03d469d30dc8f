"""Tables of accounts."""

import hashlib

from sqlalchemy import Double, ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from ses_webface.database import Base

NO_PASSWORD = "!"


def digest(text: str) -> str:
    """Return what stands in the database for a key that lets in, or a name: people type passwords there."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


"""In place of a hash: nothing verifies against it."""


class Account(Base):
    """One person.

    ``name`` is the user's name on the nodes, so that requirements saved here are found by that
    user's programs.  A manager is one of the account's own VO.
    """

    __tablename__ = "account"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(256), unique=True)
    vo: Mapped[str | None] = mapped_column(String(256))
    is_admin: Mapped[bool] = mapped_column(default=False)
    is_manager: Mapped[bool] = mapped_column(default=False)
    password_hash: Mapped[str] = mapped_column(String(256))
    created_at: Mapped[float] = mapped_column(Double)


class BrowserSession(Base):
    """One browser somebody is signed in with; its cookie holds the key, this only a digest of it."""

    __tablename__ = "browser_session"

    id: Mapped[int] = mapped_column(primary_key=True)
    key_digest: Mapped[str] = mapped_column(String(64), unique=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), index=True)
    started_at: Mapped[float] = mapped_column(Double)
    seen_at: Mapped[float] = mapped_column(Double, index=True)
    address: Mapped[str] = mapped_column(String(64))


class OneTimeLink(Base):
    """One link that lets somebody in once; without an account, the first administrator."""

    __tablename__ = "one_time_link"

    id: Mapped[int] = mapped_column(primary_key=True)
    key_digest: Mapped[str] = mapped_column(String(64), unique=True)
    account_id: Mapped[int | None] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), index=True)
    ends_at: Mapped[float] = mapped_column(Double)


class Identity(Base):
    """Who an account is at an OIDC provider, which never gives a ``subject`` to somebody else (Core 1.0, 2).

    ``seen_at`` is when they last signed in there; ``None``: so long ago that their tokens were ended.
    """

    __tablename__ = "identity"
    __table_args__ = (UniqueConstraint("issuer", "subject"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    issuer: Mapped[str] = mapped_column(String(512))
    subject: Mapped[str] = mapped_column(String(255))
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), unique=True)
    seen_at: Mapped[float | None] = mapped_column(Double)


class Revocation(Base):
    """Somebody whose personal tokens the service has to revoke; kept until it has.

    The name alone: the account may be gone.
    """

    __tablename__ = "revocation"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(256))


class FailedSignIn(Base):
    """One failed attempt; ``name_key`` is a digest, so that mistyped passwords leave no trace here.

    ``browser`` is set when the browser is known to have signed in under this name before.
    """

    __tablename__ = "failed_sign_in"
    __table_args__ = (
        Index("ix_failed_sign_in_address_at", "address", "at"),
        Index("ix_failed_sign_in_name_key_at", "name_key", "at"),
        Index("ix_failed_sign_in_at", "at"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    name_key: Mapped[str] = mapped_column(String(64))
    address: Mapped[str] = mapped_column(String(64))
    browser: Mapped[str | None] = mapped_column(String(32))
    at: Mapped[float] = mapped_column(Double)
