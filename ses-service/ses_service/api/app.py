"""The application: everything put together, nothing started.

``create_app`` opens no connection and starts no thread; ``Runtime.start`` does, and ``stop`` ends
them.  One process must serve an application: the ledger is in its memory.
"""

from apiflask import APIFlask
from flask import request

from ses_service.api import contract, problems
from ses_service.api.authentication import AUTHENTICATOR, Authenticator
from ses_service.api.problems import MediaTypeProblem, invalid
from ses_service.api.routes import (
    element_changes,
    elements,
    files,
    health,
    knowledge,
    ledger,
    members,
    nodes,
    placements,
    places,
    quotas,
    requirements,
    runs,
    selections,
    sessions,
    tokens,
    vocabulary,
    workloads,
)
from ses_service.process.runtime import RUNTIME, Runtime, ServiceConfig


def create_app(config: ServiceConfig) -> APIFlask:
    """Make the application; see :class:`Runtime` for starting it."""
    app = APIFlask(
        "ses_service",
        title=contract.TITLE,
        version=contract.VERSION,
        spec_path="/openapi.json",
        docs_path=None,
        json_errors=False,
        static_folder=None,  # type: ignore[arg-type]  # APIFlask forgets that None means none
    )
    contract.install(app)
    problems.install(app)
    app.config["MAX_CONTENT_LENGTH"] = config.max_body
    app.extensions[RUNTIME] = parts = Runtime(config)
    app.extensions[AUTHENTICATOR] = Authenticator(
        config.tokens,
        trust_loopback=config.trust_loopback,
        portal_uid=config.portal_uid,
        signed=parts.members.tokens if parts.members else None,
        sessions=config.sessions,
        personal=parts.personal_tokens,
    )
    parts.metrics.install(app)

    @app.before_request
    def only_json() -> None:
        if request.routing_exception is not None or request.method not in ("POST", "PUT", "PATCH"):
            return
        if request.mimetype != "application/json":
            raise MediaTypeProblem("Send the body as JSON, with 'Content-Type: application/json'.")
        if request.get_data().strip() == b"null":  # to APIFlask that is no body, where none has to be there
            raise invalid("json", "the body is null; send an object")

    @app.before_request
    def each_parameter_once() -> None:
        if request.routing_exception is not None:
            return
        twice = sorted(name for name, values in request.args.lists() if len(values) > 1)
        if twice:
            raise invalid(f"query.{twice[0]}", "given more than once")

    storage = (selections, placements, places, files, nodes, ledger, elements, element_changes, quotas)
    people = (sessions, tokens, requirements, members, vocabulary, workloads, knowledge, runs)
    for routes in (*storage, *people, health):
        app.register_blueprint(routes.area)
    return app
