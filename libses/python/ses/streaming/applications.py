"""The two applications of RR-4401, section 3, as profiles."""

from __future__ import annotations

from ses.streaming.model import StreamProfile


def scan(key_share: float, selected: float) -> StreamProfile:
    """Select records by their key, each node from its own disk (section 3.1).

    ``key_share`` is r, the part of a record that is its key; ``selected`` is f, the part of the records
    that is written back.  Nothing is communicated; two comparisons for each key.
    """
    accesses = key_share / (1.0 + selected)
    return StreamProfile(alpha=accesses, gamma=2.0 * accesses, written_per_read=selected)


def transposition(nodes: int) -> StreamProfile:
    """Transpose a matrix stored in blocks on ``nodes`` nodes (section 3.2).

    Of the blocks a node reads, all but one are for others, and as many come from them.  Raises ValueError
    for less than one node.
    """
    if nodes < 1:
        raise ValueError("a matrix is on one node at least")
    elsewhere = (nodes - 1) / (2.0 * nodes)
    return StreamProfile(alpha=1.0, beta_l=elsewhere, beta_d=elsewhere, gamma=1.0, written_per_read=1.0)
