"""What portals tell of their accounts."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ses_service.api.schemas.answers import Answer
from ses_service.api.schemas.items import Itemised
from ses_service.api.schemas.requests import Body
from ses_service.model.limits import MAX_NAME

UserName = Annotated[str, Field(max_length=MAX_NAME, pattern=r"^[A-Za-z0-9_.@+\\-]+\$?$")]
VoName = Annotated[str, Field(max_length=MAX_NAME, pattern=r"^[A-Za-z0-9_.@+:=-]+$")]


class AccountIn(Body):
    """The VO an account is of."""

    user: UserName
    vo: VoName


class AccountsIn(Itemised, Body):
    """All accounts of a portal that are of a VO; without those that are refused."""

    ITEMS = frozenset({"accounts"})

    accounts: Annotated[list[AccountIn], Field(max_length=20_000)]


class AccountsTaken(Answer):
    """How many accounts were taken, and how many refused."""

    accounts: int
    refused: int
