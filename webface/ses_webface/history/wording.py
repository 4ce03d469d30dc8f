"""What a change did, in words: of a requirement set kind by kind, of anything else property by property.

Reads the Turtle of the service's history line by line, as it is written there: a property and its values
a line.  It does NOT understand Turtle; what looks different is shown as it is.
"""

import re
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import unquote

from ses_client.messages.knowledge import State, StatedSet
from ses_client.messages.requirements import Requirement

T = TypeVar("T")

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_QUANTITY = re.compile(
    r"\[ a qudt:QuantityValue ; qudt:hasUnit \w*:(?P<unit>[\w-]+) ; "
    r"qudt:numericValue (?P<number>[-+0-9.eE]+) \]"
)
_TEXT = re.compile(r'"(?P<text>(?:[^"\\]|\\.)*)"(?:@[\w-]+|\^\^\S+)?')
_NAME = re.compile(r"(?:[\w-]*:)?(?P<name>[A-Za-z][\w-]*)")
_PLAIN_NUMBER = re.compile(r"-?[0-9.]+e[-+]?[0-9]+")


@dataclass(frozen=True, slots=True)
class Line(Generic[T]):
    """One kind of a requirement set, or one property of a thing of the site; None where it was not stated."""

    name: str
    before: T | None
    after: T | None

    @property
    def status(self) -> Literal["added", "changed", "removed"]:
        """What became of it."""
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"


def changed_requirements(before: StatedSet | None, after: StatedSet | None) -> list[Line[Requirement]]:
    """Return the kinds in which two states of a requirement set differ, by name."""
    old = {requirement.kind: requirement for requirement in (before.requirements if before else ())}
    new = {requirement.kind: requirement for requirement in (after.requirements if after else ())}
    lines = (Line(kind, old.get(kind), new.get(kind)) for kind in sorted(old.keys() | new.keys()))
    return [line for line in lines if line.before != line.after]


def changed_properties(state: State) -> list[Line[str]]:
    """Return the properties in which two states of a thing differ, in their order."""
    old, new = _properties(state.before), _properties(state.after)
    return [
        Line(_property_words(name), _words(old.get(name)), _words(new.get(name)))
        for name in old | new
        if old.get(name) != new.get(name)
    ]


def edited_properties(subject: Any) -> list[Line[str]]:
    """Return what would change of a thing of the site, as the service reports it before it is done."""
    return [
        Line(
            _property_words(str(property_["property"])),
            ", ".join(map(_value_words, property_["before"])) or None,
            ", ".join(map(_value_words, property_["after"])) or None,
        )
        for property_ in subject["properties"]
    ]


def subject_words(subject: str) -> str:
    """Return the name of a thing of the site: what its address ends with."""
    return unquote(subject.removeprefix("https://w3id.org/qstorman/site/"))


def _properties(text: str | None) -> dict[str, str]:
    """Return the values of each property in one block of the history, as they are written."""
    values: dict[str, str] = {}
    _head, _, block = (text or "").partition("\n\n")
    for line in re.split(r" ;\n    (?! )", block.strip().removesuffix(" .")):
        words = line.split(" ", 1) if values else line.split(" ", 2)[1:]
        if len(words) == 2:
            values[words[0]] = words[1]
    return values


def _property_words(name: str) -> str:
    if name == "a":
        return "type"
    local = name.rpartition(":")[2].rstrip(">")
    return _CAMEL.sub(" ", local).lower()


def _words(values: str | None) -> str | None:
    if values is None:
        return None
    parts = re.split(r",\n        ", values) if "\n" in values else [values]
    return ", ".join(_value_words(part) for part in parts)


def _value_words(value: str) -> str:
    quantity = _QUANTITY.fullmatch(value)
    if quantity:
        return f"{float(quantity['number']):g} {quantity['unit'].replace('-PER-', '/').lower()}"
    text = _TEXT.fullmatch(value)
    if text:
        return text["text"].replace('\\"', '"').replace("\\\\", "\\")
    if _PLAIN_NUMBER.fullmatch(value):
        return f"{float(value):g}"
    name = _NAME.fullmatch(value)
    return name["name"] if name else value.removeprefix("<").removesuffix(">")
