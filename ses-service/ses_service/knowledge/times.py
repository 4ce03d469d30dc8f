"""Moments as people and Turtle write them (ISO 8601), and as seconds since the epoch."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = (
    (end - _EPOCH) // timedelta(seconds=1)
    for end in (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
)


def moment(text: object) -> float | None:
    """Return a moment in seconds since the epoch; ``None`` for ``None``.

    One in no year from 1 to 9999 in UTC, as 9999-12-31T23:59:59-05:00, counts as the nearest that is.  Raises
    ``ValueError`` for what is no date and time with a time zone, such as ``2026-12-01T00:00:00Z``.
    """
    if text is None:
        return None
    try:
        read = datetime.fromisoformat(str(text))
    except ValueError:
        read = None
    if read is None or read.tzinfo is None:
        raise ValueError(f"{str(text)!r} is no time with a time zone, such as 2026-12-01T00:00:00Z")
    return min(max((read - _EPOCH) / timedelta(seconds=1), _FIRST), _LAST)


def written(seconds: float | None) -> str | None:
    """Return a moment in UTC, as ISO 8601 writes it; ``None`` for ``None``."""
    if seconds is None:
        return None
    text = (_EPOCH + timedelta(seconds=seconds)).isoformat()
    return text.replace("+00:00", "Z")
