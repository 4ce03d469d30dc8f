"""What was built for arm64, and what its programs run on."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
from ran import ran

sys.path.insert(0, str(Path(__file__).parents[1] / "libses"))
sys.path.insert(0, str(Path(__file__).parents[1] / "identity"))
sys.path.insert(0, str(Path(__file__).parents[1] / "agent"))
sys.path.insert(0, str(Path(__file__).parent))

import union_fixtures
from emulation import BUILT, LIBRARIES, ROOT, Arm64, EmulatedUnion
from mergerfs_union import Union


@pytest.fixture(scope="session")
def arm64(tmp_path_factory: pytest.TempPathFactory) -> Arm64:
    """Everything, built for arm64."""
    for command in ("packaging/install.sh arm64", "packaging/arm64.sh native"):
        ran(command.split(), cwd=ROOT)
    LIBRARIES.mkdir(exist_ok=True)
    if not (LIBRARIES / "lib").is_symlink():
        (LIBRARIES / "lib").symlink_to("../root/usr/lib")
    directory = tmp_path_factory.mktemp("arm64")
    directory.chmod(0o755)
    return Arm64(directory)


make_union = union_fixtures.make_union


@pytest.fixture
def make_emulated(arm64: Arm64, make_union: Callable[..., Union]) -> Callable[..., EmulatedUnion]:
    """As make_union, for programs under emulation."""

    def make(**how: object) -> EmulatedUnion:
        union = make_union(**how)
        known = {field.name: getattr(union, field.name) for field in fields(union)}
        return EmulatedUnion(
            **{**known, "wrapper": Path(shutil.copy(BUILT / "libses-wrapper.so", arm64.directory))}
        )

    return make
