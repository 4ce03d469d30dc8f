"""Which folder and module may import which: the monitor stands alone, and so does each collector."""

import ast
from pathlib import Path

from layers import against_the_order
from layers import imported as imported_of

PACKAGE = Path(__file__).parents[2] / "smed-monitor" / "smed_monitor"
FOLDERS = (
    "core",  # what is known and computed
    "config",  # settings, and the site's description
    "collectors",  # one for each kind of source
    "quotas",  # who may store how much
    "state",  # the latest records and their history
    "scraping",  # asking, again and again
    "http",  # answering
)
OTHER_PARTS = {"ses_service", "ses_webface", "ses"}
# What every collector may use of its folder.
SHARED = {
    "base",
    "block_devices",
    "http",
    "exposition",
    "layout",
    "lustre_series",
    "lustre_text",
    "local",
    "prometheus_api",
}


def imported(source: Path) -> set[str]:
    """The full names a file imports, members included."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{source}: relative imports hide what is imported"
            assert node.module is not None
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def test_the_monitor_imports_no_other_part() -> None:
    sources = list(PACKAGE.rglob("*.py"))
    assert len(sources) > 10
    for source in sources:
        roots = {name.partition(".")[0] for name in imported(source)}
        assert not roots & OTHER_PARTS, f"{source} imports another part"


def test_collectors_do_not_import_each_other() -> None:
    files = {file.stem: file for file in (PACKAGE / "collectors").glob("*.py")}
    collectors = set(files) - SHARED - {"__init__", "registry"}
    assert collectors
    for name in collectors | SHARED:
        assert (PACKAGE / "collectors" / f"{name}.py").is_file()
        used = {
            module.split(".")[2]
            for module in imported(files[name])
            if module.startswith("smed_monitor.collectors.")
        }
        assert not used & (collectors | {"registry"}), f"{files[name]} imports another collector"


def test_only_the_registry_imports_a_collector() -> None:
    collectors = {file.stem for file in (PACKAGE / "collectors").glob("*.py")} - SHARED
    collectors -= {"__init__", "registry"}
    users = {
        source.name
        for source in PACKAGE.rglob("*.py")
        for module in imported(source)
        if module.startswith("smed_monitor.collectors.") and module.split(".")[2] in collectors
    }
    assert users == {"registry.py"}


def test_folders_import_of_earlier_ones_only() -> None:
    uses = {source: imported_of(source, "smed_monitor") for source in PACKAGE.rglob("*.py")}
    assert against_the_order(PACKAGE, FOLDERS, uses) == []


def test_the_pure_parts_touch_no_clock_network_or_thread() -> None:
    impure = {"time", "socket", "threading", "urllib3", "os", "random", "datetime"}
    core = set((PACKAGE / "core").glob("*.py")) - {PACKAGE / "core/model.py"}  # whose now() reads the clocks
    parsers = {
        PACKAGE / f"collectors/{name}.py" for name in ("node_exporter", "lustre_text", "prometheus_api")
    }
    assert len(core) > 3
    for source in core | parsers:
        roots = {module.partition(".")[0] for module in imported(source)}
        assert roots or source.name in ("__init__.py", "errors.py"), source
        assert not roots & impure, f"{source} is meant to be pure"
