"""The folders of a part in their order: each uses those before it only, whatever its files are called."""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from ran import ran


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


def circle(objects: list[Path]) -> list[str]:
    """Compiled files of which each calls or reads what the next one has, the last one being the first again;
    empty: there is no such circle."""
    has: dict[str, str] = {}
    wants: dict[str, set[str]] = {}
    for compiled in objects:
        done = ran(["nm", compiled])
        symbols = [line.split()[-2:] for line in done.stdout.splitlines()]
        has |= {name: compiled.name for kind, name in symbols if kind in "BCDRT"}
        wants[compiled.name] = {name for kind, name in symbols if kind == "U"}
    graph = {file: {has[name] for name in names if name in has} for file, names in wants.items()}
    assert sum(map(len, graph.values())) > len(objects) / 2, "something was checked"
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []
