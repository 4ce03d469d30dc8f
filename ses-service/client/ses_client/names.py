"""Names of users and groups as Linux, SSSD and winbind have them, and of sets of requirements: the rule of
every part."""

from __future__ import annotations

import re

from ses_client.limits import MAX_APPLICATION, MAX_KIND, MAX_NAME

USER = re.compile(rf"(?!-)(?=.{{1,{MAX_NAME}}}\Z)[\w.@+\\-]+\$?")
USER_FORM = f"letters and digits of any script, . _ - @ + \\, a $ at its end; at most {MAX_NAME}"
_WORD = r"[\w.@+:=,&()\\-]+"
VO = re.compile(rf"(?!-)(?=.{{1,{MAX_NAME}}}\Z){_WORD}(?: {_WORD})*")
VO_FORM = f"letters and digits of any script, single spaces, . _ - @ + : = , & ( ) \\; at most {MAX_NAME}"
_APPLICATION = re.compile(r"(?! )[^\x00-\x1f\x7f/]+(?<! )")
_PROFILE = re.compile(rf"[a-z][a-z0-9-]{{0,{MAX_KIND - 1}}}")
SITE_NAME = "default"

#: What a set of requirements is called, by its level.
SET_FORMS = {
    "application": f"USER:APPLICATION, where APPLICATION has at most {MAX_APPLICATION} bytes and no slash",
    "user": f"a user's: {USER_FORM}",
    "vo": f"that of a virtual organisation: {VO_FORM}",
    "profile": "NAME, USER:NAME or %VO:NAME, where NAME is of small letters, digits and '-'",
    "site": f"{SITE_NAME!r}, the only set of the site",
}


def is_set_name(level: str, name: str) -> bool:
    """Return whether a level (a key of SET_FORMS) can have a set of this name."""
    match level:
        case "application":
            user, _, own = name.partition(":")
            return bool(USER.fullmatch(user) and _APPLICATION.fullmatch(own)) and is_application(own)
        case "user":
            return bool(USER.fullmatch(name))
        case "vo":
            return bool(VO.fullmatch(name))
        case "profile":
            owner, colon, own = name.rpartition(":")
            owned = VO.fullmatch(owner[1:]) if owner.startswith("%") else USER.fullmatch(owner)
            return bool((owned or not colon) and _PROFILE.fullmatch(own))
        case _:
            return name == SITE_NAME


def is_application(name: str) -> bool:
    """Return whether a node can keep the name of an application: by its bytes, not its characters."""
    return len(name.encode("utf-8", "surrogatepass")) <= MAX_APPLICATION


def user_of(claim: object, domain: str | None) -> str | None:
    """Return the user that an identity provider names; None: it names none.

    With a ``domain`` only NAME@DOMAIN is one of ours: the user NAME, in small letters.
    """
    name = claim if isinstance(claim, str) else ""
    if domain is not None:
        name, _, theirs = name.rpartition("@")
        name = name.lower() if theirs.lower() == domain.lower() else ""
    return name if USER.fullmatch(name) else None
