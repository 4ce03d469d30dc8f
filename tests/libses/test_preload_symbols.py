"""What the preload library asks of the program it is loaded into: nothing that takes a lock or memory."""

import re
from pathlib import Path

import pytest
from ran import ran

PAGE = 4096

# What every create uses, and what is needed to find and be the real calls.
STRINGS = {"memcpy", "memset", "strnlen"}
NEEDED = {
    "__errno_location", "clock_gettime", "dlsym", "fdopen", "fileno", "getauxval", "pthread_testcancel",
    "environ", "__environ", "program_invocation_short_name", "__progname",
}  # fmt: skip


def read(wrapper: Path, *options: str) -> str:
    command = ["readelf", "-W", *options, str(wrapper)]
    return ran(command).stdout


def test_library_imports_nothing_that_allocates_locks_or_prints(wrapper: Path) -> None:
    imported = set(re.findall(r" UND (\w+)", read(wrapper, "--dyn-syms")))
    assert "dlsym" in imported
    assert imported <= STRINGS | NEEDED


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
    assert "FINI" not in read(wrapper, "--dynamic")


def test_start_of_a_program_writes_to_two_pages_of_the_library(wrapper: Path) -> None:
    """What the loader fills in becomes read-only as a whole, so that no mapping is split for it; the
    variables that every start needs fit on the page after it."""
    headers = read(wrapper, "--program-headers")
    start, size, room = (
        int(number, 16) for number in re.findall(r"LOAD +\S+ (\S+) \S+ (\S+) (\S+) RW ", headers)[0]
    )
    relro = [int(number, 16) for number in re.findall(r"GNU_RELRO +\S+ (\S+) \S+ \S+ (\S+)", headers)[0]]
    assert relro[0] == start
    assert start + size <= sum(relro), "initialised variables"
    assert size < room, "no other variables: nothing was looked at"
    symbols = ran(["nm", "--numeric-sort", str(wrapper)]).stdout
    at = {
        name: int(address, 16) for address, name in re.findall(r"(\w+) b (functions|settings|areas)", symbols)
    }
    assert at["functions"] // PAGE == at["settings"] // PAGE == sum(relro) // PAGE
    assert at["areas"] > at["settings"]
