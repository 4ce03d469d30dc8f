"""Members of virtual organisations, as portals know them."""

from __future__ import annotations

import structlog
from apiflask import APIBlueprint
from flask import Response
from ses_client.messages.access import AccountsTaken

from ses_service.api import render
from ses_service.api.authentication import allow, caller
from ses_service.api.contract import answers
from ses_service.api.problems import InvalidProblem
from ses_service.api.schemas.members import AccountsIn
from ses_service.process.runtime import runtime
from ses_service.security.tokens import Role

_log = structlog.get_logger("ses_service")
blueprint = APIBlueprint("members", __name__, tag="members")


@blueprint.put("/v1/members/accounts")
@allow(Role.PORTAL, Role.ADMIN)
@blueprint.input(AccountsIn)
@blueprint.doc(responses=answers(AccountsTaken, 503, body=True))
def accounts(json_data: AccountsIn) -> Response:
    """Take the VO of each account of a portal

    All of them at once: they replace what this portal sent before.  They count where neither the site nor a
    group or token says which VO a user is of.  One that is refused keeps no other from being taken.
    """
    homes = {account.user: account.vo for account in json_data.accounts}
    if len(homes) < len(json_data.accounts):
        raise InvalidProblem([{"location": "json.accounts", "message": "names a user more than once"}])
    wrong = [
        {"location": f"json.accounts.{refused.number}", "message": refused.detail}
        for refused in json_data.refused
    ]
    if wrong and not homes:
        raise InvalidProblem(wrong)
    if wrong:
        _log.warning("accounts of a portal are refused", portal=caller().name, number=len(wrong), **wrong[0])
    runtime().accounts.take(caller().name, homes)
    return render.answer(AccountsTaken(accounts=len(homes), refused=len(wrong)))
