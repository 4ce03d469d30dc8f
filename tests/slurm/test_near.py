"""The executor for Slurm of programs that run where their files lie, on a real controller and nodes."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from cluster import Cluster
from patience import wait_until
from ran import ran
from ses.cli import main
from ses.near.execution import connection, job_array
from ses.near.execution.connection import LeftError, NotStartedError
from ses.near.execution.conversation import Conversation, Ended
from ses.near.execution.executors import Limits, usual
from ses.near.execution.run import Run
from ses.near.history import recall
from ses.near.learning import learn
from ses.near.sampling import SAMPLE_BYTES

PATIENCE = 120
QUEUED = 5  # seconds
NODE = "n1"


@pytest.fixture
def slurm(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """The cluster, as programs of this process find it."""
    monkeypatch.setenv("SLURM_CONF", cluster.environment["SLURM_CONF"])
    return cluster


def jobs(state: str = "PENDING,RUNNING,COMPLETING") -> set[str]:
    """The jobs that have not ended, or those in a state."""
    argv = ["squeue", "-h", "--format=%A", f"--states={state}"]
    asked = ran(argv)
    return set(asked.stdout.split())


def run(script: str, node: str = NODE, **facts: Limits) -> Run:
    return Run(("sh", "-c", script), node, "slurm", **facts)


def test_a_program_runs_as_a_task_of_slurm_in_this_directory(slurm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reader, writer = os.pipe()
    os.write(writer, b"given\n")
    os.close(writer)
    output: list[bytes] = []
    script = 'cat; echo "$SLURMD_NODENAME $PWD"; exit 9'
    ended = Conversation(run(script)).hold(output.append, print, reader)
    os.close(reader)
    assert b"".join(output).decode() == f"given\n{NODE} {tmp_path}\n"
    assert ended.status == 9


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SLURM_LABELIO", "1"),
        ("SLURM_STDINMODE", "none"),
        ("SLURM_STDOUTMODE", "/dev/null"),
        ("SLURM_EXPORT_ENV", "NONE"),
        ("SLURM_DEBUG", "2"),
    ],
)
def test_what_srun_does_otherwise_for_somebody_changes_nothing(slurm, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    output: list[bytes] = []
    assert Conversation(run("echo here")).hold(output.append, print, None).status == 0
    assert b"".join(output) == b"here\n"


def test_slurm_keeps_the_limits(slurm):
    output: list[bytes] = []
    limits = Limits(cpus=1.5, memory=150 << 20)
    ended = Conversation(
        run('echo "$SLURM_CPUS_PER_TASK"; scontrol show job $SLURM_JOB_ID', limits=limits)
    ).hold(output.append, print, None)
    assert ended.limits == "limits kept by Slurm"
    said = b"".join(output).decode()
    assert said.startswith("2\n")
    assert "150M" in said


def test_a_signal_reaches_the_task(slurm):
    conversation, ready, ended = (
        Conversation(run("trap 'exit 4' INT; echo ready; while :; do sleep 0.1; done")),
        [],
        [],
    )
    thread = threading.Thread(target=lambda: ended.append(conversation.hold(ready.append, print, None)))
    thread.start()
    wait_until(lambda: ready)
    conversation.signal(signal.SIGINT)
    thread.join(PATIENCE)
    assert [outcome.status for outcome in ended] == [4]


def test_a_signal_ends_the_waiting_for_a_node_that_does_not_answer(slurm, tmp_path):
    script = f"echo $$ $PPID >{tmp_path}/pids; echo ready; exec sleep 600"
    conversation, ready, ended, before = Conversation(run(script)), [], [], jobs()

    def hold() -> None:
        try:
            conversation.hold(ready.append, print, None)
        except LeftError as left:
            ended.append(left)

    thread = threading.Thread(target=hold)
    thread.start()
    wait_until(lambda: bool(ready), slurm.logs)
    program, runner = map(int, (tmp_path / "pids").read_text().split())
    step = int(Path(f"/proc/{runner}/stat").read_text().rpartition(")")[2].split()[1])  # slurmstepd
    stopped = (step, runner, program)
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        conversation.signal(signal.SIGINT)
        thread.join(PATIENCE)
        assert [outcome.number for outcome in ended] == [signal.SIGINT]
        assert f"sh may still run on {NODE} (process {program})" in str(ended[0])
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    wait_until(lambda: not Path(f"/proc/{program}").exists(), slurm.logs)
    wait_until(lambda: jobs() <= before, slurm.logs)


def test_time_in_the_queue_is_no_part_of_what_a_start_takes(slurm, tmp_path, monkeypatch):
    """Another job has the whole node for some seconds; a later decision shall not expect that again."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    first = slurm.output("sbatch", "--parsable", "--exclusive", f"--nodelist={NODE}", "--output=/dev/null",
                         "--wrap=sleep 600").strip()  # fmt: skip
    wait_until(lambda: first in jobs("RUNNING"), slurm.logs)
    began, ended = time.monotonic(), list[Ended]()
    wanted = run("true")
    thread = threading.Thread(target=lambda: ended.append(Conversation(wanted).hold(print, print, None)))
    thread.start()
    wait_until(lambda: jobs("PENDING") != set(), slurm.logs)
    waiting = time.monotonic()
    time.sleep(QUEUED)
    held = time.monotonic() - waiting
    slurm.output("scancel", first)
    thread.join(PATIENCE)
    took = time.monotonic() - began
    assert [outcome.status for outcome in ended] == [0]
    queued, start = ended[0].queued_seconds, ended[0].start_seconds
    assert queued is not None
    assert start is not None
    assert held - 1 <= queued <= took + 1, "Slurm tells whole seconds"
    assert start <= took - held + 1
    learn(wanted.argv, NODE, [(SAMPLE_BYTES, ended[0])])
    known = recall(wanted.argv, NODE)
    assert known is not None
    assert known.start_seconds == start


def test_a_start_is_not_learned_where_slurm_does_not_tell_the_queue(slurm, tmp_path, monkeypatch):
    monkeypatch.setattr(connection, "EXACT_SECONDS", 0.0)
    squeue = tmp_path / "squeue"
    squeue.write_text("#!/bin/sh\nexit 1\n")
    squeue.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    ended = Conversation(run("true")).hold(print, print, None)
    assert (ended.start_seconds, ended.queued_seconds) == (None, None)


def test_a_job_that_did_not_wait_has_no_time_in_the_queue(slurm):
    for _ in range(20):  # on a busy machine one or another may wait for Slurm
        ended = Conversation(run("true")).hold(print, print, None)
        if not ended.queued_seconds:
            break
    assert ended.queued_seconds == 0.0
    assert ended.start_seconds is not None
    assert ended.start_seconds > 0


def test_a_node_that_slurm_does_not_know_is_said(slurm):
    with pytest.raises(NotStartedError, match="node"):
        Conversation(run("true", node="nowhere")).hold(print, print, None)


def test_slurm_is_the_usual_executor_where_it_is_set_up(slurm, monkeypatch):
    assert usual() == "slurm"
    monkeypatch.setenv("PATH", "/nowhere")
    assert usual() == "ssh"


def map_near(folder: Path, *argv: str, held: str = NODE) -> tuple[int, str, str]:
    """Run a program on the files there as a job array; its exit status, output and report."""
    shared = folder / "shared"
    shared.mkdir(exist_ok=True)
    options = ["--held", f"{folder}/*.txt={held}", "--disk-rate", "1GB/s", "--no-sample", "--force"]
    options += ["--executor", "slurm", "--array", str(shared), "--per-endpoint", "2"]
    command = [Path(sys.executable).with_name("ses"), "map-near", *options, f"{folder}/*.txt", "--", *argv]
    done = ran(command, code=None, cwd=folder)
    assert list(shared.iterdir()) == [], "what was asked and answered is removed"
    return done.returncode, done.stdout, done.stderr


def texts(folder: Path, count: int) -> str:
    """Make so many files; what they hold, one after the other."""
    for number in range(count):
        (folder / f"{number}.txt").write_text(f"text {number}\n" * (number + 1))
    return "".join((folder / f"{number}.txt").read_text() for number in range(count))


def test_tasks_of_a_node_are_a_job_array_and_their_output_is_in_order(slurm, tmp_path):
    expected = texts(tmp_path, 5)
    script = 'echo "$SLURM_ARRAY_TASK_ID" >>elements; sleep 0.$((5 - ${1%%.*} % 5)); cat "$1"; exit ${1%%.*}'
    status, output, report = map_near(
        tmp_path, "sh", "-c", f'cd {tmp_path}; set -- "${{1##*/}}"; {script}', "sh", "{}"
    )
    assert output == expected
    assert status == 4, "the highest of all"
    assert sorted((tmp_path / "elements").read_text().split()) == ["0", "1", "2", "3", "4"]
    assert "5 tasks" in report
    assert "not where planned" not in report


def test_array_of_who_has_sbatch_wait_for_its_jobs_is_submitted_all_the_same(slurm, tmp_path, monkeypatch):
    monkeypatch.setenv("SBATCH_WAIT", "1")
    runs = {0: run(f"until [ -e {tmp_path}/submitted ]; do sleep 0.1; done")}
    array = job_array.JobArray(runs, 1, tmp_path, ())
    array.submit()
    (tmp_path / "submitted").touch()
    assert [(number, answer is not None) for number, answer in array.answers()] == [(0, True)]


def test_element_that_is_lost_is_run_here_once(slurm, tmp_path):
    expected = texts(tmp_path, 3)
    script = 'case $SLURM_ARRAY_TASK_ID in 1) kill -9 $PPID;; esac; cat "$1"'
    status, output, report = map_near(tmp_path, "sh", "-c", script, "sh", "{}")
    assert (status, output) == (0, expected)
    assert "1 not where planned" in report


def test_array_for_a_node_that_slurm_does_not_know_is_run_here(slurm, tmp_path):
    expected = texts(tmp_path, 2)
    status, output, report = map_near(tmp_path, "cat", "{}", held="nowhere")
    assert (status, output) == (0, expected)
    assert "2 not where planned" in report


def test_job_array_is_cancelled_when_the_caller_stops(slurm, tmp_path, monkeypatch):
    before = jobs()
    (tmp_path / "shared").mkdir()
    runs = {number: run("echo x >>begun; sleep 600") for number in range(3)}
    array = job_array.JobArray(runs, 2, tmp_path / "shared", ())
    monkeypatch.chdir(tmp_path)
    array.submit()
    wait_until((tmp_path / "begun").exists, slurm.logs)
    with monkeypatch.context() as somebody:
        somebody.setenv("SQUEUE_USERS", "daemon")
        somebody.setenv("SCANCEL_USER", "daemon")
        assert array._known() == {0, 1, 2}
        array.end()
    assert list(array.answers()) == []
    wait_until(lambda: jobs() <= before, slurm.logs)


def test_longer_arrays_are_divided(slurm, tmp_path, monkeypatch):
    monkeypatch.setattr(job_array, "MAX_RUNS", 2)
    runs = {number: run(f"echo {number}") for number in (3, 5, 7)}
    array = job_array.JobArray(runs, 2, tmp_path, ())
    array.submit()
    assert array._known() is not None
    assert sorted(number for number, answer in array.answers() if answer is not None) == [3, 5, 7]


def test_job_array_needs_slurm(tmp_path):
    texts(tmp_path, 1)
    words = [
        "map-near",
        "--executor",
        "ssh",
        "--array",
        str(tmp_path),
        f"{tmp_path}/*.txt",
        "--",
        "cat",
        "{}",
    ]
    said = CliRunner().invoke(main, words)
    assert (said.exit_code, "--executor slurm" in said.output) == (2, True)
