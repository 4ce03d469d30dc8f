"""Files with one secret line, which only their owner may read."""

from pathlib import Path

import click
from ses_client.errors import SesError
from ses_client.text_files import read_text


def secret_line(path: Path) -> str:
    """Return the line.  Raises OSError, and ClickException for a file that others may read or is no text."""
    if path.stat().st_mode & 0o077:
        raise click.ClickException(f"{path} is readable by others than its owner; run: chmod 600 {path}")
    try:
        return read_text(path).strip()
    except SesError as error:
        raise click.ClickException(str(error)) from None
