"""People and virtual organisations: who may sign in, whose VO they are of, and what they may change."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import structlog
from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from ses_client.errors import NotFoundError, RefusedError, SesError
from ses_client.messages.requirements import Subject

from ses_webface.accounts.forms import PersonForm
from ses_webface.accounts.oidc import MAX_SUBJECT
from ses_webface.accounts.people import Person
from ses_webface.accounts.services import AccountError
from ses_webface.accounts.tokens import shown
from ses_webface.portal import Page, administrators_only, person, portal, service

blueprint = Blueprint("people", __name__, url_prefix="/people")
log = structlog.get_logger(__name__)

MAX_LISTED = 200


@dataclass(frozen=True, slots=True)
class Organisation:
    """One VO as accounts have it."""

    name: str
    members: tuple[str, ...]
    managers: tuple[str, ...]


@blueprint.before_request
def _check() -> None:
    if request.endpoint != "people.overview":
        administrators_only()


@blueprint.get("")
def overview() -> Page:
    """List people and VOs: all to administrators, those of their VO to managers."""
    return _list_page(PersonForm(formdata=None))


@blueprint.post("")
def add() -> Page:
    """Add an account, and show the link by which its owner chooses a password, this once."""
    form, parts = PersonForm(), portal()
    if not form.validate():
        return _list_page(form), 422
    name = form.name.data.strip()
    try:
        parts.accounts.add(name, None, vo=form.vo.data or None, **_rights(form))
    except AccountError as error:
        form.name.errors = [str(error)]
        return _list_page(form), 422
    log.info("account added", account=name, by=person().name, role=form.role.data)
    return _list_page(PersonForm(formdata=None), (name, _link(name)))


@blueprint.get("/<name>")
def show(name: str) -> Page:
    """Show one account, with what can be changed of it."""
    who = _find(name)
    return _person_page(who, _form_of(who))


@blueprint.post("/<name>")
def change(name: str) -> Page:
    """Change the VO and the role of an account; another role ends its tokens and links."""
    who, form = _find(name), PersonForm()
    form.name.data, form.name.raw_data = who.name, [who.name]
    if not form.validate():
        return _person_page(who, form), 422
    present = _form_of(who)
    for field, now, was in ((form.vo, present.vo, form.was_vo), (form.role, present.role, form.was_role)):
        if field.data == was.data:
            field.data = now.data  # somebody else may have changed it since the form was made
    try:
        changed = portal().accounts.change(name, vo=form.vo.data or None, **_rights(form))
    except AccountError as error:
        form.role.errors = [str(error)]
        return _person_page(who, form), 422
    log.info("account changed", account=name, by=person().name, vo=changed.vo, role=form.role.data)
    ended = f" {portal().revocations.try_to_settle(name)}" if changed.role != who.role else ""
    flash(f"{name} is changed. Programs are placed by it within a minute.{ended}")
    return redirect(url_for("people.show", name=name), 303)


@blueprint.post("/<name>/link")
def link(name: str) -> Page:
    """Make a link by which somebody chooses a password, and show it this once."""
    who = _find(name)
    log.info("one-time link made", account=name, by=person().name)
    return _person_page(who, _form_of(who), _link(name))


@blueprint.post("/<name>/sign-out")
def sign_out(name: str) -> Page:
    """Sign somebody out everywhere."""
    try:
        count = portal().sessions.end_all(name)
    except AccountError:
        abort(404)
    log.info("sessions ended", account=name, by=person().name, count=count)
    flash(f"{name} is signed out of {count} {'browser' if count == 1 else 'browsers'}.")
    return redirect(url_for("people.show", name=name), 303)


@blueprint.post("/<name>/remove")
def remove(name: str) -> Page:
    """Remove an account, with its tokens; one's own stays, so that somebody is there to mend a mistake."""
    _find(name)
    if name == person().name:
        flash("This is your own account: another administrator removes it.", "error")
        return redirect(url_for("people.show", name=name), 303)
    portal().accounts.remove(name)
    log.info("account removed", account=name, by=person().name)
    ended = portal().revocations.try_to_settle(name)
    flash(f"{name} may no longer sign in. {ended} Their requirements stay.")
    return redirect(url_for("people.overview"), 303)


@blueprint.post("/<name>/tokens/revoke")
def revoke(name: str) -> Page:
    """Revoke somebody's token, or all where none is named."""
    _find(name)
    token, parts = request.form.get("token", ""), portal()
    if token:
        try:
            parts.selection.acting(name).revoke_token(token)
            message = f"The token {token} of {name} is revoked."
        except (NotFoundError, RefusedError):
            message = "There was no such token any more."
    else:
        parts.revocations.request(name)
        message = parts.revocations.try_to_settle(name)
    log.info("tokens revoked", account=name, token=token or "all", by=person().name)
    flash(message)
    return redirect(url_for("people.show", name=name), 303)


@blueprint.post("/<name>/identity")
def link_identity(name: str) -> Page:
    """Let an identity at the provider sign in as an account."""
    _find(name)
    sign_in, subject = portal().oidc, request.form.get("subject", "").strip()
    if sign_in is None or not 0 < len(subject) <= MAX_SUBJECT:
        abort(404)
    try:
        portal().identities.link(name, sign_in.provider.issuer, subject)
    except AccountError as error:
        flash(str(error), "error")
    else:
        log.info("identity linked", account=name, by=person().name, subject=subject)
        flash(f"This subject signs in as {name} from now on.")
    return redirect(url_for("people.show", name=name), 303)


def _find(name: str) -> Person:
    account = portal().accounts.named(name)
    if account is None:
        abort(404)
    return account


def _form_of(who: Person) -> PersonForm:
    role, vo = "admin" if who.is_admin else "manager" if who.is_manager else "", who.vo or ""
    return PersonForm(formdata=None, name=who.name, vo=vo, role=role, was_vo=vo, was_role=role)


def _rights(form: PersonForm) -> dict[str, bool]:
    return {"is_admin": form.role.data == "admin", "is_manager": form.role.data == "manager"}


def _link(name: str) -> str:
    return url_for("welcome.ask", key=portal().links.for_account(name), _external=True)


def _list_page(form: PersonForm, made: tuple[str, str] | None = None) -> str:
    who = person()
    if not who.is_admin and not who.managed_vo:
        abort(403)
    seen = [person for person in portal().accounts.everybody() if who.is_admin or person.vo == who.managed_vo]
    part = (request.args.get("part") or "").strip()
    listed = [person for person in seen if part.lower() in f"{person.name} {person.vo or ''}".lower()]
    return render_template(
        "accounts/people.html", form=form, people=listed[:MAX_LISTED], match_count=len(listed),
        total=len(seen), part=part, organisations=organisations_of(seen), made=made,
    )  # fmt: skip


def organisations_of(people: Iterable[Person]) -> list[Organisation]:
    """Return the VOs of these people by name; each person is looked at once, however many VOs there are."""
    members = defaultdict(list)
    for account in people:
        if account.vo:
            members[account.vo].append(account)
    return [
        Organisation(
            vo,
            tuple(account.name for account in of_vo),
            tuple(account.name for account in of_vo if account.is_manager),
        )
        for vo, of_vo in sorted(members.items())
    ]


def _person_page(who: Person, form: PersonForm, made: str = "") -> str:
    sessions = [session for session in portal().sessions.everybody() if session.name == who.name]
    parts = portal()
    try:
        counts_as = service().effective(Subject(user=who.name)).subject.vo
        tokens = shown(parts.selection.acting(who.name).tokens().tokens)
    except SesError:
        counts_as, tokens = None, None
    return render_template(
        "accounts/person.html", who=who, form=form, made=made, sessions=sessions, counts_as=counts_as,
        tokens=tokens, provider=parts.oidc and parts.oidc.provider, subject=parts.identities.of(who.name),
    )  # fmt: skip
