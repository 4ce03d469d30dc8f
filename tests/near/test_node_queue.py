"""A node's queue: tasks of several ``ses map-near`` take turns for it, in the order in which they come."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from mounts import let_others_in
from patience import wait_until
from ses.near.execution import node_queue
from ses.near.execution.node_queue import NodeQueue, shares

SES = Path(sys.executable).parent / "ses"
CORES = os.cpu_count()
HOLD = """
import sys, time
sys.path.insert(0, {folder!r})
from node_queue import NodeQueue, shares
queue = NodeQueue({{"SES_NEAR_QUEUE": {file!r}}})
queue.enter(*shares(1, {cpus}, {memory}))
print("in", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def queue(tmp_path):
    file = tmp_path / "queue"
    file.touch()
    file.chmod(0o666)
    return file


def holding(file, *before, cpus=CORES, memory=None):
    """A process that takes shares of the node, and keeps them until its input ends."""
    folder = str(Path(node_queue.__file__).parent)
    script = HOLD.format(folder=folder, file=str(file), cpus=cpus, memory=memory)
    return subprocess.Popen(
        [*before, sys.executable, "-S", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def started(tmp_path, queue, log, name):
    """A run of four tasks, each of which takes a processor, and says when it begins and ends."""
    for number in range(4):
        (tmp_path / f"{name}{number}").write_text("x\n")
    program = ("sh", "-c", f"echo {name}+ >>{log}; sleep 0.3; echo {name}- >>{log}", "{}")
    rates = ("--disk-rate", "500MB/s", "--link-rate", "1kB/s", "--no-sample")
    argv = [SES, "map-near", "--held", "*=n", *rates, "--executor", "command", "--rsh", "env"]
    argv += ["--per-endpoint", str(CORES), str(tmp_path / f"{name}*"), "--", *program]
    environment = {**os.environ, "SES_SERVICE_URL": "http://127.0.0.1:1", "TMPDIR": str(tmp_path)}
    return subprocess.Popen(argv, env={**environment, "SES_NEAR_QUEUE": str(queue)}, stderr=subprocess.PIPE)


def test_two_runs_together_take_no_more_than_the_node_has_and_say_how_long_they_waited(tmp_path, queue):
    log = tmp_path / "log"
    runs = [started(tmp_path, queue, log, name) for name in ("a", "b")]
    said = [run.communicate(timeout=120)[1].decode() for run in runs]
    assert [run.returncode for run in runs] == [0, 0], said
    at_once = most = 0
    for event in log.read_text().split():
        at_once += 1 if event.endswith("+") else -1
        most = max(most, at_once)
    assert at_once == 0
    assert most <= CORES
    assert any("s waited for others" in message for message in said)


def test_what_a_killed_process_had_is_free_again(tmp_path, queue):
    holder = holding(queue)
    assert holder.stdout.readline() == b"in\n"
    run = started(tmp_path, queue, tmp_path / "log", "a")
    with pytest.raises(subprocess.TimeoutExpired):
        run.wait(1.5)
    assert not (tmp_path / "log").exists()
    holder.kill()
    assert run.wait(60) == 0
    run.stderr.close()


def test_a_run_that_waits_ends_with_a_signal_and_its_place_in_the_queue_too(tmp_path, queue):
    with holding(queue) as holder:
        holder.stdout.readline()
        run = started(tmp_path, queue, tmp_path / "log", "a")
        wait_until(lambda: waited_for(queue))
        run.send_signal(signal.SIGTERM)
        assert run.wait(60) == 128 + signal.SIGTERM
        run.stderr.close()
        behind = holding(queue)
        holder.stdin.close()
    assert behind.stdout.readline() == b"in\n", "nobody is before it any more"
    behind.communicate()


def waited_for(queue):
    inode = f":{queue.stat().st_ino} "
    return any("->" in lock and inode in lock for lock in Path("/proc/locks").read_text().splitlines())


@pytest.mark.root
def test_users_wait_for_each_other(tmp_path_factory, queue):
    let_others_in(queue.parent)
    stranger = holding(queue, "setpriv", "--reuid=65534", "--clear-groups")
    assert stranger.stdout.readline() == b"in\n"
    own = holding(queue, cpus=1)
    assert own.poll() is None
    stranger.communicate()
    assert own.stdout.readline() == b"in\n"
    own.communicate()


def test_memory_is_waited_for_as_well(queue):
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with holding(queue, cpus=0.1, memory=whole) as first:
        first.stdout.readline()
        with holding(queue, cpus=0.1, memory=whole // 2) as second, holding(queue, cpus=0.1) as third:
            assert second.poll() is None
            first.communicate()
            assert {second.stdout.readline(), third.stdout.readline()} == {b"in\n"}


def test_more_at_once_than_a_processor_has_shares_take_none():
    assert shares(CORES, None, None) == (8, 0)
    assert shares(8 * CORES, None, None) == (1, 0)
    assert shares(1024 * CORES, None, None) == (0, 0)
    assert shares(1, 0.5, 1)[1] == 1


def test_without_the_file_nobody_waits(tmp_path):
    queue = NodeQueue({"SES_NEAR_QUEUE": str(tmp_path / "none")})
    assert queue.enter(8 * CORES, 0) == 0.0
    queue.leave()
