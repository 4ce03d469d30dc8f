"""``ses doctor``: each link of the chain, and how to mend it."""

from __future__ import annotations

import click


@click.command()
def doctor() -> None:
    """Check each link of the chain."""
