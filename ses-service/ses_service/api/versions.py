"""Versions: each side names its own in every message, and parts of one major version understand each other.

Within a major version a side passes over members it does not know, so that service and agents are upgraded
in any order.  A message without one is taken for one of this version.
"""

from ses_service.api.contract import VERSION
from ses_service.api.problems import OtherVersionProblem

HEADER = "Ses-Version"
OWN = VERSION


def check(version: str | None) -> None:
    """Raise OtherVersionProblem for a caller of another major version."""
    if version is None or version == OWN:
        return
    major = version.partition(".")[0]
    if major.isdecimal() and major != OWN.partition(".")[0]:
        raise OtherVersionProblem(
            f"This is ses-service {OWN} and the caller {version[:40]}: of different major versions they do "
            "not understand each other; upgrade the older one."
        )
