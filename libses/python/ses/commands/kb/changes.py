"""How changes of the knowledge base are shown: subject by subject, with what goes and what comes."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from rich.console import Console
from ses_client.messages.message import JSON

from ses.output import line

_REQUIREMENTS = "https://w3id.org/qstorman/requirements/"
_SITE = "https://w3id.org/qstorman/site/"
_MARKS = {"added": "+", "removed": "-", "changed": "~"}


def short(subject: str) -> str:
    """Return what a person calls a subject: ``LEVEL/NAME``, or the end of an IRI of the site."""
    if subject.startswith(_REQUIREMENTS):
        return unquote(subject.removeprefix(_REQUIREMENTS))
    return subject.removeprefix(_SITE)


def show_subjects(out: Console, subjects: list[JSON], total: int) -> None:
    """Print what changes about each subject."""
    for one in subjects:
        line(out, f"{_MARKS.get(one['status'], '?')} {one['part']} {short(one['subject'])}")
        for change in one["properties"]:
            for mark, values in (("-", change["before"]), ("+", change["after"])):
                for value in values:
                    line(out, f"    {mark} {change['property']} {value}")
    if total > len(subjects):
        line(out, f"... and {total - len(subjects)} more subjects")


def show_conflicts(out: Console, conflicts: list[JSON]) -> None:
    """Print what people and a discovery both changed, and which was kept."""
    for one in conflicts:
        name = short(one["subject"])
        if one["property"] is None:
            line(out, f"! {name}: described or discovered, not both any more; kept: {one['kept']}")
            continue
        described, discovered = (", ".join(one[side]) or "nothing" for side in ("described", "discovered"))
        sides = f"described {described}, discovered {discovered}"
        line(out, f"! {name} {one['property']}: {sides}; kept: {one['kept']}")


def turned(made: JSON) -> JSON:
    """Return the same changes the other way round."""
    status = {"added": "removed", "removed": "added", "changed": "changed"}
    subjects: list[dict[str, Any]] = [
        {
            **one,
            "status": status[one["status"]],
            "properties": [
                {**change, "before": change["after"], "after": change["before"]}
                for change in one["properties"]
            ],
        }
        for one in made["subjects"]
    ]
    return {**made, "subjects": subjects}
