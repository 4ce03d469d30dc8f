"""Requests for a decision, turned into what the desk is asked."""

from __future__ import annotations

from ses_service.desk import Asked
from ses_service.problems import InvalidProblem
from ses_service.runtime import runtime
from ses_service.schemas.requests import SelectionRequest


def asked(body: SelectionRequest) -> Asked:
    """Return the request as the desk takes it; raises InvalidProblem for an unknown system."""
    systems = runtime().desk.environment.systems
    if body.storage_system is not None and body.storage_system not in systems:
        known = ", ".join(sorted(systems)) or "none"
        message = f"no storage system {body.storage_system!r} is described; known: {known}"
        raise InvalidProblem([{"location": "json.storage_system", "message": message}])
    return Asked(
        subject=body.subject.to_model(),
        explicit=tuple(requirement.to_model() for requirement in body.requirements),
        storage_system=body.storage_system,
        exclude=frozenset(body.exclude),
        expected_bytes=body.expected_bytes,
        limit=body.limit,
        seed=body.seed,
    )


def backends() -> dict[str, str]:
    """Return the back end of each storage system."""
    return {name: system.backend for name, system in runtime().desk.environment.systems.items()}
