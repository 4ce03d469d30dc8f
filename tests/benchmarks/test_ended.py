"""A benchmark that is told to end leaves nothing of what it made behind."""

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from patience import wait_until
from ran import ran

ROOT = Path(__file__).parents[2]


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting, namespaces and limits need root")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_forecast_of_streaming_takes_mount_namespace_and_group_away(number: signal.Signals) -> None:
    if not Path("/sys/fs/cgroup/cpu").is_dir():
        pytest.skip("the benchmark limits processors by cgroup v1")
    command = ["unshare", "--net", sys.executable]  # browsers break off requests when the machine's changes
    command += [ROOT / "benchmarks/streaming_forecast.py", "--most", "1", "--runs", "1"]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    name = f"ses{running.pid}"
    group = Path("/sys/fs/cgroup/cpu") / name
    try:
        mounts = _until_it_runs(running, group)
    finally:
        running.send_signal(number)
        status = running.wait(60)
    assert status not in (0, -number)
    assert mounts, "it had mounted something"
    assert not mounts & _loops()
    assert name not in ran(["ip", "netns"]).stdout
    assert not group.exists()
    assert not any(Path(where).parent.exists() for where in mounts)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_a_program_started_is_gone_when_the_benchmark_has_ended(
    number: signal.Signals, tmp_path: Path
) -> None:
    """As rsync's own processes, which would hold the file system that is to be unmounted."""
    lock, locked = tmp_path / "lock", tmp_path / "locked"
    started = f"flock {lock} sh -c 'touch {locked}; sleep 1000; true' & wait"
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from ses_benchmarks.processes import run_to_the_end, unwind_when_ended\n"
        "unwind_when_ended(); run_to_the_end(['sh', '-c', sys.argv[2]], {'PATH': '/usr/bin:/bin'})\n"
    )
    running = subprocess.Popen([sys.executable, "-c", program, ROOT / "benchmarks", started])
    wait_until(locked.exists, "it never ran its program")
    running.send_signal(number)
    assert running.wait(60) == 128 + number
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _until_it_runs(running: subprocess.Popen[bytes], group: Path) -> set[str]:
    """Wait for the first program in the group; return where it has mounted a loop device."""

    def runs() -> bool:
        assert running.poll() is None, "it ended by itself"
        return group.exists() and bool((group / "tasks").read_text())

    wait_until(runs, "it runs its program")
    return {where for where in _loops() if group.name in where}


def _loops() -> set[str]:
    """Where loop devices are mounted."""
    rows = (row.split(" ") for row in Path("/proc/self/mounts").read_text().splitlines())
    return {where for device, where, *_ in rows if device.startswith("/dev/loop")}
