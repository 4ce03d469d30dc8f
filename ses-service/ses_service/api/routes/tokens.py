"""Tokens that people make for themselves."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response
from ses_client.messages.access import MadeToken, PersonalToken, PersonalTokens

from ses_service.api import render
from ses_service.api.authentication import allow, caller
from ses_service.api.contract import answers
from ses_service.api.problems import ForbiddenProblem, NotFoundProblem, NotKeptProblem, TokenProblem
from ses_service.api.schemas.tokens import RevokeIn, TokenIn
from ses_service.process.runtime import runtime
from ses_service.security import personal_tokens
from ses_service.security.personal_tokens import PersonalTokenError, Scope
from ses_service.security.tokens import PEOPLE

blueprint = APIBlueprint("tokens", __name__, tag="tokens")


@blueprint.get("/v1/tokens")
@allow(*PEOPLE)
@blueprint.doc(responses=answers(PersonalTokens))
def list_tokens() -> Response:
    """List your tokens

    Those that ended, too, until one of their name is made.
    """
    return _list()


@blueprint.post("/v1/tokens")
@allow(*PEOPLE)
@blueprint.input(TokenIn)
@blueprint.doc(responses=answers(MadeToken, 409, body=True))
def make_token(json_data: TokenIn) -> Response:
    """Make a token for yourself

    Its secret is in this answer only.  A token cannot make another.
    """
    if caller().token is not None:
        raise ForbiddenProblem("A personal token makes no others; make them in the portal.")
    try:
        secret, kept = runtime().personal_tokens.make(
            _person(),
            json_data.name,
            Scope(json_data.scope),
            json_data.days,
            is_of_machine=caller().is_of_machine,
        )
    except PersonalTokenError as error:
        raise TokenProblem(str(error)) from None
    except OSError as error:
        raise _not_kept(error) from None
    return render.answer(MadeToken(**_shown(kept), token=secret))


@blueprint.post("/v1/tokens/<name>/revoke")
@allow(*PEOPLE, changes=False)
@blueprint.input(RevokeIn)
@blueprint.doc(responses=answers(PersonalTokens, 404, body=True))
def revoke_token(name: str, json_data: RevokeIn) -> Response:  # noqa: ARG001
    """Revoke one of your tokens

    It is not accepted from then on.  A token of scope `read` revokes itself only.
    """
    user, who = _person(), caller()
    if who.reads_only and who.token != name:
        raise ForbiddenProblem(f"The token {who.token!r} is of scope read; it revokes itself only.")
    try:
        revoked = runtime().personal_tokens.revoke(user, name)
    except OSError as error:
        raise _not_kept(error) from None
    if not revoked:
        raise NotFoundProblem(f"You have no token named {name!r}.")
    return _list()


@blueprint.post("/v1/tokens/revoke")
@allow(*PEOPLE)
@blueprint.input(RevokeIn)
@blueprint.doc(responses=answers(PersonalTokens, body=True))
def revoke_tokens(json_data: RevokeIn) -> Response:  # noqa: ARG001
    """Revoke all of your tokens

    That of this request, too, and forget your runs: those that run are ended.  A portal does so for people
    whose account, password or role ends.
    """
    user = _person()
    try:
        runtime().personal_tokens.revoke_all(user)
        runtime().runs.forget(user)
    except OSError as error:
        raise _not_kept(error) from None
    return _list()


def _list() -> Response:
    user = _person()
    listed = [_shown(token) for token in runtime().personal_tokens.of(user)]
    return render.answer(PersonalTokens(user=user, shown=caller().token, tokens=listed))


def _not_kept(error: OSError) -> NotKeptProblem:
    return NotKeptProblem(
        f"The service cannot write its tokens: {error.strerror}.", headers={"Retry-After": "60"}
    )


def _person() -> str:
    user = caller().user
    if user is None:
        raise ForbiddenProblem(
            "Personal tokens are a person's, and this token is not one person's (X-Acting-User says whose)."
        )
    return user


def _shown(token: personal_tokens.PersonalToken) -> PersonalToken:
    return PersonalToken(
        name=token.name,
        scope=token.scope.value,
        made=token.made,
        ends=token.ends,
        used=token.used,
    )
