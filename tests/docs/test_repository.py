"""Promises about the repository as a whole: what may lie where, and what no file may hold."""

import re
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from ran import ran

ROOT = Path(__file__).resolve().parents[2]

FOLDERS = {
    "libses", "ses-service", "smed-monitor", "webface", "ontology", "tests",
    "docs", "examples", "benchmarks", "packaging", ".ci",
}  # fmt: skip
FILES = {
    "docker-compose.yml", "README.md", "Makefile", "pyproject.toml", "requirements.lock",
    "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE",
    ".gitignore", ".dockerignore", ".clang-format",
}  # fmt: skip
SOURCES = {".c", ".h", ".hpp", ".cpp", ".py", ".js", ".css", ".html", ".sh"}


def tracked() -> list[Path]:
    """Return every file git tracks; fails rather than return nothing."""
    out = ran(["git", "ls-files"], cwd=ROOT).stdout
    files = [Path(name) for name in out.splitlines()]
    assert files, "git tracks no file: nothing would be checked"
    return files


def test_top_level_holds_the_agreed_folders_and_files_only() -> None:
    names = {path.parts[0] for path in tracked()}
    assert names <= FOLDERS | FILES, f"unexpected at the top: {sorted(names - FOLDERS - FILES)}"


@pytest.mark.parametrize("name", ["utils", "common", "shared", "helpers", "misc"])
def test_nothing_is_called_after_no_subject(name: str) -> None:
    guilty = [str(path) for path in tracked() if name in {part.split(".")[0] for part in path.parts}]
    assert not guilty


def test_no_source_file_is_longer_than_500_lines() -> None:
    long = {
        str(path): lines
        for path in tracked()
        if path.suffix in SOURCES and "vendor" not in path.parts and (ROOT / path).is_file()
        for lines in [len((ROOT / path).read_text().splitlines())]
        if lines > 500
    }
    assert not long


def test_lock_files_have_hashes_and_name_no_registry() -> None:
    locks = [ROOT / path for path in tracked() if path.suffix == ".lock"]
    assert len(locks) >= 4
    for lock in locks:
        text = lock.read_text()
        assert not re.search(r"https?://|--index-url|--find-links", text), lock
        pins = re.findall(r"^[a-z0-9].*==.*$", text, re.MULTILINE)
        assert pins, lock
        assert all(pin.endswith("\\") for pin in pins), f"{lock}: a package without a hash"


def test_part_locks_agree_with_the_whole_lock() -> None:
    def pins(path: Path) -> dict[str, str]:
        return dict(re.findall(r"^([a-z0-9.-]+)(?:\[[^]]*\])?==(\S+)", path.read_text(), re.MULTILINE))

    whole = pins(ROOT / "requirements.lock")
    demo = ROOT / "packaging" / "demo.lock"
    parts = [ROOT / part / "requirements.lock" for part in ("ses-service", "smed-monitor", "webface")]
    for lock in (*parts, demo):
        mine = pins(lock)
        assert mine
        assert {name: whole.get(name) for name in mine} == mine
    assert not pins(demo).keys() & {"matplotlib", "mypy", "playwright", "pytest", "python-ldap", "h5py"}


def test_lock_files_name_the_extras_that_packages_ask_for() -> None:
    """Releases of pip before 23.3 look for the newest version of an extra that no line names."""
    lock = re.findall(
        r"^([a-z0-9.-]+)(?:\[([^]]*)\])?==", (ROOT / "requirements.lock").read_text(), re.MULTILINE
    )
    named = {name: set(extras.split(",")) for name, extras in lock}
    asked = [Requirement(text) for name in named for text in requires(name) or []]
    asked = [requirement for requirement in asked if requirement.extras and requirement.name in named]
    asked = [
        requirement
        for requirement in asked
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
    ]
    assert asked
    assert not [
        str(requirement) for requirement in asked if not requirement.extras <= named[requirement.name]
    ]


def test_every_python_distribution_tells_its_types() -> None:
    distributions = [
        path.parent for path in tracked() if path.name == "pyproject.toml" and len(path.parts) > 1
    ]
    assert len(distributions) > 4
    for folder in distributions:
        wheel = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["tool"]["hatch"]["build"][
            "targets"
        ]
        for package in wheel["wheel"]["packages"]:
            assert folder / package / "py.typed" in tracked(), f"{folder / package} has no py.typed"


def test_no_text_leaves_work_undone_or_commented_out() -> None:
    marks = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    me = Path(__file__).resolve()
    guilty = [
        f"{path}:{number}"
        for path in tracked()
        if path.suffix in SOURCES | {".md", ".ttl", ".rq", ".yml", ".yaml", ".toml"}
        and "vendor" not in path.parts
        and (ROOT / path).resolve() != me
        and (ROOT / path).is_file()
        for number, line in enumerate((ROOT / path).read_text().splitlines(), 1)
        if marks.search(line)
    ]
    assert not guilty


def test_every_folder_of_tests_is_in_their_map_and_the_quick_ones_are_marked() -> None:
    rows = re.findall(r"^\| `([a-z0-9_]+)/` \|(.*)\|$", (ROOT / "tests/README.md").read_text(), re.MULTILINE)
    assert [name for name, _ in rows] == sorted(
        {path.parts[1] for path in tracked() if path.parts[0] == "tests" and len(path.parts) > 2}
    )
    quick = re.search(r"^QUICK\s*:= (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert quick
    assert [name for name, promise in rows if "(*quick*)" in promise] == quick[1].split()
