"""A profiler's library, which sites preload into every program as well: both do their work, in either order.

Darshan has no package in Debian. Where `darshan-config` of a run-time library built without MPI is, that is
preloaded; elsewhere one that wraps the calls that open in the same way.
"""

import shutil
import subprocess
from pathlib import Path

import pytest
from mergerfs_union import Union

SCRIPT = """
dd if=/dev/zero of=by-dd bs=1000 count=3 status=none
cp by-dd by-cp
tar cf by-tar by-cp
mkdir out && tar xf by-tar -C out
echo text > by-bash
sed -i s/text/word/ by-bash
"""
FILES = {"by-dd": 3000, "by-cp": 3000, "out/by-cp": 3000, "by-bash": 5}
CREATES = 6  # by-tar too, and the file that sed gives the name of another


@pytest.fixture(scope="module")
def profiler(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = shutil.which("darshan-config")
    library = Path(program).parents[1] / "lib" / "libdarshan.so" if program else None
    if library is not None and library.exists():
        return library
    built = tmp_path_factory.mktemp("profiler") / "profiler.so"
    source = Path(__file__).parent / "sources/profiler.c"
    subprocess.run(["cc", "-Wall", "-Werror", "-shared", "-fPIC", "-o", built, source, "-ldl"], check=True)
    return built


@pytest.mark.parametrize("order", ["first", "last"])
def test_a_profiler_and_the_library_do_their_work(
    union: Union, profiler: Path, order: str, tmp_path: Path
) -> None:
    both = [str(union.wrapper), str(profiler)]
    log = tmp_path / "log"
    union.run(
        "bash", "-e", "-c", SCRIPT,
        library=False,
        LD_PRELOAD=":".join(both if order == "first" else reversed(both)),
        DARSHAN_ENABLE_NONMPI="1",
        DARSHAN_LOGFILE=str(log),
        PROFILER_LOG=str(log),
    )  # fmt: skip
    for name, size in FILES.items():
        assert (union.path / name).stat().st_size == size, name
    assert len(union.agent.asks) == CREATES
    assert {report.outcome for report in union.agent.reports} == {1}
    assert union.agent.leftovers() == []
    if profiler.name == "libdarshan.so":
        assert log.stat().st_size > 0  # of the last program that ended: the programs took turns with the name
    elif order == "last":  # one behind the library does not see what that creates
        seen = {Path(line).name for line in log.read_text().splitlines()}
        assert {Path(name).name for name in FILES} <= seen
