"""What the preload library asks of the program it is loaded into: nothing that takes a lock or memory."""

import re
import subprocess
from pathlib import Path

import pytest

# The linker's own, strings and memory, and what is needed to find and be the real calls.
LINKER = {"_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__cxa_finalize", "__gmon_start__"}
STRINGS = {
    "memchr", "memcmp", "memcpy", "memmove", "memset",
    "strchr", "strcmp", "strlen", "strncmp", "strnlen", "strrchr", "strstr",
}  # fmt: skip
NEEDED = {
    "__errno_location", "clock_gettime", "dlsym", "fdopen", "fileno", "getauxval", "pthread_testcancel",
    "environ", "__environ", "program_invocation_short_name", "__progname",
}  # fmt: skip


def read(wrapper: Path, *options: str) -> str:
    command = ["readelf", "-W", *options, str(wrapper)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout


def test_library_imports_nothing_that_allocates_locks_or_prints(wrapper: Path) -> None:
    imported = set(re.findall(r" UND (\w+)", read(wrapper, "--dyn-syms")))
    assert "dlsym" in imported
    assert imported <= LINKER | STRINGS | NEEDED


def test_library_is_bound_at_once_and_stays(wrapper: Path) -> None:
    dynamic = read(wrapper, "--dynamic")
    assert re.search(r"\(FLAGS\) .*BIND_NOW", dynamic)
    assert re.search(r"\(FLAGS_1\) .*NODELETE", dynamic)
    assert "TEXTREL" not in dynamic


def test_thread_local_storage_needs_no_allocation(wrapper: Path) -> None:
    """Initial-exec: an offset from the thread pointer, and no call of __tls_get_addr()."""
    kinds = set(re.findall(r"R_X86_64_\w+|R_AARCH64_\w+", read(wrapper, "--relocs")))
    assert {kind for kind in kinds if "TP" in kind} <= {"R_X86_64_TPOFF64", "R_AARCH64_TLS_TPREL"}
    assert not {kind for kind in kinds if "DTPMOD" in kind or "TLSDESC" in kind}


@pytest.mark.parametrize("header", ["GNU_STACK", "GNU_RELRO"])
def test_stack_is_not_executable_and_tables_become_read_only(wrapper: Path, header: str) -> None:
    line = next(line for line in read(wrapper, "--program-headers").splitlines() if header in line)
    assert "E" not in line.split(maxsplit=1)[1].split("0x")[-2]


def test_library_has_no_destructor(wrapper: Path) -> None:
    """Other destructors may create files after ours would have run."""
    sizes = dict(re.findall(r"\((FINI_ARRAYSZ|INIT_ARRAYSZ)\) +(\d+)", read(wrapper, "--dynamic")))
    assert int(sizes["FINI_ARRAYSZ"]) == 8, "one entry: the compiler's own"
