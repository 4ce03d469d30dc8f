"""Credentials of MUNGE, and what they are exchanged for."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ses_service.api.schemas.requests import Body


class SessionIn(Body):
    """Who asks for a session, proven by MUNGE."""

    credential: Annotated[
        str,
        Field(
            max_length=4096,
            pattern=r"^MUNGE:[A-Za-z0-9+/=]+:$",
            description="As munge prints it, of the text 'qstorman-session 1 node HOST' made by root, or "
            "'qstorman-session 1 user HOST' by a user. HOST is the name of the host it is made on.",
        ),
    ]
