"""Darshan, which sites preload into every program as well: both do their work, in either order.

Debian has no package of it: the test runs where darshan-config is, of a run-time library built without MPI.
"""

import shutil
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
def darshan() -> Path:
    program = shutil.which("darshan-config")
    library = Path(program).parents[1] / "lib" / "libdarshan.so" if program else None
    if library is None or not library.exists():
        pytest.skip("Darshan's run-time library is not installed")
    return library


@pytest.mark.parametrize("order", ["first", "last"])
def test_darshan_and_the_library_do_their_work(
    union: Union, darshan: Path, order: str, tmp_path: Path
) -> None:
    both = [str(union.wrapper), str(darshan)]
    logs = tmp_path / "logs"
    logs.mkdir()
    union.run(
        "bash", "-e", "-c", SCRIPT,
        library=False,
        LD_PRELOAD=":".join(both if order == "first" else reversed(both)),
        DARSHAN_ENABLE_NONMPI="1",
        DARSHAN_LOGFILE=str(logs / "log"),
    )  # fmt: skip
    for name, size in FILES.items():
        assert (union.path / name).stat().st_size == size, name
    assert len(union.agent.asks) == CREATES
    assert {report.outcome for report in union.agent.reports} == {1}
    assert union.agent.leftovers() == []
    assert (logs / "log").stat().st_size > 0  # it was at work: the programs took turns with the name
