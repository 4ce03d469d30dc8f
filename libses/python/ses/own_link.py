"""What the site says that the link of this node carries."""

from __future__ import annotations

import math
import socket

from ses_client.answers.requirements import Subject
from ses_client.client import ServiceClient
from ses_client.errors import RefusedError

_MB = 1e6


def own_link(client: ServiceClient, user: str) -> float:
    """Return it in bytes per second; infinite where the service does not know the node, or no rate of it."""
    host = socket.gethostname().partition(".")[0]
    try:
        found = client.select_nodes(Subject(user), count=1, nodes=host, limit=1).nodes
    except RefusedError:
        return math.inf
    names = {one.node_class for one in found if one.node_class is not None}
    rates = [one.link for one in client.node_classes().classes if names and one.name in names]
    return rates[0] * _MB if rates and rates[0] is not None else math.inf
