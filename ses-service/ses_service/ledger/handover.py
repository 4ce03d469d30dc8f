"""How a ledger takes what another service tells: whose each file is, when both hold it.  Pure.

What a service stored last is in the database, whoever was right.  So a service that knows better stores its
own word again: the other hears it, and both come to the same.

A service that is late, or starts and takes up what it finds stored, may tell of files that we know nothing
of, though their node spoke with us last.  We take these over, and ask the node whether they are open still.
"""

from __future__ import annotations

from enum import Enum, auto
from itertools import chain

from ses_service.ledger.ledger import Ledger, Node
from ses_service.ledger.peer_placements import NodeNotification, Notification
from ses_service.ledger.placement import PlacementState

_QUIET = 1.0  # seconds without a word after which another incarnation, heard elsewhere, is the later one


class Spoke(Enum):
    """Whether a node spoke with the other service before or after it spoke with us."""

    BEFORE = auto()
    AFTER = auto()
    UNKNOWN = auto()


def take(word: Notification, ledger: Ledger, now: float) -> None:
    """Take what another service tells of its files.

    Hardly any is a file that we hold, too: what all have in common is done for all at once.
    """
    nodes, of_peers = word.nodes, ledger.of_peers
    of_peers.claim([claim for one in nodes for claim in one.opened])
    gone = [
        placement_id for one in nodes for some in (one.idle, one.ended, one.lapsed) for placement_id in some
    ]
    of_peers.drop(gone, word.origin, now)
    opened = [claim.placement_id for one in nodes for claim in one.opened]
    own = set(ledger.known(chain(opened, gone)))
    for one in nodes:
        spoke = _spoke(ledger.node(one.node), one, now)
        if own:
            _settle(one, own, spoke, ledger, now)
        if ledger.left is not None and spoke is Spoke.BEFORE:
            ledger.left.update(claim.placement_id for claim in one.opened if claim.placement_id not in own)
        if spoke is Spoke.AFTER:
            ledger.forget_node(one.node, now)


def _settle(word: NodeNotification, own: set[str], spoke: Spoke, ledger: Ledger, now: float) -> None:
    """Find out whose the files of a node are that are ``own``, too."""
    for placement_id in own.intersection([*(claim.placement_id for claim in word.opened), *word.idle]):
        _hand_over(placement_id, spoke, ledger, now)
    for placement_id in own.intersection(word.ended):
        ledger.release(placement_id, now)
    for placement_id in own.intersection(word.lapsed):
        _hand_over(placement_id, Spoke.BEFORE if spoke is Spoke.UNKNOWN else spoke, ledger, now)


def _hand_over(placement_id: str, spoke: Spoke, ledger: Ledger, now: float) -> None:
    own = ledger.find(placement_id)
    if own is None:
        return
    if spoke is Spoke.BEFORE:
        ledger.of_peers.forget_claim(placement_id, now)
        ledger.store_again(placement_id)
    elif ledger.is_ended_by_node(placement_id):
        ledger.store_again(placement_id)  # and stays ended
    elif own.state is PlacementState.OPEN and spoke is Spoke.AFTER:
        ledger.release(placement_id, now)


def _spoke(known: Node | None, word: NodeNotification, now: float) -> Spoke:
    if known is None or not known.incarnation:
        return Spoke.AFTER if word.incarnation else Spoke.UNKNOWN
    if not word.incarnation:  # it expects the node and did not hear it
        return Spoke.BEFORE
    if known.incarnation != word.incarnation:
        return Spoke.AFTER if now - known.heard_at > _QUIET else Spoke.UNKNOWN
    if word.number == known.number:
        return Spoke.UNKNOWN
    return Spoke.AFTER if word.number > known.number else Spoke.BEFORE
