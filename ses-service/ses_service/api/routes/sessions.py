"""Sessions of nodes and users that MUNGE knows."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response, current_app, request
from ses_client.messages.access import Session

from ses_service.api import render
from ses_service.api.authentication import AUTHENTICATOR, Authenticator
from ses_service.api.contract import SESSIONS, answers
from ses_service.api.schemas.sessions import SessionIn
from ses_service.security.sessions import LIFETIME

blueprint = APIBlueprint("sessions", __name__, tag="sessions")


@blueprint.post(SESSIONS)
@blueprint.input(SessionIn)
@blueprint.doc(responses=answers(Session, body=True))
def open_session(json_data: SessionIn) -> Response:
    """Exchange a MUNGE credential for a token

    The token is valid for ten minutes, for requests from the address of this one.  Each credential is taken
    once.
    """
    authenticator: Authenticator = current_app.extensions[AUTHENTICATOR]
    opened = authenticator.open_session(json_data.credential, request.headers.get, request.remote_addr)
    who = opened.principal
    session = Session(token=opened.token, seconds=LIFETIME, role=who.role, name=who.node or who.user or "")
    return render.answer(session)
