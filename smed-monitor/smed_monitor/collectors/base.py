"""What a collector is: three steps, kept apart so that each can be tested without the others.

``open(target).read()``  gets the bytes (the only step that waits, and never longer than it may)
``parse(body)``          turns them into a sample; pure
``reading(sample, e)``   finds one element in the sample; pure

A collector holds no state and never imports another collector.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Generic, Literal, Protocol, TypeVar

from smed_monitor.config.settings import ElementSettings, Target
from smed_monitor.core.model import Moment, Reading

SampleT = TypeVar("SampleT")


@dataclass(frozen=True, slots=True)
class Reply:
    """The bytes a target gave, and when it began to give them (the nearest we know to when it looked).

    ``way`` says how they came, where a target can be read in several ways.
    """

    body: bytes
    at: Moment
    way: str = ""


class Arrival(Enum):
    """How much of an answer has come: all, not all yet, or no more of it ever will."""

    WHOLE = "whole"
    PARTLY = "partly"
    NEVER = "never"


class Source(Protocol):
    """A way to ask one target again and again.  Used by one thread at a time; only ``read`` raises."""

    def ask(self) -> int | None:
        """Ask without waiting; the descriptor to wait at for the answer, ``None`` where only ``read`` can."""
        return None

    def arrived(self) -> Arrival:
        """Take in, without waiting, what has come of the answer to ``ask``."""
        return Arrival.NEVER

    def read(self) -> Reply:
        """The answer to ``ask``, or else ask once; never waits past its time-out.

        Raises :class:`~smed_monitor.core.errors.CollectorError`.
        """

    def close(self) -> None:
        """Give up the connection, if one is kept open; the next ``read`` opens another."""
        return


class Collector(ABC, Generic[SampleT]):
    """One kind of source.

    ``finds_by`` is the setting of an element by which it is found in a sample; ``local`` collectors
    read this node's files instead of an address.
    """

    finds_by: ClassVar[Literal["ost", "mount_point"]] = "mount_point"
    local: ClassVar[bool] = False

    @abstractmethod
    def open(self, target: Target) -> Source:
        """A source for ``target``; connects only when read."""

    @abstractmethod
    def parse(self, body: bytes) -> SampleT:
        """What ``body`` says.  Raises :class:`~smed_monitor.core.errors.ContentError`."""

    def parser(self) -> Callable[[bytes], SampleT]:
        """``parse`` for the answers of one target, one after the other; may remember how the last looked."""
        return self.parse

    @abstractmethod
    def reading(self, sample: SampleT, element: ElementSettings) -> Reading:
        """What ``sample`` says about ``element``.

        Raises :class:`~smed_monitor.core.errors.ElementMissingError` with the likely cause.
        """

    def names(self, _sample: SampleT, /) -> Iterable[str]:
        """The names in a sample (of the kind ``finds_by``) that a rule may make elements of."""
        return ()
