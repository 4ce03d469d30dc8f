"""Whose a region is, who may read and write it, and what those can do to others."""

import errno
import json
import multiprocessing
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from ran import ran
from ses.share import Model, Region, regions
from sharing import Peer, command_of, refused, value_of

NOBODY = 65534
STRANGER = 65533
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="takes another user's part: needs root")


def opened_by(user: int, name: str) -> int:
    """The owner of what a user opens under this name, or the number of the error."""
    command = command_of("owner-of", name, user)
    return int(ran(command).stdout)


def test_region_is_its_owners_alone(region: Region) -> None:
    assert opened_by(NOBODY, f"root:{region.name}") == errno.EACCES
    assert opened_by(NOBODY, region.name) == errno.ENOENT, "without a user it is one of nobody's own"


def test_readable_region_is_read_by_others_and_not_written(name: str) -> None:
    with Region.create(name, mode=0o644) as region:
        item = region.alloc("item", 64)
        item.put(b"1")
        with Peer(f"0:{name}", user=NOBODY) as peer:
            assert peer.do("get", "item") == {"result": "1"}
            for line in (("put", "item", "2"), ("lock", "item"), ("free", "item")):
                assert peer.do(*line) == {"error": "PermissionError", "errno": errno.EACCES}
            peer.begin("wait", "item", 1)
            item.put(b"2")
            assert peer.answer() == {"result": True}, "who may only read is told as well"
    Region.remove(name)


def test_group_writes_a_region_of_its_group(name: str) -> None:
    with Region.create(name, mode=0o660, group=NOBODY) as region:
        region.alloc("item", 64)
        assert opened_by(STRANGER, f"root:{name}") == errno.EACCES
        with Peer(f"root:{name}", user=NOBODY) as peer:
            assert peer.do("put", "item", "1") == {"result": 1}
        assert region.facts().group == NOBODY
    Region.remove(name)


def test_same_name_of_another_user_is_another_region(name: str) -> None:
    """Nobody can put a region in the place of another user's."""
    subprocess.run(command_of("make", name, NOBODY), check=True)
    try:
        with pytest.raises(FileNotFoundError):
            Region.open(name)
        with Region.create(name) as mine, Region.open(f"nobody:{name}") as theirs:
            assert (mine.facts().owner, theirs.facts().owner) == (0, NOBODY)
            assert {region.owner for region in regions() if region.name == name} == {0, NOBODY}
        Region.remove(name)
        with pytest.raises(PermissionError):
            Region.create(f"nobody:{name}")
    finally:
        Region.remove(f"nobody:{name}")


@contextmanager
def keys_taken(most: int, name: str) -> Iterator[None]:
    """So many keys of a region that nobody has not made yet are a stranger's, who lets nobody look."""
    command = command_of("take-keys", f"{most}:{NOBODY}:{name}", STRANGER)
    taken = json.loads(ran(command).stdout)
    try:
        assert len({number for number in taken if number >= 0}) == most
        yield
    finally:
        subprocess.run(["ipcrm", *(f"--shmem-id={number}" for number in taken if number >= 0)], check=True)


def had_by_nobody(name: str) -> int:
    """0, or the number of the error, when nobody opens this region of their own or makes it."""
    command = command_of("have", name, NOBODY)
    return int(ran(command).stdout)


@pytest.mark.parametrize("most", [1, 8, 255])
def test_a_stranger_who_takes_keys_of_a_region_neither_hides_it_nor_keeps_it_from_being_made(
    name: str, most: int
) -> None:
    with keys_taken(most, name):
        assert opened_by(NOBODY, name) == errno.ENOENT
        assert had_by_nobody(name) == 0
        assert opened_by(NOBODY, name) == NOBODY
    assert opened_by(NOBODY, name) == NOBODY, "also when the stranger has gone"
    Region.remove(f"nobody:{name}")


def test_who_takes_all_keys_of_a_region_keeps_it_from_being_made_as_long_as_they_are_there(name: str) -> None:
    with keys_taken(256, name):
        assert had_by_nobody(name) == errno.ENOSPC
    assert had_by_nobody(name) == 0
    Region.remove(f"nobody:{name}")


def test_region_is_made_once_and_stays_for_who_has_it_when_it_is_removed(name: str) -> None:
    with Region.create(name) as region:
        with pytest.raises(FileExistsError):
            Region.create(name)
        item = region.alloc("item", 64)
        Region.remove(name)
        with pytest.raises(FileNotFoundError):
            Region.open(name)
        item.put(b"1")
        assert value_of(item.get()) == b"1"


def test_of_processes_that_make_a_region_at_once_one_does_and_all_have_it(name: str) -> None:
    processes, rounds = 4, 300
    fork = multiprocessing.get_context("fork")
    together, counted = fork.Barrier(processes), fork.Queue()

    def make_each() -> None:
        for number in range(rounds):
            together.wait(60)
            try:
                region = Region.create(f"{name}-{number}")
                made = True
            except FileExistsError:
                region, made = Region.open(f"{name}-{number}"), False
            item = region.have("count", 8, Model.WRITE)
            with item.lock():
                before = value_of(item.get())
                item.put(str(int(before or 0) + 1).encode())
            together.wait(60)
            counted.put((number, made, value_of(item.get())))

    started = [fork.Process(target=make_each) for _ in range(processes)]
    for process in started:
        process.start()
    counts = [counted.get(timeout=120) for _ in range(processes * rounds)]
    for process in started:
        process.join(60)
    for number in range(rounds):
        Region.remove(f"{name}-{number}")
        assert sum(made for of, made, _ in counts if of == number) == 1
        assert {count for of, _, count in counts if of == number} == {str(processes).encode()}


@pytest.mark.parametrize("bad", ["", "a b", "a/b/c", "a" * 64, "no-such-user:a", ":a", "0:", "ä"])
def test_odd_names_are_refused(bad: str) -> None:
    for call in (Region.create, Region.open, Region.remove):
        with pytest.raises(OSError, match=rf"\[Errno ({errno.EINVAL}|{errno.ENOENT}|{errno.EACCES})\]"):
            call(bad)


@pytest.mark.parametrize("options", [{"size": 1 << 41}, {"items": 70_000}, {"mode": 0o1777}, {"mode": 0o444}])
def test_odd_options_are_refused_and_nothing_is_left(name: str, options: dict[str, int]) -> None:
    with refused(errno.EINVAL):
        Region.create(name, **options)
    assert name not in {region.name for region in regions()}


def test_processes_of_another_pid_namespace_are_refused(region: Region) -> None:
    """They know processes by other numbers, and would take a living holder of a lock for dead."""
    command = ["unshare", "--pid", "--fork", "--mount-proc", *command_of("owner-of", region.name)]
    said = ran(command)
    assert int(said.stdout) == errno.ENOTSUP


@pytest.mark.parametrize("seed", range(8))
def test_who_may_write_can_neither_crash_nor_hold_up_a_reader(name: str, seed: int) -> None:
    """Another user fills the records and values with chance while they are used."""
    command = command_of("use-all", name)
    with (
        Region.create(name, size=1 << 16, items=16, mode=0o666),
        Peer(f"root:{name}", user=NOBODY) as peer,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as user,
    ):
        assert user.stdin
        assert user.stdout
        assert user.stdout.readline() == "ready\n"
        assert peer.do("scribble", seed) == {"result": None}
        user.stdin.write("\n")
        user.stdin.flush()
        for more in range(5):
            peer.do("scribble", seed + 100 * more)
        assert user.wait(120) == 0
    Region.remove(name)


def test_facts_say_what_is_taken(region: Region) -> None:
    before = region.facts()
    item = region.alloc("item", 1000, Model.TEMPORAL, age=2.5, keep=3)
    item.put(b"12345")
    after = region.facts()
    assert after.items == 1
    assert after.opened >= 1, "who lists regions opens each for a moment"
    assert before.bytes_free - after.bytes_free == 4 * 1088, "the last version and two more, and one to write"
    (facts,) = region.items()
    assert (facts.name, facts.model, facts.keep, facts.age) == ("item", Model.TEMPORAL, 3, 2.5)
    assert (facts.version, facts.value_bytes, facts.holder) == (1, 5, None)


def test_region_of_a_job_is_another_than_the_users_own(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"):
        monkeypatch.delenv(variable, raising=False)
    with refused(errno.ESRCH):
        Region.create(f"job/{name}")
    monkeypatch.setenv("PBS_JOBID", "4711[2].pbs")
    with Region.create(f"job/{name}", mode=0o640) as region:
        region.alloc("item", 8).put(b"1")
        facts = region.facts()
        assert (facts.name, facts.mode) == (f"4711[2].pbs/{name}", 0o640)
    with Region.open(f"{os.geteuid()}:job/{name}") as again:
        assert value_of(again.find("item").get()) == b"1"
    monkeypatch.setenv("SLURM_JOB_ID", "4712")
    for other in (f"job/{name}", name):
        with pytest.raises(FileNotFoundError):
            Region.open(other)
    for wrong in ("/x", "job/", "1/2/x", "job/job/x", "a b/x"):
        with refused(errno.EINVAL):
            Region.open(wrong)
    monkeypatch.delenv("SLURM_JOB_ID")
    Region.remove(f"job/{name}")
