"""From an answer that says no (problem+json) to the error it is."""

from __future__ import annotations

import json
from typing import Any

from ses_client.errors import (
    BadAnswerError,
    ConflictError,
    NotAllowedError,
    NotFoundError,
    RefusedError,
    SesError,
    UnavailableError,
)

_TOKEN = "Name your token with --token-file or SES_TOKEN_FILE, or put it in ~/.config/ses/token."
_OTHER_TOKEN = "Name another with --token-file or SES_TOKEN_FILE, or keep one by ses login."
_CONFLICTS = ("changed-since", "changed-meanwhile")


def error_of(status: int, data: bytes, had_token: bool) -> SesError:
    """Return the error that an answer with this status stands for."""
    problem = _problem(data)
    slug = str(problem.get("type") or "").rpartition(":")[2]
    sentence = str(problem.get("detail") or problem.get("title") or f"HTTP status {status}").rstrip(".")
    detail = sentence if sentence.endswith("?") else f"{sentence}."
    if status == 401:
        return NotAllowedError(detail, _OTHER_TOKEN if had_token else _TOKEN)
    if status == 403:
        return NotAllowedError(detail, "Use a token that may do this.")
    if status == 404:
        return NotFoundError(detail, "" if slug else "Is this a selection service of this version?")
    if status == 412 or (status == 409 and slug in _CONFLICTS):
        return ConflictError(detail, status, slug=slug)
    if status >= 500:
        if slug:
            return UnavailableError(detail)
        return BadAnswerError(f"The selection service failed: {detail}", "Its log says more.")
    if not 400 <= status < 500:
        return BadAnswerError(f"The selection service answered with HTTP status {status}.")
    faults = [fault for fault in problem.get("errors") or () if isinstance(fault, dict)]
    problems = tuple((str(fault.get("location") or ""), str(fault.get("message") or "")) for fault in faults)
    return RefusedError(detail, status, problems, slug)


def _problem(data: bytes) -> dict[str, Any]:
    try:
        problem = json.loads(data)
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}
