"""What puts a candidate after the one before it, in words.  Pure; what decides stands in ``ses/core.h``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

OrderName = Literal[
    "room",
    "distance",
    "compared",
    "scarce",
    "kept",
    "share",
    "own",
    "foreign",
    "last-placed",
    "table",
    "harm",
]
NAMES = ("first", *get_args(OrderName))  # by the numbers of ``enum ses_core_order``

_MB, _GB = 1e6, 1e9


@dataclass(frozen=True, slots=True)
class Compared:
    """What the order compares of a candidate: bytes per second, bytes, streams; ``None``: unknown.

    ``share`` is the rate by which elements of the same distance differ, ``write`` what it gives at best.
    """

    distance: float
    share: float | None
    free: float | None
    own: float | None
    foreign: float | None
    write: float | None = None


def in_words(by: Sequence[int], many: Sequence[Compared]) -> list[tuple[str, str]]:
    """Return the name of what puts each after the one before it, and the same in words."""
    return [
        (NAMES[number], after(NAMES[number], entry, before)) if 0 < number < len(NAMES) else ("", "")
        for number, entry, before in zip(by, many, [*many[:1], *many], strict=False)
    ]


def after(by: str, compared: Compared, before: Compared) -> str:
    """Return why ``one`` comes after ``before``; empty where nothing puts it there."""
    match by:
        case "room":
            less = compared.free is not None and before.free is not None and _each(compared) < _each(before)
            return f"low on space: {_room(compared)}" + (f", before it {_room(before)}" if less else "")
        case "distance":
            return f"falls further short: distance {compared.distance:.3f}, before it {before.distance:.3f}"
        case "harm":
            return "files there would lose more of the rates they asked for"
        case "compared":
            return "was not compared: other nodes may have placed files of which the node did not know yet"
        case "scarce":
            return "its tier is scarce, and that before it meets the rates as well"
        case "kept":
            rates = f"writes {_mb(compared.write)}, that before it {_mb(before.write)}"
            return f"is kept for files that ask for more: {rates}"
        case "share":
            if compared.share is not None:
                return f"a stream would get less: {_mb(compared.share)}, before it {_mb(before.share)}"
            if before.share is not None:
                return f"its rate is not known, before it {_mb(before.share)}"
            return f"more streams: {_sum(compared)}, before it {_sum(before)}"
        case "own":
            return f"more own streams: {_count(compared.own)}, before it {_count(before.own)}"
        case "foreign":
            return f"more foreign streams: {_count(compared.foreign)}, before it {_count(before.foreign)}"
        case "last-placed":
            return "was used later than that before it"
        case "table":
            return "equal: comes later in the order of the elements"
    return ""


def _each(compared: Compared) -> float:
    """Return the free bytes for each own stream and one more, by which those low on space are compared."""
    return (compared.free or 0.0) / ((compared.own or 0.0) + 1.0)


def _room(compared: Compared) -> str:
    return f"{_gb(compared.free)} free" + (
        f" for {_count(compared.own + 1)} own streams" if compared.own else ""
    )


def _gb(value: float | None) -> str:
    return "unknown" if value is None else f"{value / _GB:.4g} GB"


def _mb(value: float | None) -> str:
    return "unknown" if value is None else f"{value / _MB:.4g} MB/s"


def _count(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}"


def _sum(compared: Compared) -> str:
    return (
        "unknown"
        if compared.own is None or compared.foreign is None
        else f"{compared.own + compared.foreign:.4g}"
    )
