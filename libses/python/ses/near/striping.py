"""Which OST each stripe of a file lies on.  Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Stripe:
    """The bytes [start, end) of a file, and the index of the OST that holds them."""

    start: int
    end: int
    ost: int


def stripes_of(components: Sequence[Mapping[str, Any]], size: int) -> list[Stripe]:
    """Return the stripes of a file of ``size`` bytes in order, from its components (``layout_of``).

    Neighbours on the same OST are one.  Raises ValueError where the bytes are not in stripes on OSTs.
    """
    stripes: list[Stripe] = []
    for component in sorted(components, key=lambda component: int(component["start"])):
        position = int(component["start"])
        end = size if component["end"] is None else min(size, int(component["end"]))
        osts, width = component["osts"], component["stripe_size_bytes"]
        if position >= end:
            continue
        if not osts or not width or position != (stripes[-1].end if stripes else 0):
            raise ValueError("it is not striped over OSTs from its beginning to its end")
        while position < end:
            number = position // width  # Lustre counts stripes from the beginning of the file
            until = min(end, (number + 1) * width)
            ost = osts[number % len(osts)]
            if stripes and stripes[-1].ost == ost:
                stripes[-1] = Stripe(stripes[-1].start, until, ost)
            else:
                stripes.append(Stripe(position, until, ost))
            position = until
    if size > 0 and (not stripes or stripes[-1].end < size):
        raise ValueError("its layout ends before the file")
    return stripes
