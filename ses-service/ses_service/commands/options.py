"""Options that several commands take."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

existing_file = click.Path(exists=True, dir_okay=False, path_type=Path)

kb_options = (
    click.option(
        "--kb-flavour",
        type=click.Choice(["fuseki", "oxigraph"]),
        default="fuseki",
        show_default=True,
        help="What serves --kb-url.",
    ),
    click.option(
        "--kb-credentials-file",
        type=existing_file,
        help="File with one line USER:PASSWORD for --kb-url.",
    ),
)


def state_dir_option(text: str, *, required: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Return the option that names the folder of a service; ``text`` is its help."""
    folder = click.Path(exists=True, file_okay=False, path_type=Path)
    return click.option("--state-dir", type=folder, required=required, help=text)


def must_hold(folder: Path, *patterns: str) -> None:
    """Raise ClickException for a folder with no file of these names: no service keeps its state there."""
    if not _holds(folder, patterns):
        below = sorted(path for path in folder.iterdir() if path.is_dir() and _holds(path, patterns))
        hint = f"; did you mean {below[0]}?" if below else ": --state-dir is that of ses-service serve"
        raise click.ClickException(f"{folder} has no {' or '.join(patterns)}{hint}")


def _holds(folder: Path, patterns: tuple[str, ...]) -> bool:
    return any(True for pattern in patterns for _ in folder.glob(pattern))
