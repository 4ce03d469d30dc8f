"""Names of users as Linux, SSSD and winbind have them: the rule of every part."""

from __future__ import annotations

import re

from ses_client.limits import MAX_NAME

USER = re.compile(rf"(?!-)(?=.{{1,{MAX_NAME}}}\Z)[\w.@+\\-]+\$?")
USER_FORM = f"letters and digits of any script, . _ - @ + \\, a $ at its end; at most {MAX_NAME}"


def user_of(claim: object, domain: str | None) -> str | None:
    """Return the user that an identity provider names; None: it names none.

    With a ``domain`` only NAME@DOMAIN is one of ours: the user NAME, in small letters.
    """
    name = claim if isinstance(claim, str) else ""
    if domain is not None:
        name, _, theirs = name.rpartition("@")
        name = name.lower() if theirs.lower() == domain.lower() else ""
    return name if USER.fullmatch(name) else None
