"""What the contract says of kinds and units: those of the vocabulary this process has."""

from typing import Any, TypeAlias

from ses_service.knowledge.vocabulary import vocabulary

Schema: TypeAlias = dict[str, Any]


def kind_names(schema: Schema) -> None:
    """Name the kinds there are."""
    schema["enum"] = [*vocabulary().metrics]
    schema.pop("maxLength", None)


def kind_spellings(schema: Schema) -> None:
    """Name the kinds there are, and what else they are understood by."""
    metrics = vocabulary().metrics
    schema["enum"] = [
        *metrics,
        *(other for metric in metrics.values() for other in metric.described.spellings),
    ]
    schema.pop("maxLength", None)


def unit_names(schema: Schema) -> None:
    """Name the units of all kinds."""
    metrics = vocabulary().metrics.values()
    schema["enum"] = [*dict.fromkeys(unit for metric in metrics for unit in metric.described.units)]
    schema.pop("maxLength", None)


def shown_units(schema: Schema) -> None:
    """Name the units kinds are shown in."""
    schema["enum"] = [*dict.fromkeys(metric.kind.unit for metric in vocabulary().metrics.values())]


def without_defaults(schema: Schema) -> None:
    """Say of members that may be absent that they may be, and not what absence means."""
    for member in schema["properties"].values():
        member.pop("default", None)


def bounds_by_kind(schema: Schema) -> None:
    """Say which units go with which kinds, and which kinds take a minimum and which a maximum."""
    alike: dict[tuple[bool, tuple[str, ...]], list[str]] = {}
    for name, metric in vocabulary().metrics.items():
        key = metric.kind.at_most, tuple(metric.described.units)
        alike.setdefault(key, []).extend((name, *metric.described.spellings))
    rules = [(kinds, _rule(at_most, units)) for (at_most, units), kinds in alike.items()]
    last: Schema = rules[-1][1]
    for kinds, rule in reversed(rules[:-1]):
        last = {"if": {"properties": {"kind": {"enum": kinds}}}, "then": rule, "else": last}
    schema.update(last)
    for bound in ("minimum", "maximum"):
        schema["properties"][bound].pop("default", None)


def _rule(at_most: bool, units: tuple[str, ...]) -> Schema:
    needed, other = ("maximum", "minimum") if at_most else ("minimum", "maximum")
    properties = {"unit": {"enum": [*units]}, "stated_unit": {"enum": [*units, None]}, other: False}
    return {"required": [needed], "properties": properties}
