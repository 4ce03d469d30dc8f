"""What whole runs of a program showed, kept for the next decision in the place of what its sample showed."""

from __future__ import annotations

from collections.abc import Sequence

from ses.near.execution.conversation import Ended
from ses.near.history import START_SECONDS, Seen, recall, remember
from ses.near.sampling import SAMPLE_BYTES


def learn(argv: Sequence[str], node: str, ran: Sequence[tuple[int, Ended]]) -> None:
    """Keep what runs of a command on a node showed: of each the bytes it was given, and how it ended.

    Runs on less than a sample are left out: what starting a program takes would count as work on its data.
    So are those that a signal ended.
    """
    whole = [(size, ended) for size, ended in ran if size >= SAMPLE_BYTES and ended.status >= 0]
    if not whole:
        return
    known = recall(argv, node)
    slowdown = known.slowdown if known else 1.0
    size = sum(bytes_read for bytes_read, _ in whole)
    runs = [run for _, run in whole]
    usual = known.start_seconds if known else START_SECONDS
    seen = Seen(
        returned=sum(run.returned for run in runs) / size,
        cpu_seconds_per_byte=sum(run.cpu_seconds for run in runs) / size / slowdown,
        slowdown=slowdown,
        cores=max(run.cores for run in runs),
        start_seconds=max(
            (run.start_seconds for run in runs if run.start_seconds is not None), default=usual
        ),
        memory=max(run.memory for run in runs),  # the first saw it before the others took theirs
    )
    remember(argv, node, seen)
