"""Programs of musl, the C library of Alpine: the library is served to them, and they cannot tell.

What random calls give them is compared in tests/identity.
"""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from mergerfs_union import Union
from ran import ran

ROOT = Path(__file__).resolve().parents[2]
# Built on Alpine with musl 1.1, as PyPI has it: dynamic, C++, with its libraries beside it.
ALPINE = ["cmake==3.27.9", "--platform", "musllinux_1_1_x86_64"]

CREATE = """
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static void *in_thread(void *name) { return (void *)(long)(creat(name, 0644) < 0); }
int main(int argc, char **argv) {
  FILE *file = argc == 2 && chdir(argv[1]) == 0 ? fopen("stream", "w") : NULL;
  pthread_t thread;
  void *failed = NULL;
  if (!file || fclose(file) || pthread_create(&thread, NULL, in_thread, "thread") ||
      pthread_join(thread, &failed) || failed)
    return 1;
  pid_t child = vfork();
  if (child == 0)
    _exit(creat("borrowed", 0644) < 0);
  waitpid(child, NULL, 0);
  child = fork();
  if (child == 0)
    _exit(creat("child", 0644) < 0);
  waitpid(child, NULL, 0);
  return close(creat("last", 0644));
}
"""


@pytest.fixture(scope="module")
def create(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program of musl that creates files in threads and children."""
    program = tmp_path_factory.mktemp("musl") / "create"
    program.with_suffix(".c").write_text(CREATE)
    subprocess.run(["musl-gcc", program.with_suffix(".c"), "-o", program], check=True, timeout=60)
    return program


def names(union: Union) -> set[str]:
    return {path.name for path in union.path.iterdir() if path.name != ".ses"}


def not_placed(union: Union) -> set[str]:
    inodes = {report.inode for report in union.agent.reports}
    return {name for name in names(union) if (union.path / name).stat().st_ino not in inodes}


def test_all_are_placed_but_what_a_child_creates_on_memory_that_is_not_its_own(
    union: Union, create: Path
) -> None:
    """The library as packages have it, built for glibc."""
    assert union.run(create, union.path).stderr == ""
    assert names(union) == {"stream", "thread", "borrowed", "child", "last"}
    assert not_placed(union) == {"borrowed"}


@pytest.mark.long
def test_library_that_is_built_for_musl_does_the_same(union: Union, create: Path, tmp_path: Path) -> None:
    headers = (
        f"-idirafter /usr/include -idirafter /usr/include/{os.uname().machine}-linux-gnu"  # the kernel's
    )
    environment = {**os.environ, "CC": "musl-gcc", "CFLAGS": headers}
    parts = ["-DSES_EXTRAS=OFF", "-DSES_SLURM=OFF", "-DSES_WARNINGS_AS_ERRORS=ON"]
    for command in (
        ["cmake", "-S", str(ROOT / "libses"), "-B", str(tmp_path / "build"), "-G", "Ninja", *parts],
        ["cmake", "--build", str(tmp_path / "build"), "--parallel", "2", "--target", "ses_wrapper"],
    ):
        ran(command, env=environment)
    union.wrapper = tmp_path / "build/libses-wrapper.so"
    listed = ran(["readelf", "-d", union.wrapper])
    assert "[libc.so]" in listed.stdout
    assert union.run(create, union.path).stderr == ""
    assert not_placed(union) == {"borrowed"}


@pytest.mark.long
def test_files_of_a_program_that_was_built_on_alpine_are_placed(union: Union, tmp_path: Path) -> None:
    only = ["--quiet", "--no-deps", "--only-binary", ":all:"]
    fetch = [sys.executable, "-m", "pip", "download", *only, "--dest", str(tmp_path), *ALPINE]
    subprocess.run(fetch, check=True, timeout=600)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    program = tmp_path / "cmake/data/bin/cmake"
    program.chmod(0o755)
    assert b"/lib/ld-musl-x86_64.so.1" in program.read_bytes()
    union.agent.choose = lambda number: number % 3
    (tmp_path / "input").write_text("input")
    (tmp_path / "input.cmake").write_text('file(WRITE written "text")\nfile(COPY_FILE written copied)\n')
    for arguments in (["-E", "touch", "touched"], ["-E", "tar", "cf", "archive", str(tmp_path / "input")]):
        assert union.run(program, *arguments).stderr == ""
    union.run(program, "-P", tmp_path / "input.cmake")
    assert names(union) == {"touched", "archive", "written", "copied"}
    assert not_placed(union) == set()
    assert (union.path / "copied").read_text() == "text"
