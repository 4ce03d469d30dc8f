"""Requirements as people type them: ``20MB/s``, ``write>=20MB/s!``, ``write>=20MB/s,hard,weight=2``.

Checks the shape only.  Which kinds and units exist and which fit together is the service's knowledge; it
says so when a requirement reaches it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from ses_client.errors import UsageError
from ses_client.messages.requirements import Requirement, required
from ses_client.quantities import read

# Texts, since a program that asks for no rate compiles none of them.
_KIND = r"[A-Za-z][A-Za-z0-9_-]*"
# Between two requirements in one text: blanks or commas, and behind them a kind with its operator.
_NEXT = r"[\s,]+(?=[A-Za-z][A-Za-z0-9_-]*\s*[<>]=)"
_OPERATOR = r"([<>]=)"


def quantity(text: str) -> tuple[float, str]:
    """Return value and unit of ``20MB/s`` or ``2 GB``; raises UsageError."""
    try:
        number, unit = read(text)
    except ValueError:
        raise UsageError(
            f"{text!r} is not a quantity. Write a number and its unit, like 20MB/s or 2GB."
        ) from None
    value = float(number)
    if not 0 <= value < math.inf:
        raise UsageError(f"{text!r} is {'below zero' if value < 0 else 'too large'}.")
    return value, unit


def requirements_in(texts: Iterable[str]) -> list[Requirement]:
    """Return the requirements in texts, of which each has one or several: ``write>=20MB/s free>=2TB!``."""
    return [requirement(text_part) for text in texts for text_part in re.split(_NEXT, text.strip())]


def requirement(text: str) -> Requirement:
    """Return the requirement in ``KIND>=QUANTITY[,OPTION]...``; raises UsageError.

    ``!`` behind the quantity is ``hard``.  Options are ``hard``, ``soft``, ``weight=NUMBER``, ``from=TIME``
    and ``until=TIME``.  A kind that is at most is written with ``<=``.
    """
    head, *options = text.split(",")
    kind, *rest = re.split(_OPERATOR, head, maxsplit=1)
    if not rest:
        raise UsageError(
            f"{text!r} is not a requirement. Write KIND>=MINIMUM, like 'free-capacity>=2GB' (in quotes), "
            "or KIND<=MAXIMUM."
        )
    amount = rest[1].rstrip()
    weight, strictness = None, "hard" if amount.endswith("!") else "soft"
    times: dict[str, str | None] = {"from": None, "until": None}
    for option in (option_text.strip() for option_text in options):
        name, equals, value = option.partition("=")
        if option in ("hard", "soft"):
            strictness = option
        elif equals and name == "weight":
            weight = _weight(value, text)
        elif equals and name in ("from", "until"):
            times[name] = moment(value)
        else:
            raise UsageError(
                f"{option!r} in {text!r} is not known. After a comma: hard, soft, weight=NUMBER, from=TIME "
                "or until=TIME."
            )
    amount = amount.removesuffix("!")
    wanted = make_requirement(kind.strip(), amount, weight, strictness, at_most=rest[0] == "<=")
    validity = {"valid_from": times["from"], "valid_until": times["until"]}
    return wanted.but(**{name: value for name, value in validity.items() if value is not None})


def make_requirement(
    kind: str, amount: str, weight: float | None = None, strictness: str = "soft", *, at_most: bool = False
) -> Requirement:
    """Return a requirement of a kind with a quantity as typed; raises UsageError."""
    if not re.fullmatch(_KIND, kind):
        raise UsageError(f"{kind!r} cannot be a kind of requirement. Write one like current-write-rate.")
    bound, unit = quantity(amount)
    return required(kind, bound, unit, weight, strictness, at_most=at_most)


def moment(text: str) -> str:
    """Return a time as the service takes it; one without a zone is local.  Raises UsageError."""
    from datetime import UTC, datetime  # which few requirements need

    try:
        return datetime.fromisoformat(text.strip()).astimezone(UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError):
        raise UsageError(
            f"{text!r} is not a time. Write 2026-12-01, 2026-12-01T08:00 or 2026-12-01T08:00:00Z."
        ) from None


def _weight(text: str, whole: str) -> float:
    try:
        weight = float(text)
        if not math.isfinite(weight):
            raise ValueError
    except ValueError:
        raise UsageError(f"The weight {text!r} in {whole!r} is not a number.") from None
    return weight


def written(wanted: Requirement) -> str:
    """Return a requirement as it would be typed."""
    extras = ",hard" if wanted.strictness == "hard" else ""
    if wanted.weight not in (None, 1.0):
        extras += f",weight={wanted.weight:g}"
    extras += f",from={wanted.valid_from}" if wanted.valid_from else ""
    extras += f",until={wanted.valid_until}" if wanted.valid_until else ""
    return f"{wanted.kind}{'<=' if wanted.at_most else '>='}{wanted.bound:.15g}{wanted.unit}{extras}"
