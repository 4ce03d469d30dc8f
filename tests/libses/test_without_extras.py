"""What places files uses nothing of `extras`, and is built without them."""

import re
from pathlib import Path

from layers import imported
from ran import ran

LIBSES = Path(__file__).parents[2] / "libses"
EXTRAS = LIBSES / "extras"
TARGETS = "ses_net|ses_share|ses_offload|smed_remote"
MODULES = ("offload", "share")  # of `ses`
THEIR_COMMANDS = ("commands/offload", "commands/share")


def test_nothing_outside_extras_includes_from_them() -> None:
    sources = [
        path
        for path in LIBSES.rglob("*")
        if path.suffix in (".c", ".h", ".cpp", ".hpp") and EXTRAS not in path.parents
    ]
    assert len(sources) > 300
    wrong = [
        f"{source.relative_to(LIBSES)} includes {name}"
        for source in sources
        for name in re.findall(r'^#include ["<]([^">]+)[">]', source.read_text(), re.MULTILINE)
        if any((folder / name).exists() for folder in (EXTRAS, EXTRAS / "include")) or "extras" in name
    ]
    assert wrong == []


def test_no_module_of_python_but_their_commands_imports_theirs() -> None:
    root = LIBSES / "python/ses"
    sources = {path: imported(path, "ses") for path in root.rglob("*.py")}
    assert sum(any(name.split("/")[0] in MODULES for name in names) for names in sources.values()) > 5
    wrong = [
        str(name)
        for source, names in sources.items()
        for name in [source.relative_to(root)]
        if "/".join(name.parts[:2]) not in THEIR_COMMANDS and name.parts[0] not in MODULES
        if any(name.split("/")[0] in MODULES for name in names)
    ]
    assert wrong == []


def test_all_else_is_configured_without_them(tmp_path: Path) -> None:
    command = ["cmake", "-S", LIBSES, "-B", tmp_path, "-G", "Ninja", "-DSES_EXTRAS=OFF"]
    ran(command)
    rules = (tmp_path / "build.ninja").read_text()
    for program in ("libses.so", "libses-wrapper.so", "ses-agent", "ses-run", "ses-copy"):
        assert re.search(rf"^build \S*{re.escape(program)}", rules, re.MULTILINE), program
    assert str(EXTRAS) not in rules
    assert re.findall(rf"{TARGETS}|-lfabric|-lzmq", rules) == []
