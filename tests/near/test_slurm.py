"""The executor for Slurm, on a real controller, node daemon and munge of this test's own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from ports import free_port
from ses.near.execution.conversation import Conversation, NotStartedError, Run
from ses.near.execution.executors import Limits, usual

PATIENCE = 120
CONFIGURATION = """\
ClusterName=near
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
SlurmUser=root
SlurmctldPort={controller}
SlurmdPort={daemon}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/controller.pid
SlurmdPidFile={folder}/daemon.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
NodeName=store1 NodeHostname={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A cluster of one node, store1; returns the path of its configuration."""
    for program in ("slurmctld", "slurmd", "munged"):
        if not Path(f"/usr/sbin/{program}").exists():
            pytest.fail(f"{program} is not installed: packaging/install.sh test")
    folder = tmp_path_factory.mktemp("slurm")
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    configuration = folder / "slurm.conf"
    host = socket.gethostname().partition(".")[0]
    configuration.write_text(
        CONFIGURATION.format(host=host, folder=folder, controller=free_port(), daemon=free_port())
    )
    files = {name: f"--{name}-file={folder}/munge.{name}" for name in ("key", "log", "pid", "seed")}
    commands = [
        ["munged", "--foreground", "--force", f"--socket={folder}/munge.sock", *files.values()],
        ["slurmctld", "-D", "-c", "-f", str(configuration)],
        ["slurmd", "-D", "-N", "store1", "-f", str(configuration)],
    ]
    with ExitStack() as undo, pytest.MonkeyPatch.context() as environment:
        environment.setenv("SLURM_CONF", str(configuration))
        for command in commands:
            log = undo.enter_context((folder / f"{command[0]}.log").open("wb"))
            process = subprocess.Popen([f"/usr/sbin/{command[0]}", *command[1:]], stdout=log, stderr=log)
            undo.callback(process.wait, 60)
            undo.callback(process.terminate)
            if command[0] == "munged":
                until(lambda: (folder / "munge.sock").exists(), folder)
        until(lambda: b"idle" in subprocess.run(["sinfo", "-h"], capture_output=True).stdout, folder)
        yield str(configuration)


def until(condition, folder):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        logs = "".join(path.read_text() for path in folder.glob("*.log"))
        assert time.monotonic() < deadline, logs
        time.sleep(0.1)


def run(script: str, node: str = "store1", **facts: Limits) -> Run:
    return Run(("sh", "-c", script), node, "slurm", **facts)


@pytest.mark.root
def test_a_program_runs_as_a_task_of_slurm_in_this_directory(slurm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reader, writer = os.pipe()
    os.write(writer, b"given\n")
    os.close(writer)
    output: list[bytes] = []
    script = 'cat; echo "$SLURMD_NODENAME $PWD"; exit 9'
    ended = Conversation(run(script)).hold(output.append, print, reader)
    os.close(reader)
    assert b"".join(output).decode() == f"given\nstore1 {tmp_path}\n"
    assert ended.status == 9


@pytest.mark.root
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


@pytest.mark.root
def test_a_signal_reaches_the_task(slurm):
    conversation, ready, ended = (
        Conversation(run("trap 'exit 4' INT; echo ready; while :; do sleep 0.1; done")),
        [],
        [],
    )
    thread = threading.Thread(target=lambda: ended.append(conversation.hold(ready.append, print, None)))
    thread.start()
    deadline = time.monotonic() + PATIENCE
    while not ready:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    conversation.signal(signal.SIGINT)
    thread.join(PATIENCE)
    assert [one.status for one in ended] == [4]


@pytest.mark.root
def test_a_node_that_slurm_does_not_know_is_said(slurm):
    with pytest.raises(NotStartedError, match="node"):
        Conversation(run("true", node="nowhere")).hold(print, print, None)


@pytest.mark.root
def test_slurm_is_the_usual_executor_where_it_is_set_up(slurm, monkeypatch):
    assert usual() == "slurm"
    monkeypatch.setenv("PATH", "/nowhere")
    assert usual() == "ssh"
