"""Tokens that people make for themselves."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ses_service.api.schemas.requests import Body
from ses_service.security.personal_tokens import MAX_DAYS

TokenName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,63}$")]
ScopeName = Annotated[
    Literal["all", "read"],
    Field(description="`all`: what you may do; `read`: of that, what changes nothing."),
]


class TokenIn(Body):
    """A token to be made; ``days`` until it ends."""

    name: TokenName
    scope: ScopeName = "all"
    days: Annotated[int, Field(ge=1, le=MAX_DAYS)] = 90


class RevokeIn(Body):
    """Nothing."""
