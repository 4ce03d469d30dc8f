"""Moments as people and Turtle write them (ISO 8601), and as seconds since the epoch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(text: object) -> float | None:
    """Return a moment in seconds since the epoch; ``None`` for ``None``.

    Raises ``ValueError`` for what is no date and time with a time zone, such as ``2026-12-01T00:00:00Z``.
    """
    if text is None:
        return None
    try:
        read = datetime.fromisoformat(str(text))
    except ValueError:
        read = None
    if read is None or read.tzinfo is None:
        raise ValueError(f"{str(text)!r} is no time with a time zone, such as 2026-12-01T00:00:00Z")
    return (read - _EPOCH) / timedelta(seconds=1)


def written(seconds: float | None) -> str | None:
    """Return a moment in UTC, as ISO 8601 writes it; ``None`` for ``None``."""
    if seconds is None:
        return None
    text = (_EPOCH + timedelta(seconds=seconds)).isoformat()
    return text.replace("+00:00", "Z")
