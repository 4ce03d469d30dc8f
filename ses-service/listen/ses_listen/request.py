"""A request that has arrived whole, and what an application makes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias

from ses_listen.intake import Intake
from ses_listen.problems import Answer

Address: TypeAlias = tuple[str, int]
Send: TypeAlias = Callable[[Answer], None]


class Ends(NamedTuple):
    """Both ends of a connection; ``client`` is ``None`` where nothing is known of it."""

    client: Address | None
    server: Address
    scheme: str


@dataclass(slots=True, eq=False)
class Request:
    """A request of HTTP/1.1 or 1.0.

    ``path`` is as meant and ``target`` as it came, both without ``query``; names of ``headers`` are in lower
    case.  ``body`` is ``None`` where it was not kept, since there is too much to do or to hold; of one that
    is larger than the application reads it has one byte more than that.  Belongs to one event loop.
    """

    method: str
    path: str
    target: bytes
    query: bytes
    headers: list[tuple[bytes, bytes]]
    ends: Ends
    version: str = "1.1"
    keep_alive: bool = True
    body: bytes | None = b""
    _gone: asyncio.Future[None] | None = field(default=None, init=False)
    _hung_up: bool = field(default=False, init=False)

    @property
    def address(self) -> str:
        """The address that it comes from."""
        return self.ends.client[0] if self.ends.client else ""

    def gone(self) -> asyncio.Future[None]:
        """Return what is done when the client hung up."""
        if self._gone is None:
            self._gone = asyncio.get_running_loop().create_future()
            if self._hung_up:
                self._gone.set_result(None)
        return self._gone

    def hang_up(self) -> None:
        """Note that nobody waits for the answer any more."""
        self._hung_up = True
        if self._gone is not None and not self._gone.done():
            self._gone.set_result(None)


class Application(Protocol):
    """What answers requests.  Belongs to one event loop."""

    @property
    def intake(self) -> Intake:
        """What unanswered requests hold in memory."""

    @property
    def max_body(self) -> int:
        """How many bytes of a body it reads; of a larger one, one more."""

    def reads(self, request: Request) -> bool:
        """Whether a request is looked at at all, asked when its head is here."""

    def answer(self, request: Request, send: Send) -> None:
        """Have a request answered: ``send`` is called once, now or later, unless the client hung up."""
