"""The environment variables, as ``variables.toml`` declares them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable; ``default`` is empty where there is none."""

    name: str
    read_by: tuple[str, ...]
    meaning: str
    default: str = ""


def every_variable() -> list[Variable]:
    """Return all, in the order of the file."""
    tree = tomllib.loads((Path(__file__).parent / "variables.toml").read_text("utf-8"))
    return [Variable(name, **{**entry, "read_by": tuple(entry["read_by"])}) for name, entry in tree.items()]
