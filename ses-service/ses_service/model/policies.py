"""Weights and limits of the decision, in one place; a site may change them, the formulas stay.

Says what may be set and to what; what the numbers do is in ``ses/core.h`` and ``docs/decision.md``.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any, TypeVar

Value = TypeVar("Value", float, int, bool, frozenset[str])


class PoliciesError(ValueError):
    """A setting does not exist, or cannot have this value; the text names it."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What one setting is for, with its unit and the range it may have."""

    name: str
    default: Any
    says: str
    least: float = 0.0
    most: float = math.inf

    def value(self, given: object) -> Any:
        """Return a value as the setting takes it; raises PoliciesError."""
        if isinstance(self.default, frozenset):
            if isinstance(given, list) and all(isinstance(value, str) for value in given):
                return frozenset(given)
            raise PoliciesError(f'{self.name} is a list of texts, such as ["nvme"]')
        if isinstance(self.default, bool):
            if isinstance(given, bool):
                return given
            raise PoliciesError(f"{self.name} is true or false")
        whole = isinstance(self.default, int)
        if isinstance(given, bool) or not isinstance(given, int if whole else int | float):
            raise PoliciesError(f"{self.name} is a {'whole ' if whole else ''}number")
        if not self.least <= given <= self.most:
            raise PoliciesError(f"{self.name} = {given:g} is not {self.range}")
        return given if whole else float(given)

    @property
    def range(self) -> str:
        """The range in words."""
        return f"from {self.least:g}" + ("" if math.isinf(self.most) else f" to {self.most:g}")


def _setting(default: Value, says: str, least: float = 0.0, most: float = math.inf) -> Value:
    setting: Value = field(default=default, metadata={"says": says, "least": least, "most": most})
    return setting


@dataclass(frozen=True, slots=True)
class Policies:
    """Numbers the decision uses.  Those that the core has too are sent to every node."""

    max_data_age: float = _setting(
        10.0, "Seconds after which a sample counts as unknown, if `sample_intervals` is not longer.", 0.1
    )
    sample_intervals: float = _setting(
        6.0,
        "A sample counts for this many times the interval between samples of its element, so that one late "
        "or lost sample does not make the element look unseen; 0: `max_data_age` alone counts.",
    )
    rate_window: float = _setting(
        2.0, "Seconds over which the monitor averages current rates, where it does not say so itself.", 0.1
    )
    saturation: float = _setting(
        0.97, "Utilisation from which an element counts as saturated.", least=0.01, most=1
    )
    saturated_prior: float = _setting(
        1.5, "Streams of others on a saturated element whose queue is not visible.", most=1000
    )
    unseen_streams: float = _setting(
        1.0,
        "Streams of others on an element without a usable sample while others have one, so that a dead "
        "exporter does not look like an idle disk.",
        most=1000,
    )
    distance_step: float = _setting(
        0.02, "Distances that exceed the best by at most this count as equal.", most=1
    )
    equal_share: float = _setting(
        0.4, "Predicted rates that are lower than the best by at most this part count as equal.", most=1
    )
    equal_foreign: float = _setting(
        0.25, "Numbers of foreign streams that differ by at most this count as equal.", most=1000
    )
    kept_share: float = _setting(
        0.4,
        "Elements that give the largest rate of writing anybody requires are kept for it: a file that asks "
        "for less goes to others that meet it and give at least this part of the rate. More than 1: never.",
        most=1000,
    )
    harm_weight: float = _setting(
        0.5,
        "How much it counts that files already there lose the rate they asked for, against what the new file "
        "lacks itself. 0: it does not, unless the rate is a hard requirement.",
        most=1000,
    )
    room_fraction: float = _setting(
        0.05,
        "Part of an element that must be free where no file like it is known; with less it comes last.",
        most=1,
    )
    scarce_tiers: frozenset[str] = _setting(
        frozenset(), "Tiers that take no file whose needs another tier meets."
    )
    max_stripes: int = _setting(8, "Elements one file is spread over at most.", least=1, most=1000)
    stripe_bytes: float = _setting(
        256 * 2.0**20, "Bytes a stripe holds at least, where the size of the file is known.", least=65536
    )
    overrule_stripe_hints: bool = _setting(
        False, "Use the rule even where a program asks for a number of stripes."
    )
    min_free_bytes: float = _setting(4 * 2.0**20, "Bytes; an element with less free space is full.")
    node_files_per_second: float = _setting(
        2000.0,
        "Files a second that one node may begin, averaged over ten minutes; more are refused, since only an "
        "agent that lies reports more than that.",
        0.1,
    )
    places_of_user: int = _setting(10_000, "Places that one user may have at a time.", least=1)
    max_records: int = _setting(10_000, "Files that ended whose explanation is kept in memory.", least=1)
    listed_refusals: int = _setting(50, "Refused elements an answer lists, unless it lists all.")


def settings() -> tuple[Setting, ...]:
    """Return every setting in the order of the documents."""
    return tuple(Setting(field.name, field.default, **field.metadata) for field in fields(Policies))


def policies_of(table: Mapping[str, object]) -> Policies:
    """Return the policies of a file's table, the defaults for what it does not name; raises PoliciesError."""
    known = {setting.name: setting for setting in settings()}
    for name in table:
        if name not in known:
            near = get_close_matches(name, known, 1)
            raise PoliciesError(f"{name} is no setting{f'; did you mean {near[0]}?' if near else ''}")
    return Policies(**{name: known[name].value(given) for name, given in table.items()})


def described(policies: Policies) -> str:
    """Return in one line what differs from the defaults."""
    changed = [
        f"{setting.name} {_written(getattr(policies, setting.name))} (default {_written(setting.default)})"
        for setting in settings()
        if getattr(policies, setting.name) != setting.default
    ]
    return ", ".join(changed) or f"all {len(settings())} settings have their defaults"


def _written(value: Any) -> str:
    if isinstance(value, frozenset):
        return " ".join(sorted(value)) or "none"
    return str(value).lower() if isinstance(value, bool) else f"{value:g}"
