"""ses_find_nodes: nodes for a policy from C, C++ and Python, by a real service that has the example site."""

import errno
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ports import free_port
from ran import ran
from ses.demo.interrupts import Interrupts
from ses.demo.processes import Processes, answers

ROOT = Path(__file__).parents[3]
BIN = Path(sys.executable).parent
SITE = ROOT / "ontology/examples/lustre-site.ttl"
CALL = """
#include <cstdio>
#include <ses/ses.hpp>
int main() {
  ses::StoragePolicy policy;
  (void)policy.setCurrentWriteTransferRate(300.5);
  (void)policy.setHard(SES_CURRENT_WRITE_RATE);
  int error = -1;
  const auto nodes = LustreManager().findNodes(&policy, 3, "n[0002-0007]", 3, &error);
  for (const ses_node &node : nodes)
    std::printf("%s %s %d\\n", node.name, node.element, node.write_mb_s >= 300.5);
  std::printf("%d\\n", error);
}
"""
Script = Callable[..., str]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a service that trusts this machine."""
    work = tmp_path_factory.mktemp("service")
    at = f"127.0.0.1:{free_port()}"
    with Interrupts() as interrupts:
        processes = Processes(work / "logs", interrupts)
        command = [str(BIN / "ses-service"), "serve", "--listen", at, "--state-dir", str(work / "state")]
        try:
            processes.start(
                "service", [*command, "--site", str(SITE), "--trust-loopback"], answers(f"http://{at}/readyz")
            )
            processes.wait_ready()
            yield f"http://{at}"
        finally:
            processes.stop_all()


@pytest.fixture
def script(build: Path, service: str) -> Script:
    """Run a Python program that uses the built library; what it printed."""

    def run(text: str, **environment: str) -> str:
        program = (
            "import errno\nfrom ses.api import *\nfind = LustreManager().find_nodes\n" + textwrap.dedent(text)
        )
        done = ran(
            [sys.executable, "-c", program], code=None,
            env={"PATH": f"{BIN}:{os.environ['PATH']}", "SES_LIBRARY": str(build / "libses.so.0"),
             "SES_SERVICE_URL": service, "HOME": "/nonexistent", **environment},
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run


def test_nodes_are_found_from_cpp(build: Path, service: str, tmp_path: Path) -> None:
    source, program = tmp_path / "find.cpp", tmp_path / "find"
    source.write_text(CALL)
    include = str(ROOT / "libses/include")
    command = ["g++", "-std=c++17", "-I", include, str(source), "-o", str(program), f"-L{build}", "-lses"]
    subprocess.run([*command, f"-Wl,-rpath,{build}"], check=True, timeout=300)
    done = ran([program], env={"PATH": f"{BIN}:{os.environ['PATH']}", "SES_SERVICE_URL": service})
    *nodes, error = done.stdout.splitlines()
    assert (error, done.stderr) == ("0", "")
    assert len({node.split()[0] for node in nodes}) == 3
    assert all(node.startswith("n000") and " lfs01/" in node and node.endswith(" 1") for node in nodes)


def test_nodes_of_a_policy_are_what_the_command_ranks(script: Script, service: str) -> None:
    command = [
        str(BIN / "ses"),
        "nodes",
        "rank",
        "write>=300MB/s,weight=2",
        "free>=2TB!",
        "--nodes",
        "n[0002-0007]",
    ]
    ranked = ran([*command, "--lines", "--url", service])
    said = script("""
        policy = StoragePolicy(current_write_rate=300, capacity=2000)
        policy.set_weight(Kind.CURRENT_WRITE_RATE, 2)
        policy.set_hard(Kind.FREE_CAPACITY)
        for node in find(policy, among="n[0002-0007]"):
            print(node.name, f"{node.distance:.6f} {node.read_rate:.3f} {node.write_rate:.3f}", node.element)
    """)
    assert len(said.splitlines()) == 6
    assert said == ranked.stdout


def test_no_node_left_is_no_error(script: Script) -> None:
    assert script("""
        policy = StoragePolicy(capacity=1e8)
        policy.set_hard(Kind.FREE_CAPACITY)
        print(find(policy))
    """) == "[]\n"  # fmt: skip


@pytest.mark.parametrize(
    ("call", "environment", "expected"),
    [
        ("find(among='][')", {}, errno.EINVAL),
        ("find(limit=0, count=0)", {}, errno.EINVAL),
        ("find()", {"PATH": "/nonexistent"}, errno.ENOENT),
        ("find()", {"SES_SERVICE_URL": "unix:/nonexistent"}, errno.EHOSTUNREACH),
    ],
    ids=["no list of nodes", "no room", "no command", "no service"],
)
def test_what_fails_is_reported_by_errno(
    script: Script, call: str, environment: dict[str, str], expected: int
) -> None:
    said = script(f"""
        try:
            {call}
        except OSError as error:
            print(error.errno)
    """, **environment)  # fmt: skip
    assert said == f"{expected}\n"


def test_signals_of_the_program_lose_no_node(script: Script, tmp_path: Path) -> None:
    """A handler without SA_RESTART, as all of Python are, interrupts what waits for the command."""
    command = tmp_path / "ses"
    lines = " ".join(f"'n{number} 0.5 1.5 - lfs01/ost{number}'" for number in range(5))
    command.write_text(f'#!/bin/sh\nfor line in {lines}; do printf %s "$line"; sleep 0.1; echo; done\n')
    command.chmod(0o755)
    said = script(
        """
        import signal
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        nodes = find(count=9, limit=9)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for node in nodes:
            print(node.name, node.read_rate, node.write_rate, node.element)
    """,
        PATH=f"{tmp_path}:{os.environ['PATH']}",
    )
    assert said == "".join(f"n{number} 1.5 None lfs01/ost{number}\n" for number in range(5))


def test_the_longest_requirement_reaches_the_command_whole(script: Script, tmp_path: Path) -> None:
    command, seen = tmp_path / "ses", tmp_path / "seen"
    command.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" > {seen}\n")
    command.chmod(0o755)
    script("""
        policy = StoragePolicy(current_write_rate=1.23456789e11)
        policy.set_weight(Kind.CURRENT_WRITE_RATE, 1.23456789e-5)
        policy.set_hard(Kind.CURRENT_WRITE_RATE)
        find(policy)
    """, PATH=f"{tmp_path}:{os.environ['PATH']}")  # fmt: skip
    last = seen.read_text().splitlines()[-1]
    assert last == "current-write-rate>=1.23456789e+11MB/s,hard,weight=1.23456789e-05"
