"""Reading the Prometheus text format cheaply: only the series asked for, each label set understood once.

A series is written the same way in every scrape, and understanding its labels is nearly all the work,
so what a series means is remembered by its exact text.  A series given twice counts once (the last
value).  Not a validator: lines nobody asked for are not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Generic, TypeVar

from prometheus_client.parser import text_string_to_metric_families

from smed_monitor.errors import ContentError

MeaningT = TypeVar("MeaningT")
MOST_REMEMBERED = 1 << 18


class Reader(Generic[MeaningT]):
    """Reads pages for the metrics ``names``; ``meaning(name, labels)`` says what one series is.

    ``meaning`` may raise KeyError for a label that must be there, and return ``None`` for a series to
    leave out.  Safe to use from several threads: they share only the memory of meanings.
    """

    def __init__(
        self, names: frozenset[str], meaning: Callable[[str, Mapping[str, str]], MeaningT | None]
    ) -> None:
        self._names = names
        self._starts = tuple(f"{name}{{".encode() for name in sorted(names))
        self._meaning = meaning
        self._known: dict[bytes, MeaningT | None] = {}

    def read(self, body: bytes) -> dict[MeaningT, float]:
        """The finite values of the wanted series, added up where several series mean the same.

        Raises ContentError when a wanted line is not Prometheus text.
        """
        known, starts = self._known, self._starts
        once: dict[bytes, float] = {}
        for line in body.split(b"\n"):
            if not line.startswith(starts):
                continue
            head, _, tail = line.rpartition(b"}")
            if head not in known:
                self._learn(head, line, body)
            try:
                once[head] = float(tail)
            except ValueError:
                once[head] = _first_number(tail, line, body)
        found: dict[MeaningT, float] = {}
        for head, value in once.items():
            what = known.get(head)
            if what is not None and isfinite(value):
                found[what] = found[what] + value if what in found else value
        return found

    def _learn(self, head: bytes, line: bytes, body: bytes) -> None:
        if len(self._known) >= MOST_REMEMBERED:  # a target that makes up labels must not fill the memory
            self._known.clear()
        try:
            text = head.decode("utf-8") + "}"
            sample = next(iter(text_string_to_metric_families(f"{text} 0\n"))).samples[0]
            wanted = sample.name in self._names
            self._known[head] = self._meaning(sample.name, sample.labels) if wanted else None
        except UnicodeDecodeError as error:
            raise ContentError(f"is not text: byte {error.start} of a series is not UTF-8") from error
        except (ValueError, KeyError, IndexError, StopIteration) as error:
            raise _not_text(line, body) from error


def _first_number(tail: bytes, line: bytes, body: bytes) -> float:
    """The value before a timestamp."""
    try:
        return float(tail.split(maxsplit=1)[0])
    except (ValueError, IndexError) as error:
        raise _not_text(line, body) from error


def _not_text(line: bytes, body: bytes) -> ContentError:
    number = body[: body.find(line)].count(b"\n") + 1
    return ContentError(f"line {number} is not Prometheus text: {line[:120].decode('utf-8', 'replace')!r}")


def beginning(body: bytes) -> str:
    """How an unexpected page begins, for a message."""
    return repr(body[:60].decode("utf-8", "replace").split("\n")[0])
