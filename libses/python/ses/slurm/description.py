"""The nodes of a Slurm cluster as a description of the site in Turtle, for the knowledge base.

Says what Slurm knows and nothing else: what nodes mount, and rates of links, are for an administrator to add.
"""

from __future__ import annotations

from urllib.parse import quote

from ses.literal import literal
from ses.slurm.nodes import Cluster, NodeClass

_HEAD = """\
# The nodes of the Slurm cluster {name_literal}.  Add what the classes mount (qsm:hasAccess) and
# rates of links (qsm:linkRate) where that is known; see docs/nodes.md.
@prefix qsm: <https://w3id.org/qstorman/ontology#> .
@base <https://w3id.org/qstorman/site/{base}/> .
"""


def turtle(cluster: Cluster) -> str:
    """Return the description; every switch with nodes of its own is a link that its classes share."""
    links = sorted({node_class.uplink for node_class in cluster.classes if node_class.uplink})
    parts = [
        _HEAD.format(name_literal=literal(cluster.name), base=quote(cluster.name, safe="")),
        *(f"{_link(name)} a qsm:NetworkLink ; qsm:name {literal(name)} .\n" for name in links),
        *map(_class, cluster.classes),
    ]
    return "\n".join(parts)


def _class(node_class: NodeClass) -> str:
    facts = [f"qsm:name {literal(node_class.name)}", f"qsm:nodes {literal(node_class.nodes)}"]
    facts += [f"qsm:uplink {_link(node_class.uplink)}"] if node_class.uplink else []
    return (
        f"<nodes/{quote(node_class.name, safe='')}> a qsm:NodeClass ;\n    " + " ;\n    ".join(facts) + " .\n"
    )


def _link(name: str) -> str:
    return f"<links/{quote(name, safe='')}>"
