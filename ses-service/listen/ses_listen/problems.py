"""What is answered before any application sees a request, as problem documents (RFC 9457)."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import NamedTuple

MEDIA_TYPE = b"application/problem+json"
RawHeaders = list[tuple[bytes, bytes]]


class Answer(NamedTuple):
    """A whole answer."""

    status: int
    headers: RawHeaders
    body: bytes


def problem(status: int, slug: str, detail: str, *headers: tuple[bytes, bytes]) -> Answer:
    """Return the problem ``urn:qstorman:problem:SLUG``."""
    body = json.dumps(
        {
            "type": f"urn:qstorman:problem:{slug}",
            "title": HTTPStatus(status).phrase,
            "status": status,
            "detail": detail,
        }
    ).encode()
    return Answer(
        status,
        [(b"content-type", MEDIA_TYPE), (b"content-length", b"%d" % len(body)), *headers],
        body,
    )


OVERLOADED = problem(
    503, "overloaded", "More is asked than can be answered in time; ask again later.", (b"retry-after", b"1")
)
TOO_LONG = problem(
    503,
    "took-too-long",
    "The answer took longer than a request may take, and was given up.  Ask for less at once, or again when "
    "there is less to do.  What was being changed may have been changed: look before you change it again.",
    (b"retry-after", b"10"),
)
FAILED = problem(500, "internal-error", "The request was not answered because of an error; see the log.")
MALFORMED = problem(400, "malformed-request", "This is not a request of HTTP/1.1.")


def head_too_large(most: int) -> Answer:
    """Return the answer to a head of more than ``most`` bytes."""
    return problem(
        431,
        "head-too-large",
        f"Request line and headers are longer than {most // 1024} KiB together. Send shorter ones; cookies "
        "are among them.",
    )
