"""How a ledger takes the notification of another service: whose each file is, when both hold it.  Pure.

What a service stored last is in the database, whichever was right.  So a service that knows better stores its
own record again: the other is notified, and both come to the same.

A service that is late, or starts and takes up what it finds stored, may report files that we know nothing
of, though their node announced them to us last.  We take these over, and ask the node whether they are open
still.
"""

from enum import Enum, auto
from itertools import chain

from ses_service.ledger.ledger import Ledger
from ses_service.ledger.nodes import Node
from ses_service.ledger.peer_placements import NodeNotification, Notification
from ses_service.ledger.placement import PlacementState

_QUIET = 1.0  # seconds without an announcement after which another incarnation, elsewhere, is the later one


class Announced(Enum):
    """Whether the last announcement of a node to the other service was before or after the last one to us."""

    BEFORE = auto()
    AFTER = auto()
    UNKNOWN = auto()


def take(notification: Notification, ledger: Ledger, now: float) -> None:
    """Take what another service reports of its files.

    Hardly any is a file that we hold, too: what all have in common is done for all at once.
    """
    nodes, of_peers = notification.nodes, ledger.of_peers
    of_peers.take_up([placement for node in nodes for placement in node.opened])
    gone = [
        placement_id for node in nodes for ids in (node.idle, node.ended, node.lapsed) for placement_id in ids
    ]
    of_peers.drop(gone, notification.origin, now)
    opened = [placement.placement_id for node in nodes for placement in node.opened]
    own = set(ledger.known(chain(opened, gone)))
    for of_node in nodes:
        announced = _announced(ledger.nodes.get(of_node.node), of_node, now)
        if own:
            _settle(of_node, own, announced, ledger, now)
        if ledger.left is not None and announced is Announced.BEFORE:
            ledger.left.update(
                placement.placement_id for placement in of_node.opened if placement.placement_id not in own
            )
        if announced is Announced.AFTER:
            ledger.forget_node(of_node.node, now)


def _settle(
    notification: NodeNotification, own: set[str], announced: Announced, ledger: Ledger, now: float
) -> None:
    """Find out whose the files of a node are that are ``own``, too."""
    for placement_id in own.intersection(
        [*(placement.placement_id for placement in notification.opened), *notification.idle]
    ):
        _hand_over(placement_id, announced, ledger, now)
    for placement_id in own.intersection(notification.ended):
        ledger.release(placement_id, now)
    for placement_id in own.intersection(notification.lapsed):
        _hand_over(
            placement_id, Announced.BEFORE if announced is Announced.UNKNOWN else announced, ledger, now
        )


def _hand_over(placement_id: str, announced: Announced, ledger: Ledger, now: float) -> None:
    own = ledger.find(placement_id)
    if own is None:
        return
    if announced is Announced.BEFORE:
        ledger.of_peers.forget_placement(placement_id, now)
        ledger.store_again(placement_id)
    elif ledger.is_ended_by_node(placement_id):
        ledger.store_again(placement_id)  # and stays ended
    elif own.state is PlacementState.OPEN and announced is Announced.AFTER:
        ledger.release(placement_id, now)


def _announced(known: Node | None, notification: NodeNotification, now: float) -> Announced:
    if known is None or not known.incarnation:
        return Announced.AFTER if notification.incarnation else Announced.UNKNOWN
    if not notification.incarnation:  # it expects the node, which announced nothing there yet
        return Announced.BEFORE
    if known.incarnation != notification.incarnation:
        return Announced.AFTER if now - known.heard_at > _QUIET else Announced.UNKNOWN
    if notification.number == known.number:
        return Announced.UNKNOWN
    return Announced.AFTER if notification.number > known.number else Announced.BEFORE
