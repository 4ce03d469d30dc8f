"""The nodes that Slurm has become classes of the knowledge base, and stay what people made of them."""

import json

from cluster import Cluster
from ses.slurm.nodes import features_of, leaves_of

CLASSES = [
    ("gpu-thin-leaf1", "n3", 1, "leaf1"),
    ("thin-leaf1", "n[1-2]", 2, "leaf1"),
    ("thin-leaf2", "n4", 1, "leaf2"),
]


def test_nodes_with_the_same_features_behind_the_same_switch_are_a_class(cluster: Cluster) -> None:
    answer = json.loads(cluster.output("ses", "discover", "--slurm", "--json"))
    rows = [(row["node_class"], row["nodes"], row["count"], row["uplink"]) for row in answer["node_classes"]]
    assert (answer["cluster"], rows) == ("tests", CLASSES)


def test_what_is_discovered_can_be_imported_and_again(cluster: Cluster) -> None:
    file = str(cluster.work / "nodes.ttl")
    cluster.output("ses", "discover", "--slurm", "--turtle", file)
    cluster.output("ses", "kb", "import", file)
    assert "Nothing changes." in cluster.output("ses", "kb", "import", file)
    node_classes = json.loads(cluster.output("ses", "nodes", "list", "--json"))["node_classes"]
    assert [(row["node_class"], row["nodes"], row["count"], row["uplink"]) for row in node_classes] == CLASSES


def test_nodes_without_features_and_a_cluster_without_switches_are_understood() -> None:
    assert features_of("NodeName=a AvailableFeatures=(null) X=1\nNodeName=b AvailableFeatures=y,x\n\n") == {
        "a": (),
        "b": ("x", "y"),
    }
    assert leaves_of("") == {}
    assert leaves_of(
        "SwitchName=s Level=0 LinkSpeed=1 Nodes=a,b\nSwitchName=t Level=1 Nodes=a,b Switches=s\n"
    ) == {"s": "a,b"}
