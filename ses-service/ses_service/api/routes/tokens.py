"""Tokens that people make for themselves."""

from typing import Annotated

from pydantic import Field
from ses_client.messages.access import MadeToken, PersonalToken, PersonalTokens

from ses_service.api.area import Area
from ses_service.api.authentication import caller
from ses_service.api.problems import ForbiddenProblem, NotFoundProblem, written
from ses_service.api.schemas.requests import Body, ScopeName
from ses_service.process.runtime import runtime
from ses_service.security.personal_tokens import MAX_DAYS, Scope
from ses_service.security.tokens import PEOPLE

area = Area("tokens")

TokenName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,63}$")]


class TokenIn(Body):
    """A token to be made; ``days`` until it ends."""

    name: TokenName
    scope: ScopeName = "all"
    days: Annotated[int, Field(ge=1, le=MAX_DAYS)] = 90


class RevokeIn(Body):
    """Nothing."""


@area.answers("GET /v1/tokens", PersonalTokens, roles=PEOPLE)
def list_tokens() -> PersonalTokens:
    """List your tokens

    Those that ended, too, until one of their name is made.
    """
    return _listed()


@area.answers("POST /v1/tokens", MadeToken, 409, roles=PEOPLE, body=TokenIn)
def make_token(asked: TokenIn) -> MadeToken:
    """Make a token for yourself

    Its secret is in this answer only.  A token cannot make another.
    """
    who = caller()
    if who.token is not None:
        raise ForbiddenProblem("A personal token makes no others; make them in the portal.")
    with written("tokens"):
        secret, kept = runtime().personal_tokens.make(
            _person(), asked.name, Scope(asked.scope), asked.days, is_of_machine=who.is_of_machine
        )
    return MadeToken.like(kept, token=secret)


@area.answers(
    "POST /v1/tokens/<name>/revoke", PersonalTokens, 404, roles=PEOPLE, body=RevokeIn, changes=False
)
def revoke_token(name: str, asked: RevokeIn) -> PersonalTokens:  # noqa: ARG001
    """Revoke one of your tokens

    It is not accepted from then on.  A token of scope `read` revokes itself only.
    """
    user, who = _person(), caller()
    if who.reads_only and who.token != name:
        raise ForbiddenProblem(f"The token {who.token!r} is of scope read; it revokes itself only.")
    with written("tokens"):
        revoked = runtime().personal_tokens.revoke(user, name)
    if not revoked:
        raise NotFoundProblem(f"You have no token named {name!r}.")
    return _listed()


@area.answers("POST /v1/tokens/revoke", PersonalTokens, roles=PEOPLE, body=RevokeIn)
def revoke_tokens(asked: RevokeIn) -> PersonalTokens:  # noqa: ARG001
    """Revoke all of your tokens

    That of this request, too, and forget your runs: those that run are ended.  A portal does so for people
    whose account, password or role ends.
    """
    user = _person()
    with written("tokens"):
        runtime().personal_tokens.revoke_all(user)
        runtime().runs.forget(user)
    return _listed()


def _listed() -> PersonalTokens:
    user = _person()
    listed = [PersonalToken.like(token) for token in runtime().personal_tokens.of(user)]
    return PersonalTokens(user=user, shown=caller().token, tokens=listed)


def _person() -> str:
    user = caller().user
    if user is None:
        raise ForbiddenProblem(
            "Personal tokens are a person's, and this token is not one person's (X-Acting-User says whose)."
        )
    return user
