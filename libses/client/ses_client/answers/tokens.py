"""Tokens that people made for themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ses_client.answers.reading import JSON, Answer, maybe_number, maybe_text, number


@dataclass(frozen=True, slots=True)
class PersonalToken:
    """A token without its secret; times in seconds since the epoch, ``used`` ``None``: never."""

    name: str
    scope: str
    made: float
    ends: float
    used: float | None

    @classmethod
    def of(cls, data: Any) -> PersonalToken:
        """Make one from JSON."""
        return cls(
            name=str(data["name"]),
            scope=str(data["scope"]),
            made=number(data["made"]),
            ends=number(data["ends"]),
            used=maybe_number(data["used"]),
        )


@dataclass(frozen=True, slots=True)
class PersonalTokens(Answer):
    """A person's tokens by name; ``shown`` is the one that this was asked with, if it is one of them."""

    user: str
    shown: str | None
    tokens: tuple[PersonalToken, ...]

    @classmethod
    def of(cls, data: JSON) -> PersonalTokens:
        """Make it from JSON."""
        tokens = tuple(PersonalToken.of(one) for one in data["tokens"])
        return cls(user=str(data["user"]), shown=maybe_text(data["shown"]), tokens=tokens, json=data)


@dataclass(frozen=True, slots=True)
class MadeToken(Answer):
    """A token with its secret, which is not told again."""

    secret: str
    token: PersonalToken

    @classmethod
    def of(cls, data: JSON) -> MadeToken:
        """Make it from JSON."""
        return cls(secret=str(data["token"]), token=PersonalToken.of(data), json=data)
