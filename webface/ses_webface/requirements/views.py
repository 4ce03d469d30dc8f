"""Pages of requirements: what applies, one set's form, and the live ranking beside it."""

from typing import Any

import structlog
from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from ses_client.errors import ConflictError, RefusedError, SesError
from ses_client.limits import MAX_APPLICATION
from ses_client.messages.requirements import LEVELS, Effective, Requirement, RequirementSet, Subject
from ses_client.messages.vocabulary import Expansion, Profile
from ses_client.names import USER_FORM, VO_FORM, is_set_name
from werkzeug.datastructures import MultiDict

from ses_webface.moments import applies
from ses_webface.pages import set_title
from ses_webface.portal import Page, away, note_away, person, portal, service, vocabulary, words, zone
from ses_webface.profiles.services import OTHERS, by_owner
from ses_webface.requirements import sentences, services
from ses_webface.requirements.forms import STRICTNESS, RequirementsForm, form_data, form_for
from ses_webface.requirements.resolution import explain
from ses_webface.requirements.use import examples, left_out
from ses_webface.requirements.worth import Worth, worth
from ses_webface.web_security import take_draft

blueprint = Blueprint("requirements", __name__, url_prefix="/requirements")
log = structlog.get_logger(__name__)

_NO_PROGRAM = f"Write a name of at most {MAX_APPLICATION} bytes without a slash, for example dd."


@blueprint.get("")
def overview() -> Page:
    """Show every set that applies and what they add up to."""
    application = (request.args.get("application") or "").strip() or None
    if application and not is_set_name("application", f"{person().name}:{application}"):
        application = None
    everything = services.overview(service(), person(), application)
    return render_template("requirements/overview.html", overview=everything)


@blueprint.get("/applied")
def applied() -> Page:
    """Explain what applies to a user and an application, and what everything else that is stated does."""
    who = person()
    user = (request.args.get("user") or "").strip() or who.name
    application = (request.args.get("application") or "").strip() or None
    if user != who.name and not who.is_admin:
        abort(403)
    subject, fault = Subject(user=user, application=application), ""
    if not is_set_name("user", user):
        fault = f"“{user[:100]}” is no name of a user ({USER_FORM})."
    elif application and not is_set_name("application", f"{user}:{application}"):
        fault = f"“{application[:100]}” is no name of a program. {_NO_PROGRAM}"
    effective = Effective(subject=subject, requirements=()) if fault else service().effective(subject)
    page = render_template(
        "requirements/applied.html",
        subject=effective.subject,
        explanations=() if fault else explain(effective, vocabulary()),
        fault=fault,
        may_read=_may_read,
    )
    return page, 422 if fault else 200


@blueprint.get("/open")
def open_set() -> Page:
    """Go to the form of the application or VO named in a small form on the overview."""
    level = request.args.get("level", "application")
    typed = (request.args.get("name") or "").strip()
    name = f"{person().name}:{typed}" if level == "application" else typed
    if level not in ("application", "vo") or not is_set_name(level, name):
        wrong = f"program. {_NO_PROGRAM}" if level == "application" else f"VO ({VO_FORM})."
        flash(f"“{typed[:100]}” is no name of a {wrong}", "error")
        return redirect(url_for("requirements.overview"), 303)
    return redirect(url_for("requirements.edit", level=level, name=name), 303)


@blueprint.get("/<level>/<name>")
def edit(level: str, name: str) -> Page:
    """Show one set's form with the ranking it gives now; read-only for those who may not edit."""
    who = person()
    _require_name(level, name)
    if not services.may_read(service(), who, level, name):
        abort(403)
    stored = service().requirement_set(level, name)
    kept = take_draft(request.path) if services.may_edit(who, level, name) else None
    if kept is not None:
        form = _form()(formdata=MultiDict(kept))
        form.read()
        flash("You signed in again meanwhile: nothing was saved yet. What you typed is below.", "error")
    elif level == "vo" and "suggested" in request.args and services.may_edit(who, level, name):
        proposal = services.suggested(service(), name)
        form = _form_of(stored.but(requirements=proposal) if proposal else stored)
        what = "Filled in from what members state and their files got."
        if not proposal:
            what = "No kind is stated by two members, and by half of those who state any."
        flash(f"{what} Nothing is saved yet.")
    elif copied := _to_copy(level, name):
        form = _form_of(copied.but(revision=stored.revision))
        flash(f"Filled in from {set_title(copied.level, copied.name)}. Nothing is saved yet.")
    else:
        form = _form_of(stored)
    return _edit_page(level, name, form, stored)


@blueprint.get("/<level>/<name>/copy")
def copy(level: str, name: str) -> Page:
    """Go to the form of an application of the person's own, filled in from a set."""
    typed = (request.args.get("to") or "").strip()
    to = f"{person().name}:{typed}"
    _require_name(level, name)
    if not is_set_name("application", to):
        flash(f"“{typed[:100]}” is no name of a program. {_NO_PROGRAM}", "error")
        return redirect(url_for("requirements.edit", level=level, name=name), 303)
    return redirect(url_for("requirements.edit", level="application", name=to, copied=f"{level}/{name}"), 303)


@blueprint.post("/<level>/<name>")
def submit(level: str, name: str) -> Page:
    """Save the set, or show the ranking or what the sentence requires when that button was pressed."""
    _require_edit(level, name)
    form, who = _form()(), person()
    if request.form.get("action") == "expand":
        return _expansion_page(level, name, form)
    typed = form.read()
    if typed is None:
        return _edit_page(level, name, form, None, status=422)
    if request.form.get("action") == "preview":
        return _edit_page(level, name, form, None)
    try:
        saved = services.save(
            service(),
            RequirementSet(
                level=level,
                name=name,
                requirements=typed,
                revision=form.base_revision(),
                profile=form.chosen_profile(),
            ),
            shown=form.posted_kinds(),
            zone=form.time_zone(),
        )
    except ConflictError:
        return _conflict_page(level, name, form)
    except RefusedError as error:
        rest = form.blame(error.problems, typed)
        problem = "; ".join([str(error), *rest]) if rest or not error.problems else None
        return _edit_page(level, name, form, None, problem=problem and f"Not saved: {problem}", status=422)
    except SesError as error:
        note_away(error)
        log.warning("requirements not saved", account=who.name, level=level, name=name, problem=str(error))
        problem = f"Not saved: {error} What you typed is still here; try again in a moment."
        return _edit_page(level, name, form, None, problem=problem, status=503)
    log.info("requirements saved", account=who.name, level=level, name=name, revision=saved.revision)
    flash("Saved. Files created from now on follow it.")
    return redirect(url_for("requirements.edit", level=level, name=name), 303)


@blueprint.post("/<level>/<name>/preview")
def preview(level: str, name: str) -> Page:
    """Give the ranking of what is typed, for the part of the page that changes while typing."""
    _require_edit(level, name)
    form = _form()()
    return render_template(
        "requirements/preview.html",
        fragment=True,
        form=form,
        chosen=words().profile(form.chosen_profile()),
        inherited=_inherited(level, name),
        **_ranking(level, name, form, form.read_sound_rows()),
    )


def _require_name(level: str, name: str) -> None:
    if level not in LEVELS or not is_set_name(level, name):
        abort(404)


def _to_copy(level: str, name: str) -> RequirementSet | None:
    """Return the set the form is to be filled in from; None where none is named, or one nobody may see."""
    from_level, _, from_name = request.args.get("copied", "").partition("/")
    if from_level not in LEVELS or not is_set_name(from_level, from_name):
        return None
    if not services.may_edit(person(), level, name) or not _may_read(from_level, from_name):
        return None
    return service().requirement_set(from_level, from_name)


def _require_edit(level: str, name: str) -> None:
    _require_name(level, name)
    if not services.may_edit(person(), level, name):
        abort(403)


def _may_read(level: str, name: str) -> bool:
    return services.may_read(service(), person(), level, name)


def _form() -> type[RequirementsForm]:
    return form_for(vocabulary().kinds)


def _form_of(stored: RequirementSet) -> RequirementsForm:
    kinds = vocabulary().kinds
    return form_for(kinds)(
        formdata=None,
        data={
            "revision": str(stored.revision),
            "profile": stored.profile or "",
            "zone": zone().key,
            **form_data(kinds, stored.requirements, zone()),
        },
    )


def _ranking(level: str, name: str, form: RequirementsForm, typed: tuple[Requirement, ...]) -> dict[str, Any]:
    edited = RequirementSet(level=level, name=name, requirements=typed, profile=form.chosen_profile())
    if problem := away():
        return {"preview": None, "preview_problem": str(problem)}
    try:
        ranking = services.preview(service(), edited, portal().clock())
    except SesError as error:
        return {"preview": None, "preview_problem": str(error)}
    return {"preview": ranking, "preview_problem": None}


def _profiles(chosen: str | None) -> list[tuple[str, list[Profile]]]:
    """Return the profiles to choose from, by whose they are, and the chosen one in any case."""
    known = list(words().profiles)
    if chosen and words().profile(chosen) is None:
        known.append(Profile(profile=chosen, label=chosen, definition="", requirements=()))
    return by_owner(known, person())


def _inherited(level: str, name: str) -> dict[str, Any]:
    try:
        return {} if away() else services.inherited(service(), level, name)
    except SesError as error:
        note_away(error)
        return {}


def _edit_page(
    level: str,
    name: str,
    form: RequirementsForm,
    stored: RequirementSet | None,
    *,
    problem: str | None = None,
    theirs: RequirementSet | None = None,
    expansion: Expansion | None = None,
    status: int = 200,
) -> Page:
    typed = form.read_sound_rows()
    page = render_template(
        "requirements/edit.html",
        worth=_worth(stored),
        level=level,
        name=name,
        form=form,
        typed=typed,
        stored=stored,
        problem=problem,
        theirs=theirs,
        expansion=expansion,
        workloads=words().workloads,
        max_sentence=sentences.MAX_SENTENCE,
        max_values=sentences.MAX_VALUES,
        editable=services.may_edit(person(), level, name),
        inherited=_inherited(level, name),
        strictness=STRICTNESS,
        profiles=_profiles(form.chosen_profile()),
        others=OTHERS,
        chosen=words().profile(form.chosen_profile()),
        examples=examples(asked := _asked(stored), words()),
        left_out=left_out(asked),
        **_ranking(level, name, form, typed),
    )
    return page, status


def _worth(stored: RequirementSet | None) -> Worth | None:
    """Return what the person's files got under a stored set; None where nobody knows."""
    try:
        return worth(service(), person(), stored, zone()) if stored and not away() else None
    except SesError as error:
        note_away(error)
        return None


def _asked(stored: RequirementSet | None) -> tuple[Requirement, ...]:
    """Return what a stored set asks for at the moment, by its profile where it says nothing itself."""
    if stored is None:
        return ()
    own = {
        requirement.kind: requirement
        for requirement in stored.requirements
        if applies(requirement, portal().clock())
    }
    by_kind = {
        **{requirement.kind: requirement for requirement in words().required_by(stored.profile)},
        **own,
    }
    return tuple(sorted(by_kind.values(), key=lambda requirement: words().rank(requirement.kind)))


def _expansion_page(level: str, name: str, form: RequirementsForm) -> Page:
    """Show the form with the bounds its sentence requires, and the arithmetic; saves nothing."""
    try:
        expansion = sentences.expand_into(form, service())
    except SesError as error:
        note_away(error)
        problem = f"Not worked out: {error} What you typed is still here; try again in a moment."
        return _edit_page(level, name, form, None, problem=problem, status=503)
    return _edit_page(level, name, form, None, expansion=expansion, status=200 if expansion else 422)


def _conflict_page(level: str, name: str, form: RequirementsForm) -> Page:
    """Show both versions; the form goes on from the stored one, so saving again is deliberate."""
    try:
        theirs = service().requirement_set(level, name)
    except SesError as error:
        problem = f"Not saved: somebody else saved this set meanwhile, and it cannot be read now. {error}"
        return _edit_page(level, name, form, None, problem=problem, status=503)
    form.revision.data = str(theirs.revision)
    return _edit_page(level, name, form, None, theirs=theirs, status=409)
