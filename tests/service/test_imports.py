"""The pure core stays pure: no web framework, network, clock, environment or randomness."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "ses-service" / "ses_service"
CORE = (
    "announcement",
    "columns",
    "explain",
    "foreign",
    "generations",
    "health",
    "lately",
    "ledger",
    "model",
    "needs",
    "node_decisions",
    "node_tables",
    "placement",
    "policies",
    "question",
    "ranking",
    "recent",
    "resolve",
    "rows",
    "selection",
    "sizes",
    "tally",
    "kinds",
)
ALLOWED = {
    "__future__",
    "collections",
    "collections.abc",
    "dataclasses",
    "enum",
    "functools",
    "hashlib",
    "heapq",
    "itertools",
    "math",
    "numpy",
    "numpy.typing",
    "orjson",
    "operator",
    "re",
    "ses_core",
    "typing",
}
FORBIDDEN_NAMES = {"open", "input", "print", "exec", "eval", "__import__", "hash", "id", "random"}


def imported(tree: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found.add(node.module or "")
    return found


def test_there_are_sources_to_check() -> None:
    present = {path.stem for path in PACKAGE.glob("*.py")}
    assert set(CORE) <= present, "the list of core modules names files that do not exist"


@pytest.mark.parametrize("name", CORE)
def test_the_core_imports_only_itself_and_pure_libraries(name: str) -> None:
    modules = imported(ast.parse((PACKAGE / f"{name}.py").read_text("utf-8")))
    own = {f"ses_service.{one}" for one in CORE}
    assert modules, "a module without imports is not one of these"
    assert modules <= ALLOWED | own, f"{name} imports {sorted(modules - ALLOWED - own)}"


@pytest.mark.parametrize("name", CORE)
def test_the_core_calls_nothing_that_depends_on_more_than_its_arguments(name: str) -> None:
    tree = ast.parse((PACKAGE / f"{name}.py").read_text("utf-8"))
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    bare = {func.id for func in calls if isinstance(func, ast.Name)}
    assert not bare & FORBIDDEN_NAMES, f"{name} calls {sorted(bare & FORBIDDEN_NAMES)}"
    dotted = {ast.unparse(func) for func in calls if isinstance(func, ast.Attribute)}
    assert not any(one.startswith("np.random") for one in dotted)


@pytest.mark.parametrize("folder", ["webface", "smed-monitor"])
def test_other_parts_never_import_the_service(folder: str) -> None:
    sources = sorted((PACKAGE.parents[1] / folder).rglob("*.py"))
    assert sources, f"no sources found in {folder}"
    for path in sources:
        modules = imported(ast.parse(path.read_text("utf-8")))
        assert not any(one.split(".")[0] == "ses_service" for one in modules), path
