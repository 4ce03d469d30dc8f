"""Directories that a program chooses from again and again."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from ses.api.amount import mb_per_s, whole_bytes

if TYPE_CHECKING:
    from ses.place.chooser import Chooser
    from ses.place.claims import Claim
    from ses.place.ledger import Ledger
    from ses.place.request import Placement, Request

_RENEWED = 3600.0  # seconds before the lease ends that counts where the process is not seen
_of_parents: list[ExitStack] = []  # a process that was forked closes none of them


class Places:
    """Directories to choose from, as :func:`place` does, with what was read of them for a second.

        with ses.api.Places(["/scratch1", "/scratch2"], need="write>=200MB/s") as places:
            for part in parts:
                with places.place(size="300GB") as chosen:
                    write_into(chosen.directory)

    The ledger stays open until ``close()``, or the end of the block.  Any thread may call; after a fork both
    processes may.
    """

    def __init__(
        self,
        among: Iterable[str | os.PathLike[str]],
        *,
        need: str | Iterable[str] = (),
        rates: Mapping[str, float | str] | None = None,
        ledger: str | os.PathLike[str] | None = None,
    ) -> None:
        from ses.quantities import requirements_in

        self._among = [os.fspath(entry) for entry in among]
        self._requirements = requirements_in([need] if isinstance(need, str) else need)
        self._rates = {name: mb_per_s("rates", rate) * 1e6 for name, rate in (rates or {}).items()}
        self._file = None if ledger is None else Path(ledger)
        self._pid, self._lock, self._open = os.getpid(), Lock(), ExitStack()
        self._ready: tuple[Ledger, Chooser, Request] | None = None
        self._ended: list[Claim] = []

    def __enter__(self) -> Places:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the ledger; claims go on.  It is opened again where it is needed."""
        with self._locked():
            self._close()

    @contextmanager
    def place(self, *, size: int | str | None = None, mkdir: str | None = None) -> Iterator[Placement]:
        """Choose one of the directories; its claim ends with the block, or the process.  As :func:`place`."""
        from ses.place.request import check_name

        process, whole = os.getpid(), None if size is None else whole_bytes("size", size)
        check_name(mkdir)
        try:
            with self._locked():
                chooser, request = self._chooser()
                placement = chooser.place(request.but(size=whole, mkdir=mkdir))
        finally:
            self._end()
        try:
            yield placement
        finally:
            if os.getpid() == process:  # and none that was forked in the block
                self._ended.append(placement.claim)
                self._end()

    def _end(self) -> None:
        """End claims, now or after the choice that is being made: a block may be collected in its middle."""
        while self._ended and self._locked().acquire(blocking=False):
            try:
                while self._ended:
                    self._chooser()[0].release(self._ended.pop())
            finally:
                self._lock.release()

    def _locked(self) -> Lock:
        if self._pid != os.getpid():
            _of_parents.append(self._open)
            self._pid, self._lock, self._open = os.getpid(), Lock(), ExitStack()
            self._ready = None
        return self._lock

    def _chooser(self) -> tuple[Chooser, Request]:
        if self._ready is not None:
            ledger, chooser, request = self._ready
            if ledger.is_current() and time.time() < request.holder.until - _RENEWED:
                return chooser, request
        from ses.place import chooser as choosing
        from ses.place import claims
        from ses.place import ledger as ledgers
        from ses.place.decision import need_core
        from ses.place.request import request_of

        until = claims.holder(f"pid:{os.getpid()}", time.time())
        request = request_of(self._among, until, self._requirements, self._rates)
        need_core()
        self._close()
        opened = self._open.enter_context(ledgers.opened(self._file))
        self._ready = opened, choosing.Chooser(opened, self._among), request
        return self._ready[1:]

    def _close(self) -> None:
        self._ready = None
        self._open.close()
