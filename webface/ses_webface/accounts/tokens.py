"""One's own tokens: what there is, making one, revoking one."""

from collections.abc import Iterable
from dataclasses import dataclass

import structlog
from flask import Blueprint, flash, redirect, render_template, request, session, url_for
from ses_client.errors import ConflictError, NotFoundError, RefusedError
from ses_client.messages.access import MadeToken, PersonalToken

from ses_webface.accounts.forms import TokenForm
from ses_webface.portal import Page, person, portal, service

blueprint = Blueprint("tokens", __name__, url_prefix="/account/tokens")
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Shown:
    """A token as the page shows it; times in seconds since the epoch."""

    name: str
    scope: str
    ends: float
    used: float | None
    is_over: bool


@blueprint.get("")
def overview() -> Page:
    """List one's own tokens, with a form for another."""
    return _page(TokenForm(formdata=None))


@blueprint.post("")
def make() -> Page:
    """Make a token, and show it this once."""
    form, who = TokenForm(), person()
    if not form.validate():
        return _page(form), 422
    try:
        portal().revocations.settle(who.name)  # else the next time would end this one, too
        token = service().make_token(form.name.data, form.scope.data, form.days.data)
    except ConflictError as error:
        form.name.errors = [str(error)]
        return _page(form), 409
    except RefusedError as error:
        form.name.errors = list(error.faults) or [str(error)]
        return _page(form), 422
    if portal().sessions.person(session.get("key", "")) is None:  # the account or password ended meanwhile
        portal().revocations.request(who.name)
        portal().revocations.try_to_settle(who.name)
        return redirect(url_for("accounts.sign_in"), 303)
    log.info("token made", account=who.name, token=token.name, scope=token.scope)
    return _page(TokenForm(formdata=None), token)


@blueprint.post("/revoke")
def revoke() -> Page:
    """Revoke a token; it is not accepted from then on."""
    name, who = request.form.get("token", ""), person()
    try:
        service().revoke_token(name)
    except (NotFoundError, RefusedError):
        flash("There was no such token any more.", "error")
    else:
        log.info("token revoked", account=who.name, token=name)
        flash(f"The token {name} is revoked.")
    return redirect(url_for("tokens.overview"), 303)


def shown(listed: Iterable[PersonalToken]) -> list[Shown]:
    """Return tokens as pages show them."""
    now = portal().clock()
    return [Shown(token.name, token.scope, token.ends, token.used, token.ends <= now) for token in listed]


def _page(form: TokenForm, made: MadeToken | None = None) -> str:
    tokens = shown(service().tokens().tokens)
    return render_template("accounts/tokens.html", form=form, made=made, tokens=tokens)
