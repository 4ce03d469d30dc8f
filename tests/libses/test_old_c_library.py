"""A program that brings an older C library with it runs under the library as it does without.

That of an image (Debian 11, RHEL 8), or of an application that is started by a loader of its own.
"""

import platform
import re
from pathlib import Path

import pytest
from mergerfs_union import Union
from ran import ran

CALLS = Path(__file__).parent / "probes/calls.c"
# A program without what its own start needs of later ones.
START = """
#include <stdlib.h>
int main(int, char **);
__attribute__((used)) static void begin(long *stack) { exit(main((int)*stack, (char **)(stack + 1))); }
__asm__(".globl _start\\n_start: xor %ebp, %ebp\\n mov %rsp, %rdi\\n and $-16, %rsp\\n call begin");
"""


def loader_and_library() -> tuple[Path, Path]:
    mapped = {Path(line.split()[-1]) for line in Path("/proc/self/maps").read_text().splitlines()}
    named = [{path for path in mapped if path.name.startswith(start)} for start in ("ld-linux", "libc.so.6")]
    return next(iter(named[0])), next(iter(named[1]))


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A directory with the machine's C library without what came with 2.34: the version, and the functions
    that programs had to load libdl or libpthread for before."""
    directory = tmp_path / "older"
    directory.mkdir()
    text = loader_and_library()[1].read_bytes()
    for name in (b"GLIBC_2.34", b"dlsym", b"pthread_testcancel"):
        assert text.count(b"\0" + name + b"\0") == 1
        text = text.replace(b"\0" + name + b"\0", b"\0" + name[:-1] + b"?\0")
    (directory / "libc.so.6").write_bytes(text)
    return directory


@pytest.mark.skipif(platform.machine() != "x86_64", reason="starts a program by instructions of x86-64")
def test_every_call_places_its_file_with_a_c_library_of_before_2021(
    union: Union, older: Path, tmp_path: Path
) -> None:
    start, program = tmp_path / "start.c", tmp_path / "calls"
    start.write_text(START)
    ran(["gcc", "-nostartfiles", start, CALLS, "-o", program])
    printed = []
    for library in (False, True):
        directory = union.path / str(library)
        directory.mkdir()
        command = (loader_and_library()[0], "--library-path", older, program, directory)
        printed.append(union.run(*command, library=library).stdout.splitlines())
    assert printed[1] == printed[0]
    assert len(printed[0]) > 25
    assert all(line.endswith(" 0 0") for line in printed[0])
    assert len(union.agent.reports) == len(printed[0])
    assert union.agent.leftovers() == []


def test_library_needs_nothing_of_a_c_library_after_2012(wrapper: Path) -> None:
    needed = ran(["readelf", "-W", "--version-info", wrapper]).stdout.partition("Version needs")[2]
    versions = {tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([0-9.]+)", needed)}
    assert versions
    assert max(versions) == (2, 17)
