"""Names of many nodes in one text, as Slurm writes them: ``n[0001-4096],login1``.

Reads plain lists and ranges only: no groups and no operators, which would look into files of the machine.
The work grows with the text and with the nodes it names, and both are bounded.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import product
from math import prod

from ses_service.model.limits import MAX_NAME

MAX_NODES = 100_000
"""Nodes in one text: a slip of the pen in a range must not take the memory of the service."""
MAX_BRACKETS = 8
"""Pairs of brackets in one name."""

_TEXT = re.compile(r"[A-Za-z0-9._,\[\]/-]+")
_PART = re.compile(r"(?:[^,\[\]/]|\[[^\[\]]*\])+")
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?(?:/([0-9]{1,6}))?")
_NUMBERED = re.compile(r"(.*?)([0-9]{1,9})([^0-9]*)")


class HostlistError(ValueError):
    """Not a list of nodes; the message says why."""


def expanded(text: str) -> tuple[str, ...]:
    """Return the names of a list, in its order, each once.  Raises ``HostlistError``."""
    parts = _PART.findall(text)
    if not _TEXT.fullmatch(text) or ",".join(parts) != text:
        raise HostlistError(f"{text[:80]!r} is not a list of nodes such as n[0001-4096],login1")
    names = [_Names(part) for part in parts]
    count = sum(group.count for group in names)
    if count > MAX_NODES:
        raise HostlistError(f"{text[:80]!r} names {count} nodes; {MAX_NODES} are allowed")
    return tuple(dict.fromkeys(name for group in names for name in group))


def folded(names: Iterable[str]) -> str:
    """Return names of nodes in few characters: those that differ by their last number become ranges.

    Names nobody can fold stand as they are, last.
    """
    numbers: dict[tuple[str, str], list[str]] = {}
    plain, others = [], []
    for name in dict.fromkeys(names):
        match = _NUMBERED.fullmatch(name)
        if not _TEXT.fullmatch(name) or set(name) & set(",[]/"):
            others.append(name)
        elif match is None:
            plain.append(name)
        else:
            numbers.setdefault((match[1], match[3]), []).append(match[2])
    ranged = [text for (before, after), digits in numbers.items() for text in _ranged(before, digits, after)]
    return ",".join([*sorted([*plain, *ranged]), *others])


class _Names:
    """The names of one part of a list, such as ``r[1-2]n[01-16]``; made one by one."""

    def __init__(self, part: str) -> None:
        pieces = _BRACKETS.split(part)  # what is around brackets, and what is in them, in turn
        if len(pieces) > 2 * MAX_BRACKETS + 1:
            raise HostlistError(f"{part[:80]!r} has more than {MAX_BRACKETS} pairs of brackets")
        self._around = pieces[::2]
        self._within = [[_range(part) for part in text.split(",")] for text in pieces[1::2]]
        longest = sum(map(len, self._around)) + 9 * len(self._within)
        if longest > MAX_NAME:
            raise HostlistError(f"{part[:80]!r} names a node by more than {MAX_NAME} characters")
        self.count = prod(sum(len(numbers) for _, numbers in each) for each in self._within)

    def __iter__(self) -> Iterator[str]:
        texts = [[f"{n:0{width}}" for width, numbers in each for n in numbers] for each in self._within]
        first, *others = self._around
        for chosen in product(*texts):
            yield first + "".join(text for pair in zip(chosen, others, strict=True) for text in pair)


def _range(text: str) -> tuple[int, range]:
    """Return the width numbers are padded to, 0 for none, and the numbers."""
    match = _RANGE.fullmatch(text)
    first, last, step = (int(match[1]), int(match[2] or match[1]), int(match[3] or 1)) if match else (1, 0, 1)
    if match is None or last < first or step == 0:
        raise HostlistError(f"[{text[:80]}] is not a range such as [0001-4096]")
    return len(match[1]) if match[1][0] == "0" else 0, range(first, last + 1, step)


def _ranged(before: str, digits: list[str], after: str) -> Iterator[str]:
    """Yield lists of the names that have these numbers between the same texts."""
    padded = {len(number) for number in digits if number[0] == "0" and len(number) > 1}
    by_width: dict[int, list[int]] = {}
    for digit in digits:
        by_width.setdefault(len(digit) if len(digit) in padded else 0, []).append(int(digit))
    for width, numbers in sorted(by_width.items()):
        runs: list[list[int]] = []
        for number in sorted(numbers):
            if runs and number == runs[-1][1] + 1:
                runs[-1][1] = number
            else:
                runs.append([number, number])
        texts = ["-".join(f"{n:0{width}}" for n in dict.fromkeys(run)) for run in runs]
        single = len(runs) == 1 and runs[0][0] == runs[0][1]
        yield f"{before}{texts[0]}{after}" if single else f"{before}[{','.join(texts)}]{after}"
