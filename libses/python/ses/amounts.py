"""Options whose values are sizes and rates: ``500MB``, ``1.5GiB/s``, ``1Gbit/s``.

They become bytes here.  Units of requirements are the service's knowledge (:mod:`ses.quantities`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import click
from ses_client.quantities import RATES, SIZES, meant

from ses.quantities import quantity

_LINK_RATES = {**RATES, "kbit/s": 1e3 / 8, "Mbit/s": 1e6 / 8, "Gbit/s": 1e9 / 8}
_MAX_SIZE = 2**63 - 1  # bytes of a file


class _Amount(click.ParamType):  # type: ignore[type-arg]  # click 8.1 of Debian 12 names no type there
    """Positive; ``zero``: nothing is an amount, too; ``none``: an empty text stays one."""

    units: ClassVar[Mapping[str, float]]

    def __init__(self, *, zero: bool = False, none: bool = False) -> None:
        self._zero = zero
        self._none = none

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return bytes, or bytes per second."""
        if not isinstance(value, str) or (self._none and value == ""):
            return value
        number, unit = quantity(value)
        if unit not in self.units:
            near = meant(f"{number:.15g}", unit, self.units)
            hint = f"; did you mean {near}?" if near else ""
            self.fail(f"unit {unit!r} of {value!r} is none of {', '.join(self.units)}{hint}", param, ctx)
        if number == 0 and not self._zero:
            self.fail(f"{value!r} is nothing.", param, ctx)
        if number * self.units[unit] > _MAX_SIZE:
            self.fail(f"{value!r} is too large.", param, ctx)
        return number * self.units[unit]


class Size(_Amount):
    """A size such as ``700MB``, in whole bytes."""

    name = "size"
    units = SIZES

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return bytes."""
        number = super().convert(value, param, ctx)
        if not isinstance(number, float):
            return number
        if not (whole := round(number)) and not self._zero:
            self.fail(f"{value!r} is less than a byte.")
        return whole


class Rate(_Amount):
    """A rate such as ``100MB/s``, in bytes per second."""

    name = "rate"
    units: ClassVar[Mapping[str, float]] = RATES


class LinkRate(Rate):
    """A rate of a network link, for which bits are usual: ``1Gbit/s``."""

    units = _LINK_RATES
