"""Slurm takes the nodes that storage serves best: weights follow the ranking, in steps."""

import json

from cluster import Cluster
from ses.slurm.nodes import fields_of
from ses.slurm.weights import changes, weights
from ses_client.messages.nodes import RankedNode
from ses_client.messages.selections import Rates

SLOW = """
@prefix qsm: <https://w3id.org/qstorman/ontology#> .
@prefix qudt: <http://qudt.org/schema/qudt/> .
@prefix unit: <http://qudt.org/vocab/unit/> .
@base <https://w3id.org/qstorman/site/tests/> .
<nodes/thin-leaf1> a qsm:NodeClass ; qsm:name "thin-leaf1" ; qsm:nodes "n[1-2]" ;
    qsm:linkRate [ a qudt:QuantityValue ; qudt:numericValue 10.0e0 ; qudt:hasUnit unit:MegaBYTE-PER-SEC ] .
"""


def ranked(node: str, distance: float, rate: float) -> RankedNode:
    return RankedNode(
        rank=1,
        node=node,
        element="union/b1",
        distance=distance,
        free_gb=None,
        limited_by="",
        open_files=0,
        available=Rates(read_mb_s=rate, write_mb_s=rate),
    )


def test_a_shortfall_counts_before_rates_and_small_changes_count_nothing() -> None:
    nodes = [ranked("a", 0.0, 1000), ranked("b", 0.0, 990), ranked("c", 0.0, 500), ranked("d", 0.5, 1000)]
    assert weights(nodes, base=7) == {"a": 7, "b": 7, "c": 17, "d": 10007}


def test_only_nodes_whose_weight_is_another_are_changed() -> None:
    shown = "NodeName=a Weight=1\nNodeName=b Weight=2\nNodeName=c Weight=1\nNodeName=unranked Weight=9\n"
    assert changes({"a": 1, "b": 1, "c": 5}, shown) == {1: ["b"], 5: ["c"]}


def test_a_job_goes_where_the_link_is_wide(cluster: Cluster) -> None:
    discovered, slow = cluster.work / "discovered.ttl", cluster.work / "slow.ttl"
    cluster.output("ses", "discover", "--slurm", "--turtle", str(discovered))
    slow.write_text(SLOW)
    for description in (discovered, slow):
        cluster.output("ses", "kb", "import", str(description))
    changed = json.loads(cluster.output("ses", "nodes", "weigh", "write>=50MB/s", "--json"))["changed"]
    assert [row["nodes"] for row in changed] == ["n[1-2]"]
    weight = fields_of(cluster.output("scontrol", "show", "nodes", "--oneliner"))
    assert [weight[node]["Weight"] for node in ("n3", "n4")] == ["1", "1"]
    assert weight["n1"]["Weight"] == weight["n2"]["Weight"] == str(changed[0]["weight"]) > "1"
    where = cluster.output("srun", "-n1", "sh", "-c", "echo $SLURMD_NODENAME").strip()
    assert where in ("n3", "n4")
    assert "All weights are as they should be." in cluster.output("ses", "nodes", "weigh", "write>=50MB/s")
