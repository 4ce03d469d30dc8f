"""The picture of how an element was read and written over time.  Pure; points of SVG lines."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ses_client.messages.elements import History, HistoryPoint

WIDTH, HEIGHT = 600, 160
_GAP = 1.5  # steps without a figure after which a line begins anew


@dataclass(frozen=True, slots=True)
class Load:
    """Lines of reading and writing, in pieces where nothing is known between; ``top`` is in MB/s."""

    read: tuple[str, ...]
    write: tuple[str, ...]
    top: float
    mean_read: float | None
    mean_write: float | None
    most_read: float | None
    most_write: float | None


def load_of(history: History) -> Load | None:
    """Return the picture of a history; ``None``: too little is known for one."""
    read = [point.read_mb_s for point in history.points if point.read_mb_s is not None]
    write = [point.write_mb_s for point in history.points if point.write_mb_s is not None]
    if len(read) < 2 and len(write) < 2:
        return None
    top = max([*read, *write, 1.0])
    return Load(
        read=tuple(_pieces(history, lambda step: step.read_mb_s, top)),
        write=tuple(_pieces(history, lambda step: step.write_mb_s, top)),
        top=top,
        mean_read=sum(read) / len(read) if read else None,
        mean_write=sum(write) / len(write) if write else None,
        most_read=max(read, default=None),
        most_write=max(write, default=None),
    )


def _pieces(history: History, value: Callable[[HistoryPoint], float | None], top: float) -> Iterable[str]:
    span = max(history.until - history.since, 1.0)
    piece: list[str] = []
    before: float | None = None
    for step in history.points:
        rate = value(step)
        if rate is None:
            continue
        if before is not None and step.at - before > _GAP * history.step_seconds:
            yield " ".join(piece)
            piece = []
        x = min(1.0, max(0.0, (step.at - history.since) / span)) * WIDTH
        piece.append(f"{x:.1f},{HEIGHT - min(1.0, rate / top) * HEIGHT:.1f}")
        before = step.at
    if piece:
        yield " ".join(piece)
