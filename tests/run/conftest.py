"""What the tests of ses-run stand on: the built program, and programs of every kind to run."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "libses"))

from program_ways import Programs
from union_fixtures import make_union, union

__all__ = ["make_union", "union"]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def ses_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of ses-run that every user can reach, with the preload library where it looks for it."""
    build = ROOT / os.environ.get("SES_BUILD_DIR", "build/libses")
    if not (build / "run/ses-run").exists():
        pytest.fail(f"{build}/run/ses-run does not exist: run `make native` first")
    place = tmp_path_factory.mktemp("ses-run")
    for parent in (place, *place.parents):
        if parent.stat().st_uid == os.geteuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    (place / "run").mkdir(mode=0o755)
    shutil.copy(build / "libses-wrapper.so", place)
    return Path(shutil.copy(build / "run/ses-run", place / "run"))


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    """Programs by the way they are built."""
    directory = tmp_path_factory.mktemp("programs")
    directory.chmod(0o755)
    return Programs(directory)
