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
    for subject in subjects:
        line(out, f"{_MARKS.get(subject['status'], '?')} {subject['part']} {short(subject['subject'])}")
        for change in subject["properties"]:
            for mark, values in (("-", change["before"]), ("+", change["after"])):
                for value in values:
                    line(out, f"    {mark} {change['property']} {value}")
    if total > len(subjects):
        line(out, f"... and {total - len(subjects)} more subjects")


def show_conflicts(out: Console, conflicts: list[JSON]) -> None:
    """Print what people and a discovery both changed, and which was kept."""
    for conflict in conflicts:
        name = short(conflict["subject"])
        if conflict["property"] is None:
            line(out, f"! {name}: described or discovered, not both any more; kept: {conflict['kept']}")
            continue
        described, discovered = (
            ", ".join(conflict[side]) or "nothing" for side in ("described", "discovered")
        )
        sides = f"described {described}, discovered {discovered}"
        line(out, f"! {name} {conflict['property']}: {sides}; kept: {conflict['kept']}")


def turned(answer: JSON) -> JSON:
    """Return the same changes the other way round."""
    status = {"added": "removed", "removed": "added", "changed": "changed"}
    subjects: list[dict[str, Any]] = [
        {
            **subject,
            "status": status[subject["status"]],
            "properties": [
                {**change, "before": change["after"], "after": change["before"]}
                for change in subject["properties"]
            ],
        }
        for subject in answer["subjects"]
    ]
    return {**answer, "subjects": subjects}
