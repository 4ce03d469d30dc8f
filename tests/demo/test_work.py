"""The work directory: what it cannot be is said at once, and nothing is left of it."""

import shutil
from contextlib import ExitStack
from types import SimpleNamespace

import pytest
from ses.demo.branches import BranchPlan
from ses.demo.faults import DemoError
from ses.demo.storage import set_up
from ses.demo.work import work_directory


@pytest.fixture
def full(monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=7_900_000))


def test_a_file_system_without_room_is_named(tmp_path, monkeypatch, full):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    said = f"{tmp_path} has 7 MB free, and 200 MB are needed. Set TMPDIR"
    with pytest.raises(DemoError, match=said), ExitStack() as undo:
        work_directory(undo, "demo-")
    assert list(tmp_path.iterdir()) == []


def test_images_that_fit_neither_in_memory_nor_on_the_disk_are_not_made(tmp_path, full):
    work = tmp_path / "work"
    work.mkdir()
    plans = (BranchPlan("b1", 100, 50, free=20), BranchPlan("b2", 100, 50, free=30))
    with (
        pytest.raises(DemoError, match=f"{tmp_path} has 7 MB free, and 50 MB are needed"),
        ExitStack() as undo,
    ):
        set_up(work, undo, lambda _: None, plans)
    assert list(work.iterdir()) == []
