"""The role of packaging/ansible makes a cluster of bare machines, and leaves one that is as it should be."""

import json
import re
from pathlib import Path

import pytest
from bare_cluster import NODES, ROOT, Cluster
from patience import wait_until

pytestmark = [pytest.mark.root, pytest.mark.long]

PATIENCE = 300.0
INVENTORY = """\
all:
  children:
    qstorman_services:
      hosts:
        storage1: {{ansible_connection: local}}
    qstorman_nodes:
      hosts:
        n[0001:{nodes:04}]:
    qstorman_login:
      hosts: {{}}
  vars:
    ansible_python_interpreter: /usr/bin/python3
    ansible_become: false  # root connects
    ansible_ssh_private_key_file: /etc/ssh/key
    qstorman_storage: ["{union}"]
    qstorman_host_names: [storage1]
    qstorman_service_packages: []  # this machine's, and what cmake --install put there
    qstorman_node_packages: []
    qstorman_plugin: /usr/local/lib/qstorman/ses-slurm.so
"""
HOLD = (
    'exec 3>"{directory}/$SLURMD_NODENAME"; echo written >&3; until [ -e {directory}/go ]; do sleep 0.2; done'
)


def play(cluster: Cluster) -> dict[str, dict[str, int]]:
    """Run the playbook on the machine of the services; what it says it did on each machine."""
    services = cluster.services
    text = INVENTORY.format(nodes=NODES, union=cluster.union)
    services.output("sh", "-c", 'printf %s "$1" >/tmp/inventory.yml', "sh", text)
    said = services.output(
        "env", "ANSIBLE_HOST_KEY_CHECKING=False", "ANSIBLE_PIPELINING=True", f"ANSIBLE_FORKS={NODES}",
        "ANSIBLE_NOCOLOR=1", f"ANSIBLE_LOG_PATH={cluster.union.parent}/ansible.log",
        "ansible-playbook", "-i", "/tmp/inventory.yml",
        str(ROOT / "packaging/ansible/site.yml"), timeout=600,
    )  # fmt: skip
    print(said)
    recap = re.findall(r"^(\S+) +: (ok=.*)$", said, re.MULTILINE)
    assert len(recap) == NODES + 1, said
    return {
        name: {key: int(number) for key, number in re.findall(r"(\w+)=(\d+)", facts)} for name, facts in recap
    }


def opened(cluster: Cluster) -> dict[str, str]:
    """Return the node of each file below the union that the ledger has open."""
    asked = cluster.services.output("/opt/qstorman/venv/bin/ses", "files", "--state", "open", "--json")
    return {str(file["path"]): str(file["node"]) for file in json.loads(asked)["files"]}


def submit(cluster: Cluster, directory: Path) -> tuple[str, dict[str, str]]:
    """Submit a job of which a rank on each node holds a file; its number, and the node of each file."""
    directory.mkdir()
    options = [f"-N{NODES}", f"-n{NODES}", "--output=/dev/null", "--storage=write>=1MB/s"]
    script = f"--wrap=srun sh -c '{HOLD.format(directory=directory)}'"
    job = cluster.nodes[0].output("sbatch", "--parsable", *options, script).strip()
    return job, {str(directory / node.name): node.name for node in cluster.nodes}


@pytest.fixture(scope="module")
def played(cluster: Cluster) -> dict[str, dict[str, int]]:
    return play(cluster)


def test_every_machine_is_set_up(cluster: Cluster, played: dict[str, dict[str, int]]) -> None:
    assert all(counts["failed"] == counts["unreachable"] == 0 for counts in played.values())
    assert all(counts["changed"] > 0 for counts in played.values())


def test_a_job_on_all_nodes_has_its_files_placed_and_an_upgrade_lets_it_be(
    cluster: Cluster, played: dict[str, dict[str, int]]
) -> None:
    directory = cluster.union / "job"
    job, expected = submit(cluster, directory)

    def state() -> str:
        return cluster.services.output(
            "squeue", "--noheader", f"--jobs={job}", "--states=all", "--format=%T %r"
        )

    wait_until(lambda: opened(cluster) == expected, lambda: f"{opened(cluster)} {state()}", PATIENCE)
    # Upgrades: agents before the service on one half, and after it on the other.
    for machines in (cluster.nodes[: NODES // 2], (cluster.services,), cluster.nodes[NODES // 2 :]):
        for machine in machines:
            machine.output(
                "systemctl", "restart", "ses-service" if machine is cluster.services else "ses-agent"
            )
    wait_until(lambda: opened(cluster) == expected, lambda: f"{opened(cluster)} {state()}", PATIENCE)
    assert state().split()[0] == "RUNNING"
    (directory / "go").touch()
    wait_until(lambda: opened(cluster) == {}, lambda: str(opened(cluster)), PATIENCE)
    wait_until(lambda: state().split()[:1] == ["COMPLETED"], state, PATIENCE)
    comment = cluster.services.output("scontrol", "show", "job", job)
    assert re.search(rf"AdminComment=.*{NODES} files", comment), comment


def test_after_a_network_cut_the_ledger_is_again_what_is_open(
    cluster: Cluster, played: dict[str, dict[str, int]]
) -> None:
    directory = cluster.union / "cut"
    _, expected = submit(cluster, directory)
    wait_until(lambda: opened(cluster) == expected, lambda: str(opened(cluster)), PATIENCE)
    cluster.services.output("ip", "link", "set", "bridge", "down")
    # Lost, after half a minute.
    wait_until(lambda: opened(cluster) == {}, lambda: str(opened(cluster)), PATIENCE)
    cluster.services.output("ip", "link", "set", "bridge", "up")
    wait_until(lambda: opened(cluster) == expected, lambda: str(opened(cluster)), PATIENCE)
    assert "database failed" not in cluster.services.output("cat", "/run/units/ses-service.log")
    (directory / "go").touch()
    wait_until(lambda: opened(cluster) == {}, lambda: str(opened(cluster)), PATIENCE)


def test_a_second_run_changes_nothing(cluster: Cluster, played: dict[str, dict[str, int]]) -> None:
    again = play(cluster)
    assert {name: counts["changed"] for name, counts in again.items()} == dict.fromkeys(again, 0)


def test_the_nodes_of_slurm_are_known_and_heard_of(
    cluster: Cluster, played: dict[str, dict[str, int]]
) -> None:
    listed = json.loads(cluster.services.output("/opt/qstorman/venv/bin/ses", "nodes", "list", "--json"))
    assert [(node_class["nodes"], node_class["heard"]) for node_class in listed["node_classes"]] == [
        (f"n[0001-{NODES:04}]", NODES)
    ]
