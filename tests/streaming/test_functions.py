"""`ses profile --functions`: which functions and commands move the bytes, of real programs by real stacks."""

import subprocess
import sys
from pathlib import Path

import pytest
from ses.profiling.functions import named, worth_moving
from ses.profiling.result import FunctionUse, ProgramProfile, from_json
from ses.profiling.run import profile
from ses_client.errors import SesError

PROGRAM = r"""
#include <stdio.h>
#include <time.h>
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}
__attribute__((noinline)) long count_lines(const char *path) {
  static char block[1 << 20];
  long lines = 0;
  for (double end = now() + 1; now() < end;) {
    FILE *file = fopen(path, "r");
    for (size_t got; (got = fread(block, 1, sizeof block, file)) > 0;)
      for (size_t i = 0; i < got; ++i) lines += block[i] == '\n';
    fclose(file);
  }
  return lines;
}
__attribute__((noinline)) double compute(long lines) {
  double x = 1;
  for (double end = now() + 1; now() < end;) x = x * 1.000001 + lines;
  return x;
}
int main(int count, char **arguments) { return count_lines(arguments[count - 1]) < 0 || compute(1) < 0; }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A program that reads in one function and computes in another, and a file for it."""
    folder = tmp_path_factory.mktemp("functions")
    (folder / "count.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O2", "-o", folder / "count", folder / "count.c"], check=True, timeout=120)
    (folder / "data").write_bytes(b"a line of text\n" * 2_000_000)
    return str(folder / "count"), str(folder / "data")


def test_the_function_that_reads_is_named_and_what_it_reads(program: tuple[str, str]) -> None:
    measured, status = profile(program, functions=True)
    assert status == 0
    uses = {use.function: use for use in measured.functions}
    assert uses["count_lines"].read_bytes >= 0.8 * measured.read_bytes
    assert uses["compute"].read_bytes <= 0.2 * measured.read_bytes
    assert uses["compute"].cpu_seconds > 0.2
    assert "main" not in uses
    assert "Worth calling near the data: count_lines of count reads" in worth_moving(measured)
    assert from_json(measured.as_json()).functions == measured.functions


def test_of_several_commands_the_one_that_reads_is_named(program: tuple[str, str]) -> None:
    compute = "import time\nend = time.monotonic() + 0.5\nwhile time.monotonic() < end: pass"
    script = '"$0" "$1"; "$2" -c "$3"'
    measured, status = profile(["sh", "-c", script, *program, sys.executable, compute], functions=True)
    assert status == 0
    commands = {use.command: use for use in measured.functions if not use.function}
    assert commands["count"].read_bytes >= 0.8 * measured.read_bytes
    assert commands["sh"].read_bytes <= 0.2 * measured.read_bytes


def test_without_elfutils_nothing_is_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SesError, match="install elfutils"):
        profile(["/usr/bin/touch", str(tmp_path / "made")], functions=True)
    assert not (tmp_path / "made").exists()


def test_functions_of_the_system_and_frames_without_a_symbol_are_left_out() -> None:
    stack = """PID 7 - process
TID 7:
#0  0x00007f571f1d1503 read@GLIBC_2.2.5 - /usr/lib/x86_64-linux-gnu/libc.so.6
#1  0x00007f571f1d1503 inflate - /usr/lib/x86_64-linux-gnu/libz.so.1.2.13
#2  0x000055b1065be4af - /usr/bin/count
#3  0x000055b1065be4b0 ns::Scan::next(int, char const*) - /usr/bin/count
#4  0x000055b1065be4b0 main - /usr/bin/count
#5  0x00007f571f12924a __libc_start_call_main - /usr/lib/x86_64-linux-gnu/libc.so.6
"""
    assert named(stack.splitlines()) == ["inflate", "ns::Scan::next(int, char const*)"]


def measured_of(*uses: FunctionUse) -> ProgramProfile:
    return ProgramProfile(("p",), 1.0, 1.0, 1000, 0, 1, 1, (), (), functions=uses)


def test_of_functions_that_read_as_much_the_one_is_named_that_takes_least_along() -> None:
    outer, scan = FunctionUse("p", "outer", 9, 1000, 0, 2.0), FunctionUse("p", "scan", 5, 950, 0, 1.0)
    leaf = FunctionUse("p", "leaf", 2, 300, 0, 0.5)
    assert "scan of p reads 95%" in worth_moving(measured_of(outer, scan, leaf))
    assert worth_moving(measured_of(leaf)) == ""


def test_where_no_function_has_a_name_it_is_the_command_of_several() -> None:
    sort, other = FunctionUse("sort", "", 9, 900, 0, 2.0), FunctionUse("sh", "", 1, 0, 0, 0.1)
    assert "sort reads 90% of the bytes (ses run-near)" in worth_moving(measured_of(sort, other))
    assert worth_moving(measured_of(sort)) == ""
