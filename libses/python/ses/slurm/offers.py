"""What storage offers jobs now, in a file that the plugin of Slurm reads (``libses/slurm/published.h``)."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from pathlib import Path

from ses_client.errors import SesError
from ses_client.messages.elements import Element
from ses_client.messages.nodes import NodeClass

from ses.whole_file import write_whole

_Rates = tuple[float | None, float | None, float | None]  # write and read rate, room
_GB = 1e9
_MAX_NODES_LENGTH = 60_000  # characters of nodes that Slurm takes in one word
_NOTHING = "-"


def offers(elements: Iterable[Element], classes: Iterable[NodeClass], now: float) -> str:
    """Return the file: for each class of nodes what its links leave of the elements it reaches.

    A link that others share is taken as free: no job is refused for what others do on it now.  Of the
    elements of a class those stay that no other equals in all; a class that reaches none has a line of zeros.
    """
    known = tuple(elements)
    lines = [
        f"{element} {' '.join(map(_number, rates))} {_nodes(node_class)}\n"
        for node_class in classes
        for rates, element in _best(_rates_of(known, node_class)) or [((0.0, 0.0, 0.0), _NOTHING)]
    ]
    return f"ses-offers 2 {int(now)}\n{''.join(lines)}"


def publish(path: Path, text: str) -> None:
    """Put the file in the place of the one before, whole; everybody may read it.  Raises SesError."""
    try:
        write_whole(path, text, 0o644)
    except OSError as error:
        raise SesError(f"{path} cannot be written: {error.strerror}.") from error


def _rates_of(elements: Iterable[Element], node: NodeClass) -> dict[_Rates, str]:
    """Return what a stream of the node would get, to the element; of those that are alike the first."""
    link = min((rate for rate in (node.link_mb_s, node.uplink_mb_s) if rate is not None), default=inf)
    element_with: dict[_Rates, str] = {}
    for element in elements:
        if node.storage_systems is None or element.storage_system in node.storage_systems:
            free = None if element.observation is None else element.observation.free_bytes
            rates = (
                _least(element.available.write_mb_s, link),
                _least(element.available.read_mb_s, link),
                None if free is None else free / _GB,
            )
            element_with.setdefault(rates, element.id)
    return element_with


def _best(elements: dict[_Rates, str]) -> list[tuple[_Rates, str]]:
    """Return those that no other equals in write and read rate and room; what is not known is the most."""
    kept: list[tuple[_Rates, str]] = []
    for rates, element in sorted(elements.items(), key=lambda each: tuple(map(_most, each[0])), reverse=True):
        if not any(all(_most(a) >= _most(b) for a, b in zip(other, rates, strict=True)) for other, _ in kept):
            kept.append((rates, element))
    return kept


def _most(value: float | None) -> float:
    return inf if value is None else value


def _nodes(node: NodeClass) -> str:
    return node.nodes if len(node.nodes) <= _MAX_NODES_LENGTH else _NOTHING


def _least(rate: float | None, link: float) -> float | None:
    return None if rate is None else min(rate, link)


def _number(value: float | None) -> str:
    return _NOTHING if value is None else f"{value:.3f}"
