"""Sessions of nodes and users that MUNGE knows."""

from typing import Annotated

from flask import current_app, request
from pydantic import Field
from ses_client.messages.access import Session

from ses_service.api.area import Area
from ses_service.api.authentication import AUTHENTICATOR, Authenticator
from ses_service.api.contract import SESSIONS
from ses_service.api.schemas.requests import Body
from ses_service.security.sessions import LIFETIME

area = Area("sessions")


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


@area.answers(f"POST {SESSIONS}", Session, roles=None, body=SessionIn)
def open_session(asked: SessionIn) -> Session:
    """Exchange a MUNGE credential for a token

    The token is valid for ten minutes, for requests from the address of this one.  Each credential is taken
    once.
    """
    authenticator: Authenticator = current_app.extensions[AUTHENTICATOR]
    opened = authenticator.open_session(asked.credential, request.headers.get, request.remote_addr)
    who = opened.principal
    return Session(token=opened.token, seconds=LIFETIME, role=who.role, name=who.node or who.user or "")
