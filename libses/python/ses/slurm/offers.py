"""What storage offers jobs now, in a file that the plugin of Slurm reads (``libses/slurm/published.h``)."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from ses_client.answers.elements import Element
from ses_client.answers.nodes import NodeClass
from ses_client.errors import SesError

HEAD = "ses-offers 1\n"
_GB = 1e9
_LONGEST = 200  # characters of nodes; then the name of their class says more


def offers(elements: Iterable[Element], classes: Iterable[NodeClass]) -> str:
    """Return the file: a line for each element that a node reaches, by the widest link to it.

    A link that others share is taken as free: no job is refused for what others do on it now.
    """
    nodes = tuple(classes)
    lines = []
    for one in elements:
        reaching = [node for node in nodes if node.systems is None or one.storage_system in node.systems]
        widest = max(reaching, key=_width, default=None)
        if widest is None:
            continue
        link = _width(widest)
        free = None if one.observation is None else one.observation.free_bytes
        told = (_least(one.write, link), _least(one.read, link), None if free is None else free / _GB)
        where = widest.nodes if len(widest.nodes) <= _LONGEST else widest.name or "many-nodes"
        lines.append(f"{one.id} {' '.join(map(_number, told))} {where}\n")
    return HEAD + "".join(lines)


def publish(path: Path, text: str) -> None:
    """Put the file in the place of the one before, whole; everybody may read it.  Raises SesError."""
    draft = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w") as file:
            os.fchmod(file.fileno(), 0o644)
            file.write(text)
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise SesError(f"{path} cannot be written: {error.strerror}.") from error


def _width(node: NodeClass) -> float:
    rates = [rate for rate in (node.link, node.uplink_rate) if rate is not None]
    return min(rates, default=float("inf"))


def _least(rate: float | None, link: float) -> float | None:
    return None if rate is None else min(rate, link)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
