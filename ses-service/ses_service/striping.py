"""Over how many elements one file is spread: the rule, on plain numbers.

The rule (design of this project, section 4, from simulations of least-loaded placement):

* with a rate asked for, the smallest count whose best shares add up to it;
* with none, one element; but a file known to be large takes what the caps below allow, for a count no
  larger than that never made others slower in those simulations, and larger ones collapsed;
* capped by the size (a stripe holds 256 MiB at least), by half of the idle elements (shared among the
  files of one batch), by the site's maximum, and by the elements there are;
* a count the program asks for stands, unless the site's policy says otherwise.

An element counts as idle while a newcomer would share it with less than half a stream: with its
capability C and ``n`` active streams the share is C / (n + 1), so above C / 1.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

from ses_service.policies import Policies

IDLE_ABOVE = 1 / 1.5


class Cause(StrEnum):
    """What decided the number of stripes."""

    RATE = "rate"
    HINT = "hint"
    SIZE = "size"
    IDLE = "idle"
    SITE = "site"
    ELEMENTS = "elements"
    NOTHING = "nothing"


_WORDS = {
    Cause.RATE: "the smallest number whose shares add up to the rate asked for",
    Cause.HINT: "the program asks for it",
    Cause.SIZE: "a stripe is to hold {size} MiB at least",
    Cause.IDLE: "half of the idle elements are left to other files",
    Cause.SITE: "the site allows no more",
    Cause.ELEMENTS: "there are no more elements",
}


@dataclass(frozen=True, slots=True)
class Stripes:
    """A number of stripes and what decided it."""

    count: int = 1
    cause: Cause = Cause.NOTHING

    def sentence(self, policies: Policies) -> str | None:
        """Return what a person should know, or ``None`` when there was nothing to decide."""
        words = _WORDS.get(self.cause)
        if words is None:
            return None
        over = "one element" if self.count == 1 else f"{self.count} elements"
        return f"A file is spread over {over}: {words.format(size=f'{policies.stripe_bytes / 2**20:g}')}."


ONE_STRIPE = Stripes()


def needed(shares: Sequence[float], minimum: float) -> int:
    """Return the smallest number of the first ``shares`` that add up to ``minimum``.

    One more than there are when all of them do not.
    """
    for count, total in enumerate(accumulate(shares), 1):
        if total >= minimum:
            return count
    return len(shares) + 1


def stripe_count(
    *,
    need: int | None,
    size: float | None,
    idle: int,
    files: int,
    elements: int,
    hint: int | None,
    policies: Policies,
) -> Stripes:
    """Return the number of stripes of each of ``files`` alike, 1 to ``elements``.

    ``need`` is what the rate takes (``None``: no rate is asked for), ``size`` the size of a file in bytes
    (``None``: not known), ``idle`` and ``elements`` how many elements are idle and how many there are.
    """
    there = (max(1, elements), Cause.ELEMENTS)
    if hint is not None and not policies.overrule_stripe_hints:
        return Stripes(*min((hint, Cause.HINT), there, key=lambda cap: cap[0]))
    caps = [(max(1, policies.max_stripes), Cause.SITE), there, (max(1, idle // 2 // files), Cause.IDLE)]
    if size is not None:
        caps.append((max(1, int(size // policies.stripe_bytes)), Cause.SIZE))
    limit, cause = min(caps, key=lambda cap: cap[0])
    if need is None:
        return Stripes(limit, cause) if size is not None and limit > 1 else ONE_STRIPE
    return Stripes(need, Cause.RATE) if need <= limit else Stripes(limit, cause)
