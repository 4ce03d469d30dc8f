"""Tests of front ends have sets of directories, and a ledger, of their own."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

Described = Callable[..., list[Path]]


@pytest.fixture(autouse=True)
def own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def described(tmp_path: Path) -> Described:
    """Make directories, and describe them as sets by these names."""

    def describe(*names: str, count: int = 3) -> list[Path]:
        made, text = [], ""
        for name in names:
            own = [tmp_path / name / str(number) for number in range(count)]
            for directory in own:
                directory.mkdir(parents=True)
            text += f"[{name}]\namong = {[str(directory) for directory in own]}\n"
            made += own
        (tmp_path / "config/ses").mkdir(parents=True)
        (tmp_path / "config/ses/directories.toml").write_text(text)
        return made

    return describe
