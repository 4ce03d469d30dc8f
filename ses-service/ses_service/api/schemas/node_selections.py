"""Nodes for a task: the question, the ranked nodes, and the classes of nodes there are."""

from typing import Annotated

from pydantic import Field, PlainValidator, WithJsonSchema

from ses_service.api.schemas.requests import Question
from ses_service.knowledge.hostlist import expanded
from ses_service.state.node_access import JobShape

_MAX_HOSTLIST = 65_536


def _nodes(text: object) -> frozenset[str]:
    """Return the nodes of a list, which is read once only."""
    if not isinstance(text, str) or not 0 < len(text) <= _MAX_HOSTLIST:
        raise ValueError(f"should be a list of nodes of 1 to {_MAX_HOSTLIST} characters")
    return frozenset(expanded(text))


Hostlist = Annotated[
    frozenset[str],
    PlainValidator(_nodes),
    WithJsonSchema(
        {
            "type": "string",
            "minLength": 1,
            "maxLength": _MAX_HOSTLIST,
            "examples": ["n[0001-0048],login1"],
        }
    ),
]


class NodeSelectionRequest(Question):
    """A question: on which nodes would a task of this subject get what it needs?

    ``count`` nodes are wanted for one job with a stream on each; more than 1 spreads them over elements,
    servers and shared links, and only these are listed.  With 1 the best ``limit`` nodes are listed, 0: all.
    ``nodes`` are the only ones that count, ``exclude`` those not wanted, both as Slurm writes nodes.
    """

    count: Annotated[int, Field(ge=1, le=1024)] = 1
    nodes: Hostlist | None = None
    exclude: Hostlist | None = None
    limit: Annotated[int, Field(ge=0, le=100_000)] = 10

    def shape(self) -> JobShape:
        """Return how many nodes are wanted, and of which."""
        return JobShape(self.count, self.nodes, self.exclude or frozenset())
