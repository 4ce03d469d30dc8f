"""A real sshd on loopback, and data that have lines of all lengths."""

import random
from pathlib import Path

import pytest
from sshd import Sshd, sshd

__all__ = ["Sshd", "sshd"]


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """About 600 kB in lines of 0 to 400 bytes, the last one without an end."""
    chance = random.Random(17)
    lines = [f"{number} " + "x" * chance.randrange(400) for number in range(3000)]
    lines[100], lines[101] = "", "longest " + "y" * 100_000
    path = tmp_path_factory.mktemp("data") / "text.txt"
    path.write_text("\n".join(lines))
    return path
