"""The library installed, programs linked with it, and what they ask and start."""

from pathlib import Path

import pytest
from offload_programs import prefix
from postgresql_server import postgresql
from sshd import sshd

__all__ = ["command", "postgresql", "prefix", "sshd"]


@pytest.fixture
def command(prefix: Path):
    """Put a fake `ses` into PATH, which writes its words to the file `words`."""
    folder = prefix / "bin"
    folder.mkdir(exist_ok=True)
    (folder / "words").touch()
    (folder / "words").chmod(0o666)

    def make(script: str) -> str:
        program = folder / "ses"
        program.write_text(f'#!/bin/sh\necho "$*" >{folder}/words\n{script}\n')
        program.chmod(0o755)
        return f"{folder}:/usr/bin:/bin"

    return make
