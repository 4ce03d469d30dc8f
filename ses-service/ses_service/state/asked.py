"""A request for a decision before its requirements are resolved."""

from __future__ import annotations

from dataclasses import dataclass

from ses_service.model.entities import Profile, Requirement, RequirementSet, Subject


@dataclass(slots=True)
class Asked:
    """What is asked.

    ``stripe_count`` is what the program asks for, ``path`` the name the file will have, ``profile`` one the
    request names, ``draft`` a set that counts in place of the one that is stored.  ``is_place``: a directory
    is asked for, and no file.
    """

    subject: Subject
    explicit: tuple[Requirement, ...] = ()
    storage_system: str | None = None
    exclude: frozenset[str] = frozenset()
    expected_bytes: float | None = None
    limit: int = 10
    stripe_count: int | None = None
    path: str | None = None
    profile: Profile | None = None
    draft: RequirementSet | None = None
    is_place: bool = False
