"""Which node holds a file: its layout, the site's elements, and the classes of nodes that hold them.

Reads the file system and asks the service; decides nothing.  Rates are bytes per second.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ses_client.client import ServiceClient
from ses_client.errors import NotFoundError, SesError
from ses_client.messages.elements import Element
from ses_client.messages.nodes import NodeClass
from ses_client.messages.requirements import Subject

from ses.basepath import same_directory
from ses.file_layout import layout_of
from ses.near.cost import Here, Holder
from ses.near.striping import stripes_of
from ses.own_link import own_link

MB = 1e6
_NODES = 4  # that are as good as each other


class NowhereError(NotFoundError):
    """No node is known to hold all of the file."""


@dataclass(frozen=True, slots=True)
class Place:
    """A node that holds a file, and what it does for it."""

    node: str
    holder: Holder
    elements: tuple[str, ...]


class Site:
    """The elements and nodes of the service, asked for once."""

    def __init__(self, client: ServiceClient, user: str) -> None:
        self._client = client
        self._user = user
        self._elements = client.elements().elements
        self._classes = client.node_classes().node_classes
        self._nodes: dict[str, tuple[str, ...]] = {}

    def place_of(self, file: Path) -> Place:
        """Return the best node for a file, with rates; raises NowhereError and SesError with the reason."""
        return self._place(elements_of(file, self._elements), file.stat().st_size, file)

    def parts_of(self, file: Path, piece: int) -> list[tuple[int, int, Place]]:
        """Return where the stripes of a file lie that no one node holds: [start, end) and the node of each.

        Raises NowhereError when stripes are smaller than ``piece`` bytes, and as :meth:`place_of`.
        """
        layout = layout_of(file)
        if layout.get("mirrors") != 1 or layout["components"] is None:
            raise NowhereError(f"{file} lies on several nodes, and not in stripes.")
        size = file.stat().st_size
        try:
            stripes = stripes_of(layout["components"], size)
        except ValueError as error:
            raise NowhereError(f"{file} lies on several nodes: {error}.") from None
        if min((stripe.end - stripe.start for stripe in stripes if stripe.end < size), default=size) < piece:
            raise NowhereError(f"{file} is striped over several nodes, in stripes smaller than a piece.")
        by_target = {element.target: element for element in elements_of(file, self._elements)}
        return [
            (
                stripe.start,
                stripe.end,
                self._place([by_target[str(stripe.ost)]], stripe.end - stripe.start, file),
            )
            for stripe in stripes
        ]

    def nodes_of(self, file: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the best nodes for a file, on which a stream gets the same, and the elements it lies on.

        Raises as :meth:`place_of`.
        """
        elements = elements_of(file, self._elements)
        best = self._holding(elements, file)
        return self._nodes_of(best), tuple(element.id for element in elements)

    def here(self, cores: float) -> Here:
        """Return this node, with the link that was measured, else that the site states."""
        return Here(own_link(self._client, self._user).rate, cores)

    def _place(self, elements: Sequence[Element], size: int, file: Path) -> Place:
        best = self._holding(elements, file)
        held = set(best.holds)
        others = sum(element.open_placements for element in self._elements if element.id in held)
        holder = Holder(
            bytes=size,
            disk_rate=sum(_rate(element) for element in elements),
            link_rate=math.inf if best.link_mb_s is None else best.link_mb_s * MB,
            clients=1 + others,
        )
        return Place(self._nodes_of(best)[0], holder, tuple(element.id for element in elements))

    def _holding(self, elements: Sequence[Element], file: Path) -> NodeClass:
        """Return the nodes for a file on some elements.

        Of several classes of nodes the one with the widest link; of its nodes the one where a stream gets
        most.
        """
        names = {element.id for element in elements}
        able = [node_class for node_class in self._classes if names <= set(node_class.holds)]
        if not able:
            raise NowhereError(
                f"No one node is known to hold {', '.join(element.id for element in elements)}, "
                f"where {file} lies (qsm:holds)."
            )
        return max(able, key=lambda node_class: (node_class.link_mb_s is None, node_class.link_mb_s or 0.0))

    def _nodes_of(self, node_class: NodeClass) -> tuple[str, ...]:
        """Return the node where a stream gets most, and others where it gets it, too; raises NowhereError."""
        named = node_class.nodes
        if named not in self._nodes:
            user = Subject(user=self._user)
            ranked = self._client.select_nodes(user, count=1, nodes=named, limit=_NODES).candidates
            self._nodes[named] = tuple(
                entry.node for entry in ranked
                if (entry.distance, entry.available) == (ranked[0].distance, ranked[0].available)
            )  # fmt: skip
        if not self._nodes[named]:
            raise NowhereError(f"None of {named} can be used now.")
        return self._nodes[named]


def own_names() -> Sequence[str]:
    """Return the names of this node, as sites write them."""
    name = os.uname().nodename
    return (name, name.partition(".")[0])


def elements_of(file: Path, elements: Sequence[Element]) -> list[Element]:
    """Return the elements that hold a file's bytes; raises NowhereError and SesError with the reason."""
    layout = layout_of(file)
    path = file.resolve()
    system = [element for element in elements if path.is_relative_to(element.mount_point)]
    if "branch" in layout:
        held = [element for element in system if same_directory(element.target, layout["branch"])]
    else:
        osts = {str(ost) for ost in layout["osts"]}
        held = [element for element in system if element.target in osts]
        if len(held) < len(osts):
            held = []
    if not held:
        raise NowhereError(f"The site describes no storage element that holds {file}.")
    return held


def _rate(element: Element) -> float:
    known = (
        element.available.read_mb_s if element.available.read_mb_s is not None else element.nominal.read_mb_s
    )
    if known is None or known <= 0:
        raise SesError(f"At which rate {element.id} is read is not known. Name one with --disk-rate.")
    return known * MB
