"""Tokens, sessions, accounts, and the message when something cannot be answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from ses_client.messages.message import Absent, Message
from ses_client.messages.selections import Refusal

ScopeName = Annotated[str, "ScopeName"]


class PersonalToken(Message):
    """A token without its secret; ``used`` null: never, else exact to an hour."""

    name: str
    scope: ScopeName
    made: float
    ends: float
    used: float | None = None


class MadeToken(PersonalToken):
    """A token with its secret, which is not shown again."""

    token: str


class PersonalTokens(Message):
    """A person's tokens by name; ``shown`` is the one that this was asked with, null: none of them."""

    user: str
    shown: str | None = None
    tokens: Sequence[PersonalToken]


class Session(Message):
    """A token that is valid for `seconds`, from the address that asked for it.

    `name` is the node, or the user.
    """

    token: str
    seconds: int
    role: str = ""
    name: str = ""


class AccountsTaken(Message):
    """How many accounts were taken, and how many refused."""

    accounts: int
    refused: int


class Located(Message):
    """Where a request is wrong, and how."""

    location: str
    message: str


class Problem(Message):
    """An error (RFC 9457).  ``type`` is ``urn:qstorman:problem:`` and a name."""

    type: str
    title: str
    status: int
    detail: str
    errors: Absent[Sequence[Located]] = None
    refused: Absent[Sequence[Refusal]] = None
