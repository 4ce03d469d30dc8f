"""The same page again: a target writes its series in the same order every second, only the values move.

A layout is what one page looked like apart from the last word of each line.  A page that looks the same
gives its values without any line being understood again; one that differs in anything else, or whose
values are not all finite numbers, is read by the collector itself, and its layout takes the place of the
last.  Does not decide what a series means, and finds no fault: what is wrong with a page is reported by the
collector that reads it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from operator import itemgetter
from typing import Any, Generic, Protocol, TypeVar

import orjson

MeaningT = TypeVar("MeaningT")
SampleT = TypeVar("SampleT")
Fill = Callable[[Sequence[float]], SampleT]
"""Makes a sample of one value for each meaning of a layout, in their order."""
NUMERALS = b"0123456789+-.eE,"


class Layout(Generic[MeaningT]):
    """What a page looks like; ``meanings`` are those of its wanted series, each once, in their order."""

    __slots__ = ("_frame", "_length", "_others", "_places", "_values", "meanings")

    def __init__(self, body: bytes, series: Sequence[tuple[int, MeaningT]]) -> None:
        """``series`` gives (line counted from 0, meaning) of every wanted value of ``body``."""
        ends: dict[int, int] = {}
        others: list[int] = []
        index = 0
        for number, line in enumerate(body.split(b"\n")):
            length = line.count(b" ") + 1
            others += range(index, index + max(1, length - 1))
            ends[number] = index + length - 1
            index += length
            others.append(index)  # the line feed
            index += 1
        others.pop()
        self.meanings = tuple(dict.fromkeys(what for _, what in series))
        places = {what: place for place, what in enumerate(self.meanings)}
        self._places = [places[what] for _, what in series] if len(places) < len(series) else None
        self._values = picker([ends[number] for number, _ in series])
        self._others = picker(others)
        self._length = index - 1
        self._frame = b" ".join(self._others(_words(body)))

    def values(self, body: bytes) -> Sequence[float] | None:
        """One finite value for each meaning, added up as Reader does; ``None`` for another layout."""
        words = _words(body)
        if len(words) != self._length or b" ".join(self._others(words)) != self._frame:
            return None
        values = numbers(self._values(words))
        if values is None:
            return None
        if self._places is not None:
            each, values = values, [0.0] * len(self.meanings)
            for place, value in zip(self._places, each, strict=True):
                values[place] += value
        return values if isfinite(sum(values)) else None


def _words(body: bytes) -> list[bytes]:
    """What stands between spaces, and every line feed as a word: joined by spaces it is the page again."""
    return body.replace(b"\n", b" \n ").split(b" ")


def numbers(words: Sequence[bytes]) -> list[float] | None:
    """The numbers ``words`` are; ``None`` where one is not written as JSON writes numbers.

    As one list of JSON they are read in a fifth of the time ``float`` takes for each.
    """
    text = b",".join(words)
    if text.translate(None, NUMERALS):
        return None
    try:
        values: list[float] = orjson.loads(b"[%b]" % text)
    except ValueError:
        return None
    return values if len(values) == len(words) else None


def picker(indices: Iterable[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Takes the items at ``indices``, whatever their number."""
    wanted = tuple(indices)
    if len(wanted) > 1:
        return itemgetter(*wanted)
    return lambda items: [items[index] for index in wanted]


def filler(places: Mapping[str, Mapping[str, float]]) -> Fill[dict[str, dict[str, float]]]:
    """Fills the form ``places`` (thing -> name -> place among the values) with the values."""
    things = [(thing, tuple(named), picker(map(int, named.values()))) for thing, named in places.items()]
    return lambda values: {
        thing: dict(zip(names, pick(values), strict=True)) for thing, names, pick in things
    }


class Lays(Protocol[MeaningT]):
    """What knows the layout of a page it has read."""

    def layout(self, body: bytes, /) -> Layout[MeaningT] | None:
        """The layout of ``body``; ``None`` where a wanted line has not the plain form."""


class Pages(Generic[MeaningT, SampleT]):
    """Parses the pages of one target, one after the other; used by one thread at a time.

    ``plain`` understands any page; ``form`` says how the values of one layout fill a sample, equal to
    what ``plain`` makes of the page.
    """

    def __init__(
        self,
        reader: Lays[MeaningT],
        plain: Callable[[bytes], SampleT],
        form: Callable[[Sequence[MeaningT]], Fill[SampleT]],
    ) -> None:
        self._reader = reader
        self._plain = plain
        self._form = form
        self._layout: Layout[MeaningT] | None = None
        self._fill: Fill[SampleT] | None = None

    def parse(self, body: bytes) -> SampleT:
        """What ``plain`` says of ``body``, with its errors; the layout of a new page is remembered."""
        values = None if self._layout is None else self._layout.values(body)
        if values is not None and self._fill is not None:
            return self._fill(values)
        sample = self._plain(body)
        self._layout = self._reader.layout(body)
        self._fill = self._form(self._layout.meanings) if self._layout else None
        return sample
