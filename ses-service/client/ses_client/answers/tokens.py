"""Tokens that people made for themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ses_client.answers.reading import Answer, At, Part


@dataclass(frozen=True, slots=True)
class PersonalToken(Part):
    """A token without its secret; times in seconds since the epoch, ``used`` ``None``: never."""

    name: str
    scope: str
    made: float
    ends: float
    used: float | None


@dataclass(frozen=True, slots=True)
class PersonalTokens(Answer):
    """A person's tokens by name; ``shown`` is the one that this was asked with, if it is one of them."""

    user: str
    shown: str | None
    tokens: tuple[PersonalToken, ...]


@dataclass(frozen=True, slots=True)
class MadeToken(Answer):
    """A token with its secret, which is not told again."""

    secret: Annotated[str, At("token")]
    token: Annotated[PersonalToken, At("")]
