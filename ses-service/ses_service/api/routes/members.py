"""Members of virtual organisations, as portals know them."""

import re
from typing import Annotated

import structlog
from pydantic import AfterValidator, Field
from ses_client.messages.access import AccountsTaken
from ses_client.names import USER, USER_FORM, VO, VO_FORM

from ses_service.api.area import Area
from ses_service.api.authentication import caller
from ses_service.api.problems import InvalidProblem, invalid
from ses_service.api.schemas.items import Itemised
from ses_service.api.schemas.requests import Body
from ses_service.model.limits import MAX_NAME
from ses_service.process.runtime import runtime
from ses_service.security.tokens import Role

_log = structlog.get_logger("ses_service")
area = Area("members")


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


@area.answers("PUT /v1/members/accounts", AccountsTaken, roles=(Role.PORTAL, Role.ADMIN), body=AccountsIn)
def accounts(asked: AccountsIn) -> AccountsTaken:
    """Take the VO of each account of a portal

    All of them at once: they replace what this portal sent before.  They count where neither the site nor a
    group or token says which VO a user is of.  One that is refused keeps no other from being taken.
    """
    homes = {account.user: account.vo for account in asked.accounts}
    if len(homes) < len(asked.accounts):
        raise invalid("json.accounts", "names a user more than once")
    wrong = [
        {"location": f"json.accounts.{refused.number}", "message": refused.detail}
        for refused in asked.refused
    ]
    if wrong and not homes:
        raise InvalidProblem(wrong)
    if wrong:
        _log.warning("accounts of a portal are refused", portal=caller().name, number=len(wrong), **wrong[0])
    runtime().accounts.take(caller().name, homes)
    return AccountsTaken(accounts=len(homes), refused=len(wrong))
