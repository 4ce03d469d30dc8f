"""Tables of accounts."""

from __future__ import annotations

from sqlalchemy import Double, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from ses_webface.database import Base


class Account(Base):
    """One person.

    ``name`` is the user's name on the nodes, so that requirements saved here are found by that
    user's programs.  ``password_version`` grows with every change and ends older sessions.
    """

    __tablename__ = "account"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(64), unique=True)
    vo: Mapped[str | None] = mapped_column(String(128))
    is_admin: Mapped[bool] = mapped_column(default=False)
    password_hash: Mapped[str] = mapped_column(String(256))
    password_version: Mapped[int] = mapped_column(default=1)
    created_at: Mapped[float] = mapped_column(Double)


class FailedSignIn(Base):
    """One failed attempt; ``name_key`` is a digest, so that mistyped passwords leave no trace here."""

    __tablename__ = "failed_sign_in"
    __table_args__ = (Index("ix_failed_sign_in_address_at", "address", "at"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    name_key: Mapped[str] = mapped_column(String(64))
    address: Mapped[str] = mapped_column(String(64))
    at: Mapped[float] = mapped_column(Double)
