"""Files with one secret line, which only their owner may read."""

from __future__ import annotations

from pathlib import Path

import click


def secret_line(path: Path) -> str:
    """Return the line.  Raises OSError, and ClickException for a file that others may read."""
    if path.stat().st_mode & 0o077:
        raise click.ClickException(f"{path} is readable by others than its owner; run: chmod 600 {path}")
    return path.read_text("utf-8").strip()
