"""Tables of other nodes: read from their memory or asked for over TCP, never torn, never older than told."""

import contextlib
import os
import re
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import wait_until
from ports import free_port
from ran import ran
from smed_monitor.collectors.registry import COLLECTORS
from smed_monitor.collectors.sampler import HEAD, RECORD, TableSource
from smed_monitor.config.settings import ElementSettings, Settings, Target
from smed_monitor.core.errors import CollectorError, DeadlineError
from smed_monitor.core.model import ONE_SIDED, PULL
from smed_monitor.http.metrics import exposition
from smed_monitor.scraping.monitor import Monitor

BUILT = Path(__file__).parents[3] / "build" / "libses" / "extras/sampler"
STAT = "8 0 16 4 10 0 24 6 3 20 30\n"


class Node:
    """A sampler and a mirror of it, both on this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key, self.local, self.mirrored = folder / "key", folder / "local", folder / "oss1"
        self.said = folder / "said"
        self.key.write_text("a key of enough letters\n")
        self.key.chmod(0o600)
        (folder / "stat").write_text(STAT)
        self.port = free_port()
        self.mounted = ""  # or "=" and where the device's file system is
        self.sampler_log = folder / "sampler"
        self.started: list[subprocess.Popen[bytes]] = []

    def sample(self, *options: str) -> subprocess.Popen[bytes]:
        """Start the sampler, always at the same port."""
        self.sampler_log = log = self.folder / f"sampler{len(self.started)}"
        sampler = self._start(
            log, "smed-sampler", "--table", self.local, "--period-ms", "1", "--key-file", self.key,
            "--listen", f"127.0.0.1:{self.port}", *options, f"{self.folder}/stat{self.mounted}",
        )  # fmt: skip
        wait_until(lambda: f"listens at 127.0.0.1:{self.port}" in log.read_text(), "the sampler listens")
        return sampler

    def mirror(self, *options: str, key: Path | None = None) -> subprocess.Popen[bytes]:
        return self._start(
            self.said, "smed-mirror", "--directory", self.folder, "--key-file", key or self.key,
            "--period-ms", "1", *options, f"oss1=127.0.0.1:{self.port}",
        )  # fmt: skip

    def _start(self, said: Path, program: str, *arguments: str | Path) -> subprocess.Popen[bytes]:
        with said.open("w") as file:
            self.started.append(subprocess.Popen([BUILT / program, *arguments], stderr=file))
        return self.started[-1]

    def source(self, seconds: float = 1.0) -> TableSource:
        return TableSource(
            Target.model_validate(
                {
                    "name": "oss1",
                    "collector": "sampler",
                    "table": str(self.mirrored),
                    "timeout_seconds": seconds,
                }
            )
        )

    def way(self) -> str:
        """How a fresh answer came; empty while there is none."""
        source = self.source(0.2)
        try:
            return source.read().way
        except CollectorError:
            return ""
        finally:
            source.close()


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path)
    yield node
    for program in node.started:
        program.kill()
        program.wait()


def record(table: Path) -> tuple[bytes, list[int]]:
    """Name and words of the first record."""
    _sequence, name, *words = RECORD.unpack_from(table.read_bytes(), HEAD.size)
    return name, words


WAYS = [((), (), PULL), (("--fabric", "tcp"), ("--one-sided",), ONE_SIDED),
        (("--fabric", "shm"), ("--one-sided",), ONE_SIDED)]  # fmt: skip


@pytest.mark.parametrize(("sampler", "mirror", "way"), WAYS)
def test_a_mirrored_table_is_the_local_one_at_this_nodes_time(
    node: Node, sampler: tuple[str, ...], mirror: tuple[str, ...], way: str
) -> None:
    node.sample(*sampler)
    node.mirror(*mirror, "--always")
    wait_until(lambda: node.way() == way, f"it answers by {way}")
    (node.folder / "stat").write_text(STAT.replace("24", "48"))
    wait_until(lambda: record(node.mirrored)[1][2] == 48 * 512, "the change is mirrored")
    name, words = record(node.mirrored)
    assert (name, words[1:10]) == (record(node.local)[0], record(node.local)[1][1:10])
    # Both have one clock here: what was mirrored is told younger than it is, never older than now.
    assert words[0] <= time.monotonic_ns()


@pytest.mark.parametrize(("sampler", "mirror", "way"), WAYS)
def test_a_mirrored_table_tells_the_space_too(
    node: Node, sampler: tuple[str, ...], mirror: tuple[str, ...], way: str
) -> None:
    node.mounted = "=/dev/shm"
    node.sample(*sampler)
    node.mirror(*mirror, "--always")
    wait_until(lambda: node.way() == way, f"it answers by {way}")
    space = os.statvfs("/dev/shm")
    size = space.f_blocks * space.f_frsize
    wait_until(lambda: record(node.mirrored)[1][7] == size, "the size is mirrored")
    assert 0 <= record(node.mirrored)[1][8] <= size


@pytest.mark.parametrize(("sampler", "mirror", "way"), WAYS[:2])
def test_a_sampler_that_died_is_reported_and_found_again(
    node: Node, sampler: tuple[str, ...], mirror: tuple[str, ...], way: str
) -> None:
    first = node.sample(*sampler)
    node.mirror(*mirror)
    wait_until(lambda: node.way() == way, f"it answers by {way}")
    first.kill()
    first.wait()

    def refuses() -> bool:
        source = node.source(0.1)
        try:
            source.read()
        except DeadlineError as error:
            return "does not reach the other node" in str(error)
        finally:
            source.close()
        return False

    wait_until(refuses, "the monitor hears of it")
    node.sample(*sampler)
    wait_until(lambda: node.way() == way, "it is back")


def test_without_a_provider_the_table_is_pulled_and_that_is_said(node: Node) -> None:
    node.sample("--fabric", "nosuch")
    node.mirror("--one-sided")
    wait_until(lambda: node.way() == PULL, "it is pulled")
    assert "oss1 is asked over TCP: it offers no one-sided reads" in node.said.read_text()


def test_without_libfabric_the_table_is_pulled(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = node.folder / "libfabric.so.1"
    subprocess.run(["gcc", "-shared", "-o", empty, "-x", "c", "/dev/null"], check=True, timeout=60)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(node.folder))
    node.sample("--fabric", "tcp")
    message = "no one-sided reads by tcp: there is no libfabric.so.1"
    wait_until(lambda: message in node.sampler_log.read_text(), "it is said")
    node.mirror("--one-sided")
    wait_until(lambda: node.way() == PULL, "it is pulled")


def test_the_monitor_sees_an_element_of_another_node_and_how_it_is_read(node: Node) -> None:
    node.sample("--fabric", "tcp")
    node.mirror("--one-sided")
    wait_until(node.mirrored.exists, "the table is kept")
    target = Target.model_validate({"name": "oss1", "collector": "sampler", "table": str(node.mirrored)})
    device = str(node.folder / "stat")[:35]
    element = ElementSettings.model_validate({"id": "union/b1", "target": "oss1", "device": device})
    monitor = Monitor(Settings(interval_seconds=0.1, target=(target,), element=(element,)), COLLECTORS)
    monitor.start()
    try:

        def is_seen() -> bool:
            page = exposition(monitor.table).decode()
            seen = 'smed_element_state{element="union/b1",state="ok"} 1.0' in page
            return seen and 'smed_target_one_sided{target="oss1"} 1.0' in page

        wait_until(is_seen, "the element has rates, read one-sidedly")
    finally:
        monitor.stop()


def test_memory_that_stops_changing_is_not_taken_for_new(node: Node) -> None:
    sampler = node.sample("--fabric", "shm")
    node.mirror("--one-sided")
    wait_until(lambda: node.way() == ONE_SIDED, "it is read")
    sampler.send_signal(signal.SIGSTOP)
    wait_until(lambda: node.way() == "", "it is too old")


@pytest.mark.parametrize("provider", ["tcp", "shm"])
def test_no_read_one_sided_is_torn_and_no_write_gets_in(provider: str) -> None:
    done = ran([BUILT / "window-probe", provider, "0.5"])
    reads, torn, whole, _values, written = map(int, done.stdout.split())
    assert reads > 0
    assert whole > 0
    assert (torn, written) == (0, 0)


def test_what_a_killed_process_of_the_same_number_left_is_not_in_the_way() -> None:
    left = 'echo left >"/dev/shm/$$:$(id -u):0"; exec "$0" shm 0.2'
    ran(["sh", "-c", left, BUILT / "window-probe"])


def test_what_killed_processes_left_is_taken_away_and_what_others_use_stays() -> None:
    own = f"/dev/shm/{2**22 + 7}:{os.getuid()}:"  # no process has such a number
    left, used, foreign = (Path(own + each) for each in ("0", "1", "x"))
    try:
        left.touch()
        foreign.touch()
        with used.open("wb"):
            ran([BUILT / "window-probe", "shm", "0.2"])
            assert [path.exists() for path in (left, used, foreign)] == [False, True, True]
    finally:
        for path in (left, used, foreign):
            path.unlink(missing_ok=True)


def test_reads_by_the_kernel_wake_nobody() -> None:
    done = ran([BUILT / "window-probe", "shm", "60", "stopped"])
    reads, torn, _whole, values, _written = map(int, done.stdout.split())
    assert (reads > 0, torn) == (True, 0)
    assert values > 1, "the memory is read as it is now, though the process that shows it is stopped"


def test_only_who_has_the_key_is_answered(node: Node) -> None:
    other = node.folder / "other"
    other.write_text("another key, as long\n")
    other.chmod(0o600)
    node.sample()
    node.mirror(key=other)
    wait_until(lambda: "does not have the same key" in node.said.read_text(), "it is refused")
    assert not node.mirrored.exists()
    with socket.create_connection(("127.0.0.1", node.port)) as plain:
        plain.settimeout(60)
        plain.sendall(struct.pack("=II", 0x4F4C4C48, 1))
        with contextlib.suppress(ConnectionResetError):
            assert b"SMED" not in plain.recv(65536)


def test_one_that_connects_and_is_silent_holds_up_nobody(node: Node) -> None:
    node.sample()
    with socket.create_connection(("127.0.0.1", node.port)):
        node.mirror()
        wait_until(lambda: node.way() == PULL, "another is answered")


def test_who_does_not_show_the_key_keeps_nobody_out(node: Node) -> None:
    """Who has it gets in at once, while more are silent than there are places."""
    node.sample()
    command = ["openssl", "s_client", "-connect", f"127.0.0.1:{node.port}", "-tls1_3"]
    command += ["-psk", node.key.read_bytes().strip().hex(), "-psk_identity", "smed"]
    with contextlib.ExitStack() as idle:
        for _ in range(160):
            silent = socket.create_connection(("127.0.0.1", node.port), 60, ("127.0.0.2", 0))
            idle.enter_context(silent)
        done = subprocess.run(command, input=b"", capture_output=True, timeout=60, check=False)
    assert b"TLS_AES_128_GCM_SHA256" in done.stdout


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [("short", 0o600, "16 to 256 bytes"), ("a key of enough letters", 0o640, "read by others")],
)
def test_a_key_that_is_none_is_refused(node: Node, content: str, mode: int, message: str) -> None:
    node.key.write_text(content)
    node.key.chmod(mode)
    for program in ("smed-mirror", "smed-sampler"):
        arguments = (
            ["--directory", node.folder, "--key-file", node.key, "a=127.0.0.1:1"]
            if program == "smed-mirror"
            else [
                "--table",
                node.local,
                "--listen",
                "127.0.0.1:0",
                "--key-file",
                node.key,
                node.folder / "stat",
            ]
        )
        done = ran([BUILT / program, *arguments], code=None)
        assert (done.returncode, message in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a=h:1"], "--directory DIR is missing"),
        (["--directory", "d", "a=h:1"], "--key-file FILE is missing"),
        (["--directory", "d", "--key-file", "k"], "samplers are needed"),
        (["--directory", "d", "--key-file", "k", "../a=h:1"], "is not NAME=HOST:PORT"),
        (["--directory", "d", "--key-file", "k", "a=h:x"], "is not HOST:PORT"),
        (["--directory", "d", "--key-file", "k", "a=h:1", "b=h:1", "a=i:1"], "a=i:1 has the NAME of another"),
        (["--directory", "d", "--key-file", "k", "--sleep", "a=h:1"], "--sleep needs --core"),
        (["--directory", "d", "--key-file", "k", "--period-ms", "0", "a=h:1"], "--period-ms takes"),
        (["--nonsense"], "--help"),
    ],
)
def test_wrong_usage_of_the_mirror_is_refused(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = ran([BUILT / "smed-mirror", *arguments], code=2, cwd=tmp_path)
    assert message in done.stderr


def test_a_core_of_its_own_is_polled_and_kept_to(node: Node) -> None:
    core = max(os.sched_getaffinity(0))
    node.sample("--fabric", "shm")
    mirror = node.mirror("--one-sided", "--always", "--core", str(core))
    wait_until(lambda: node.way() == ONE_SIDED, "it is read")
    threads = [int(path.name) for path in Path(f"/proc/{mirror.pid}/task").iterdir()]
    assert len(threads) >= 2
    assert {frozenset(os.sched_getaffinity(thread)) for thread in threads} == {frozenset({core})}
    assert slept_times(node, mirror.pid) < 20


def test_a_core_of_its_own_may_be_slept_on(node: Node) -> None:
    node.sample("--fabric", "shm")
    core = str(max(os.sched_getaffinity(0)))
    mirror = node.mirror("--one-sided", "--always", "--core", core, "--sleep")
    wait_until(lambda: node.way() == ONE_SIDED, "it is read")
    assert slept_times(node, mirror.pid) >= 50


def slept_times(node: Node, process: int) -> int:
    """How often the main thread went to sleep while 100 new samples or more were mirrored."""

    def sequence() -> int:
        return int.from_bytes(node.mirrored.read_bytes()[HEAD.size : HEAD.size + 4], "little")

    def sleeps() -> int:
        status = Path(f"/proc/{process}/task/{process}/status").read_text()
        match = re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status, re.MULTILINE)
        assert match
        return int(match[1])

    first, before = sequence(), sleeps()
    wait_until(lambda: sequence() >= first + 200, "more samples")
    return sleeps() - before
