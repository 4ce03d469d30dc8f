"""Files of a set of directories go where there is room, and are found again by their names."""

import errno
import os
import random
import signal
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest
import ses.api
from mounts import served, stopped
from patience import wait_until
from places_program import Ses
from ses.place import directories
from ses.place.chooser import Chooser
from ses.place.directories import look_at
from ses.place.file_set import FileSet

Disks = Callable[..., list[Path]]


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def plain(tmp_path: Path) -> list[Path]:
    """Three directories of one file system."""
    made = [tmp_path / f"plain{number}" for number in range(3)]
    for directory in made:
        directory.mkdir()
    return made


def below(*bases: Path) -> dict[str, list[Path]]:
    """Return where each file is, by its name in the set."""
    files: dict[str, list[Path]] = {}
    for base in bases:
        for path in base.rglob("*"):
            if path.is_file():
                files.setdefault(str(path.relative_to(base)), []).append(path)
    return files


def test_files_go_to_different_directories_and_are_found_by_name(disks: Disks) -> None:
    among = disks(16, 16, 16)
    files = ses.api.file_set(among)
    opened = [files.open(f"run/part{number}", "w") for number in range(6)]
    for number, part in enumerate(opened):
        part.write(f"part {number}")
        part.close()
    for base in among:
        assert len(list((base / "run").iterdir())) == 2
    assert sorted(files.entries("run")) == [f"part{number}" for number in range(6)]
    assert list(files.entries()) == ["run"]
    for number in range(6):
        with files.open(f"run/part{number}") as part:
            assert part.read() == f"part {number}"
        assert files.find(f"run/part{number}").path.read_text() == f"part {number}"


def test_a_size_goes_where_it_fits_and_is_claimed_until_the_file_is_closed(
    disks: Disks, tmp_path: Path
) -> None:
    small, large = disks(16, 64)
    command = Ses(tmp_path / "state")
    files = ses.api.file_set([small, large])
    with files.open("a", "wb", size="40MiB"):
        assert files.find("a").base == large
        (claim,) = command.claims()
        assert (claim["bytes"], claim["pid"]) == (40 << 20, os.getpid())
        with pytest.raises(OSError, match="do not fit") as failed:
            files.open("b", "wb", size="40MiB")
        assert failed.value.errno == errno.ENOSPC
        assert below(small, large) == {"a": [large / "a"]}
    assert command.claims() == []


@pytest.mark.parametrize("mode", ["x", "w"])
def test_creators_of_one_name_at_once_make_one_file(plain: list[Path], mode: str) -> None:
    creators = [ses.api.file_set(plain[number % 3 :] + plain[: number % 3]) for number in range(6)]

    def create(files: FileSet, name: str) -> bool:
        try:
            with files.open(name, mode) as made:
                made.write("x")
        except FileExistsError:
            return False
        return True

    with ThreadPoolExecutor(len(creators)) as threads:
        for turn in range(8):
            won = list(threads.map(lambda files, name=f"f{turn}": create(files, name), creators))
            assert won.count(True) == (1 if mode == "x" else len(creators))
    made = below(*plain)
    assert sorted(made) == [f"f{turn}" for turn in range(8)]
    for name, paths in made.items():
        assert len(paths) == 1, name
        assert not paths[0].stat().st_mode & stat.S_ISVTX
        assert paths[0].read_text() == "x"


def test_a_file_whose_creator_died_is_one_like_others(
    plain: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ses.place.file_set._MAX_UNMADE", 0.1)
    (plain[1] / "left").touch()
    (plain[1] / "left").chmod(0o1644)
    files = ses.api.file_set(plain)
    with files.open("left", "w") as left:
        left.write("taken up")
    assert below(*plain) == {"left": [plain[1] / "left"]}
    with pytest.raises(FileExistsError):
        files.open("left", "x")


def test_modes_are_those_of_a_plain_open_and_of_the_directory_elsewhere(plain: list[Path]) -> None:
    (plain[0] / "secret").mkdir(mode=0o700)
    files = ses.api.file_set(plain)
    for number in range(9):
        files.open(f"secret/{number}", "w").close()
    reference = plain[0] / "reference"
    reference.open("w").close()
    used = [path for base in plain for path in base.glob("secret/*")]
    assert len(used) == 9
    for path in used:
        assert path.stat().st_mode == reference.stat().st_mode
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_file_is_moved_in_its_directory_and_replaces_one_elsewhere(plain: list[Path]) -> None:
    (plain[0] / "old").write_text("new text")
    (plain[1] / "name").write_text("old text")
    files = ses.api.file_set(plain)
    files.rename("old", "name")
    assert below(*plain) == {"name": [plain[0] / "name"]}
    assert files.open("name").read() == "new text"


def test_a_directory_is_moved_where_it_lies_whole_only(plain: list[Path]) -> None:
    for base, name in ((plain[0], "one/a"), (plain[0], "two/b"), (plain[1], "two/c")):
        (base / name).parent.mkdir(exist_ok=True)
        (base / name).touch()
    files = ses.api.file_set(plain)
    files.rename("one", "moved/one")
    assert list(files.entries("moved/one")) == ["a"]
    with pytest.raises(OSError, match=r"lie in several .*: 'two'$") as failed:
        files.rename("two", "three")
    assert failed.value.errno == errno.EXDEV
    assert sorted(files.entries("two")) == ["b", "c"]


def test_a_file_that_is_collected_in_the_middle_of_a_choice_ends_its_claim_after_it(
    plain: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    files = ses.api.file_set(plain)
    dropped = [files.open("dropped", "w")]

    def choose(self: Chooser, *asked: Any) -> Any:
        if dropped:
            dropped.pop()  # nobody else has it
            assert len(Ses(tmp_path / "state").claims()) == 1
        return original(self, *asked)

    original = Chooser.place
    monkeypatch.setattr(Chooser, "place", choose)
    with pytest.warns(ResourceWarning), files.open("kept", "w"):
        assert len(Ses(tmp_path / "state").claims()) == 1
    assert Ses(tmp_path / "state").claims() == []


def test_a_child_forked_in_the_middle_of_a_look_of_a_thread_goes_on(
    plain: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    parent, begun, over = os.getpid(), Event(), Event()

    def look(*args: Any) -> Any:
        if os.getpid() == parent:
            begun.set()
            over.wait(30)
        return look_at(*args)

    monkeypatch.setattr(directories, "look_at", look)
    (plain[0] / "a").touch()
    files = ses.api.file_set(plain)
    with ThreadPoolExecutor() as pool:
        pool.submit(files.find, "a")
        begun.wait()
        pid = os.fork()
        if not pid:
            try:
                files.find("a")
            finally:
                os._exit(0)
        try:
            wait_until(lambda: os.waitpid(pid, os.WNOHANG)[0] == pid, "the child has ended", 20)
        except BaseException:
            os.kill(pid, signal.SIGKILL)
            raise
        finally:
            over.set()


@pytest.mark.parametrize("name", ["../a", "a/../../b", "a\0b"])
def test_a_name_that_leads_out_is_refused(plain: list[Path], name: str) -> None:
    files = ses.api.file_set(plain)
    for call in (files.open, files.find, files.entries, files.remove, files.make_directory):
        with pytest.raises(ValueError, match="leads out"):
            call(name)  # type: ignore[operator]


@pytest.mark.root
def test_a_directory_that_hangs_costs_itself_only(
    disks: Disks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (sound,) = disks(16)
    with served(tmp_path / "union", tmp_path / "below") as server:
        (tmp_path / "below/there").write_text("there")
        (sound / "here").write_text("here")
        files = ses.api.file_set([tmp_path / "union", sound])
        with stopped(server):
            assert list(files.entries()) == ["here"]
            assert files.open("here").read() == "here"
            with pytest.raises(FileNotFoundError, match="union: it did not answer within 2 s"):
                files.open("there")
            with files.open("there", "w") as made:
                made.write("made meanwhile")
            assert files.find("there").base == sound
        monkeypatch.setattr("ses.place.file_set.time", SimpleNamespace(monotonic=lambda: monotonic() + 60))
        assert files.find("there").base == sound, "what was changed last counts"
        assert sorted(files.entries()) == ["here", "there"]
        files.remove("there")
        assert list(files.entries()) == ["here"]


class Plain:
    """The same calls on one directory, as Python and the kernel make them."""

    def __init__(self, base: Path) -> None:
        self.base = base

    def open(self, name: str, mode: str) -> Any:
        path = self.base / name
        if mode[0] != "r":
            path.parent.mkdir(parents=True, exist_ok=True)
        return path.open(mode)

    def entries(self, name: str) -> list[str]:
        return sorted(path.name for path in (self.base / name).iterdir())

    def remove(self, name: str) -> None:
        (self.base / name).unlink()

    def remove_directory(self, name: str) -> None:
        (self.base / name).rmdir()

    def make_directory(self, name: str) -> None:
        if (self.base / name).exists():
            raise FileExistsError(errno.EEXIST, name)
        (self.base / name).mkdir(parents=True)

    def rename(self, old: str, new: str) -> None:
        if not (self.base / old).exists():
            raise FileNotFoundError(errno.ENOENT, old)
        (self.base / new).parent.mkdir(parents=True, exist_ok=True)
        (self.base / old).rename(self.base / new)


def steps(seed: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    chance = random.Random(seed)
    names = ["a", "b", "d/a", "d/b", "d/e/a", "f/b"]
    for _ in range(150):
        call = chance.choice(["open"] * 6 + ["entries", "remove", "remove", "make_directory"])
        call = chance.choice([call] * 9 + ["remove_directory"]) if chance.random() < 0.8 else "rename"
        if call == "open":
            yield call, (chance.choice(names), chance.choice(["w", "x", "a", "r", "r+", "w+"]))
        elif call == "rename":
            yield call, (chance.choice(names), chance.choice(names))
        else:
            yield call, (chance.choice(names if call == "remove" else ["d", "d/e", "f"]),)


def outcome(files: Any, call: str, arguments: tuple[str, ...], text: str) -> object:
    try:
        if call == "open":
            with files.open(*arguments) as opened:
                before = opened.read() if opened.readable() else None
                if opened.writable():
                    opened.write(text)
                return before, opened.tell()
        result = getattr(files, call)(*arguments)
        return sorted(result) if call == "entries" else None
    except OSError as error:
        return type(error)


@pytest.mark.parametrize("seed", range(4))
def test_a_set_does_what_one_directory_does(disks: Disks, tmp_path: Path, seed: int) -> None:
    (tmp_path / "one").mkdir()
    among = disks(16, 16, 16)
    files, directory = ses.api.file_set(among), Plain(tmp_path / "one")
    succeeded = 0
    for number, (call, arguments) in enumerate(steps(seed)):
        expected = outcome(directory, call, arguments, f"{number}")
        assert outcome(files, call, arguments, f"{number}") == expected, (number, call, arguments)
        succeeded += not isinstance(expected, type)
    assert succeeded > 50
    whole = below(*among)
    assert {name: path.read_text() for name, (path,) in whole.items()} == {
        name: path.read_text() for name, (path,) in below(directory.base).items()
    }
    bases = {path.parents[len(Path(name).parts) - 1] for name, (path,) in whole.items()}
    assert len(bases) > 1 or len(whole) < 3
