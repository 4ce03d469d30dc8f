"""Versions: each side tells its own in every message, and parts of one major version understand each other.

Within a major version a side passes over members it does not know, so that service and agents are upgraded
in any order.  Who tells none is taken for one of ours.
"""

from __future__ import annotations

from ses_service.api.contract import VERSION
from ses_service.api.problems import OtherVersionProblem

HEADER = "Ses-Version"
OWN = VERSION


def check(told: str | None) -> None:
    """Raise OtherVersionProblem for a caller of another major version."""
    if told is None or told == OWN:
        return
    major = told.partition(".")[0]
    if major.isdecimal() and major != OWN.partition(".")[0]:
        raise OtherVersionProblem(
            f"This is ses-service {OWN} and the caller {told[:40]}: of different major versions they do not "
            "understand each other; upgrade the older one."
        )
