"""Times of requirements: as the service writes them, and as people type and read them in a time zone."""

from datetime import UTC, datetime
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ses_client.messages.requirements import Requirement

Phase = Literal["now", "future", "over"]


class UnreadableTimeError(ValueError):
    """What was typed is no time the form can use; the sentence says why."""


def zone_named(name: str | None) -> ZoneInfo | None:
    """Return a time zone by its name (``Europe/Warsaw``), None when there is none of this name."""
    if not name or len(name) > 64 or not name.isascii() or name == "localtime":
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def read_moment(text: str | None) -> datetime | None:
    """Read a time as the service writes it; None for none and for what is no time with a zone."""
    try:
        moment = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return moment if moment and moment.tzinfo else None


def from_field(text: str, zone: ZoneInfo) -> str:
    """Return, in UTC as the service takes it, what was typed as a local time in ``zone``.

    Where clocks go back and a time is there twice, the first is meant.  Raises UnreadableTimeError.
    """
    try:
        typed = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UnreadableTimeError("Write a date and a time, for example 2027-01-31 18:00.") from None
    if typed.tzinfo is not None:
        raise UnreadableTimeError(f"Write the time as clocks show it in {zone.key}, without a zone.")
    if not 1970 < typed.year < 9999:
        raise UnreadableTimeError("Write a year from 1971 to 9998.")
    moment = typed.replace(tzinfo=zone).astimezone(UTC)
    if moment.astimezone(zone).replace(tzinfo=None) != typed:
        raise UnreadableTimeError(f"There is no such time in {zone.key}: clocks go forward over it.")
    return moment.isoformat().replace("+00:00", "Z")


def to_field(text: str | None, zone: ZoneInfo) -> str:
    """Return a stored time as a field for local times shows it; empty for none."""
    moment = read_moment(text)
    if moment is None:
        return ""
    local = _local(moment, zone).replace(tzinfo=None, microsecond=0)
    return local.isoformat(timespec="seconds" if local.second else "minutes")


def in_words(moment: datetime, zone: ZoneInfo, *, seconds: bool = False) -> str:
    """Return a time in ``zone`` with the zone's short name."""
    local = _local(moment, zone)
    name = local.tzname() or ""
    if not name.isalpha():
        name = "UTC" + local.isoformat()[-6:]
    return f"{local:%Y-%m-%d %H:%M:%S} {name}" if seconds else f"{local:%Y-%m-%d %H:%M} {name}"


def _local(moment: datetime, zone: ZoneInfo) -> datetime:
    """Return a time in ``zone``; as it is where clocks there would show a year of five digits, or none."""
    try:
        return moment.astimezone(zone)
    except OverflowError:  # such as 9999-12-31T23:59:59Z, which stands for ever, east of Greenwich
        return moment


def phase(requirement: Requirement, now: float) -> Phase:
    """Return whether a requirement applies at ``now`` (seconds since the epoch), does not yet, or no more."""
    start, end = read_moment(requirement.valid_from), read_moment(requirement.valid_until)
    if end is not None and end.timestamp() <= now:
        return "over"
    return "future" if start is not None and start.timestamp() > now else "now"


def applies(requirement: Requirement, now: float) -> bool:
    """Return whether a requirement applies at ``now``."""
    return phase(requirement, now) == "now"
