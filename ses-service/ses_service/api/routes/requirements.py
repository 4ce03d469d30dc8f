"""Requirement sets: read, replace, and what applies to a subject.

A person may change their own (``user/NAME``, ``application/NAME:*``, ``profile/NAME:*``) and read what can
apply to them; a portal changes any on behalf of the person it names in ``X-Acting-User``; an administrator
any.
"""

import re

from flask import request
from ses_client.messages import requirements as messages
from ses_client.names import SET_FORMS, is_set_name

from ses_service.api import render
from ses_service.api.area import Area
from ses_service.api.authentication import caller
from ses_service.api.callers import must_ask_for, must_name_a_person, must_read
from ses_service.api.problems import (
    ForbiddenProblem,
    NotFoundProblem,
    RevisionProblem,
    invalid,
    invalid_description,
)
from ses_service.api.profiles import check_stored, find_profile
from ses_service.api.render import Reply
from ses_service.api.schemas.requests import LEVELS, EffectiveQuery, RequirementSetIn, RequirementsQuery
from ses_service.decision.resolve import ordered, passed_over, resolve, sets_for_user
from ses_service.decision.vo_suggestion import Suggested, stated, suggest
from ses_service.knowledge.errors import InvalidDescriptionError
from ses_service.knowledge.profiles import owner_of
from ses_service.ledger.files import Wanted
from ses_service.members.homes import home_of
from ses_service.model.entities import Level, MeasuredRun, RequirementSet, Subject, with_home_vo
from ses_service.process.runtime import runtime
from ses_service.security.tokens import PEOPLE, Principal, Role

area = Area("requirements")

_LATEST_FILES = 1000
_ETAG = re.compile(r'(?:W/)?"(\d{1,18})"')


@area.answers("GET /v1/requirements", messages.RequirementSets, query=RequirementsQuery)
def requirement_sets(asked: RequirementsQuery) -> messages.RequirementSets:
    """List requirement sets

    With `user`: every set that can apply to one of this person's programs.  With the token of a user: those
    that can apply to them, and of nobody else.  Profiles are listed by `/v1/vocabulary`.
    """
    state, who = runtime().state, caller()
    homes = state.environment.home_vo
    user = asked.user or (who.user if who.role is Role.USER else None)
    if user is None:
        listed = ordered(
            requirement_set
            for requirement_set in state.sets.values()
            if requirement_set.level is not Level.PROFILE
        )
    else:
        must_ask_for(who, user, None, homes)
        listed = sets_for_user(user, homes.get(user), state.sets)
    return messages.RequirementSets(
        sets=[
            render.requirement_set(requirement_set)
            for requirement_set in listed
            if requirement_set.says_anything
        ]
    )


@area.answers("GET /v1/requirements/effective", messages.Effective, query=EffectiveQuery)
def effective(asked: EffectiveQuery) -> messages.Effective:
    """Say what applies to a subject, kind by kind

    `vo_from` says by what the user belongs to the VO: `request`, `site description`, a POSIX or LDAP group,
    the claim of a token, or `portal account`.  `passed_over` is what is stated for the subject, too, and does
    not count: a more particular level says something else, or it is not its time.  `notes` say when there is
    no such VO as the request names.  A user's token: of that user only, and of the VO they belong to.
    """
    running = runtime()
    state = running.state
    given = Subject(asked.user, asked.application or None, asked.vo or None)
    homes = state.environment.home_vo
    must_ask_for(caller(), given.user, given.vo, homes)
    subject = with_home_vo(given, homes)
    home = None if given.vo is not None else home_of(given.user, homes)
    now, sets = state.now(), state.sets
    return messages.Effective(
        subject=render.subject(subject),
        vo_from="request" if given.vo is not None else home.source if home else None,
        requirements=render.resolved(resolve(subject, (), sets, now)),
        passed_over=render.passed_over(passed_over(subject, sets, now), now),
        notes=running.notes_on(given.vo),
    )


@area.answers("GET /v1/requirements/<level>/<name>", messages.RequirementSet, 404, 422)
def requirement_set(level: str, name: str) -> Reply:
    """Return one requirement set

    A set nobody has stated has revision 0.  The `ETag` is its revision, for `If-Match`.  With the token of a
    user: only a set that can apply to them.
    """
    known = _level(level)
    _check_name(known, name)
    state = runtime().state
    must_read(caller(), known, name, state.environment.home_vo)
    return _set_answer(state.sets.get((known, name)) or RequirementSet(known, name))


@area.answers(
    "GET /v1/requirements/vo/<name>/suggestion", messages.Suggestion, 404, roles=(Role.PORTAL, Role.ADMIN)
)
def suggestion(name: str) -> messages.Suggestion:
    """Say what a VO could require, by what its members state and get

    Of the sets of its members and their applications, and of the latest 1,000 files of the VO that ended.
    Nothing is stored: who may change the set replaces it, or does not.
    """
    if not is_set_name(Level.VO, name):
        raise NotFoundProblem(f"{name!r} is no name of a VO.")
    running = runtime()
    state = running.state
    members = stated(name, state.environment.home_vo, state.sets, state.now())
    files, _ = running.files.page(Wanted(vo=name), "ended", None, _LATEST_FILES)
    return messages.Suggestion(
        vo=name,
        members=len(members),
        files=len(files),
        suggested=[_suggested(entry) for entry in suggest(members, files)],
        stored=render.requirement_set(state.sets.get((Level.VO, name)) or RequirementSet(Level.VO, name)),
    )


@area.answers(
    "PUT /v1/requirements/<level>/<name>",
    messages.RequirementSet,
    404,
    412,
    roles=PEOPLE,
    body=RequirementSetIn,
)
def replace_requirement_set(level: str, name: str, asked: RequirementSetIn) -> Reply:
    """Replace one requirement set

    An empty list without a profile removes it.  With `If-Match`, only when the set has that revision.
    At level `profile` it is a profile that other sets take up by its name: `USER:NAME` of a user, `%VO:NAME`
    of a virtual organisation, `NAME` of the site.
    """
    known = _level(level)
    _check_name(known, name)
    who = caller()
    check_right(who, known, name)
    sets, run = runtime().state.sets, asked.measured
    check_stored(known, name, asked, sets)
    wanted = RequirementSet(
        known,
        name,
        tuple(requirement.to_model() for requirement in asked.requirements),
        profile=find_profile(asked.profile, sets),
        definition=asked.definition,
        measured=None if run is None else MeasuredRun(**run.model_dump()),
    )
    try:
        changed = runtime().site_manager.replace_requirements(
            wanted, author=who.author, expected_revision=_expected_revision(known, name)
        )
    except InvalidDescriptionError as error:
        raise invalid_description(error, "json.requirements") from None
    return _set_answer(changed)


def _set_answer(requirement_set: RequirementSet) -> Reply:
    return render.reply(
        render.requirement_set(requirement_set), headers={"ETag": f'"{requirement_set.revision}"'}
    )


def _suggested(suggestion: Suggested) -> messages.Suggested:
    """Return what members of a VO state of a kind, in the unit it is shown in."""
    size = suggestion.kind.size
    return messages.Suggested.like(
        suggestion,
        unit=suggestion.kind.unit,
        least=suggestion.least / size,
        middle=suggestion.middle / size,
        most=suggestion.most / size,
        got=render.in_units(suggestion.got, size),
        proposed=None if suggestion.proposed is None else render.requirement(suggestion.proposed),
    )


def _level(text: str) -> Level:
    level = LEVELS.get(text)
    if level is None:
        raise NotFoundProblem(f"There is no level {text!r}; levels are {', '.join(LEVELS)}.")
    return level


def _check_name(level: Level, name: str) -> None:
    if not is_set_name(level, name):
        raise invalid("path.name", f"at level {level} the name must be {SET_FORMS[level]}")


def check_right(who: Principal, level: Level, name: str) -> None:
    """Raise ForbiddenProblem unless the caller may change this requirement set."""
    must_name_a_person(who)
    if who.role is not Role.USER:
        return
    if level is Level.PROFILE:
        if owner_of(level, name) != who.user:
            own = f"{who.user}:{name.rpartition(':')[2]}"
            raise ForbiddenProblem(f"{who.user} may change profiles of their own only: name it {own}.")
        return
    owner = owner_of(level, name) if level is Level.APPLICATION else name
    if level not in (Level.APPLICATION, Level.USER) or owner != who.user:
        raise ForbiddenProblem(f"{who.user} may change the sets of {who.user} only, not {level}/{name}.")


def _expected_revision(level: Level, name: str) -> int | None:
    header = request.headers.get("If-Match")
    if header is None:
        return None
    if header.strip() == "*":
        stored = runtime().state.sets.get((level, name))
        if stored is None or stored.revision == 0:
            raise RevisionProblem(f"{level}/{name} was never set.")
        return stored.revision
    match = _ETAG.fullmatch(header.strip())
    if match is None:
        raise RevisionProblem(f"If-Match {header!r} is not a revision such as '\"3\"'.")
    return int(match[1])
