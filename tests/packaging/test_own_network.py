"""`make compose-test` changes nothing of the network and the firewall of the machine it runs on."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ran import ran

ROOT = Path(__file__).resolve().parents[2]
FORWARD = Path("/proc/sys/net/ipv4/ip_forward")
# What a Docker engine does to the network it is started in.
ENGINE = """#!/bin/sh
echo $((1 - $(cat /proc/sys/net/ipv4/ip_forward))) > /proc/sys/net/ipv4/ip_forward
iptables -P FORWARD DROP
iptables -N SES-TEST
ip link add ses-test type dummy
ip route show default > {work}/route
ip -brief link show lo > {work}/lo
cat /etc/resolv.conf > {work}/resolv
exit 3
"""


@pytest.fixture
def machine(_root: None) -> Iterator[tuple[str, ...]]:
    """What runs a command on a machine of its own, as far as the network goes: to that of this one other
    tests add links meanwhile."""
    with subprocess.Popen(
        ["unshare", "--net", "sh", "-c", "ip link set lo up && echo up && exec sleep 600"],
        stdout=subprocess.PIPE, text=True,
    ) as held:  # fmt: skip
        assert held.stdout
        assert held.stdout.readline() == "up\n"
        yield "nsenter", f"--net=/proc/{held.pid}/ns/net"
        held.terminate()


def _state(machine: tuple[str, ...]) -> list[str]:
    """What there is of addresses, rules and forwarding there."""
    commands = (["ip", "link"], ["ip", "rule"], ["iptables", "-S"], ["cat", FORWARD])
    return [ran([*machine, *command]).stdout for command in commands]


def _in_own_network(*command: str, machine: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    code = "import sys; from network_namespace import run_in_own_network as run; sys.exit(run(sys.argv[1:]))"
    return ran([*machine, sys.executable, "-c", code, *command], code=None, cwd=ROOT / "packaging")


def _control_groups() -> set[str]:
    return {path.name for path in Path("/sys/fs/cgroup").iterdir() if path.is_dir()}


@pytest.fixture
def _root() -> None:
    if os.geteuid() != 0:
        pytest.skip("a network namespace with a firewall needs root")


def test_what_an_engine_changes_stays_in_its_own_network(tmp_path: Path, machine: tuple[str, ...]) -> None:
    script = tmp_path / "engine"
    script.write_text(ENGINE.format(work=tmp_path))
    script.chmod(0o755)
    before = _state(machine)
    done = _in_own_network(str(script), machine=machine)
    assert done.returncode == 3, done.stderr
    assert _state(machine) == before
    assert "tap0" in (tmp_path / "route").read_text(), "it has a way outward"
    assert "UP" in (tmp_path / "lo").read_text()
    assert (tmp_path / "resolv").read_text() == "nameserver 10.0.2.3\n"
    assert Path("/etc/resolv.conf").read_text() != "nameserver 10.0.2.3\n"


@pytest.mark.usefixtures("_root")
def test_containers_find_the_control_groups_of_the_machine_there(tmp_path: Path) -> None:
    before = _control_groups()
    if not before:
        pytest.skip("there are no control groups here")
    done = _in_own_network("sh", "-c", f"ls -d /sys/fs/cgroup/*/ > {tmp_path}/groups; ls /sys/class/net")
    assert done.returncode == 0, done.stderr
    groups, after = {Path(part).name for part in (tmp_path / "groups").read_text().split()}, _control_groups()
    assert before & after <= groups <= before | after, "others may come and go"
    assert "tap0" in done.stdout, "and the network's own devices"


@pytest.mark.usefixtures("_root")
def test_the_whole_test_runs_there(tmp_path: Path) -> None:
    """Engine, requests and all: a fake engine says in which network it was started."""
    engine = tmp_path / "dockerd"
    engine.write_text(f"#!/bin/sh\nreadlink /proc/self/ns/net > {tmp_path}/network\nexit 1\n")
    engine.chmod(0o755)
    starter = tmp_path / "compose_test_with_fake.py"
    starter.write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'packaging')!r})\n"
        "import compose_engine, compose_test\n"
        f"compose_engine.DOCKERD = {str(engine)!r}\n"
        "compose_engine.DOCKER = '/bin/false'\n"
        "compose_test.__file__ = __file__\n"
        "sys.exit(compose_test.main())\n"
    )
    done = ran([sys.executable, starter], code=None, cwd=tmp_path)
    assert "the Docker engine did not start" in done.stderr, done.stderr
    assert (tmp_path / "network").read_text().strip() != str(Path("/proc/self/ns/net").readlink())
