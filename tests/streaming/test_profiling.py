"""What a program moved is told as the kernel counts it, file by file, phase by phase."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ran import ran
from ses.profiling.attribution import Attribution
from ses.profiling.counters import Counters
from ses.profiling.phases import Totals, phases
from ses.profiling.proc import Look, Moved, ProcessLook, look_at, parse_call, parse_io, parse_stat, running_on
from ses.profiling.result import FileUse
from ses.profiling.run import profile
from ses_client.errors import NoProgramError

MB = 10**6


def test_a_look_finds_pipes() -> None:
    with talking("import sys; print('ready', flush=True); sys.stdin.readline()") as (_, look):
        (process,) = look.processes.values()
        assert [process.pipes[fd].writes for fd in (0, 1)] == [False, True]


def test_phases_are_told_apart_by_what_moves() -> None:
    def line(at: float, read: float, written: float, cpu: float) -> Totals:
        return Totals(10 + at, int(read * MB), int(written * MB), cpu)

    parts = phases(
        [
            line(0, 0, 0, 0),
            *(line(0.125 * n, 62.5 * n, 0, 0.02 * n) for n in range(1, 9)),
            line(1.5, 500, 0, 0.7),
            line(2, 500, 0, 1.2),
            line(2.5, 500, 0, 1.2),
            line(3, 500, 40, 1.3),
            line(3.5, 540, 80, 1.4),
        ]
    )
    assert [part.kind for part in parts] == ["reads", "computes", "waits", "writes", "reads and writes"]
    assert [part.begin for part in parts] == pytest.approx([0, 1, 2, 2.5, 3])
    assert parts[0].read_bytes == 500 * MB
    assert sum(part.seconds for part in parts) == pytest.approx(3.5)
    assert sum(part.cpu_seconds for part in parts) == pytest.approx(1.4)


def test_kernel_texts_are_read_as_they_are() -> None:
    text = (
        "rchar: 7\nwchar: 5\nsyscr: 3\nsyscw: 2\nread_bytes: 4096\nwrite_bytes: 0\ncancelled_write_bytes: 0\n"
    )
    assert parse_io(text) == Moved(7, 5, 3, 2, 4096, 0)
    with pytest.raises(ValueError, match="wchar"):
        parse_io("rchar: 7\n")
    numbers = " ".join(["S", "1", *["0"] * 9, "200", "50", "30", "20", "20"])
    assert parse_stat(f"77 (a) b) {numbers}") == 300 / os.sysconf("SC_CLK_TCK")
    if os.uname().machine == "x86_64":
        assert parse_call("17 0x5 0x7f00 0x10000 0x123000 0x0 0x0 0x7ffc 0x7f11") == (5, 0x123000)
    assert parse_call("running") is None
    assert parse_call("0 0x5 0x7f00 0x10000 0x0 0x0 0x0 0x7ffc 0x7f11") is None


@contextmanager
def talking(program: str, *arguments: object) -> Iterator[tuple[subprocess.Popen[bytes], Look]]:
    """A Python program, and a look at it when it has written its first line."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        try:
            yield running, look_at(running.pid)
        finally:
            running.communicate()


def test_a_look_finds_the_files_of_a_program_and_of_its_children(tmp_path: Path) -> None:
    program = (
        "import os, sys; out = open(sys.argv[1], 'wb'); out.write(bytes(3_000_000)); out.flush()\n"
        "down, up = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    mine = open(sys.argv[2], 'rb', buffering=0); mine.read(1_000_000); os.write(up, b'x')\n"
        "    os.read(0, 1); os._exit(0)\n"
        "os.read(down, 1); print('ready', flush=True); os.wait()\n"
    )
    source = tmp_path / "in"
    source.write_bytes(bytes(2_000_000))
    with talking(program, tmp_path / "out", source) as (_, look):
        attribution = Attribution()
        attribution.add(look)
        uses = {file.path: file for file in attribution.files()}
        assert uses[str(tmp_path / "out")].written_bytes == pytest.approx(3_000_000, abs=10)  # b"x", too
        assert uses[str(source)] == FileUse(str(source), 1_000_000, 0, "sequential")
        assert len(look.processes) == 2


def test_what_goes_on_after_the_program_is_counted_until_then(tmp_path: Path) -> None:
    program = (
        "import os, sys\n"
        "if os.fork() == 0:\n"
        "    out = open(sys.argv[1], 'wb', buffering=0); out.write(bytes(3_000_000))\n"
        "    print('ready', flush=True); sys.stdin.read(); os._exit(0)\n"
        "os.wait()\n"
    )
    with talking(program, tmp_path / "out") as (running, look):
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        (left,) = running_on(look, running.pid)
        assert left.moved.written_bytes == pytest.approx(3_000_000, abs=10)


def test_what_goes_on_after_the_program_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    left = [ProcessLook(Moved(5 * MB, 7 * MB, 3, 4), 100.0, {})]
    monkeypatch.setattr("ses.profiling.run.running_on", lambda *_: left)
    profiled, _ = profile(["true"])
    assert (profiled.read_bytes // MB, profiled.written_bytes, profiled.cpu_seconds // 1) == (5, 7 * MB, 100)
    assert profiled.notes[0] == (
        "1 process that it started went on after its end; what was moved then is not counted"
    )


def test_files_in_memory_are_files() -> None:
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
        program = (
            "import sys; out = open(sys.argv[1], 'wb'); print('ready', flush=True); sys.stdin.readline()"
        )
        with talking(program, file.name) as (_, look):
            (process,) = look.processes.values()
            assert file.name in {opened.path for opened in process.files.values()}


def test_a_look_finds_the_devices_that_give_and_take_any_number_of_bytes() -> None:
    program = (
        "import sys; files = [open('/dev/null', 'rb'), open('/dev/zero', 'wb'), open('/dev/null', 'wb'),\n"
        "open('/dev/zero', 'rb')]; print('ready', flush=True); sys.stdin.readline()"
    )
    with talking(program) as (_, look):
        (process,) = look.processes.values()
        assert [device.path for device in process.endless.values()] == ["/dev/null", "/dev/zero"]
        assert [device.writes for device in process.endless.values()] == [True, False]


def test_bytes_of_endless_devices_are_seen() -> None:
    program = (
        "import sys; source, sink = open('/dev/zero', 'rb', 0), open('/dev/null', 'wb', 0)\n"
        "print('ready', flush=True); sys.stdin.readline(); sink.write(source.read(10_000_000))\n"
        "print('done', flush=True); sys.stdin.readline()"
    )
    attribution = Attribution()
    with talking(program) as (running, look):
        attribution.add(look)
        before = attribution.endless  # what starting Python read
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(b"\n")
        running.stdin.flush()
        running.stdout.readline()
        attribution.add(look_at(running.pid))
    more = [after - less for after, less in zip(attribution.endless, before, strict=True)]
    assert more == pytest.approx([10_000_000, 10_000_000], abs=100)


def test_what_is_no_storage_counts_in_no_sum_and_no_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ses.profiling.run.moved_by", lambda _: Moved(10 * MB, 8 * MB))
    monkeypatch.setattr(Attribution, "endless", (9 * MB, 8 * MB))
    monkeypatch.setattr(Attribution, "no_storage", (9 * MB, 8 * MB))
    monkeypatch.setattr(Attribution, "piped", 2 * MB)
    profiled, _ = profile(["true"])
    assert (profiled.read_bytes, profiled.written_bytes) == (1 * MB, 0)
    assert sum(phase.read_bytes for phase in profiled.phases) == 1 * MB
    assert profiled.notes[:3] == (
        "9 MB read from /dev/zero or random numbers are not counted: it is no storage",
        "8 MB written to /dev/null are not counted: it is no storage",
        "2 MB written to pipes and read from them by its own processes are not counted: it is no storage",
    )


def test_a_signal_that_comes_when_the_program_has_ended_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    came = []
    before = signal.signal(signal.SIGTERM, lambda number, _: came.append(number))

    def moved(pid: int) -> Moved:
        os.kill(os.getpid(), signal.SIGTERM)
        return Moved()

    monkeypatch.setattr("ses.profiling.run.moved_by", moved)
    try:
        assert profile(["true"])[1] == 0
    finally:
        signal.signal(signal.SIGTERM, before)
    assert came == [signal.SIGTERM]


def test_a_signal_is_the_programs_while_it_runs() -> None:
    script = "trap 'exit 9' TERM; kill -TERM $PPID; while :; do sleep 0.01; done"
    assert profile(["sh", "-c", script])[1] == 9


def test_a_signal_that_comes_while_the_program_begins_is_the_programs_whichever_thread_gets_it() -> None:
    script = """
import os, signal, threading, time
from ses.profiling.run import profile
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
begin = os.posix_spawnp
def begun(*command, **more):
    pid = begin(*command, **more)
    os.kill(os.getpid(), signal.SIGTERM)
    return pid
os.posix_spawnp = begun
print(profile(["sleep", "60"])[1])
"""
    done = ran([sys.executable, "-c", script], code=None)
    assert (done.returncode, done.stdout) == (0, f"{128 + signal.SIGTERM}\n")


def test_a_program_under_nohup_goes_on_when_its_terminal_is_gone() -> None:
    script = 'trap \'\' HUP; exec "$0" -c "$1"'
    program = """
import os, signal
from ses.profiling.run import profile
print(profile(["sh", "-c", "kill -HUP $PPID; kill -HUP $$; exit 7"])[1])
"""
    command = ["sh", "-c", script, sys.executable, program]
    done = ran(command, code=None)
    assert (done.returncode, done.stdout) == (0, "7\n")


def test_sums_are_exact_and_the_status_is_the_programs(tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(bytes(20_000_000))
    script = f"cat {tmp_path}/source > {tmp_path}/a; cat {tmp_path}/a > {tmp_path}/b; exit 7"
    profiled, status = profile(["sh", "-c", script])
    assert status == 7
    assert 40_000_000 <= profiled.written_bytes < 40_100_000
    assert 40_000_000 <= profiled.read_bytes < 41_000_000
    assert profiled.cpu_seconds > 0
    assert sum(phase.seconds for phase in profiled.phases) == pytest.approx(profiled.seconds, abs=0.01)


def test_page_faults_are_those_of_the_program_and_its_children(tmp_path: Path) -> None:
    program = (
        "import os, resource, sys\n"
        "if os.fork() == 0:\n"
        "    mine = bytearray(2**24); mine[::4096] = b'x' * 4096\n"
        "    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "    open(sys.argv[1], 'w').write(str(faults)); sys.exit(0)\n"
        "os.wait()\n"
    )
    profiled, status = profile([sys.executable, "-c", program, str(tmp_path / "faults")])
    assert status == 0
    assert profiled.counters["page faults"] > int((tmp_path / "faults").read_text()) > 0


def test_a_program_that_is_killed_has_the_status_a_shell_gives_it() -> None:
    assert profile(["sh", "-c", "kill -9 $$"])[1] == 128 + signal.SIGKILL


def test_a_pipe_that_is_closed_ends_a_program_as_ever() -> None:
    profiled, status = profile(["bash", "-o", "pipefail", "-c", "yes | head -1 > /dev/null"])
    assert status == 128 + signal.SIGPIPE
    assert profiled.processes >= 1


def test_a_program_that_is_not_there_is_reported() -> None:
    with pytest.raises(NoProgramError, match="There is no program"):
        profile(["/nonexistent/program"])


def test_what_the_kernel_does_not_count_is_named() -> None:
    counters = Counters(calls=True)
    counted, refused = counters.read(), counters.refused
    counters.close()
    assert {"instructions", "cache misses", "opens", "syncs"} <= counted.keys() | refused.keys()
    assert all(refused.values())


@pytest.mark.root
def test_calls_of_a_program_and_its_children_are_counted(tmp_path: Path) -> None:
    program = (
        "import os\n"
        "if os.fork() == 0:\n"
        "    file = os.open('synced', os.O_CREAT | os.O_WRONLY)\n"
        "    [os.fsync(file) for _ in range(40)]; os._exit(0)\n"
        "os.wait(); [os.close(os.open('synced', os.O_RDONLY)) for _ in range(300)]\n"
    )
    watch = (
        "import sys; from ses.profiling.run import profile\n"
        "profiled, _ = profile([sys.executable, '-S', '-c', sys.argv[1]], calls=True)\n"
        "print(profiled.counters.get('opens', -1), profiled.counters.get('syncs', -1))\n"
    )
    mounted = 'mount -t tracefs none /sys/kernel/tracing && exec "$@"'
    command = ["unshare", "--mount", "sh", "-c", mounted, "sh", sys.executable, "-c", watch, program]
    done = ran(command, code=None, cwd=tmp_path)
    if done.returncode or "-1" in done.stdout:
        pytest.skip(f"tracefs cannot be had here: {done.stderr[-300:]}")
    opens, syncs = map(int, done.stdout.split())
    assert 301 <= opens < 1000  # those of starting Python are among them
    assert syncs == 40
