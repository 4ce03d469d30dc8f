"""``ses demo``: the whole chain on this machine, with unmodified programs."""

from __future__ import annotations

import click


@click.command()
def demo() -> None:
    """Place files of unmodified programs on eight small file systems, and show why there."""
