"""What a requirement set was worth: what the files that it is for got since it is as it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from ses_client.client import ServiceClient
from ses_client.messages.files import Sum
from ses_client.messages.requirements import RequirementSet

from ses_webface.accounts.people import Person
from ses_webface.moments import to_field
from ses_webface.requirements.services import may_edit


@dataclass(frozen=True, slots=True)
class Worth:
    """``filters`` are those of the pages that list the same files; ``advice`` is the service's."""

    total: Sum
    filters: dict[str, str]
    advice: Sequence[str] = ()


def worth(service: ServiceClient, person: Person, stored: RequirementSet, zone: ZoneInfo) -> Worth | None:
    """Return what a person's files got under a set of their own; None for other sets and unsaved ones.

    A default is for the programs without a set of their own.
    """
    if stored.level not in ("application", "user") or stored.modified_at is None:
        return None
    if not may_edit(person, stored.level, stored.name) or not (stored.requirements or stored.profile):
        return None
    since = stored.modified_at
    filters = {"whose": "mine", "since": to_field(datetime.fromtimestamp(since, UTC).isoformat(), zone)}
    application = stored.name.partition(":")[2]
    wanted = {"user": person.name, "application": application or None, "since": since}
    report = service.report(wanted)
    if application:
        return Worth(report.total, {**filters, "application": application}, report.advice)
    sets = service.requirement_sets(person.name).sets
    named = {
        requirement_set.name.partition(":")[2]
        for requirement_set in sets
        if requirement_set.level == "application"
    }
    return Worth(
        _together([application for application in report.applications if application.name not in named]),
        filters,
    )


def _together(sums: Sequence[Sum]) -> Sum:
    names = ("files", "met", "nearly", "missed", "cannot_say")
    counts = {name: sum(getattr(total, name) for total in sums) for name in names}
    judged = counts["met"] + counts["nearly"] + counts["missed"]
    met_ratio = counts["met"] / judged if judged else None
    return Sum(name="", **counts, met_ratio=met_ratio, shortfall=0.0)
