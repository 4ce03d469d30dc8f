"""For whom a caller may ask and act, and which requirements they may read.

A user may read the requirements that can apply to them, everybody else all.  What can apply to a user is
their own, those of their own applications and of the VO they belong to, and the site's.  Profiles are there
to be taken up by name, and everybody may read them.  Portals ask for people and refuse them by the same rule.
"""

from collections.abc import Mapping

from ses_service.api.problems import ForbiddenProblem
from ses_service.decision.resolve import application_name
from ses_service.model.entities import Level
from ses_service.security.tokens import Principal, Role


def may_read(who: Principal, level: Level, name: str, home_vo: Mapping[str, str]) -> bool:
    """Return whether a caller may read this requirement set."""
    if who.role is not Role.USER or level in (Level.SITE, Level.PROFILE):
        return True
    user = who.user or ""  # a token of a user names one
    match level:
        case Level.APPLICATION:
            return name.startswith(application_name(user, ""))
        case Level.USER:
            return name == user
        case _:
            return name == home_vo.get(user)


def must_read(who: Principal, level: Level, name: str, home_vo: Mapping[str, str]) -> None:
    """Raise ForbiddenProblem unless a caller may read this requirement set."""
    if not may_read(who, level, name, home_vo):
        raise ForbiddenProblem(f"{who.user} may read what can apply to {who.user} only, not {level}/{name}.")


def must_ask_for(who: Principal, user: str, vo: str | None, home_vo: Mapping[str, str]) -> None:
    """Raise ForbiddenProblem unless a caller may know what applies to this user, as a member of this VO."""
    must_read(who, Level.USER, user, home_vo)
    if vo is not None:
        must_read(who, Level.VO, vo, home_vo)


def whose(who: Principal, user: str | None, what: str) -> str | None:
    """Return whose ``what`` a caller asks for who names a user or none; ``None``: everybody's.

    A user's are their own.  Raises ForbiddenProblem.
    """
    if who.role is not Role.USER:
        return user
    if user not in (None, who.user):
        raise ForbiddenProblem(f"These {what} belong to somebody else.")
    return who.user


def must_act_for(who: Principal, user: str) -> None:
    """Raise ForbiddenProblem unless a caller may have, and end, what is this user's."""
    must_name_a_person(who)
    if who.role is not Role.ADMIN and user != who.user:
        raise ForbiddenProblem(f"This belongs to {user}, and {who.user} is somebody else.")


def must_name_a_person(who: Principal) -> None:
    """Raise ForbiddenProblem for a portal that does not say for whom it acts."""
    if who.role is Role.PORTAL and not who.user:
        raise ForbiddenProblem("A portal must say for whom it acts: send 'X-Acting-User: NAME'.")
