"""A directory whose mount hangs is left out; the others are chosen from, and nobody waits for it."""

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
import ses.api
from mounts import let_others_in, served, stopped
from places_program import Ses
from ran import ran
from ses.elsewhere import PATIENCE, ask_elsewhere, ask_here
from ses.place import chooser, directories
from ses.place.directories import look_at


class _Waiting:
    """Something to be collected, of which a finalizer waits for a thread that a forked process has not."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        time.sleep(6 * PATIENCE)


def test_what_a_program_left_to_be_collected_does_not_hold_the_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = os.getpid()
    begins = os.write

    def write(descriptor: int, data: bytes) -> int:
        if os.getpid() != parent:
            _Waiting()
        return begins(descriptor, data)

    thresholds = gc.get_threshold()
    monkeypatch.setattr(os, "write", write)
    gc.set_threshold(1, 1, 1)
    try:
        answers = ask_elsewhere([str(tmp_path)], os.path.isdir)
    finally:
        gc.set_threshold(*thresholds)
    assert answers == {str(tmp_path): True}
    assert gc.isenabled()


def test_nothing_is_collected_in_two_that_begin_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fork, forks, collects = os.fork, list[int](), list[bool]()

    def slow() -> int:
        forks.append(len(forks) + 1)
        time.sleep(0.2 * forks[-1])  # the second outlasts the first
        collects.append(gc.isenabled())
        return fork()

    monkeypatch.setattr(os, "fork", slow)
    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(lambda _: ask_elsewhere([str(tmp_path)], os.path.isdir), range(2)))
    assert answers == [{str(tmp_path): True}] * 2
    assert collects == [False, False]
    assert gc.isenabled()


def test_one_that_does_not_begin_is_begun_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that was forked while a thread held what it waits for."""
    fork, forks, done = os.fork, list[int](), list[str]()

    def stuck_at_first() -> int:
        forks.append(len(forks))
        pid = fork()
        if pid == 0 and len(forks) == 1:
            time.sleep(60)
        return pid

    monkeypatch.setattr(os, "fork", stuck_at_first)
    answers = ask_elsewhere([str(tmp_path)], os.path.isdir, lambda: done.append("once"))
    assert answers == {str(tmp_path): True}
    assert done == ["once"]


def test_a_program_is_not_copied_for_directories_of_its_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which takes the longer the more memory it has."""

    def fork() -> int:
        raise AssertionError("it was copied")

    (tmp_path / "link").symlink_to("/")
    monkeypatch.setattr(os, "fork", fork)
    assert [seen.reason for seen in look_at([str(tmp_path), "/"])] == ["", ""]
    with pytest.raises(AssertionError, match="it was copied"):
        look_at([f"{tmp_path}/link/tmp"])  # which may lead anywhere
    with pytest.raises(AssertionError, match="it was copied"):
        look_at([f"{tmp_path}/link/../tmp"])  # what is above the link's target


@pytest.mark.parametrize(
    ("kind", "may_hang"), [("nfs4", True), ("fuse.mergerfs", True), ("ext4", False), ("overlay", False)]
)
def test_what_lies_on_the_root_of_a_machine_without_disks_may_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, may_hang: bool
) -> None:
    """A node that starts from the network has its root on a server."""
    (table := tmp_path / "mountinfo").write_text(f"21 1 0:20 / / rw,relatime - {kind} server:/root rw\n")
    asked = list[str]()

    def elsewhere(names: list[str], *_: object) -> dict[str, object]:
        asked.extend(names)
        return {}

    monkeypatch.setattr(directories, "MOUNTINFO", table)
    monkeypatch.setattr(directories, "ask_elsewhere", elsewhere)
    look_at(["/"])
    assert asked == (["/"] if may_hang else [])


@pytest.mark.root
def test_a_user_who_may_begin_nothing_more_is_served_or_learns_why(tmp_path: Path) -> None:
    let_others_in(tmp_path)
    program = (
        "import os, resource, sys; from ses.place.directories import held_in, look_at\n"
        "os.setresuid(65534, 65534, 65534); resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))\n"
        "print([seen.path for seen in look_at([sys.argv[1]])])\n"
        "print(held_in('/proc'))\n"
        "try: look_at(['/proc'])\n"
        "except Exception as error: print(error)\n"
    )
    said = ran([sys.executable, "-c", program, str(tmp_path)]).stdout.splitlines()
    assert said[0] == str([str(tmp_path)])
    assert said[1] == "None", "as where it is not known: a place is renewed all the same"
    assert said[2].startswith("No process can begin that looks at what may hang: ")


def test_what_is_asked_about_here_waits_for_none_that_hangs() -> None:
    over = Event()
    try:
        answers = ask_here("abc", lambda name: name == "b" or over.wait(60), 0.5)
    finally:
        over.set()
    assert answers == {"b": True}


def test_what_is_slow_is_asked_about_once(tmp_path: Path) -> None:
    """A directory that is slowly made would be met by who makes it again, and taken for somebody else's."""

    def slow(name: str) -> bool:
        with (tmp_path / name).open("a") as asked:
            asked.write("asked ")
        time.sleep(0.3)
        return True

    for ask in (ask_here, ask_elsewhere):
        assert ask("abc", slow) == dict.fromkeys("abc", True)
    assert [(tmp_path / name).read_text() for name in "abc"] == ["asked asked "] * 3


def test_one_with_many_claims_is_not_taken_for_one_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies in claimed directories is added up as long as there is time; the others count in full."""
    claimed = [str(tmp_path / f"run-{number}") for number in range(40)]
    for path in claimed:
        Path(path).mkdir()
    scandir = os.scandir

    def slow(path: str) -> object:
        time.sleep(0.1)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", slow)
    (seen,) = look_at([str(tmp_path)], claimed)
    assert seen.reason == ""
    assert 0 < len(seen.held) < len(claimed)


@pytest.mark.root
def test_only_a_directory_that_hangs_is_left_out(
    ses: Ses, disks: Callable[..., list[Path]], tmp_path: Path
) -> None:
    (sound,) = disks(16)
    with served(tmp_path / "union", tmp_path / "below") as server, stopped(server):
        began = time.monotonic()
        seen = ses.json("place", "--among", tmp_path / "union", sound)  # returns when its output is closed
        took = time.monotonic() - began
        left = subprocess.run(["pgrep", "-f", f"among {tmp_path}/union"], capture_output=True, check=False)
        assert seen["directory"] == str(sound)
        reason = f"it did not answer within {PATIENCE:g} s"
        assert {"directory": str(tmp_path / "union"), "reason": reason} in seen["why"]
        assert took < 10 * PATIENCE
        assert left.stdout == b"", "the process that asked is gone"


@pytest.mark.root
def test_a_program_that_chooses_again_and_again_waits_for_it_once(
    disks: Callable[..., list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at = []

    def look(given: list[str], *more: object) -> object:
        looked_at.append(given)
        return look_at(given, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(directories, "look_at", look)
    monkeypatch.setattr(chooser, "FRESH", 0.0)
    sound, union = str(disks(16)[0]), str(tmp_path / "union")
    with (
        served(tmp_path / "union", tmp_path / "below") as server,
        ses.api.Places([union, sound], ledger=tmp_path / "ledger") as places,
        stopped(server),
    ):
        for _ in range(2):
            with places.place() as chosen:
                assert chosen.directory == sound
                assert union in [entry.directory.given for entry in chosen.why]
    assert looked_at == [[union, sound], [sound]]
