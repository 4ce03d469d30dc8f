"""Creates that are none of our business: a storm of them is not looked into one by one, and what becomes
our business meanwhile is noticed."""

import sys
from pathlib import Path

from fake_table import CREATED
from mergerfs_union import Union

CREATES = 2000
REMEMBERED = 0.01  # seconds; see libses/src/directory/unmanaged.c


def test_storm_elsewhere_costs_no_look_per_create(union: Union, tmp_path: Path) -> None:
    script = "import os, sys, time\nbegun = time.monotonic()\n"
    script += "for i in range(int(sys.argv[2])):"
    script += " os.close(os.open(f'{sys.argv[1]}/{i}', os.O_CREAT | os.O_WRONLY))\n"
    script += "print(time.monotonic() - begun)"
    directory, trace = tmp_path / "elsewhere", tmp_path / "trace"
    directory.mkdir()
    strace = ("strace", "-qq", "-o", trace, "-e", "trace=statx,openat")
    done = union.run(*strace, sys.executable, "-I", "-S", "-c", script, directory, str(CREATES))
    lines = trace.read_text().splitlines()
    made = [line for line in lines if "O_CREAT" in line]
    looks = [line for line in lines if line.startswith("statx(") and f'"{directory}/"' in line]
    assert len(made) == CREATES
    assert 1 <= len(looks) <= 2 + float(done.stdout) / (REMEMBERED - 0.001)  # by a clock of milliseconds
    assert union.agent.connections == 0


def test_way_that_comes_to_lead_into_the_union_is_followed(union: Union, tmp_path: Path) -> None:
    script = """if True:
        import os, sys, time
        union, elsewhere, way = sys.argv[1:]
        def create(name):
            os.close(os.open(f"{way}/{name}", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        os.symlink(elsewhere, way)
        create("before")
        os.symlink(union, way + ".next")
        os.rename(way + ".next", way)
        time.sleep(0.05)  # longer than elsewhere is remembered
        create("after")
    """
    elsewhere, way = tmp_path / "elsewhere", tmp_path / "way"
    elsewhere.mkdir()
    union.run(sys.executable, "-I", "-S", "-c", script, union.path, elsewhere, way)
    assert [report.outcome for report in union.agent.reports] == [CREATED]
    assert (union.path / "after").exists()
    assert (elsewhere / "before").exists()
