"""Reading the Prometheus text format cheaply: only the series asked for, each label set understood once.

A series is written the same way in every scrape, and understanding its labels is nearly all the work,
so what a series means is remembered by its exact text.  A series given twice counts once (the last
value).  Not a validator: lines nobody asked for are not looked at.
"""

from collections.abc import Callable, Mapping
from enum import Enum, auto
from math import isfinite
from typing import Final, Generic, TypeVar

from prometheus_client.parser import text_string_to_metric_families

from smed_monitor.collectors.layout import Layout
from smed_monitor.core.errors import ContentError

MeaningT = TypeVar("MeaningT")
MAX_REMEMBERED = 1 << 18


class _Unknown(Enum):
    UNKNOWN = auto()


_UNKNOWN: Final = _Unknown.UNKNOWN  # a series whose meaning is not remembered; one to leave out is ``None``


class Reader(Generic[MeaningT]):
    """Reads pages for the metrics ``names``; ``meaning(name, labels)`` says what one series is.

    ``meaning`` may raise KeyError for a label that must be there, and return ``None`` for a series to
    leave out.  Safe to use from several threads: they share only the memory of meanings, which any of them
    may empty in the middle of another's page.
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
        known = self._known
        once: dict[bytes, tuple[MeaningT, bytes]] = {}
        for line in body.split(b"\n"):
            head, _, tail = line.rpartition(b" ")
            what = known.get(head, _UNKNOWN)
            if what is _UNKNOWN:
                if not line.startswith(self._starts):
                    if head.endswith(b"}") or head.startswith(b"#"):
                        self._remember(head)
                    continue
                # Not seen before, or followed by a timestamp.
                head, brace, tail = line.rpartition(b"}")
                head += brace
                what = self._known_or_learned(head, line, body)
                tail = (tail.split(maxsplit=1) or [b""])[0]
            if what is not None:
                once[head] = what, tail
        sums: dict[MeaningT, float] = {}
        for head, (what, tail) in once.items():
            try:
                value = float(tail)
            except ValueError as error:
                raise _not_text(head, body) from error
            if isfinite(value):
                sums[what] = sums[what] + value if what in sums else value
        return sums

    def layout(self, body: bytes) -> Layout[MeaningT] | None:
        """The layout of ``body``, which ``read`` has understood; ``None`` for one not to remember.

        That is a page without a wanted series, or with a timestamp behind one: there the last word of a
        line is not its value.
        """
        last: dict[bytes, tuple[int, MeaningT]] = {}
        for number, line in enumerate(body.split(b"\n")):
            if line.startswith(self._starts):
                head = line.rpartition(b" ")[0]
                what = self._known.get(head, _UNKNOWN)
                if what is _UNKNOWN:
                    return None
                if what is not None:
                    last[head] = (number, what)
        return Layout(body, list(last.values())) if last else None

    def _remember(self, head: bytes) -> None:
        """Lines that start so are of no interest."""
        if len(self._known) < MAX_REMEMBERED:
            self._known[head] = None

    def _known_or_learned(self, head: bytes, line: bytes, body: bytes) -> MeaningT | None:
        known = self._known.get(head, _UNKNOWN)
        if known is not _UNKNOWN:
            return known
        if len(self._known) >= MAX_REMEMBERED:  # a target that makes up labels must not fill the memory
            self._known.clear()
        try:
            text = head.decode("utf-8")
            sample = next(iter(text_string_to_metric_families(f"{text} 0\n"))).samples[0]
            wanted = sample.name in self._names
            what = self._meaning(sample.name, sample.labels) if wanted else None
        except UnicodeDecodeError as error:
            raise ContentError(f"is not text: byte {error.start} of a series is not UTF-8") from error
        except (ValueError, KeyError, IndexError, StopIteration) as error:
            raise _not_text(line, body) from error
        self._known[head] = what
        return what


def _not_text(line: bytes, body: bytes) -> ContentError:
    number = body[: body.find(line)].count(b"\n") + 1
    line = body.split(b"\n")[number - 1]
    return ContentError(f"line {number} is not Prometheus text: {line[:120].decode('utf-8', 'replace')!r}")


def beginning(body: bytes) -> str:
    """How an unexpected page begins, for a message."""
    return repr(body[:60].decode("utf-8", "replace").split("\n")[0])
