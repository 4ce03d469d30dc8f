"""``ses://`` does with a set of directories what fsspec promises of a file system."""

import errno
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.generic import rsync

Described = Callable[..., list[Path]]


@pytest.fixture
def fs() -> Any:
    fsspec.get_filesystem_class("ses").clear_instance_cache()
    return fsspec.filesystem("ses")


def test_fsspec_finds_it_by_its_entry_point(described: Described) -> None:
    made = described("scratch")
    with fsspec.open("ses://scratch/run/a.txt", "wt") as file:
        file.write("text")
    (path,) = (base / "run/a.txt" for base in made if (base / "run/a.txt").exists())
    assert path.read_text() == "text"
    with fsspec.open("ses://scratch/run/a.txt", "rt") as file:
        assert file.read() == "text"
    with fsspec.open("ses://scratch/run/b.gz", "wb", compression="infer") as file:
        file.write(b"packed")
    with fsspec.open("ses://scratch/run/b.gz", "rb", compression="infer") as file:
        assert file.read() == b"packed"


def test_names_are_searched_for_in_all_directories(described: Described, fs: Any) -> None:
    made = described("scratch")
    for number, base in enumerate(made):
        (base / "d/e").mkdir(parents=True)
        (base / f"d/f{number}").write_bytes(bytes(100))
        (base / f"d/e/g{number}").write_bytes(bytes(10))
    assert fs.ls("ses://scratch/d", detail=False) == ["scratch/d/e", *(f"scratch/d/f{n}" for n in range(3))]
    assert fs.ls("scratch/d/f1", detail=False) == ["scratch/d/f1"]
    assert fs.glob("ses://scratch/**/?1") == ["scratch/d/e/g1", "scratch/d/f1"]
    assert fs.du("scratch/d") == 330
    assert fs.find("scratch") == [f"scratch/d/e/g{n}" for n in range(3)] + [
        f"scratch/d/f{n}" for n in range(3)
    ]
    assert fs.info("scratch/d/f2")["local_path"] == str(made[2] / "d/f2")
    assert fs.cat("scratch/d/e/*") == {f"scratch/d/e/g{n}": bytes(10) for n in range(3)}
    assert fs.modified("scratch/d/f1") <= fs.created("scratch/d/f1")
    assert not fs.exists("scratch/d/none")


def test_sets_are_listed_and_unknown_ones_are_named(described: Described, fs: Any) -> None:
    described("scratch", "fast")
    assert fs.ls("ses://", detail=False) == ["fast", "scratch"]
    assert fs.isdir("ses://")
    given = fsspec.filesystem("ses", directories={"own": ["/tmp"]})
    assert given.ls("", detail=False) == ["fast", "own", "scratch"]
    assert given.isdir("own")
    with pytest.raises(OSError, match="names no set"):
        fs.open("ses:///a", "rb")


def test_exclusive_create_and_transactions(described: Described, fs: Any) -> None:
    made = described("scratch")
    fs.pipe("scratch/a", b"first", mode="create")
    with pytest.raises(FileExistsError):
        fs.open("scratch/a", "xb")
    with pytest.raises(FileExistsError):
        fs.pipe("scratch/a", b"other", mode="create")
    with fs.transaction:
        fs.pipe("scratch/a", b"second")
        assert fs.cat("scratch/a") == b"first"
    assert fs.cat("scratch/a") == b"second"
    fs.start_transaction()
    fs.pipe("scratch/a", b"third")
    fs.transaction.complete(commit=False)
    fs.end_transaction()
    assert fs.cat("scratch/a") == b"second"
    assert [path.name for base in made for path in base.iterdir()] == ["a"]


def test_files_are_moved_copied_and_removed(described: Described, fs: Any, tmp_path: Path) -> None:
    described("scratch", "fast")
    fs.pipe({"scratch/d/a": b"a", "scratch/d/b": b"b"})
    fs.mv("scratch/d/a", "scratch/d/c")
    fs.copy("scratch/d/c", "scratch/d/e")
    fs.mv("scratch/d/b", "fast/b")
    assert fs.find("scratch") == ["scratch/d/c", "scratch/d/e"]
    assert fs.cat("fast/b") == b"b"
    (tmp_path / "local").write_bytes(b"local")
    fs.put(str(tmp_path / "local"), "scratch/d/f")
    fs.get("scratch/d/f", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == b"local"
    rsync("ses://scratch/d", "ses://fast/copy", fs=fsspec.filesystem("generic", default_method="current"))
    assert fs.find("fast") == ["fast/b", "fast/copy/c", "fast/copy/e", "fast/copy/f"]
    with pytest.raises(OSError, match="Is a directory"):
        fs.rm("scratch/d")
    fs.rm("scratch/d", recursive=True)
    assert fs.ls("scratch") == []
    fs.makedirs("scratch/x/y")
    with pytest.raises(FileExistsError):
        fs.mkdir("scratch/x")
    fs.rmdir("scratch/x/y")
    assert fs.find("scratch", withdirs=True) == ["scratch", "scratch/x"]


def test_a_directory_in_several_is_not_moved(described: Described, fs: Any) -> None:
    for base in described("scratch"):
        (base / "d").mkdir()
    with pytest.raises(OSError, match="Move the files one by one, or copy and remove it") as failed:
        fs.mv("scratch/d", "scratch/e", recursive=True)
    assert failed.value.errno == errno.EXDEV


def test_a_file_that_fits_nowhere_is_refused(described: Described, fs: Any) -> None:
    described("scratch")
    with pytest.raises(OSError, match="do not fit") as failed:
        fs.open("scratch/a", "wb", size="900PB")
    assert failed.value.errno == errno.ENOSPC


def test_it_goes_to_other_processes(described: Described, fs: Any) -> None:
    described("scratch")
    fs.pipe("scratch/a", b"x")
    assert pickle.loads(pickle.dumps(fs)).cat("scratch/a") == b"x"
    assert pickle.loads(pickle.dumps(fsspec.open("ses://scratch/a"))).open().read() == b"x"
