"""The folders of a part in their order: each uses those before it only, whatever its files are called."""

from __future__ import annotations

import ast
import re
from pathlib import Path


def included(source: Path) -> set[str]:
    """What a C or C++ file includes in quotation marks."""
    return set(re.findall(r'^#include "([^"]+)"', source.read_text(), re.MULTILINE))


def imported(source: Path, package: str) -> set[str]:
    """What a Python file imports of PACKAGE, as paths below it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return {
        name.removeprefix(f"{package}.").replace(".", "/") for name in names if name.startswith(f"{package}.")
    }


def folder_of(path: str, folders: tuple[str, ...]) -> str | None:
    """The folder that PATH lies in; "" for the top, None for what is not of this part."""
    first, slash, _ = path.partition("/")
    return "" if not slash else first if first in folders else None


def against_the_order(root: Path, folders: tuple[str, ...], uses: dict[Path, set[str]]) -> list[str]:
    """Which files of ROOT use a later folder, the top being the last.  FOLDERS must be those there are."""
    present = {source.relative_to(root).parts[0] for source in uses if source.parent != root}
    assert present == set(folders), "the order names the folders there are"
    order = {name: number for number, name in enumerate((*folders, ""))}
    wrong = []
    checked = 0
    for source, names in uses.items():
        own = source.relative_to(root).parts[0] if source.parent != root else ""
        for name in names:
            folder = folder_of(name, folders)
            if folder is not None:
                checked += 1
                if order[folder] > order[own]:
                    wrong.append(f"{source.relative_to(root)} uses {name}")
    assert checked > len(uses) / 2, "something was checked"
    return wrong
