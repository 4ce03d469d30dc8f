"""Where a one-time link leads: the first administrator makes an account, others choose their password."""

import structlog
from flask import Blueprint, flash, redirect, render_template, url_for

from ses_webface.accounts.browsers import remember_browser
from ses_webface.accounts.forms import WelcomeForm
from ses_webface.accounts.hashing import hashes_password
from ses_webface.accounts.links import Offer
from ses_webface.accounts.services import AccountError
from ses_webface.portal import Page, portal
from ses_webface.web_security import open_to_all, start_session

blueprint = Blueprint("welcome", __name__, url_prefix="/welcome")
log = structlog.get_logger(__name__)


@blueprint.get("/<key>")
@open_to_all
def ask(key: str) -> Page:
    """Ask for what the link is for; looking does not use it up."""
    offer = portal().links.find(key)
    return _page(key, offer, WelcomeForm(formdata=None)), 200 if offer else 404


@blueprint.post("/<key>")
@open_to_all
@hashes_password
def enter(key: str) -> Page:
    """Use the link, and sign in."""
    form, parts = WelcomeForm(), portal()
    offer = parts.links.find(key)
    if offer is None:
        return _page(key, None, form), 404
    if offer.name is not None:
        form.name.data, form.name.raw_data = offer.name, [offer.name]
    if not form.validate():
        return _page(key, offer, form), 422
    try:
        who = parts.links.use(key, form.name.data.strip(), form.password.data)
    except AccountError as error:
        form.password.errors = [str(error)]
        return _page(key, offer, form), 422
    if who is None:
        return _page(key, None, form), 404
    log.info("one-time link used", account=who.name, admin=who.is_admin)
    start_session(who)
    flash(f"Welcome, {who.name}. Next time, sign in with your password.")
    answer = redirect(url_for("people.overview" if who.is_admin else "requirements.overview"), 303)
    remember_browser(answer, who.name)
    return answer


def _page(key: str, offer: Offer | None, form: WelcomeForm) -> str:
    return render_template("accounts/welcome.html", key=key, offer=offer, form=form)
