"""Errors as the caller gets them: one exception tree, one rendering (RFC 9457 problem+json)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, TypeAlias

import structlog
from apiflask import APIFlask, HTTPError
from flask import Response, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from ses_service.api.render import Reply
from ses_service.knowledge.errors import (
    ChangedSinceError,
    ElementExistsError,
    InvalidDescriptionError,
    KnowledgeBaseError,
    NoSuchElementError,
    NotDrainedError,
    RevisionConflictError,
    StaleReadingError,
    UnknownChangeError,
)
from ses_service.ledger.errors import NotYoursError, PlacementEndedError, UnknownPlacementError
from ses_service.ledger.places import TooManyPlacesError
from ses_service.process.runs import TooManyRunsError, UnknownRunError
from ses_service.security.personal_tokens import PersonalTokenError
from ses_service.security.tokens import OtherNodeError
from ses_service.state.state import NoEnvironmentError
from ses_service.store.errors import DatabaseError

TYPE_PREFIX = "urn:qstorman:problem:"
MEDIA_TYPE = "application/problem+json"

Located: TypeAlias = Mapping[str, str]

_log = structlog.get_logger("ses_service")

_PLACES_NAMED = 3
_MAX_ERRORS = 100  # listed of one request: a megabyte can be wrong in 75,000 places
_RETRY_AFTER = 1
_SLUGS = {
    400: "malformed-request",
    401: "unauthenticated",
    403: "forbidden",
    404: "not-found",
    405: "method-not-allowed",
    413: "body-too-large",
    415: "unsupported-media-type",
    422: "invalid-request",
    500: "internal-error",
}


class Problem(Exception):
    """An answer that is an error.  ``detail`` says what was wrong and, where it can, what to do."""

    status = 500
    slug = "internal-error"

    def __init__(
        self,
        detail: str,
        *,
        errors: Sequence[Located] = (),
        headers: Mapping[str, str] | None = None,
        extensions: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = tuple(errors)
        self.headers = dict(headers or {})
        self.extensions = dict(extensions or {})


class UnauthenticatedProblem(Problem):
    """No token, or one that is not known."""

    status, slug = 401, "unauthenticated"

    def __init__(self, detail: str) -> None:
        super().__init__(detail, headers={"WWW-Authenticate": 'Bearer realm="qstorman"'})


class ForbiddenProblem(Problem):
    """The caller is known and may not do this."""

    status, slug = 403, "forbidden"


class NotFoundProblem(Problem):
    """What the path names does not exist."""

    status, slug = 404, "not-found"


class NothingFitsProblem(Problem):
    """No element of the storage system can take the place; ``refused`` says why of each."""

    status, slug = 409, "nothing-fits"

    def __init__(self, system: str, refused: Sequence[Mapping[str, Any]]) -> None:
        why = "; ".join(
            f"{entry['element']}: {entry['detail'].rstrip('.')}" for entry in refused[:_PLACES_NAMED]
        )
        more = len(refused) - _PLACES_NAMED
        super().__init__(
            f"No directory of {system} fits. {why}" + (f"; and {more} more." if more > 0 else "."),
            extensions={"refused": [*refused]},
        )


class NotKeptProblem(Problem):
    """What was asked for cannot be written to the service's own files."""

    status, slug = 503, "not-kept"


@contextmanager
def written(what: str) -> Iterator[None]:
    """Raise NotKeptProblem where the block cannot write a file that keeps what the service has of them."""
    try:
        yield
    except OSError as error:
        raise NotKeptProblem(
            f"The service cannot write its {what}: {error.strerror}.", headers={"Retry-After": "60"}
        ) from None


class MonitorProblem(Problem):
    """What only the monitor knows cannot be asked for."""

    status, slug = 503, "monitor-unavailable"


class OtherVersionProblem(Problem):
    """The caller is of another major version."""

    status, slug = 409, "other-version"


class RevisionProblem(Problem):
    """The requirement set was changed by someone else meanwhile."""

    status, slug = 412, "revision-mismatch"


class MediaTypeProblem(Problem):
    """The body is not declared as JSON."""

    status, slug = 415, "unsupported-media-type"


class InvalidProblem(Problem):
    """The request was understood and cannot be right.

    ``detail`` names the first places and ``errors`` says what is wrong there, so that a client that
    shows both says nothing twice.
    """

    status, slug = 422, "invalid-request"

    def __init__(self, errors: Sequence[Located]) -> None:
        places = list(dict.fromkeys(error["location"] for error in errors))
        named = ", ".join(places[:_PLACES_NAMED])
        more = len(places) - _PLACES_NAMED
        super().__init__(
            f"The request cannot be right in {named}" + (f" and {more} more." if more > 0 else "."),
            errors=errors,
        )


def invalid(location: str, *messages: str) -> InvalidProblem:
    """Return the problem of what is wrong in one place."""
    return InvalidProblem([{"location": location, "message": message} for message in messages])


def invalid_description(error: InvalidDescriptionError, location: str | None = None) -> InvalidProblem:
    """Return the problem of a description that came from the caller; its faults are at ``location``."""
    return invalid(location or error.source, *error.messages)


class UnknownNameProblem(InvalidProblem):
    """The request names something that does not exist: a storage system, an element, a profile."""

    slug = "unknown-name"


class MungeProblem(Problem):
    """munged of the service's machine does not answer now."""

    status, slug = 503, "munge-unavailable"


class OverloadedProblem(Problem):
    """More requests wait than can be answered in time; this one was not looked at."""

    status, slug = 503, "overloaded"

    def __init__(self) -> None:
        super().__init__(
            "The service has more to do than it can; wait, and wait a random time.",
            headers={"Retry-After": str(_RETRY_AFTER)},
        )


def reply(problem: Problem) -> Reply:
    """Return the problem as an answer."""
    body: dict[str, Any] = {
        "type": TYPE_PREFIX + problem.slug,
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "detail": problem.detail,
    }
    if problem.errors:
        body["errors"] = [dict(error) for error in problem.errors]
    body.update(problem.extensions)
    headers = (("Content-Type", MEDIA_TYPE), *problem.headers.items())
    return Reply(problem.status, json.dumps(body).encode(), headers)


def respond(problem: Problem) -> Response:
    """Return the problem as a response."""
    return reply(problem).response()


def _of_status(status: int, detail: str, headers: Mapping[str, str], slug: str | None = None) -> Problem:
    problem = Problem(detail, headers=headers)
    problem.status = status
    problem.slug = slug or _SLUGS.get(status, f"http-{status}")
    return problem


def _validation(error: HTTPError) -> Problem:
    located = [
        {
            "location": location if name == "_schema" else f"{location}.{name}",
            "message": message.removeprefix("Value error, "),  # pydantic's prefix
        }
        for location, fields in error.detail.items()
        for name, messages in fields.items()
        for message in messages
    ]
    return InvalidProblem(located[:_MAX_ERRORS])


_DETAILS = {
    400: "The request or its body cannot be read; a body must be valid JSON.",
    404: "Nothing is served at this path; /openapi.json lists what is.",
    413: "The body is larger than this service accepts.",
}


def _http_exception(error: HTTPException) -> Response:
    kept = ("allow", "retry-after")
    headers = {name: value for name, value in error.get_headers() if name.lower() in kept}
    status = error.code or 500
    detail = _DETAILS.get(status, error.description or error.name)
    if isinstance(error, MethodNotAllowed) and error.valid_methods:
        detail = f"{request.method} is not served at this path; {', '.join(sorted(error.valid_methods))} are."
    return respond(_of_status(status, detail, headers))


_RETRY = {"Retry-After": str(_RETRY_AFTER)}
_FROM_INSIDE: tuple[tuple[type[Exception], int, str], ...] = (
    (UnknownPlacementError, 404, "not-found"),
    (UnknownRunError, 404, "not-found"),
    (TooManyPlacesError, 409, "too-many-places"),
    (TooManyRunsError, 409, "too-many-runs"),
    (PersonalTokenError, 409, "token-exists"),
    (PlacementEndedError, 409, "ended"),
    (NotYoursError, 409, "ended"),
    (OtherNodeError, 403, "forbidden"),
    (NoEnvironmentError, 503, "not-ready"),
    (RevisionConflictError, 412, "revision-mismatch"),
    (UnknownChangeError, 404, "not-found"),
    (ChangedSinceError, 409, "changed-since"),
    (NoSuchElementError, 404, "not-found"),
    (ElementExistsError, 409, "element-state"),
    (NotDrainedError, 409, "element-state"),
    (StaleReadingError, 409, "changed-meanwhile"),
    # What the service itself reads breaks the rules; a text that the caller sent is an InvalidProblem.
    (InvalidDescriptionError, 500, "invalid-description"),
    (KnowledgeBaseError, 503, "knowledge-base-unavailable"),
    (DatabaseError, 503, "database-unavailable"),
)


def problem_of(error: Exception) -> Problem:
    """Return what the caller gets for an error; one that nobody expected is logged."""
    if isinstance(error, Problem):
        return error
    for kind, status, slug in _FROM_INSIDE:
        if isinstance(error, kind):
            message = str(error)
            sentence = message if message.endswith("?") else f"{message}."
            return _of_status(status, sentence, _RETRY if status == 503 else {}, slug)
    _log.error("request failed", exc_info=error)
    return Problem("The service met an error of its own; its log has the details.")


def _from_inside(error: Exception) -> Response:
    return respond(problem_of(error))


def install(app: APIFlask) -> None:
    """Make every error of the application a problem+json answer."""

    def apiflask_error(error: HTTPError) -> Response:
        if error.status_code == 422 and isinstance(error.detail, dict):
            return respond(_validation(error))
        return respond(_of_status(error.status_code, str(error.message), {}))

    app.error_processor(apiflask_error)
    app.register_error_handler(Problem, respond)
    app.register_error_handler(HTTPException, _http_exception)
    for kind, *_ in _FROM_INSIDE:
        app.register_error_handler(kind, _from_inside)
    app.register_error_handler(RecursionError, lambda _: respond(_of_status(400, _DETAILS[400], {})))
    app.register_error_handler(Exception, _from_inside)
