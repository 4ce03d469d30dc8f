"""Whether a folder is the one a service keeps its state in."""

from pathlib import Path

import click


def must_hold(folder: Path, *patterns: str) -> None:
    """Raise ClickException for a folder with no file of these names: no service keeps its state there."""
    if not _holds(folder, patterns):
        below = sorted(path for path in folder.iterdir() if path.is_dir() and _holds(path, patterns))
        hint = f"; did you mean {below[0]}?" if below else ": --state-dir is that of ses-service serve"
        raise click.ClickException(f"{folder} has no {' or '.join(patterns)}{hint}")


def _holds(folder: Path, patterns: tuple[str, ...]) -> bool:
    return any(True for pattern in patterns for _ in folder.glob(pattern))
