"""What the link of this node carries: as it was measured, else as the site describes it."""

from __future__ import annotations

import math
import socket
import time
from contextlib import suppress
from dataclasses import dataclass

from ses_client.client import ServiceClient
from ses_client.errors import NotFoundError, RefusedError
from ses_client.messages.requirements import Subject

_MB = 1e6
_MEASURE = "ses calibrate --node --peer HOST:PORT measures it, ses kb import keeps it"


@dataclass(frozen=True, slots=True)
class Link:
    """A rate in bytes per second, infinite where it is not known, and where it is from.

    ``measured_at``: seconds since the epoch; None where it was not measured.  ``node_class``: the class that
    describes it.
    """

    rate: float = math.inf
    measured_at: float | None = None
    node_class: str | None = None
    stated: bool = False

    def source(self) -> str:
        """Say where it is from, in one word for programs."""
        if self.stated:
            return "stated"
        if self.measured_at is not None:
            return "calibration"
        return "node-class" if self.node_class is not None else "unknown"

    def __str__(self) -> str:
        """Say what it carries and how that is known, in one sentence."""
        if self.stated:
            return f"Link of this node: {self._amount}, as stated by --link."
        if self.measured_at is not None:
            day = time.strftime("%Y-%m-%d", time.localtime(self.measured_at))
            return f"Link of this node: {self._amount}, measured on {day} by ses calibrate --node."
        if self.node_class is not None:
            return (
                f"Link of this node: {self._amount}, as its class {self.node_class} is described; it was not "
                f"calibrated ({_MEASURE})."
            )
        return f"Link of this node: not known, so it never binds; it was not calibrated ({_MEASURE})."

    @property
    def _amount(self) -> str:
        return f"{self.rate / _MB:.4g} MB/s"


def own_link(client: ServiceClient, user: str) -> Link:
    """Return it by the node's calibration, else by its class; of unknown rate where neither has one."""
    host = socket.gethostname()
    with suppress(NotFoundError, RefusedError):
        calibration = client.node_calibration(host)
        if calibration.link_mb_s is not None:
            return Link(calibration.link_mb_s * _MB, measured_at=calibration.calibrated_at)
    return _of_class(client, user, host.partition(".")[0])


def _of_class(client: ServiceClient, user: str, host: str) -> Link:
    try:
        candidates = client.select_nodes(Subject(user=user), count=1, nodes=host, limit=1).candidates
    except RefusedError:
        return Link()
    names = {mount.node_class for mount in candidates if mount.node_class is not None}
    for node_class in client.node_classes().node_classes if names else ():
        if node_class.node_class in names and node_class.link_mb_s is not None:
            return Link(node_class.link_mb_s * _MB, node_class=node_class.node_class)
    return Link()
