"""Signing in and out, and one's own account page."""

from __future__ import annotations

import math

import structlog
from flask import Blueprint, flash, g, redirect, render_template, request, session, url_for
from werkzeug.wrappers import Response

from ses_webface.accounts.browsers import known_browser, remember_browser
from ses_webface.accounts.forms import PasswordForm, SignInForm
from ses_webface.accounts.guessing import TooManyAttemptsError
from ses_webface.accounts.people import Person
from ses_webface.accounts.services import AccountError
from ses_webface.portal import person, portal
from ses_webface.web_security import end_session, local_path, open_to_all, start_session

blueprint = Blueprint("accounts", __name__)
log = structlog.get_logger(__name__)
Page = str | tuple[str, int] | tuple[str, int, dict[str, str]] | Response


@blueprint.get("/sign-in")
@open_to_all
def sign_in() -> Page:
    """Show the sign-in form."""
    wanted = local_path(request.args.get("next"))
    if g.person:
        return redirect(wanted or url_for("requirements.overview"))
    form = SignInForm(formdata=None, next=wanted or "")
    return render_template("accounts/sign_in.html", form=form, refused=None, waiting="draft" in session)


@blueprint.post("/sign-in")
@open_to_all
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
    page = render_template("accounts/sign_in.html", form=form, refused=refused, waiting="draft" in session)
    return page, status, headers


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
                flash("Your password is changed. Other devices are signed out.")
                return redirect(url_for("accounts.account"), 303)
        except TooManyAttemptsError as error:
            form.current.errors, status = [str(error)], 429
        except AccountError as error:
            form.password.errors = [str(error)]
    return render_template("accounts/account.html", form=form), status


def _checked(name: str, password: str) -> Person | None:
    parts, address = portal(), request.remote_addr or ""
    try:
        return parts.accounts.sign_in(name, password, address, known_browser(name))
    except TooManyAttemptsError:
        parts.metrics.sign_ins.labels("limited").inc()
        log.warning("sign-in limited", address=address)
        raise
