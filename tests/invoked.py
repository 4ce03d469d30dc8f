"""Our own commands, run in the process of a test."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from click import Command
from click.testing import CliRunner, Result


def invoked(command: Command, arguments: Sequence[str | Path], *, code: int = 0, **options: Any) -> Result:
    """What a command printed; it must end with this status."""
    result = CliRunner().invoke(command, list(map(str, arguments)), **options)
    assert result.exit_code == code, result.output
    return result
