"""The compute nodes of a Slurm cluster, by class: nodes with the same features behind the same switch."""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from ses_client.errors import NotFoundError
from ses_client.messages.message import JSON

from ses.slurm.scontrol import scontrol

_FIELD = re.compile(r"(?:^|\s)([A-Za-z]+)=(\S*)")
_NONE = "(null)"


@dataclass(frozen=True, slots=True)
class NodeClass:
    """Nodes that are alike; ``nodes`` as Slurm writes them, such as ``n[0001-0048]``."""

    name: str
    nodes: str
    count: int
    features: tuple[str, ...]
    uplink: str | None


@dataclass(frozen=True, slots=True)
class Cluster:
    """The classes of a cluster, by name."""

    name: str
    classes: tuple[NodeClass, ...]

    def as_json(self) -> JSON:
        """Return what ``--json`` prints."""
        return {
            "cluster": self.name,
            "node_classes": [
                {
                    "node_class": node_class.name,
                    "nodes": node_class.nodes,
                    "count": node_class.count,
                    "features": list(node_class.features),
                    "uplink": node_class.uplink,
                }
                for node_class in self.classes
            ],
        }


def look() -> Cluster:
    """Ask Slurm; raises SesError when it does not answer, NotFoundError when it has no nodes."""
    match = re.search(r"^ClusterName\s*=\s*(\S+)", scontrol("show", "config"), re.MULTILINE)
    cluster = match[1] if match else "cluster"
    features = features_of(scontrol("show", "nodes", "--oneliner"))
    if not features:
        raise NotFoundError("Slurm has no nodes.")
    switches = {
        node: switch
        for switch, nodes in leaves_of(scontrol("show", "topology", "--oneliner")).items()
        for node in scontrol("show", "hostnames", nodes).split()
    }
    alike: dict[tuple[tuple[str, ...], str | None], list[str]] = defaultdict(list)
    for node, stated in features.items():
        alike[stated, switches.get(node)].append(node)
    classes = [
        NodeClass(
            "-".join([*stated, *([switch] if switch else [])]) or cluster,
            folded(nodes),
            len(nodes),
            stated,
            switch,
        )
        for (stated, switch), nodes in alike.items()
    ]
    return Cluster(cluster, tuple(sorted(classes, key=lambda node_class: node_class.name)))


def fields_of(shown: str) -> dict[str, dict[str, str]]:
    """Return the fields of each node in ``scontrol show nodes --oneliner``."""
    lines = (dict(_FIELD.findall(line)) for line in shown.splitlines())
    return {fields["NodeName"]: fields for fields in lines if "NodeName" in fields}


def features_of(shown: str) -> dict[str, tuple[str, ...]]:
    """Return the available features of each node in ``scontrol show nodes --oneliner``."""
    stated = {node: fields.get("AvailableFeatures", _NONE) for node, fields in fields_of(shown).items()}
    return {
        node: () if features == _NONE else tuple(sorted(features.split(",")))
        for node, features in stated.items()
    }


def leaves_of(shown: str) -> dict[str, str]:
    """Return the nodes of each switch that has nodes of its own, in ``scontrol show topology --oneliner``.

    Empty where Slurm knows no switches (``topology/none``).
    """
    lines = (dict(_FIELD.findall(line)) for line in shown.splitlines())
    return {
        switch["SwitchName"]: switch["Nodes"]
        for switch in lines
        if switch.get("Level") == "0" and switch.get("Nodes")
    }


def folded(nodes: Iterable[str]) -> str:
    """Return names in as few characters as ranges allow, by Slurm itself; of a file, as they may be many."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write("\n".join(nodes) + "\n")
        file.flush()
        return scontrol("show", "hostlistsorted", file.name).strip()
