"""Folders of the service import downwards only, and the pure ones know no network, clock or randomness."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "ses-service" / "ses_service"
# Each folder may import those of the lines above its own.
LAYERS = (
    {"model", "threads", "security"},
    {"ledger", "knowledge", "members"},
    {"decision"},
    {"state"},
    {"feeds", "store"},
    {"process"},
    {"api"},
    {"http"},
    {"commands"},
)
PURE = ("model", "ledger", "decision")
ALLOWED = {
    "__future__",
    "bisect",
    "collections",
    "collections.abc",
    "dataclasses",
    "difflib",
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
    "ses_client.names",
    "ses_client.quantities",
    "ses_core",
    "ses_state",
    "typing",
}
FORBIDDEN_NAMES = {"open", "input", "print", "exec", "eval", "__import__", "hash", "id", "random"}


def imported(tree: ast.AST) -> set[str]:
    modules: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            modules.add(node.module or "")
    return modules


def sources_of(room: str) -> list[Path]:
    sources = sorted((PACKAGE / room).rglob("*.py"))
    assert len(sources) > 1, f"no sources found in {room}"
    return sources


def test_every_module_lies_in_a_folder_of_a_layer() -> None:
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py"}
    folders = {path.parent.name for path in PACKAGE.glob("*/*.py")}
    assert folders == set().union(*LAYERS)
    assert len(folders) == sum(map(len, LAYERS)), "a folder is in one layer"


@pytest.mark.parametrize("layer", range(len(LAYERS)))
def test_folders_import_lower_layers_only(layer: int) -> None:
    below = set().union(*LAYERS[:layer])
    for room in sorted(LAYERS[layer]):
        for path in sources_of(room):
            own = [module.split(".") for module in imported(ast.parse(path.read_text("utf-8")))]
            rooms = {(*parts, "")[1] for parts in own if parts[0] == "ses_service"}
            assert rooms <= below | {room}, f"{path} imports {sorted(rooms - below - {room})}"


@pytest.mark.parametrize("room", PURE)
def test_the_core_imports_only_itself_and_pure_libraries(room: str) -> None:
    for path in sources_of(room):
        others = {
            module
            for module in imported(ast.parse(path.read_text("utf-8"))) - ALLOWED
            if module.split(".")[0] != "ses_service" or module.split(".")[1] not in PURE
        }
        assert not others, f"{path} imports {sorted(others)}"


@pytest.mark.parametrize("room", PURE)
def test_the_core_calls_nothing_that_depends_on_more_than_its_arguments(room: str) -> None:
    for path in sources_of(room):
        tree = ast.parse(path.read_text("utf-8"))
        calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        bare = {func.id for func in calls if isinstance(func, ast.Name)}
        assert not bare & FORBIDDEN_NAMES, f"{path} calls {sorted(bare & FORBIDDEN_NAMES)}"
        dotted = {ast.unparse(func) for func in calls if isinstance(func, ast.Attribute)}
        assert not any(name.startswith("np.random") for name in dotted), path


@pytest.mark.parametrize("folder", ["ses-service/client", "ses-service/listen"])
def test_what_parts_share_imports_no_part(folder: str) -> None:
    sources = sorted((PACKAGE.parents[1] / folder).rglob("*.py"))
    assert sources, f"no sources found in {folder}"
    for path in sources:
        roots = {module.split(".")[0] for module in imported(ast.parse(path.read_text("utf-8")))}
        assert not roots & {"ses", "ses_core", "ses_service", "ses_state", "ses_webface", "smed_monitor"}, (
            path
        )
    assert (sources[0].parent / "py.typed").exists()


@pytest.mark.parametrize("folder", ["webface", "smed-monitor"])
def test_other_parts_never_import_the_service(folder: str) -> None:
    sources = sorted((PACKAGE.parents[1] / folder).rglob("*.py"))
    assert sources, f"no sources found in {folder}"
    for path in sources:
        modules = imported(ast.parse(path.read_text("utf-8")))
        assert not any(module.split(".")[0] == "ses_service" for module in modules), path


def test_folders_of_the_knowledge_base_import_earlier_ones_only() -> None:
    root = PACKAGE / "knowledge"
    order = ("store", "statements", "checks", "exchange")
    for room in order:
        for path in sources_of(f"knowledge/{room}"):
            names = {
                module.split(".")[2]
                for module in imported(ast.parse(path.read_text("utf-8")))
                if module.count(".") > 2
            }
            later = names & set(order[order.index(room) + 1 :])
            assert not later, f"{path} imports {sorted(later)}"
    assert {path.parent.name for path in root.glob("*/*.py")} == set(order)
