"""The table of fine samples: no torn read, whatever happens to the writer, and asleep unless asked."""

import fcntl
import mmap
import os
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from patience import wait_until
from ran import ran
from smed_monitor.collectors.sampler import ASKED_OFFSET, HEAD, RECORD, Counters, read_record

BUILT = Path(__file__).parents[3] / "build" / "libses" / "extras/sampler"
LOOP_ADD, LOOP_REMOVE = 0x4C80, 0x4C81  # of linux/loop.h
STAT = "8 0 16 4 10 0 24 6 3 20 30\n"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts, and gives a file to another user: needs root")


@pytest.fixture(scope="module")
def built() -> Path:
    """Where the programs were built."""
    return BUILT


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    programs: list[subprocess.Popen[bytes]] = []
    yield programs
    for program in programs:
        program.kill()
        program.wait()


def sampled(table: Path) -> tuple[int, ...]:
    """Sequence and words of the first record."""
    sequence, _name, *words = RECORD.unpack_from(table.read_bytes(), HEAD.size)
    return (sequence, *words)


def ready(table: Path) -> bool:
    return table.exists() and table.stat().st_size >= HEAD.size + RECORD.size


def test_no_read_is_torn_while_writers_are_killed_and_replaced(
    built: Path, tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    table = tmp_path / "table"
    for _ in range(20):
        started.append(subprocess.Popen([built / "table-probe", table, "4"]))
        wait_until(lambda: ready(table) and sampled(table)[0] > 100, "the writer writes every record")
        with table.open("rb") as file:
            records = [read_record(file.fileno(), number % 4) for number in range(1000)]
            started[-1].kill()
            started[-1].wait()
            records += [read_record(file.fileno(), number) for number in range(4)]
        whole = [record[1] for record in records if record]
        assert len(whole) > 100, "a record whose writer waits for a processor is given up"
        for words in whole:
            assert words == tuple(words[0] * factor for factor in (1, 3, 5, 7, 11, 13, 17, 19, 23, 29))


def test_the_sampler_publishes_the_counters_of_a_device(
    built: Path, tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    stat, table = tmp_path / "stat", tmp_path / "table"
    stat.write_text(STAT)
    started.append(
        subprocess.Popen([built / "smed-sampler", "--table", table, "--period-ms", "1", "--always", stat])
    )
    wait_until(lambda: ready(table) and sampled(table)[0] >= 2, "a sample is published")
    words = sampled(table)[1:]
    assert words[1:7] == (16 * 512, 24 * 512, 18, 10, 30, 3)
    stat.write_text(STAT.replace("24", "48"))
    wait_until(lambda: sampled(table)[3] == 48 * 512, "the change is published")


@as_root
def test_a_device_that_went_and_came_back_is_sampled_again(
    built: Path, tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    table, control = tmp_path / "table", Path("/dev/loop-control")
    if not control.exists():
        pytest.skip("there is no loop device here")
    with control.open("rb") as loops:
        number = next(n for n in range(900, 1000) if not Path(f"/sys/class/block/loop{n}").exists())
        fcntl.ioctl(loops, LOOP_ADD, number)
        try:
            command = [built / "smed-sampler", "--table", table, "--always", f"loop{number}"]
            started.append(subprocess.Popen(command))
            wait_until(lambda: ready(table) and sampled(table)[0] >= 2, "a sample is published")
            fcntl.ioctl(loops, LOOP_REMOVE, number)
            wait_until(lambda: stands_still(table), "it is gone")
            fcntl.ioctl(loops, LOOP_ADD, number)
            wait_until(lambda: not stands_still(table), "it is sampled again", 10)
        finally:
            with suppress(OSError):
                fcntl.ioctl(loops, LOOP_REMOVE, number)


def stands_still(table: Path) -> bool:
    before = sampled(table)
    time.sleep(0.2)
    return sampled(table) == before


def test_what_a_sampler_of_other_devices_left_is_no_sample(
    built: Path, tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    table = tmp_path / "table"
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # a name has 35 characters
        read, other = Path(folder, "read"), Path(folder, "other")
        for stat in (read, other):
            stat.write_text(STAT)
        started.append(subprocess.Popen([built / "smed-sampler", "--table", table, "--always", read]))
        wait_until(lambda: ready(table) and sampled(table)[0] >= 2, "a sample is published")
        started[-1].kill()
        started[-1].wait()
        for stat, is_there in ((read, True), (other, False)):
            started.append(subprocess.Popen([built / "smed-sampler", "--table", table, stat]))
            wait_until(lambda stat=stat: str(stat).encode() in table.read_bytes(), "it has begun")
            with table.open("rb") as file:
                assert (read_record(file.fileno(), 0) is not None) == is_there
            started[-1].kill()
            started[-1].wait()


@as_root
def test_a_full_file_system_is_said(built: Path, tmp_path: Path) -> None:
    """A file of the right length could be made there: its first writer is killed by SIGBUS."""
    fill = f"mount -t tmpfs -o size=16k tmpfs {tmp_path} && head -c 16k /dev/zero >{tmp_path}/full && exec "
    sampler = [built / "smed-sampler", "--table", tmp_path / "table", "sda"]
    done = ran(["unshare", "--mount", "sh", "-c", fill + '"$@"', "sh", *sampler], code=1)
    assert "No space left on device" in done.stderr


@as_root
def test_a_file_that_another_user_made_there_is_replaced(
    built: Path, tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    """Who owns it could write what is not so, or cut it short under the sampler."""
    stat, table = tmp_path / "stat", tmp_path / "table"
    stat.write_text(STAT)
    table.write_bytes(bytes(HEAD.size + RECORD.size))
    os.chown(table, 65534, 65534)
    with table.open("r+b") as theirs:
        started.append(subprocess.Popen([built / "smed-sampler", "--table", table, "--always", stat]))
        wait_until(lambda: table.stat().st_uid == 0 and ready(table), "it has a file of its own")
        theirs.truncate(0)
        first = sampled(table)[0]
        wait_until(lambda: sampled(table)[0] > first, "it goes on")


@pytest.mark.parametrize("whole", [True, False])
def test_counters_of_real_devices_are_those_of_their_stat_files(
    built: Path, tmp_path: Path, started: list[subprocess.Popen[bytes]], whole: bool
) -> None:
    names = [line.split()[2] for line in Path("/proc/diskstats").read_text().splitlines()]
    if not names:
        pytest.skip("this machine shows no block device")
    watched = names if whole else names[:1]  # all at once from diskstats; few, each from its own file
    table = tmp_path / "table"
    started.append(subprocess.Popen([built / "smed-sampler", "--table", table, "--always", *watched]))
    wait_until(lambda: ready(table) and sampled(table)[0] >= 2, "a sample is published")

    def record(place: int) -> tuple[str, Counters]:
        """Name and counters; never of two samples, whatever the writer is at."""
        records: list[tuple[str, Counters] | None] = []

        def is_whole() -> bool:
            with table.open("rb") as file:
                records.append(read_record(file.fileno(), place))
            return records[-1] is not None

        wait_until(is_whole, f"record {place} is whole")
        assert records[-1]
        return records[-1]

    def counters(file: Path) -> list[int]:
        """Of a stat file; empty when the device is gone."""
        try:
            stat = [int(word) for word in file.read_text().split()]
        except OSError:
            return []
        return [stat[2] * 512, stat[6] * 512, stat[0] + stat[4]]

    compared = 0
    for place, name in enumerate(watched):
        stat = Path(f"/sys/class/block/{name}/stat")
        before, now = counters(stat), time.monotonic_ns()

        def is_newer(place: int = place, stat: Path = stat, now: int = now) -> bool:
            # Somebody may take the device away.
            return record(place)[1].monotonic_ns > now or not stat.exists()

        wait_until(is_newer, f"{name} is sampled")
        (named, recorded), after = record(place), counters(stat)
        if not before or not after:
            continue
        assert named == name
        counted = [recorded.read_bytes, recorded.written_bytes, recorded.operations]
        assert all(least <= count <= most for least, count, most in zip(before, counted, after, strict=True))
        compared += 1
    assert compared


def test_the_sampler_sleeps_until_a_reader_asks(
    built: Path, tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    stat, table = tmp_path / "stat", tmp_path / "table"
    stat.write_text(STAT)
    started.append(subprocess.Popen([built / "smed-sampler", "--table", table, "--period-ms", "1", stat]))
    wait_until(lambda: ready(table), "the table is made")
    assert sampled(table)[0] == 0
    with table.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:

        def wakes() -> bool:
            """Asked again: a sampler that did not run for two seconds sees a question that is over."""
            struct.pack_into("=Q", memory, ASKED_OFFSET, time.monotonic_ns())
            return sampled(table)[0] >= 2

        wait_until(wakes, "it wakes up")


@pytest.mark.parametrize("polls", [True, False])
def test_one_core_is_kept_to_and_polled_unless_it_may_sleep(
    built: Path, tmp_path: Path, started: list[subprocess.Popen[bytes]], polls: bool
) -> None:
    stat, table = tmp_path / "stat", tmp_path / "table"
    stat.write_text(STAT)
    core = max(os.sched_getaffinity(0))
    options = ["--table", table, "--period-ms", "1", "--core", str(core), "--always"]
    started.append(
        subprocess.Popen([built / "smed-sampler", *options, *([] if polls else ["--sleep"]), stat])
    )
    wait_until(lambda: os.sched_getaffinity(started[-1].pid) == {core}, "it binds itself")
    wait_until(lambda: ready(table) and sampled(table)[0] >= 2, "a sample is published")
    first, slept = sampled(table)[0], sleeps(started[-1].pid)
    wait_until(lambda: sampled(table)[0] >= first + 200, "a hundred more are")
    slept = sleeps(started[-1].pid) - slept
    assert slept < 20 if polls else slept >= 50


def sleeps(process: int) -> int:
    """How often it gave up the processor by itself."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("\nvoluntary_ctxt_switches:")[1].split()[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--table FILE is missing"),
        (["--table", "t"], "a DEVICE is missing"),
        (
            ["--table", "t", "--period-ms", "0", "sda"],
            '--period-ms takes a whole number from 1 to 1000, not "0"',
        ),
        (["--table", "t", "--core", "1x", "sda"], "--core takes"),
        (["--table", "t", "--fifo", "", "sda"], "--fifo takes"),
        (["--table", "t", "--sleep", "sda"], "--sleep needs --core"),
        (["--table", "t", "--listen", "127.0.0.1:0", "sda"], "--listen and --key-file need each other"),
        (["--table", "t", "--fabric", "tcp", "sda"], "and --fabric both"),
        (["--table", "t", *["sda"] * 4097], "4097 devices; a table has room for 4096"),
        (["--nonsense"], "--help"),
    ],
)
def test_wrong_usage_is_refused(built: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    done = ran([built / "smed-sampler", *arguments], code=2, cwd=tmp_path)
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


def test_help_names_every_option(built: Path) -> None:
    done = ran([built / "smed-sampler", "--help"])
    for option in (
        "--table",
        "--period-ms",
        "--fifo",
        "--core",
        "--sleep",
        "--listen",
        "--always",
        "--version",
    ):
        assert option in done.stdout
