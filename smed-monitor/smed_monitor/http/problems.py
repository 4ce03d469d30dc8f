"""Errors as RFC 9457 problem details, in one place for the whole application."""

from http import HTTPStatus
from typing import Any

from apiflask.exceptions import HTTPError
from flask import Response

from smed_monitor.http.schemas import Problem, ProblemError

SLUGS = {
    404: "not-found",
    405: "method-not-allowed",
    422: "invalid-request",
    503: "too-many-waiting",
}


def problem_response(error: HTTPError) -> Response:
    """What a client gets for ``error``."""
    status = error.status_code
    title = HTTPStatus(status).phrase
    faults = _faults(error.detail)
    sentence = "; ".join(f"{fault.location}: {fault.message}" for fault in faults)
    body = Problem(
        type=f"urn:qstorman:problem:{SLUGS.get(status, 'failure')}",
        title=title,
        status=status,
        detail=sentence or error.message or title,
        errors=faults or None,
    )
    response = Response(
        body.model_dump_json(exclude_none=True), status=status, content_type="application/problem+json"
    )
    for name, value in dict(error.headers).items():
        if name.lower() != "content-length":
            response.headers[name] = value
    return response


def _faults(detail: Any) -> list[ProblemError]:
    """APIFlask's ``{"query": {"wait": ["..."]}}`` as a list."""
    if not isinstance(detail, dict):
        return []
    return [
        ProblemError(location=f"{place}.{field}", message=message)
        for place, fields in detail.items()
        for field, messages in fields.items()
        for message in messages
    ]
