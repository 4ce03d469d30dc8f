"""Requirements as people type them: ``20MB/s``, ``current-write-rate>=20MB/s,hard,weight=2``.

Checks the shape only.  Which units exist and which fit a kind is the service's knowledge; it says
so when a requirement reaches it.
"""

from __future__ import annotations

import re

from ses.answers import Requirement
from ses.errors import UsageError

KINDS = (
    "current-read-rate",
    "average-read-rate",
    "current-write-rate",
    "average-write-rate",
    "free-capacity",
)
_QUANTITY = re.compile(r"\s*([-+]?[0-9.]+(?:e[-+]?[0-9]+)?)\s*([A-Za-z]+(?:/[A-Za-z]+)?)\s*", re.IGNORECASE)


def quantity(text: str) -> tuple[float, str]:
    """Return value and unit of ``20MB/s`` or ``2 GB``; raises UsageError."""
    match = _QUANTITY.fullmatch(text)
    try:
        if match is None:
            raise ValueError
        return float(match[1]), match[2]
    except ValueError:
        raise UsageError(
            f"{text!r} is not a quantity. Write a number and its unit, like 20MB/s or 2GB."
        ) from None


def requirement(text: str) -> Requirement:
    """Return the requirement in ``KIND>=QUANTITY[,hard][,weight=NUMBER]``; raises UsageError."""
    head, *options = text.split(",")
    kind, operator, amount = head.partition(">=")
    if not operator:
        raise UsageError(
            f"{text!r} is not a requirement. Write KIND>=MINIMUM, like 'free-capacity>=2GB' (in quotes)."
        )
    weight, strictness = 1.0, "soft"
    for option in (one.strip() for one in options):
        if option in ("hard", "soft"):
            strictness = option
        elif option.startswith("weight="):
            weight = _weight(option.removeprefix("weight="), text)
        else:
            raise UsageError(
                f"{option!r} in {text!r} is not known. After a comma: hard, soft or weight=NUMBER."
            )
    return make_requirement(kind.strip(), amount, weight, strictness)


def make_requirement(kind: str, amount: str, weight: float = 1.0, strictness: str = "soft") -> Requirement:
    """Return a requirement of a kind with a quantity as typed; raises UsageError."""
    if kind not in KINDS:
        raise UsageError(f"{kind!r} is not a kind of requirement. There are: {', '.join(KINDS)}.")
    minimum, unit = quantity(amount)
    return Requirement(kind, minimum, unit, weight, strictness)


def _weight(text: str, whole: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"The weight {text!r} in {whole!r} is not a number.") from None


def written(one: Requirement) -> str:
    """Return a requirement as it would be typed."""
    extras = ",hard" if one.strictness == "hard" else ""
    if one.weight != 1.0:
        extras += f",weight={one.weight:g}"
    return f"{one.kind}>={one.minimum:g}{one.unit}{extras}"
