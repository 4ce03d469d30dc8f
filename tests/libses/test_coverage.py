"""No way to create a regular file is forgotten: exports, document and installed C library agree."""

import platform
import re
from pathlib import Path

import pytest
from creation_sites import CLibrary
from ran import ran

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs/coverage.md"
TABLE = ROOT / "libses/src/calls/real.c"

needs_known_machine = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="reads the machine code of x86-64 only"
)


def documented(section: str) -> set[str]:
    """The names in the first column of the table below a heading."""
    text = DOCUMENT.read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    names = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    assert len(names) == len(set(names))
    return set(names)


def exported(library: Path) -> set[str]:
    return set(re.findall(r" T (\w+)", ran(["nm", "-D", "--defined-only", library]).stdout))


@pytest.fixture(scope="module")
def c_library() -> CLibrary:
    loaded = [line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines()]
    return CLibrary(Path(next(path for path in loaded if re.search(r"/libc[.-][^/]*$", path))))


def test_export_list_is_the_documented_one(wrapper: Path) -> None:
    assert exported(wrapper) == documented("Placed") | documented("Observed")
    assert exported(wrapper) == set(re.findall(r'\[SES_CALL_\w+\] = "(\w+)"', TABLE.read_text()))


def test_nothing_is_both_placed_and_not() -> None:
    assert not documented("Placed") & documented("Not placed")


@needs_known_machine
def test_every_function_that_can_create_is_documented_and_back(c_library: CLibrary) -> None:
    assert c_library.creators() == documented("Placed") | documented("Not placed")


@needs_known_machine
def test_functions_that_only_read_are_told_from_those_that_create(c_library: CLibrary) -> None:
    """A scan that finds everything, or follows nothing, would keep no promise."""
    readers = {"opendir", "getpwnam", "catopen", "fts_open", "getutent", "pututline", "updwtmp", "realpath"}
    assert readers <= set(c_library.exported)
    assert not readers & c_library.creators()


@needs_known_machine
def test_rest_of_the_c_library_has_no_creating_system_call(c_library: CLibrary) -> None:
    listed = ran(["dpkg", "-L", "libc6"])
    others = [
        Path(line)
        for line in listed.stdout.splitlines()
        if re.fullmatch(rf"{c_library.path.parent.name}/[^/]*\.so[^/]*", "/".join(Path(line).parts[-2:]))
        and not re.match(r"ld-linux|libc\.so|libm\.so|libmvec", Path(line).name)
    ]
    assert len(others) > 5
    assert [path.name for path in others if CLibrary(path).creates_by_itself()] == []
