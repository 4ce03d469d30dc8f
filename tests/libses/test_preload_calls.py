"""Every call that can create a regular file is seen by the preload library."""

import re
import subprocess
from pathlib import Path

import pytest
from mergerfs_union import Union
from ran import ran

WRAPPED = re.findall(
    r"\S+",
    """
    open open64 __open __open64 openat openat64 creat creat64
    fopen fopen64 _IO_fopen freopen freopen64
    mkstemp mkstemp64 mkostemp mkostemp64 mkstemps mkstemps64 mkostemps mkostemps64
    mknod mknodat __xmknod __xmknodat
    posix_spawn posix_spawnp
""",
)
OBSERVED = ["posix_spawn_file_actions_addopen", "setxattr", "lsetxattr", "fsetxattr"]


def test_exported_symbols_are_the_wrapped_and_observed_calls_and_nothing_else(wrapper: Path) -> None:
    listed = ran(["nm", "-D", "--defined-only", wrapper]).stdout
    assert sorted(re.findall(r" [^A] (\w+)", listed)) == sorted(WRAPPED + OBSERVED)


def test_nothing_but_the_c_library_is_loaded(wrapper: Path) -> None:
    listed = ran(["readelf", "-d", wrapper])
    assert re.findall(r"\(NEEDED\).*\[(.*)\]", listed.stdout) == ["libc.so.6"]


@pytest.mark.parametrize("suffix", ["", "-fortified"])
def test_every_call_places_its_file(union: Union, probes: Path, suffix: str) -> None:
    union.agent.choose = lambda number: number % 3
    done = union.run(probes / f"calls{suffix}", union.path)
    assert [line.split() for line in done.stdout.splitlines()] == [
        [call, "0", "0"] for call in sorted_by(done, WRAPPED)
    ]
    names = sorted(path.name for path in union.path.iterdir() if path.name != ".ses")
    assert len(names) == len(WRAPPED)
    assert len(union.agent.asks) == len(WRAPPED)
    assert len(union.agent.reports) == len(WRAPPED)
    by_inode = {report.inode: report for report in union.agent.reports}
    for name in names:
        copies = union.copies(union.path / name)
        report = by_inode[(union.path / name).stat().st_ino]
        assert copies == [(report.placement_id & 0xFFFFFFFF) % 3], name
        assert (report.outcome, report.error) == (1, 0)
    assert union.agent.leftovers() == []


def sorted_by(done: subprocess.CompletedProcess[str], names: list[str]) -> list[str]:
    """The names in the order the probe made the calls; a missing one is missed by the comparison."""
    order = [line.split()[0] for line in done.stdout.splitlines()]
    assert sorted(order) == sorted(names)
    return order
