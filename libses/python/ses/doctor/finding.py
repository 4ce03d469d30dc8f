"""One line of a diagnosis."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """What was found of one link.

    ``warning``: it works, but not as well as it could.  ``skipped``: it could not be looked at because
    of another fault, or makes no sense here.
    """

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """``link`` names the part of the chain, ``detail`` what was seen, ``mend`` what to do about it."""

    link: str
    state: State
    detail: str
    mend: str = ""


def ok(link: str, detail: str) -> Finding:
    """Return a finding that all is well."""
    return Finding(link, State.OK, detail)


def fault(link: str, detail: str, mend: str) -> Finding:
    """Return a finding that something is wrong, with what to do."""
    return Finding(link, State.FAULT, detail, mend)


def warning(link: str, detail: str, mend: str) -> Finding:
    """Return a finding that something works less well than it could, with what to do."""
    return Finding(link, State.WARNING, detail, mend)


def skipped(link: str, why: str) -> Finding:
    """Return a finding that this could not be examined."""
    return Finding(link, State.SKIPPED, why)
