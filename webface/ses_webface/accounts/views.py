"""Signing in and out, and one's own account page."""

import math

import structlog
from flask import Blueprint, abort, flash, g, redirect, render_template, request, session, url_for
from ses_client.errors import SesError

from ses_webface.accounts.browsers import known_browser, remember_browser
from ses_webface.accounts.forms import PasswordForm, SignInForm
from ses_webface.accounts.guessing import TooManyAttemptsError
from ses_webface.accounts.hashing import hashes_password
from ses_webface.accounts.oidc import ProviderError
from ses_webface.accounts.people import Person
from ses_webface.accounts.services import AccountError
from ses_webface.portal import Page, person, portal
from ses_webface.web_security import end_session, local_path, open_to_all, start_session

blueprint = Blueprint("accounts", __name__)
log = structlog.get_logger(__name__)


@blueprint.get("/sign-in")
@open_to_all
def sign_in() -> Page:
    """Show the sign-in form."""
    wanted = local_path(request.args.get("next"))
    if g.person:
        return redirect(wanted or url_for("requirements.overview"))
    return _sign_in_page(SignInForm(formdata=None, next=wanted or ""))


@blueprint.post("/sign-in")
@open_to_all
@hashes_password
def sign_in_submit() -> Page:
    """Check name and password; says the same whatever was wrong with them."""
    form = SignInForm()
    parts = portal()
    refused, status, headers = None, 422, {}
    if form.validate():
        try:
            who = _checked(form.name.data.strip(), form.password.data)
        except TooManyAttemptsError as error:
            refused, status = str(error), 429
            headers = {"Retry-After": str(math.ceil(error.wait_seconds))}
        else:
            if who:
                parts.metrics.sign_ins.labels("ok").inc()
                log.info("signed in", account=who.name)
                start_session(who)
                answer = redirect(local_path(form.next.data) or url_for("requirements.overview"), 303)
                remember_browser(answer, who.name)
                return answer
            parts.metrics.sign_ins.labels("refused").inc()
            log.info("sign-in refused", address=request.remote_addr)
            refused = "This user name and password do not fit together."
    return _sign_in_page(form, refused), status, headers


@blueprint.get("/sign-in/oidc")
@open_to_all
def oidc() -> Page:
    """Go to the site's OIDC provider."""
    sign_in, wanted = portal().oidc, local_path(request.args.get("next"))
    if sign_in is None:
        abort(404)
    try:
        answer = sign_in.begin()
    except ProviderError as error:
        log.warning("oidc provider", problem=str(error), cause=repr(error.__cause__))
        return _sign_in_page(SignInForm(formdata=None, next=wanted or ""), str(error)), 502
    session["wanted"] = wanted or ""
    return answer


@blueprint.get("/sign-in/oidc/back")
@open_to_all
def oidc_back() -> Page:
    """Take who comes back from the provider; an account is made for who is new there and here."""
    sign_in, parts = portal().oidc, portal()
    if sign_in is None:
        abort(404)
    wanted = local_path(session.pop("wanted", ""))
    try:
        subject, name, token = sign_in.finish()
        who, is_new = parts.identities.sign_in(sign_in.provider.issuer, subject, name)
    except (ProviderError, AccountError) as error:
        parts.metrics.sign_ins.labels("refused").inc()
        log.info("oidc sign-in refused", problem=str(error), cause=repr(error.__cause__))
        return _sign_in_page(SignInForm(formdata=None), str(error)), 422
    if who.name == name:  # else the service would learn the VO of somebody else's name
        try:
            parts.selection.introduce(token)
        except SesError as error:
            log.warning("the service does not take the token", account=who.name, problem=str(error))
    parts.metrics.sign_ins.labels("ok").inc()
    log.info("signed in", account=who.name, by=sign_in.provider.issuer)
    start_session(who)
    if is_new and "@" in name:
        log.warning(
            "is the claim a user's name on the nodes?", account=name, claim=sign_in.provider.user_claim
        )
        flash(
            f"Programs run under user names, and {name} looks like an e-mail address: requirements saved "
            "here may hold for none. Ask an administrator to look (user_claim in the members file).",
            "error",
        )
    answer = redirect(wanted or url_for("requirements.overview"), 303)
    remember_browser(answer, who.name)
    return answer


@blueprint.post("/sign-out")
@open_to_all
def sign_out() -> Page:
    """End the session, here and on the server."""
    end_session()
    flash("You are signed out.")
    return redirect(url_for("accounts.sign_in"), 303)


@blueprint.get("/account")
def account() -> Page:
    """Show one's own account."""
    return render_template("accounts/account.html", form=PasswordForm(formdata=None))


@blueprint.post("/account")
@hashes_password
def change_password() -> Page:
    """Change one's own password; other sessions of the account end."""
    form, who, parts = PasswordForm(), person(), portal()
    status = 422
    if form.validate():
        try:
            if _checked(who.name, form.current.data) is None:
                form.current.errors = ["This is not your current password."]
            else:
                changed = parts.accounts.set_password(who.name, form.password.data)
                log.info("password changed", account=who.name)
                start_session(changed)
                ended = parts.revocations.try_to_settle(who.name)
                flash(f"Your password is changed. Other devices are signed out. {ended}")
                return redirect(url_for("accounts.account"), 303)
        except TooManyAttemptsError as error:
            form.current.errors, status = [str(error)], 429
        except AccountError as error:
            form.password.errors = [str(error)]
    return render_template("accounts/account.html", form=form), status


def _sign_in_page(form: SignInForm, refused: str | None = None) -> str:
    sign_in = portal().oidc
    return render_template(
        "accounts/sign_in.html",
        form=form,
        refused=refused,
        waiting="draft" in session,
        provider=None if sign_in is None else sign_in.provider,
    )


def _checked(name: str, password: str) -> Person | None:
    parts, address = portal(), request.remote_addr or ""
    try:
        return parts.accounts.sign_in(name, password, address, known_browser(name))
    except TooManyAttemptsError:
        parts.metrics.sign_ins.labels("limited").inc()
        log.warning("sign-in limited", address=address)
        raise
