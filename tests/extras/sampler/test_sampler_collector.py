"""The monitor reads the table of the real smed-sampler: it wakes it, and takes nothing old or torn."""

import os
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mounts import served, stopped
from patience import wait_until
from smed_monitor.collectors.registry import COLLECTORS
from smed_monitor.collectors.sampler import HEAD, RECORD, Counters, Sampler
from smed_monitor.config.settings import ElementSettings, Target, load
from smed_monitor.core.errors import (
    CollectorError,
    ContentError,
    DeadlineError,
    ElementMissingError,
    SettingsError,
)

SAMPLER = Path(__file__).parents[3] / "build" / "libses" / "extras/sampler" / "smed-sampler"
LONGEST_NAME = 35  # of the table
STAT = "8 0 16 4 10 0 24 6 3 20 30\n"


def target(table: Path, *paths: Path, seconds: float = 30.0) -> Target:
    return Target(
        name="n1",
        collector="sampler",
        table=str(table),
        paths=tuple(map(str, paths)),
        timeout_seconds=seconds,
    )


def on(device: str) -> ElementSettings:
    return ElementSettings(id="u/a", target="n1", device=device[:LONGEST_NAME])


@pytest.fixture
def stat(tmp_path: Path) -> Path:
    """A device's counters."""
    file = tmp_path / "stat"
    file.write_text(STAT)
    return file


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Start a sampler; the table's path."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str) -> Path:
        table = tmp_path / "table"
        with (tmp_path / "said").open("w") as said:
            started.append(subprocess.Popen([SAMPLER, "--table", table, *arguments], stderr=said))
        wait_until(lambda: table.exists() and table.stat().st_size >= HEAD.size + RECORD.size, "a table")
        wait_until(lambda: table.read_bytes()[:4] == b"SMED", "it is ready")
        return table

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def sampled(watched: Callable[..., Path], stat: Path) -> Callable[..., Path]:
    """Start a sampler of ``stat``; the table's path."""
    return lambda *options: watched(*options, str(stat))


def test_asking_wakes_the_sampler_and_gets_counters_of_the_last_16_ms(
    sampled: Callable[..., Path], stat: Path
) -> None:
    table = sampled("--period-ms", "4")
    assert struct.unpack_from("=I", table.read_bytes(), HEAD.size) == (0,), "it sleeps"
    collector = Sampler()
    source = collector.open(target(table))
    reply = source.read()
    seen = collector.reading(collector.parse(reply.body), on(str(stat)))
    assert (seen.read_bytes, seen.written_bytes, seen.operations) == (16 * 512, 24 * 512, 18)
    assert (seen.busy_seconds, seen.request_seconds, seen.in_flight) == (0.010, 0.030, 3)
    assert seen.stamp is not None
    assert reply.at.monotonic == pytest.approx(seen.stamp / 1e9)
    assert abs(reply.at.wall - time.time()) < 30
    source.close()


def test_the_counters_are_those_of_now(sampled: Callable[..., Path], stat: Path) -> None:
    table = sampled("--period-ms", "1")
    collector = Sampler()
    source = collector.open(target(table))
    first = collector.reading(collector.parse(source.read().body), on(str(stat)))
    stat.write_text(STAT.replace("24", "48"))
    time.sleep(0.1)  # more than the oldest that may be answered; a slower machine only waits longer
    second = collector.reading(collector.parse(source.read().body), on(str(stat)))
    assert (first.written_bytes, second.written_bytes) == (24 * 512, 48 * 512)
    source.close()


def test_space_comes_from_the_paths(sampled: Callable[..., Path], stat: Path, tmp_path: Path) -> None:
    collector = Sampler()
    source = collector.open(target(sampled("--always"), tmp_path))
    sample = collector.parse(source.read().body)
    element = ElementSettings(
        id="u/a", target="n1", device=str(stat)[:LONGEST_NAME], mount_point=str(tmp_path)
    )
    space = os.statvfs(tmp_path)
    assert collector.reading(sample, element).size_bytes == space.f_blocks * space.f_frsize
    assert collector.reading(sample, on(str(stat))).size_bytes is None
    with pytest.raises(ElementMissingError, match="not the file system that was described"):
        collector.reading(sample, element.model_copy(update={"file_system": "ext4 1"}))
    source.close()


@pytest.mark.root
def test_a_path_that_hangs_hides_no_other(sampled: Callable[..., Path], stat: Path, tmp_path: Path) -> None:
    collector, hung = Sampler(), tmp_path / "hung"
    element = ElementSettings(
        id="u/a", target="n1", device=str(stat)[:LONGEST_NAME], mount_point=str(tmp_path)
    )
    with served(hung, tmp_path / "disk") as server, stopped(server):
        source = collector.open(target(sampled("--always"), hung, tmp_path, seconds=2))
        sample = collector.parse(source.read().body)
        source.close()
    assert collector.reading(sample, element).size_bytes
    with pytest.raises(ElementMissingError, match="hung: does not answer"):
        collector.reading(sample, element.model_copy(update={"mount_point": str(hung)}))


def test_space_of_what_is_mounted_comes_from_the_table(stat: Path, watched: Callable[..., Path]) -> None:
    collector = Sampler()
    source = collector.open(target(watched("--always", f"{stat}=/dev/shm")))
    read = lambda: collector.reading(collector.parse(source.read().body), on(str(stat)))  # noqa: E731
    wait_until(lambda: read().size_bytes is not None, "the space is known")
    seen, space = read(), os.statvfs("/dev/shm")
    assert seen.size_bytes == space.f_blocks * space.f_frsize
    assert seen.free_bytes is not None
    assert 0 <= seen.free_bytes <= seen.size_bytes
    assert not seen.read_only
    assert (seen.read_bytes, seen.written_bytes) == (16 * 512, 24 * 512)
    source.close()


def test_a_directory_on_which_nothing_is_mounted_has_no_space(
    tmp_path: Path, stat: Path, watched: Callable[..., Path]
) -> None:
    (empty := tmp_path / "empty").mkdir()
    collector = Sampler()
    source = collector.open(target(watched("--always", f"{stat}={empty}")))
    said = tmp_path / "said"
    wait_until(lambda: f"{empty} is not known: nothing is mounted there" in said.read_text(), "it is said")
    seen = collector.reading(collector.parse(source.read().body), on(str(stat)))
    assert (seen.size_bytes, seen.free_bytes) == (None, None)
    source.close()


HANGS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>
int statvfs(const char *path, struct statvfs *facts) {
  while (strcmp(path, "/proc") == 0)
    pause();
  return ((int (*)(const char *, struct statvfs *))dlsym(RTLD_NEXT, "statvfs"))(path, facts);
}
"""


def test_a_file_system_that_hangs_holds_up_neither_samples_nor_the_space_of_others(
    tmp_path: Path, stat: Path, watched: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs = tmp_path / "hangs.so"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-o", hangs, "-x", "c", "-"], input=HANGS, text=True, check=True
    )
    monkeypatch.setenv("LD_PRELOAD", str(hangs))
    table = watched("--always", f"{stat}=/proc", f"{stat}=/dev/shm")

    def record(place: int) -> Counters:
        """Their names may be the same, cut off where a record ends."""
        _sequence, _name, *words, _check = RECORD.unpack_from(
            table.read_bytes(), HEAD.size + place * RECORD.size
        )
        return Counters(*words)

    wait_until(lambda: record(1).size_bytes > 0, "the space of the other is known")
    before = record(0)
    assert (before.size_bytes, before.operations) == (0, 18)
    wait_until(lambda: record(0).monotonic_ns > before.monotonic_ns, "its samples go on")


def test_a_device_nobody_watches_is_missing_with_what_is_watched(
    sampled: Callable[..., Path], stat: Path
) -> None:
    collector = Sampler()
    source = collector.open(target(sampled("--always")))
    with pytest.raises(ElementMissingError, match="does not watch sdz; it watches /"):
        collector.reading(collector.parse(source.read().body), on("sdz"))
    source.close()


def test_a_table_that_is_cut_short_is_a_fault_and_kills_nobody(sampled: Callable[..., Path]) -> None:
    table = sampled("--always")
    source = Sampler().open(target(table))
    source.read()
    os.truncate(table, HEAD.size)
    with pytest.raises(ContentError, match="shorter than it says"):
        source.read()
    os.truncate(table, 0)
    with pytest.raises(ContentError, match="too short"):
        source.read()
    source.close()


def test_a_sampler_that_died_is_not_an_idle_disk(tmp_path: Path, stat: Path) -> None:
    table = tmp_path / "table"
    process = subprocess.Popen([SAMPLER, "--table", table, "--always", stat])
    source = Sampler().open(target(table))

    def answers() -> bool:
        try:
            source.read()
        except CollectorError:
            return False
        return True

    wait_until(answers, "it answers")
    process.kill()
    process.wait()
    source.close()

    def refuses() -> bool:
        try:
            Sampler().open(target(table, seconds=0.1)).read()
        except DeadlineError as error:
            return "is smed-sampler running" in str(error)
        return False

    wait_until(refuses, "its last sample is too old")


def a_table(*, magic: bytes = b"SMED", count: int = 1, sequence: int = 2, check: int | None = None) -> bytes:
    words = [time.monotonic_ns() + 10**12, 1, 2, 3, 4, 5, 6, 7, 8, 0]
    right = 0x5EED
    for word in words:
        right = (right ^ word) * 0x9E3779B97F4A7C15 % 2**64
        right ^= right >> 32
    size = HEAD.size + count * RECORD.size
    head = HEAD.pack(int.from_bytes(magic, "little"), 1, HEAD.size, size, count, RECORD.size, 4_000_000, 0, 0)
    return head + RECORD.pack(sequence, b"sda", *words, right if check is None else check)


def test_a_whole_record_is_taken_and_a_torn_one_never(tmp_path: Path) -> None:
    table = tmp_path / "table"
    table.write_bytes(a_table())
    collector = Sampler()
    assert collector.parse(collector.open(target(table)).read().body).devices["sda"].in_flight == 6
    for torn in (a_table(sequence=3), a_table(check=7)):
        table.write_bytes(torn)
        with pytest.raises(DeadlineError):
            collector.open(target(table, seconds=0.05)).read()


@pytest.mark.parametrize("content", [b"x", a_table(magic=b"RIFF"), a_table(count=2), a_table(count=5000)])
def test_what_is_no_table_is_refused(tmp_path: Path, content: bytes) -> None:
    table = tmp_path / "table"
    table.write_bytes(content)
    with pytest.raises(ContentError):
        Sampler().open(target(table)).read()


def test_without_a_table_the_cause_is_reported(tmp_path: Path) -> None:
    with pytest.raises(CollectorError, match="is smed-sampler running"):
        Sampler().open(target(tmp_path / "absent")).read()


def test_the_settings_ask_for_the_table(tmp_path: Path) -> None:
    file = tmp_path / "smed.toml"
    file.write_text(
        '[[target]]\nname = "n1"\ncollector = "sampler"\n'
        '[[element]]\nid = "u/a"\ntarget = "n1"\ndevice = "sda"\n'
    )
    with pytest.raises(SettingsError, match=r"\(n1\), table: is required by collector sampler"):
        load(file, collectors=COLLECTORS)
