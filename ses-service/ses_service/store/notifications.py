"""What services on one database report to each other, as the texts of PostgreSQL's notifications and back.

A text is sent in the transaction that stores what it reports, so that nothing is reported that is not stored.
It has ages instead of times: clocks of two machines differ.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import orjson
from ses_state import _state

from ses_service.ledger.peer_placements import NodeNotification, Notification
from ses_service.ledger.placement import PeerPlacement, Placement
from ses_service.ledger.size_history import SizeKey

MAX_BYTES = 7900  # bytes; PostgreSQL takes 7999
_ROOM = MAX_BYTES - 100  # for pieces
_NOTHING = "[],[],[],[]"


def texts(
    origin: str,
    changes: Iterable[tuple[str, Placement | None]],
    sizes: Mapping[SizeKey, Collection[float]],
    now: float,
    announcements: Mapping[str, tuple[str, int]],
) -> list[str]:
    """Return what the service ``origin`` reports of placements that stand like this, and sizes it learned.

    ``announcements`` are the incarnation and number of the last announcement of each of their nodes, and of
    others that are to be reported.
    """
    of_nodes = _state.notified([entry for _, entry in changes if entry is not None], now, MAX_BYTES // 2)
    pieces = [
        f"[{json.dumps(node)},{json.dumps(incarnation)},{number},{lists}]"
        for node in {**announcements, **of_nodes}
        for incarnation, number in (announcements.get(node, ("", 0)),)
        for lists in of_nodes.get(node, [_NOTHING])
    ]
    learned = [
        json.dumps([key.user, key.application, key.pattern, list(each)]) for key, each in sizes.items()
    ]
    return [
        *(_text(origin, part, []) for part in _packed(pieces)),
        *(_text(origin, [], part) for part in _packed(learned)),
    ]


def mark(origin: str) -> str:
    """Return what reports nothing: once it is back, all that was sent before is there."""
    return _text(origin, [], [])


def is_sent_by(text: str, origin: str) -> bool:
    """Return whether a text is of the service ``origin``, without a look at the rest."""
    return text.startswith(_head(origin))


def read(text: str, now: float) -> Notification:
    """Return what a text reports; raises ValueError where it is none.

    An opened file without elements has too many for a text.
    """
    try:
        message: dict[str, Any] = orjson.loads(text)
        origin = str(message["origin"])
        nodes = [
            NodeNotification(
                node,
                incarnation,
                number,
                [
                    PeerPlacement(placement_id, origin, node, tuple(elements), now - max(0.0, age), size)
                    for placement_id, age, size, *elements in opened
                ],
                idle,
                ended,
                lapsed,
            )
            for node, incarnation, number, opened, idle, ended, lapsed in message["nodes"]
        ]
        sizes = [(SizeKey(*key), each) for *key, each in message["sizes"]]
    except (KeyError, TypeError) as error:
        raise ValueError(f"not what a service reports: {error!r}") from None
    return Notification(origin, nodes, sizes)


def _packed(pieces: Iterable[str]) -> Iterator[list[str]]:
    """Yield the pieces in texts of a size that PostgreSQL takes; one that fits into none is left out."""
    packed: list[str] = []
    size = 0
    for piece in pieces:
        if len(piece) > _ROOM:
            continue
        if packed and size + len(piece) > _ROOM:
            yield packed
            packed, size = [], 0
        packed.append(piece)
        size += len(piece) + 1
    if packed:
        yield packed


def _text(origin: str, nodes: list[str], sizes: list[str]) -> str:
    return f'{_head(origin)}"nodes":[{",".join(nodes)}],"sizes":[{",".join(sizes)}]}}'


def _head(origin: str) -> str:
    return f'{{"origin":"{origin}",'
