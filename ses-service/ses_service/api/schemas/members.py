"""What portals report of their accounts."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field
from ses_client.names import USER, USER_FORM, VO, VO_FORM

from ses_service.api.schemas.items import Itemised
from ses_service.api.schemas.requests import Body
from ses_service.model.limits import MAX_NAME


def _as(name: re.Pattern[str], form: str) -> AfterValidator:
    def check(value: str) -> str:
        if not name.fullmatch(value):
            raise ValueError(f"is no name: {form}")
        return value

    return AfterValidator(check)


UserName = Annotated[str, Field(min_length=1, max_length=MAX_NAME), _as(USER, USER_FORM)]
VoName = Annotated[str, Field(min_length=1, max_length=MAX_NAME), _as(VO, VO_FORM)]


class AccountIn(Body):
    """The VO an account is of."""

    user: UserName
    vo: VoName


class AccountsIn(Itemised, Body):
    """All accounts of a portal that are of a VO; without those that are refused."""

    ITEMS = frozenset({"accounts"})

    accounts: Annotated[list[AccountIn], Field(max_length=20_000)]
