"""Observations as a table for a terminal."""

from collections.abc import Iterable, Sequence

import click

from smed_monitor.core.model import Observation, Record

HEAD = ("element", "state", "device", "free", "size", "access", "detail")


def print_table(observations: Iterable[Observation]) -> None:
    """One line per element; decimal gigabytes."""
    rows = [HEAD, *(_row(observation) for observation in observations)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _row(observation: Observation) -> Sequence[str]:
    record = observation.record
    return (
        record.element,
        observation.state.value,
        record.device or "-",
        _gigabytes(record.free_bytes),
        _gigabytes(record.size_bytes),
        _access(record),
        observation.detail,
    )


def _access(record: Record) -> str:
    if record.missing:
        return "-"
    flags = (
        ("read-only", record.read_only),
        ("no new files", record.no_create),
        ("degraded", record.degraded),
    )
    return ", ".join(word for word, is_set in flags if is_set) or "read-write"


def _gigabytes(size: float | None) -> str:
    return "-" if size is None else f"{size / 1e9:.3f} GB"
